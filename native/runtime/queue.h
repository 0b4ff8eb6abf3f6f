/* Queues and the engines that work them off. */
#ifndef GS_RUNTIME_QUEUE_H
#define GS_RUNTIME_QUEUE_H


#include "runtime/command.h"
#include "runtime/priority.h"
#include "threads/lock.h"

/* The queue inside a command queue or an immediate list. Commands run one after the other. */
typedef struct gs_queue {
    gs_object *owner; /* the API object that contains the queue */
    uint64_t id;      /* never used again */
    gs_context *context;
    gs_device *device;
    struct gs_queue *next, **link; /* in the list of all queues */
    struct gs_queue *stalled;      /* the next one that waits for an engine: engine.c */
    gs_mutex lock;
    gs_command *first, *last; /* guarded by lock */
    bool running;             /* someone executes the queue's commands, or is about to; guarded by lock */
    bool executing;           /* and has begun; guarded by lock */
    uint32_t under_way;       /* commands that a device with a kind works on by itself; of whoever executes */
    _Atomic bool is_visited;  /* by a thread that executes the queue for a moment, to look at what is under way */
    void *of_kind;            /* what the device's kind keeps for the queue, or NULL */
    bool called;              /* an engine is on its way and has not come yet; guarded by lock */
    _Atomic uint64_t submitted, retired, completed;
    _Atomic bool waits; /* its command waits for something that somebody else does, or is a host function */
    gs_futex futex; /* notified when a command completes */
    uint32_t ordinal, index;
    ze_command_queue_flags_t flags;
    ze_command_queue_mode_t mode;
    ze_command_queue_priority_t priority;
    gs_runnable runnable;
    /* For the checker of the host (check/host_use.h): what is executed and has not retired, guarded by lock; the command that
     * it has come to, with a bit for how far; and in which of its buffers. */
    const gs_command *current;
    _Atomic uintptr_t step;
    _Atomic uint32_t step_buffer;
    struct gs_queue_counts *counts; /* for metrics (metrics/counts.h), or NULL; of whoever executes */
    struct gs_timeline *timeline; /* for the checker of races (check/order/order.c), or NULL */
} gs_queue;

enum { GS_STEP_HAS_BEGUN = 1, GS_STEP_IS_DONE = 2 };
#define GS_STEP_BITS ((uintptr_t)(GS_STEP_HAS_BEGUN | GS_STEP_IS_DONE))

typedef struct gs_command_queue {
    gs_object object;
    gs_queue queue;
} gs_command_queue;

typedef struct gs_fence {
    gs_object object;
    gs_command_queue *queue;
    gs_futex futex; /* 1: signalled */
    _Atomic uint32_t pending;
    const struct gs_vector_clock *order; /* for the checker of races: what comes before its signal */
} gs_fence;

/* Checks ordinal, index and device; says what is wrong. */
ze_result_t gs_queue_check(enum gs_function function, const gs_context *context, const gs_device *device,
                           uint32_t ordinal, uint32_t index);
void gs_queue_open(gs_queue *queue, gs_object *owner, gs_context *context, gs_device *device,
                   const ze_command_queue_desc_t *desc);
void gs_queue_close(gs_queue *queue);

/* Before the handle of the queue's owner ends. In a lost context the commands end soon, and then touch no memory of the program. */
void gs_queue_leave(gs_queue *queue);

/* OUT_OF_HOST_MEMORY if there is no thread that could execute a command which is submitted now. */
ze_result_t gs_queue_prepare(gs_queue *queue, const gs_command *command);

/* For whoever executes the queue: whether it was given more, and the next command, or NULL if there is none: then the caller
 * no longer executes the queue. */
bool gs_queue_has_next(gs_queue *queue);
gs_command *gs_queue_take_next(gs_queue *queue);

/* For whoever executes the queue: true if its next command, if any, is unhindered. */
bool gs_queue_can_go_on(gs_queue *queue);

/* Gives the queue a command, which it takes over. Waits for it on a synchronous queue. */
void gs_queue_submit(gs_queue *queue, gs_command *command);

/* If the queue is idle, makes the caller its engine for one command, to be done with gs_queue_do_claimed.
 * The command stays the caller's. */
bool gs_queue_claim(gs_queue *queue);
void gs_queue_do_claimed(gs_queue *queue, gs_command *command);

/* For a device with a kind: makes the caller the one who executes a queue that nobody executes, for a look at what is under
 * way; false if somebody does. And the end of that. */
bool gs_queue_visit(gs_queue *queue);
void gs_queue_hand_over(gs_queue *queue);

/* For a thread that is going to wait for a queue for ever: executes the queue's commands until `done(state)`,
 * if nobody has begun with them. That saves waking an engine, and a CPU on which to run it. */
void gs_queue_help(gs_queue *queue, bool (*done)(void *state), void *state);
void gs_queue_help_with(uint64_t id, bool (*done)(void *state), void *state);

static inline bool gs_queue_is_busy(gs_queue *queue) {
    return atomic_load(&queue->retired) != atomic_load(&queue->submitted);
}

/* A queue, and how far it must come. */
typedef struct gs_queue_progress {
    gs_queue *queue;
    uint64_t number;
} gs_queue_progress;
static inline bool gs_queue_has_completed(void *state) {
    const gs_queue_progress *wanted = state;
    return atomic_load_explicit(&wanted->queue->completed, memory_order_acquire) >= wanted->number;
}

/* Waits until everything submitted so far has run; false if the time is over before. */
bool gs_queue_synchronise(gs_queue *queue, uint64_t timeout);

/* --- All queues (queues.c) ---------------------------------------------------------------------------- */

void gs_queues_add(gs_queue *queue);
void gs_queues_remove(gs_queue *queue);

/* Calls `visit` with each queue, which is not closed meanwhile; with a short lock held. */
void gs_queues_each(void (*visit)(gs_queue *queue, void *with), void *with);

/* The queue with this number, whose owner is held for the caller, or NULL if it is closed. */
gs_queue *gs_queues_hold(uint64_t id);

bool gs_queues_are_busy(const gs_context *context);

/* True if a queue of the context has a kernel or a copy to do that nobody holds up. */
bool gs_queues_work(const gs_context *context);

/* How far each busy queue must come until all that it was given so far is done. */
typedef struct gs_drain_snapshot gs_drain_snapshot;

/* For the queues of a context: false if all are idle. The snapshot is NULL also if there is no memory for them. */
bool gs_drain_snapshot_take(const gs_context *context, gs_drain_snapshot **snapshot);
bool gs_drain_snapshot_is_reached(const gs_drain_snapshot *snapshot);
void gs_drain_snapshot_drop(gs_drain_snapshot *snapshot);

/* False once the queues of a context have done everything. */
bool gs_queues_have_more(const gs_context *context);

/* Waits for what the queues of a context, or of a device and its sub-devices (the other is NULL), were given so far. */
void gs_queues_wait(const gs_context *context, const gs_device *device);

/* Holds all engines between two commands; for changes to memory that commands may use. */
void gs_engines_pause(void);
void gs_engines_resume(void);
bool gs_engines_are_paused(void);

/* Around the work of each command: what a pause waits for. */
void gs_gate_enter(void);
void gs_gate_leave(void);

/* engine.c: finds a thread that will call gs_queue_work_off(queue). */
void gs_engine_assign(gs_queue *queue);

/* engine.c: false if no thread waits for a queue, and none can be started. */
bool gs_engine_is_ready(void);

/* Does what an engine that was called would do, as far as nothing holds the caller up. */
void gs_queue_work_for_engine(gs_queue *queue);
void gs_queue_work_off(gs_queue *queue);

#endif
