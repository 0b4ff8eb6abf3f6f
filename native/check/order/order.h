/* What comes before what: commands of queues, and the host. Two commands that nothing orders must not access the same memory
 * (records.h). The functions do nothing unless the checker of races is on; their callers ask gs_order_is_checked() first. */
#ifndef GS_CHECK_ORDER_H
#define GS_CHECK_ORDER_H

#include "check/checks.h"
#include "check/order/vector_clock.h"

struct gs_command;
struct gs_event;
struct gs_fence;
struct gs_queue;

static inline bool gs_order_is_checked(void) { return gs_is_checked(GS_CHECK_RACES); }

/* --- Queues ------------------------------------------------------------------------------------------- */

void gs_order_open(struct gs_queue *queue);
void gs_order_close(struct gs_queue *queue);

/* A command is submitted: what the host knows by now comes before it. One that is not may be executed all the same, and is
 * submitted then. */
void gs_order_submit(struct gs_command *command);
void gs_order_begin(struct gs_queue *queue, struct gs_command *command);
void gs_order_done(struct gs_command *command);

/* A command that is no run of buffers: what it waits for has come; it has done its work, and is about to signal; or it does not
 * happen. `in_order`: so are the commands of its list. */
void gs_order_start(struct gs_queue *queue, const struct gs_command *command, bool in_order);
void gs_order_end(struct gs_queue *queue, const struct gs_command *command, bool in_order);
void gs_order_abandon(void);

/* Of how many of its work-items a launch by the command of this thread gets a footprint. All commands are ordered as long as
 * there is only one list, which is in order; then it is for the host, and for another list that may come, and some are enough. */
uint64_t gs_order_footprint_items(uint64_t work_items);

/* Around a run of buffers: what it waits for has come; it is about to signal. Between two of them, too: one comes after the
 * other. */
void gs_order_enter_buffers(struct gs_queue *queue, const struct gs_command *command);
void gs_order_between_buffers(struct gs_queue *queue);
void gs_order_leave_buffers(struct gs_queue *queue, struct gs_event *signal, struct gs_fence *fence);

/* --- The host ------------------------------------------------------------------------------------------ */

/* It signals an event, or has seen that one, a fence or a queue has come so far. */
void gs_order_host_signals(struct gs_event *event);
void gs_order_host_saw_event(const struct gs_event *event);
void gs_order_host_saw_fence(const struct gs_fence *fence);
void gs_order_host_saw_queue(const struct gs_queue *queue);

/* Reports what the program has touched, before it ends. */
void gs_order_end_program(void);

/* Whoever reset or released what a clock belongs to. */
void gs_order_forget(const gs_vector_clock **clock);

/* --- For records.c -------------------------------------------------------------------------------------- */

/* Whatever the host and all submitted commands come after may be forgotten. Called with the lock held. */
void gs_order_lock(void);
void gs_order_unlock(void);

#endif
