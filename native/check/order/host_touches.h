/* Races between commands and the program itself, which reads and writes host and shared memory with instructions of its own.
 *
 * When no command runs, the pages are closed that commands have accessed which the host does not know to be done: for all
 * access if a command wrote there, for writing if it only read. A thread of the program that touches them is stopped by a
 * signal, noted, and goes on. What it touched is compared with those commands then (records.h). */
#ifndef GS_CHECK_HOST_TOUCHES_H
#define GS_CHECK_HOST_TOUCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "check/host_stack.h"
#include "faults/fault.h"

/* The pages of an allocation that the program may touch, and before they have another use. */
void gs_host_pages_add(void *start, uint64_t span);
void gs_host_pages_remove(const void *start);

/* True if there are any. */
bool gs_host_pages_exist(void);

/* Around a command and the note of what it accessed. */
void gs_host_pages_open(void);
void gs_host_pages_close(void);

/* What commands have accessed that the host does not know to be done: all of it is noted anew, between these two. Called with the
 * lock of order.c held. */
void gs_host_pages_forget(void);
void gs_host_pages_note(uint64_t from, uint64_t to, bool writes);
void gs_host_pages_apply(void);

/* For the handler of signals: whether an address is in such an allocation, which is open from here on. */
bool gs_host_pages_touched(const void *address, bool writes);

/* What the program touched. */
typedef struct gs_host_touch {
    uint64_t address;
    bool writes;
    const gs_host_stack *stack;
} gs_host_touch;

/* One after the other, until it answers false. */
bool gs_host_touch_take(gs_host_touch *touch);

#endif
