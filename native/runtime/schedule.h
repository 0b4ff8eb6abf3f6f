/* Which thread runs which parts of a job.
 *
 * A job is a range of numbers: work-groups, or pieces of a copy. Each thread has a share of it, a range that is the same in
 * every launch of a kernel, so that its data stay in the thread's cache and on its memory node. It takes parts from the front
 * of its share; when that is empty it steals parts from the back of the share that has the most left. Parts become smaller
 * towards the end of a share, so that all threads end at about the same time.
 *
 * What the parts cost is measured, and kept as a profile of the kernel: a few dozen buckets of neighbouring work-groups with
 * the time that each took. The next launch cuts shares and parts by it, of equal time and not of equal numbers. If its parts take
 * much longer than foreseen, because the arguments are others, what is left is cut into shorter ones. */
#ifndef GS_RUNTIME_SCHEDULE_H
#define GS_RUNTIME_SCHEDULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { GS_COST_BUCKETS = 128, GS_MOST_SHARES = 64, GS_CACHE_LINE = 64 };

/* What the work-groups of a kernel cost in its last launches. Threads that launch it at once may mix what they found, which
 * does no harm. */
typedef struct gs_cost_profile {
    _Atomic uint64_t groups; /* of those launches; 0: nothing is known */
    _Atomic bool is_steady;  /* the last one cost what the profile said */
    _Atomic uint32_t costs[GS_COST_BUCKETS]; /* parts of GS_COST_WHOLE */
} gs_cost_profile;

enum { GS_COST_WHOLE = 1 << 24 };

/* Begin and end in one word, on a cache line of its own. */
typedef struct gs_share {
    _Alignas(GS_CACHE_LINE) _Atomic uint64_t range;
} gs_share;

/* What is known about a job beforehand. */
typedef struct gs_job_facts {
    uint64_t count;                  /* of numbers, from 0 */
    uint64_t nanoseconds;            /* that it takes on one CPU; 0: not known */
    const gs_cost_profile *profile;  /* NULL: all numbers cost the same */
    bool in_order;                   /* parts are taken one after the other, because one may wait for those before it */
    bool in_long_parts;              /* the end of a part costs much, and more if many threads come to it at once */
    bool in_short_parts;             /* others want to run in between */
} gs_job_facts;

typedef struct gs_schedule {
    uint64_t count, step; /* numbers; how many of them are taken together: one, unless there are billions */
    uint32_t units, shares, buckets, most_units; /* a part is no longer than the last of these */
    bool in_order, times_are_known; /* otherwise a number counts as a nanosecond */
    double least, most, most_stolen, divisor; /* the time of a part: what is left of the share by the divisor, within limits */
    double edges[GS_COST_BUCKETS + 1]; /* the time of all numbers before each bucket */
    _Atomic uint64_t spent[GS_COST_BUCKETS]; /* nanoseconds that were measured */
    _Atomic uint32_t slowdown; /* how many times as long as foreseen the parts take so far, or 1 */
    gs_share ranges[GS_MOST_SHARES];
} gs_schedule;

typedef struct gs_taken {
    uint64_t first, count;
} gs_taken;

/* Cuts a job into shares for so many threads. */
void gs_schedule_begin(gs_schedule *schedule, const gs_job_facts *facts, uint32_t threads);

/* How many threads are worth waking for it. */
static inline uint32_t gs_schedule_threads(const gs_schedule *schedule) { return schedule->shares; }

/* The next part for a thread, which has a number below that of the threads; false: nothing is left. */
bool gs_schedule_take(gs_schedule *schedule, uint32_t thread, uint32_t threads, gs_taken *taken);

bool gs_schedule_has_parts(gs_schedule *schedule);

/* Nobody takes another part. */
void gs_schedule_close(gs_schedule *schedule);

/* Remembers how long a part took. */
void gs_schedule_spend(gs_schedule *schedule, gs_taken taken, uint64_t nanoseconds);
uint64_t gs_schedule_spent(const gs_schedule *schedule);

/* Puts what was measured into the profile. All parts have ended. */
void gs_schedule_end(const gs_schedule *schedule, gs_cost_profile *profile);

#endif
