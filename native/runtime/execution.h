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

/* What a thread that executes the queue's commands works for. */
gs_turn gs_queue_turn(const gs_queue *queue);

/* True if nothing in a command can hold up whoever executes it: no wait that is not over, no semaphore, no host function. */
bool gs_command_is_unhindered(const gs_command *command);

/* True for a run of so little that handing it to another thread would cost more than doing it. */
bool gs_command_is_short_run(const gs_command *command);

#endif
