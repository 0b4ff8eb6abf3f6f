/* What atomic operations order: a work-item that acquires a location comes after all that released to it before.
 *
 * A release notes the tick of its work-item, and from when on its group's barriers make it speak for the others. An
 * acquisition notes the location, with those that its releasers had acquired. When nothing more can be noted, accesses are
 * taken to be ordered: better to miss a race than to report one that is none. */
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
        uint32_t tick[GS_SPACES];    /* of a work-item: when it last released */
        uint32_t since[GS_SPACES];   /* of a group: what came before this comes before the release */
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
static const entry *find(uint64_t location, uint32_t run, uint32_t item) {
    const entry *found = entries != NULL ? place_of(location, run, item) : NULL;
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

static void acquire(gs_acquired *into, uint64_t location) {
    for (uint32_t i = 0; i < into->count; i++)
        if (into->locations[i] == location)
            return;
    if (into->count == GS_MOST_LOCATIONS)
        into->is_everything = true;
    else
        into->locations[into->count++] = location;
}

static void acquire_all(gs_acquired *into, const gs_acquired *from) {
    into->is_everything |= from->is_everything;
    for (uint32_t i = 0; i < from->count; i++)
        acquire(into, from->locations[i]);
}

static gs_acquired *of_item(gs_group_state *here, uint32_t item) {
    if (here->acquired_run[item] != here->run) {
        here->item_acquired[item] = (gs_acquired){0};
        here->item_fence[item] = (gs_fence_stamp){0};
        here->acquired_run[item] = here->run;
    }
    return &here->item_acquired[item];
}

void gs_share_acquired(gs_group_state *here) {
    for (uint32_t item = 0; here->has_acquired && item < here->items; item++)
        if (here->acquired_run[item] == here->run)
            acquire_all(&here->acquired, &here->item_acquired[item]);
    here->has_acquired = false;
    for (int space = 0; space < GS_SPACES; space++) {
        if (here->has_fenced[space])
            here->fenced[space] = here->tick + 1; /* by the others: the one who fenced may not be the one who tells */
        here->has_fenced[space] = false;
    }
}

/* The work-items that are active have come to a fence for the memories of which a bit is set. */
void gs_fence(uint64_t active, uint64_t first_item, uint64_t memories) {
    gs_group_state *here = gs_group_here;
    if (here == NULL)
        return;
    for (uint64_t left = active; left != 0; left &= left - 1) {
        uint32_t item = (uint32_t)first_item + (uint32_t)__builtin_ctzll(left);
        if (item >= here->items || here->items > GS_MOST_ITEMS)
            break;
        of_item(here, item);
        gs_fence_stamp *fence = &here->item_fence[item];
        for (int space = 0; space < GS_SPACES; space++) {
            if (!(memories >> space & 1))
                continue;
            fence->tick[space] = here->tick;
            fence->since[space] = here->since[space];
        }
    }
    for (int space = 0; space < GS_SPACES; space++)
        here->has_fenced[space] |= memories >> space & 1;
    gs_group_tick(here);
}

static uint32_t later(uint32_t one, uint32_t other) { return one > other ? one : other; }

/* What comes before a release: of the work-item, and of its group. */
static gs_fence_stamp released(const gs_group_state *here, uint32_t item, bool is_relaxed) {
    gs_fence_stamp found = here->item_fence[item];
    for (int space = 0; space < GS_SPACES; space++) {
        if (!is_relaxed)
            found.tick[space] = here->tick;
        found.since[space] = is_relaxed ? later(found.since[space], here->fenced[space]) : here->since[space];
    }
    return found;
}

static bool releases_anything(const gs_fence_stamp *before) {
    uint32_t any = 0;
    for (int space = 0; space < GS_SPACES; space++)
        any |= before->tick[space] | before->since[space];
    return any != 0;
}

void gs_synchronise(gs_group_state *here, uint64_t location, uint32_t item, gs_space space, uint64_t info) {
    bool is_relaxed = info & GS_ACCESS_FENCED;
    gs_acquired *own = of_item(here, item);
    take_lock();
    entry *of = find_or_add(location, space == GS_LOCAL_SPACE ? here->run : here->first_run, LOCATION);
    if (info & GS_ACCESS_ACQUIRES) {
        acquire(own, location);
        if (of != NULL)
            acquire_all(own, &of->carried);
        here->has_acquired = true;
    }
    gs_fence_stamp before = released(here, item, is_relaxed);
    bool releases = info & GS_ACCESS_RELEASES && releases_anything(&before);
    entry *mine = releases && of != NULL ? find_or_add(location, here->run, item) : NULL;
    entry *group = mine != NULL ? find_or_add(location, here->run, GROUP) : NULL;
    if (group != NULL) {
        acquire_all(&of->carried, own);
        acquire_all(&of->carried, &here->acquired);
        for (int space = 0; space < GS_SPACES; space++) {
            mine->tick[space] = later(mine->tick[space], before.tick[space]);
            group->since[space] = later(group->since[space], before.since[space]);
        }
    }
    give_lock();
}

/* --- The question ------------------------------------------------------------------------------------ */

static bool is_released(uint64_t location, gs_access_stamp then, gs_space space) {
    uint32_t run = gs_stamp_run(then), tick = gs_stamp_tick(then);
    const entry *item = find(location, run, gs_stamp_item(then)), *group = find(location, run, GROUP);
    return (item != NULL && tick <= item->tick[space]) || (group != NULL && tick < group->since[space]);
}

static bool is_released_to_any(const gs_acquired *acquired, gs_access_stamp then, gs_space space) {
    for (uint32_t i = 0; i < acquired->count; i++)
        if (is_released(acquired->locations[i], then, space))
            return true;
    return acquired->is_everything;
}

/* Compiled code tells of an atomic operation before it is made. So a release that it finds may be noted after it. */
static bool orders(const gs_group_state *here, const gs_acquired *acquired, gs_access_stamp then, gs_space space) {
    if (is_released_to_any(acquired, then, space))
        return true;
    for (uint32_t i = 0; i < acquired->count; i++) {
        const entry *of = find(acquired->locations[i], here->first_run, LOCATION);
        if (of != NULL && is_released_to_any(&of->carried, then, space))
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
