#ifndef GS_THREADS_THREAD_H
#define GS_THREADS_THREAD_H

#include <stdbool.h>
#include <stddef.h>

/* Starts a detached thread that takes no signals: the program's handlers run on the program's threads. */
bool gs_thread_start(const char *name, void *(*run)(void *), void *argument);

/* How many threads may be kept for work that fewer do as well, if more slowly. */
size_t gs_thread_limit(void);

#endif
