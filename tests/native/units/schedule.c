/* How the groups of a launch are shared between threads. Time is simulated, so that the tests are about sixteen cores on any
 * machine: a thread that takes a part is busy for as long as its groups cost. */
#include "check.h"

#include "runtime/schedule.c"

enum { THREADS = 16, GROUPS = 4096, TAKING = 300 };

static uint64_t costs[GROUPS]; /* nanoseconds */
static uint32_t taken_by[GROUPS], runs[GROUPS];

static uint64_t total(uint64_t groups) {
    uint64_t sum = 0;
    for (uint64_t each = 0; each < groups; each++)
        sum += costs[each];
    return sum;
}

static uint32_t next_thread(const uint64_t *free_at, const bool *ended) {
    uint32_t found = THREADS;
    for (uint32_t each = 0; each < THREADS; each++)
        if (!ended[each] && (found == THREADS || free_at[each] < free_at[found]))
            found = each;
    return found;
}

/* One launch, of which each thread hears at its time; returns when the last part ends. */
static uint64_t simulate(gs_schedule *schedule, const gs_job_facts *facts, const uint64_t *wakes_at) {
    uint64_t free_at[THREADS], last = 0;
    bool ended[THREADS] = {false};
    memcpy(free_at, wakes_at, sizeof free_at);
    memset(runs, 0, sizeof runs);
    gs_schedule_begin(schedule, facts, THREADS);
    for (uint32_t thread; (thread = next_thread(free_at, ended)) < THREADS;) {
        gs_taken taken;
        if (!gs_schedule_take(schedule, thread, THREADS, &taken)) {
            ended[thread] = true;
            continue;
        }
        uint64_t spent = 0;
        for (uint64_t each = taken.first; each < taken.first + taken.count; each++) {
            spent += costs[each];
            taken_by[each] = thread;
            runs[each]++;
        }
        gs_schedule_spend(schedule, taken, spent);
        free_at[thread] += spent + TAKING;
        last = free_at[thread] > last ? free_at[thread] : last;
    }
    for (uint64_t each = 0; each < facts->count; each++)
        REQUIRE(runs[each] == 1);
    return last;
}

static const uint64_t AT_ONCE[THREADS];

/* How many times as fast sixteen threads are as one, in each of some launches of the same kernel. */
static void speed_ups(uint64_t groups, const uint64_t *wakes_at, uint32_t launches, double *found) {
    gs_cost_profile profile = {0};
    for (uint32_t each = 0; each < launches; each++) {
        gs_schedule schedule;
        gs_job_facts facts = {.count = groups, .nanoseconds = each > 0 ? total(groups) : 0, .profile = &profile};
        found[each] = (double)total(groups) / (double)simulate(&schedule, &facts, wakes_at);
        gs_schedule_end(&schedule, &profile);
    }
}

static void require_speed_ups(const char *what, uint64_t groups, const uint64_t *wakes_at, double first, double later) {
    double found[4];
    speed_ups(groups, wakes_at, 4, found);
    if (found[0] < first || found[1] < later || found[3] < later)
        fprintf(stderr, "%s: %.1f %.1f %.1f %.1f\n", what, found[0], found[1], found[2], found[3]);
    REQUIRE(found[0] >= first && found[1] >= later && found[3] >= later);
}

static void set_costs(uint64_t (*cost)(uint64_t)) {
    for (uint64_t each = 0; each < GROUPS; each++)
        costs[each] = cost(each);
}

static uint64_t equal(uint64_t group) { return group < GROUPS ? 2000 : 0; }
static uint64_t in_the_first(uint64_t group) { return group < GROUPS / 20 ? 40000 : 40; }
static uint64_t in_the_last(uint64_t group) { return in_the_first(GROUPS - 1 - group); }
static uint64_t growing(uint64_t group) { return group; }
static uint64_t one_large(uint64_t group) { return group == GROUPS - 1 ? 2000 * GROUPS / 31 : 2000; }
static uint64_t power_law(uint64_t group) { return 2000000 / (40 + group * 1237 % GROUPS); }

static void threads_end_together(void) {
    set_costs(equal);
    require_speed_ups("equal", GROUPS, AT_ONCE, 15.0, 15.5);
    set_costs(growing);
    require_speed_ups("growing", GROUPS, AT_ONCE, 14.5, 15.0);
    set_costs(power_law);
    require_speed_ups("power law", GROUPS, AT_ONCE, 14.0, 15.0);
}

/* The first launch cannot know where the time goes, but those after it do. */
static void cost_in_one_place_is_shared(void) {
    set_costs(in_the_first);
    require_speed_ups("first", GROUPS, AT_ONCE, 12.0, 14.5);
    set_costs(in_the_last);
    require_speed_ups("last", GROUPS, AT_ONCE, 12.0, 14.5);
    set_costs(one_large);
    require_speed_ups("one large", GROUPS, AT_ONCE, 10.0, 14.5);
}

/* What a thread that comes late would have done is done by the others. */
static void late_threads_are_replaced(void) {
    uint64_t wakes_at[THREADS] = {0};
    wakes_at[3] = 300000;
    wakes_at[9] = UINT64_C(1000000000);
    set_costs(equal);
    double found[3];
    speed_ups(GROUPS, wakes_at, 3, found);
    gs_schedule schedule;
    gs_job_facts facts = {.count = GROUPS, .nanoseconds = total(GROUPS)};
    simulate(&schedule, &facts, wakes_at);
    for (uint64_t each = 0; each < GROUPS; each++)
        REQUIRE(taken_by[each] != 9);
    REQUIRE(found[2] > 13.5);
}

static void few_groups_are_divided_evenly(void) {
    set_costs(equal);
    for (uint64_t each = 0; each < GROUPS; each++)
        costs[each] = 640000 + each * 7919 % 20000;
    double found[4];
    speed_ups(2 * THREADS, AT_ONCE, 4, found);
    REQUIRE(found[0] > 15 && found[1] > 15 && found[3] > 15);
}

/* The arguments of a launch may make it a thousand times as long as those before it: whether its groups were found to cost the
 * same or not, and whether there are many of them or one for each thread. */
static void longer_than_foreseen(uint64_t groups, uint32_t launches_before, double least) {
    gs_cost_profile profile = {0};
    gs_schedule schedule;
    set_costs(equal);
    costs[0] = launches_before == 1 ? 20000 : 2000; /* memory that is touched for the first time */
    gs_job_facts facts = {.count = groups, .profile = &profile};
    for (uint32_t launch = 0; launch < launches_before; launch++) {
        simulate(&schedule, &facts, AT_ONCE);
        gs_schedule_end(&schedule, &profile);
        facts.nanoseconds = gs_schedule_spent(&schedule);
    }
    for (uint64_t each = 0; each < groups; each++)
        costs[each] = 2000000;
    double found = (double)total(groups) / (double)simulate(&schedule, &facts, AT_ONCE);
    if (found < least)
        fprintf(stderr, "%d groups after %d launches: %.1f\n", (int)groups, (int)launches_before, found);
    REQUIRE(found >= least);
}

static void long_launches_after_short_ones_are_shared(void) {
    longer_than_foreseen(THREADS, 1, 15);
    longer_than_foreseen(THREADS, 3, 3);
    longer_than_foreseen(32 * THREADS, 1, 14);
    longer_than_foreseen(32 * THREADS, 3, 14);
    longer_than_foreseen(GROUPS, 3, 14);
}

/* Neighbouring groups stay with one thread, and with the same one in the next launch. */
static void threads_keep_their_groups(void) {
    set_costs(equal);
    gs_cost_profile profile = {0};
    gs_schedule schedule;
    uint32_t before[GROUPS];
    uint64_t same = 0;
    for (uint32_t launch = 0; launch < 3; launch++) {
        gs_job_facts facts = {.count = GROUPS, .nanoseconds = total(GROUPS), .profile = &profile};
        memcpy(before, taken_by, sizeof before);
        simulate(&schedule, &facts, AT_ONCE);
        gs_schedule_end(&schedule, &profile);
    }
    for (uint64_t each = 0; each < GROUPS; each++)
        same += before[each] == taken_by[each];
    REQUIRE(same > GROUPS * 9 / 10);
    REQUIRE(profile.is_steady);
}

/* A group that may wait for those before it finds all of them started. */
static void parts_in_order_follow_each_other(void) {
    set_costs(in_the_last);
    gs_schedule schedule;
    gs_job_facts facts = {.count = GROUPS, .nanoseconds = total(GROUPS), .in_order = true};
    gs_schedule_begin(&schedule, &facts, THREADS);
    uint64_t next = 0;
    gs_taken taken;
    for (uint32_t turn = 0; gs_schedule_take(&schedule, turn * 7 % THREADS, THREADS, &taken); turn++) {
        REQUIRE(taken.first == next && taken.count > 0);
        next += taken.count;
    }
    REQUIRE(next == GROUPS);
}

static void little_work_wakes_few_threads(void) {
    gs_schedule schedule;
    gs_schedule_begin(&schedule, &(gs_job_facts){.count = GROUPS, .nanoseconds = 12000}, THREADS);
    REQUIRE(gs_schedule_threads(&schedule) == 3);
    gs_schedule_begin(&schedule, &(gs_job_facts){.count = GROUPS, .nanoseconds = 1000}, THREADS);
    REQUIRE(gs_schedule_threads(&schedule) == 1);
}

/* More groups than a word can count, more threads than shares, and a single group. */
static void extremes_are_covered(void) {
    static const struct {
        uint64_t count;
        uint32_t threads;
    } CASES[] = {{1, 1}, {1, 16}, {3, 16}, {1000, 200}, {UINT64_C(1) << 32, 16}, {(UINT64_C(1) << 61) + 12345, 64}};
    for (size_t each = 0; each < sizeof CASES / sizeof *CASES; each++) {
        gs_schedule schedule;
        gs_cost_profile profile = {0};
        gs_job_facts facts = {.count = CASES[each].count, .profile = &profile};
        gs_schedule_begin(&schedule, &facts, CASES[each].threads);
        uint64_t sum = 0;
        gs_taken taken;
        while (gs_schedule_take(&schedule, CASES[each].threads - 1, CASES[each].threads, &taken)) {
            REQUIRE(taken.count > 0 && taken.first + taken.count <= facts.count);
            sum += taken.count;
            gs_schedule_spend(&schedule, taken, 1000);
        }
        REQUIRE(sum == facts.count && !gs_schedule_has_parts(&schedule));
        gs_schedule_end(&schedule, &profile);
        REQUIRE(profile.groups == facts.count);
    }
}

static void nothing_is_taken_after_closing(void) {
    gs_schedule schedule;
    gs_taken taken;
    gs_schedule_begin(&schedule, &(gs_job_facts){.count = GROUPS}, THREADS);
    gs_schedule_close(&schedule);
    for (uint32_t each = 0; each < THREADS; each++)
        REQUIRE(!gs_schedule_take(&schedule, each, THREADS, &taken));
}

/* --- With threads ----------------------------------------------------------------------------------------- */

enum { REAL = 4 };
static gs_schedule contended;
static _Atomic uint32_t times_run[GROUPS];

static void *take_all(void *number) {
    gs_taken taken;
    while (gs_schedule_take(&contended, (uint32_t)(uintptr_t)number, REAL, &taken)) {
        for (uint64_t each = taken.first; each < taken.first + taken.count; each++)
            times_run[each]++;
        gs_schedule_spend(&contended, taken, taken.count);
    }
    return NULL;
}

static void each_group_runs_once(void) {
    for (int turn = 0; turn < 200 / SLOWER; turn++) {
        gs_job_facts facts = {.count = GROUPS, .nanoseconds = 100000000, .in_order = turn % 2 == 1};
        gs_schedule_begin(&contended, &facts, REAL);
        for (int each = 0; each < GROUPS; each++)
            times_run[each] = 0;
        pthread_t threads[REAL];
        for (uintptr_t each = 0; each < REAL; each++)
            REQUIRE(pthread_create(&threads[each], NULL, take_all, (void *)each) == 0);
        for (int each = 0; each < REAL; each++)
            pthread_join(threads[each], NULL);
        for (int each = 0; each < GROUPS; each++)
            REQUIRE(times_run[each] == 1);
    }
}

/* However much its parts seem to cost: that is because they end at the same time. */
static void costly_ends_are_few(void) {
    for (uint64_t cost = 1; cost <= 1000000; cost *= 1000) {
        gs_schedule schedule;
        gs_job_facts facts = {.count = GROUPS, .nanoseconds = cost * GROUPS, .in_long_parts = true};
        gs_schedule_begin(&schedule, &facts, THREADS);
        uint64_t parts = 0;
        gs_taken taken;
        for (uint32_t thread = 0; gs_schedule_take(&schedule, thread, THREADS, &taken); thread = (thread + 1) % THREADS)
            parts++;
        REQUIRE(parts <= THREADS * LONG_PARTS && parts >= gs_schedule_threads(&schedule));
    }
}

int main(void) {
    costly_ends_are_few();
    threads_end_together();
    cost_in_one_place_is_shared();
    late_threads_are_replaced();
    few_groups_are_divided_evenly();
    long_launches_after_short_ones_are_shared();
    threads_keep_their_groups();
    parts_in_order_follow_each_other();
    little_work_wakes_few_threads();
    extremes_are_covered();
    nothing_is_taken_after_closing();
    each_group_runs_once();
    return 0;
}
