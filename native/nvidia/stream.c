/* Streams: their life, timestamps, and what comes after the work. */
#include "nvidia/stream.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "faults/lost_context.h"
#include "metrics/counts.h"

/* Nanoseconds: how long a thread does nothing but look at the word, how long it looks at it and yields, how long the driver is left
 * alone at first and at most, and how long a thread sleeps between two looks. */
enum { MOMENT = 20000, EAGER = 200000, FIRST_PAUSE = 20000, LONGEST_PAUSE = 1000000, NAP = 20000 };

/* --- Life ------------------------------------------------------------------------------------------------ */

gs_cu_result gs_stream_open(gs_stream *made, ze_command_queue_priority_t priority) {
    int least = 0, greatest = 0;
    gs_cu.stream_priorities(&least, &greatest);
    int rank = priority == ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH ? greatest : least;
    gs_cu_result result = gs_pool_take(&made->gpu->host, sizeof(uint32_t), 0, &made->word, &made->word_span);
    if (result != GS_CU_SUCCESS)
        return result;
    *(volatile uint32_t *)made->word = 0;
    result = gs_cu.stream_create(&made->stream, GS_CU_STREAM_NON_BLOCKING, rank);
    if (result != GS_CU_SUCCESS)
        gs_pool_give(&made->gpu->host, made->word, made->word_span);
    return result;
}

gs_stream *gs_stream_need(gs_queue *queue, gs_gpu *gpu) {
    if (queue->of_kind != NULL || gs_context_is_lost(queue->context))
        return queue->of_kind;
    gs_stream *made = calloc(1, sizeof *made);
    gs_cu_result result = GS_CU_OUT_OF_MEMORY;
    if (made != NULL) {
        made->gpu = gpu;
        made->queue = queue;
        made->generation = gpu->generation;
        made->pause = FIRST_PAUSE;
        result = gs_stream_open(made, queue->priority);
    }
    if (result != GS_CU_SUCCESS) {
        char why[200], sentence[300];
        snprintf(sentence, sizeof sentence, "the GPU has no stream for a queue: %s", gs_cuda_describe(result, why, sizeof why));
        gs_context_lose(queue->context, sentence);
        free(made);
        return NULL;
    }
    queue->of_kind = made;
    return made;
}

void gs_gpu_close_queue(gs_queue *queue) {
    gs_stream *stream = queue->of_kind;
    if (stream == NULL)
        return;
    gs_gpu *gpu = stream->gpu;
    gs_attendant_forget(stream);
    if (!gpu->is_lost && stream->generation == gpu->generation && gs_gpu_enter(gpu)) {
        gs_stream_drain(queue, stream);
        if (stream->anchor != NULL)
            gs_cu.event_destroy(stream->anchor);
        while (stream->spare_count > 0)
            gs_cu.event_destroy(stream->spare[--stream->spare_count]);
        gs_cu.stream_destroy(stream->stream);
        gs_pool_give(&gpu->host, stream->word, stream->word_span);
        gs_gpu_leave(gpu);
    }
    gs_stream_finish_lost(queue, stream);
    free(stream);
    queue->of_kind = NULL;
}

/* --- Timestamps ------------------------------------------------------------------------------------------ */

gs_cu_event gs_stream_take_event(gs_stream *stream) {
    gs_cu_event event = NULL;
    if (stream->spare_count > 0)
        return stream->spare[--stream->spare_count];
    return gs_cu.event_create(&event, GS_CU_EVENT_DEFAULT) == GS_CU_SUCCESS ? event : NULL;
}

void gs_stream_give_event(gs_stream *stream, gs_cu_event event) {
    if (event == NULL)
        return;
    if (stream->spare_count < GS_SPARE_EVENTS)
        stream->spare[stream->spare_count++] = event;
    else
        gs_cu.event_destroy(event);
}

/* Nanoseconds between two events that have passed; false if that is not known exactly enough. CUDA tells milliseconds as
 * a float. */
static bool elapsed(gs_cu_event from, gs_cu_event to, uint64_t *nanoseconds) {
    enum { MOST_MILLISECONDS = 4000 };
    float milliseconds = 0;
    if (from == NULL || to == NULL || gs_cu.event_elapsed(&milliseconds, from, to) != GS_CU_SUCCESS ||
        !(milliseconds >= 0 && milliseconds < MOST_MILLISECONDS))
        return false;
    *nanoseconds = (uint64_t)((double)milliseconds * 1e6);
    return true;
}

/* Reads both clocks when the stream has nothing to do, for the first command with timestamps and then once in a second: they do
 * not run at quite the same speed. */
void gs_stream_set_anchor(gs_stream *stream) {
    enum { EVERY = 1000000000 };
    uint64_t now = gs_timestamp();
    if (stream->first != NULL || (stream->anchor != NULL && now - stream->anchored < EVERY))
        return;
    gs_cu_event event = gs_stream_take_event(stream);
    if (event == NULL)
        return;
    if (gs_cu.event_record(event, stream->stream) != GS_CU_SUCCESS || gs_cu.stream_wait(stream->stream) != GS_CU_SUCCESS) {
        gs_stream_give_event(stream, event);
        return;
    }
    gs_stream_give_event(stream, stream->anchor);
    stream->anchor = event;
    stream->anchor_time = stream->anchored = gs_timestamp();
}

/* By the clock of the host, which is the device's timer, too. The GPU's clock says how much time lies between two commands. No
 * command has ended later than now, and none of a stream has begun before the one before it ended. */
static gs_interval time_command(gs_stream *stream, const gs_pending *done) {
    uint64_t now = gs_timestamp(), length = 0, gap = 0;
    if (done->start == NULL || done->end == NULL)
        return (gs_interval){now, now};
    elapsed(done->start, done->end, &length);
    uint64_t end = now;
    if (elapsed(stream->anchor, done->end, &gap) && stream->anchor_time + gap < now)
        end = stream->anchor_time + gap;
    return (gs_interval){end - stream->anchor_time > length ? end - length : stream->anchor_time, end};
}

static void anchor_at(gs_stream *stream, gs_pending *done, uint64_t end) {
    gs_stream_give_event(stream, stream->anchor);
    gs_stream_give_event(stream, done->start);
    stream->anchor = done->end;
    stream->anchor_time = end;
}

/* --- What comes after the work --------------------------------------------------------------------------- */

void gs_stream_finish(gs_queue *queue, gs_stream *stream, gs_pending *done) {
    gs_interval interval = {done->begun, 0};
    if (done->is_run) {
        interval.end = gs_timestamp();
        gs_run_end(queue, done->command, interval, done->run_has_retired);
    } else {
        if (done->end != NULL) {
            interval = time_command(stream, done);
            anchor_at(stream, done, interval.end);
        }
        if (done->is_counted && !gs_context_is_lost(queue->context))
            gs_count_command(gs_queue_counts_now(queue), done->command, done->end != NULL ? interval.end - interval.start : 0);
        gs_command_end(queue, done->command, done->base, done->last_of, interval);
    }
    if (done->submitted != NULL)
        gs_command_complete(queue, done->submitted);
}

static bool is_done(const gs_stream *stream, const gs_pending *each) {
    uint32_t mark = __atomic_load_n((uint32_t *)stream->word, __ATOMIC_ACQUIRE);
    return each->is_marked && (int32_t)(mark - each->mark) >= 0;
}

/* Finishes what is first in the list. */
static void finish_first(gs_queue *queue, gs_stream *stream) {
    gs_pending *done = stream->first;
    stream->first = done->next;
    if (stream->first_unmarked == done)
        stream->first_unmarked = done->next;
    if (stream->first == NULL)
        stream->last = stream->first_unmarked = NULL;
    stream->pause = FIRST_PAUSE;
    queue->under_way--;
    gs_stream_finish(queue, stream, done);
    free(done);
}

void gs_stream_finish_done(gs_queue *queue, gs_stream *stream) {
    while (stream->first != NULL && is_done(stream, stream->first))
        finish_first(queue, stream);
}

void gs_stream_finish_lost(gs_queue *queue, gs_stream *stream) {
    while (stream->first != NULL)
        finish_first(queue, stream);
}

void gs_stream_lose(gs_queue *queue, gs_stream *stream, gs_cu_result error, const gs_command *command) {
    char what[160], why[200], sentence[400];
    gs_command_describe(command, what, sizeof what);
    gs_cu_result state = gs_cu.stream_query(stream->stream);
    if (state != GS_CU_SUCCESS && state != GS_CU_NOT_READY) {
        gs_gpu_lose(stream->gpu, queue->context, error, what);
    } else {
        snprintf(sentence, sizeof sentence, "%s was refused by the GPU: %s", what, gs_cuda_describe(error, why, sizeof why));
        gs_context_lose(queue->context, sentence);
        gs_cu.stream_wait(stream->stream);
    }
    gs_stream_finish_lost(queue, stream);
}

void gs_stream_mark(gs_queue *queue, gs_stream *stream) {
    if (stream->first_unmarked == NULL)
        return;
    uint32_t number = ++stream->last_mark;
    gs_cu_result result = GS_CU_SUCCESS;
    if (gs_cu.write_word != NULL)
        result = gs_cu.write_word(stream->stream, (gs_cu_pointer)(uintptr_t)stream->word, number, 0);
    for (gs_pending *each = stream->first_unmarked; each != NULL; each = each->next) {
        each->is_marked = true;
        each->mark = number;
    }
    stream->first_unmarked = NULL;
    stream->unmarked = 0;
    if (result != GS_CU_SUCCESS)
        gs_stream_lose(queue, stream, result, stream->last->command);
}

static const gs_command *first_launch_of(const gs_command *run) {
    for (uint32_t each = 0; each < run->run.count; each++)
        for (const gs_command *inner = run->run.runs[each].buffer->first; inner != NULL; inner = inner->next)
            if (inner->operation == GS_LAUNCH)
                return inner;
    return NULL;
}

/* What a fault is blamed on: the first launch that has not ended, as far as that is known, else the first command. */
static const gs_command *suspect(const gs_stream *stream) {
    for (const gs_pending *each = stream->first; each != NULL; each = each->next) {
        const gs_command *found = each->is_run ? first_launch_of(each->command) : each->command;
        if (found != NULL && found->operation == GS_LAUNCH)
            return found;
    }
    return stream->first->command;
}

/* Asks the CUDA driver, which takes longer than a look at the word, and holds up who launches meanwhile. It knows of faults; where it
 * writes no word, it alone knows what is done. */
static void look(gs_queue *queue, gs_stream *stream) {
    gs_cu_result result = gs_cu.stream_query(stream->stream);
    if (gs_cu.write_word != NULL && stream->pause < LONGEST_PAUSE)
        stream->pause *= 2;
    if (result == GS_CU_SUCCESS) {
        __atomic_store_n((uint32_t *)stream->word, stream->last_mark, __ATOMIC_RELEASE);
        gs_stream_finish_done(queue, stream);
    } else if (result != GS_CU_NOT_READY)
        gs_stream_lose(queue, stream, result, suspect(stream));
}

static bool is_time_to_ask(const gs_queue *queue, const gs_stream *stream, uint64_t now) {
    return gs_context_is_lost(queue->context) || now - stream->asked >= stream->pause;
}

static void look_now_and_then(gs_queue *queue, gs_stream *stream, uint64_t now) {
    if (!is_time_to_ask(queue, stream, now))
        return;
    stream->asked = now;
    look(queue, stream);
}

/* Until the first command is done. */
static void look_at_word(const gs_stream *stream) {
    enum { LOOKS = 100 };
    for (int each = 0; each < LOOKS && !is_done(stream, stream->first); each++)
        gs_relax();
}

static bool pass(gs_queue *queue, gs_stream *stream, bool (*is_enough)(void *state), void *state) {
    const uint64_t begun = gs_clock(CLOCK_MONOTONIC);
    while (stream->first != NULL && stream->first->is_marked && stream->first->end == NULL && !gs_queue_has_next(queue) &&
           !gs_context_is_lost(queue->context) && gs_clock(CLOCK_MONOTONIC) - begun < MOMENT) {
        look_at_word(stream);
        if (is_done(stream, stream->first))
            finish_first(queue, stream);
        if (is_enough(state))
            return true;
    }
    return false;
}

/* The word stays as long as somebody is inside. */
bool gs_stream_pass(gs_queue *queue, gs_stream *stream, bool (*is_enough)(void *state), void *state) {
    gs_gpu *gpu = stream->gpu;
    gpu->inside++;
    bool passed = !gpu->is_lost && stream->generation == gpu->generation && pass(queue, stream, is_enough, state);
    gpu->inside--;
    return passed;
}

void gs_stream_watch(gs_queue *queue, gs_stream *stream, gs_patience *patience) {
    look_at_word(stream);
    if (is_done(stream, stream->first)) {
        gs_stream_finish_done(queue, stream);
        *patience = (gs_patience){0};
        return;
    }
    uint64_t now = gs_clock(CLOCK_MONOTONIC);
    if (patience->since == 0)
        patience->since = stream->asked = now;
    look_now_and_then(queue, stream, now);
    patience->is_over = now - patience->since > EAGER;
    if (patience->is_over)
        nanosleep(&(struct timespec){0, NAP}, NULL);
    else if (now - patience->since > MOMENT)
        sched_yield();
}

void gs_stream_glance(gs_queue *queue, gs_stream *stream) {
    gs_gpu *gpu = stream->gpu;
    if (gs_context_is_lost(queue->context))
        gs_stream_finish_lost(queue, stream);
    gs_stream_finish_done(queue, stream);
    const bool is_quiet = stream->first_unmarked == NULL && !gpu->is_lost;
    if (stream->first == NULL || (is_quiet && !is_time_to_ask(queue, stream, gs_clock(CLOCK_MONOTONIC))))
        return;
    if (gpu->is_lost || stream->generation != gpu->generation || !gs_gpu_enter(gpu)) {
        gs_context_lose(queue->context, "the GPU is lost");
        gs_stream_finish_lost(queue, stream);
        return;
    }
    gs_stream_mark(queue, stream);
    if (stream->first != NULL)
        look_now_and_then(queue, stream, gs_clock(CLOCK_MONOTONIC));
    gs_gpu_leave(gpu);
}

void gs_stream_drain(gs_queue *queue, gs_stream *stream) {
    gs_patience patience = {0};
    gs_may_wait("a stream of a GPU");
    gs_stream_mark(queue, stream);
    while (stream->first != NULL)
        gs_stream_watch(queue, stream, &patience);
}
