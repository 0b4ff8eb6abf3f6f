/* How long a kernel may run: GROUNDSTATE_KERNEL_LIMIT. */
#ifndef GS_LIMIT_H
#define GS_LIMIT_H

#include "objects/kernel.h"

/* A launch that runs, on the stack of the thread that runs it. */
typedef struct gs_limited {
    struct gs_limited *next, **link; /* link is NULL if it is in no list, or no longer */
    bool is_watched;
    gs_context *context;
    const gs_code *code;
    uint64_t deadline;
} gs_limited;

extern uint64_t gs_kernel_limit; /* nanoseconds; 0: none */

void gs_limit_watch(gs_limited *launch, const gs_code *code);
void gs_limit_leave(gs_limited *launch);

/* Around a launch. Without a limit, this is one look at a word. */
static inline void gs_limit_begin(gs_limited *launch, const gs_code *code) {
    launch->is_watched = gs_kernel_limit != 0;
    if (launch->is_watched)
        gs_limit_watch(launch, code);
}

static inline void gs_limit_end(gs_limited *launch) {
    if (launch->is_watched)
        gs_limit_leave(launch);
}

#endif
