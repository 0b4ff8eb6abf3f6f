/* A thread that looks after waits: when neither the program nor the device has done anything for a while, it asks which of them
 * can still end. */
#include "check/host/host_waits.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "threads/fork.h"
#include "threads/lock.h"
#include "threads/thread.h"

#define MOMENT UINT64_C(1000000000)        /* without progress, if no thread of the program can act */
#define PATIENCE UINT64_C(10000000000)     /* and if one could, which may yet signal */
#define LOOK_AGAIN UINT64_C(100000000)

GS_STATIC_LOCK(waits_lock, GS_SHORT_LOCK)
static gs_host_wait *waits;    /* guarded by the lock */
static bool is_started;        /* likewise */
static pid_t watching_process; /* likewise */
static gs_futex arrivals;      /* notified when a wait begins and there was none */
static _Atomic uint64_t progress;

void gs_host_note_progress(void) { atomic_fetch_add_explicit(&progress, 1, memory_order_relaxed); }

/* --- Copies of waits ------------------------------------------------------------------------------------------ */

/* Another process, or a word that the program writes, ends waits that nothing here can. */
gs_host_signal gs_host_signal_of(const gs_target *target, bool *is_over) {
    const gs_event *event = target->event;
    bool is_shared = event->pool != NULL && (event->pool->imported || event->pool->flags & ZE_EVENT_POOL_FLAG_IPC);
    *is_over = gs_target_is_reached(target) || target->word != NULL || is_shared || event->heap == &event->mapped;
    if (target->counter != NULL)
        return (gs_host_signal){target->counter, __atomic_load_n(&target->resolved, __ATOMIC_RELAXED), event};
    return (gs_host_signal){event->slot, 1, event};
}

static gs_host_waiter copy_of(const gs_host_wait *wait) {
    gs_host_waiter copy = {.function = wait->function, .stack = wait->stack};
    if (wait->target != NULL) {
        copy.wanted = gs_host_signal_of(wait->target, &copy.is_over);
        copy.context = wait->target->event->context;
    } else if (wait->fence != NULL) {
        copy.wanted = (gs_host_signal){wait->fence, 1, wait->fence};
        copy.is_over = atomic_load(&wait->fence->futex.value) != 0;
        copy.context = wait->fence->queue->queue.context;
    } else {
        copy.queue = wait->queue->id;
        copy.number = wait->number != 0 ? wait->number : atomic_load(&wait->queue->completed) + 1;
        copy.context = wait->queue->context;
    }
    gs_object_hold(copy.context);
    return copy;
}

/* --- Looking -------------------------------------------------------------------------------------------------- */

typedef struct look {
    gs_host_waiter *waiters;
    int *threads;
    size_t count;
} look;

/* Called with the lock held. Those that were reported are told of once. */
static bool copy_waits(look *into, uint64_t now, bool *hosts_wait) {
    size_t count = 0;
    for (const gs_host_wait *each = waits; each != NULL; each = each->next)
        count++;
    *into = (look){calloc(count + 1, sizeof *into->waiters), calloc(count + 1, sizeof *into->threads), 0};
    *hosts_wait = false;
    if (into->waiters == NULL || into->threads == NULL)
        return false;
    bool some = false;
    for (gs_host_wait *each = waits; each != NULL; each = each->next) {
        *hosts_wait |= each->function != GS_FN_COUNT;
        into->threads[into->count] = each->thread;
        into->waiters[into->count] = copy_of(each);
        into->waiters[into->count].is_over |= each->is_told || now - each->since < MOMENT;
        some |= !into->waiters[into->count++].is_over;
    }
    return some;
}

static void drop(look *looked) {
    for (size_t each = 0; each < looked->count; each++)
        gs_object_drop(looked->waiters[each].context);
    free(looked->waiters);
    free(looked->threads);
}

static void tell_all(void) {
    gs_lock(&waits_lock);
    for (gs_host_wait *each = waits; each != NULL; each = each->next)
        each->is_told = true;
    gs_unlock(&waits_lock);
}

/* A queue that waits is told of with the host's wait for what is behind it, or for itself if no thread of the host waits. */
static void leave_out_queues(look *looked) {
    for (size_t each = 0; each < looked->count; each++)
        looked->waiters[each].is_over |= looked->waiters[each].function == GS_FN_COUNT;
}

static void look_at_waits(uint64_t quiet_for) {
    look looked;
    bool hosts_wait;
    gs_lock(&waits_lock);
    bool some = copy_waits(&looked, gs_clock(CLOCK_MONOTONIC), &hosts_wait);
    gs_unlock(&waits_lock);
    bool others = some && gs_host_threads_may_act(looked.threads, looked.count);
    if (hosts_wait)
        leave_out_queues(&looked);
    if (some && (!others || quiet_for >= PATIENCE) && gs_host_report_endless(looked.waiters, looked.count, others))
        tell_all();
    drop(&looked);
}

static bool has_waits(void) {
    gs_lock(&waits_lock);
    bool some = waits != NULL;
    gs_unlock(&waits_lock);
    return some;
}

typedef struct arrival {
    uint32_t seen;
} arrival;

static bool has_arrived(void *state) { return atomic_load(&arrivals.value) != ((arrival *)state)->seen; }

static void *watch(void *unused) {
    (void)unused;
    uint64_t seen = 0, since = 0;
    for (;;) {
        arrival before = {atomic_load(&arrivals.value)};
        gs_futex_wait(&arrivals, has_arrived, &before, has_waits() ? LOOK_AGAIN : GS_FOREVER, false);
        uint64_t now = gs_clock(CLOCK_MONOTONIC), done = atomic_load(&progress);
        if (done != seen || since == 0) {
            seen = done;
            since = now;
        } else if (now - since >= MOMENT && gs_host_is_checked()) {
            look_at_waits(now - since);
        }
    }
    return NULL;
}

/* --- Waiting -------------------------------------------------------------------------------------------------- */

void gs_host_wait_begin(gs_host_wait *wait, uint64_t timeout) {
    if (timeout < 2 * MOMENT)
        return; /* the program looks again itself */
    wait->stack = wait->function != GS_FN_COUNT ? gs_host_stack_take() : NULL;
    wait->thread = (int)syscall(SYS_gettid);
    wait->since = gs_clock(CLOCK_MONOTONIC);
    wait->is_listed = true;
    gs_host_note_progress();
    gs_lock(&waits_lock);
    if (watching_process != getpid()) { /* a forked one has one thread, and waits of nobody else */
        watching_process = getpid();
        is_started = false;
        waits = NULL;
    }
    bool was_empty = waits == NULL;
    wait->next = waits;
    wait->link = &waits;
    if (waits != NULL)
        waits->link = &wait->next;
    waits = wait;
    if (!is_started)
        is_started = gs_thread_start("gs-check-waits", watch, NULL);
    gs_unlock(&waits_lock);
    if (was_empty)
        gs_futex_notify(&arrivals);
}

void gs_host_wait_end(gs_host_wait *wait) {
    if (!wait->is_listed)
        return;
    gs_lock(&waits_lock);
    *wait->link = wait->next;
    if (wait->next != NULL)
        wait->next->link = wait->link;
    gs_unlock(&waits_lock);
    gs_host_note_progress();
}
