/* What this process does on its devices, in a page that other processes may read.
 *
 * Each device has a record with a word for each of its workers. Workers are interchangeable: the first word
 * runs while at least one thread works for the device, the second while at least two do, and so on. What queues that
 * only copy do is counted once more by itself; the rest is that of queues that compute. Read by
 * driver/sysman/activity.py. */
#ifndef GS_RUNTIME_ACTIVITY_H
#define GS_RUNTIME_ACTIVITY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "generated/shared.h"

/* The record of a new device, or NULL if memory ran out. */
gs_device_activity *gs_device_activity_new(uint32_t workers, uint64_t memory_bytes);

/* What the calling thread works on, if anything. */
typedef struct gs_activity {
    gs_device_activity *record; /* NULL: nothing that is counted */
    bool copies; /* for a queue that can do nothing else */
    struct gs_queue_counts *counts; /* for metrics: of the queue; NULL: no group is active */
    uint64_t since;
} gs_activity;

/* The thread begins to work, and ends. An end without a beginning does nothing. */
void gs_activity_begin(gs_activity work);
void gs_activity_end(void);
gs_activity gs_activity_current(void);

/* For how long all workers of a device have worked, in nanoseconds, up to now. */
uint64_t gs_activity_busy(const gs_device_activity *record);

/* Lets other processes find the page; the first call counts. A process that never uses a device is not found. */
void gs_activity_publish(void);

#endif
