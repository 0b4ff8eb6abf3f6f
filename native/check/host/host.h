/* The checker `host`: what a program does wrong with Level Zero itself (docs/internals/checking.md).
 *
 * The stubs and the objects call these functions, but only if gs_host_is_checked(). Each may enter Python to report what it
 * finds, so no short lock is held by who calls it, unless the comment says otherwise. */
#ifndef GS_CHECK_HOST_H
#define GS_CHECK_HOST_H

#include <stdatomic.h>

#include "abi/abi.h"

struct gs_command;
struct gs_event;
struct gs_fence;
struct gs_kernel;
struct gs_list;
struct gs_queue;
struct gs_target;

extern _Atomic bool gs_host_checks;
static inline bool gs_host_is_checked(void) {
    return __builtin_expect(atomic_load_explicit(&gs_host_checks, memory_order_relaxed), false);
}

/* --- Lives of objects and memory (host_lives.c) ----------------------------------------------------- */

/* An object or memory was made from its parent: the pool of an event, the queue of a fence, else the context. */
void gs_host_made(enum gs_function function, enum gs_kind kind, const void *handle, const void *parent);
void gs_host_made_memory(enum gs_function function, const void *start, uint64_t size, const void *context);

/* Before and after an object is destroyed. */
void gs_host_ending(enum gs_function function, enum gs_kind kind, void *handle);
void gs_host_ended(enum gs_function function, const void *handle, ze_result_t result);

/* Before and after memory is freed. */
void gs_host_freeing(enum gs_function function, const void *start);
void gs_host_freed(enum gs_function function, const void *start, ze_result_t result);

/* A call was given a handle that is not live. */
void gs_host_bad_handle(enum gs_function function, const char *parameter, const void *handle, enum gs_kind kind);

/* --- Lists and what is submitted (host_lists.c) ------------------------------------------------------- */

void gs_host_append(enum gs_function function, struct gs_list *list, const struct gs_command *command,
                    const struct gs_event *signal);
void gs_host_closed(const struct gs_list *list);
void gs_host_resetting(struct gs_list *list);
void gs_host_mutating(enum gs_function function, struct gs_list *list);
void gs_host_open_list(enum gs_function function, const struct gs_list *list);
void gs_host_execute(enum gs_function function, struct gs_queue *queue, uint32_t count, ze_command_list_handle_t *lists,
                     const struct gs_fence *fence);
void gs_host_short_argument(enum gs_function function, const struct gs_kernel *kernel, uint32_t index, size_t size);
void gs_host_unset_argument(enum gs_function function, const struct gs_kernel *kernel, uint32_t index);

/* An event or fence was signalled, with any lock held; or reset, with none. */
void gs_host_signalled(const void *event);
void gs_host_reset(const void *event, enum gs_function by);

/* --- Waits (host_waits.c) ------------------------------------------------------------------------------ */

/* A wait under way, on the stack of who waits. One of target, fence and queue says for what. */
typedef struct gs_host_wait {
    struct gs_host_wait *next, **link;
    enum gs_function function;      /* GS_FN_COUNT: the device waits, for a command of the queue */
    const struct gs_target *target;
    struct gs_fence *fence;
    struct gs_queue *queue;
    uint64_t number;                /* how far the queue must come */
    uint64_t since;
    const void *stack;
    int thread;
    bool is_listed, is_told;
} gs_host_wait;

void gs_host_wait_begin(gs_host_wait *wait, uint64_t timeout);
void gs_host_wait_end(gs_host_wait *wait);

/* Anything that the program or the device did: while nothing is done, waits do not end. Any lock may be held. */
void gs_host_note_progress(void);

#endif
