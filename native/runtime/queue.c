/* Queues: commands in, one after the other, out on an engine.
 *
 * A command goes through four counts. `submitted`: the queue has it. Then it runs. `retired`: the queue no
 * longer needs the objects it refers to, so that whoever sees its event signalled may destroy them at once.
 * Then its event is signalled. `completed`: all of that is over; this is what a synchronise waits for. */
#include "runtime/queue.h"

#include <stdlib.h>

#include "check/host/host.h"
#include "check/order/host_touches.h"
#include "check/order/order.h"
#include "faults/lost_context.h"
#include "memory/memory.h"
#include "objects/device_kind.h"
#include "runtime/debugging.h"
#include "runtime/execution.h"

static _Atomic uint64_t last_id;
_Atomic bool gs_queues_are_watched;

GS_EXPORT void gs_watch_queues(bool enable) { gs_queues_are_watched = enable; }

ze_result_t gs_queue_check(enum gs_function function, const gs_context *context, const gs_device *device,
                           uint32_t ordinal, uint32_t index) {
    if (ordinal >= device->queue_groups)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the device has queue groups 0 to %u, not %u",
                       gs_function_names[function], device->queue_groups - 1, ordinal);
    if (index >= device->queues_per_group)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the queue group has indices 0 to %u, not %u",
                       gs_function_names[function], device->queues_per_group - 1, index);
    return gs_context_check_device(function, context, device);
}

void gs_queue_open(gs_queue *queue, gs_object *owner, gs_context *context, gs_device *device,
                   const ze_command_queue_desc_t *desc) {
    *queue = (gs_queue){.owner = owner, .id = ++last_id, .context = context, .device = device, .ordinal = desc->ordinal,
                        .index = desc->index, .flags = desc->flags, .mode = desc->mode, .priority = desc->priority};
    gs_mutex_open(&queue->lock, GS_SHORT_LOCK);
    gs_runnable_open(&queue->runnable, gs_thread_pool_scheduler(device->pool), desc->priority);
    gs_object_hold(context);
    if (gs_order_is_checked())
        gs_order_open(queue);
    gs_queues_add(queue);
    if (gs_queues_are_watched)
        gs_tell_of_queue(device, true);
}

void gs_queue_close(gs_queue *queue) {
    gs_queues_remove(queue);
    if (gs_order_is_checked())
        gs_order_close(queue);
    if (queue->device->kind != NULL)
        queue->device->kind->close_queue(queue);
    gs_runnable_close(&queue->runnable);
    gs_mutex_close(&queue->lock);
    free(queue->counts);
    gs_object_drop(queue->context);
}

static bool is_idle(void *queue) { return !gs_queue_is_busy(queue); }

void gs_queue_leave(gs_queue *queue) {
    if (gs_context_is_lost(queue->context))
        gs_wait_moment(is_idle, queue);
    if (gs_queues_are_watched)
        gs_tell_of_queue(queue->device, false);
}

/* --- Working it off -------------------------------------------------------------------------------- */

/* True if the caller, who holds the lock, must call an engine when it has let go of it. One that is on its way
 * is enough: a thread that submits and waits in a loop is faster than any engine, and would call ever more. */
static bool needs_engine(gs_queue *queue) {
    if (queue->called)
        return false;
    queue->called = true;
    gs_object_hold(queue->owner);
    return true;
}

/* Makes the caller the one who executes the queue's commands; false if somebody does so already. */
static bool begin(gs_queue *queue) {
    gs_lock(&queue->lock);
    bool mine = queue->running && !queue->executing;
    queue->executing |= mine;
    gs_unlock(&queue->lock);
    return mine;
}

bool gs_queue_has_next(gs_queue *queue) {
    gs_lock(&queue->lock);
    bool more = queue->first != NULL;
    gs_unlock(&queue->lock);
    return more;
}

gs_command *gs_queue_take_next(gs_queue *queue) {
    gs_lock(&queue->lock);
    gs_command *command = queue->first;
    if (command == NULL) {
        queue->running = queue->executing = false;
        gs_runnable_end(&queue->runnable);
    } else
        queue->first = command->next;
    if (gs_host_is_checked()) {
        queue->current = command;
        queue->step = 0;
    }
    gs_unlock(&queue->lock);
    return command;
}

/* For an engine that has come, or for who takes its place: the queue's owner is held since it was called. */
static gs_object *arrive(gs_queue *queue) {
    gs_lock(&queue->lock);
    queue->called = false;
    gs_unlock(&queue->lock);
    return queue->owner;
}

void gs_queue_work_off(gs_queue *queue) {
    gs_object *owner = arrive(queue);
    if (begin(queue)) {
        if (queue->device->kind != NULL) {
            if (queue->device->kind->work_off(queue, NULL, NULL))
                gs_queue_hand_over(queue);
        } else
            for (gs_command *command; (command = gs_queue_take_next(queue)) != NULL;)
                gs_queue_execute(queue, command);
    }
    gs_memory_free_deferred();
    gs_object_drop(owner);
}

/* Called with the lock held: ends the execution, and says whether an engine has to be called for the commands that are left. */
static bool end(gs_queue *queue, bool more) {
    queue->running = more;
    queue->executing = false;
    if (queue->first != NULL && gs_priorities_are_used())
        gs_runnable_wait(&queue->runnable, queue->first);
    else
        gs_runnable_end(&queue->runnable);
    return more && needs_engine(queue);
}

/* Ends what `begin` began; what is left of the commands goes to an engine, and what is under way to who looks at it. */
void gs_queue_hand_over(gs_queue *queue) {
    gs_lock(&queue->lock);
    bool attended = queue->under_way > 0 && queue->first == NULL;
    bool call = end(queue, queue->first != NULL);
    queue->is_visited = false;
    gs_unlock(&queue->lock);
    if (attended && !queue->device->kind->attend(queue)) {
        gs_lock(&queue->lock);
        call = !queue->running && end(queue, true);
        gs_unlock(&queue->lock);
    }
    if (call)
        gs_engine_assign(queue);
}

/* Makes the caller the one who executes a queue that nobody executes, whatever is under way there. */
static bool take_over(gs_queue *queue) {
    gs_lock(&queue->lock);
    bool mine = !queue->running;
    if (mine)
        queue->running = queue->executing = true;
    gs_unlock(&queue->lock);
    return mine;
}

/* Nanoseconds that a thread waits for one that only looks at the queue: mostly it takes a tenth of this. */
enum { LONGEST_VISIT = 20000 };

/* As take_over, but waits for the end of a visit. */
static bool take_over_soon(gs_queue *queue) {
    uint64_t until = 0;
    while (!take_over(queue)) {
        uint64_t now = gs_clock(CLOCK_MONOTONIC);
        if (until == 0)
            until = now + LONGEST_VISIT;
        if (!queue->is_visited || now > until)
            return take_over(queue);
        gs_relax();
    }
    return true;
}

bool gs_queue_visit(gs_queue *queue) {
    gs_lock(&queue->lock);
    bool mine = !queue->running;
    if (mine)
        queue->running = queue->executing = queue->is_visited = true;
    gs_unlock(&queue->lock);
    return mine;
}

bool gs_queue_can_go_on(gs_queue *queue) {
    gs_lock(&queue->lock);
    const gs_command *command = queue->first;
    gs_unlock(&queue->lock);
    return command == NULL || gs_command_is_unhindered(command);
}

/* For the one who executes the queue, until he need not any more or would be held up. */
static void work_until(gs_queue *queue, bool (*done)(void *state), void *state) {
    if (queue->device->kind != NULL) {
        if (queue->device->kind->work_off(queue, done, state))
            gs_queue_hand_over(queue);
        return;
    }
    while (!done(state) && gs_queue_can_go_on(queue)) {
        gs_command *command = gs_queue_take_next(queue);
        if (command == NULL)
            return;
        gs_queue_execute(queue, command);
    }
    gs_queue_hand_over(queue);
}

/* What somebody waits for, and how long he looks at the device before he sleeps. */
typedef struct look_out {
    bool (*done)(void *state);
    void *state;
    uint64_t until;
} look_out;

static bool is_over(void *state) {
    const look_out *wanted = state;
    return wanted->done(wanted->state) || gs_clock(CLOCK_MONOTONIC) > wanted->until;
}

/* A device with a kind tells the thread that looks first. To issue what is left may take long, and a thread of a Python
 * program must stay free for Ctrl-C. */
static void look_out_for(gs_queue *queue, bool (*done)(void *state), void *state) {
    enum { LONGEST_LOOK = 200000 };
    const bool may_issue = !gs_process_is_python();
    look_out wanted = {done, state, gs_clock(CLOCK_MONOTONIC) + LONGEST_LOOK};
    while (!is_over(&wanted) && !queue->waits) {
        if ((may_issue && begin(queue)) || take_over(queue)) {
            work_until(queue, is_over, &wanted);
            return; /* what is left waits for something, or takes long */
        }
        gs_relax();
    }
}

/* In a Python program the thread must stay free for Ctrl-C; in any, what it waits for may come from elsewhere
 * while this queue is stuck. The program's threads may run on any CPU, a device with a CPU affinity not. */
void gs_queue_help(gs_queue *queue, bool (*done)(void *state), void *state) {
    if (queue->device->kind != NULL) {
        look_out_for(queue, done, state);
        return;
    }
    if (gs_process_is_python() || queue->device->affinity != NULL || !begin(queue))
        return;
    work_until(queue, done, state);
}

static bool is_never_enough(void *unused) {
    (void)unused;
    return false;
}

void gs_queue_work_for_engine(gs_queue *queue) {
    gs_object *owner = arrive(queue);
    if (begin(queue))
        work_until(queue, is_never_enough, NULL);
    gs_object_drop(owner);
}

void gs_queue_help_with(uint64_t id, bool (*done)(void *state), void *state) {
    gs_queue *queue = gs_queues_hold(id);
    if (queue == NULL)
        return;
    gs_object *owner = queue->owner;
    gs_queue_help(queue, done, state);
    gs_object_drop(owner);
}

/* --- Submitting ---------------------------------------------------------------------------------- */

/* A command was done on the thread that submits it, which on a synchronous queue has waited for it thereby. */
static void note_done_here(const gs_queue *queue) {
    if (gs_order_is_checked() && queue->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
        gs_order_host_saw_queue(queue);
}

static bool is_done_here(const gs_queue *queue, const gs_command *command) {
    return queue->device->affinity == NULL && queue->device->kind == NULL && gs_command_is_short_run(command);
}

/* Has a device with a kind begin with a command without a detour, if nobody else executes the queue. */
static bool is_issued_here(gs_queue *queue, gs_command *command) {
    const gs_device_kind *kind = queue->device->kind;
    if (kind == NULL || gs_host_is_checked() || gs_priorities_are_used())
        return false;
    if (!take_over_soon(queue))
        return false;
    bool issued = kind->try_issue(queue, command);
    gs_queue_hand_over(queue);
    return issued;
}

/* What the program touches while a command runs cannot be seen. So a call that submits one waits for it, unless it is held up;
 * once in vain is enough. */
static void settle(gs_queue *queue) {
    static _Atomic bool is_in_vain;
    const uint64_t slice = 10 * 1000 * 1000, most = 100;
    gs_queue_progress wanted = {queue, queue->submitted};
    for (uint64_t turn = 0; gs_host_pages_exist() && !is_in_vain && !queue->waits; turn++) {
        if (gs_futex_wait(&queue->futex, gs_queue_has_completed, &wanted, slice, true) == GS_WAIT_DONE)
            return;
        is_in_vain = turn >= most;
    }
}

ze_result_t gs_queue_prepare(gs_queue *queue, const gs_command *command) {
    gs_lock(&queue->lock);
    bool idle = !queue->running && !queue->called;
    gs_unlock(&queue->lock);
    if (!idle || is_done_here(queue, command) || gs_engine_is_ready())
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                   "no thread can be started to execute the command; end threads, or raise their limit (ulimit -u)");
}

void gs_queue_submit(gs_queue *queue, gs_command *command) {
    command->next = NULL;
    if (gs_order_is_checked())
        gs_order_submit(command);
    gs_command_mark_pending(command, 1);
    if (command->signal != NULL)
        command->signal->queue = queue->id;
    if (is_done_here(queue, command) && gs_queue_claim(queue)) {
        queue->submitted++;
        gs_queue_execute(queue, command);
        note_done_here(queue);
        gs_queue_hand_over(queue);
        return;
    }
    if (is_issued_here(queue, command)) {
        if (queue->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
            gs_queue_synchronise(queue, GS_FOREVER);
        return;
    }
    gs_lock(&queue->lock);
    if (queue->first == NULL)
        queue->first = command;
    else
        queue->last->next = command;
    queue->last = command;
    queue->submitted++;
    if (!queue->running && gs_priorities_are_used())
        gs_runnable_wait(&queue->runnable, command);
    bool call = !queue->running && needs_engine(queue);
    queue->running = true;
    gs_unlock(&queue->lock);
    if (call)
        gs_engine_assign(queue);
    if (queue->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
        gs_queue_synchronise(queue, GS_FOREVER);
    else if (gs_order_is_checked())
        settle(queue);
}

bool gs_queue_claim(gs_queue *queue) {
    if (gs_priorities_are_used() && gs_must_yield(gs_queue_turn(queue)))
        return false;
    gs_lock(&queue->lock);
    bool claimed = !queue->running && queue->under_way == 0;
    if (claimed)
        queue->running = queue->executing = true;
    gs_unlock(&queue->lock);
    return claimed;
}

void gs_queue_do_claimed(gs_queue *queue, gs_command *command) {
    gs_queue_execute_claimed(queue, command);
    note_done_here(queue);
    gs_queue_hand_over(queue); /* another thread may have submitted something meanwhile */
}

/* --- Waiting ------------------------------------------------------------------------------------- */

static bool wait_for_queue(gs_queue *queue, uint64_t timeout) {
    gs_queue_progress wanted = {queue, queue->submitted};
    if (timeout == GS_FOREVER && !gs_queue_has_completed(&wanted))
        gs_queue_help(queue, gs_queue_has_completed, &wanted);
    if (!gs_host_is_checked())
        return gs_futex_wait(&queue->futex, gs_queue_has_completed, &wanted, timeout, true) == GS_WAIT_DONE;
    bool is_list = queue->owner->kind == GS_KIND_COMMAND_LIST;
    gs_host_wait wait = {.function = is_list ? GS_FN_zeCommandListHostSynchronize : GS_FN_zeCommandQueueSynchronize,
                         .queue = queue, .number = wanted.number};
    gs_host_wait_begin(&wait, timeout);
    bool done = gs_futex_wait(&queue->futex, gs_queue_has_completed, &wanted, timeout, true) == GS_WAIT_DONE;
    gs_host_wait_end(&wait);
    return done;
}

bool gs_queue_synchronise(gs_queue *queue, uint64_t timeout) {
    bool done = wait_for_queue(queue, timeout);
    if (done && gs_order_is_checked())
        gs_order_host_saw_queue(queue);
    return done;
}
