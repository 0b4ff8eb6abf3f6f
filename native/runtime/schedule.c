#include "runtime/schedule.h"

#include <math.h>
#include <stddef.h>

/* A thread is worth waking if it has this much to do. */
static const double WORTH_WAKING = 4000;
/* Parts take no less than this if possible, because taking one costs a fraction of a microsecond. */
static const double SHORTEST_PART = 5000;
/* And no more than this: if nothing says that groups cost the same as in the last launch, or others want to run in between... */
static const double LONGEST_PART = 20000;
/* ...and if they do. */
static const double LONGEST_STEADY_PART = 250000;
/* Parts whose end costs much are this part of a share. What they cost says nothing about how long they should be: the shorter
 * they are, the more all threads wait for each other, and the more they seem to cost. */
enum { LONG_PARTS = 4 };
/* If nobody knows how long a job takes, a part is between these parts of a share. */
enum { MOST_PARTS = 128, LEAST_PARTS = 32 };
/* A part is this part of what is left of a share. */
enum { STEADY_DIVISOR = 2, DIVISOR = 4 };
/* A launch is steady if less than this part of its time was spent in other buckets than foreseen. */
enum { STEADY_PART = 4 };
/* A bucket is taken to cost at least this part of the mean. */
enum { LEAST_COST = 256 };
/* Until a launch has shown to be steady, each share has this many parts, whatever they are thought to cost. */
enum { PARTS_OF_UNKNOWN = 2 };
/* A part that takes so many times as long as foreseen is a reason to look at all of them. */
enum { MUCH_LONGER = 4 };
static const uint64_t MOST_UNITS = UINT64_C(1) << 31;

/* --- Time ------------------------------------------------------------------------------------------------- */

/* When a number would begin if one thread ran all of them, and which number would run at a time. */
static double time_of(const gs_schedule *schedule, uint64_t unit) {
    double place = (double)unit * schedule->buckets / schedule->units;
    uint32_t bucket = (uint32_t)place;
    if (bucket >= schedule->buckets)
        return schedule->edges[schedule->buckets];
    const double *edge = &schedule->edges[bucket];
    return edge[0] + (place - bucket) * (edge[1] - edge[0]);
}

static double unit_at(const gs_schedule *schedule, double time) {
    uint32_t low = 0, high = schedule->buckets;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (schedule->edges[middle] <= time)
            low = middle;
        else
            high = middle;
    }
    const double *edge = &schedule->edges[low];
    return (low + (time - edge[0]) / (edge[1] - edge[0])) * schedule->units / schedule->buckets;
}

static bool is_profiled(const gs_job_facts *facts) {
    return facts->profile != NULL && !facts->in_order && facts->profile->groups == facts->count;
}

/* Without a measured time, a unit of it is what one number costs. */
static void foresee(gs_schedule *schedule, const gs_job_facts *facts) {
    double total = facts->nanoseconds > 0 ? (double)facts->nanoseconds : schedule->units;
    schedule->buckets = facts->profile == NULL ? 1 : schedule->units < GS_COST_BUCKETS ? schedule->units : GS_COST_BUCKETS;
    double mean = (double)GS_COST_WHOLE / schedule->buckets, sum = 0;
    bool profiled = is_profiled(facts);
    for (uint32_t each = 0; each < schedule->buckets; each++) {
        double cost = profiled ? atomic_load_explicit(&facts->profile->costs[each], memory_order_relaxed) : mean;
        schedule->edges[each] = sum;
        sum += cost > mean / LEAST_COST ? cost : mean / LEAST_COST;
    }
    for (uint32_t each = 0; each < schedule->buckets; each++)
        schedule->edges[each] *= total / sum;
    schedule->edges[schedule->buckets] = total;
}

static void limit_parts(gs_schedule *schedule, const gs_job_facts *facts, uint32_t threads) {
    double share = schedule->edges[schedule->buckets] / schedule->shares;
    schedule->most_units = schedule->units;
    bool is_steady = is_profiled(facts) && facts->profile->is_steady && !facts->in_short_parts;
    schedule->divisor = is_steady ? STEADY_DIVISOR : DIVISOR;
    if (facts->in_long_parts && !facts->in_short_parts) {
        schedule->least = schedule->most = schedule->most_stolen = share / LONG_PARTS;
        return;
    }
    if (facts->nanoseconds > 0) {
        schedule->least = SHORTEST_PART;
        schedule->most = is_steady ? LONGEST_STEADY_PART : LONGEST_PART;
        schedule->most_stolen = LONGEST_PART;
        if (!is_steady)
            schedule->most_units = schedule->units / (threads * PARTS_OF_UNKNOWN) + 1;
    } else {
        schedule->least = share / MOST_PARTS;
        schedule->most = facts->profile == NULL && facts->in_short_parts ? 1 : share / LEAST_PARTS;
        schedule->most_stolen = schedule->most;
    }
}

/* --- Shares ----------------------------------------------------------------------------------------------- */

static uint64_t pack(uint32_t first, uint32_t end) { return (uint64_t)end << 32 | first; }
static uint32_t first_of(uint64_t range) { return (uint32_t)range; }
static uint32_t end_of(uint64_t range) { return (uint32_t)(range >> 32); }

static uint32_t count_shares(const gs_job_facts *facts, uint32_t threads) {
    uint64_t worth = facts->nanoseconds > 0 ? (uint64_t)((double)facts->nanoseconds / WORTH_WAKING) : threads;
    uint64_t most = threads < GS_MOST_SHARES ? threads : GS_MOST_SHARES;
    uint64_t count = worth < most ? worth : most;
    return count > 1 ? (uint32_t)count : 1;
}

void gs_schedule_begin(gs_schedule *schedule, const gs_job_facts *facts, uint32_t threads) {
    schedule->count = facts->count;
    schedule->step = facts->count / MOST_UNITS + 1;
    schedule->units = (uint32_t)((facts->count + schedule->step - 1) / schedule->step);
    schedule->in_order = facts->in_order;
    schedule->shares = count_shares(facts, threads);
    foresee(schedule, facts);
    schedule->times_are_known = facts->nanoseconds > 0;
    limit_parts(schedule, facts, threads);
    atomic_init(&schedule->slowdown, 1);
    for (uint32_t each = 0; each < schedule->buckets; each++)
        atomic_init(&schedule->spent[each], 0);
    if (schedule->in_order) {
        schedule->divisor *= schedule->shares;
        schedule->ranges[0].range = pack(0, schedule->units);
        return;
    }
    uint32_t first = 0;
    for (uint32_t each = 0; each < schedule->shares; each++) {
        double time = schedule->edges[schedule->buckets] * (each + 1) / schedule->shares;
        uint32_t end = each + 1 < schedule->shares ? (uint32_t)(unit_at(schedule, time) + 0.5) : schedule->units;
        end = end < first ? first : end > schedule->units ? schedule->units : end;
        schedule->ranges[each].range = pack(first, end);
        first = end;
    }
}

static uint32_t count_ranges(const gs_schedule *schedule) { return schedule->in_order ? 1 : schedule->shares; }

/* In time that was foreseen. */
static double shortest_part(const gs_schedule *schedule) {
    return schedule->least / atomic_load_explicit(&schedule->slowdown, memory_order_relaxed);
}

/* How long the next part of a range should take. All who steal do so at about the same time, when their own shares end. */
static double time_of_part(const gs_schedule *schedule, double left, bool is_stolen) {
    double wanted = left / (is_stolen ? schedule->shares : schedule->divisor);
    double least = shortest_part(schedule), slowdown = schedule->least / least;
    double most = (is_stolen ? schedule->most_stolen : schedule->most) / slowdown;
    return wanted < least ? least : wanted > most ? most : wanted;
}

/* How many units the next part of a range has. */
static uint32_t size_of_part(const gs_schedule *schedule, uint32_t first, uint32_t end, bool at_back) {
    double from = time_of(schedule, first), to = time_of(schedule, end), left = to - from;
    double wanted = time_of_part(schedule, left, at_back);
    double size = at_back ? end - unit_at(schedule, to - wanted) : unit_at(schedule, from + wanted) - first;
    uint32_t rounded = left < wanted + shortest_part(schedule) / 2 ? end - first : (uint32_t)(size + 0.5);
    uint32_t most = end - first < schedule->most_units ? end - first : schedule->most_units;
    return rounded < 1 ? 1 : rounded > most ? most : rounded;
}

/* Takes a part from the front of a range, or from its back. */
static bool take_from(gs_schedule *schedule, gs_share *share, bool at_back, gs_taken *taken) {
    uint64_t before = atomic_load_explicit(&share->range, memory_order_relaxed);
    for (;;) {
        uint32_t first = first_of(before), end = end_of(before);
        if (first >= end)
            return false;
        uint32_t size = size_of_part(schedule, first, end, at_back);
        uint64_t after = at_back ? pack(first, end - size) : pack(first + size, end);
        if (!atomic_compare_exchange_weak_explicit(&share->range, &before, after, memory_order_relaxed, memory_order_relaxed))
            continue;
        uint64_t from = (at_back ? end - size : first) * schedule->step;
        uint64_t to = (at_back ? end : first + size) * schedule->step;
        *taken = (gs_taken){from, (to < schedule->count ? to : schedule->count) - from};
        return true;
    }
}

/* The time that was foreseen for what is left of a share; negative: nothing is left. */
static double time_left(const gs_schedule *schedule, const gs_share *share) {
    uint64_t range = atomic_load_explicit(&share->range, memory_order_relaxed);
    return first_of(range) < end_of(range) ? time_of(schedule, end_of(range)) - time_of(schedule, first_of(range)) : -1;
}

/* The share with the most time left, or NULL. */
static gs_share *fullest(gs_schedule *schedule) {
    gs_share *found = NULL;
    double most = -1;
    for (uint32_t each = 0; each < count_ranges(schedule); each++) {
        double left = time_left(schedule, &schedule->ranges[each]);
        if (left > most) {
            found = &schedule->ranges[each];
            most = left;
        }
    }
    return found;
}

bool gs_schedule_take(gs_schedule *schedule, uint32_t thread, uint32_t threads, gs_taken *taken) {
    uint32_t mine = (uint32_t)((uint64_t)thread * count_ranges(schedule) / threads);
    if (take_from(schedule, &schedule->ranges[mine], false, taken))
        return true;
    if (schedule->in_order)
        return false;
    for (gs_share *victim; (victim = fullest(schedule)) != NULL;)
        if (take_from(schedule, victim, true, taken))
            return true;
    return false;
}

bool gs_schedule_has_parts(gs_schedule *schedule) { return fullest(schedule) != NULL; }

void gs_schedule_close(gs_schedule *schedule) {
    for (uint32_t each = 0; each < count_ranges(schedule); each++)
        atomic_store_explicit(&schedule->ranges[each].range, 0, memory_order_relaxed);
}

/* --- Measurements ----------------------------------------------------------------------------------------- */

/* Compares what was spent with what was foreseen for all that was taken so far. Others may be at work on some of that, so the
 * answer is rather too small. */
static void find_slowdown(gs_schedule *schedule) {
    double foreseen = schedule->edges[schedule->buckets];
    for (uint32_t each = 0; each < count_ranges(schedule); each++)
        foreseen -= fmax(time_left(schedule, &schedule->ranges[each]), 0);
    double slowdown = (double)gs_schedule_spent(schedule) / foreseen;
    uint32_t known = atomic_load_explicit(&schedule->slowdown, memory_order_relaxed);
    if (slowdown > known)
        atomic_store_explicit(&schedule->slowdown, slowdown < UINT32_MAX ? (uint32_t)slowdown : UINT32_MAX, memory_order_relaxed);
}

/* A part that spans several buckets spent its time on them as was foreseen. */
void gs_schedule_spend(gs_schedule *schedule, gs_taken taken, uint64_t nanoseconds) {
    uint64_t first = taken.first / schedule->step, end = (taken.first + taken.count + schedule->step - 1) / schedule->step;
    double from = time_of(schedule, first), to = time_of(schedule, end);
    uint32_t bucket = (uint32_t)(first * schedule->buckets / schedule->units);
    for (; bucket < schedule->buckets && schedule->edges[bucket] < to; bucket++) {
        const double *edge = &schedule->edges[bucket];
        double inside = (edge[1] < to ? edge[1] : to) - (edge[0] > from ? edge[0] : from);
        uint64_t share = (uint64_t)((double)nanoseconds * inside / (to - from));
        atomic_fetch_add_explicit(&schedule->spent[bucket], share, memory_order_relaxed);
    }
    if (schedule->times_are_known && (double)nanoseconds > MUCH_LONGER * (to - from))
        find_slowdown(schedule);
}

uint64_t gs_schedule_spent(const gs_schedule *schedule) {
    uint64_t sum = 0;
    for (uint32_t each = 0; each < schedule->buckets; each++)
        sum += atomic_load_explicit(&schedule->spent[each], memory_order_relaxed);
    return sum;
}

static double difference(double left, double right) { return left > right ? left - right : right - left; }

/* A profile is the mean of the last launch and those before it, so that a thread that was held up once changes little. */
void gs_schedule_end(const gs_schedule *schedule, gs_cost_profile *profile) {
    double total = (double)gs_schedule_spent(schedule), foreseen = schedule->edges[schedule->buckets], off = 0;
    if (total <= 0 || schedule->in_order)
        return;
    bool is_known = profile->groups == schedule->count;
    for (uint32_t each = 0; each < schedule->buckets; each++) {
        double spent = (double)schedule->spent[each] / total;
        off += difference(spent, (schedule->edges[each + 1] - schedule->edges[each]) / foreseen);
        double before = is_known ? (double)profile->costs[each] / GS_COST_WHOLE : spent;
        atomic_store_explicit(&profile->costs[each], (uint32_t)((before + spent) / 2 * GS_COST_WHOLE), memory_order_relaxed);
    }
    profile->is_steady = off * STEADY_PART < 1;
    profile->groups = schedule->count;
}
