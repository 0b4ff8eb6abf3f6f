/* Groups of checked launches that run one by one: each with local memory in another place than the last ones, so that
 * pointers into that of a group that has ended are found; and, if schedules vary (GROUNDSTATE_CHECK_VARY), in an order of
 * the seed, with local and private memory that hold something else than zeros. */
#ifndef GS_CHECK_SINGLE_GROUPS_H
#define GS_CHECK_SINGLE_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objects/kernel.h"

/* What varies schedules and undefined contents; 0: nothing does. Set once, before any other call is answered. */
extern uint64_t gs_vary_seed;

/* The local memory of the group that this thread runs, if it is known. */
extern _Thread_local gs_bounds gs_local_here;

static inline bool gs_runs_single_groups(const gs_dispatch *dispatch) {
    return __builtin_expect(gs_vary_seed != 0 || (dispatch->memory != NULL && dispatch->local_bytes > 0), 0);
}

/* Memory for the next group that this thread runs, as gs_kernel_memory gives it; NULL: there is none. */
char *gs_single_group_memory(const gs_dispatch *dispatch, uint64_t private, uint64_t saved);

/* The group that takes the place of another: in the order that the seed says. */
uint64_t gs_varied_group(const gs_dispatch *dispatch, uint64_t group);

/* The largest group, and the most local memory, of the GPU that launches are compared with; 0: of none. */
extern uint64_t gs_most_items, gs_most_local;

/* driver/checking/portability.py, through python/handlers.c: true if the context is to be lost for it. */
bool gs_report_limits(const gs_code *code, uint64_t local_bytes);

/* Fills memory that is new with what the seed says. */
void gs_vary_contents(void *memory, size_t bytes);

#endif
