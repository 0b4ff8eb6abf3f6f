/* Which variant of a kernel runs: decisions on made-up times. */
#include "check.h"

#include "runtime/variants.c"

enum { SLOW = 900, FAST = 100 };

static gs_code *new_code(uint32_t variants) {
    gs_code *code = calloc(1, sizeof *code);
    code->variant_count = variants;
    code->group_picoseconds = 1000000;
    return code;
}

/* One part of a launch in which a group takes so many microseconds, by variant. */
static bool run_part(gs_code *code, uint64_t groups, const uint64_t cost[]) {
    gs_trial trial = gs_trial_begin(code, groups);
    if (trial.groups > 0 && trial.is_half)
        gs_trial_end_half(code, trial, cost[trial.is_tried ? trial.tried : trial.preferred] * 1000);
    else if (trial.groups > 0)
        gs_trial_end(code, trial, trial.groups * cost[trial.tried] * 1000, trial.groups * cost[trial.preferred] * 1000);
    code->busy_nanoseconds += groups * cost[code->preferred] * 1000;
    return trial.groups > 0;
}

static void run_parts(gs_code *code, int count, uint64_t groups, const uint64_t cost[]) {
    for (int each = 0; each < count; each++)
        run_part(code, groups, cost);
}

static void one_variant_is_not_tried(void) {
    gs_code *code = new_code(1);
    REQUIRE(!run_part(code, 100, (const uint64_t[]){SLOW}));
    free(code);
}

static void the_faster_one_is_preferred(uint64_t groups) {
    gs_code *code = new_code(2);
    run_parts(code, 20, groups, (const uint64_t[]){SLOW, FAST});
    REQUIRE(code->preferred == 1);
    free(code);
}

static void the_slower_one_is_not(uint64_t groups) {
    gs_code *code = new_code(2);
    run_parts(code, 1000, groups, (const uint64_t[]){FAST, SLOW});
    REQUIRE(code->preferred == 0);
    free(code);
}

static void one_as_fast_changes_nothing(void) {
    gs_code *code = new_code(2);
    run_parts(code, 1000, 32, (const uint64_t[]){100, 97});
    REQUIRE(code->preferred == 0);
    free(code);
}

static void the_first_trial_does_not_count(void) {
    gs_code *code = new_code(2);
    gs_trial trial = gs_trial_begin(code, 100);
    gs_trial_end(code, trial, 1, 1000000000);
    for (int each = 0; each < 20; each++) {
        trial = gs_trial_begin(code, 100);
        gs_trial_end(code, trial, 1000, 1000);
    }
    REQUIRE(code->preferred == 0);
    free(code);
}

static void other_data_change_the_choice(uint64_t groups) {
    gs_code *code = new_code(2);
    run_parts(code, 2000, groups, (const uint64_t[]){FAST, SLOW});
    REQUIRE(code->preferred == 0);
    run_parts(code, 20000, groups, (const uint64_t[]){SLOW, FAST});
    REQUIRE(code->preferred == 1);
    run_parts(code, 20000, groups, (const uint64_t[]){FAST, SLOW});
    REQUIRE(code->preferred == 0);
    free(code);
}

static void the_best_of_three_is_found(void) {
    for (uint32_t best = 0; best < 3; best++) {
        uint64_t cost[] = {SLOW, SLOW / 2, SLOW};
        cost[best] = FAST;
        gs_code *code = new_code(3);
        run_parts(code, 20000, 32, cost);
        REQUIRE(code->preferred == best);
        free(code);
    }
}

/* --- Times as they are on a machine that others use -------------------------------------------------- */

/* A number below `bound`, the same ones in every run. */
static uint64_t drawn(uint64_t bound) {
    static uint64_t state = 88172645463325252;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % bound;
}

/* Half as long again at most; now and then much longer. */
static uint64_t disturbed(uint64_t time) { return drawn(6) == 0 ? time * (5 + drawn(40)) : time + drawn(time / 2); }

/* Groups of which one may have sixteen times as much to do as its neighbour. */
static uint64_t uneven(uint64_t time) { return time << drawn(5); }

/* Runs parts of launches of two variants and returns in how many the slower one was preferred. */
static int misjudged(gs_code *code, int parts, const uint64_t cost[], uint64_t (*noise)(uint64_t)) {
    int wrong = 0;
    for (int each = 0; each < parts; each++) {
        gs_trial trial = gs_trial_begin(code, 64);
        if (trial.groups > 0)
            gs_trial_end(code, trial, noise(cost[trial.tried] * 1000), noise(cost[trial.preferred] * 1000));
        code->busy_nanoseconds += 64 * cost[code->preferred] * 1000;
        wrong += cost[code->preferred] > cost[!code->preferred];
    }
    return wrong;
}

static void noise_does_not_decide(uint64_t (*noise)(uint64_t)) {
    enum { PROGRAMS = 200, PARTS = 400 };
    int wrong = 0;
    for (int program = 0; program < PROGRAMS; program++) {
        gs_code *code = new_code(2);
        code->preferred = program % 2;
        wrong += misjudged(code, PARTS, (const uint64_t[]){100, 250}, noise);
        free(code);
    }
    REQUIRE(wrong < PROGRAMS * PARTS / 20);
}

static void one_bad_measurement_does_not_decide(void) {
    gs_code *code = new_code(2);
    const uint64_t cost[] = {100, 300};
    for (int each = 0; each < 2 * FIRST_TRIALS; each++) {
        gs_trial trial = gs_trial_begin(code, 64);
        uint64_t late = each % 6 == 5 ? 100 : 1;
        if (trial.groups > 0)
            gs_trial_end(code, trial, cost[trial.tried] * 1000, cost[trial.preferred] * 1000 * late);
        REQUIRE(code->preferred == 0);
    }
    free(code);
}

static void changed_data_are_noticed_soon(void) {
    gs_code *code = new_code(2);
    run_parts(code, 20000, 64, (const uint64_t[]){FAST, SLOW});
    REQUIRE(code->preferred == 0);
    uint64_t busy = code->busy_nanoseconds;
    while (code->preferred == 0)
        run_part(code, 64, (const uint64_t[]){SLOW, FAST});
    REQUIRE(code->busy_nanoseconds - busy < busy / 50);
    free(code);
}

static void one_that_is_much_slower_is_not_tried_often(void) {
    gs_code *code = new_code(3);
    run_parts(code, 30, 64, (const uint64_t[]){100, 2000, 105});
    REQUIRE(code->preferred == 0);
    REQUIRE(code->variants[1].trials <= LEAST_TRIALS && code->variants[2].trials >= FIRST_TRIALS);
    free(code);
}

static void one_that_is_much_slower_is_tried_on_less(void) {
    gs_code *code = new_code(2);
    uint64_t before = gs_trial_begin(code, 100000).groups;
    run_parts(code, 3, 100000, (const uint64_t[]){100, 1000});
    REQUIRE(gs_trial_begin(code, 100000).groups <= before / 10 + 1);
    free(code);
}

static void most_of_a_trial_counts(void) {
    gs_code *code = new_code(2);
    gs_trial trial = gs_trial_begin(code, 6400);
    REQUIRE(trial.warm_up > 0 && trial.warm_up < trial.groups && trial.warm_up + trial.groups <= 3200);
    code->variants[1].refills = true;
    REQUIRE(gs_trial_begin(code, 6400).warm_up == 0); /* free lanes are rare in one long range only */
    free(code);
}

static void long_times_keep_their_ratio(void) {
    comparison times = unpacked(packed((comparison){UINT64_C(90) << 40, UINT64_C(30) << 40}));
    REQUIRE(times.preferred > 0 && times.tried == 3 * times.preferred);
}

static void trials_take_little_time(void) {
    gs_code *code = new_code(2);
    run_parts(code, 100000, 20, (const uint64_t[]){10, 80});
    REQUIRE(code->preferred == 0);
    REQUIRE(code->trial_nanoseconds * 90 < code->busy_nanoseconds);
    free(code);
}

static void trials_fit_into_what_is_there(void) {
    static const uint64_t GROUPS[] = {2, 3, 17, 1000, UINT64_C(1) << 40}, COSTS[] = {0, 1, 1000000, UINT64_MAX};
    for (size_t groups = 0; groups < sizeof GROUPS / sizeof *GROUPS; groups++)
        for (size_t cost = 0; cost < sizeof COSTS / sizeof *COSTS; cost++) {
            gs_code *code = new_code(2);
            code->group_picoseconds = COSTS[cost];
            gs_trial trial = gs_trial_begin(code, GROUPS[groups]);
            REQUIRE(trial.groups > 0 && trial.groups <= GROUPS[groups] / 2 && !trial.is_half);
            free(code);
        }
    gs_code *code = new_code(2);
    REQUIRE(gs_trial_begin(code, 0).groups == 0);
    REQUIRE(gs_trial_begin(code, 1).is_half);
    free(code);
}

/* A launch of a second should not be over before it is known what is faster. */
static void trials_of_long_groups_are_short(void) {
    for (int refills = 0; refills < 2; refills++) {
        gs_code *code = new_code(2);
        code->variants[1].refills = refills;
        code->group_picoseconds = 2 * MOST_PICOSECONDS;
        REQUIRE(gs_trial_begin(code, 10000).groups <= LEAST_REFILLED_GROUPS);
        code->group_picoseconds = MOST_PICOSECONDS / 100;
        gs_trial trial = gs_trial_begin(code, 10000);
        uint64_t groups = trial.warm_up + trial.groups;
        REQUIRE(groups >= 100 && groups <= 100 + LEAST_REFILLED_GROUPS);
        free(code);
    }
}

static void lanes_that_are_refilled_get_long_parts(void) {
    gs_code *code = new_code(2);
    REQUIRE(!gs_suits_long_parts(code));
    uint64_t plain = gs_trial_begin(code, 1000).groups;
    code->variants[1].refills = true;
    REQUIRE(gs_suits_long_parts(code));
    REQUIRE(gs_trial_begin(code, 1000).groups > plain);
    run_parts(code, 100, 1000, (const uint64_t[]){FAST, SLOW});
    REQUIRE(code->preferred == 0 && !gs_suits_long_parts(code)); /* tried, and slower */
    code->preferred = 1;
    REQUIRE(gs_suits_long_parts(code));
    free(code);
}

static void variants_are_wished_for_in_time(void) {
    gs_code *code = new_code(1);
    code->busy_nanoseconds = 10 * WORTH_LOADING;
    code->variants_to_come = 1;
    REQUIRE(gs_variant_wishes(code) == 0);
    code->variants_are_cached = true;
    REQUIRE(gs_variant_wishes(code) == GS_ADD_VARIANT);
    code->variants_are_cached = false;
    code->busy_nanoseconds = 2 * WORTH_COMPILING;
    REQUIRE(gs_variant_wishes(code) == GS_ADD_VARIANT);
    code->variants_to_come = 0;
    REQUIRE(gs_variant_wishes(code) == 0);
    free(code);
}

static void a_choice_is_remembered_once_made(void) {
    gs_code *code = new_code(2);
    const uint64_t cost[] = {FAST + FAST / 2, FAST};
    while (code->preferred == 0)
        run_part(code, 32, cost);
    REQUIRE(gs_variant_wishes(code) == 0); /* it is not certain yet */
    run_parts(code, 2000, 32, cost);
    REQUIRE(gs_variant_wishes(code) == GS_REMEMBER_VARIANT);
    code->times_remembered = MOST_REMEMBERED;
    REQUIRE(gs_variant_wishes(code) == 0);
    code->times_remembered = 0;
    code->remembered = 1;
    REQUIRE(gs_variant_wishes(code) == 0);
    free(code);
}

int main(void) {
    one_variant_is_not_tried();
    for (uint64_t groups = 1; groups < 100; groups += 31) {
        the_faster_one_is_preferred(groups);
        the_slower_one_is_not(groups);
        other_data_change_the_choice(groups);
    }
    one_as_fast_changes_nothing();
    the_first_trial_does_not_count();
    the_best_of_three_is_found();
    noise_does_not_decide(disturbed);
    noise_does_not_decide(uneven);
    one_bad_measurement_does_not_decide();
    changed_data_are_noticed_soon();
    one_that_is_much_slower_is_not_tried_often();
    one_that_is_much_slower_is_tried_on_less();
    most_of_a_trial_counts();
    long_times_keep_their_ratio();
    trials_take_little_time();
    trials_fit_into_what_is_there();
    trials_of_long_groups_are_short();
    lanes_that_are_refilled_get_long_parts();
    variants_are_wished_for_in_time();
    a_choice_is_remembered_once_made();
    return 0;
}
