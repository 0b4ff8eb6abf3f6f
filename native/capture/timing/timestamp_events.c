/* Pools of the program get timestamps if that changes nothing else about them: those that other processes share, and those with
 * more in their description, stay as they are. The recorder has pools of its own for commands without an event. */
#include <stdlib.h>

#include "capture/timing/timestamp_events.h"
#include "capture/recorder/handles.h"
#include "capture/recorder/slots.h"

enum { POOL_SIZE = 256, POOLS = 64 };

/* On the device's clock; ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP is for another one. */
static const ze_event_pool_flags_t TIMESTAMP = ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;

/* The recorder's events in a context. */
typedef struct own_events {
    ze_event_pool_handle_t pools[POOLS];
    int pool_count;
    bool has_failed;
    ze_event_handle_t all[POOLS * POOL_SIZE], free[POOLS * POOL_SIZE];
    size_t all_count, free_count;
} own_events;

pthread_mutex_t gc_times_lock = PTHREAD_MUTEX_INITIALIZER;
static gc_handles events, contexts;
static gc_handles pools;          /* those with timestamps; the values are one of these two addresses */
static char asked_for, upgraded;

static ze_pfnEventPoolCreate_t create_next;
static ze_pfnEventPoolGetFlags_t get_flags_next;
static ze_pfnEventPoolDestroy_t destroy_next;
static ze_pfnEventQueryKernelTimestamp_t query_next;

/* --- What the program sees ---------------------------------------------------------------------------------- */

static void *pool_kind(ze_event_pool_handle_t pool) {
    pthread_mutex_lock(&gc_times_lock);
    void *kind = gc_handles_get(&pools, pool);
    pthread_mutex_unlock(&gc_times_lock);
    return kind;
}

static void note_pool(ze_event_pool_handle_t pool, void *kind) {
    pthread_mutex_lock(&gc_times_lock);
    if (kind != NULL)
        gc_handles_put(&pools, pool, kind);
    else
        gc_handles_take(&pools, pool);
    pthread_mutex_unlock(&gc_times_lock);
}

static ze_result_t create_pool(ze_context_handle_t context, const ze_event_pool_desc_t *desc, uint32_t count,
                               ze_device_handle_t *devices, ze_event_pool_handle_t *found) {
    if (!gc_readable(desc, sizeof *desc) || found == NULL)
        return create_next(context, desc, count, devices, found);
    ze_event_pool_desc_t with_times = *desc;
    with_times.flags |= TIMESTAMP;
    bool is_plain = desc->pNext == NULL && (desc->flags & ~(ze_event_pool_flags_t)ZE_EVENT_POOL_FLAG_HOST_VISIBLE) == 0;
    if (is_plain && create_next(context, &with_times, count, devices, found) == ZE_RESULT_SUCCESS) {
        note_pool(*found, &upgraded);
        return ZE_RESULT_SUCCESS;
    }
    ze_result_t result = create_next(context, desc, count, devices, found);
    if (result == ZE_RESULT_SUCCESS)
        note_pool(*found, (desc->flags & TIMESTAMP) != 0 ? &asked_for : NULL);
    return result;
}

static ze_result_t get_pool_flags(ze_event_pool_handle_t pool, ze_event_pool_flags_t *flags) {
    ze_result_t result = get_flags_next(pool, flags);
    if (result == ZE_RESULT_SUCCESS && pool_kind(pool) == &upgraded)
        *flags &= ~TIMESTAMP;
    return result;
}

static ze_result_t destroy_pool(ze_event_pool_handle_t pool) {
    void *kind = pool_kind(pool);
    note_pool(pool, NULL); /* its handle may be somebody else's when the call returns */
    ze_result_t result = destroy_next(pool);
    if (result != ZE_RESULT_SUCCESS)
        note_pool(pool, kind);
    return result;
}

/* The program has no timestamps that it did not ask for. */
static ze_result_t query_times(ze_event_handle_t event, ze_kernel_timestamp_result_t *times) {
    pthread_mutex_lock(&gc_times_lock);
    const gc_timed_event *known = gc_timed_events_get(event);
    bool is_upgraded = known != NULL && known->is_upgraded;
    pthread_mutex_unlock(&gc_times_lock);
    return is_upgraded ? ZE_RESULT_ERROR_INVALID_ARGUMENT : query_next(event, times);
}

void gc_timed_events_open(void) {
    create_next = (ze_pfnEventPoolCreate_t)gc_next[GS_FN_zeEventPoolCreate];
    get_flags_next = (ze_pfnEventPoolGetFlags_t)gc_next[GS_FN_zeEventPoolGetFlags];
    destroy_next = (ze_pfnEventPoolDestroy_t)gc_next[GS_FN_zeEventPoolDestroy];
    query_next = (ze_pfnEventQueryKernelTimestamp_t)gc_next[GS_FN_zeEventQueryKernelTimestamp];
    gc_next[GS_FN_zeEventPoolCreate] = (gc_function)create_pool;
    gc_next[GS_FN_zeEventPoolGetFlags] = (gc_function)get_pool_flags;
    gc_next[GS_FN_zeEventPoolDestroy] = (gc_function)destroy_pool;
    gc_next[GS_FN_zeEventQueryKernelTimestamp] = (gc_function)query_times;
}

void gc_timed_events_abandon(void) {
    gc_times_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* another thread of the parent may have held it */
}

/* --- The program's events ----------------------------------------------------------------------------------- */

gc_timed_event *gc_timed_events_get(ze_event_handle_t event) {
    return gc_handles_get(&events, event);
}

void gc_timed_events_put(ze_event_pool_handle_t pool, ze_event_handle_t event) {
    void *kind = gc_handles_get(&pools, pool);
    gc_timed_event *known = kind != NULL ? calloc(1, sizeof *known) : NULL;
    gc_timed_events_take(event); /* one that was destroyed in a way that nobody saw */
    if (known == NULL)
        return;
    known->is_upgraded = kind == &upgraded;
    free(gc_handles_put(&events, event, known));
}

void gc_timed_events_take(ze_event_handle_t event) {
    free(gc_handles_take(&events, event));
}

bool gc_timed_events_read(ze_event_handle_t event, ze_kernel_timestamp_result_t *times) {
    ze_pfnEventQueryStatus_t ask = (ze_pfnEventQueryStatus_t)gc_next[GS_FN_zeEventQueryStatus];
    return ask(event) == ZE_RESULT_SUCCESS && query_next(event, times) == ZE_RESULT_SUCCESS;
}

/* --- The recorder's events ---------------------------------------------------------------------------------- */

static own_events *own_events_of(ze_context_handle_t context) {
    own_events *own = gc_handles_get(&contexts, context);
    if (own != NULL)
        return own;
    own = calloc(1, sizeof *own);
    if (own != NULL)
        free(gc_handles_put(&contexts, context, own));
    return gc_handles_get(&contexts, context);
}

static void make_pool(ze_context_handle_t context, own_events *own) {
    const ze_event_pool_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
                                       .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | TIMESTAMP,
                                       .count = POOL_SIZE};
    ze_event_pool_handle_t *pool = &own->pools[own->pool_count];
    own->has_failed = own->pool_count == POOLS || create_next(context, &desc, 0, NULL, pool) != ZE_RESULT_SUCCESS;
    if (own->has_failed)
        return;
    own->pool_count++;
    ze_pfnEventCreate_t create = (ze_pfnEventCreate_t)gc_next[GS_FN_zeEventCreate];
    for (uint32_t each = 0; each < POOL_SIZE; each++) {
        ze_event_desc_t event_desc = {
            .stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = each, .signal = ZE_EVENT_SCOPE_FLAG_HOST};
        ze_event_handle_t event = NULL;
        if (create(*pool, &event_desc, &event) == ZE_RESULT_SUCCESS)
            own->all[own->all_count++] = own->free[own->free_count++] = event;
    }
}

ze_event_handle_t gc_timed_events_lend(ze_context_handle_t context) {
    own_events *own = own_events_of(context);
    if (own == NULL)
        return NULL;
    if (own->free_count == 0 && !own->has_failed)
        make_pool(context, own);
    return own->free_count > 0 ? own->free[--own->free_count] : NULL;
}

void gc_timed_events_return(ze_context_handle_t context, ze_event_handle_t event) {
    own_events *own = gc_handles_get(&contexts, context);
    if (own == NULL)
        return;
    ((ze_pfnEventHostReset_t)gc_next[GS_FN_zeEventHostReset])(event);
    own->free[own->free_count++] = event;
}

void gc_timed_events_end(ze_context_handle_t context) {
    own_events *own = gc_handles_take(&contexts, context);
    if (own == NULL)
        return;
    for (size_t each = 0; each < own->all_count; each++)
        ((ze_pfnEventDestroy_t)gc_next[GS_FN_zeEventDestroy])(own->all[each]);
    for (int each = 0; each < own->pool_count; each++)
        destroy_next(own->pools[each]);
    free(own);
}
