/* Meters: for how long so many threads have worked at the same time, as a process publishes it in its page (runtime/activity.h).
 *
 * A word is the time for which it ran so far, in nanoseconds. While it runs, GS_ACTIVITY_RUNNING is added and the time at
 * which it began is taken away, so that one addition starts or stops it and a reader needs to see one word only.
 *
 * A thread may be held up for long after it has read the clock, or between the level and its word. Then others start a word
 * that runs, or stop one that does not, and a word gets time of another: it can hold more than the clock says, or less than
 * nothing. The sum over all words is right all the same, because each thread adds to it when it began and when it ended. So
 * a reader takes each word for what it is, however often it was started, and looks at sums. */
#ifndef GS_THREADS_METER_H
#define GS_THREADS_METER_H

#include <stdatomic.h>
#include <stdint.h>

#include "generated/shared.h"

/* One more thread works. Threads beyond the workers that the device has are not counted. */
static inline void gs_meter_enter(gs_meter *of, uint32_t workers, uint64_t now) {
    uint32_t place = atomic_fetch_add_explicit(&of->level, 1, memory_order_relaxed);
    if (place < workers)
        atomic_fetch_add_explicit(&of->words[place], GS_ACTIVITY_RUNNING - now, memory_order_relaxed);
}

static inline void gs_meter_leave(gs_meter *of, uint32_t workers, uint64_t now) {
    uint32_t place = atomic_fetch_sub_explicit(&of->level, 1, memory_order_relaxed) - 1;
    if (place < workers)
        atomic_fetch_add_explicit(&of->words[place], now - GS_ACTIVITY_RUNNING, memory_order_relaxed);
}

/* No thread works, and none has. */
static inline void gs_meter_clear(gs_meter *of, uint32_t workers) {
    of->level = 0;
    for (uint32_t each = 0; each < workers; each++)
        of->words[each] = 0;
}

/* How often a word was started more than it was stopped. */
static inline int64_t gs_meter_starts(uint64_t word) {
    return (int64_t)(word + GS_ACTIVITY_RUNNING / 2) >> __builtin_ctzll(GS_ACTIVITY_RUNNING);
}

/* For how long all threads have worked, up to now. Words are read before the clock is: none of them began later. */
static inline uint64_t gs_meter_read(const gs_meter *of, uint32_t workers, uint64_t (*clock)(void)) {
    uint64_t sum = 0;
    int64_t running = 0;
    for (uint32_t each = 0; each < workers; each++) {
        uint64_t word = atomic_load_explicit(&of->words[each], memory_order_relaxed);
        sum += word;
        running += gs_meter_starts(word);
    }
    int64_t busy = (int64_t)(sum + (uint64_t)running * (clock() - GS_ACTIVITY_RUNNING));
    return busy > 0 ? (uint64_t)busy : 0;
}

#endif
