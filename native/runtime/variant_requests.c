/* Variants are compiled, and choices written down, by a thread of its own: launches go on with the code that they have.
 * It ends when there is nothing to do. It is stopped when the program ends, and a program that forks waits for it. */
#include <pthread.h>
#include <stdlib.h>

#include "runtime/variants.h"
#include "threads/fork.h"
#include "threads/lock.h"
#include "threads/thread.h"
#include "threads/wait.h"

/* How long the end of a program waits for the thread, which is told to stop. */
static const uint64_t EXIT_PATIENCE = 1000000000;

GS_STATIC_LOCK(lock, GS_SHORT_LOCK)
static gs_code *first, **last = &first; /* guarded by lock: what was asked for */
static _Atomic bool is_running;         /* changed under lock */
static _Atomic bool is_stopping;
static gs_futex idle; /* notified when the thread ends */

/* Python asks in the middle of what it does. */
GS_EXPORT bool gs_variant_requests_are_stopped(void) { return is_stopping; }

static gs_code *take_first(void) {
    gs_code *taken = first;
    if (taken != NULL && (first = taken->next_request) == NULL)
        last = &first;
    return taken;
}

/* The next request, or NULL: then the thread has ended for all others. */
static gs_code *take(void) {
    gs_lock(&lock);
    gs_code *taken = is_stopping ? NULL : take_first();
    if (taken == NULL)
        is_running = false;
    gs_unlock(&lock);
    return taken;
}

/* Also when Python ends the thread, because the program's own interpreter ends. */
static void say_ended(void *unused) {
    (void)unused;
    is_running = false;
    gs_futex_notify(&idle);
}

static void fulfil(gs_code *code) {
    uint32_t wishes = atomic_exchange(&code->wishes, 0);
    if (wishes & GS_ADD_VARIANT)
        gs_compile_variant(code);
    if (wishes & GS_REMEMBER_VARIANT && code->remembered != code->preferred) {
        code->remembered = code->preferred;
        code->times_remembered++;
        gs_remember_variant(code, code->remembered);
    }
}

static void *run(void *unused) {
    pthread_cleanup_push(say_ended, NULL);
    for (gs_code *code; (code = take()) != NULL;) {
        gs_module *module = code->module;
        fulfil(code);
        gs_object_drop(module);
    }
    pthread_cleanup_pop(1);
    return unused;
}

/* A library may be in use that ends before this one. */
static void stop_at_exit(void) {
    is_stopping = true;
    gs_variant_requests_settle(EXIT_PATIENCE);
}

static void start(void) {
    static _Atomic bool is_registered;
    if (!atomic_exchange(&is_registered, true))
        atexit(stop_at_exit);
    if (!gs_thread_start("gs-variants", run, NULL))
        say_ended(NULL); /* the next request tries again */
}

void gs_variant_request(gs_code *code, uint32_t wishes) {
    if (wishes & GS_ADD_VARIANT)
        code->variants_to_come = 0; /* Python says how many there are then */
    if (atomic_fetch_or(&code->wishes, wishes) != 0 || is_stopping)
        return;
    gs_object_hold(code->module);
    gs_lock(&lock);
    code->next_request = NULL;
    *last = code;
    last = &code->next_request;
    bool must_start = !is_running;
    is_running = true;
    gs_unlock(&lock);
    if (must_start)
        start();
}

static gs_code *take_of(const gs_module *module) {
    gs_code **link = &first;
    while (*link != NULL && (*link)->module != module)
        link = &(*link)->next_request;
    gs_code *taken = *link;
    if (taken != NULL && (*link = taken->next_request) == NULL)
        last = link;
    return taken;
}

GS_EXPORT void gs_variant_requests_forget(const gs_module *module) {
    for (gs_code *taken = NULL;;) {
        gs_lock(&lock);
        taken = take_of(module);
        gs_unlock(&lock);
        if (taken == NULL)
            return;
        taken->wishes = 0;
        gs_object_drop(taken->module);
    }
}

static bool is_idle(void *unused) {
    (void)unused;
    return !is_running;
}

GS_EXPORT bool gs_variant_requests_settle(uint64_t nanoseconds) {
    return gs_futex_wait(&idle, is_idle, NULL, nanoseconds, false) == GS_WAIT_DONE;
}

/* A thread that holds the interpreter's lock would wait for one that needs it: then Python has waited (driver/variants.py). */
void gs_variants_before_fork(void) {
    if (is_running && !gs_holds_python())
        gs_variant_requests_settle(GS_FORK_PATIENCE);
}

/* A child has no such thread. What its parent asked for, it may ask for itself. */
void gs_variants_after_fork(void) {
    first = NULL;
    last = &first;
    is_running = false;
}
