/* Waits under way, and what can still end them. */
#ifndef GS_CHECK_HOST_WAITS_H
#define GS_CHECK_HOST_WAITS_H

#include "check/host/host_report.h"
#include "runtime/queue.h"

/* What is waited for, or signalled: the word of an event, a counter with a number, or a fence. It is compared and never
 * followed, because what it stands for may be gone. */
typedef struct gs_host_signal {
    const void *word;
    uint64_t number;
    const void *object; /* the event or the fence, as the books know it */
} gs_host_signal;

/* A copy of a wait. */
typedef struct gs_host_waiter {
    enum gs_function function;
    const gs_host_stack *stack;
    gs_host_signal wanted; /* or, if that is none, */
    uint64_t queue;        /* the id of the queue that must come to */
    uint64_t number;
    gs_context *context; /* held */
    bool is_over;        /* what it waits for has come, or may come from elsewhere */
} gs_host_waiter;

gs_host_signal gs_host_signal_of(const gs_target *target, bool *is_over);

/* host_wait_graph.c: reports those of the waiters that nothing submitted can end. True if one was. */
bool gs_host_report_endless(gs_host_waiter *waiters, size_t count, bool others_may_act);

/* host_threads.c: whether a thread of the program, other than those, could do something yet. */
bool gs_host_threads_may_act(const int *waiting, size_t count);

#endif
