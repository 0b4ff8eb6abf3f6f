/* The memory that calls allocate, open and map: what is in it goes to the stream before work that may read it. */
#ifndef GC_MEMORY_TRACKING_H
#define GC_MEMORY_TRACKING_H

#include "capture/memory/extents.h"
#include "capture/recorder/record.h"

typedef enum gc_memory_kind {
    GC_MEMORY_HOST,    /* the host writes it, and only this process */
    GC_MEMORY_FILLED,  /* the same, with contents from before */
    GC_MEMORY_FOREIGN, /* other processes write it, too */
    GC_MEMORY_DEVICE,  /* the host does not write it */
} gc_memory_kind;

/* What became of a submission. */
typedef enum gc_outcome { GC_DONE, GC_UNDER_WAY, GC_UNKNOWN } gc_outcome;

/* Decides how changed pages are found: "auto", "userfaultfd", "compare" or "none". With `results`, what the device
 * wrote is recorded, too. The name of the way that was chosen. */
const char *gc_memory_open(const char *way, bool results);
void gc_memory_abandon(void);

void gc_memory_add(const void *at, size_t size, gc_memory_kind kind);
/* From now on other processes may write the allocation at this address. */
void gc_memory_share(const void *at);

/* Takes what begins or lies in [at, at + size) out of the table for a call that frees it, and, if that failed, puts it
 * back. */
void gc_memory_leave(gc_call *call, const void *at, size_t size);
void gc_memory_left(gc_call *call, bool freed);

void gc_memory_unmaking_context(void);

/* Stores what the host wrote, and of `reads` what is the program's own memory. */
void gc_memory_before(gc_call *call, const gc_extents *reads, bool in_flight);
/* Our driver, if its device is in this process; to be asked what a loader in front of it cannot. */
void *gc_memory_driver(void);
/* Whether somebody has to wait for submitted work, to tell the device's writes from the host's. */
bool gc_memory_waits(void);
/* Looks at what the device wrote, and for `record --results` at `targets`, too. */
void gc_memory_after(gc_call *call, const gc_extents *targets, gc_outcome outcome);

#endif
