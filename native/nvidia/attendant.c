/* The attendant: a thread that looks now and then at the queues on which something is under way and which nobody executes. So
 * a thread that submits a command neither waits for it nor wakes anybody, and events are signalled though nobody waits.
 *
 * A queue is in the list, which holds it, until the attendant takes it out to look at it. Whoever executes a queue puts it back when he stops
 * (hand_over in runtime/queue.c), the attendant too. It goes by rounds, and leaves a queue alone that somebody else executed since the
 * round before: whoever submits a command mostly waits for it himself, and would be in the attendant's way, in the CUDA driver too. */
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include "nvidia/stream.h"
#include "threads/thread.h"

GS_STATIC_LOCK(lock, GS_SHORT_LOCK)
static gs_stream *first, **end = &first;
static gs_stream *_Atomic visited;
static _Atomic bool has_some;
static _Atomic uint32_t round_now;
static gs_futex futex;
static _Thread_local bool is_attendant;

/* Called with the lock held. */
static void take_out(gs_stream *stream) {
    *stream->attended = stream->next_attended;
    if (stream->next_attended != NULL)
        stream->next_attended->attended = stream->attended;
    else
        end = stream->attended;
    stream->attended = NULL;
    has_some = first != NULL;
}

static gs_stream *take_due(void) {
    gs_lock(&lock);
    gs_stream *taken = first;
    while (taken != NULL && (int32_t)(round_now - taken->due) < 0)
        taken = taken->next_attended;
    if (taken != NULL)
        take_out(taken);
    visited = taken;
    gs_unlock(&lock);
    return taken;
}

static bool there_are_some(void *unused) {
    (void)unused;
    return atomic_load(&has_some);
}

/* Whoever executes the queue hands it over later. The stream may end with the last hold of its queue. */
static void visit(gs_stream *stream) {
    gs_queue *queue = stream->queue;
    gs_object *owner = queue->owner;
    if (gs_queue_visit(queue)) {
        gs_stream_glance(queue, stream);
        gs_queue_hand_over(queue);
    }
    visited = NULL;
    gs_object_drop(owner);
}

/* Between two rounds it sleeps for a moment, also when there is nothing for a while: to be woken would cost a thread that
 * launches more than the launch. */
static void *run(void *unused) {
    enum { NAP = 20000, MOST_IDLE_NAPS = 250, FINE = 1000 };
    int idle = 0;
    (void)unused;
    is_attendant = true;
    prctl(PR_SET_TIMERSLACK, FINE, 0, 0, 0);
    for (;;) {
        idle = there_are_some(NULL) ? 0 : idle + 1;
        round_now++;
        for (gs_stream *each; (each = take_due()) != NULL;)
            visit(each);
        gs_memory_free_deferred(); /* as engines do when a queue has nothing more */
        if (idle < MOST_IDLE_NAPS)
            nanosleep(&(struct timespec){0, NAP}, NULL);
        else
            gs_futex_wait(&futex, there_are_some, NULL, GS_FOREVER, false);
    }
    return NULL;
}

/* Nothing but one thread may start it: others find it started. */
static bool is_there(void) {
    enum { NOT_YET, STARTING, STARTED };
    static _Atomic int state;
    int expected = NOT_YET;
    if (state == STARTED)
        return true;
    if (!atomic_compare_exchange_strong(&state, &expected, STARTING))
        return expected == STARTED;
    state = gs_thread_start("gs-attendant", run, NULL) ? STARTED : NOT_YET;
    return state == STARTED;
}

bool gs_gpu_attend(gs_queue *queue) {
    gs_stream *stream = queue->of_kind;
    if (!is_there())
        return false;
    gs_lock(&lock);
    bool wakes = first == NULL;
    stream->due = round_now + (is_attendant ? 1 : 2);
    if (stream->attended == NULL) {
        gs_object_hold(queue->owner);
        stream->next_attended = NULL;
        stream->attended = end;
        *end = stream;
        end = &stream->next_attended;
    }
    has_some = true;
    gs_unlock(&lock);
    if (wakes)
        gs_futex_notify(&futex);
    return true;
}

/* The stream ends: nobody looks at it when this returns. */
void gs_attendant_forget(gs_stream *stream) {
    if (gs_gpu_is_forked())
        return; /* there is no attendant here */
    for (bool is_left = false; !is_left;) {
        gs_lock(&lock);
        is_left = is_attendant || visited != stream; /* who visits it puts it back into the list */
        if (is_left && stream->attended != NULL)
            take_out(stream);
        gs_unlock(&lock);
        if (!is_left)
            sched_yield();
    }
}
