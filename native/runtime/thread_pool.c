/* A job has a schedule that threads take parts from. Jobs that still have parts to give stand in a
 * list; a free worker helps the first one of the highest priority. The thread that brought a job works on it too, so a job ends
 * even if every worker is busy elsewhere.
 *
 * The thread that brings a job wakes two workers, and each of them two more: waking all from one thread would keep it from
 * its own share for longer than the last of them needs to come. */
#include "runtime/thread_pool.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "faults/fault.h"
#include "runtime/activity.h"
#include "threads/affinity.h"
#include "threads/fork.h"
#include "threads/lock.h"
#include "threads/thread.h"
#include "threads/wait.h"

/* How long the thread that brought a job keeps its core for parts that are nearly done. */
static const uint64_t LONGEST_PART = 50000;
/* How many sleeping workers a thread wakes. */
enum { WOKEN_AT_ONCE = 2 };

typedef struct job {
    struct job *next;
    gs_parts run;
    void *argument;
    const gs_fault_scope *scope; /* of the thread that brought the job */
    gs_activity work;        /* likewise */
    gs_turn turn;            /* likewise */
    int core;                /* likewise */
    gs_schedule *schedule;
    _Alignas(GS_CACHE_LINE) _Atomic uint32_t helpers; /* workers that may still look at this job */
} job;

/* A worker thread has the same share of each job. The thread that brings one is number 0. */
typedef struct worker {
    gs_thread_pool *pool;
    uint32_t number;
    const gs_affinity *affinity; /* where it runs; NULL: anywhere */
} worker;

struct gs_thread_pool {
    struct gs_thread_pool *next; /* in the list of all */
    gs_mutex lock;
    job *jobs; /* guarded by lock */
    uint32_t width;
    uint32_t started; /* worker threads, guarded by lock */
    _Alignas(GS_CACHE_LINE) gs_futex arrivals; /* notified when a job arrives */
    _Alignas(GS_CACHE_LINE) gs_futex finished; /* notified when a helper leaves a job */
    _Alignas(GS_CACHE_LINE) gs_scheduler scheduler;
    worker workers[]; /* by number; that of number 0 is nobody's */
};

/* Pools live as long as the process. */
static gs_thread_pool *pools;
GS_STATIC_LOCK(pools_lock, GS_SHORT_LOCK)

gs_thread_pool *gs_thread_pool_new(uint32_t width) {
    width = width > 0 ? width : 1;
    size_t size = sizeof(gs_thread_pool) + width * sizeof(worker);
    gs_thread_pool *pool = aligned_alloc(GS_CACHE_LINE, (size + GS_CACHE_LINE - 1) / GS_CACHE_LINE * GS_CACHE_LINE);
    if (pool == NULL)
        return NULL;
    memset(pool, 0, size);
    gs_mutex_open(&pool->lock, GS_SHORT_LOCK);
    pool->width = width;
    for (uint32_t each = 0; each < width; each++)
        pool->workers[each] = (worker){pool, each, NULL};
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

void gs_thread_pool_place(gs_thread_pool *pool, uint32_t first, uint32_t count, const gs_affinity *affinity) {
    for (uint32_t each = first; each < pool->width && each - first < count; each++)
        pool->workers[each].affinity = affinity;
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

static bool has_parts(job *job) { return gs_schedule_has_parts(job->schedule); }

typedef struct part {
    const job *job;
    gs_taken taken;
} part;

static void run_part(void *argument, uint64_t unused) {
    (void)unused;
    const part *of = argument;
    of->job->run(of->job->argument, of->taken);
}

/* Takes parts until there are none, or until the context is lost, by this job or another: then nobody takes more of
 * them. A worker leaves the job if there is work of higher priority; the thread that brought it waits. */
static void work_on(job *job, uint32_t number, uint32_t width) {
    part next = {.job = job};
    for (;;) {
        if (gs_fault_scope_is_lost(job->scope))
            gs_schedule_close(job->schedule);
        if (gs_priorities_are_used() && has_parts(job) && gs_must_yield(job->turn)) {
            if (number != 0)
                return;
            yield_with(job->turn);
        }
        if (!gs_schedule_take(job->schedule, number, width, &next.taken))
            return;
        gs_guard(run_part, &next, 0, NULL);
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
static uint64_t help(const worker *self, job *found) {
    gs_thread_pool *pool = self->pool;
    uint64_t start = gs_clock(CLOCK_MONOTONIC);
    gs_futex_wake(&pool->arrivals, WOKEN_AT_ONCE);
    step_aside(found->core);
    gs_fault_scope_enter(found->scope);
    gs_activity_begin(found->work);
    work_on(found, self->number, pool->width);
    gs_activity_end();
    gs_fault_scope_enter(NULL);
    atomic_fetch_sub(&found->helpers, 1);
    gs_futex_notify(&pool->finished);
    return gs_clock(CLOCK_MONOTONIC) - start;
}

static void *run_worker(void *argument) {
    const worker *self = argument;
    gs_thread_pool *pool = self->pool;
    uint64_t worked = 0;
    gs_affinity_enter(self->affinity);
    for (;;) {
        arrival since = {pool, atomic_load(&pool->arrivals.value)};
        job *found = find_job(pool);
        if (found != NULL)
            worked = help(self, found);
        else if (!gs_spin_before_sleep(has_arrived, &since, worked))
            gs_futex_wait(&pool->arrivals, has_arrived, &since, GS_FOREVER, false);
    }
    return NULL;
}

/* Starts the workers that are still missing. Called with the lock held. */
static void start_workers(gs_thread_pool *pool) {
    for (; pool->started + 1 < pool->width; pool->started++) {
        worker *next = &pool->workers[pool->started + 1];
        if (pool->started >= gs_thread_limit() || !gs_thread_start("gs-worker", run_worker, next))
            return;
    }
}

static void enter(gs_thread_pool *pool, job *job) {
    gs_lock(&pool->lock);
    start_workers(pool);
    job->next = pool->jobs;
    pool->jobs = job;
    gs_unlock(&pool->lock);
    gs_futex_notify_some(&pool->arrivals, WOKEN_AT_ONCE);
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

/* On the calling thread alone. */
static void run_alone(job *mine) {
    part next = {.job = mine};
    for (bool is_first = true; !gs_fault_scope_is_lost(mine->scope); is_first = false) {
        if (!is_first && gs_priorities_are_used() && has_parts(mine) && gs_must_yield(mine->turn))
            yield_with(mine->turn);
        if (!gs_schedule_take(mine->schedule, 0, 1, &next.taken))
            return;
        gs_guard(run_part, &next, 0, NULL);
        gs_made_progress(mine->turn);
    }
}

void gs_thread_pool_share(gs_thread_pool *pool, gs_parts run, void *argument, gs_schedule *schedule) {
    job mine = {.run = run, .argument = argument, .scope = gs_fault_scope_current(), .work = gs_activity_current(),
                .turn = gs_turn_current(), .core = sched_getcpu(), .schedule = schedule};
    if (gs_schedule_threads(schedule) == 1 || pool->width == 1) {
        run_alone(&mine);
        return;
    }
    enter(pool, &mine);
    work_on(&mine, 0, pool->width);
    leave(pool, &mine);
    if (nobody_helps(&mine))
        return;
    gs_activity_end(); /* waiting is not working */
    if (!gs_spin(nobody_helps, &mine, LONGEST_PART))
        gs_futex_wait(&pool->finished, nobody_helps, &mine, GS_FOREVER, false);
    gs_activity_begin(mine.work);
}

typedef struct numbered {
    gs_part part;
    void *argument;
} numbered;

static void run_numbered(void *argument, gs_taken taken) {
    const numbered *of = argument;
    for (uint64_t each = 0; each < taken.count; each++)
        of->part(of->argument, taken.first + each);
}

void gs_thread_pool_run(gs_thread_pool *pool, gs_part part, void *argument, uint64_t parts) {
    if (parts == 0)
        return;
    gs_job_facts facts = {.count = parts, .in_short_parts = gs_priorities_are_used()};
    numbered job = {part, argument};
    gs_schedule schedule;
    gs_schedule_begin(&schedule, &facts, pool->width);
    gs_thread_pool_share(pool, run_numbered, &job, &schedule);
}
