/* Priorities of queues. While a queue has work that can run, those of lower priority on the same device wait: before
 * a command, and between the parts of one. Next to nothing of this is done while all queues have normal priority. */
#ifndef GS_RUNTIME_PRIORITY_H
#define GS_RUNTIME_PRIORITY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "generated/ze_types.h"
#include "threads/lock.h"
#include "threads/wait.h"

struct gs_command;

enum { GS_RANKS = 3 }; /* low, normal, high */

/* The queues of one device that have something to do. */
typedef struct gs_scheduler {
    gs_mutex lock;
    struct gs_runnable *first;          /* guarded by lock */
    _Atomic uint32_t listed[GS_RANKS];  /* how many there are of each rank */
    _Atomic uint64_t progress[GS_RANKS]; /* how many parts have ended */
    _Atomic uint64_t stuck[GS_RANKS];   /* one more than the progress above a rank when that stood still, or 0 */
    gs_futex changes;
    gs_futex *workers; /* of the device; notified with the other */
} gs_scheduler;

/* A queue as its scheduler knows it. Only who executes the queue, or submits to one that nobody executes, changes it. */
typedef struct gs_runnable {
    gs_scheduler *scheduler;
    uint32_t rank;
    bool is_listed;
    const struct gs_command *next; /* guarded by the lock: runs when its events have come; NULL: something runs */
    struct gs_runnable *after, **link;
} gs_runnable;

/* What a thread works for: NULL if it does not matter what goes first. */
typedef struct gs_turn {
    gs_scheduler *scheduler;
    uint32_t rank;
} gs_turn;

void gs_scheduler_init(gs_scheduler *scheduler, gs_futex *workers);
void gs_scheduler_clear(gs_scheduler *scheduler);
void gs_runnable_open(gs_runnable *runnable, gs_scheduler *scheduler, ze_command_queue_priority_t priority);
void gs_runnable_close(gs_runnable *runnable);

/* How many queues there are of another priority than normal. */
extern _Atomic uint32_t gs_special_queues;
static inline bool gs_priorities_are_used(void) {
    return __builtin_expect(atomic_load_explicit(&gs_special_queues, memory_order_relaxed) > 0, 0);
}

/* The queue's next command is this one, once its events are signalled; it works; it has nothing to do, or waits for
 * something that no event tells of. */
void gs_runnable_wait(gs_runnable *runnable, const struct gs_command *next);
void gs_runnable_work(gs_runnable *runnable);
void gs_runnable_remove(gs_runnable *runnable);
static inline void gs_runnable_end(gs_runnable *runnable) {
    if (runnable->is_listed)
        gs_runnable_remove(runnable);
}

/* True if work of higher priority can run. If it makes no progress it may itself wait for what is held up, so that
 * the answer becomes false after a moment. */
bool gs_must_yield(gs_turn turn);
void gs_yield(gs_turn turn);
void gs_made_progress(gs_turn turn);

/* Makes a turn the calling thread's own and returns the one that it had. */
gs_turn gs_turn_begin(gs_turn turn);
gs_turn gs_turn_current(void);

#endif
