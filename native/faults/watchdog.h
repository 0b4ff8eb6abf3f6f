/* How long a kernel may run: GROUNDSTATE_KERNEL_LIMIT. */
#ifndef GS_FAULTS_WATCHDOG_H
#define GS_FAULTS_WATCHDOG_H

#include "objects/kernel.h"

/* A launch that runs, on the stack of the thread that runs it. */
typedef struct gs_watched_launch {
    struct gs_watched_launch *next, **link; /* link is NULL if it is in no list, or no longer */
    bool is_watched;
    gs_context *context;
    const gs_code *code;
    uint64_t deadline;
} gs_watched_launch;

extern uint64_t gs_kernel_limit; /* nanoseconds; 0: none */

void gs_watchdog_add(gs_watched_launch *launch, const gs_code *code);
void gs_watchdog_remove(gs_watched_launch *launch);

/* Around a launch. Without a limit, this is one look at a word. */
static inline void gs_watchdog_begin(gs_watched_launch *launch, const gs_code *code) {
    launch->is_watched = gs_kernel_limit != 0;
    if (launch->is_watched)
        gs_watchdog_add(launch, code);
}

static inline void gs_watchdog_end(gs_watched_launch *launch) {
    if (launch->is_watched)
        gs_watchdog_remove(launch);
}

#endif
