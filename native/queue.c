/* Queues: commands in, one after the other, out on an engine.
 *
 * A command goes through four counts. `submitted`: the queue has it. Then it runs. `retired`: the queue no
 * longer needs the objects it refers to, so that whoever sees its event signalled may destroy them at once.
 * Then its event is signalled. `completed`: all of that is over; this is what a synchronise waits for. */
#include "queue.h"

#include <sched.h>
#include <stdlib.h>

#include "external_semaphore.h"
#include "fault.h"
#include "fork.h"
#include "lock.h"
#include "lost.h"
#include "memory.h"

/* Every open queue. */
static gs_queue *queues;
static _Atomic uint64_t last_id;
GS_STATIC_LOCK(queues_lock, GS_SHORT_LOCK)

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
    gs_runnable_open(&queue->runnable, gs_pool_scheduler(device->pool), desc->priority);
    gs_object_hold(context);
    gs_lock(&queues_lock);
    queue->next = queues;
    queue->link = &queues;
    if (queue->next != NULL)
        queue->next->link = &queue->next;
    queues = queue;
    gs_unlock(&queues_lock);
}

void gs_queue_close(gs_queue *queue) {
    gs_lock(&queues_lock);
    *queue->link = queue->next;
    if (queue->next != NULL)
        queue->next->link = queue->link;
    gs_unlock(&queues_lock);
    gs_runnable_close(&queue->runnable);
    gs_mutex_close(&queue->lock);
    gs_object_drop(queue->context);
}

/* --- Executing ----------------------------------------------------------------------------------- */

/* The events that a submitted command refers to may not be destroyed; those of a program likewise. */
static void mark_pending(gs_command *command, int32_t change) {
    if (command->signal != NULL)
        command->signal->pending += (uint32_t)change;
    for (uint32_t each = 0; each < command->target_count; each++)
        command->targets[each].event->pending += (uint32_t)change;
    gs_semaphores_mark(command, change);
    if (command->operation != GS_RUN_PROGRAMS)
        return;
    for (uint32_t each = 0; each < command->run.count; each++) {
        gs_program *program = command->run.runs[each].program;
        for (uint32_t event = 0; event < program->event_count; event++)
            program->events[event]->pending += (uint32_t)change;
        if (change < 0)
            program->pending--; /* last: at 0 the commands of a mutable list may change */
    }
    if (command->run.fence != NULL)
        command->run.fence->pending += (uint32_t)change;
}

static void retire(gs_queue *queue, gs_command *submitted) {
    mark_pending(submitted, -1);
    if (gs_command_has_semaphores(submitted))
        gs_semaphores_drop(submitted); /* here, so that one that is released next is closed at once */
    queue->retired++;
}

/* Nanoseconds after which a wait looks whether the context is lost; nobody rings for that. */
enum { LOOK_UP = 50000000 };

/* Waits for what must come before a command. Nothing comes any more in a context that is lost: false. */
static bool wait_for_targets(gs_queue *queue, const gs_command *command) {
    bool lost = gs_context_is_lost(queue->context);
    if (!lost && !gs_command_targets_are_reached(command)) {
        queue->waits = true;
        for (uint32_t each = 0; each < command->target_count && !lost; each++)
            while (!lost && gs_target_wait(&command->targets[each], LOOK_UP, false) != GS_WAIT_DONE)
                lost = gs_context_is_lost(queue->context);
        queue->waits = false;
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
           (command->operation == GS_RUN_PROGRAMS && command->run.turns != NULL);
}

static gs_turn turn_of(const gs_queue *queue) {
    return (gs_turn){queue->runnable.scheduler, queue->runnable.rank};
}

/* Does the work of a command; false if the context is lost, by this command or another. */
static bool perform(gs_queue *queue, const gs_command *command) {
    const gs_errand errand = {queue->context, gs_command_describe, command};
    bool is_function = command->operation == GS_HOST_FUNCTION;
    bool guarded = command->operation != GS_NOTHING && !is_function;
    bool is_ranked = gs_priorities_are_used() && gs_command_is_work(command);
    gs_may_wait("a command");
    if (is_function)
        queue->waits = true;
    if (is_ranked) {
        gs_yield(turn_of(queue));
        gs_turn_begin(turn_of(queue));
    }
    const gs_errand *before = guarded ? gs_errand_begin(&errand) : NULL;
    gs_gate_enter();
    gs_device *device = command->device != NULL ? command->device : queue->device;
    gs_record *record = gs_command_is_work(command) ? device->record : NULL;
    gs_activity_begin((gs_activity){record, queue->ordinal != GS_ORDINAL_COMPUTE});
    gs_command_perform(command, device);
    gs_activity_end();
    gs_gate_leave();
    if (is_ranked)
        gs_made_progress(gs_turn_begin((gs_turn){0}));
    if (guarded)
        gs_errand_begin(before);
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

/* For the last command of a program. Once that has retired it may be changed, so that what it signals is held here. */
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

/* Runs one command that is not itself a run of programs. `last_of`: the submitted command that ends with it.
 * In a lost context it only passes through: nothing is done and nothing is signalled. */
static void execute(gs_queue *queue, gs_command *command, uint64_t base, gs_command *last_of) {
    bool timed = command->signal != NULL && command->signal->timestamps;
    bool ready = wait_for_events(queue, command);
    if (queue->runnable.is_listed && waits_for_others(command))
        gs_runnable_end(&queue->runnable);
    ready = ready && pass_semaphores(queue, command);
    gs_interval interval = {timed ? gs_timestamp() : 0, 0};
    if (!ready || !perform(queue, command)) {
        if (last_of != NULL)
            retire(queue, last_of);
        return;
    }
    if (timed) {
        interval.end = gs_timestamp();
        gs_event_stamp(command->signal, interval);
    }
    if (last_of != NULL && last_of != command)
        retire_and_signal(queue, last_of, command, base);
    else {
        if (last_of != NULL)
            retire(queue, last_of);
        signal_end(command->signal, command->counter, base + command->step);
    }
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
           gs_bell_wait(&command->run.turns->bell, is_its_turn, command, LOOK_UP, false) != GS_WAIT_DONE)
        continue;
    queue->waits = false;
}

static void execute_programs(gs_queue *queue, gs_command *command) {
    bool retired = false;
    bool ends_here = command->signal == NULL && command->counter == NULL && command->run.fence == NULL;
    wait_for_events(queue, command);
    if (queue->runnable.is_listed && waits_for_others(command))
        gs_runnable_end(&queue->runnable);
    wait_for_turn(queue, command);
    gs_interval interval = {gs_timestamp(), 0};
    for (uint32_t each = 0; each < command->run.count; each++) {
        gs_run *run = &command->run.runs[each];
        bool last_program = ends_here && each + 1 == command->run.count;
        for (gs_command *inner = run->program->first; inner != NULL; inner = inner->next) {
            if (gs_context_is_lost(queue->context))
                break;
            bool last = last_program && inner->next == NULL;
            execute(queue, inner, run->base, last ? command : NULL);
            retired |= last;
        }
    }
    interval.end = gs_timestamp();
    if (command->signal != NULL && command->signal->timestamps)
        gs_event_stamp(command->signal, interval);
    if (!retired)
        retire(queue, command);
    if (command->run.turns != NULL)
        gs_counter_advance(command->run.turns, command->run.turn);
    if (gs_context_is_lost(queue->context))
        return;
    if (command->run.fence != NULL)
        gs_bell_set(&command->run.fence->bell, 1);
    if (command->counter != NULL)
        gs_counter_advance(command->counter, command->step);
    if (command->signal != NULL)
        gs_event_signal(command->signal);
}

static void execute_submitted(gs_queue *queue, gs_command *command) {
    if (command->operation == GS_RUN_PROGRAMS)
        execute_programs(queue, command);
    else
        execute(queue, command, 0, command);
    queue->completed++;
    gs_bell_ring(&queue->bell);
    gs_command_free(command);
}

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

/* The next command, or NULL if there is none: then the caller no longer executes the queue. */
static gs_command *take_next(gs_queue *queue) {
    gs_lock(&queue->lock);
    gs_command *command = queue->first;
    if (command == NULL) {
        queue->running = queue->executing = false;
        gs_runnable_end(&queue->runnable);
    } else
        queue->first = command->next;
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
    if (begin(queue))
        for (gs_command *command; (command = take_next(queue)) != NULL;)
            execute_submitted(queue, command);
    gs_memory_free_deferred();
    gs_object_drop(owner);
}

/* Ends what `begin` began; what is left of the commands goes to an engine. */
static void hand_over(gs_queue *queue) {
    gs_lock(&queue->lock);
    bool more = queue->first != NULL;
    queue->running = more;
    queue->executing = false;
    if (more && gs_priorities_are_used())
        gs_runnable_wait(&queue->runnable, queue->first);
    else
        gs_runnable_end(&queue->runnable);
    bool call = more && needs_engine(queue);
    gs_unlock(&queue->lock);
    if (call)
        gs_engine_assign(queue);
}

/* True if nothing in a program can hold up whoever executes it. What it waits for must have come, and stay: a program
 * that resets events may wait for one of them to be signalled again. */
static bool runs_through(const gs_program *program) {
    bool resets = false;
    for (const gs_command *inner = program->first; inner != NULL; inner = inner->next) {
        resets |= inner->operation == GS_RESET_EVENT;
        if (inner->operation == GS_HOST_FUNCTION || gs_command_has_semaphores(inner))
            return false;
        if (inner->target_count > 0 && (resets || !gs_command_targets_are_reached(inner)))
            return false;
    }
    return true;
}

/* True if nothing in a command can hold up whoever executes it: no wait that is not over, no semaphore, no function
 * of the program's own. */
static bool is_unhindered(const gs_command *command) {
    if (!gs_command_targets_are_reached(command))
        return false;
    if (command->operation != GS_RUN_PROGRAMS)
        return command->operation != GS_HOST_FUNCTION && !gs_command_has_semaphores(command);
    if (command->run.turns != NULL && !is_its_turn((void *)command))
        return false;
    for (uint32_t each = 0; each < command->run.count; each++)
        if (!runs_through(command->run.runs[each].program))
            return false;
    return true;
}

/* True for a run of so little that handing it to another thread would cost more than doing it. */
static bool is_short_run(const gs_command *command) {
    enum { MOST_COMMANDS = 4 };
    uint32_t commands = 0;
    if (command->operation != GS_RUN_PROGRAMS || command->run.count > MOST_COMMANDS)
        return false;
    for (uint32_t each = 0; each < command->run.count; each++)
        for (const gs_command *inner = command->run.runs[each].program->first; inner != NULL; inner = inner->next)
            if (++commands > MOST_COMMANDS || !gs_command_is_short(inner))
                return false;
    return is_unhindered(command);
}

/* For the one who executes the queue: true if its next command, if any, is unhindered. */
static bool can_go_on(gs_queue *queue) {
    gs_lock(&queue->lock);
    const gs_command *command = queue->first;
    gs_unlock(&queue->lock);
    return command == NULL || is_unhindered(command);
}

/* For the one who executes the queue, until he need not any more or would be held up. */
static void work_until(gs_queue *queue, bool (*done)(void *state), void *state) {
    while (!done(state) && can_go_on(queue)) {
        gs_command *command = take_next(queue);
        if (command == NULL)
            return;
        execute_submitted(queue, command);
    }
    hand_over(queue);
}

/* In a Python program the thread must stay free for Ctrl-C; in any, what it waits for may come from elsewhere
 * while this queue is stuck. The program's threads may run on any CPU, a device with a place of its own not. */
void gs_queue_help(gs_queue *queue, bool (*done)(void *state), void *state) {
    if (gs_process_is_python() || queue->device->place != NULL || !begin(queue))
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
    gs_lock(&queues_lock);
    gs_queue *queue = queues;
    while (queue != NULL && queue->id != id)
        queue = queue->next;
    bool held = queue != NULL && gs_object_try_hold(queue->owner);
    gs_unlock(&queues_lock);
    if (!held)
        return;
    gs_object *owner = queue->owner;
    gs_queue_help(queue, done, state);
    gs_object_drop(owner);
}

/* --- Submitting ---------------------------------------------------------------------------------- */

static bool is_done_here(const gs_queue *queue, const gs_command *command) {
    return queue->device->place == NULL && is_short_run(command);
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
    mark_pending(command, 1);
    if (command->signal != NULL)
        command->signal->queue = queue->id;
    if (is_done_here(queue, command) && gs_queue_claim(queue)) {
        queue->submitted++;
        execute_submitted(queue, command);
        hand_over(queue);
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
}

bool gs_queue_claim(gs_queue *queue) {
    if (gs_priorities_are_used() && gs_must_yield(turn_of(queue)))
        return false;
    gs_lock(&queue->lock);
    bool claimed = !queue->running;
    queue->running = true;
    queue->executing |= claimed;
    gs_unlock(&queue->lock);
    return claimed;
}

void gs_queue_do_claimed(gs_queue *queue, gs_command *command) {
    queue->submitted++;
    execute(queue, command, 0, NULL);
    queue->retired++;
    queue->completed++;
    gs_bell_ring(&queue->bell);
    hand_over(queue); /* another thread may have submitted something meanwhile */
}

/* --- Waiting ------------------------------------------------------------------------------------- */

bool gs_queue_is_busy(gs_queue *queue) { return atomic_load(&queue->retired) != atomic_load(&queue->submitted); }

typedef struct progress {
    gs_queue *queue;
    uint64_t number;
} progress;

static bool has_completed(void *state) {
    const progress *wanted = state;
    return atomic_load_explicit(&wanted->queue->completed, memory_order_acquire) >= wanted->number;
}

bool gs_queue_synchronise(gs_queue *queue, uint64_t timeout) {
    progress wanted = {queue, queue->submitted};
    if (timeout == GS_FOREVER && !has_completed(&wanted))
        gs_queue_help(queue, has_completed, &wanted);
    return gs_bell_wait(&queue->bell, has_completed, &wanted, timeout, true) == GS_WAIT_DONE;
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

struct gs_tickets {
    uint32_t count;
    progress wanted[];
};

static bool belongs(const gs_queue *queue, const gs_context *context, const gs_device *device) {
    return context != NULL ? queue->context == context : queue->device == device || queue->device->parent == device;
}

static bool has_more_to_do(gs_queue *queue) { return atomic_load(&queue->completed) != atomic_load(&queue->submitted); }

/* There is room for every queue: one that is idle when they are counted may be busy when the tickets are written. */
bool gs_tickets_take(const gs_context *context, gs_tickets **taken) {
    uint32_t room = 0;
    bool busy = false;
    gs_tickets *tickets = NULL;
    gs_lock(&queues_lock);
    for (gs_queue *each = queues; each != NULL; each = each->next)
        if (each->context == context) {
            room++;
            busy |= has_more_to_do(each);
        }
    if (busy && (tickets = calloc(1, sizeof *tickets + room * sizeof(progress))) != NULL)
        for (gs_queue *each = queues; each != NULL; each = each->next)
            if (each->context == context && has_more_to_do(each) && gs_object_try_hold(each->owner))
                tickets->wanted[tickets->count++] = (progress){each, each->submitted};
    gs_unlock(&queues_lock);
    *taken = tickets;
    return busy;
}

bool gs_tickets_are_done(const gs_tickets *tickets) {
    for (uint32_t each = 0; each < tickets->count; each++)
        if (!has_completed((void *)&tickets->wanted[each]))
            return false;
    return true;
}

void gs_tickets_drop(gs_tickets *tickets) {
    for (uint32_t each = 0; tickets != NULL && each < tickets->count; each++)
        gs_object_drop(tickets->wanted[each].queue->owner);
    free(tickets);
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
        progress wanted = {queue, queue != NULL ? queue->submitted : 0};
        gs_unlock(&queues_lock);
        if (queue == NULL)
            return;
        gs_object *owner = queue->owner;
        last = queue->id;
        gs_bell_wait(&queue->bell, has_completed, &wanted, GS_FOREVER, false);
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
