/* What the checkers of races and barriers know of the work-group that a thread runs. */
#ifndef GS_CHECK_GROUP_STATE_H
#define GS_CHECK_GROUP_STATE_H

#include "check/shadow.h"
#include "generated/shared.h"

enum { GS_MOST_ITEMS = 1024, GS_MOST_LOCATIONS = 6, GS_MOST_COPIES = 32 };

/* The memory of a group, that of the device, and images, which lie in the latter: a fence is for one of them, or for several. */
typedef enum gs_space { GS_LOCAL_SPACE, GS_GLOBAL_SPACE, GS_IMAGE_SPACE, GS_SPACES } gs_space;

/* How far an acquisition reaches: not at all before there is a fence; to work-items of the same group; to all. */
typedef enum gs_reach { GS_REACHES_NOBODY, GS_REACHES_GROUP, GS_REACHES_ALL } gs_reach;

/* The atomic variables that a work-item has acquired: it comes after whoever released to them. */
typedef struct gs_acquired {
    uint32_t count;
    bool is_everything; /* there are more than are kept, so that nothing can be said */
    uint8_t reach[GS_MOST_LOCATIONS];
    bool is_lock[GS_MOST_LOCATIONS]; /* only relaxed compare-exchanges have acquired it */
    uint64_t locations[GS_MOST_LOCATIONS];
} gs_acquired;

/* When a work-item had a lock without a fence behind the compare-exchange that took it: from that on until a fence for the
 * group, and until one for all. */
typedef struct gs_gap {
    uint32_t from, to_group, to_all;
} gs_gap;

/* The last fence of a work-item, which a relaxed atomic operation needs to release what comes before it. */
typedef struct gs_fence_stamp {
    uint32_t tick[GS_SPACES];  /* of what was done in that memory; 0: there was none */
    uint32_t in_group[GS_SPACES]; /* the same for a fence whose scope is the group */
    uint32_t since[GS_SPACES]; /* what the work-items of the group had done before a barrier comes before it, too */
} gs_fence_stamp;

/* Shadow memory of a group's local memory, in columns, so that lanes next to each other are looked at together. A stamp has
 * no run: all of it is cleared when a group begins. */
typedef struct gs_local_shadow {
    uint32_t words, capacity;
    uint32_t *write, *read, *other_read;
    uint16_t *write_site, *read_site, *other_site, *flags;
} gs_local_shadow;

/* An asynchronous copy: what it accesses has this tick, and the number of a work-item behind the last one. */
typedef struct gs_group_copy {
    uint32_t tick;
    uint32_t event; /* who waits for that waits for it */
    uint32_t site;
    bool is_done;
} gs_group_copy;

/* What a work-item has done of that which a group does together, since the last barrier. */
typedef struct gs_together {
    uint64_t what; /* a hash of the places and of what they were given */
    uint32_t count;
    uint16_t site; /* the last of the places */
} gs_together;

typedef struct gs_group_state {
    const gs_dispatch *dispatch;
    uint64_t group;                 /* its number in the launch */
    uint32_t run;                   /* and among all of the process */
    uint32_t first_run, run_count;  /* of the launch */
    uint32_t items, subgroup_size;
    uint32_t tick;
    uint32_t since[GS_SPACES];      /* the tick of the last barrier that is a fence for that memory */
    bool has_subgroup_barriers;
    uint32_t subgroup_since[GS_SPACES][GS_MOST_ITEMS + 1]; /* of each sub-group */
    uint64_t local;                 /* where local memory begins */
    gs_local_shadow shadow;         /* of it */
    /* atomics with an order */
    bool has_acquired;              /* some work-item has, in this interval */
    gs_acquired acquired;           /* by all work-items, before the last barrier */
    uint32_t acquired_run[GS_MOST_ITEMS + 1]; /* whose those of each work-item are */
    gs_acquired item_acquired[GS_MOST_ITEMS + 1];
    gs_gap item_gaps[GS_MOST_ITEMS + 1][GS_MOST_LOCATIONS]; /* of each location that it has acquired */
    gs_fence_stamp item_fence[GS_MOST_ITEMS + 1];
    bool has_fenced[GS_SPACES];     /* some work-item has, in this interval */
    uint32_t fenced[GS_SPACES];     /* all that was done before this tick comes before a fence and a barrier */
    /* copies */
    uint32_t copies_under_way, copy_count;
    gs_group_copy copies[GS_MOST_COPIES]; /* the last ones, at their number */
    uint32_t ended_count, ended[GS_MOST_COPIES]; /* the events that are waited for at the next barrier */
    bool has_together;              /* some work-item has done something of that, in this interval */
    gs_together together[GS_MOST_ITEMS];
    /* barriers */
    uint32_t pending_fences;        /* a bit for each space */
    uint32_t barriers;              /* that have been passed, and 1 */
    uint32_t waiting;               /* work-items */
    uint32_t first_site;            /* of the barrier that the first of them came to */
    bool is_divergent;              /* some have come to another */
    uint32_t vector_lanes;
    uint16_t waits_at[GS_MOST_ITEMS];      /* of the first work-item of a vector: the site of its barrier */
    uint32_t waits_for[GS_MOST_ITEMS];     /* and the number of barriers when it came there */
} gs_group_state;

/* That of the calling thread; NULL: there was no memory for it, and nothing is checked. */
extern _Thread_local gs_group_state *gs_group_here;

/* Of a race, beside its kind: the memory is local, and both wrote the same value. */
enum { GS_RACE_LOCAL = 1, GS_RACE_SAME_VALUE = 2 };

/* Lets time pass for the group. */
static inline void gs_group_tick(gs_group_state *here) {
    if (here->tick < GS_LAST_TICK)
        here->tick++;
}

/* Notes what a checker has found, at a site of the kernel; once for each value of the first word. */
void gs_report_in_group(const gs_group_state *here, uint32_t site, uint32_t item, const uint64_t words[4]);

/* --- local_races.c ----------------------------------------------------------------------------------- */

void gs_local_shadow_clear(gs_local_shadow *shadow, uint64_t bytes);
void gs_local_shadow_release(gs_local_shadow *shadow);

/* --- group_copies.c ----------------------------------------------------------------------------------- */

/* True if a copy of the group may still access memory: its event has not been waited for. */
bool gs_copy_is_under_way(const gs_group_state *here, uint32_t tick);

/* All work-items have come to a barrier or to their end. */
void gs_copies_pass_barrier(gs_group_state *here);

/* --- happens_before.c -------------------------------------------------------------------------------- */

/* An atomic operation on a location, of a work-item. If it is relaxed, it releases what a fence has released. */
void gs_synchronise(gs_group_state *here, uint64_t location, uint32_t item, gs_space space, uint64_t info);

/* True if what was done then comes before what a work-item does now, because of atomic operations between them. */
bool gs_is_synchronised(const gs_group_state *here, gs_access_stamp then, uint32_t item, gs_space space);

/* The work-items of a sub-group have come to a barrier of theirs, which is a fence. */
void gs_fence_acquired(gs_group_state *here, uint32_t first_item, uint32_t items);

/* All work-items know what any has acquired, and release what any has fenced. */
void gs_share_acquired(gs_group_state *here);

/* Before the first launch when none runs. */
void gs_forget_synchronisation(void);

#endif
