#include "metrics/counts.h"

#include <stdlib.h>

#include "objects/device.h"
#include "runtime/command.h"
#include "runtime/queue.h"

_Atomic uint32_t gs_active_metric_groups;

gs_queue_counts *gs_queue_counts_now(gs_queue *queue) {
    if (!gs_metrics_are_active())
        return NULL;
    if (queue->counts == NULL && (queue->counts = calloc(1, sizeof *queue->counts)) != NULL)
        queue->counts->device = queue->device;
    return queue->counts;
}

static void add(gs_metric_counts *to, size_t word, uint64_t value) {
    __atomic_fetch_add((uint64_t *)to + word, value, __ATOMIC_RELAXED);
}

void gs_count_for(gs_device *device, size_t word, uint64_t value) {
    for (; device != NULL; device = device->parent) {
        gs_metric_counts *counts = atomic_load_explicit(&device->counts, memory_order_acquire);
        if (counts != NULL)
            add(counts, word, value);
    }
}

void gs_count(gs_queue_counts *counts, size_t word, uint64_t value) {
    if (counts == NULL || value == 0)
        return;
    add(&counts->values, word, value);
    gs_count_for(counts->device, word, value);
}

void gs_count_command(gs_queue_counts *counts, const gs_command *command, uint64_t nanoseconds) {
    switch (command->operation) {
    case GS_LAUNCH:
        GS_COUNT(counts, kernel_time, nanoseconds);
        return;
    case GS_COPY:
        GS_COUNT(counts, copied_bytes, command->copy.size);
        break;
    case GS_COPY_REGION:
        GS_COUNT(counts, copied_bytes, command->region.width * command->region.height * command->region.depth);
        break;
    case GS_FILL:
        GS_COUNT(counts, filled_bytes, command->fill.size);
        break;
    default:
        return;
    }
    GS_COUNT(counts, copies, 1);
    GS_COUNT(counts, copy_time, nanoseconds);
}

void gs_counts_copy(gs_metric_counts *to, const gs_metric_counts *from) {
    for (size_t word = 0; word < GS_COUNT_WORDS; word++)
        ((uint64_t *)to)[word] = __atomic_load_n((const uint64_t *)from + word, __ATOMIC_RELAXED);
}

void gs_counts_subtract(uint64_t *words, const gs_metric_counts *after, const gs_metric_counts *before, uint32_t first,
                        uint32_t count) {
    for (uint32_t each = first; each < first + count; each++)
        *words++ = ((const uint64_t *)after)[each] - ((const uint64_t *)before)[each];
}
