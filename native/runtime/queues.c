/* All open queues of the process: which are busy, waiting until they have drained, and forks. */
#include <sched.h>
#include <stdlib.h>

#include "check/order/order.h"
#include "runtime/queue.h"
#include "threads/fork.h"

static gs_queue *queues;
GS_STATIC_LOCK(queues_lock, GS_SHORT_LOCK)

void gs_queues_add(gs_queue *queue) {
    gs_lock(&queues_lock);
    queue->next = queues;
    queue->link = &queues;
    if (queue->next != NULL)
        queue->next->link = &queue->next;
    queues = queue;
    gs_unlock(&queues_lock);
}

void gs_queues_remove(gs_queue *queue) {
    gs_lock(&queues_lock);
    *queue->link = queue->next;
    if (queue->next != NULL)
        queue->next->link = queue->link;
    gs_unlock(&queues_lock);
}

void gs_queues_each(void (*visit)(gs_queue *queue, void *with), void *with) {
    gs_lock(&queues_lock);
    for (gs_queue *each = queues; each != NULL; each = each->next)
        visit(each, with);
    gs_unlock(&queues_lock);
}

gs_queue *gs_queues_hold(uint64_t id) {
    gs_lock(&queues_lock);
    gs_queue *queue = queues;
    while (queue != NULL && queue->id != id)
        queue = queue->next;
    if (queue != NULL && !gs_object_try_hold(queue->owner)) /* it is being closed */
        queue = NULL;
    gs_unlock(&queues_lock);
    return queue;
}

/* An engine may not have come to look at the first command. */
static bool has_work(gs_queue *queue) {
    gs_lock(&queue->lock);
    bool held_up = queue->executing ? queue->waits : queue->first != NULL && !gs_command_targets_are_reached(queue->first);
    gs_unlock(&queue->lock);
    return gs_queue_is_busy(queue) && !held_up;
}

bool gs_queues_work(const gs_context *context) {
    bool work = false;
    gs_lock(&queues_lock);
    for (gs_queue *each = queues; each != NULL && !work; each = each->next)
        work = each->context == context && has_work(each);
    gs_unlock(&queues_lock);
    return work;
}

bool gs_queues_are_busy(const gs_context *context) {
    bool busy = false;
    gs_lock(&queues_lock);
    for (gs_queue *each = queues; each != NULL && !busy; each = each->next)
        busy = each->context == context && gs_queue_is_busy(each);
    gs_unlock(&queues_lock);
    return busy;
}

struct gs_drain_snapshot {
    uint32_t count;
    gs_queue_progress wanted[];
};

static bool belongs(const gs_queue *queue, const gs_context *context, const gs_device *device) {
    return context != NULL ? queue->context == context : queue->device == device || queue->device->parent == device;
}

static bool has_more_to_do(gs_queue *queue) { return atomic_load(&queue->completed) != atomic_load(&queue->submitted); }

/* There is room for every queue: one that is idle when they are counted may be busy when the snapshot is written. */
bool gs_drain_snapshot_take(const gs_context *context, gs_drain_snapshot **taken) {
    uint32_t capacity = 0;
    bool busy = false;
    gs_drain_snapshot *snapshot = NULL;
    gs_lock(&queues_lock);
    for (gs_queue *each = queues; each != NULL; each = each->next)
        if (each->context == context) {
            capacity++;
            busy |= has_more_to_do(each);
        }
    if (busy && (snapshot = calloc(1, sizeof *snapshot + capacity * sizeof(gs_queue_progress))) != NULL)
        for (gs_queue *each = queues; each != NULL; each = each->next)
            if (each->context == context && has_more_to_do(each) && gs_object_try_hold(each->owner))
                snapshot->wanted[snapshot->count++] = (gs_queue_progress){each, each->submitted};
    gs_unlock(&queues_lock);
    *taken = snapshot;
    return busy;
}

bool gs_drain_snapshot_is_reached(const gs_drain_snapshot *snapshot) {
    for (uint32_t each = 0; each < snapshot->count; each++)
        if (!gs_queue_has_completed((void *)&snapshot->wanted[each]))
            return false;
    return true;
}

void gs_drain_snapshot_drop(gs_drain_snapshot *snapshot) {
    for (uint32_t each = 0; snapshot != NULL && each < snapshot->count; each++)
        gs_object_drop(snapshot->wanted[each].queue->owner);
    free(snapshot);
}

bool gs_queues_have_more(const gs_context *context) {
    bool more = false;
    gs_lock(&queues_lock);
    for (gs_queue *each = queues; each != NULL && !more; each = each->next)
        more = each->context == context && has_more_to_do(each);
    gs_unlock(&queues_lock);
    return more;
}

/* The queue with the next larger number. Called with the lock held. */
static gs_queue *queue_after(uint64_t id, const gs_context *context, const gs_device *device) {
    gs_queue *next = NULL;
    for (gs_queue *each = queues; each != NULL; each = each->next)
        if (each->id > id && (next == NULL || each->id < next->id) && belongs(each, context, device))
            next = each;
    return next;
}

void gs_queues_wait(const gs_context *context, const gs_device *device) {
    uint64_t last = 0;
    for (;;) {
        gs_lock(&queues_lock);
        gs_queue *queue = queue_after(last, context, device);
        while (queue != NULL && !gs_object_try_hold(queue->owner)) /* it is being closed */
            queue = queue_after(queue->id, context, device);
        gs_queue_progress wanted = {queue, queue != NULL ? queue->submitted : 0};
        gs_unlock(&queues_lock);
        if (queue == NULL)
            return;
        gs_object *owner = queue->owner;
        last = queue->id;
        gs_futex_wait(&queue->futex, gs_queue_has_completed, &wanted, GS_FOREVER, false);
        if (gs_order_is_checked())
            gs_order_host_saw_queue(queue);
        gs_object_drop(owner);
    }
}

/* --- Forking ------------------------------------------------------------------------------------- */

/* A command that has retired signals and completes next, for which nobody needs a lock. */
static bool comes_to_rest(gs_queue *queue, uint64_t until) {
    while (!gs_queue_is_busy(queue) && has_more_to_do(queue) && gs_clock(CLOCK_MONOTONIC) < until)
        sched_yield();
    return !has_more_to_do(queue);
}

bool gs_queues_are_at_rest(void) {
    uint64_t until = gs_clock(CLOCK_MONOTONIC) + GS_FORK_PATIENCE;
    for (gs_queue *each = queues; each != NULL; each = each->next)
        if (!comes_to_rest(each, until))
            return false;
    return true;
}

/* Whoever executed a queue may have been about to say that it is done. */
void gs_queues_after_fork(void) {
    for (gs_queue *each = queues; each != NULL; each = each->next) {
        each->running = each->executing = each->called = each->waits = false;
        each->runnable.is_listed = false;
    }
}
