#ifndef GS_THREADS_THREAD_H
#define GS_THREADS_THREAD_H

#include <stdbool.h>
#include <stddef.h>

/* Starts a detached thread that takes no signals: the program's handlers run on the program's threads. Its name begins with
 * "gs-", by which a recorder tells our threads from the program's, and lives for ever. */
bool gs_thread_start(const char *name, void *(*run)(void *), void *argument);

/* Calls a function of the program. A thread that it starts inherits the program's name instead of one of ours. */
void gs_thread_call_program(void (*function)(void *), void *argument);

/* How many threads may be kept for work that fewer do as well, if more slowly. */
size_t gs_thread_limit(void);

#endif
