/* Counters of in-order lists, and the shared memory they live in.
 *
 * An in-order list numbers its commands; its counter says how far it has come. A counter-based event is a
 * pointer to a counter and a number. Both lie in one memory file of the process, so that a counter-based
 * event can be watched from another process that maps the file. */
#ifndef GS_OBJECTS_COUNTER_H
#define GS_OBJECTS_COUNTER_H

#include "generated/shared.h"
#include "threads/wait.h"

typedef struct gs_counter {
    gs_futex futex;
    _Atomic uint64_t done;       /* the number of the last command that finished */
    _Atomic uint64_t base;       /* what a closed list's own numbers are added to, for its latest run */
    _Atomic uint32_t references; /* of the process that owns the memory */
} gs_counter;

/* One event's words. For an event of a pool they lie in the pool's memory. */
typedef struct gs_event_slot {
    gs_futex futex; /* 1: signalled */
    uint64_t global_start, global_end, context_start, context_end;
    _Atomic uint64_t tracked; /* counter-based: heap index of a counter and a number, packed; 0: none */
    gs_counter own;           /* counter-based: what a process that opened the event counts its signals on */
    _Atomic uint64_t own_issued;
} gs_event_slot;

/* The memory file: this process's own, or one mapped from another process. */
typedef struct gs_heap {
    int fd;
    char *base;
} gs_heap;

enum { GS_HEAP_CELL = 128, GS_HEAP_CELLS = 1 << 19 };
#define GS_HEAP_BYTES ((uint64_t)GS_HEAP_CELL * GS_HEAP_CELLS)

gs_heap *gs_own_heap(void); /* NULL if it cannot be made */

void *gs_heap_take(void); /* a zeroed cell of this process's heap, or NULL */
void gs_heap_give(void *cell);

gs_counter *gs_counter_new(void);
void gs_counter_hold(gs_counter *counter);
void gs_counter_drop(gs_counter *counter);

/* Says that the command with this number, and all before it, are done. */
void gs_counter_advance(gs_counter *counter, uint64_t number);

#endif
