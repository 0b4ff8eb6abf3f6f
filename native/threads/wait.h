/* Time, and waiting for a word of memory to change: a short spin, then a futex. */
#ifndef GS_THREADS_WAIT_H
#define GS_THREADS_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define GS_FOREVER UINT64_MAX

static inline uint64_t gs_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The device's timer: nanoseconds of CLOCK_MONOTONIC_RAW, in the bits that the properties call valid. */
#define GS_TIMESTAMP_BITS 60
static inline uint64_t gs_timestamp(void) {
    return gs_clock(CLOCK_MONOTONIC_RAW) & ((UINT64_C(1) << GS_TIMESTAMP_BITS) - 1);
}

static inline void gs_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* A futex event: a word that one side sets and the other waits for. It may lie in memory shared between processes. */
typedef struct gs_futex {
    _Atomic uint32_t value;
    _Atomic uint32_t sleepers;
} gs_futex;

/* Publishes `value`, for a futex that is a state (an event: 0 or 1), and wakes whoever sleeps on it. */
void gs_futex_set(gs_futex *futex, uint32_t value);

/* Says that something changed, for a futex that only counts changes, and wakes whoever sleeps on it. */
void gs_futex_notify(gs_futex *futex);

/* The same, but wakes only so many of those who sleep; and wakes so many without saying that anything changed. */
void gs_futex_notify_some(gs_futex *futex, int count);
void gs_futex_wake(gs_futex *futex, int count);

typedef enum { GS_WAIT_DONE, GS_WAIT_TIMEOUT, GS_WAIT_INTERRUPTED } gs_wait_result;

/* Waits until `done(state)`, which must depend on what is published before the notification.
 * `timeout` in nanoseconds: 0 polls, GS_FOREVER waits for ever. Interrupted: the host program wants its
 * thread back (Ctrl-C in Python); only possible when `interruptible`. */
gs_wait_result gs_futex_wait(gs_futex *futex, bool (*done)(void *state), void *state, uint64_t timeout,
                            bool interruptible);

/* Looks until `done(state)` or until so many nanoseconds have passed, and keeps its core meanwhile: for what
 * is surely about to happen on another one. */
bool gs_spin(bool (*done)(void *state), void *state, uint64_t nanoseconds);

/* Spins before sleeping, because a sleeping thread is woken late: for as long as the last work took, but at most 300 us,
 * yielding the core between two looks. */
bool gs_spin_before_sleep(bool (*done)(void *state), void *state, uint64_t worked_nanoseconds);

/* Gives the device a moment (a tenth of a second) to finish with something that is about to be destroyed:
 * programs signal an event from the host and destroy what waited for it in the next line. */
bool gs_wait_moment(bool (*done)(void *state), void *state);

/* True if a signal handler of the hosting Python program asks for the thread; defined in python/gil.c. */
bool gs_python_interrupt(void);

/* runtime/engine.c: for those who wait for the device, or are told to: sees to queues for which no thread could be
 * started. One who waits does their work himself if there is still none. */
void gs_engines_serve_stalled(bool caller_waits);

/* True if the process was a Python program before the driver came; defined in python/interpreter.c. */
bool gs_process_is_python(void);

#endif
