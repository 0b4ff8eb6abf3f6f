/* What this process does on its devices, in a page that other processes may read.
 *
 * Each device has a record with a word for each of its workers. Workers are interchangeable: the first word
 * runs while at least one thread works for the device, the second while at least two do, and so on. What queues that
 * only copy do is counted once more by itself; the rest is that of queues that compute. Mirrored in
 * driver/sysman/activity.py. */
#ifndef GS_RUNTIME_ACTIVITY_H
#define GS_RUNTIME_ACTIVITY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* How many threads work, and for how long the words of each have run. */
typedef struct gs_meter {
    _Atomic uint32_t level;
    uint32_t unused;
    _Atomic uint64_t words[];
} gs_meter;

typedef struct gs_device_activity {
    uint32_t size;    /* bytes up to the next record */
    uint32_t workers;
    uint32_t device;   /* the number of the device on the machine, */
    int32_t subdevice; /* and that of the sub-device, or -1 */
    uint64_t memory_bytes;
    _Atomic uint64_t memory_used; /* a root device counts its sub-devices' allocations too */
    _Atomic uint64_t memory_shared;
    uint32_t all_offset, copies_offset; /* of the meters from the record's start */
} gs_device_activity;

/* The record of a new device, or NULL if memory ran out. */
gs_device_activity *gs_device_activity_new(uint32_t workers, uint64_t memory_bytes);

/* What the calling thread works on, if anything. */
typedef struct gs_activity {
    gs_device_activity *record; /* NULL: nothing that is counted */
    bool copies; /* for a queue that can do nothing else */
} gs_activity;

/* The thread begins to work, and ends. An end without a beginning does nothing. */
void gs_activity_begin(gs_activity work);
void gs_activity_end(void);
gs_activity gs_activity_current(void);

/* Lets other processes find the page; the first call counts. A process that never uses a device is not found. */
void gs_activity_publish(void);

#endif
