/* What atomic operations order: a work-item that acquires a location comes after all that released to it before.
 *
 * A release notes the tick of its work-item, and from when on its group's barriers make it speak for the others. An
 * acquisition notes the location, with those that its releasers had acquired. When nothing more can be noted, accesses are
 * taken to be ordered: better to miss a race than to report one that is none.
 *
 * A fence whose scope is the group releases to the group, and lets what was acquired reach what the group has done. Whoever
 * then releases to all passes on what it had acquired of its group.
 *
 * A relaxed compare-exchange acquires only at the next fence. If it takes a lock, what its work-item does before that fence may
 * be done before the last owner gives the lock back: such a gap is in a race with all other owners, in whatever order they
 * had the lock. */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "check/group_checks.h"

/* --- The table --------------------------------------------------------------------------------------- */

enum { ENTRIES = 1 << 20, MOST_USED = ENTRIES / 2, PATIENCE = 1 << 22 };

/* What is known of a location (`run` is that of the launch's first group, or the group's own for local memory, and `item` is
 * LOCATION), of a group that released to it (GROUP), or of a work-item that did. */
enum { LOCATION = UINT32_MAX, GROUP = UINT32_MAX - 1 };
typedef struct entry {
    uint64_t location; /* 0: the entry is free */
    uint32_t run, item;
    union {
        struct {
            uint32_t tick[GS_SPACES];     /* of a work-item: when it last released */
            uint32_t in_group[GS_SPACES]; /* and when to its group */
            gs_gap gap;                   /* the last time it had this lock */
        };
        struct {
            uint32_t since[GS_SPACES]; /* of a group: what came before this comes before the release */
            uint32_t passed_on;        /* what was released to the group before this was then released to all */
        };
        gs_acquired carried;         /* of a location: what its releasers had acquired */
    };
} entry;

static entry *entries;
static uint32_t used;
static atomic_bool is_full, lock;

/* As in shadow.c: a thread that is stopped leaves it locked. Entries neither move nor go away while kernels run. */
static void take_lock(void) {
    for (uint32_t turns = 0; atomic_exchange_explicit(&lock, true, memory_order_acquire) && turns < PATIENCE;)
        turns++;
}
static void give_lock(void) { atomic_store_explicit(&lock, false, memory_order_release); }

static entry *place_of(uint64_t location, uint32_t run, uint32_t item) {
    uint64_t hash = (location ^ (uint64_t)run << 29 ^ (uint64_t)item << 13) * UINT64_C(0x9e3779b97f4a7c15);
    for (uint32_t at = (uint32_t)(hash >> 44);; at++) {
        entry *here = &entries[at & (ENTRIES - 1)];
        if (here->location == 0 || (here->location == location && here->run == run && here->item == item))
            return here;
    }
}

/* NULL: there is none. */
static entry *find(uint64_t location, uint32_t run, uint32_t item) {
    entry *found = entries != NULL ? place_of(location, run, item) : NULL;
    return found != NULL && found->location != 0 ? found : NULL;
}

/* One that is all zero at first; NULL: there is no room. */
static entry *find_or_add(uint64_t location, uint32_t run, uint32_t item) {
    if (entries == NULL) {
        void *memory = mmap(NULL, ENTRIES * sizeof(entry), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        entries = memory != MAP_FAILED ? memory : NULL;
    }
    entry *found = entries != NULL ? place_of(location, run, item) : NULL;
    if (found == NULL || (found->location == 0 && used >= MOST_USED)) {
        is_full = true;
        return NULL;
    }
    if (found->location == 0) {
        used++;
        found->run = run;
        found->item = item;
        found->location = location;
    }
    return found;
}

void gs_forget_synchronisation(void) {
    if (used > MOST_USED / 4) {
        madvise(entries, ENTRIES * sizeof(entry), MADV_DONTNEED);
        used = 0;
        is_full = false;
    }
}

/* --- What is acquired -------------------------------------------------------------------------------- */

/* Where a location is among those that are acquired; NOWHERE: there is no room for it. */
enum { NOWHERE = GS_MOST_LOCATIONS };

static uint32_t acquire(gs_acquired *into, uint64_t location, gs_reach reach, bool is_lock) {
    uint32_t at = 0;
    while (at < into->count && into->locations[at] != location)
        at++;
    if (at == NOWHERE) {
        into->is_everything = true;
        return NOWHERE;
    }
    if (at == into->count) {
        into->locations[into->count++] = location;
        into->reach[at] = GS_REACHES_NOBODY;
        into->is_lock[at] = true;
    }
    into->is_lock[at] &= is_lock;
    if (into->reach[at] < reach)
        into->reach[at] = (uint8_t)reach;
    return at;
}

/* What reaches somebody reaches as far as is said; but for one location. */
enum { NO_LOCATION = 0 };

static void acquire_all(gs_acquired *into, const gs_acquired *from, gs_reach reach, uint64_t but) {
    into->is_everything |= from->is_everything;
    for (uint32_t i = 0; i < from->count; i++)
        if (from->reach[i] != GS_REACHES_NOBODY && from->locations[i] != but)
            acquire(into, from->locations[i], reach, from->is_lock[i]);
}

static void reach_farther(gs_acquired *of, gs_reach reach) {
    for (uint32_t i = 0; i < of->count; i++)
        if (of->reach[i] < reach)
            of->reach[i] = (uint8_t)reach;
}

static gs_acquired *of_item(gs_group_state *here, uint32_t item) {
    if (here->acquired_run[item] != here->run) {
        here->item_acquired[item] = (gs_acquired){0};
        here->item_fence[item] = (gs_fence_stamp){0};
        memset(here->item_gaps[item], 0, sizeof here->item_gaps[item]);
        here->acquired_run[item] = here->run;
    }
    return &here->item_acquired[item];
}

/* A work-item comes to a fence: what it has acquired reaches farther, and no lock is without a fence any more. */
static void fence_acquired(gs_group_state *here, uint32_t item, gs_reach reach) {
    reach_farther(&here->item_acquired[item], reach);
    for (gs_gap *gap = here->item_gaps[item]; gap < here->item_gaps[item] + GS_MOST_LOCATIONS; gap++) {
        if (gap->to_group == 0)
            gap->to_group = here->tick + 1;
        if (gap->to_all == 0 && reach == GS_REACHES_ALL)
            gap->to_all = here->tick + 1;
    }
}

void gs_share_acquired(gs_group_state *here) {
    for (uint32_t item = 0; here->has_acquired && item < here->items; item++)
        if (here->acquired_run[item] == here->run) {
            fence_acquired(here, item, GS_REACHES_ALL); /* a barrier is a fence, too */
            acquire_all(&here->acquired, &here->item_acquired[item], GS_REACHES_ALL, NO_LOCATION);
        }
    here->has_acquired = false;
    for (int space = 0; space < GS_SPACES; space++) {
        if (here->has_fenced[space])
            here->fenced[space] = here->tick + 1; /* by the others: the one who fenced may not be the one who tells */
        here->has_fenced[space] = false;
    }
}

void gs_fence_acquired(gs_group_state *here, uint32_t first_item, uint32_t items) {
    for (uint32_t item = first_item; here->has_acquired && item < first_item + items && item < here->items; item++)
        if (item < GS_MOST_ITEMS && here->acquired_run[item] == here->run)
            fence_acquired(here, item, GS_REACHES_ALL);
}

static void note_fence(gs_group_state *here, uint32_t item, uint64_t info) {
    bool is_narrow = info & GS_FENCE_NARROW;
    of_item(here, item);
    if (info & GS_FENCE_ACQUIRES)
        fence_acquired(here, item, is_narrow ? GS_REACHES_GROUP : GS_REACHES_ALL);
    gs_fence_stamp *fence = &here->item_fence[item];
    for (int space = 0; info & GS_FENCE_RELEASES && space < GS_SPACES; space++) {
        if (!(info >> space & 1))
            continue;
        fence->in_group[space] = here->tick;
        if (is_narrow)
            continue;
        fence->tick[space] = here->tick;
        fence->since[space] = here->since[space];
        here->has_fenced[space] = true;
    }
}

/* The work-items that are active have come to a fence for the memories of which a bit is set. */
void gs_fence(uint64_t active, uint64_t first_item, uint64_t info) {
    gs_group_state *here = gs_group_here;
    if (here == NULL)
        return;
    for (uint64_t left = active; left != 0; left &= left - 1) {
        uint32_t item = (uint32_t)first_item + (uint32_t)__builtin_ctzll(left);
        if (item >= here->items || here->items > GS_MOST_ITEMS)
            break;
        note_fence(here, item, info);
    }
    gs_group_tick(here);
}

static uint32_t later(uint32_t one, uint32_t other) { return one > other ? one : other; }

/* What comes before a release: of the work-item, and of its group. */
static gs_fence_stamp released(const gs_group_state *here, uint32_t item, bool is_relaxed) {
    gs_fence_stamp found = here->item_fence[item];
    for (int space = 0; space < GS_SPACES; space++) {
        if (!is_relaxed)
            found.tick[space] = found.in_group[space] = here->tick;
        found.since[space] = is_relaxed ? later(found.since[space], here->fenced[space]) : here->since[space];
    }
    return found;
}

/* Until when what was done is released to all; 0: nothing is. */
static uint32_t released_to_all(const gs_fence_stamp *before) {
    uint32_t last = 0;
    for (int space = 0; space < GS_SPACES; space++)
        last = later(last, later(before->tick[space], before->since[space]));
    return last;
}

static bool releases_to_group(const gs_fence_stamp *before) {
    uint32_t any = 0;
    for (int space = 0; space < GS_SPACES; space++)
        any |= before->in_group[space];
    return any != 0;
}

/* What others of the group had released to those locations until a tick is released to all. */
static void pass_on(const gs_group_state *here, const gs_acquired *acquired, uint32_t until) {
    for (uint32_t i = 0; i < acquired->count; i++) {
        entry *group = find(acquired->locations[i], here->run, GROUP);
        if (group != NULL && acquired->reach[i] != GS_REACHES_NOBODY)
            group->passed_on = later(group->passed_on, until);
    }
}

/* A work-item gives a lock back. */
static void note_gap(const gs_group_state *here, uint32_t item, uint64_t location, gs_gap *into) {
    const gs_acquired *own = &here->item_acquired[item];
    for (uint32_t i = 0; i < own->count; i++) {
        gs_gap gap = here->item_gaps[item][i];
        if (own->locations[i] != location || gap.from == 0)
            continue;
        gap.to_group = gap.to_group != 0 ? gap.to_group : here->tick + 1;
        gap.to_all = gap.to_all != 0 ? gap.to_all : here->tick + 1;
        *into = gap;
    }
}

void gs_synchronise(gs_group_state *here, uint64_t location, uint32_t item, gs_space space, uint64_t info) {
    bool is_relaxed = info & GS_ACCESS_FENCED;
    gs_acquired *own = of_item(here, item);
    take_lock();
    entry *of = find_or_add(location, space == GS_LOCAL_SPACE ? here->run : here->first_run, LOCATION);
    if (info & GS_ACCESS_ACQUIRES) {
        bool is_unfenced = info & GS_ACCESS_UNFENCED;
        gs_reach reach = is_unfenced ? GS_REACHES_NOBODY : GS_REACHES_ALL;
        uint32_t at = acquire(own, location, reach, is_unfenced);
        if (at != NOWHERE && is_unfenced)
            here->item_gaps[item][at] = (gs_gap){.from = here->tick + 1};
        if (of != NULL)
            acquire_all(own, &of->carried, reach, NO_LOCATION);
        here->has_acquired = true;
    }
    gs_fence_stamp before = released(here, item, is_relaxed);
    uint32_t until = released_to_all(&before);
    bool releases = info & GS_ACCESS_RELEASES && (until != 0 || releases_to_group(&before));
    entry *mine = releases && of != NULL ? find_or_add(location, here->run, item) : NULL;
    entry *group = mine != NULL ? find_or_add(location, here->run, GROUP) : NULL;
    if (group != NULL) {
        acquire_all(&of->carried, own, GS_REACHES_ALL, location);
        acquire_all(&of->carried, &here->acquired, GS_REACHES_ALL, location);
        pass_on(here, own, until);
        pass_on(here, &here->acquired, until);
        if (!(info & GS_ACCESS_UNFENCED))
            note_gap(here, item, location, &mine->gap);
        for (int space = 0; space < GS_SPACES; space++) {
            mine->tick[space] = later(mine->tick[space], before.tick[space]);
            mine->in_group[space] = later(mine->in_group[space], before.in_group[space]);
            group->since[space] = later(group->since[space], before.since[space]);
        }
    }
    give_lock();
}

/* --- The question ------------------------------------------------------------------------------------ */

static bool is_released(const gs_group_state *here, uint64_t location, bool is_lock, gs_access_stamp then, gs_space space) {
    uint32_t run = gs_stamp_run(then), tick = gs_stamp_tick(then);
    const entry *item = find(location, run, gs_stamp_item(then)), *group = find(location, run, GROUP);
    if (is_lock && item != NULL && tick >= item->gap.from && tick < (run == here->run ? item->gap.to_group : item->gap.to_all))
        return false;
    if ((item != NULL && tick <= item->tick[space]) || (group != NULL && tick < group->since[space]))
        return true;
    bool is_passed_on = run == here->run || (group != NULL && tick <= group->passed_on);
    return item != NULL && tick <= item->in_group[space] && is_passed_on;
}

/* True if one of the locations, from which on it reaches those who did that, was released to by them. */
static bool is_released_to_any(const gs_group_state *here, const gs_acquired *acquired, gs_access_stamp then, gs_space space) {
    gs_reach needed = gs_stamp_run(then) == here->run ? GS_REACHES_GROUP : GS_REACHES_ALL;
    for (uint32_t i = 0; i < acquired->count; i++)
        if (acquired->reach[i] >= needed && is_released(here, acquired->locations[i], acquired->is_lock[i], then, space))
            return true;
    return acquired->is_everything;
}

/* Compiled code tells of an atomic operation before it is made. So a release that it finds may be noted after it. */
static bool orders(const gs_group_state *here, const gs_acquired *acquired, gs_access_stamp then, gs_space space) {
    if (is_released_to_any(here, acquired, then, space))
        return true;
    gs_reach needed = gs_stamp_run(then) == here->run ? GS_REACHES_GROUP : GS_REACHES_ALL;
    for (uint32_t i = 0; i < acquired->count; i++) {
        const entry *of = find(acquired->locations[i], here->first_run, LOCATION);
        if (of != NULL && acquired->reach[i] >= needed && is_released_to_any(here, &of->carried, then, space))
            return true;
    }
    return false;
}

bool gs_is_synchronised(const gs_group_state *here, gs_access_stamp then, uint32_t item, gs_space space) {
    bool has_own = here->acquired_run[item] == here->run;
    if (!has_own && here->acquired.count == 0)
        return false;
    if (is_full || gs_stamp_tick(then) == GS_LAST_TICK)
        return true;
    return orders(here, &here->acquired, then, space) ||
           (has_own && orders(here, &here->item_acquired[item], then, space));
}
