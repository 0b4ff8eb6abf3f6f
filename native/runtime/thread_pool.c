/* A job is a counter that threads take part numbers from. Jobs that still have parts to give stand in a
 * list; a free worker helps the first one of the highest priority. The thread that brought a job works on it too, so a job ends
 * even if every worker is busy elsewhere. */
#include "runtime/thread_pool.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "faults/fault.h"
#include "runtime/activity.h"
#include "threads/fork.h"
#include "threads/lock.h"
#include "threads/thread.h"
#include "threads/wait.h"

/* How long the thread that brought a job keeps its core for parts that are nearly done. */
static const uint64_t LONGEST_PART = 50000;

typedef struct job {
    struct job *next;
    gs_part part;
    void *argument;
    const gs_fault_scope *scope; /* of the thread that brought the job */
    gs_activity work;        /* likewise */
    gs_turn turn;            /* likewise */
    int core;                /* likewise */
    uint64_t parts;
    _Atomic uint64_t taken; /* part numbers handed out, may pass `parts` */
    _Atomic uint32_t helpers; /* workers that may still look at this job */
} job;

struct gs_thread_pool {
    struct gs_thread_pool *next; /* in the list of all */
    gs_mutex lock;
    job *jobs; /* guarded by lock */
    uint32_t width;
    uint32_t started; /* worker threads, guarded by lock */
    gs_futex arrivals; /* notified when a job arrives */
    gs_futex finished; /* notified when a helper leaves a job */
    gs_scheduler scheduler;
};

/* Pools live as long as the process. */
static gs_thread_pool *pools;
GS_STATIC_LOCK(pools_lock, GS_SHORT_LOCK)

gs_thread_pool *gs_thread_pool_new(uint32_t width) {
    gs_thread_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return NULL;
    gs_mutex_open(&pool->lock, GS_SHORT_LOCK);
    pool->width = width > 0 ? width : 1;
    gs_scheduler_init(&pool->scheduler, &pool->arrivals);
    gs_lock(&pools_lock);
    pool->next = pools;
    pools = pool;
    gs_unlock(&pools_lock);
    return pool;
}

/* The child has none of the workers, and starts its own when it has work for them. */
void gs_thread_pools_after_fork(void) {
    for (gs_thread_pool *each = pools; each != NULL; each = each->next) {
        each->started = 0;
        each->jobs = NULL;
        gs_scheduler_clear(&each->scheduler);
    }
}

uint32_t gs_thread_pool_width(const gs_thread_pool *pool) { return pool->width; }

gs_scheduler *gs_thread_pool_scheduler(gs_thread_pool *pool) { return &pool->scheduler; }

/* Waits until the caller may go on with its own work. Waiting is not working. */
static void yield_with(gs_turn turn) {
    gs_activity work = gs_activity_current();
    gs_activity_end();
    gs_yield(turn);
    gs_activity_begin(work);
}

static bool has_parts(job *job) { return atomic_load(&job->taken) < job->parts; }

/* Takes parts until there are none, or until the context is lost, by this job or another: then nobody takes more of
 * them. A worker leaves the job if there is work of higher priority; the thread that brought it waits. */
static void work_on(job *job, bool is_mine) {
    for (;;) {
        if (gs_fault_scope_is_lost(job->scope))
            atomic_store(&job->taken, job->parts);
        if (gs_priorities_are_used() && has_parts(job) && gs_must_yield(job->turn)) {
            if (!is_mine)
                return;
            yield_with(job->turn);
        }
        uint64_t part = atomic_fetch_add_explicit(&job->taken, 1, memory_order_relaxed);
        if (part >= job->parts)
            return;
        gs_guard(job->part, job->argument, part, NULL);
        gs_made_progress(job->turn);
    }
}

static bool wants_help(job *job) {
    return has_parts(job) && !(gs_priorities_are_used() && gs_must_yield(job->turn));
}

/* The first job of the highest priority that still has parts to give, with this worker entered as a helper. */
static job *find_job(gs_thread_pool *pool) {
    gs_lock(&pool->lock);
    job *found = NULL;
    for (job *each = pool->jobs; each != NULL; each = each->next)
        if ((found == NULL || each->turn.rank > found->turn.rank) && wants_help(each))
            found = each;
    if (found != NULL)
        atomic_fetch_add(&found->helpers, 1);
    gs_unlock(&pool->lock);
    return found;
}

typedef struct arrival {
    gs_thread_pool *pool;
    uint32_t seen;
} arrival;

static bool has_arrived(void *state) {
    arrival *since = state;
    return atomic_load(&since->pool->arrivals.value) != since->seen;
}

/* If no core is idle, a thread may be woken on the core of the one that needs its help, where it is none. */
static void step_aside(int core) {
    cpu_set_t allowed, others;
    if (sched_getcpu() != core || core < 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    others = allowed;
    CPU_CLR((size_t)core, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
        sched_setaffinity(0, sizeof allowed, &allowed);
}

/* Works on somebody's job and leaves it; returns how long that took. */
static uint64_t help(gs_thread_pool *pool, job *found) {
    uint64_t start = gs_clock(CLOCK_MONOTONIC);
    step_aside(found->core);
    gs_fault_scope_enter(found->scope);
    gs_activity_begin(found->work);
    work_on(found, false);
    gs_activity_end();
    gs_fault_scope_enter(NULL);
    atomic_fetch_sub(&found->helpers, 1);
    gs_futex_notify(&pool->finished);
    return gs_clock(CLOCK_MONOTONIC) - start;
}

static void *worker(void *argument) {
    gs_thread_pool *pool = argument;
    uint64_t worked = 0;
    for (;;) {
        arrival since = {pool, atomic_load(&pool->arrivals.value)};
        job *found = find_job(pool);
        if (found != NULL)
            worked = help(pool, found);
        else if (!gs_spin_before_sleep(has_arrived, &since, worked))
            gs_futex_wait(&pool->arrivals, has_arrived, &since, GS_FOREVER, false);
    }
    return NULL;
}

/* Starts the workers that are still missing. Called with the lock held. */
static void start_workers(gs_thread_pool *pool) {
    for (; pool->started + 1 < pool->width; pool->started++) {
        if (pool->started >= gs_thread_limit() || !gs_thread_start("gs-worker", worker, pool))
            return;
    }
}

static void enter(gs_thread_pool *pool, job *job) {
    gs_lock(&pool->lock);
    start_workers(pool);
    job->next = pool->jobs;
    pool->jobs = job;
    gs_unlock(&pool->lock);
    gs_futex_notify(&pool->arrivals);
}

static void leave(gs_thread_pool *pool, const job *job) {
    gs_lock(&pool->lock);
    struct job **link = &pool->jobs;
    while (*link != job)
        link = &(*link)->next;
    *link = job->next;
    gs_unlock(&pool->lock);
}

static bool nobody_helps(void *state) { return atomic_load(&((job *)state)->helpers) == 0; }

void gs_thread_pool_run(gs_thread_pool *pool, gs_part part, void *argument, uint64_t parts) {
    gs_turn turn = gs_turn_current();
    if (parts <= 1 || pool->width == 1) {
        const gs_fault_scope *scope = gs_fault_scope_current();
        for (uint64_t each = 0; each < parts && !gs_fault_scope_is_lost(scope); each++) {
            if (each > 0 && gs_priorities_are_used() && gs_must_yield(turn))
                yield_with(turn);
            gs_guard(part, argument, each, NULL);
            gs_made_progress(turn);
        }
        return;
    }
    job mine = {.part = part, .argument = argument, .scope = gs_fault_scope_current(),
                .work = gs_activity_current(), .turn = turn, .core = sched_getcpu(), .parts = parts};
    enter(pool, &mine);
    work_on(&mine, true);
    leave(pool, &mine);
    if (nobody_helps(&mine))
        return;
    gs_activity_end(); /* waiting is not working */
    if (!gs_spin(nobody_helps, &mine, LONGEST_PART))
        gs_futex_wait(&pool->finished, nobody_helps, &mine, GS_FOREVER, false);
    gs_activity_begin(mine.work);
}
