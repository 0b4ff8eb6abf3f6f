/* Device memory that the program itself reads or writes, which a discrete GPU would not allow (GROUNDSTATE_CHECK_STRICT).
 *
 * While no command is executed, the pages of device memory are closed to everybody. The thread of the program that touches them
 * is stopped by a signal, noted, and goes on. */
#ifndef GS_CHECK_DEVICE_MEMORY_H
#define GS_CHECK_DEVICE_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern _Atomic bool gs_device_memory_checks;
static inline bool gs_device_memory_is_checked(void) {
    return __builtin_expect(atomic_load_explicit(&gs_device_memory_checks, memory_order_relaxed), false);
}

/* The pages of an allocation that a program gets, and before they have another use. */
void gs_device_memory_add(void *start, uint64_t span);
void gs_device_memory_remove(const void *start);

/* Around the work of a command. */
void gs_device_memory_open(void);
void gs_device_memory_close(void);

/* For the handler of signals: whether an address is in closed memory, which is open from here on. */
bool gs_device_memory_touched(const void *address);

/* Reports what was noted. Called without any short lock. */
void gs_device_memory_report(void);

#endif
