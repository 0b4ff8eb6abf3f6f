/* Streams: a command list, the events that were handed out for it, and its times. */
#include "dnnl/stream.h"

#include <stdlib.h>

enum { POOL_EVENTS = 256 };

/* A tick of the device's clock, and how many bits of it count. */
static void read_clock(gs_stream *stream) {
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    const gs_engine *engine = stream->engine;
    engine->ze->zeDeviceGetProperties(engine->device, &properties);
    uint32_t bits = properties.kernelTimestampValidBits;
    stream->nanoseconds = (double)properties.timerResolution;
    stream->clock_mask = bits == 0 || bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

gs_stream *gs_stream_new(gs_engine *engine, void *list, bool in_order, bool immediate, bool profiled) {
    gs_stream *stream = gs_object_new(GS_STREAM, sizeof *stream);
    if (stream == NULL)
        return NULL;
    stream->engine = gs_engine_hold(engine);
    stream->list = list;
    stream->in_order = in_order;
    stream->immediate = immediate;
    stream->profiled = profiled;
    pthread_mutex_init(&stream->lock, NULL);
    if (profiled)
        read_clock(stream);
    return stream;
}

void gs_stream_free(gs_stream *stream) {
    const gs_ze *ze = stream->engine->ze;
    for (size_t each = 0; each < stream->event_count; each++)
        ze->zeEventDestroy(stream->events[each]);
    for (gs_event_pool *pool = stream->pools; pool != NULL;) {
        gs_event_pool *next = pool->next;
        ze->zeEventPoolDestroy(pool->handle);
        free(pool);
        pool = next;
    }
    free(stream->events);
    free(stream->records);
    pthread_mutex_destroy(&stream->lock);
    gs_engine *engine = stream->engine;
    gs_object_free(stream);
    gs_engine_drop(engine);
}

/* --- Events ---------------------------------------------------------------------------------------- */

static gs_event_pool *pool_with_capacity(gs_stream *stream) {
    if (stream->pools != NULL && stream->pools->used < POOL_EVENTS)
        return stream->pools;
    gs_event_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return NULL;
    ze_event_pool_desc_t description = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
        .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | (stream->profiled ? ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP : 0),
        .count = POOL_EVENTS,
    };
    const gs_engine *engine = stream->engine;
    if (engine->ze->zeEventPoolCreate(engine->context, &description, 0, NULL, &pool->handle) != ZE_RESULT_SUCCESS) {
        free(pool);
        return NULL;
    }
    pool->next = stream->pools;
    stream->pools = pool;
    return pool;
}

/* Room for one more element of `size` bytes. */
static bool make_room(void *list, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity)
        return true;
    size_t more = *capacity == 0 ? 64 : 2 * *capacity;
    void *moved = realloc(*(void **)list, more * size);
    if (moved == NULL)
        return false;
    *(void **)list = moved;
    *capacity = more;
    return true;
}

ze_event_handle_t gs_stream_event(gs_stream *stream) {
    gs_event_pool *pool = pool_with_capacity(stream);
    if (pool == NULL || !make_room(&stream->events, stream->event_count, &stream->event_capacity, sizeof *stream->events))
        return NULL;
    ze_event_desc_t description = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
        .index = pool->used,
        .signal = ZE_EVENT_SCOPE_FLAG_HOST,
        .wait = ZE_EVENT_SCOPE_FLAG_HOST,
    };
    ze_event_handle_t event;
    if (stream->engine->ze->zeEventCreate(pool->handle, &description, &event) != ZE_RESULT_SUCCESS)
        return NULL;
    pool->used++;
    stream->events[stream->event_count++] = event;
    return event;
}

/* --- Times ----------------------------------------------------------------------------------------- */

bool gs_stream_record(gs_stream *stream, ze_event_handle_t first, ze_event_handle_t last) {
    if (!make_room(&stream->records, stream->record_count, &stream->record_capacity, sizeof *stream->records))
        return false;
    stream->records[stream->record_count++] = (gs_device_activity){first, last};
    return true;
}

void gs_stream_reset(gs_stream *stream) {
    pthread_mutex_lock(&stream->lock);
    stream->record_count = 0;
    pthread_mutex_unlock(&stream->lock);
}

static bool read_time(const gs_stream *stream, const gs_device_activity *record, uint64_t *time) {
    const gs_ze *ze = stream->engine->ze;
    ze_kernel_timestamp_result_t first, last;
    if (ze->zeEventQueryKernelTimestamp(record->first, &first) != ZE_RESULT_SUCCESS ||
        ze->zeEventQueryKernelTimestamp(record->last, &last) != ZE_RESULT_SUCCESS)
        return false;
    uint64_t ticks = (last.global.kernelEnd - first.global.kernelStart) & stream->clock_mask;
    *time = (uint64_t)(stream->nanoseconds * (double)ticks);
    return true;
}

int gs_stream_times(gs_stream *stream, int capacity, uint64_t *times) {
    pthread_mutex_lock(&stream->lock);
    int count = (int)stream->record_count;
    for (int each = 0; times != NULL && each < count && each < capacity; each++)
        if (!read_time(stream, &stream->records[each], &times[each])) {
            count = -1;
            break;
        }
    pthread_mutex_unlock(&stream->lock);
    return count;
}

/* --- Waiting and copying --------------------------------------------------------------------------- */

/* For loaders that cannot wait for a list: an event that follows everything. */
static ze_result_t wait_for_event(gs_stream *stream) {
    const gs_ze *ze = stream->engine->ze;
    pthread_mutex_lock(&stream->lock);
    ze_event_handle_t event = gs_stream_event(stream);
    ze_result_t result = event != NULL ? ze->zeCommandListAppendBarrier(stream->list, event, 0, NULL)
                                       : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    pthread_mutex_unlock(&stream->lock);
    return result == ZE_RESULT_SUCCESS ? ze->zeEventHostSynchronize(event, UINT64_MAX) : result;
}

int gs_stream_wait(gs_stream *stream) {
    const gs_ze *ze = stream->engine->ze;
    if (!stream->immediate)
        return ZE_RESULT_SUCCESS; /* a regular list is executed by its owner, who waits for that */
    if (ze->zeCommandListHostSynchronize == NULL)
        return (int)wait_for_event(stream);
    return (int)ze->zeCommandListHostSynchronize(stream->list, UINT64_MAX);
}

int gs_stream_copy(gs_stream *stream, void *to, const void *from, size_t size) {
    const gs_ze *ze = stream->engine->ze;
    pthread_mutex_lock(&stream->lock);
    ze_result_t result = ZE_RESULT_SUCCESS;
    if (!stream->in_order)
        result = ze->zeCommandListAppendBarrier(stream->list, NULL, 0, NULL);
    if (result == ZE_RESULT_SUCCESS)
        result = ze->zeCommandListAppendMemoryCopy(stream->list, to, from, size, NULL, 0, NULL);
    pthread_mutex_unlock(&stream->lock);
    return (int)result;
}
