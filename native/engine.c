/* Engines: threads that work off queues. A queue has an engine only while it has commands, so that a
 * program with hundreds of queues needs no more threads than it has queues in use. A queue whose command
 * waits for an event keeps its engine, and so holds up nobody else. */
#include <stdlib.h>

#include "queue.h"
#include "thread.h"

typedef struct engine {
    struct engine *below; /* in the stack of idle engines */
    gs_queue *_Atomic queue;
    gs_bell bell;
} engine;

/* An engine that had nothing to do for this long ends. */
static const uint64_t IDLE_NANOSECONDS = UINT64_C(5000000000);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static engine *idle;
static gs_queue *stalled; /* for which there was no engine */

static bool has_queue(void *state) { return atomic_load(&((engine *)state)->queue) != NULL; }

/* Takes the engine out of the stack; false if it was taken to be given a queue. */
static bool retire(engine *self) {
    pthread_mutex_lock(&lock);
    engine **link = &idle;
    while (*link != NULL && *link != self)
        link = &(*link)->below;
    bool found = *link == self;
    if (found)
        *link = self->below;
    pthread_mutex_unlock(&lock);
    return found;
}

/* Gives an engine that is free a queue for which there was none before, or puts it on the stack. */
static void rest(engine *self) {
    pthread_mutex_lock(&lock);
    gs_queue *next = stalled;
    if (next != NULL) {
        stalled = next->stalled;
        atomic_store(&self->queue, next);
    } else {
        self->below = idle;
        idle = self;
    }
    pthread_mutex_unlock(&lock);
    if (next != NULL)
        gs_bell_ring(&self->bell);
}

static void *run(void *argument) {
    engine *self = argument;
    for (;;) {
        while (gs_bell_wait(&self->bell, has_queue, self, IDLE_NANOSECONDS, false) != GS_WAIT_DONE) {
            if (!retire(self))
                continue;
            free(self);
            return NULL;
        }
        gs_queue *queue = atomic_exchange(&self->queue, NULL);
        uint64_t start = gs_clock(CLOCK_MONOTONIC);
        gs_place_enter(queue->device->place);
        gs_queue_work_off(queue);
        rest(self);
        gs_linger(has_queue, self, gs_clock(CLOCK_MONOTONIC) - start);
    }
}

/* A new engine, for a queue or (NULL) for whoever comes next. */
static bool start_engine(gs_queue *queue) {
    engine *made = calloc(1, sizeof *made);
    if (made == NULL)
        return false;
    made->queue = queue;
    if (!gs_thread_start("gs-engine", run, made)) {
        free(made);
        return false;
    }
    if (queue == NULL)
        rest(made);
    return true;
}

static engine *take_idle(void) {
    pthread_mutex_lock(&lock);
    engine *taken = idle;
    if (taken != NULL)
        idle = taken->below;
    pthread_mutex_unlock(&lock);
    return taken;
}

bool gs_engine_is_ready(void) {
    pthread_mutex_lock(&lock);
    bool ready = idle != NULL;
    pthread_mutex_unlock(&lock);
    return ready || start_engine(NULL);
}

/* Without an engine the queue waits until another one is done, or its commands are waited for. */
void gs_engine_assign(gs_queue *queue) {
    engine *taken = take_idle();
    if (taken != NULL) {
        atomic_store(&taken->queue, queue);
        gs_bell_ring(&taken->bell);
    } else if (!start_engine(queue)) {
        pthread_mutex_lock(&lock);
        queue->stalled = stalled;
        stalled = queue;
        pthread_mutex_unlock(&lock);
    }
}

/* --- Pausing ------------------------------------------------------------------------------------- */

/* The gate lives here because engines are what it stops; queue.c passes it around each command. */
static _Atomic uint32_t inside;
static _Atomic bool paused;
static gs_bell gate;
static pthread_mutex_t pausing = PTHREAD_MUTEX_INITIALIZER;

static bool is_open(void *unused) {
    (void)unused;
    return !atomic_load(&paused);
}

static bool is_empty(void *unused) {
    (void)unused;
    return atomic_load(&inside) == 0;
}

void gs_gate_enter(void) {
    for (;;) {
        atomic_fetch_add(&inside, 1);
        if (!atomic_load(&paused))
            return;
        gs_gate_leave();
        gs_bell_wait(&gate, is_open, NULL, GS_FOREVER, false);
    }
}

void gs_gate_leave(void) {
    if (atomic_fetch_sub(&inside, 1) == 1 && atomic_load(&paused))
        gs_bell_ring(&gate);
}

void gs_engines_pause(void) {
    pthread_mutex_lock(&pausing);
    atomic_store(&paused, true);
    gs_bell_wait(&gate, is_empty, NULL, GS_FOREVER, false);
}

bool gs_engines_are_paused(void) { return atomic_load(&paused); }

void gs_engines_resume(void) {
    atomic_store(&paused, false);
    gs_bell_ring(&gate);
    pthread_mutex_unlock(&pausing);
}
