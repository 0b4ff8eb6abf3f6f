/* What happens to a command of a queue: it waits for its events, runs, retires and signals. */
#include "runtime/execution.h"

#include "check/host/device_memory.h"
#include "check/host/host.h"
#include "check/order/order.h"
#include "faults/fault.h"
#include "faults/lost_context.h"
#include "metrics/counts.h"
#include "metrics/tracer.h"
#include "objects/device_kind.h"
#include "objects/external_semaphore.h"
#include "objects/list.h"
#include "profile/profile.h"

void gs_command_mark_pending(gs_command *command, int32_t change) {
    if (command->signal != NULL)
        command->signal->pending += (uint32_t)change;
    for (uint32_t each = 0; each < command->target_count; each++)
        command->targets[each].event->pending += (uint32_t)change;
    gs_semaphores_mark(command, change);
    if (command->operation != GS_RUN_BUFFERS)
        return;
    for (uint32_t each = 0; each < command->run.count; each++) {
        gs_command_buffer *buffer = command->run.runs[each].buffer;
        for (uint32_t event = 0; event < buffer->event_count; event++)
            buffer->events[event]->pending += (uint32_t)change;
        if (change < 0)
            buffer->pending--; /* last: at 0 the commands of a mutable list may change */
    }
    if (command->run.fence != NULL)
        command->run.fence->pending += (uint32_t)change;
}

static void retire(gs_queue *queue, gs_command *submitted) {
    if (gs_host_is_checked()) {
        gs_lock(&queue->lock);
        queue->current = NULL;
        gs_unlock(&queue->lock);
        gs_host_note_progress();
    }
    gs_command_mark_pending(submitted, -1);
    if (gs_command_has_semaphores(submitted))
        gs_semaphores_drop(submitted); /* here, so that one that is released next is closed at once */
    queue->retired++;
}

/* Nanoseconds after which a wait looks whether the context is lost; nobody notifies of that. */
enum { LOOK_UP = 50000000 };

/* Waits for what must come before a command. Nothing comes any more in a context that is lost: false. */
static bool wait_for_targets(gs_queue *queue, const gs_command *command) {
    bool lost = gs_context_is_lost(queue->context);
    if (!lost && !gs_command_targets_are_reached(command)) {
        bool checked = gs_host_is_checked();
        gs_host_wait wait = {.function = GS_FN_COUNT, .queue = queue};
        if (checked)
            gs_host_wait_begin(&wait, GS_FOREVER);
        queue->waits = true;
        gs_queue_counts *counts = gs_metrics_are_active() ? gs_queue_counts_now(queue) : NULL;
        uint64_t start = counts != NULL ? gs_clock(CLOCK_MONOTONIC) : 0;
        gs_traced traced = gs_trace_begin(counts, NULL);
        for (uint32_t each = 0; each < command->target_count && !lost; each++)
            while (!lost && gs_target_wait(&command->targets[each], LOOK_UP, false) != GS_WAIT_DONE)
                lost = gs_context_is_lost(queue->context);
        queue->waits = false;
        if (counts != NULL)
            GS_COUNT(counts, wait_time, gs_clock(CLOCK_MONOTONIC) - start);
        gs_trace_end(counts, NULL, traced);
        if (checked)
            gs_host_wait_end(&wait);
    }
    return !lost && !gs_context_is_lost(queue->context);
}

/* The same, for a queue that others may have to wait for, or that has to wait for others. */
static bool wait_for_events(gs_queue *queue, const gs_command *command) {
    if (!gs_priorities_are_used() && !queue->runnable.is_listed)
        return wait_for_targets(queue, command);
    if (!gs_command_targets_are_reached(command))
        gs_runnable_wait(&queue->runnable, command);
    bool reached = wait_for_targets(queue, command);
    gs_runnable_work(&queue->runnable);
    return reached;
}

/* True if a command may wait for something that no event tells of. */
static bool waits_for_others(const gs_command *command) {
    return command->operation == GS_HOST_FUNCTION || gs_command_has_semaphores(command) ||
           (command->operation == GS_RUN_BUFFERS && command->run.turns != NULL);
}

gs_turn gs_queue_turn(const gs_queue *queue) {
    return (gs_turn){queue->runnable.scheduler, queue->runnable.rank};
}

bool gs_command_work(gs_queue *queue, const gs_command *command) {
    const gs_fault_scope scope = {queue->context, gs_command_describe, command};
    bool is_function = command->operation == GS_HOST_FUNCTION;
    bool guarded = command->operation != GS_NOTHING && !is_function;
    bool is_ranked = gs_priorities_are_used() && gs_command_is_work(command);
    gs_may_wait("a command");
    if (is_function)
        queue->waits = true;
    if (is_ranked) {
        gs_yield(gs_queue_turn(queue));
        gs_turn_begin(gs_queue_turn(queue));
    }
    const gs_fault_scope *before = guarded ? gs_fault_scope_enter(&scope) : NULL;
    gs_gate_enter();
    bool opens = gs_device_memory_is_checked() && !is_function;
    if (opens)
        gs_device_memory_open();
    gs_device *device = command->device != NULL ? command->device : queue->device;
    gs_device_activity *record = gs_command_is_work(command) ? device->activity : NULL;
    gs_queue_counts *counts = gs_metrics_are_active() ? gs_queue_counts_now(queue) : NULL;
    bool is_profiled = gs_profile_is_on();
    uint64_t start = counts != NULL || is_profiled ? gs_clock(CLOCK_MONOTONIC) : 0;
    if (is_profiled)
        gs_profile_queue(queue);
    gs_traced traced = gs_trace_begin(counts, command);
    gs_activity_begin((gs_activity){.record = record, .copies = queue->ordinal != GS_ORDINAL_COMPUTE, .counts = counts});
    if (device->kind != NULL && record != NULL)
        device->kind->perform(device, queue->context, command);
    else
        gs_command_perform(command, device);
    gs_activity_end();
    if (counts != NULL)
        gs_count_command(counts, command, gs_clock(CLOCK_MONOTONIC) - start);
    if (is_profiled)
        gs_profile_command(command, queue, start);
    gs_trace_end(counts, command, traced);
    if (opens)
        gs_device_memory_close();
    gs_gate_leave();
    if (is_ranked)
        gs_made_progress(gs_turn_begin((gs_turn){0}));
    if (guarded)
        gs_fault_scope_enter(before);
    if (is_function)
        queue->waits = false;
    return !gs_context_is_lost(queue->context);
}

static bool pass_semaphores(gs_queue *queue, const gs_command *command) {
    if (!gs_command_has_semaphores(command))
        return true;
    queue->waits = true;
    bool passed = gs_semaphores_pass(command, queue->context);
    queue->waits = false;
    return passed;
}

static void signal_end(gs_event *event, gs_counter *counter, uint64_t number) {
    if (counter != NULL)
        gs_counter_advance(counter, number);
    if (event != NULL)
        gs_event_signal(event);
}

/* For the last command of a buffer. Once that has retired it may be changed, so that what it signals is held here. */
static void retire_and_signal(gs_queue *queue, gs_command *run, const gs_command *last, uint64_t base) {
    gs_event *event = last->signal;
    gs_counter *counter = last->counter;
    uint64_t number = base + last->step;
    if (event != NULL)
        gs_object_hold(event);
    retire(queue, run);
    signal_end(event, counter, number);
    if (event != NULL)
        gs_object_drop(event);
}

/* For the checker of the host: how far the queue has come. */
static void note_step(gs_queue *queue, const gs_command *command, uintptr_t how_far) {
    if (gs_host_is_checked())
        atomic_store_explicit(&queue->step, (uintptr_t)command | how_far, memory_order_release);
}

bool gs_command_begin(gs_queue *queue, const gs_command *command) {
    note_step(queue, command, 0);
    bool ready = wait_for_events(queue, command);
    if (queue->runnable.is_listed && waits_for_others(command))
        gs_runnable_end(&queue->runnable);
    ready = ready && pass_semaphores(queue, command);
    note_step(queue, command, GS_STEP_HAS_BEGUN);
    return ready;
}

void gs_command_end(gs_queue *queue, gs_command *command, uint64_t base, gs_command *last_of, gs_interval interval) {
    if (gs_context_is_lost(queue->context)) {
        if (last_of != NULL)
            retire(queue, last_of);
        return;
    }
    note_step(queue, command, GS_STEP_IS_DONE);
    if (command->signal != NULL && command->signal->timestamps)
        gs_event_stamp(command->signal, interval);
    if (last_of != NULL && last_of != command)
        retire_and_signal(queue, last_of, command, base);
    else {
        if (last_of != NULL)
            retire(queue, last_of);
        signal_end(command->signal, command->counter, base + command->step);
    }
}

/* Runs one command that is not itself a run of command buffers. `last_of`: the submitted command that ends with it;
 * `in_order`: it comes after all before it. In a lost context it only passes through: nothing is done and nothing is
 * signalled. */
static void execute(gs_queue *queue, gs_command *command, uint64_t base, gs_command *last_of, bool in_order) {
    bool timed = command->signal != NULL && command->signal->timestamps;
    bool ready = gs_command_begin(queue, command);
    gs_interval interval = {timed ? gs_timestamp() : 0, 0};
    if (ready && gs_order_is_checked())
        gs_order_start(queue, command, in_order);
    bool done = ready && gs_command_work(queue, command);
    if (gs_order_is_checked()) {
        if (done)
            gs_order_end(queue, command, in_order);
        else
            gs_order_abandon();
    }
    if (timed)
        interval.end = gs_timestamp();
    gs_command_end(queue, command, base, last_of, interval);
}

/* Runs of an executable graph wait for those that were submitted before. */
static bool is_its_turn(void *state) {
    const gs_command *command = state;
    return atomic_load_explicit(&command->run.turns->done, memory_order_acquire) + 1 >= command->run.turn;
}

static void wait_for_turn(gs_queue *queue, gs_command *command) {
    if (command->run.turns == NULL)
        return;
    queue->waits = true;
    while (!gs_context_is_lost(queue->context) &&
           gs_futex_wait(&command->run.turns->futex, is_its_turn, command, LOOK_UP, false) != GS_WAIT_DONE)
        continue;
    queue->waits = false;
}

bool gs_run_ends_with_its_last(const gs_command *run) {
    return run->signal == NULL && run->counter == NULL && run->run.fence == NULL;
}

void gs_run_begin(gs_queue *queue, gs_command *run) {
    wait_for_events(queue, run);
    if (queue->runnable.is_listed && waits_for_others(run))
        gs_runnable_end(&queue->runnable);
    wait_for_turn(queue, run);
}

void gs_run_end(gs_queue *queue, gs_command *command, gs_interval interval, bool retired) {
    if (command->signal != NULL && command->signal->timestamps)
        gs_event_stamp(command->signal, interval);
    if (!retired)
        retire(queue, command);
    if (command->run.turns != NULL)
        gs_counter_advance(command->run.turns, command->run.turn);
    if (gs_context_is_lost(queue->context))
        return;
    if (command->run.fence != NULL) {
        if (gs_host_is_checked())
            gs_host_signalled(command->run.fence);
        gs_futex_set(&command->run.fence->futex, 1);
    }
    if (command->counter != NULL)
        gs_counter_advance(command->counter, command->step);
    if (command->signal != NULL)
        gs_event_signal(command->signal);
}

/* True for the queue of an immediate list whose commands come one after the other. */
static bool is_in_order(const gs_queue *queue) {
    return queue->owner->kind == GS_KIND_COMMAND_LIST && ((const gs_list *)queue->owner)->in_order;
}

static void execute_buffers(gs_queue *queue, gs_command *command) {
    bool retired = false;
    bool ends_here = gs_run_ends_with_its_last(command);
    gs_run_begin(queue, command);
    if (gs_order_is_checked())
        gs_order_enter_buffers(queue, command);
    gs_interval interval = {gs_timestamp(), 0};
    for (uint32_t each = 0; each < command->run.count; each++) {
        gs_run *run = &command->run.runs[each];
        bool last_buffer = ends_here && each + 1 == command->run.count;
        if (gs_host_is_checked())
            queue->step_buffer = each;
        bool in_order = run->buffer->counter != NULL && command->run.turns == NULL;
        for (gs_command *inner = run->buffer->first; inner != NULL; inner = inner->next) {
            if (gs_context_is_lost(queue->context))
                break;
            bool last = last_buffer && inner->next == NULL;
            execute(queue, inner, run->base, last ? command : NULL, in_order);
            retired |= last;
        }
        if (gs_order_is_checked())
            gs_order_between_buffers(queue);
    }
    interval.end = gs_timestamp();
    if (gs_order_is_checked())
        gs_order_leave_buffers(queue, command->signal, command->run.fence);
    gs_run_end(queue, command, interval, retired);
}

void gs_command_complete(gs_queue *queue, gs_command *command) {
    queue->completed++;
    gs_futex_notify(&queue->futex);
    gs_command_free(command);
}

void gs_queue_execute(gs_queue *queue, gs_command *command) {
    if (queue->device->kind != NULL) {
        queue->device->kind->execute(queue, command);
        return;
    }
    if (gs_order_is_checked())
        gs_order_begin(queue, command);
    if (command->operation == GS_RUN_BUFFERS)
        execute_buffers(queue, command);
    else
        execute(queue, command, 0, command, is_in_order(queue));
    if (gs_order_is_checked())
        gs_order_done(command);
    gs_command_complete(queue, command);
}

void gs_queue_execute_claimed(gs_queue *queue, gs_command *command) {
    queue->submitted++;
    if (gs_order_is_checked())
        gs_order_begin(queue, command);
    execute(queue, command, 0, NULL, is_in_order(queue));
    if (gs_order_is_checked())
        gs_order_done(command);
    queue->retired++;
    queue->completed++;
    gs_futex_notify(&queue->futex);
}

/* --- How long it takes ------------------------------------------------------------------------------------ */

/* True if nothing in a command buffer can hold up whoever executes it. What it waits for must have come, and stay: a buffer
 * that resets events may wait for one of them to be signalled again. */
static bool runs_through(const gs_command_buffer *buffer) {
    bool resets = false;
    if (buffer->runs_through)
        return true;
    for (const gs_command *inner = buffer->first; inner != NULL; inner = inner->next) {
        resets |= inner->operation == GS_RESET_EVENT;
        if (inner->operation == GS_HOST_FUNCTION || gs_command_has_semaphores(inner))
            return false;
        if (inner->target_count > 0 && (resets || !gs_command_targets_are_reached(inner)))
            return false;
    }
    return true;
}

bool gs_command_is_unhindered(const gs_command *command) {
    if (!gs_command_targets_are_reached(command))
        return false;
    if (command->operation != GS_RUN_BUFFERS)
        return command->operation != GS_HOST_FUNCTION && !gs_command_has_semaphores(command);
    if (command->run.turns != NULL && !is_its_turn((void *)command))
        return false;
    for (uint32_t each = 0; each < command->run.count; each++)
        if (!runs_through(command->run.runs[each].buffer))
            return false;
    return true;
}

/* The events that commands of a short run have signalled by the time that a later one of them waits. */
enum { MOST_COMMANDS = 4 };
typedef struct signalled {
    const gs_event *events[MOST_COMMANDS];
    uint32_t count;
} signalled;

static bool is_among(const signalled *signalled, const gs_target *target) {
    if (target->counter == NULL && target->word == NULL)
        for (uint32_t each = 0; each < signalled->count; each++)
            if (signalled->events[each] == target->event)
                return true;
    return false;
}

/* True if a command of a short run waits for nothing but what earlier ones signal, and what has come and stays. */
static bool comes_through(const gs_command *inner, const signalled *signalled, bool resets) {
    for (uint32_t each = 0; each < inner->target_count; each++)
        if (!is_among(signalled, &inner->targets[each]) && (resets || !gs_target_is_reached(&inner->targets[each])))
            return false;
    return true;
}

static void note_signals(const gs_command *inner, signalled *signalled) {
    if (inner->operation == GS_RESET_EVENT)
        for (uint32_t each = 0; each < signalled->count; each++)
            if (signalled->events[each] == inner->reset)
                signalled->events[each] = NULL;
    if (inner->signal != NULL)
        signalled->events[signalled->count++] = inner->signal;
}

bool gs_command_is_short_run(const gs_command *command) {
    signalled signalled = {.count = 0};
    uint32_t commands = 0;
    bool resets = false;
    if (command->operation != GS_RUN_BUFFERS || command->run.count > MOST_COMMANDS)
        return false;
    for (uint32_t each = 0; each < command->run.count; each++)
        for (const gs_command *inner = command->run.runs[each].buffer->first; inner != NULL; inner = inner->next) {
            if (++commands > MOST_COMMANDS || !gs_command_is_short(inner))
                return false;
            resets |= inner->operation == GS_RESET_EVENT;
            if (!comes_through(inner, &signalled, resets))
                return false;
            note_signals(inner, &signalled);
        }
    return gs_command_targets_are_reached(command) && (command->run.turns == NULL || is_its_turn((void *)command));
}
