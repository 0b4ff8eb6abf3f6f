/* Processes that fork while the driver is in use. */
#ifndef GS_THREADS_FORK_H
#define GS_THREADS_FORK_H

#include <stdbool.h>

#include "abi/abi.h"

/* True in a child whose copy of the driver was under way when its parent forked: it answers nothing any more. */
bool gs_is_abandoned(void);
ze_result_t gs_fail_abandoned(enum gs_function function);

/* What each part of the driver does in a child, which has a copy of its memory and one thread. */
void gs_activity_after_fork(void);
void gs_engines_after_fork(void);
void gs_events_after_fork(void);
void gs_faults_after_fork(void);
void gs_watchdog_after_fork(void);
void gs_thread_pools_after_fork(void);
void gs_queues_after_fork(void);
void gs_variants_after_fork(void);
void gs_profile_after_fork(void);

/* Before: lets the thread that compiles variants come to its end. */
void gs_variants_before_fork(void);

/* The counters lie in memory that processes share. Before: makes a copy, with all locks held; false if it cannot be
 * made. After: drops it in the parent, and in the child puts it where the counters were. */
bool gs_heap_copy(void);
void gs_heap_drop_copy(void);
bool gs_heap_use_copy(void);

/* With all locks held: whether every queue has done what it was given. */
bool gs_queues_are_at_rest(void);

/* Whether the interpreter can be used in a child: nobody else is in it, and its lock is free or this thread's. */
bool gs_python_is_at_rest(void);
void gs_python_abandon(void);

/* From here on no handle is live, but for drivers. */
void gs_objects_abandon(void);

#endif
