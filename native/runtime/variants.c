#include "runtime/variants.h"

/* A kernel is compiled in another way when it has taken this long: about as long as compiling does. */
static const uint64_t WORTH_COMPILING = 50000000;
/* So many comparisons are made at once, before one is made only if all trials have taken less than this part of the time. */
enum { FIRST_TRIALS = 4, TRIAL_SHARE = 50 };
/* A trial is this part of the groups at hand, if that takes so long that it can be measured. */
enum { GROUPS_PER_TRIAL = 16 };
static const uint64_t LEAST_PICOSECONDS = 2000000;

bool gs_wants_variant(const gs_code *code) {
    return code->variants_to_come > 0 && code->busy_nanoseconds > WORTH_COMPILING;
}

/* The variant that was compared the fewest times with the preferred one. */
static uint32_t least_tried(const gs_code *code, uint32_t count, uint32_t preferred) {
    uint32_t found = preferred;
    for (uint32_t each = 0; each < count; each++)
        if (each != preferred && (found == preferred || code->variants[each].trials < code->variants[found].trials))
            found = each;
    return found;
}

static bool may_try(const gs_code *code, const gs_variant *variant) {
    return variant->trials < FIRST_TRIALS || code->trial_nanoseconds * TRIAL_SHARE < code->busy_nanoseconds;
}

gs_trial gs_trial_begin(const gs_code *code, uint64_t groups) {
    uint32_t count = code->variant_count, preferred = code->preferred;
    gs_trial trial = {least_tried(code, count, preferred), preferred, 0};
    if (trial.tried == preferred || groups < 2 || !may_try(code, &code->variants[trial.tried]))
        return trial;
    uint64_t cost = code->group_picoseconds, least = cost > 0 ? LEAST_PICOSECONDS / cost + 1 : 1;
    trial.groups = groups / GROUPS_PER_TRIAL > least ? groups / GROUPS_PER_TRIAL : least;
    if (trial.groups > groups / 2)
        trial.groups = groups / 2;
    return trial;
}

/* Older times count for less and less. Two threads at once may lose one of them, which does no harm. */
static void blend(_Atomic uint64_t *sum, uint64_t nanoseconds) { *sum = *sum - *sum / 4 + nanoseconds; }

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
static bool is_faster(uint64_t left, uint64_t right) { return left + left / 16 < right; }

void gs_trial_end(gs_code *code, gs_trial trial, uint64_t tried_nanoseconds, uint64_t preferred_nanoseconds) {
    gs_variant *variant = &code->variants[trial.tried];
    code->trial_nanoseconds += tried_nanoseconds;
    if (code->preferred != trial.preferred)
        return;
    if (variant->trials++ == 0)
        variant->trial_nanoseconds = variant->preferred_nanoseconds = 0;
    blend(&variant->trial_nanoseconds, tried_nanoseconds);
    blend(&variant->preferred_nanoseconds, preferred_nanoseconds);
    if (variant->trials > 1 && is_faster(variant->trial_nanoseconds, variant->preferred_nanoseconds))
        prefer(code, trial.tried, trial.preferred);
}
