/* A thread for each streamer takes a report in each period, into a ring of which readers take from the other end. If
 * nobody reads, the oldest reports are dropped, and the next reader is told so. A thread that is woken late shares out
 * what was counted among the periods that it missed. */
#include "metrics/streamer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "metrics/package.h"
#include "objects/event.h"
#include "objects/list.h"
#include "runtime/activity.h"
#include "threads/lock.h"
#include "threads/thread.h"
#include "threads/wait.h"

enum {
    MOST_REPORTS = 1 << 15,  /* in the ring; Intel's oneprof wants to be told after so many, and no fewer */
    MOST_PARTS = 64,         /* sub-devices that count as busy with their device */
    LEAST_PERIOD = 50000,    /* nanoseconds; a thread cannot sleep for much less */
    REPORT_WORDS = sizeof(gs_metric_report) / sizeof(uint64_t),
};

typedef struct gs_sampler {
    gs_mutex lock;
    pthread_cond_t changed;
    bool is_closing, has_ended;
    pid_t pid; /* a forked child has no thread of its parent */
    gs_metric_group *group;
    gs_event *event; /* held, or NULL */
    uint64_t period, start;
    uint32_t notify_at, since_notified;
    uint64_t first, end; /* numbers of reports in the ring */
    bool has_dropped;
    uint32_t part_count;
    const gs_device_activity *parts[MOST_PARTS]; /* of the device and its sub-devices */
    gs_package_readings *package; /* open counters of the machine, or NULL: the group has none of those */
    gs_metric_counts last;
    uint64_t report_words;
    uint64_t *ring;
} gs_sampler;

/* --- Reports --------------------------------------------------------------------------------------------- */

/* As it is now. Launches count when they end, but workers are seen at work. */
static void look(const gs_sampler *sampler, gs_metric_counts *counts) {
    gs_counts_copy(counts, sampler->group->device->counts);
    counts->busy_time = 0;
    for (uint32_t each = 0; each < sampler->part_count; each++)
        counts->busy_time += gs_activity_busy(sampler->parts[each]);
    if (sampler->package != NULL)
        gs_package_read(sampler->package, counts);
}

/* The next place in the ring, for a report. */
static uint64_t *next_report(gs_sampler *sampler) {
    if (sampler->end - sampler->first == MOST_REPORTS) {
        sampler->first++;
        sampler->has_dropped = true;
    }
    sampler->since_notified++;
    return sampler->ring + sampler->end++ % MOST_REPORTS * sampler->report_words;
}

/* The part of a whole that comes before the end of part `each` of so many. */
static uint64_t up_to(uint64_t whole, uint64_t each, uint64_t parts) {
    return (uint64_t)((unsigned __int128)whole * each / parts);
}

/* Reports what was counted since the last report, in equal parts. Called with the lock. */
static void take_reports(gs_sampler *sampler, uint64_t marker, uint64_t end, uint64_t parts) {
    const gs_metric_group *group = sampler->group;
    const uint64_t workers = gs_thread_pool_width(group->device->pool), start = sampler->start;
    uint64_t counted[GS_COUNT_WORDS];
    gs_metric_counts now;
    look(sampler, &now);
    if (now.busy_time < sampler->last.busy_time)
        now.busy_time = sampler->last.busy_time; /* a worker was seen between two states */
    gs_counts_subtract(counted, &now, &sampler->last, group->first, group->count);
    for (uint64_t each = 1; each <= parts; each++) {
        uint64_t *report = next_report(sampler);
        gs_metric_report head = {marker, sampler->start, start + up_to(end - start, each, parts), workers};
        memcpy(report, &head, sizeof head);
        for (uint32_t word = 0; word < group->count; word++)
            report[REPORT_WORDS + word] = up_to(counted[word], each, parts) - up_to(counted[word], each - 1, parts);
        sampler->start = head.end;
    }
    sampler->last = now;
}

/* Those of the periods that have passed. */
static void take_due_reports(gs_sampler *sampler) {
    uint64_t end = gs_timestamp(), parts = (end - sampler->start) / sampler->period;
    take_reports(sampler, 0, end, parts < 1 ? 1 : parts > MOST_REPORTS ? MOST_REPORTS : parts);
}

static void signal_if_due(gs_sampler *sampler) {
    gs_lock(&sampler->lock);
    bool is_due = sampler->event != NULL && sampler->since_notified >= sampler->notify_at && !sampler->is_closing;
    if (is_due)
        sampler->since_notified = 0;
    gs_unlock(&sampler->lock);
    if (is_due)
        gs_event_signal(sampler->event);
}

/* --- The thread ------------------------------------------------------------------------------------------ */

static struct timespec time_of(uint64_t nanoseconds) {
    return (struct timespec){(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
}

static void *run_sampler(void *argument) {
    gs_sampler *sampler = argument;
    prctl(PR_SET_TIMERSLACK, 1UL);
    uint64_t due = gs_clock(CLOCK_MONOTONIC) + sampler->period;
    gs_lock(&sampler->lock);
    while (!sampler->is_closing) {
        const struct timespec until = time_of(due);
        pthread_cond_timedwait(&sampler->changed, &sampler->lock.mutex, &until);
        uint64_t now = gs_clock(CLOCK_MONOTONIC);
        if (sampler->is_closing || now < due)
            continue;
        take_due_reports(sampler);
        due += (now - due) / sampler->period * sampler->period + sampler->period;
        gs_unlock(&sampler->lock);
        signal_if_due(sampler);
        gs_lock(&sampler->lock);
    }
    sampler->has_ended = true;
    pthread_cond_broadcast(&sampler->changed);
    gs_unlock(&sampler->lock);
    return NULL;
}

/* --- Life ------------------------------------------------------------------------------------------------ */

static void free_sampler(gs_sampler *sampler) {
    if (sampler->event != NULL)
        gs_object_drop(sampler->event);
    pthread_cond_destroy(&sampler->changed);
    gs_mutex_close(&sampler->lock);
    gs_package_close(sampler->package);
    free(sampler->ring);
    free(sampler);
}

static _Thread_local gs_sampler *being_made;

static void add_part(void *visited) {
    const gs_device *device = visited, *root = being_made->group->device;
    if ((device == root || device->parent == root) && being_made->part_count < MOST_PARTS)
        being_made->parts[being_made->part_count++] = device->activity;
}

static gs_sampler *make_sampler(gs_metric_group *group, gs_event *event, const zet_metric_streamer_desc_t *desc) {
    gs_sampler *sampler = calloc(1, sizeof *sampler);
    if (sampler == NULL)
        return NULL;
    sampler->report_words = gs_metric_report_bytes(group) / sizeof(uint64_t);
    sampler->ring = malloc(MOST_REPORTS * sampler->report_words * sizeof(uint64_t));
    if (group->domain == GS_METRICS_OF_PACKAGE)
        sampler->package = gs_package_open(group->device);
    if (sampler->ring == NULL || (group->domain == GS_METRICS_OF_PACKAGE && sampler->package == NULL)) {
        gs_package_close(sampler->package);
        free(sampler->ring);
        free(sampler);
        return NULL;
    }
    gs_mutex_open(&sampler->lock, GS_SHORT_LOCK);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&sampler->changed, &clock);
    pthread_condattr_destroy(&clock);
    sampler->pid = getpid();
    sampler->group = group;
    sampler->event = event;
    if (event != NULL)
        gs_object_hold(event);
    sampler->period = desc->samplingPeriod;
    sampler->notify_at = desc->notifyEveryNReports;
    being_made = sampler;
    gs_object_each(GS_KIND_DEVICE, NULL, add_part);
    look(sampler, &sampler->last);
    sampler->start = gs_timestamp();
    return sampler;
}

GS_STATIC_LOCK(lock, GS_SHORT_LOCK)
static gs_metric_streamer *all; /* that are open */

static void list(gs_metric_streamer *streamer) {
    gs_lock(&lock);
    streamer->next = all;
    all = streamer;
    gs_unlock(&lock);
}

static void unlist(gs_metric_streamer *streamer) {
    gs_lock(&lock);
    for (gs_metric_streamer **at = &all; *at != NULL; at = &(*at)->next)
        if (*at == streamer) {
            *at = streamer->next;
            break;
        }
    gs_unlock(&lock);
}

static void release(gs_object *object) {
    gs_metric_streamer *streamer = (gs_metric_streamer *)object;
    free_sampler(streamer->sampler);
    gs_object_drop(streamer->context);
}

static uint32_t at_least(uint32_t value, uint32_t least) { return value < least ? least : value; }

ze_result_t gs_zetMetricStreamerOpen(zet_context_handle_t hContext, zet_device_handle_t hDevice,
                                     zet_metric_group_handle_t hMetricGroup, zet_metric_streamer_desc_t *desc,
                                     ze_event_handle_t hNotificationEvent, zet_metric_streamer_handle_t *phMetricStreamer) {
    const enum gs_function function = GS_FN_zetMetricStreamerOpen;
    gs_metric_group *group = (gs_metric_group *)hMetricGroup;
    ze_result_t result = gs_metric_group_check(function, group, (gs_context *)hContext, (gs_device *)hDevice,
                                               ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_TIME_BASED);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_metric_group_check_active(function, group);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_event *event = (gs_event *)hNotificationEvent;
    result = gs_metric_event_check(function, event);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    desc->samplingPeriod = at_least(desc->samplingPeriod, LEAST_PERIOD);
    desc->notifyEveryNReports = at_least(desc->notifyEveryNReports, 1);
    if (desc->notifyEveryNReports > MOST_REPORTS)
        desc->notifyEveryNReports = MOST_REPORTS;
    gs_sampler *sampler = make_sampler(group, event, desc);
    gs_metric_streamer *streamer = sampler != NULL ? gs_object_new(GS_KIND_ZET_METRIC_STREAMER, release) : NULL;
    if (streamer == NULL || !gs_thread_start("gs-metrics", run_sampler, sampler)) {
        if (streamer != NULL)
            streamer->object.release = NULL;
        if (streamer != NULL)
            gs_object_close(streamer);
        if (sampler != NULL)
            free_sampler(sampler);
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory or no thread for another metric streamer");
    }
    streamer->sampler = sampler;
    streamer->group = group;
    streamer->context = (gs_context *)hContext;
    gs_object_hold(streamer->context);
    group->users++;
    gs_object_complete(streamer, streamer->context);
    list(streamer);
    *phMetricStreamer = (zet_metric_streamer_handle_t)streamer;
    return ZE_RESULT_SUCCESS;
}

/* When it returns the thread is gone, and the event is not signalled any more. */
ze_result_t gs_zetMetricStreamerClose(zet_metric_streamer_handle_t hMetricStreamer) {
    gs_metric_streamer *streamer = (gs_metric_streamer *)hMetricStreamer;
    gs_sampler *sampler = streamer->sampler;
    gs_may_wait("the thread of a metric streamer");
    gs_lock(&sampler->lock);
    sampler->is_closing = true;
    pthread_cond_broadcast(&sampler->changed);
    while (!sampler->has_ended && sampler->pid == getpid())
        pthread_cond_wait(&sampler->changed, &sampler->lock.mutex);
    gs_unlock(&sampler->lock);
    gs_metric_group *group = streamer->group;
    unlist(streamer);
    if (gs_object_close(streamer))
        group->users--;
    return ZE_RESULT_SUCCESS;
}

/* --- Reading --------------------------------------------------------------------------------------------- */

ze_result_t gs_zetMetricStreamerReadData(zet_metric_streamer_handle_t hMetricStreamer, uint32_t maxReportCount,
                                         size_t *pRawDataSize, uint8_t *pRawData) {
    gs_sampler *sampler = ((gs_metric_streamer *)hMetricStreamer)->sampler;
    const uint64_t bytes = sampler->report_words * sizeof(uint64_t);
    if (*pRawDataSize == 0 || pRawData == NULL) { /* deprecated: the most there can be */
        *pRawDataSize = bytes * (maxReportCount < MOST_REPORTS ? maxReportCount : MOST_REPORTS);
        return ZE_RESULT_SUCCESS;
    }
    uint64_t room = *pRawDataSize / bytes, most = room < maxReportCount ? room : maxReportCount, taken = 0;
    gs_lock(&sampler->lock);
    for (; taken < most && sampler->first < sampler->end; taken++, sampler->first++)
        memcpy(pRawData + taken * bytes, sampler->ring + sampler->first % MOST_REPORTS * sampler->report_words, bytes);
    bool has_dropped = sampler->has_dropped;
    sampler->has_dropped = false;
    gs_unlock(&sampler->lock);
    *pRawDataSize = taken * bytes;
    return has_dropped ? ZE_RESULT_WARNING_DROPPED_DATA : ZE_RESULT_SUCCESS;
}

/* --- Markers --------------------------------------------------------------------------------------------- */

ze_result_t gs_zetCommandListAppendMetricStreamerMarker(zet_command_list_handle_t hCommandList,
                                                        zet_metric_streamer_handle_t hMetricStreamer, uint32_t value) {
    gs_metric_streamer *streamer = (gs_metric_streamer *)hMetricStreamer;
    gs_object_hold(streamer);
    gs_command command = {.operation = GS_MARK_METRICS, .mark = {streamer, value}};
    return gs_append(GS_FN_zetCommandListAppendMetricStreamerMarker, (ze_command_list_handle_t)hCommandList, &command, NULL, 0,
                     NULL);
}

void gs_metric_streamer_mark(gs_metric_streamer *streamer, uint32_t value) {
    gs_sampler *sampler = streamer->sampler;
    gs_lock(&sampler->lock);
    if (!sampler->is_closing)
        take_reports(sampler, value, gs_timestamp(), 1);
    gs_unlock(&sampler->lock);
    signal_if_due(sampler);
}

/* The streamer after one, of those of a group; held. */
static gs_metric_streamer *next_of(const gs_metric_group *group, const gs_metric_streamer *before) {
    gs_lock(&lock);
    gs_metric_streamer *each = before != NULL ? before->next : all;
    while (each != NULL && (each->group != group || !gs_object_try_hold(each)))
        each = each->next;
    gs_unlock(&lock);
    return each;
}

void gs_metric_streamers_mark(const gs_metric_group *group, uint32_t value) {
    for (gs_metric_streamer *streamer = next_of(group, NULL), *next; streamer != NULL; streamer = next) {
        gs_metric_streamer_mark(streamer, value);
        next = next_of(group, streamer);
        gs_object_drop(streamer);
    }
}
