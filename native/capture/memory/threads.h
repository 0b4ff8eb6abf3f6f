/* Whether anybody but the calling thread and the driver's own ones can write memory. */
#ifndef GC_THREADS_H
#define GC_THREADS_H

#include <stdbool.h>
#include <stdint.h>

enum { GC_COMPANY_LIMIT = 64 };

/* The other threads of the program at one moment, and how long each of them had run. */
typedef struct gc_company {
    bool is_unknown; /* too many to ask, or they cannot be asked */
    int count;
    long threads[GC_COMPANY_LIMIT];
    uint64_t ran[GC_COMPANY_LIMIT]; /* nanoseconds of processor time */
} gc_company;

/* Notes the program's other threads. Called under one lock. */
void gc_threads_note(gc_company *company);
/* Whether one of them may have run since then: one that was asleep all the time has written nothing. */
bool gc_threads_ran(const gc_company *company);
void gc_threads_abandon(void);

#endif
