/* Issuing: commands of a queue go to its stream. */
#include <stdio.h>
#include <stdlib.h>

#include "check/host/host.h"
#include "faults/lost_context.h"
#include "metrics/counts.h"
#include "nvidia/stream.h"
#include "objects/external_semaphore.h"
#include "runtime/activity.h"

static void add(gs_queue *queue, gs_stream *stream, const gs_pending *described) {
    gs_pending *made = malloc(sizeof *made);
    if (made == NULL) { /* then it is waited for */
        gs_pending last = *described;
        gs_stream_drain(queue, stream);
        gs_cu_result result = gs_cu.stream_wait(stream->stream);
        if (result != GS_CU_SUCCESS)
            gs_stream_lose(queue, stream, result, described->command);
        gs_stream_finish(queue, stream, &last);
        return;
    }
    *made = *described;
    if (stream->last != NULL)
        stream->last->next = made;
    else
        stream->first = made;
    stream->last = made;
    if (stream->first_unmarked == NULL)
        stream->first_unmarked = made;
    stream->unmarked++;
    queue->under_way++;
}

static void work_on_host(gs_queue *queue, gs_command *command, const gs_pending *described) {
    gs_interval interval = {gs_timestamp(), 0};
    gs_command_work(queue, command);
    interval.end = gs_timestamp();
    gs_command_end(queue, command, described->base, described->last_of, interval);
    if (described->submitted != NULL)
        gs_command_complete(queue, described->submitted);
}

/* Without an event no time is known; then the command takes none. */
static gs_cu_event record(gs_stream *stream, bool timed) {
    gs_cu_event event = timed ? gs_stream_take_event(stream) : NULL;
    if (event != NULL && gs_cu.event_record(event, stream->stream) != GS_CU_SUCCESS) {
        gs_stream_give_event(stream, event);
        event = NULL;
    }
    return event;
}

/* Whether an event will have been signalled when the stream comes to a command that is issued now: something that is pending
 * signals it. */
static bool is_signalled_by(const gs_pending *each, const gs_target *target) {
    const gs_command *command = each->command;
    if (each->is_run || command->signal != target->event)
        return false;
    if (target->counter == NULL)
        return target->word == NULL && command->counter == NULL;
    return command->counter == target->counter && each->base + command->step >= target->resolved;
}

static bool comes_first(const gs_stream *stream, const gs_target *target) {
    if (gs_target_is_reached(target))
        return true;
    if (stream->last != NULL && is_signalled_by(stream->last, target))
        return true;
    for (const gs_pending *each = stream->first; each != NULL; each = each->next)
        if (is_signalled_by(each, target))
            return true;
    return false;
}

/* True if nothing that a command waits for has to be waited for here. */
static bool all_come_first(const gs_stream *stream, const gs_command *command) {
    for (uint32_t each = 0; each < command->target_count; each++)
        if (!comes_first(stream, &command->targets[each]))
            return false;
    return true;
}

/* Whether the steps before the work of a command are those that a stream needs nobody for. */
static bool needs_nobody(gs_queue *queue, const gs_stream *stream, const gs_command *command) {
    return !gs_host_is_checked() && !gs_priorities_are_used() && !gs_engines_are_paused() &&
           !gs_command_has_semaphores(command) && !gs_context_is_lost(queue->context) && all_come_first(stream, command);
}

/* So many commands that nobody waits for are told of together. */
enum { MOST_UNMARKED = 64 };

/* Whether metrics count what a queue does: then each command is timed, and none is part of a graph. */
static bool is_counted_now(const gs_queue *queue) { return gs_metrics_are_active() && queue->device->counts != NULL; }

/* Executes a command that is no run of buffers, as far as somebody else does not have to. */
static void issue(gs_queue *queue, gs_stream *stream, gs_command *command, uint64_t base, gs_command *last_of,
                  gs_command *submitted) {
    gs_pending described = {.command = command, .last_of = last_of, .submitted = submitted, .base = base};
    const bool on_host = gs_gpu_works_on_host(stream->gpu, command);
    const bool is_counted = !on_host && is_counted_now(queue);
    const bool timed = is_counted || (command->signal != NULL && command->signal->timestamps);
    const bool at_once = !on_host && needs_nobody(queue, stream, command);
    if (!at_once && (on_host || !gs_command_targets_are_reached(command) || gs_engines_are_paused()))
        gs_stream_drain(queue, stream); /* it may wait for what is under way here */
    if (!at_once && !gs_command_begin(queue, command)) {
        gs_stream_drain(queue, stream);
        gs_stream_finish(queue, stream, &described);
        return;
    }
    if (on_host) {
        work_on_host(queue, command, &described);
        return;
    }
    gs_gate_enter(); /* whoever moves memory waits until this is issued, and asks for the rest by a pause */
    if (timed)
        gs_stream_set_anchor(stream);
    described.start = record(stream, timed);
    described.is_counted = is_counted;
    gs_activity_begin((gs_activity){.counts = is_counted ? gs_queue_counts_now(queue) : NULL});
    gs_cu_result result = gs_gpu_issue(stream->gpu, stream->stream, command);
    gs_activity_end();
    described.end = record(stream, timed);
    gs_gate_leave();
    if (result != GS_CU_SUCCESS)
        gs_stream_lose(queue, stream, result, command);
    stream->is_awaited &= stream->first == NULL;
    bool is_watched = command->signal != NULL || command->counter != NULL || last_of != NULL || timed;
    if (is_watched)
        add(queue, stream, &described);
    if (command->signal != NULL || command->counter != NULL || stream->is_awaited || stream->unmarked >= MOST_UNMARKED)
        gs_stream_mark(queue, stream);
}

/* A whole buffer of a run. */
static bool issue_at_once(gs_queue *queue, gs_stream *stream, const gs_command *run, gs_command_buffer *buffer) {
    gs_cu_result result = GS_CU_SUCCESS;
    if (is_counted_now(queue) || !needs_nobody(queue, stream, run) || !gs_stream_launch_graph(stream, buffer, &result))
        return false;
    if (result != GS_CU_SUCCESS)
        gs_stream_lose(queue, stream, result, buffer->first);
    return true;
}

static void issue_run(gs_queue *queue, gs_stream *stream, gs_command *run) {
    gs_pending ending = {.command = run, .submitted = run, .is_run = true};
    const bool ends_there = gs_run_ends_with_its_last(run);
    if (!gs_command_is_unhindered(run))
        gs_stream_drain(queue, stream);
    gs_run_begin(queue, run);
    ending.begun = gs_timestamp();
    for (uint32_t each = 0; each < run->run.count; each++) {
        const gs_run *part = &run->run.runs[each];
        bool last_buffer = ends_there && each + 1 == run->run.count;
        if (issue_at_once(queue, stream, run, part->buffer))
            continue;
        for (gs_command *inner = part->buffer->first; inner != NULL && !gs_context_is_lost(queue->context);
             inner = inner->next) {
            bool last = last_buffer && inner->next == NULL;
            issue(queue, stream, inner, part->base, last ? run : NULL, NULL);
            ending.run_has_retired |= last;
        }
    }
    add(queue, stream, &ending);
}

static void issue_submitted(gs_queue *queue, gs_stream *stream, gs_command *command) {
    if (command->operation == GS_RUN_BUFFERS)
        issue_run(queue, stream, command);
    else
        issue(queue, stream, command, 0, command, command);
}

/* Without a stream the context is lost: the commands only pass through. */
static void pass_through(gs_queue *queue, gs_command *command) {
    if (command->operation == GS_RUN_BUFFERS)
        gs_run_end(queue, command, (gs_interval){0}, false);
    else
        gs_command_end(queue, command, 0, command, (gs_interval){0});
    gs_command_complete(queue, command);
}

/* Enters the GPU's context, with a stream for the queue. False: the queue's context is lost. */
static bool enter(gs_queue *queue, gs_gpu *gpu) {
    if (gs_context_is_lost(queue->context) && queue->of_kind == NULL)
        return false;
    gs_stream *stream = queue->of_kind;
    if (stream != NULL && stream->generation != gpu->generation)
        return false;
    if (gpu->is_lost || !gs_gpu_enter(gpu)) {
        gs_context_lose(queue->context, "the GPU is lost");
        return false;
    }
    if (gs_stream_need(queue, gpu) != NULL)
        return true;
    gs_gpu_leave(gpu);
    return false;
}

static bool pass_all(gs_queue *queue) {
    if (queue->of_kind != NULL)
        gs_stream_finish_lost(queue, queue->of_kind);
    for (gs_command *command; (command = gs_queue_take_next(queue)) != NULL;)
        pass_through(queue, command);
    return false;
}

/* For a thread that waits: whether the stream will be waited for again after each command. */
static void note_wait(gs_stream *stream) {
    if (stream->first_unmarked != NULL)
        stream->is_awaited = stream->first == stream->last;
}

bool gs_gpu_work_off(gs_queue *queue, bool (*is_enough)(void *state), void *state) {
    gs_gpu *gpu = gs_gpu_of(queue->device);
    gs_patience patience = {0};
    if (is_enough != NULL && queue->of_kind != NULL && gs_stream_pass(queue, queue->of_kind, is_enough, state))
        return true;
    if (!enter(queue, gpu))
        return pass_all(queue);
    gs_stream *stream = queue->of_kind;
    bool is_over = false;
    for (;;) {
        if (gs_context_is_lost(queue->context))
            gs_stream_finish_lost(queue, stream);
        gs_stream_finish_done(queue, stream);
        if (is_enough != NULL && (is_enough(state) || !gs_queue_can_go_on(queue)))
            break;
        if (is_enough == NULL && patience.is_over && !gs_queue_has_next(queue))
            break; /* the attendant goes on */
        if (stream->first != NULL && !gs_queue_has_next(queue)) {
            if (is_enough != NULL)
                note_wait(stream);
            gs_stream_mark(queue, stream);
            if (stream->first != NULL)
                gs_stream_watch(queue, stream, &patience);
            continue;
        }
        gs_command *command = gs_queue_take_next(queue);
        if ((is_over = command == NULL))
            break;
        patience = (gs_patience){0};
        issue_submitted(queue, stream, command);
    }
    gs_gpu_leave(gpu);
    return !is_over;
}

/* --- On the thread that submits -------------------------------------------------------------------------- */

static bool buffer_returns_at_once(const gs_gpu *gpu, const gs_command_buffer *buffer) {
    for (const gs_command *inner = buffer->first; inner != NULL; inner = inner->next)
        if (!gs_gpu_returns_at_once(gpu, inner))
            return false;
    return true;
}

static bool run_returns_at_once(gs_queue *queue, const gs_command *run) {
    const gs_gpu *gpu = gs_gpu_of(queue->device);
    if (!gs_command_is_unhindered(run))
        return false;
    for (uint32_t each = 0; each < run->run.count; each++)
        if ((is_counted_now(queue) || !gs_gpu_has_graph(gpu, run->run.runs[each].buffer)) &&
            !buffer_returns_at_once(gpu, run->run.runs[each].buffer))
            return false;
    return true;
}

bool gs_gpu_try_issue(gs_queue *queue, gs_command *command) {
    gs_gpu *gpu = gs_gpu_of(queue->device);
    bool is_run = command->operation == GS_RUN_BUFFERS;
    if (is_run ? !run_returns_at_once(queue, command) : !gs_gpu_returns_at_once(gpu, command))
        return false;
    if (gs_context_is_lost(queue->context) || !enter(queue, gpu))
        return false;
    gs_stream *stream = queue->of_kind;
    bool issues = needs_nobody(queue, stream, command);
    if (issues) {
        gs_stream_finish_done(queue, stream);
        queue->submitted++;
        issue_submitted(queue, stream, command);
        if (gs_context_is_lost(queue->context))
            gs_stream_finish_lost(queue, stream);
    }
    gs_gpu_leave(gpu);
    return issues;
}

void gs_gpu_execute(gs_queue *queue, gs_command *command) {
    gs_gpu *gpu = gs_gpu_of(queue->device);
    if (!enter(queue, gpu)) {
        pass_through(queue, command);
        return;
    }
    issue_submitted(queue, queue->of_kind, command);
    gs_stream_drain(queue, queue->of_kind);
    gs_gpu_leave(gpu);
}

void gs_gpu_perform(gs_device *device, gs_context *context, const gs_command *command) {
    gs_gpu *gpu = gs_gpu_of(device);
    gs_stream own = {.gpu = gpu};
    if (!gs_gpu_enter(gpu)) {
        gs_context_lose(context, "the GPU is lost");
        return;
    }
    gs_cu_result result = gs_stream_open(&own, ZE_COMMAND_QUEUE_PRIORITY_NORMAL);
    if (result == GS_CU_SUCCESS) {
        result = gs_gpu_issue(gpu, own.stream, command);
        if (result == GS_CU_SUCCESS)
            result = gs_cu.stream_wait(own.stream);
        gs_cu.stream_destroy(own.stream);
        gs_pool_give(&gpu->host, own.word, own.word_span);
    }
    gs_gpu_leave(gpu);
    char what[160];
    gs_command_describe(command, what, sizeof what);
    if (result != GS_CU_SUCCESS)
        gs_gpu_lose(gpu, context, result, what);
}
