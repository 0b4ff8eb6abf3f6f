/* A clock has an entry for each timeline: all commands up to a number come before it. Commands of a list that is not in order may
 * come before it alone; these have entries of their own. */
#include "check/order/vector_clock.h"

#include <stdlib.h>

typedef struct entry {
    gs_moment moment;
    bool with_earlier;
} entry;

struct gs_vector_clock {
    uint32_t references, count;
    entry entries[];
};

enum { MOST_ENTRIES = 512 };
static gs_vector_clock everything = {.references = UINT32_MAX / 2};

const gs_vector_clock *gs_clock_hold(const gs_vector_clock *clock) {
    if (clock != NULL && clock != &everything)
        ((gs_vector_clock *)clock)->references++;
    return clock;
}

void gs_clock_drop(const gs_vector_clock *clock) {
    if (clock != NULL && clock != &everything && --((gs_vector_clock *)clock)->references == 0)
        free((gs_vector_clock *)clock);
}

bool gs_clock_has(const gs_vector_clock *clock, gs_moment moment) {
    if (clock == &everything)
        return true;
    for (uint32_t each = 0; clock != NULL && each < clock->count; each++) {
        const entry *of = &clock->entries[each];
        if (of->moment.timeline == moment.timeline &&
            (of->with_earlier ? of->moment.number >= moment.number : of->moment.number == moment.number))
            return true;
    }
    return false;
}

static void add(gs_vector_clock *into, entry added) {
    if (gs_clock_has(into, added.moment) && !added.with_earlier)
        return;
    uint32_t kept = 0;
    bool is_known = false;
    for (uint32_t each = 0; each < into->count; each++) {
        entry of = into->entries[each];
        bool is_same = of.moment.timeline == added.moment.timeline;
        is_known |= is_same && of.with_earlier && of.moment.number >= added.moment.number;
        bool is_covered = is_same && added.with_earlier && of.moment.number <= added.moment.number;
        if (!is_covered || is_known)
            into->entries[kept++] = of;
    }
    into->count = kept;
    if (!is_known)
        into->entries[into->count++] = added;
}

static void add_all(gs_vector_clock *into, const gs_vector_clock *from) {
    for (uint32_t each = 0; from != NULL && each < from->count; each++)
        if (gs_timeline_matters(from->entries[each].moment.timeline))
            add(into, from->entries[each]);
}

static uint32_t count_of(const gs_vector_clock *clock) { return clock != NULL ? clock->count : 0; }

static gs_vector_clock *new_clock(uint32_t room) {
    gs_vector_clock *made = room <= MOST_ENTRIES ? malloc(sizeof *made + room * sizeof(entry)) : NULL;
    if (made != NULL)
        *made = (gs_vector_clock){.references = 1};
    return made;
}

/* True if nothing in one clock is new to the other. */
static bool is_before(const gs_vector_clock *one, const gs_vector_clock *other) {
    for (uint32_t each = 0; one != NULL && each < one->count; each++) {
        entry of = one->entries[each];
        bool is_known = false;
        for (uint32_t its = 0; other != NULL && its < other->count && !is_known; its++) {
            entry there = other->entries[its];
            is_known = there.moment.timeline == of.moment.timeline &&
                       (there.with_earlier ? there.moment.number >= of.moment.number
                                           : !of.with_earlier && there.moment.number == of.moment.number);
        }
        if (!is_known)
            return false;
    }
    return true;
}

const gs_vector_clock *gs_clock_join(const gs_vector_clock *one, const gs_vector_clock *other) {
    if (one == &everything || other == &everything)
        return &everything;
    if (is_before(one, other))
        return gs_clock_hold(other);
    if (is_before(other, one))
        return gs_clock_hold(one);
    gs_vector_clock *made = new_clock(count_of(one) + count_of(other));
    if (made == NULL)
        return &everything;
    add_all(made, one);
    add_all(made, other);
    return made;
}

const gs_vector_clock *gs_clock_after(const gs_vector_clock *clock, gs_moment moment, bool with_earlier) {
    if (clock == &everything)
        return clock;
    gs_vector_clock *made = new_clock(count_of(clock) + 1);
    if (made == NULL)
        return &everything;
    add_all(made, clock);
    add(made, (entry){moment, with_earlier});
    return made;
}
