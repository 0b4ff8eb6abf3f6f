/* Whether threads give work to the device at the same time: what it writes for one of them is then found by another, too. */
#ifndef GC_RECORDER_OVERLAPS_H
#define GC_RECORDER_OVERLAPS_H

#include <stdbool.h>
#include <stdint.h>

/* One submission among all. */
typedef struct gc_overlap {
    uint32_t number;
    bool began_alone; /* none was under way when it began */
} gc_overlap;

/* Begins a submission, before anything is done for it. */
void gc_overlap_begin(gc_overlap *submission);
/* Its work has ended, or others know that it has not. */
void gc_overlap_end(void);
/* Whether no other one was under way at any time since it began. */
bool gc_overlap_is_none(const gc_overlap *submission);

#endif
