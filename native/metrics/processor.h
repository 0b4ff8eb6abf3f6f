/* What the system counts of threads that work for a device (perf_event_open): cycles, cache misses, page faults. */
#ifndef GS_METRICS_PROCESSOR_H
#define GS_METRICS_PROCESSOR_H

#include "metrics/counts.h"

/* Active groups that have these counts. */
extern _Atomic uint32_t gs_active_processor_groups;

static inline bool gs_processor_is_counted(void) {
    return atomic_load_explicit(&gs_active_processor_groups, memory_order_relaxed) != 0;
}

/* The calling thread begins to work, and ends. What was counted in between is added to a queue's counts. */
void gs_processor_begin(void);
void gs_processor_end(gs_queue_counts *counts);

/* No group has these counts any more: closes what threads have open. */
void gs_processor_close(void);

#endif
