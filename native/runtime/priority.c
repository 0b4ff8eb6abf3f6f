/* Which queues of a device go first. */
#include "runtime/priority.h"

#include "runtime/command.h"
#include "runtime/queue.h"
#include "threads/lock.h"

/* Work of higher priority that ends no part of it for this long is taken to wait for somebody. */
static const uint64_t PATIENCE = 100000000;
/* How often a thread that yields looks around by itself: nobody is notified when the engines are paused. */
static const uint64_t LOOK_UP = 5000000;

_Atomic uint32_t gs_special_queues;

static _Thread_local gs_turn mine;

void gs_scheduler_init(gs_scheduler *scheduler, gs_futex *workers) {
    gs_mutex_open(&scheduler->lock, GS_SHORT_LOCK);
    scheduler->workers = workers;
}

/* No queue has anything to do. */
void gs_scheduler_clear(gs_scheduler *scheduler) {
    scheduler->first = NULL;
    for (int rank = 0; rank < GS_RANKS; rank++)
        scheduler->listed[rank] = 0;
}

enum { LOW, NORMAL, HIGH };

static uint32_t rank_of(ze_command_queue_priority_t priority) {
    if (priority == ZE_COMMAND_QUEUE_PRIORITY_NORMAL)
        return NORMAL;
    return priority == ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW ? LOW : HIGH;
}

void gs_runnable_open(gs_runnable *runnable, gs_scheduler *scheduler, ze_command_queue_priority_t priority) {
    *runnable = (gs_runnable){.scheduler = scheduler, .rank = rank_of(priority)};
    gs_special_queues += runnable->rank != NORMAL;
}

void gs_runnable_close(gs_runnable *runnable) { gs_special_queues -= runnable->rank != NORMAL; }

/* --- What queues have to do ---------------------------------------------------------------------------- */

static void tell(gs_scheduler *scheduler) {
    gs_futex_notify(&scheduler->changes);
    gs_futex_notify(scheduler->workers);
}

static void enlist(gs_runnable *runnable) {
    gs_scheduler *scheduler = runnable->scheduler;
    if (runnable->is_listed)
        return;
    runnable->after = scheduler->first;
    runnable->link = &scheduler->first;
    if (runnable->after != NULL)
        runnable->after->link = &runnable->after;
    scheduler->first = runnable;
    runnable->is_listed = true;
    scheduler->listed[runnable->rank]++;
}

void gs_runnable_wait(gs_runnable *runnable, const gs_command *next) {
    gs_lock(&runnable->scheduler->lock);
    enlist(runnable);
    runnable->next = next;
    gs_unlock(&runnable->scheduler->lock);
    tell(runnable->scheduler);
}

void gs_runnable_work(gs_runnable *runnable) {
    gs_lock(&runnable->scheduler->lock);
    enlist(runnable);
    runnable->next = NULL;
    gs_unlock(&runnable->scheduler->lock);
}

void gs_runnable_remove(gs_runnable *runnable) {
    gs_scheduler *scheduler = runnable->scheduler;
    gs_lock(&scheduler->lock);
    *runnable->link = runnable->after;
    if (runnable->after != NULL)
        runnable->after->link = runnable->link;
    runnable->is_listed = false;
    scheduler->listed[runnable->rank]--;
    gs_unlock(&scheduler->lock);
    tell(scheduler);
}

/* --- Yielding -------------------------------------------------------------------------------------------- */

static bool some_are_listed_above(const gs_turn *turn) {
    for (uint32_t rank = turn->rank + 1; rank < GS_RANKS; rank++)
        if (atomic_load(&turn->scheduler->listed[rank]) > 0)
            return true;
    return false;
}

static uint64_t progress_above(const gs_turn *turn) {
    uint64_t sum = 0;
    for (uint32_t rank = turn->rank + 1; rank < GS_RANKS; rank++)
        sum += atomic_load(&turn->scheduler->progress[rank]);
    return sum;
}

static bool some_can_run_above(const gs_turn *turn) {
    bool found = false;
    gs_lock(&turn->scheduler->lock);
    for (const gs_runnable *each = turn->scheduler->first; each != NULL && !found; each = each->after)
        found = each->rank > turn->rank && (each->next == NULL || gs_command_targets_are_reached(each->next));
    gs_unlock(&turn->scheduler->lock);
    return found;
}

/* While the engines are paused, those of higher priority wait for this one to end its command. */
bool gs_must_yield(gs_turn turn) {
    if (turn.scheduler == NULL || !some_are_listed_above(&turn) || gs_engines_are_paused())
        return false;
    if (atomic_load(&turn.scheduler->stuck[turn.rank]) == progress_above(&turn) + 1)
        return false;
    return some_can_run_above(&turn);
}

static bool may_go_on(void *turn) { return !gs_must_yield(*(gs_turn *)turn); }

void gs_yield(gs_turn turn) {
    uint64_t before = 0, waited = PATIENCE;
    while (gs_must_yield(turn)) {
        if (waited >= PATIENCE || progress_above(&turn) != before) {
            before = progress_above(&turn);
            waited = 0;
        }
        if (gs_futex_wait(&turn.scheduler->changes, may_go_on, &turn, LOOK_UP, false) == GS_WAIT_DONE)
            return;
        waited += LOOK_UP;
        if (waited >= PATIENCE && progress_above(&turn) == before) {
            atomic_store(&turn.scheduler->stuck[turn.rank], before + 1);
            tell(turn.scheduler);
        }
    }
}

/* As long as all queues have the same priority nobody asks, and all threads would write to the same word. */
void gs_made_progress(gs_turn turn) {
    if (turn.scheduler != NULL && gs_priorities_are_used())
        turn.scheduler->progress[turn.rank]++;
}

gs_turn gs_turn_begin(gs_turn turn) {
    gs_turn before = mine;
    mine = turn;
    return before;
}

gs_turn gs_turn_current(void) { return mine; }
