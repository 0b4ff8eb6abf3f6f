/* Whether anybody but the calling thread and the driver's own ones can write memory. */
#ifndef GC_MEMORY_THREADS_H
#define GC_MEMORY_THREADS_H

#include <stdbool.h>
#include <stdint.h>

enum { GC_OTHER_THREADS_LIMIT = 64 };

/* The other threads of the program at one moment, and how long each of them had run. */
typedef struct gc_other_threads {
    bool is_unknown; /* too many to ask, or they cannot be asked */
    int count;
    long threads[GC_OTHER_THREADS_LIMIT];
    uint64_t ran[GC_OTHER_THREADS_LIMIT]; /* nanoseconds of processor time */
} gc_other_threads;

/* Notes the program's other threads. Called under one lock. */
void gc_threads_note(gc_other_threads *others);
/* Whether one of them may have run since then: one that was asleep all the time has written nothing. */
bool gc_threads_ran(const gc_other_threads *others);
void gc_threads_abandon(void);

#endif
