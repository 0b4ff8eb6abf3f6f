/* A thread that looks after launches: one that runs longer than the limit loses its context, which stops it. The
 * limit is the same for all, so the launch that began first is the first to reach it. */
#include "faults/watchdog.h"

#include <stdio.h>

#include "faults/fault.h"
#include "faults/lost_context.h"
#include "threads/fork.h"
#include "threads/lock.h"
#include "threads/thread.h"
#include "threads/wait.h"

uint64_t gs_kernel_limit;

GS_STATIC_LOCK(lock, GS_SHORT_LOCK)
static gs_watched_launch *first, **last = &first; /* guarded by lock */
static bool is_started;                     /* likewise */
static gs_futex arrivals;                    /* notified when a launch comes and there was none */

/* The Python half says what the knob says. */
GS_EXPORT void gs_watchdog_set_limit(uint64_t nanoseconds) { gs_kernel_limit = nanoseconds; }

/* Called with the lock held, so that the launch does not end meanwhile. */
static void stop(gs_watched_launch *late) {
    char sentence[256];
    snprintf(sentence, sizeof sentence, "kernel '%.100s' ran for more than %g seconds (GROUNDSTATE_KERNEL_LIMIT)",
             late->code->name, (double)gs_kernel_limit / 1e9);
    atomic_store(&late->context->is_overdue, true);
    gs_context_lose(late->context, sentence);
}

static void take_out(gs_watched_launch *launch) {
    *launch->link = launch->next;
    if (launch->next != NULL)
        launch->next->link = launch->link;
    else
        last = launch->link;
    launch->link = NULL;
}

/* Stops what is too late. Returns how long there is nothing to do. */
static uint64_t stop_late(void) {
    uint64_t idle = GS_FOREVER;
    gs_lock(&lock);
    while (first != NULL && idle == GS_FOREVER) {
        uint64_t now = gs_clock(CLOCK_MONOTONIC);
        if (first->deadline > now) {
            idle = first->deadline - now;
            continue;
        }
        gs_watched_launch *late = first;
        take_out(late);
        stop(late);
    }
    gs_unlock(&lock);
    return idle;
}

typedef struct arrival {
    uint32_t seen;
} arrival;

static bool has_arrived(void *state) { return atomic_load(&arrivals.value) != ((arrival *)state)->seen; }

static void *watch(void *unused) {
    (void)unused;
    for (;;) {
        arrival since = {atomic_load(&arrivals.value)};
        gs_futex_wait(&arrivals, has_arrived, &since, stop_late(), false);
    }
    return NULL;
}

/* A child process has one thread, and no launch runs on it. */
void gs_watchdog_after_fork(void) {
    first = NULL;
    last = &first;
    is_started = false;
}

/* Called with the lock held. */
static bool start(void) {
    return is_started = gs_thread_start("gs-watchdog", watch, NULL);
}

void gs_watchdog_add(gs_watched_launch *launch, const gs_code *code) {
    const gs_fault_scope *scope = gs_fault_scope_current();
    launch->link = NULL;
    if (scope == NULL)
        return; /* faults are left to a debugger, and nothing can be stopped */
    launch->context = scope->context;
    launch->code = code;
    launch->next = NULL;
    gs_lock(&lock);
    bool is_watched = is_started || start();
    if (is_watched) {
        launch->deadline = gs_clock(CLOCK_MONOTONIC) + gs_kernel_limit;
        launch->link = last;
        *last = launch;
        last = &launch->next;
    }
    bool was_first = launch == first;
    gs_unlock(&lock);
    if (was_first)
        gs_futex_notify(&arrivals);
    if (!is_watched) /* then the launch does nothing */
        gs_context_lose(launch->context, "there is no thread to watch how long its kernels run (GROUNDSTATE_KERNEL_LIMIT)");
}

void gs_watchdog_remove(gs_watched_launch *launch) {
    gs_lock(&lock);
    if (launch->link != NULL)
        take_out(launch);
    gs_unlock(&lock);
}
