/* Streams: a command list, the events that were handed out for it, and its times. */
#ifndef GS_DNNL_STREAM_H
#define GS_DNNL_STREAM_H

#include "dnnl/objects.h"

typedef struct gs_event_pool {
    struct gs_event_pool *next;
    ze_event_pool_handle_t handle;
    uint32_t used;
} gs_event_pool;

/* One execution whose time is taken: from the beginning of the first event to the end of the last. */
typedef struct gs_device_activity {
    ze_event_handle_t first, last;
} gs_device_activity;

typedef struct gs_stream {
    gs_object head;
    gs_engine *engine;
    ze_command_list_handle_t list;
    bool in_order;  /* known to be */
    bool immediate; /* executed at once, so it can be waited for */
    bool profiled;
    pthread_mutex_t lock; /* a list is for one thread at a time */
    gs_event_pool *pools;
    ze_event_handle_t *events; /* all that were made: they live as long as the stream */
    size_t event_count, event_capacity;
    gs_device_activity *records;
    size_t record_count, record_capacity;
    double nanoseconds; /* of a tick of the device's clock */
    uint64_t clock_mask;
} gs_stream;

GS_EXPORT gs_stream *gs_stream_new(gs_engine *engine, void *list, bool in_order, bool immediate, bool profiled);

/* Destroys the events, then the object; the list is the business of who made it. */
GS_EXPORT void gs_stream_free(gs_stream *stream);

/* A new event that stays the stream's, with timestamps if the stream is profiled; NULL if there is none. */
ze_event_handle_t gs_stream_event(gs_stream *stream);

/* Remembers an execution. */
bool gs_stream_record(gs_stream *stream, ze_event_handle_t first, ze_event_handle_t last);

/* Forgets all executions. */
GS_EXPORT void gs_stream_reset(gs_stream *stream);

/* How many executions there are; with room for them, the nanoseconds of each. -1 if one cannot be read. */
GS_EXPORT int gs_stream_times(gs_stream *stream, int capacity, uint64_t *times);

GS_EXPORT int gs_stream_wait(gs_stream *stream);

/* Copies memory after what was executed so far. */
GS_EXPORT int gs_stream_copy(gs_stream *stream, void *to, const void *from, size_t size);

#endif
