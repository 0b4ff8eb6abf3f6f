/* Whoever executes a queue writes records into the rings of tracers; readers take from the other end. If nobody reads,
 * the oldest are dropped, and the next reader is told so. All of it is under one lock, so that records are in the order
 * of their times. */
#include "metrics/tracer.h"

#include <stdlib.h>
#include <string.h>

#include "metrics/streamer.h"
#include "objects/event.h"
#include "objects/list.h"
#include "runtime/command.h"
#include "threads/lock.h"
#include "threads/wait.h"

enum {
    MOST_RECORDS = 1 << 16, /* in a ring */
    MOST_TOLD = 2,          /* records after which a tracer tells: they are rare, and whoever waits wants to know */
    MOST_GROUPS = GS_METRICS_OF_WORKERS + 1 - GS_METRICS_OF_COMMANDS,
};

typedef struct gs_metric_tracer {
    gs_object object;
    struct gs_metric_tracer *next; /* of those that are not destroyed */
    gs_device *device;
    gs_context *context;                  /* held */
    gs_metric_group *groups[MOST_GROUPS]; /* by their sources; NULL: not traced */
    gs_event *event;                      /* held, or NULL */
    uint32_t notify_at, since_notified;   /* records */
    bool is_enabled, is_due, has_dropped;
    uint64_t first, end; /* numbers of records in the ring */
    gs_trace_record *ring;
} gs_metric_tracer;

_Atomic uint32_t gs_enabled_tracers;

GS_STATIC_LOCK(lock, GS_SHORT_LOCK)
static gs_metric_tracer *all;
static _Atomic uint64_t commands, threads;

/* --- Records --------------------------------------------------------------------------------------------- */

static bool is_of(const gs_device *device, const gs_device *root) {
    while (device != NULL && device != root)
        device = device->parent;
    return device != NULL;
}

static void add(gs_metric_tracer *tracer, gs_trace_record record) {
    if (tracer->end - tracer->first == MOST_RECORDS) {
        tracer->first++;
        tracer->has_dropped = true;
    }
    tracer->ring[tracer->end++ % MOST_RECORDS] = record;
    if (++tracer->since_notified >= tracer->notify_at && tracer->event != NULL) {
        tracer->since_notified = 0;
        tracer->is_due = true;
    }
}

/* An event that is to be signalled; held. */
static gs_event *take_due(void) {
    gs_event *due = NULL;
    gs_lock(&lock);
    for (gs_metric_tracer *tracer = all; tracer != NULL && due == NULL; tracer = tracer->next)
        if (tracer->is_due) {
            tracer->is_due = false;
            due = tracer->event;
            gs_object_hold(due);
        }
    gs_unlock(&lock);
    return due;
}

static void signal_due(void) {
    for (gs_event *event; (event = take_due()) != NULL; gs_object_drop(event))
        gs_event_signal(event);
}

/* Tells all tracers of a device, or of a device that it is a part of, of something that happens now. */
static void tell(const gs_device *device, const gs_trace_record *records, uint32_t count) {
    bool is_due = false;
    const gs_metric_source source =
        records->kind >= GS_TRACE_WORKER_BEGIN ? GS_METRICS_OF_WORKERS : GS_METRICS_OF_COMMANDS;
    gs_lock(&lock);
    const uint64_t now = gs_timestamp();
    for (gs_metric_tracer *tracer = all; tracer != NULL; tracer = tracer->next) {
        if (!tracer->is_enabled || tracer->groups[source - GS_METRICS_OF_COMMANDS] == NULL || !is_of(device, tracer->device))
            continue;
        for (uint32_t each = 0; each < count; each++)
            add(tracer, (gs_trace_record){now, records[each].value, (uintptr_t)device, records[each].kind});
        is_due |= tracer->is_due;
    }
    gs_unlock(&lock);
    if (is_due)
        signal_due();
}

/* --- What happens ---------------------------------------------------------------------------------------- */

typedef struct kinds {
    gs_trace_kind begin, end, amount;
    size_t word; /* of the amount in gs_metric_counts */
} kinds;

#define WORD(field) (offsetof(gs_metric_counts, field) / sizeof(uint64_t))

static const kinds of_kernel = {GS_TRACE_KERNEL_BEGIN, GS_TRACE_KERNEL_END, GS_TRACE_KERNEL_ITEMS, WORD(items)};
static const kinds of_copy = {GS_TRACE_COPY_BEGIN, GS_TRACE_COPY_END, GS_TRACE_COPY_BYTES, WORD(copied_bytes)};
static const kinds of_fill = {GS_TRACE_FILL_BEGIN, GS_TRACE_FILL_END, GS_TRACE_FILL_BYTES, WORD(filled_bytes)};
static const kinds of_wait = {GS_TRACE_WAIT_BEGIN, GS_TRACE_WAIT_END, GS_TRACE_WAIT_END, 0};

static const kinds *kinds_of(const gs_command *command) {
    if (command == NULL)
        return &of_wait;
    switch (command->operation) {
    case GS_LAUNCH:
        return &of_kernel;
    case GS_COPY:
    case GS_COPY_REGION:
        return &of_copy;
    case GS_FILL:
        return &of_fill;
    default:
        return NULL;
    }
}

static uint64_t amount(const gs_queue_counts *counts, const kinds *kinds) {
    return __atomic_load_n((const uint64_t *)&counts->values + kinds->word, __ATOMIC_RELAXED);
}

gs_traced gs_trace_begin(const gs_queue_counts *counts, const gs_command *command) {
    const kinds *kinds = counts != NULL && gs_work_is_traced() ? kinds_of(command) : NULL;
    if (kinds == NULL)
        return (gs_traced){0};
    gs_traced traced = {++commands, amount(counts, kinds)};
    tell(counts->device, &(gs_trace_record){.value = traced.number, .kind = kinds->begin}, 1);
    return traced;
}

void gs_trace_end(const gs_queue_counts *counts, const gs_command *command, gs_traced traced) {
    if (traced.number == 0)
        return;
    const kinds *kinds = kinds_of(command);
    const gs_trace_record records[] = {
        {.value = amount(counts, kinds) - traced.before, .kind = kinds->amount},
        {.value = traced.number, .kind = kinds->end},
    };
    bool has_amount = kinds != &of_wait;
    tell(counts->device, has_amount ? records : records + 1, has_amount ? 2 : 1);
}

void gs_trace_worker(const gs_queue_counts *counts, bool begins) {
    static _Thread_local uint64_t number;
    if (number == 0)
        number = ++threads;
    const gs_trace_kind kind = begins ? GS_TRACE_WORKER_BEGIN : GS_TRACE_WORKER_END;
    tell(counts->device, &(gs_trace_record){.value = number, .kind = kind}, 1);
}

/* --- Life ------------------------------------------------------------------------------------------------ */

static void release(gs_object *object) {
    gs_metric_tracer *tracer = (gs_metric_tracer *)object;
    if (tracer->event != NULL)
        gs_object_drop(tracer->event);
    gs_object_drop(tracer->context);
    free(tracer->ring);
}

static ze_result_t check_groups(gs_context *context, gs_device *device, uint32_t count, zet_metric_group_handle_t *groups) {
    const enum gs_function function = GS_FN_zetMetricTracerCreateExp;
    if (count == 0)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "zetMetricTracerCreateExp: there is nothing to trace (metricGroupCount)");
    for (uint32_t each = 0; each < count; each++) {
        const gs_metric_group *group = (const gs_metric_group *)groups[each];
        ze_result_t result = gs_metric_group_check(function, group, context, device,
                                                   ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EXP_TRACER_BASED);
        if (result == ZE_RESULT_SUCCESS)
            result = gs_metric_group_check_active(function, group);
        if (result != ZE_RESULT_SUCCESS)
            return result;
    }
    return ZE_RESULT_SUCCESS;
}

/* False if the device has a tracer. */
static bool list(gs_metric_tracer *made) {
    bool is_first = true;
    gs_lock(&lock);
    for (const gs_metric_tracer *tracer = all; tracer != NULL; tracer = tracer->next)
        is_first &= tracer->device != made->device;
    if (is_first) {
        made->next = all;
        all = made;
    }
    gs_unlock(&lock);
    return is_first;
}

/* False if it is enabled. */
static bool unlist(gs_metric_tracer *tracer) {
    gs_lock(&lock);
    bool is_enabled = tracer->is_enabled;
    for (gs_metric_tracer **at = &all; *at != NULL && !is_enabled; at = &(*at)->next)
        if (*at == tracer) {
            *at = tracer->next;
            break;
        }
    gs_unlock(&lock);
    return !is_enabled;
}

static uint32_t records_of(uint32_t bytes) {
    uint32_t records = bytes / sizeof(gs_trace_record);
    return records < 1 ? 1 : records > MOST_TOLD ? MOST_TOLD : records;
}

static gs_metric_tracer *make(gs_context *context, gs_device *device, gs_event *event) {
    gs_trace_record *ring = malloc(MOST_RECORDS * sizeof *ring);
    gs_metric_tracer *tracer = ring != NULL ? gs_object_new(GS_KIND_ZET_METRIC_TRACER_EXP, release) : NULL;
    if (tracer == NULL) {
        free(ring);
        return NULL;
    }
    tracer->ring = ring;
    tracer->device = device;
    tracer->context = context;
    gs_object_hold(context);
    tracer->event = event;
    if (event != NULL)
        gs_object_hold(event);
    return tracer;
}

ze_result_t gs_zetMetricTracerCreateExp(zet_context_handle_t hContext, zet_device_handle_t hDevice, uint32_t metricGroupCount,
                                        zet_metric_group_handle_t *phMetricGroups, zet_metric_tracer_exp_desc_t *desc,
                                        ze_event_handle_t hNotificationEvent, zet_metric_tracer_exp_handle_t *phMetricTracer) {
    gs_context *context = (gs_context *)hContext;
    gs_device *device = (gs_device *)hDevice;
    gs_event *event = (gs_event *)hNotificationEvent;
    ze_result_t result = check_groups(context, device, metricGroupCount, phMetricGroups);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_metric_event_check(GS_FN_zetMetricTracerCreateExp, event);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_metric_tracer *tracer = make(context, device, event);
    if (tracer == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another metric tracer");
    tracer->notify_at = records_of(desc->notifyEveryNBytes);
    for (uint32_t each = 0; each < metricGroupCount; each++) {
        gs_metric_group *group = (gs_metric_group *)phMetricGroups[each];
        tracer->groups[group->domain - GS_METRICS_OF_COMMANDS] = group;
    }
    if (!list(tracer)) {
        gs_object_close(tracer);
        return gs_fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
                       "zetMetricTracerCreateExp: the device has a tracer; destroy it first (zetMetricTracerDestroyExp)");
    }
    for (uint32_t each = 0; each < MOST_GROUPS; each++)
        if (tracer->groups[each] != NULL)
            tracer->groups[each]->users++;
    desc->notifyEveryNBytes = tracer->notify_at * (uint32_t)sizeof(gs_trace_record);
    gs_object_complete(tracer, context);
    *phMetricTracer = (zet_metric_tracer_exp_handle_t)tracer;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zetMetricTracerDestroyExp(zet_metric_tracer_exp_handle_t hMetricTracer) {
    gs_metric_tracer *tracer = (gs_metric_tracer *)hMetricTracer;
    if (!unlist(tracer))
        return gs_fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
                       "zetMetricTracerDestroyExp: the tracer is enabled; disable it first (zetMetricTracerDisableExp)");
    if (gs_object_close(tracer))
        for (uint32_t each = 0; each < MOST_GROUPS; each++)
            if (tracer->groups[each] != NULL)
                tracer->groups[each]->users--;
    return ZE_RESULT_SUCCESS;
}

/* Records say from when to when there are others. */
static ze_result_t enable(zet_metric_tracer_exp_handle_t handle, bool is_enabled) {
    gs_metric_tracer *tracer = (gs_metric_tracer *)handle;
    gs_lock(&lock);
    if (tracer->is_enabled != is_enabled) {
        const gs_trace_kind kind = is_enabled ? GS_TRACE_TRACE_BEGIN : GS_TRACE_TRACE_END;
        add(tracer, (gs_trace_record){gs_timestamp(), 0, (uintptr_t)tracer->device, kind});
        tracer->is_enabled = is_enabled;
        gs_enabled_tracers += is_enabled ? 1 : UINT32_MAX;
    }
    gs_unlock(&lock);
    signal_due();
    return ZE_RESULT_SUCCESS;
}

/* At once, whether the caller wants to wait for it or not. */
ze_result_t gs_zetMetricTracerEnableExp(zet_metric_tracer_exp_handle_t hMetricTracer, ze_bool_t synchronous) {
    (void)synchronous;
    return enable(hMetricTracer, true);
}

ze_result_t gs_zetMetricTracerDisableExp(zet_metric_tracer_exp_handle_t hMetricTracer, ze_bool_t synchronous) {
    (void)synchronous;
    return enable(hMetricTracer, false);
}

/* --- Reading --------------------------------------------------------------------------------------------- */

ze_result_t gs_zetMetricTracerReadDataExp(zet_metric_tracer_exp_handle_t hMetricTracer, size_t *pRawDataSize,
                                          uint8_t *pRawData) {
    gs_metric_tracer *tracer = (gs_metric_tracer *)hMetricTracer;
    const uint64_t bytes = sizeof(gs_trace_record), room = *pRawDataSize / bytes;
    if (room == 0 || pRawData == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "zetMetricTracerReadDataExp: there must be room for a record of %llu bytes, and a place for it",
                       (unsigned long long)bytes);
    uint64_t taken = 0;
    gs_lock(&lock);
    for (; taken < room && tracer->first < tracer->end; taken++, tracer->first++)
        memcpy(pRawData + taken * bytes, &tracer->ring[tracer->first % MOST_RECORDS], bytes);
    bool has_dropped = tracer->has_dropped, is_enabled = tracer->is_enabled;
    tracer->has_dropped = false;
    gs_unlock(&lock);
    *pRawDataSize = taken * bytes;
    if (has_dropped)
        return ZE_RESULT_WARNING_DROPPED_DATA;
    return taken > 0 || is_enabled ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

/* For driver/metrics/decoder.py: which sources are traced, as bits from GS_METRICS_OF_COMMANDS on, and where. */
GS_EXPORT uint32_t gs_metric_tracer_sources(const gs_metric_tracer *tracer, const gs_device **device) {
    uint32_t sources = 0;
    for (uint32_t each = 0; each < MOST_GROUPS; each++)
        sources |= (uint32_t)(tracer->groups[each] != NULL) << each;
    *device = tracer->device;
    return sources;
}

/* --- Markers --------------------------------------------------------------------------------------------- */

ze_result_t gs_zetCommandListAppendMarkerExp(zet_command_list_handle_t hCommandList, zet_metric_group_handle_t hMetricGroup,
                                             uint32_t value) {
    const enum gs_function function = GS_FN_zetCommandListAppendMarkerExp;
    const gs_list *list = (const gs_list *)hCommandList;
    gs_metric_group *group = (gs_metric_group *)hMetricGroup;
    if (!is_of(list->device, group->device))
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the metric group is one of another device than the list",
                       gs_function_names[function]);
    if (group->sampling == ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EVENT_BASED || group->domain == GS_METRICS_OF_WORKERS)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "%s: the metric group takes no markers (ZET_METRIC_GROUP_TYPE_EXP_FLAG_MARKER)",
                       gs_function_names[function]);
    gs_object_hold(group);
    gs_command command = {.operation = GS_MARK_GROUP, .mark_group = {group, value}};
    return gs_append(function, (ze_command_list_handle_t)hCommandList, &command, NULL, 0, NULL);
}

void gs_metric_group_mark(const gs_metric_group *group, uint32_t value) {
    if (group->domain == GS_METRICS_OF_COMMANDS)
        tell(group->device, &(gs_trace_record){.value = value, .kind = GS_TRACE_MARKER}, 1);
    else
        gs_metric_streamers_mark(group, value);
}
