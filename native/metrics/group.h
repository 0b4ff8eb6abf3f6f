/* Metric groups as the device needs them: which counts belong to them, and whether they are active. What they are called
 * and what their values mean is known to Python (driver/metrics/). */
#ifndef GS_METRICS_GROUP_H
#define GS_METRICS_GROUP_H

#include "metrics/counts.h"
#include "objects/device.h"

struct gs_event;

typedef struct gs_metric_group {
    gs_object object;
    gs_device *device;
    uint32_t sampling; /* zet_metric_group_sampling_type_flags_t */
    uint32_t domain;   /* gs_metric_source */
    uint32_t first, count; /* which words of gs_metric_counts its reports have */
    _Atomic bool is_active;
    bool is_open; /* a program makes it, and has not closed it yet */
    _Atomic uint32_t users; /* streamers that are open */
    _Atomic uint32_t pools; /* of queries */
} gs_metric_group;

/* Of one raw report. */
static inline uint64_t gs_metric_report_bytes(const gs_metric_group *group) {
    return sizeof(gs_metric_report) + group->count * sizeof(uint64_t);
}

/* Whether launches that are appended now are to count their instructions. */
bool gs_counts_instructions(const gs_device *device);

/* Whether a group may be used by something of a context, for a device: NOT_READY if it is not active. */
ze_result_t gs_metric_group_check(enum gs_function function, const gs_metric_group *group, const gs_context *context,
                                  const gs_device *device, uint32_t sampling);
/* Whether an event, which may be NULL, can tell of data. */
ze_result_t gs_metric_event_check(enum gs_function function, const struct gs_event *event);
ze_result_t gs_metric_group_check_active(enum gs_function function, const gs_metric_group *group);

#endif
