/* Vector clocks: which commands come before something. */
#ifndef GS_CHECK_VECTOR_CLOCK_H
#define GS_CHECK_VECTOR_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Never changed once it is made. NULL is a clock, too: nothing comes before. All functions are called with the lock of
 * order.c held. */
typedef struct gs_vector_clock gs_vector_clock;

/* A command: the timeline (queue or immediate list) that executed it, and its number there. */
typedef struct gs_moment {
    uint64_t timeline, number;
} gs_moment;

const gs_vector_clock *gs_clock_hold(const gs_vector_clock *clock);
void gs_clock_drop(const gs_vector_clock *clock);

/* A clock after one and another. If there is no memory, all comes before it: nothing is reported then. */
const gs_vector_clock *gs_clock_join(const gs_vector_clock *one, const gs_vector_clock *other);

/* A clock after a command, and if `with_earlier` after those before it on its timeline. */
const gs_vector_clock *gs_clock_after(const gs_vector_clock *clock, gs_moment moment, bool with_earlier);

bool gs_clock_has(const gs_vector_clock *clock, gs_moment moment);

/* Replaces a clock by a later one. */
static inline void gs_clock_set(const gs_vector_clock **place, const gs_vector_clock *clock) {
    const gs_vector_clock *before = *place;
    *place = clock;
    gs_clock_drop(before);
}

/* order.c: whether anything can be asked of a timeline. */
bool gs_timeline_matters(uint64_t timeline);

#endif
