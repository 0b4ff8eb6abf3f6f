/* Engines: threads that work off queues. A queue has an engine only while it has commands, so that a
 * program with hundreds of queues needs no more threads than it has queues in use. A queue whose command
 * waits for an event keeps its engine, and so holds up nobody else. */
#include <stdlib.h>

#include "runtime/queue.h"
#include "threads/fork.h"
#include "threads/lock.h"
#include "threads/thread.h"

typedef struct engine {
    struct engine *below; /* in the stack of idle engines */
    gs_queue *_Atomic queue;
    gs_futex futex;
} engine;

/* An engine that had nothing to do for this long ends. */
static const uint64_t IDLE_NANOSECONDS = UINT64_C(5000000000);

GS_STATIC_LOCK(lock, GS_SHORT_LOCK)
static engine *idle;
static gs_queue *_Atomic stalled; /* for which there was no engine; changed with the lock held */

static bool has_queue(void *state) { return atomic_load(&((engine *)state)->queue) != NULL; }

/* Takes the engine out of the stack; false if it was taken to be given a queue. */
static bool retire(engine *self) {
    gs_lock(&lock);
    engine **link = &idle;
    while (*link != NULL && *link != self)
        link = &(*link)->below;
    bool found = *link == self;
    if (found)
        *link = self->below;
    gs_unlock(&lock);
    return found;
}

/* Gives an engine that is free a queue for which there was none before, or puts it on the stack. */
static void rest(engine *self) {
    gs_lock(&lock);
    gs_queue *next = stalled;
    if (next != NULL) {
        stalled = next->stalled;
        atomic_store(&self->queue, next);
    } else {
        self->below = idle;
        idle = self;
    }
    gs_unlock(&lock);
    if (next != NULL)
        gs_futex_notify(&self->futex);
}

static void *run(void *argument) {
    engine *self = argument;
    for (;;) {
        while (gs_futex_wait(&self->futex, has_queue, self, IDLE_NANOSECONDS, false) != GS_WAIT_DONE) {
            if (!retire(self))
                continue;
            free(self);
            return NULL;
        }
        gs_queue *queue = atomic_exchange(&self->queue, NULL);
        uint64_t start = gs_clock(CLOCK_MONOTONIC);
        gs_affinity_enter(queue->device->affinity);
        gs_queue_work_off(queue);
        rest(self);
        gs_spin_before_sleep(has_queue, self, gs_clock(CLOCK_MONOTONIC) - start);
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
    gs_lock(&lock);
    engine *taken = idle;
    if (taken != NULL)
        idle = taken->below;
    gs_unlock(&lock);
    return taken;
}

bool gs_engine_is_ready(void) {
    gs_lock(&lock);
    bool ready = idle != NULL;
    gs_unlock(&lock);
    return ready || start_engine(NULL);
}

/* Without an engine the queue waits until another one is done, or somebody waits. */
void gs_engine_assign(gs_queue *queue) {
    engine *taken = take_idle();
    if (taken != NULL) {
        atomic_store(&taken->queue, queue);
        gs_futex_notify(&taken->futex);
    } else if (!start_engine(queue)) {
        gs_lock(&lock);
        queue->stalled = stalled;
        stalled = queue;
        gs_unlock(&lock);
    }
}

/* An engine for whoever comes next finds the queue. If none can be started there is nobody but the caller. */
void gs_engines_serve_stalled(bool caller_waits) {
    if (atomic_load_explicit(&stalled, memory_order_relaxed) == NULL || start_engine(NULL) || !caller_waits)
        return;
    gs_lock(&lock);
    gs_queue *taken = stalled;
    if (taken != NULL)
        stalled = taken->stalled;
    gs_unlock(&lock);
    if (taken != NULL)
        gs_queue_work_for_engine(taken);
}

/* --- Pausing ------------------------------------------------------------------------------------- */

/* The gate lives here because engines are what it stops; execution.c passes it around each command. */
static _Atomic uint32_t inside;
static _Atomic bool paused;
static gs_futex gate;
GS_STATIC_LOCK(pausing, GS_LONG_LOCK)

static bool is_open(void *unused) {
    (void)unused;
    return !atomic_load(&paused);
}

static bool is_empty(void *unused) {
    (void)unused;
    return atomic_load(&inside) == 0;
}

static void open_gate(void) {
    atomic_store(&paused, false);
    gs_futex_notify(&gate);
}

void gs_gate_enter(void) {
    for (;;) {
        atomic_fetch_add(&inside, 1);
        if (!atomic_load(&paused))
            return;
        gs_gate_leave();
        gs_futex_wait(&gate, is_open, NULL, GS_FOREVER, false);
    }
}

void gs_gate_leave(void) {
    if (atomic_fetch_sub(&inside, 1) == 1 && atomic_load(&paused))
        gs_futex_notify(&gate);
}

/* A command that runs may wait for one that the gate keeps out, or for a thread that does a command itself. So the gate
 * opens again if it does not become empty, and stays shut for longer the next time: there is an end to commands that
 * only take long. */
void gs_engines_pause(void) {
    gs_lock(&pausing);
    for (uint64_t patience = 1000000;; patience *= 2) {
        atomic_store(&paused, true);
        if (gs_futex_wait(&gate, is_empty, NULL, patience, false) == GS_WAIT_DONE)
            return;
        open_gate();
        gs_futex_wait(&gate, is_empty, NULL, patience, false);
    }
}

bool gs_engines_are_paused(void) { return atomic_load(&paused); }

void gs_engines_resume(void) {
    open_gate();
    gs_unlock(&pausing);
}

/* The child has none of the engines. */
void gs_engines_after_fork(void) {
    idle = NULL;
    stalled = NULL;
    inside = 0;
    paused = false;
}
