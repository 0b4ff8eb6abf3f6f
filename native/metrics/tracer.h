/* Metric tracers: what happens on a device, one record for each time that something begins or ends. */
#ifndef GS_METRICS_TRACER_H
#define GS_METRICS_TRACER_H

#include "metrics/group.h"

struct gs_command;

/* How many tracers are enabled, on all devices. */
extern _Atomic uint32_t gs_enabled_tracers;

static inline bool gs_work_is_traced(void) {
    return __builtin_expect(atomic_load_explicit(&gs_enabled_tracers, memory_order_relaxed) != 0, false);
}

/* What a command is known by from its beginning to its end. */
typedef struct gs_traced {
    uint64_t number; /* 0: not traced */
    uint64_t before; /* what the queue had counted: work-items or bytes */
} gs_traced;

/* A command begins and ends, or a queue's wait, if `command` is NULL. `counts` is where its queue counts, or NULL. */
gs_traced gs_trace_begin(const gs_queue_counts *counts, const struct gs_command *command);
void gs_trace_end(const gs_queue_counts *counts, const struct gs_command *command, gs_traced traced);

/* The calling thread begins to work for a queue, or ends. */
void gs_trace_worker(const gs_queue_counts *counts, bool begins);

/* The work of a marker's command: tells all streamers of the group, or the tracers that have it. */
void gs_metric_group_mark(const gs_metric_group *group, uint32_t value);

#endif
