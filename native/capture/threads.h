/* Whether anybody but the calling thread and the driver's own ones can write memory. */
#ifndef GC_THREADS_H
#define GC_THREADS_H

#include <stdbool.h>

/* Whether the program has other threads. Called under one lock. */
bool gc_threads_others(void);
void gc_threads_abandon(void);

#endif
