#ifndef GS_THREAD_H
#define GS_THREAD_H

#include <stdbool.h>

/* Starts a detached thread that takes no signals: the program's handlers run on the program's threads. */
bool gs_thread_start(const char *name, void *(*run)(void *), void *argument);

#endif
