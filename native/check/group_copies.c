/* Asynchronous copies of a group: until when they go on, and whether all work-items ask for the same.
 *
 * What a copy accesses has a tick of its own, and the number of a work-item behind the last one. No barrier ends it, but a wait
 * for its event. A copy and a wait belong to the group as a whole: all of its work-items have to come to the same ones in the
 * same order, with the same arguments. Each has a hash of what it came to, and all hashes are compared at the next barrier. */
#include <string.h>

#include "check/checks.h"
#include "check/group_checks.h"

enum { BYTES_SHIFT = 16, MOST_BYTES = 0xfffc }; /* of what is told of an access */

/* --- Until when -------------------------------------------------------------------------------------- */

void gs_copy_begin(uint64_t first_item, uint64_t event, uint64_t site) {
    gs_group_state *here = gs_group_here;
    if (here == NULL || first_item != 0)
        return;
    gs_group_tick(here);
    gs_group_copy *copy = &here->copies[here->copy_count % GS_MOST_COPIES];
    bool forgets_one = here->copy_count >= GS_MOST_COPIES && !copy->is_done;
    *copy = (gs_group_copy){.tick = here->tick, .event = (uint32_t)event, .site = (uint32_t)site};
    here->copy_count++;
    here->copies_under_way += forgets_one ? 0 : 1;
}

void gs_race_copy(uint64_t base, uint64_t bytes, uint64_t stride, uint64_t count, uint64_t first_item, uint64_t info) {
    gs_group_state *here = gs_group_here;
    if (here == NULL || first_item != 0)
        return;
    for (uint64_t each = 0; each < count; each++)
        for (uint64_t at = 0, some; at < bytes; at += some) {
            some = bytes - at < MOST_BYTES ? bytes - at : MOST_BYTES;
            gs_race_access(base + each * stride * bytes + at, 0, 1, here->items, info | some << BYTES_SHIFT, NULL);
        }
}

/* A copy of which nothing is known any more is taken to be done, and so is the present one: it does not race with itself. */
bool gs_copy_is_under_way(const gs_group_state *here, uint32_t tick) {
    if (here->copies_under_way == 0 || tick == GS_LAST_TICK)
        return false;
    for (uint32_t each = 0; each < here->copy_count && each < GS_MOST_COPIES; each++)
        if (here->copies[each].tick == tick)
            return !here->copies[each].is_done;
    return false;
}

/* Of more copies than are kept nothing is known. */
static bool is_of_copy(const gs_group_state *here, uint32_t event) {
    bool is_known = here->copy_count > GS_MOST_COPIES;
    for (uint32_t each = 0; each < here->copy_count && !is_known; each++)
        is_known = here->copies[each].event == event;
    return is_known;
}

/* The other sub-groups have not come to the wait yet: it counts when all have. An event that is of no copy is taken for all. */
void gs_copy_wait(uint64_t first_item, uint64_t event, uint64_t site) {
    gs_group_state *here = gs_group_here;
    if (here == NULL || first_item != 0)
        return;
    bool is_known = event != UINT64_MAX && is_of_copy(here, (uint32_t)event);
    bool is_left_out = event == 0 && here->copy_count > 0; /* a copy out of bounds, which has no event */
    if (event != UINT64_MAX && !is_known && !is_left_out) {
        uint64_t words[4] = {GS_UNKNOWN_EVENT};
        gs_report_in_group(here, (uint32_t)site, 0, words);
    }
    if (here->ended_count < GS_MOST_COPIES)
        here->ended[here->ended_count++] = is_known ? (uint32_t)event : 0;
}

static void end_copies(gs_group_state *here) {
    for (uint32_t each = 0; each < here->copy_count && each < GS_MOST_COPIES; each++) {
        gs_group_copy *copy = &here->copies[each];
        for (uint32_t wait = 0; wait < here->ended_count && !copy->is_done; wait++)
            if (here->ended[wait] == 0 || here->ended[wait] == copy->event) {
                copy->is_done = true;
                here->copies_under_way--;
            }
    }
    here->ended_count = 0;
}

/* A group must not end before its copies. */
static void report_copies_under_way(gs_group_state *here) {
    for (uint32_t each = 0; each < here->copy_count && each < GS_MOST_COPIES; each++) {
        if (here->copies[each].is_done)
            continue;
        uint64_t words[4] = {GS_UNAWAITED_COPY};
        gs_report_in_group(here, here->copies[each].site, 0, words);
    }
    here->copies_under_way = here->copy_count = 0;
}

/* --- Together ---------------------------------------------------------------------------------------- */

static const uint64_t MIX = UINT64_C(0x9e3779b97f4a7c15);

void gs_group_together(uint64_t arguments, const uint64_t *of_lanes, uint64_t active, uint64_t first_item, uint64_t site) {
    gs_group_state *here = gs_group_here;
    if (here == NULL || here->items > GS_MOST_ITEMS)
        return;
    if (!here->has_together)
        memset(here->together, 0, here->items * sizeof *here->together);
    here->has_together = true;
    for (uint64_t left = active; left != 0; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctzll(left);
        if (first_item + lane >= here->items)
            return;
        gs_together *own = &here->together[first_item + lane];
        uint64_t given = of_lanes != NULL ? of_lanes[lane] : arguments;
        own->what = (own->what ^ given ^ site) * MIX + 1;
        own->site = (uint16_t)site;
        own->count++;
    }
}

/* The first work-item is compared with the first that did something else; the one that came further is named. */
static void compare(const gs_group_state *here) {
    const gs_together *first = here->together;
    for (uint32_t item = 1; item < here->items; item++) {
        const gs_together *other = &here->together[item];
        if (other->what == first->what)
            continue;
        bool is_further = other->count > first->count;
        const gs_together *further = is_further ? other : first;
        bool is_missing = other->count != first->count || other->site != first->site;
        uint64_t words[4] = {GS_DIVERGENT_COPY | (uint64_t)is_missing << 8, is_further ? 0 : item};
        gs_report_in_group(here, further->site, is_further ? item : 0, words);
        return;
    }
}

void gs_copies_pass_barrier(gs_group_state *here) {
    if (here->ended_count > 0)
        end_copies(here);
    if (here->has_together)
        compare(here);
    here->has_together = false;
    if (here->waiting == 0 && here->copies_under_way > 0)
        report_copies_under_way(here);
}
