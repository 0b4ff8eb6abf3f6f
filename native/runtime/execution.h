/* Executing the commands of a queue, on whichever thread. */
#ifndef GS_RUNTIME_EXECUTION_H
#define GS_RUNTIME_EXECUTION_H

#include "runtime/queue.h"

/* Counts a submitted command in or out: the events that it refers to may not be destroyed; those of a command buffer
 * likewise. */
void gs_command_mark_pending(gs_command *command, int32_t change);

/* Executes a submitted command, and frees it. */
void gs_queue_execute(gs_queue *queue, gs_command *command);

/* Executes a command that was not submitted and stays the caller's. */
void gs_queue_execute_claimed(gs_queue *queue, gs_command *command);

/* --- The steps of that, for kinds of devices that do the work themselves (objects/device_kind.h) ------------- */

/* Waits for what must come before a command that is no run of buffers. False if the context is lost: nothing is to be
 * done for it. */
bool gs_command_begin(gs_queue *queue, const gs_command *command);

/* Does the work of a command on this thread; false if the context is lost, by this command or another. */
bool gs_command_work(gs_queue *queue, const gs_command *command);

/* After the work: timestamps, if `interval` has them, retiring and signalling. `base` is that of the run which the command
 * belongs to, and `last_of` the submitted command that ends with it, or NULL. In a lost context nothing is signalled. */
void gs_command_end(gs_queue *queue, gs_command *command, uint64_t base, gs_command *last_of, gs_interval interval);

/* The same for a run of buffers: before the first command, whether its last command is also the run's end, and after the
 * last one; `retired` if that has retired it. */
void gs_run_begin(gs_queue *queue, gs_command *run);
bool gs_run_ends_with_its_last(const gs_command *run);
void gs_run_end(gs_queue *queue, gs_command *run, gs_interval interval, bool retired);

/* The last step of a submitted command. */
void gs_command_complete(gs_queue *queue, gs_command *command);

/* What a thread that executes the queue's commands works for. */
gs_turn gs_queue_turn(const gs_queue *queue);

/* True if nothing in a command can hold up whoever executes it: no wait that is not over, no semaphore, no host function. */
bool gs_command_is_unhindered(const gs_command *command);

/* True for a run of so little that handing it to another thread would cost more than doing it. */
bool gs_command_is_short_run(const gs_command *command);

#endif
