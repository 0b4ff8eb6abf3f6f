/* Counting for metrics: what queues and devices have done while a metric group is active.
 *
 * Each queue counts for itself, so that a query is exact: commands of a queue run one after the other. What a queue counts
 * goes to its device and that device's root, too, for streamers. While no group is active nothing is counted, and all that
 * is left is one look at a word. */
#ifndef GS_METRICS_COUNTS_H
#define GS_METRICS_COUNTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "generated/shared.h"

struct gs_code;
struct gs_command;
struct gs_device;
struct gs_queue;

enum { GS_COUNT_WORDS = sizeof(gs_metric_counts) / sizeof(uint64_t) };

/* Counts of one queue. */
typedef struct gs_queue_counts {
    gs_metric_counts values;
    struct gs_device *device;
} gs_queue_counts;

/* How many groups are active, on all devices. */
extern _Atomic uint32_t gs_active_metric_groups;

static inline bool gs_metrics_are_active(void) {
    return __builtin_expect(atomic_load_explicit(&gs_active_metric_groups, memory_order_relaxed) != 0, false);
}

/* Where a queue counts now: NULL if no group is active, or no memory is left. For whoever executes the queue. */
gs_queue_counts *gs_queue_counts_now(struct gs_queue *queue);

/* Adds to a word of the queue, its device and that device's root. */
#define GS_COUNT(counts, field, value) gs_count(counts, offsetof(gs_metric_counts, field) / sizeof(uint64_t), value)
void gs_count(gs_queue_counts *counts, size_t word, uint64_t value);

/* The same for something that a device does for no queue. */
#define GS_COUNT_FOR(device, field, value) \
    gs_count_for(device, offsetof(gs_metric_counts, field) / sizeof(uint64_t), value)
void gs_count_for(struct gs_device *device, size_t word, uint64_t value);

/* Counts a copy, fill or list of launches that took some time. */
void gs_count_command(gs_queue_counts *counts, const struct gs_command *command, uint64_t nanoseconds);

/* A consistent enough copy: each word is whole. */
void gs_counts_copy(gs_metric_counts *to, const gs_metric_counts *from);

/* Writes the words [first, first + count) of `after` less `before`. */
void gs_counts_subtract(uint64_t *words, const gs_metric_counts *after, const gs_metric_counts *before, uint32_t first,
                        uint32_t count);

#endif
