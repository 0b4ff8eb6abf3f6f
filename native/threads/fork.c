/* A fork copies the memory of a process and one of its threads. What the others were doing stays half done, and the locks
 * that they hold are never given back. So a thread that forks takes every lock first: then nobody is in the middle of
 * something. The child goes on with a copy of the driver if no other thread was in a call that takes long, and no command
 * was under way. Otherwise, and if a lock cannot be had, it is abandoned: every call answers DEVICE_LOST, and touches
 * nothing. The parent notices nothing. */
#include "threads/fork.h"

#include <pthread.h>

#include "abi/tracer.h"
#include "threads/lock.h"

static bool abandoned;
static bool is_at_rest; /* when the process last forked */

bool gs_is_abandoned(void) { return abandoned; }

ze_result_t gs_fail_abandoned(enum gs_function function) {
    return gs_fail(ZE_RESULT_ERROR_DEVICE_LOST,
                   "%s: this process was forked while another thread was in a call to the driver, or while the device was "
                   "at work; fork before that, or start another program (exec) in the child",
                   gs_function_names[function]);
}

static void before_fork(void) {
    gs_variants_before_fork();
    bool all_locks = gs_locks_take();
    is_at_rest = all_locks && !abandoned && gs_python_is_at_rest() && gs_queues_are_at_rest() && gs_heap_copy();
}

static void after_fork_in_parent(void) {
    if (is_at_rest)
        gs_heap_drop_copy();
    gs_locks_give();
}

static void go_on(void) {
    gs_engines_after_fork();
    gs_thread_pools_after_fork();
    gs_queues_after_fork();
    gs_events_after_fork();
}

static void abandon(void) {
    abandoned = true;
    gs_objects_abandon();
    gs_python_abandon();
}

static void after_fork_in_child(void) {
    gs_locks_renew();
    gs_tracers_after_fork();
    gs_activity_after_fork();
    gs_faults_after_fork();
    gs_watchdog_after_fork();
    gs_variants_after_fork();
    gs_profile_after_fork();
    if (is_at_rest && gs_heap_use_copy())
        go_on();
    else
        abandon();
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
