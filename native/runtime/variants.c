#include "runtime/variants.h"

/* Another variant is compiled when the kernel has taken this long: about as long as compiling does. One that the kernel
 * cache has is only loaded. */
static const uint64_t WORTH_COMPILING = 20000000, WORTH_LOADING = 1000000;
/* So many comparisons are made at once, before one is made only if all trials have taken less than this part of the time. */
enum { FIRST_TRIALS = 8, TRIAL_SHARE = 100 };
/* From the second comparison on they count: the first one loads code and tables. Then the difference must be large. */
enum { LEAST_TRIALS = 3 };
/* A trial is this part of the groups at hand, if that takes so long that it can be measured, and not longer than it takes;
 * and this part if one of the two gives work-items to free lanes, which takes many of them. */
enum { GROUPS_PER_TRIAL = 16, GROUPS_PER_REFILLED_TRIAL = 4, LEAST_REFILLED_GROUPS = 8 };
static const uint64_t LEAST_PICOSECONDS = 8000000, MOST_PICOSECONDS = 1000000000;
/* How many times a process writes down what it prefers. */
enum { MOST_REMEMBERED = 8 };

/* --- Wishes ------------------------------------------------------------------------------------------ */

/* The variant that was compared the fewest times with the preferred one. */
static uint32_t least_tried(const gs_code *code, uint32_t count, uint32_t preferred) {
    uint32_t found = preferred;
    for (uint32_t each = 0; each < count; each++)
        if (each != preferred && (found == preferred || code->variants[each].trials < code->variants[found].trials))
            found = each;
    return found;
}

static bool wants_variant(const gs_code *code) {
    return code->variants_to_come > 0 &&
           code->busy_nanoseconds > (code->variants_are_cached ? WORTH_LOADING : WORTH_COMPILING);
}

static bool has_decided(const gs_code *code, uint32_t preferred) {
    return code->variants[least_tried(code, code->variant_count, preferred)].trials >= FIRST_TRIALS;
}

uint32_t gs_variant_wishes(const gs_code *code) {
    uint32_t wishes = wants_variant(code) ? GS_ADD_VARIANT : 0, preferred = code->preferred;
    if (preferred != code->remembered && code->times_remembered < MOST_REMEMBERED && has_decided(code, preferred))
        wishes |= GS_REMEMBER_VARIANT;
    return wishes;
}

/* --- Trials ------------------------------------------------------------------------------------------ */

static bool may_try(const gs_code *code, const gs_variant *variant) {
    return variant->trials < FIRST_TRIALS || code->trial_nanoseconds * TRIAL_SHARE < code->busy_nanoseconds;
}

static uint64_t groups_to_try(const gs_code *code, gs_trial trial, uint64_t groups) {
    uint64_t cost = code->group_picoseconds, least = cost > 0 ? LEAST_PICOSECONDS / cost + 1 : 1;
    bool refills = code->variants[trial.tried].refills || code->variants[trial.preferred].refills;
    uint64_t most = cost > 0 ? MOST_PICOSECONDS / cost + (refills ? LEAST_REFILLED_GROUPS : 1) : groups;
    uint64_t part = groups / (refills ? GROUPS_PER_REFILLED_TRIAL : GROUPS_PER_TRIAL);
    uint64_t some = part < most ? part : most, each = some > least ? some : least;
    return each < groups / 2 ? each : groups / 2;
}

bool gs_suits_long_parts(const gs_code *code) {
    uint32_t count = code->variant_count, preferred = code->preferred;
    for (uint32_t each = 0; each < count; each++) {
        const gs_variant *variant = &code->variants[each];
        if (variant->refills && (each == preferred || variant->trials < FIRST_TRIALS))
            return true;
    }
    return false;
}

gs_trial gs_trial_begin(gs_code *code, uint64_t groups) {
    uint32_t count = code->variant_count, preferred = code->preferred;
    gs_trial trial = {.tried = least_tried(code, count, preferred), .preferred = preferred};
    if (trial.tried == preferred || groups == 0 || !may_try(code, &code->variants[trial.tried]))
        return trial;
    trial.is_half = groups == 1;
    trial.groups = trial.is_half ? 1 : groups_to_try(code, trial, groups);
    trial.is_tried = code->turns++ % 2 == 0;
    return trial;
}

/* Older times count for less and less. Two threads at once may lose one of them, which does no harm. */
static void blend(_Atomic uint64_t *sum, uint64_t nanoseconds) { *sum = *sum - *sum / 8 + nanoseconds; }

/* What was preferred has been compared with the new one; the others have not. */
static void prefer(gs_code *code, uint32_t chosen, uint32_t before) {
    gs_variant *now = &code->variants[chosen], *then = &code->variants[before];
    for (uint32_t each = 0; each < GS_MOST_VARIANTS; each++)
        if (each != chosen && each != before)
            code->variants[each].trials = 0;
    then->trials = now->trials;
    then->trial_nanoseconds = now->preferred_nanoseconds;
    then->preferred_nanoseconds = now->trial_nanoseconds;
    code->preferred = chosen;
}

/* Clearly faster: changing to and fro would cost more than the difference. */
static bool is_faster(const gs_variant *variant) {
    uint64_t tried = variant->trial_nanoseconds, margin = tried / (variant->trials < FIRST_TRIALS ? 4 : 16);
    return variant->trials >= LEAST_TRIALS && tried + margin < variant->preferred_nanoseconds;
}

void gs_trial_end(gs_code *code, gs_trial trial, uint64_t tried_nanoseconds, uint64_t preferred_nanoseconds) {
    gs_variant *variant = &code->variants[trial.tried];
    code->trial_nanoseconds += tried_nanoseconds;
    if (code->preferred != trial.preferred)
        return;
    if (variant->trials++ == 0) {
        variant->trial_nanoseconds = variant->preferred_nanoseconds = 0;
        return;
    }
    blend(&variant->trial_nanoseconds, tried_nanoseconds);
    blend(&variant->preferred_nanoseconds, preferred_nanoseconds);
    if (is_faster(variant))
        prefer(code, trial.tried, trial.preferred);
}

void gs_trial_end_half(gs_code *code, gs_trial trial, uint64_t nanoseconds) {
    if (trial.is_tried) {
        code->half_variant = trial.tried;
        code->half_nanoseconds = nanoseconds + 1;
        return;
    }
    uint64_t tried = atomic_exchange(&code->half_nanoseconds, 0);
    if (tried > 0 && code->half_variant == trial.tried)
        gs_trial_end(code, trial, tried, nanoseconds + 1);
}
