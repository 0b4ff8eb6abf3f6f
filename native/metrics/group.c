#include "metrics/group.h"

#include <stdlib.h>

#include "metrics/processor.h"
#include "objects/event.h"
#include "threads/lock.h"
#include "threads/wait.h"

GS_STATIC_LOCK(lock, GS_LONG_LOCK)
static _Atomic uint32_t counting_instructions; /* active groups */

/* Made by driver/metrics/groups.py, and never destroyed, or by created.py for a program. */
GS_EXPORT void *gs_metric_group_new(gs_device *device, uint32_t sampling, uint32_t domain, uint32_t first, uint32_t count) {
    gs_metric_group *group = gs_object_new(GS_KIND_ZET_METRIC_GROUP, NULL);
    if (group == NULL)
        return NULL;
    group->device = device;
    group->sampling = sampling;
    group->domain = domain;
    group->first = first;
    group->count = count;
    gs_object_complete(group, NULL);
    return group;
}

/* For groups that a program makes: until one is closed, it cannot be active. False: it is used, and stays as it is. */
GS_EXPORT bool gs_metric_group_open(gs_metric_group *group) {
    gs_lock(&lock);
    bool is_free = !group->is_active && group->users == 0 && group->pools == 0;
    if (is_free)
        group->is_open = true;
    gs_unlock(&lock);
    return is_free;
}

GS_EXPORT void gs_metric_group_close(gs_metric_group *group, uint32_t domain, uint32_t first, uint32_t count) {
    gs_lock(&lock);
    group->domain = domain;
    group->first = first;
    group->count = count;
    group->is_open = false;
    gs_unlock(&lock);
}

static void change(gs_metric_group *group, bool is_active) {
    if (group->is_active == is_active)
        return;
    uint32_t step = is_active ? 1 : UINT32_MAX;
    group->is_active = is_active;
    if (group->domain == GS_METRICS_OF_CODE)
        counting_instructions += step;
    if (group->domain == GS_METRICS_OF_PROCESSOR && (gs_active_processor_groups += step) == 0)
        gs_processor_close();
    gs_active_metric_groups += step;
}

typedef struct activation {
    const gs_device *device;
    uint32_t count;
    zet_metric_group_handle_t *groups;
} activation;

static _Thread_local activation wanted;

static void activate(void *visited) {
    gs_metric_group *group = visited;
    bool is_wanted = false;
    for (uint32_t each = 0; each < wanted.count; each++)
        is_wanted |= wanted.groups[each] == (zet_metric_group_handle_t)group;
    if (group->device == wanted.device)
        change(group, is_wanted);
}

static ze_result_t check_groups(const gs_device *device, uint32_t count, zet_metric_group_handle_t *groups) {
    const enum gs_function function = GS_FN_zetContextActivateMetricGroups;
    for (uint32_t each = 0; each < count; each++) {
        const gs_metric_group *group = (const gs_metric_group *)groups[each];
        if (group->device != device)
            return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: metric group %u is one of another device",
                           gs_function_names[function], each);
        if (group->is_open)
            return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                           "%s: metric group %u was changed; close it first (zetMetricGroupCloseExp)",
                           gs_function_names[function], each);
        for (uint32_t other = 0; other < each; other++)
            if (((const gs_metric_group *)groups[other])->domain == group->domain)
                return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                               "%s: metric groups %u and %u have domain %u both; only one of them can be active",
                               gs_function_names[function], other, each, group->domain);
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zetContextActivateMetricGroups(zet_context_handle_t hContext, zet_device_handle_t hDevice, uint32_t count,
                                              zet_metric_group_handle_t *phMetricGroups) {
    gs_device *device = (gs_device *)hDevice;
    ze_result_t result =
        gs_context_check_device(GS_FN_zetContextActivateMetricGroups, (const gs_context *)hContext, device);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (phMetricGroups == NULL)
        count = 0;
    gs_lock(&lock);
    result = check_groups(device, count, phMetricGroups);
    if (result != ZE_RESULT_SUCCESS) {
        gs_unlock(&lock);
        return result;
    }
    if (count > 0 && device->counts == NULL)
        device->counts = calloc(1, sizeof(gs_metric_counts)); /* as long as the device, which is for ever */
    bool has_counts = count == 0 || device->counts != NULL;
    if (has_counts) {
        wanted = (activation){device, count, phMetricGroups};
        gs_object_each(GS_KIND_ZET_METRIC_GROUP, NULL, activate);
    }
    gs_unlock(&lock);
    return has_counts ? ZE_RESULT_SUCCESS
                      : gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for the counts of a device");
}

static _Thread_local bool found;
static _Thread_local const gs_device *asked;

static void look(void *visited) {
    const gs_metric_group *group = visited;
    for (const gs_device *device = asked; device != NULL; device = device->parent)
        found |= group->domain == GS_METRICS_OF_CODE && group->is_active && group->device == device;
}

bool gs_counts_instructions(const gs_device *device) {
    if (__builtin_expect(atomic_load_explicit(&counting_instructions, memory_order_relaxed) == 0, true))
        return false;
    found = false;
    asked = device;
    gs_object_each(GS_KIND_ZET_METRIC_GROUP, NULL, look);
    return found;
}

/* For zetDeviceDisableMetricsExp: groups that are active, or used, on a device or its parts. */
static void count_used(void *visited) {
    const gs_metric_group *group = visited;
    for (const gs_device *device = group->device; device != NULL; device = device->parent)
        found |= device == asked && (group->is_active || group->users > 0);
}

GS_EXPORT bool gs_metrics_are_used(const gs_device *device) {
    found = false;
    asked = device;
    gs_object_each(GS_KIND_ZET_METRIC_GROUP, NULL, count_used);
    return found;
}

ze_result_t gs_metric_group_check(enum gs_function function, const gs_metric_group *group, const gs_context *context,
                                  const gs_device *device, uint32_t sampling) {
    const char *name = gs_function_names[function];
    ze_result_t result = gs_context_check_device(function, context, device);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (group->device != device)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the metric group is one of another device", name);
    if (!(group->sampling & sampling))
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the metric group is not %s (samplingType)", name,
                       sampling == ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_TIME_BASED    ? "time-based"
                       : sampling == ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EVENT_BASED ? "event-based"
                                                                                     : "one for tracers");
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_metric_group_check_active(enum gs_function function, const gs_metric_group *group) {
    if (group->is_active)
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_NOT_READY, "%s: the metric group is not active (zetContextActivateMetricGroups)",
                   gs_function_names[function]);
}

ze_result_t gs_metric_event_check(enum gs_function function, const gs_event *event) {
    if (event == NULL || (event->pool != NULL && event->mode == GS_EVENT_PLAIN &&
                          (event->pool->flags & ZE_EVENT_POOL_FLAG_HOST_VISIBLE)))
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
                   "%s: hNotificationEvent must be of a pool with ZE_EVENT_POOL_FLAG_HOST_VISIBLE, and not counter-based",
                   gs_function_names[function]);
}

/* Reports have the device's timestamps. */
ze_result_t gs_zetMetricGroupGetGlobalTimestampsExp(zet_metric_group_handle_t hMetricGroup, ze_bool_t synchronizedWithHost,
                                                    uint64_t *globalTimestamp, uint64_t *metricTimestamp) {
    (void)hMetricGroup;
    uint64_t host = gs_clock(CLOCK_MONOTONIC_RAW);
    *metricTimestamp = gs_timestamp();
    *globalTimestamp = synchronizedWithHost ? host : *metricTimestamp;
    return ZE_RESULT_SUCCESS;
}
