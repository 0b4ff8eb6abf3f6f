#include "runtime/variants.h"

/* Another variant is compiled when the kernel has taken this long: about as long as compiling does. One that the kernel
 * cache has is only loaded. */
static const uint64_t WORTH_COMPILING = 20000000, WORTH_LOADING = 1000000;
/* So many comparisons are made at once, before one is made only if all trials have taken less than this part of the time. */
enum { FIRST_TRIALS = 9, TRIAL_SHARE = 100 };
/* The first comparison does not count: it loads code and tables. From so many on they decide, if the difference is large. */
enum { LEAST_TRIALS = 5 };
/* How much faster a variant has to be, as parts of its time: changing to and fro would cost more than the difference.
 * One that takes longer by so many times is slower for certain. */
enum { LARGE_MARGIN = 4, SMALL_MARGIN = 16, HOPELESS = 2 };
/* A trial is this part of the groups at hand, if that takes so long that it can be measured, and not longer than it takes;
 * and this part if one of the two gives work-items to free lanes, which takes many of them. */
enum { GROUPS_PER_TRIAL = 16, GROUPS_PER_REFILLED_TRIAL = 4, LEAST_REFILLED_GROUPS = 8 };
static const uint64_t LEAST_PICOSECONDS = 20000000, MOST_PICOSECONDS = 1000000000;
/* This part of a trial's groups only warms up. */
enum { WARM_UP_SHARE = 4 };
/* How many times a process writes down what it prefers. */
enum { MOST_REMEMBERED = 8 };

/* --- Comparisons ------------------------------------------------------------------------------------- */

/* How long two variants took on neighbouring groups. Both are in one word, so that it is written and read at once. */
typedef struct comparison {
    uint64_t tried, preferred;
} comparison;

static uint64_t packed(comparison times) {
    while ((times.tried | times.preferred) > UINT32_MAX) {
        times.tried /= 2;
        times.preferred /= 2;
    }
    return times.tried << 32 | times.preferred;
}

static comparison unpacked(uint64_t word) { return (comparison){word >> 32, word & UINT32_MAX}; }

static bool is_better(comparison one, comparison other) {
    return one.tried * other.preferred < other.tried * one.preferred;
}

static uint32_t kept_comparisons(const gs_variant *variant) {
    uint32_t trials = variant->trials, counting = trials > 0 ? trials - 1 : 0;
    return counting < GS_KEPT_COMPARISONS ? counting : GS_KEPT_COMPARISONS;
}

/* The middle half of what is known, from the best to the worst: other programs, pages that are touched for the first time
 * and groups that have more to do than their neighbours change some times by far, on either side. */
static comparison typical(const gs_variant *variant) {
    comparison sorted[GS_KEPT_COMPARISONS], sum = {0, 0};
    uint32_t count = kept_comparisons(variant);
    for (uint32_t each = 0; each < count; each++) {
        comparison next = unpacked(variant->comparisons[each]);
        uint32_t place = each;
        for (; place > 0 && is_better(next, sorted[place - 1]); place--)
            sorted[place] = sorted[place - 1];
        sorted[place] = next;
    }
    for (uint32_t each = count / 4; each < count - count / 4; each++) {
        sum.tried += sorted[each].tried;
        sum.preferred += sorted[each].preferred;
    }
    return sum;
}

static bool is_faster_by(comparison times, uint64_t margin) {
    return times.tried + times.tried / margin < times.preferred;
}

static bool is_faster(const gs_variant *variant) {
    uint64_t margin = variant->trials < FIRST_TRIALS ? LARGE_MARGIN : SMALL_MARGIN;
    return variant->trials >= LEAST_TRIALS && is_faster_by(typical(variant), margin);
}

static bool is_hopeless(const gs_variant *variant) {
    comparison times = typical(variant);
    return variant->trials >= LEAST_TRIALS && times.tried > HOPELESS * times.preferred;
}

/* It is known which of the two is faster, until the data change. */
static bool is_settled(const gs_variant *variant) { return variant->trials >= FIRST_TRIALS || is_hopeless(variant); }

/* --- Wishes ------------------------------------------------------------------------------------------ */

/* The variant to compare with the preferred one: one that is not settled, or that was compared the fewest times. */
static uint32_t next_to_try(const gs_code *code, uint32_t count, uint32_t preferred) {
    uint32_t found = preferred;
    bool found_settled = true;
    for (uint32_t each = 0; each < count; each++) {
        const gs_variant *variant = &code->variants[each];
        bool settled = is_settled(variant), comes_first = found_settled && !settled;
        if (each == preferred || (settled && !found_settled))
            continue;
        if (found == preferred || comes_first || variant->trials < code->variants[found].trials) {
            found = each;
            found_settled = settled;
        }
    }
    return found;
}

static bool wants_variant(const gs_code *code) {
    return code->variants_to_come > 0 &&
           code->busy_nanoseconds > (code->variants_are_cached ? WORTH_LOADING : WORTH_COMPILING);
}

static bool has_decided(const gs_code *code, uint32_t preferred) {
    uint32_t next = next_to_try(code, code->variant_count, preferred);
    return next != preferred && is_settled(&code->variants[next]);
}

uint32_t gs_variant_wishes(const gs_code *code) {
    uint32_t wishes = wants_variant(code) ? GS_ADD_VARIANT : 0, preferred = code->preferred;
    if (preferred != code->remembered && code->times_remembered < MOST_REMEMBERED && has_decided(code, preferred))
        wishes |= GS_REMEMBER_VARIANT;
    return wishes;
}

/* --- Trials ------------------------------------------------------------------------------------------ */

static bool may_try(const gs_code *code, const gs_variant *variant) {
    return !is_settled(variant) || code->trial_nanoseconds * TRIAL_SHARE < code->busy_nanoseconds;
}

static bool refills(const gs_code *code, gs_trial trial) {
    return code->variants[trial.tried].refills || code->variants[trial.preferred].refills;
}

/* How many times as long the tried one takes, as far as that is known. */
static uint64_t slowdown(const gs_variant *tried) {
    comparison times = typical(tried);
    return times.tried > times.preferred && times.preferred > 0 ? times.tried / times.preferred : 1;
}

static uint64_t groups_to_try(const gs_code *code, gs_trial trial, uint64_t groups) {
    uint64_t cost = code->group_picoseconds, slower = slowdown(&code->variants[trial.tried]);
    if (__builtin_mul_overflow(cost, slower, &cost))
        cost = UINT64_MAX;
    uint64_t least = cost > 0 ? LEAST_PICOSECONDS / cost + 1 : 1;
    bool many = refills(code, trial);
    uint64_t most = cost > 0 ? MOST_PICOSECONDS / cost + (many ? LEAST_REFILLED_GROUPS : 1) : groups;
    uint64_t part = groups / (many ? GROUPS_PER_REFILLED_TRIAL : GROUPS_PER_TRIAL);
    uint64_t some = part < most ? part : most, each = some > least ? some : least;
    return each < groups / 2 ? each : groups / 2;
}

bool gs_suits_long_parts(const gs_code *code) {
    uint32_t count = code->variant_count, preferred = code->preferred;
    for (uint32_t each = 0; each < count; each++) {
        const gs_variant *variant = &code->variants[each];
        if (variant->refills && (each == preferred || !is_settled(variant)))
            return true;
    }
    return false;
}

gs_trial gs_trial_begin(gs_code *code, uint64_t groups) {
    uint32_t count = code->variant_count, preferred = code->preferred;
    gs_trial trial = {.tried = next_to_try(code, count, preferred), .preferred = preferred};
    if (trial.tried == preferred || groups == 0 || !may_try(code, &code->variants[trial.tried]))
        return trial;
    uint64_t each = groups == 1 ? 1 : groups_to_try(code, trial, groups);
    trial.is_half = groups == 1;
    trial.warm_up = refills(code, trial) ? 0 : each / WARM_UP_SHARE;
    trial.groups = each - trial.warm_up;
    trial.is_tried = code->turns++ % 2 == 0;
    return trial;
}

/* What was preferred has been compared with the new one; the others have not. */
static void prefer(gs_code *code, uint32_t chosen, uint32_t before) {
    gs_variant *now = &code->variants[chosen], *then = &code->variants[before];
    if (!atomic_compare_exchange_strong(&code->preferred, &before, chosen))
        return; /* another thread was faster */
    for (uint32_t each = 0; each < GS_MOST_VARIANTS; each++)
        if (each != chosen)
            code->variants[each].trials = 0;
    for (uint32_t each = 0; each < GS_KEPT_COMPARISONS; each++) {
        comparison times = unpacked(now->comparisons[each]);
        then->comparisons[each] = packed((comparison){times.preferred, times.tried});
    }
    then->trials = now->trials;
}

static _Atomic uint64_t *place_of(gs_variant *variant, uint32_t counting) {
    return &variant->comparisons[counting % GS_KEPT_COMPARISONS];
}

/* Two in a row by which one is clearly faster that was not: the data seem to have changed, so only these count. */
static void look_again(gs_variant *variant, uint32_t counting) {
    if (counting < FIRST_TRIALS)
        return;
    uint64_t last = *place_of(variant, counting), before = *place_of(variant, counting - 1);
    if (!is_faster_by(unpacked(last), LARGE_MARGIN) || !is_faster_by(unpacked(before), LARGE_MARGIN))
        return;
    variant->comparisons[0] = before;
    variant->comparisons[1] = last;
    variant->trials = 3;
}

void gs_trial_end(gs_code *code, gs_trial trial, uint64_t tried_nanoseconds, uint64_t preferred_nanoseconds) {
    gs_variant *variant = &code->variants[trial.tried];
    code->trial_nanoseconds += tried_nanoseconds;
    if (code->preferred != trial.preferred)
        return;
    uint32_t counting = variant->trials++;
    if (counting == 0)
        return;
    *place_of(variant, counting - 1) = packed((comparison){tried_nanoseconds, preferred_nanoseconds});
    if (is_faster(variant))
        prefer(code, trial.tried, trial.preferred);
    else
        look_again(variant, counting - 1);
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
