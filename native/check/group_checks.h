/* The checkers of races and barriers, as launches and compiled code see them. */
#ifndef GS_CHECK_GROUP_CHECKS_H
#define GS_CHECK_GROUP_CHECKS_H

#include "check/group_state.h"
#include "objects/kernel.h"

/* Whether two work-items that write the same value to one place are reported. */
extern bool gs_reports_same_values;

/* Around a launch of a kernel that is checked: numbers its groups, and says what compiled code calls. Without memory, that
 * is functions that do nothing. */
const gs_group_checks *gs_group_checks_begin(const gs_dispatch *dispatch, const gs_code *code);
void gs_group_checks_end(const gs_group_checks *checks);

/* Calls code for some groups of a launch. Of a large launch only some groups tell of what the launch's own checks do not
 * need: they lie in a few places, of which one is at the start. */
void gs_group_checks_run(gs_run_groups code, const gs_dispatch *dispatch, uint64_t first, uint64_t count, char *local);

/* --- Called by compiled code, through gs_group_checks ------------------------------------------------- */

/* Before each group. `shape` is the number of its work-items, and behind 32 bits that of a sub-group's. */
void gs_group_begin(const gs_dispatch *dispatch, uint64_t group, uint64_t shape, const char *local);

/* Some work-items have come to a barrier at a site. `info`: the site, and behind 16 bits the memory that it is a fence
 * for (a bit for each gs_space). */
void gs_barrier_arrive(uint64_t first_item, uint64_t lanes, uint64_t info);

/* All work-items of the group have come to a barrier or to their end. */
void gs_barrier_pass(void);

/* A sub-group has come to a barrier of its own. */
void gs_subgroup_barrier(uint64_t first_item, uint64_t info);

/* Lanes come to a fence: what they do before it may be released by relaxed atomic operations behind it, and what such have
 * acquired before it is acquired (happens_before.c). `info`: a bit for each gs_space, and GS_FENCE_... */
void gs_fence(uint64_t active, uint64_t first_item, uint64_t info);

/* Lanes are about to access memory: races.c. */
void gs_race_access(uint64_t base, int64_t stride, uint64_t active, uint64_t first_item, uint64_t info, const void *values);

/* --- group_copies.c --- */

/* The group begins a copy with an event, which the first work-item tells; and where, if it is never waited for. */
void gs_copy_begin(uint64_t first_item, uint64_t event, uint64_t site);

/* It copies `count` elements of some bytes, `stride` of which lie from one to the next: one side of it. `info` says nothing of the
 * bytes. */
void gs_race_copy(uint64_t base, uint64_t bytes, uint64_t stride, uint64_t count, uint64_t first_item, uint64_t info);

/* The group waits at a site for an event; UINT64_MAX: for all of them. */
void gs_copy_wait(uint64_t first_item, uint64_t event, uint64_t site);

/* Lanes do at a site what the whole group does, with some arguments: a number for all of them, or one for each lane. */
void gs_group_together(uint64_t arguments, const uint64_t *of_lanes, uint64_t active, uint64_t first_item, uint64_t site);

/* True for private memory. `space` becomes that of the address. */
bool gs_memory_is_own(uint64_t address, gs_space *space);

#endif
