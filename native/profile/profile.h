/* Profiles: what a process does on its devices and in calls of the API, written into a file while it does so.
 *
 * The file is mapped; a record is some words in it, put there without a lock, so that a signal handler may do so, and
 * nothing is lost with a process that is killed. Read by src/groundstate/profile. While nothing is profiled, all that is left
 * is one look at a word. */
#ifndef GS_PROFILE_PROFILE_H
#define GS_PROFILE_PROFILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "generated/shared.h"
#include "threads/wait.h"

struct gs_code;
struct gs_command;
struct gs_kernel;
struct gs_launch;
struct gs_queue;
struct gs_variant;

/* Which profile is written, from 1 on; 0: none. */
extern _Atomic uint32_t gs_profile_session;

static inline bool gs_profile_is_on(void) {
    return __builtin_expect(atomic_load_explicit(&gs_profile_session, memory_order_relaxed) != 0, false);
}

/* --- file.c ------------------------------------------------------------------------------------------ */

/* Begins a profile in a new file, for Python; false and errno if that cannot be made, or if there is one. With `counts`, the
 * first launch of each kernel counts what it does. The end of it leaves a complete file. */
bool gs_profile_start(const char *path, bool counts);
void gs_profile_stop(void);
bool gs_profile_wants_counts(void);

/* The profile of this session, or NULL; between the two calls it stays. */
gs_profile_head *gs_profile_enter(void);
void gs_profile_leave(void);

/* Adds a record: two pieces of `body` and `rest`, one after the other. For whoever has entered; a signal handler makes no
 * file larger. */
typedef struct gs_profile_piece {
    const void *bytes;
    size_t size;
} gs_profile_piece;
void gs_profile_add(gs_profile_kind kind, uint32_t number, gs_profile_piece body, gs_profile_piece rest);
void gs_profile_add_in_handler(gs_profile_kind kind, uint32_t number, gs_profile_piece body);

/* --- calls.c ----------------------------------------------------------------------------------------- */

/* A call of the API that has ended. */
void gs_profile_call(uint32_t function, uint64_t start);
void gs_profile_forget_calls(void);

/* --- commands.c -------------------------------------------------------------------------------------- */

/* One launch while it runs. */
typedef struct gs_profiled_launch {
    uint64_t start, plain, plain_groups, counted_groups;
    struct gs_code *counting; /* to count some of it, or NULL */
    uint32_t slices;          /* of each, the first groups are counted */
    uint64_t footprint;       /* bytes of the allocations that the arguments point to, if it is counted */
} gs_profiled_launch;

/* When a launch is appended: has code compiled that counts, if it is to count. */
void gs_profile_prepare(struct gs_kernel *kernel, struct gs_code *code);

/* `groups` is the number of all. */
void gs_profile_launch_begin(gs_profiled_launch *profiled, const struct gs_launch *launch, uint64_t groups);
void gs_profile_launch_end(const gs_profiled_launch *profiled, const struct gs_launch *launch, const gs_dispatch *dispatch,
                           uint64_t busy, uint32_t workers);

/* Takes the counters of a launch's counted groups, and frees them. */
void gs_profile_take_counts(gs_profiled_launch *profiled, const struct gs_launch *launch, gs_dispatch *dispatch,
                            uint64_t groups);

/* The calling thread executes a queue. */
void gs_profile_queue(const struct gs_queue *queue);

/* A command that has ended: copies and fills are kept. */
void gs_profile_command(const struct gs_command *command, const struct gs_queue *queue, uint64_t start);

/* A kernel that was compiled, or loaded. */
void gs_profile_compiled(uint64_t start, bool is_counting);

/* --- sampler.c --------------------------------------------------------------------------------------- */

enum { GS_SAMPLE_NANOSECONDS = 997000 }; /* of a thread's time; the system may look less often */

/* The calling thread begins to run code of a kernel, and ends. */
void gs_sampler_enter(const struct gs_code *code, const struct gs_variant *variant);
void gs_sampler_leave(void);

/* In a child, which has none of the timers. */
void gs_sampler_after_fork(void);
void gs_profile_after_fork(void);

#endif
