/* Drivers, devices and contexts as the native half needs them. Their properties live in Python. */
#ifndef GS_OBJECTS_DEVICE_H
#define GS_OBJECTS_DEVICE_H

#include "objects/object.h"
#include "runtime/activity.h"
#include "runtime/thread_pool.h"
#include "threads/affinity.h"

typedef struct gs_device_handles gs_device_handles; /* answers.c, which keeps what Python once answered */

typedef struct gs_driver {
    gs_object object;
    void *_Atomic properties;
    gs_device_handles *_Atomic devices;
    struct gs_context *default_context; /* all devices; made on first use */
    struct gs_device *needs_kind; /* its first device that is not the CPU's, or NULL */
    _Atomic uint32_t resets; /* of its devices, that the program has not been told of by zeDeviceGetStatus */
} gs_driver;

typedef struct gs_device_kind gs_device_kind; /* objects/device_kind.h */

typedef struct gs_device {
    gs_object object;
    const gs_device_kind *kind; /* NULL: the CPU */
    void *of_kind;              /* what the kind keeps of it */
    gs_driver *driver;
    struct gs_device *parent; /* the root device of a sub-device, else NULL */
    gs_thread_pool *pool;
    const gs_affinity *affinity; /* its CPUs, if the machine is divided, else NULL */
    gs_device_activity *activity;     /* what is done on it and how much of its memory is used */
    gs_metric_counts *_Atomic counts; /* for metrics (metrics/counts.h); NULL: no group of it was ever active */
    uint64_t memory_bytes;
    uint32_t queue_groups;        /* ordinals below this are valid; 0 computes, the others only copy */
    uint32_t queues_per_group;
    _Atomic bool was_reset; /* and the program has not been told; of a root device */
    void *_Atomic properties[2]; /* with times in nanoseconds, and in cycles */
    gs_device_handles *_Atomic subdevices;
} gs_device;

enum { GS_ORDINAL_COMPUTE = 0 };

typedef struct gs_context {
    gs_object object;
    struct gs_context *next, **link; /* in the list of all */
    gs_driver *driver;
    uint32_t device_count; /* 0: every device of the driver */
    gs_device **devices;
    char *_Atomic loss; /* NULL, or a sentence that says by what the context was lost */
    _Atomic bool is_overdue; /* a kernel ran too long, so that the context is lost */
    char *_Atomic place; /* NULL, or where in the source its work was when it was stopped */
} gs_context;

/* True if the context may be used with the device: the device or one of its parents was named. */
bool gs_context_has_device(const gs_context *context, const gs_device *device);

/* Whether one of those is lost and not destroyed. */
bool gs_device_has_lost_context(gs_device *device);

/* Loses every context that uses the device or a part of it. */
void gs_device_lose_contexts(gs_device *device, const char *sentence);

/* INVALID_ARGUMENT with a sentence if the context does not have the device, else success. */
ze_result_t gs_context_check_device(enum gs_function function, const gs_context *context,
                                    const gs_device *device);

#endif
