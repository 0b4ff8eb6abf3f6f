/* Creating event pools and events, and what they answer about themselves. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check/order/order.h"
#include "intel/intel.h"
#include "memory/memory_file.h"
#include "memory/page.h"
#include "memory/resources.h"
#include "objects/event.h"

static size_t slots_bytes(uint32_t count) {
    return gs_whole_pages((size_t)count * sizeof(gs_event_slot));
}

static void release_pool(gs_object *object) {
    gs_event_pool *pool = (gs_event_pool *)object;
    if (pool->slots != NULL)
        munmap(pool->slots, slots_bytes(pool->count));
    if (pool->fd >= 0)
        close(pool->fd);
    free(pool->used);
    gs_object_drop(pool->context);
}

/* Maps the pool's slots: private memory, a new memory file, or the file of another process. */
static bool map_slots(gs_event_pool *pool) {
    size_t bytes = slots_bytes(pool->count);
    bool shared = pool->fd >= 0;
    if (pool->flags & ZE_EVENT_POOL_FLAG_IPC && !shared) {
        pool->fd = gs_memory_file(bytes);
        if (pool->fd < 0)
            return false;
        shared = true;
    }
    int flags = shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void *slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, shared ? pool->fd : -1, 0);
    pool->slots = slots != MAP_FAILED ? slots : NULL;
    pool->used = calloc(pool->count, 1);
    return pool->slots != NULL && pool->used != NULL;
}

static ze_result_t create_pool(const gs_event_pool *request, ze_event_pool_handle_t *created) {
    gs_event_pool *pool = gs_object_new(GS_KIND_EVENT_POOL, release_pool);
    if (pool == NULL) {
        if (request->fd >= 0)
            close(request->fd);
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another event pool");
    }
    gs_object head = pool->object;
    *pool = *request;
    pool->object = head;
    gs_object_hold(pool->context);
    if (!map_slots(pool)) {
        gs_object_close(pool);
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for %u events", request->count);
    }
    gs_object_complete(pool, pool->context);
    *created = (ze_event_pool_handle_t)pool;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeEventPoolCreate(ze_context_handle_t hContext, const ze_event_pool_desc_t *desc, uint32_t numDevices,
                                 ze_device_handle_t *phDevices, ze_event_pool_handle_t *phEventPool) {
    for (uint32_t each = 0; each < numDevices; each++) {
        ze_result_t result = gs_context_check_device(GS_FN_zeEventPoolCreate, (gs_context *)hContext,
                                                     (gs_device *)phDevices[each]);
        if (result != ZE_RESULT_SUCCESS)
            return result;
    }
    const ze_event_pool_flags_t both =
        ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP;
    if ((desc->flags & both) == both)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ENUMERATION,
                       "zeEventPoolCreate: ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP and "
                       "ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP cannot be combined");
    gs_event_pool request = {.context = (gs_context *)hContext, .flags = desc->flags, .count = desc->count, .fd = -1};
    const ze_event_pool_counter_based_exp_desc_t *counter_based =
        gs_find_next(desc->pNext, ZE_STRUCTURE_TYPE_COUNTER_BASED_EVENT_POOL_EXP_DESC);
    if (counter_based != NULL) {
        if (desc->flags & ZE_EVENT_POOL_FLAG_IPC)
            return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                           "zeEventPoolCreate: a counter-based pool cannot be shared between processes; use "
                           "zeEventCounterBasedCreate with ZE_EVENT_COUNTER_BASED_FLAG_IPC");
        const ze_event_pool_counter_based_exp_flags_t known =
            ZE_EVENT_POOL_COUNTER_BASED_EXP_FLAG_IMMEDIATE | ZE_EVENT_POOL_COUNTER_BASED_EXP_FLAG_NON_IMMEDIATE;
        if (counter_based->flags & ~known)
            return gs_fail_enum(GS_FN_zeEventPoolCreate, "the counter-based descriptor's flags", counter_based->flags);
        request.counter_based = true;
        request.counter_flags = counter_based->flags != 0 ? counter_based->flags
                                                          : ZE_EVENT_POOL_COUNTER_BASED_EXP_FLAG_IMMEDIATE;
    }
    return create_pool(&request, phEventPool);
}

/* Opens the pool of another process from its memory file, which the pool takes over. */
GS_EXPORT ze_result_t gs_event_pool_open(gs_context *context, ze_event_pool_flags_t flags, uint32_t count, int fd,
                                         ze_event_pool_handle_t *created) {
    struct stat file;
    if (fstat(fd, &file) != 0) {
        int reason = errno;
        close(fd);
        return gs_fail_errno(reason, "the event pool of the handle cannot be opened");
    }
    if (count == 0 || slots_bytes(count) > (size_t)file.st_size) {
        close(fd);
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the handle was changed: it asks for more events than there are");
    }
    return create_pool(
        &(gs_event_pool){.context = context, .flags = flags, .count = count, .fd = fd, .imported = true}, created);
}

GS_EXPORT int gs_event_pool_fd(const gs_event_pool *pool) { return pool->fd; }
GS_EXPORT uint32_t gs_event_pool_flags(const gs_event_pool *pool) { return pool->flags; }
GS_EXPORT uint32_t gs_event_counter_based_flags(const gs_event *event) { return event->counter_flags; }
GS_EXPORT uint32_t gs_event_pool_count(const gs_event_pool *pool) { return pool->count; }

ze_result_t gs_zeEventPoolDestroy(ze_event_pool_handle_t hEventPool) {
    if (((gs_event_pool *)hEventPool)->imported)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "zeEventPoolDestroy: this pool was opened from another process; use zeEventPoolCloseIpcHandle");
    gs_object_close(hEventPool);
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeEventPoolCloseIpcHandle(ze_event_pool_handle_t hEventPool) {
    if (!((gs_event_pool *)hEventPool)->imported)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "zeEventPoolCloseIpcHandle: this pool was created here; use zeEventPoolDestroy");
    gs_object_close(hEventPool);
    return ZE_RESULT_SUCCESS;
}

/* --- Events -------------------------------------------------------------------------------------- */

static void release_event(gs_object *object) {
    gs_event *event = (gs_event *)object;
    if (gs_order_is_checked())
        gs_order_forget(&event->order);
    if (event->heap != NULL && event->heap != &event->mapped) {
        if (event->slot->tracked != 0) /* the event's own counter is no other list's: leave it uncounted */
            gs_event_track(event, &event->slot->own, 0);
        gs_heap_give(event->slot);
    } else if (event->heap != NULL) {
        munmap(event->mapped.base, GS_HEAP_BYTES);
        close(event->mapped.fd);
    }
    if (event->pool != NULL)
        gs_object_drop(event->pool);
    gs_object_drop(event->context);
}

/* The caller completes it. */
static gs_event *new_event(gs_context *context, gs_event_pool *pool) {
    gs_event *event = gs_object_new(GS_KIND_EVENT, release_event);
    if (event == NULL) {
        gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another event");
        return NULL;
    }
    event->context = context;
    event->pool = pool;
    atomic_flag_clear(&event->guard);
    gs_object_hold(context);
    if (pool != NULL)
        gs_object_hold(pool);
    return event;
}

/* Gives the event words of its own in the process's heap. */
static bool follow_counters(gs_event *event) {
    gs_heap *heap = gs_own_heap();
    gs_event_slot *slot = heap != NULL ? gs_heap_take() : NULL;
    if (slot == NULL)
        return false;
    event->heap = heap;
    event->slot = slot;
    event->mode = GS_EVENT_COUNTER;
    return true;
}

ze_result_t gs_zeEventCreate(ze_event_pool_handle_t hEventPool, const ze_event_desc_t *desc,
                             ze_event_handle_t *phEvent) {
    gs_event_pool *pool = (gs_event_pool *)hEventPool;
    if (desc->index >= pool->count)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "zeEventCreate: index %u is outside the pool of %u events",
                       desc->index, pool->count);
    gs_event *event = new_event(pool->context, pool);
    if (event == NULL)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    event->signal_scope = desc->signal;
    event->wait_scope = desc->wait;
    event->timestamps =
        pool->flags & (ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP);
    event->slot = &pool->slots[desc->index];
    if (pool->counter_based) {
        event->counter_flags = pool->counter_flags;
        if (!follow_counters(event)) {
            gs_object_close(event);
            return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another counter-based event");
        }
    } else if (!(pool->flags & ZE_EVENT_POOL_FLAG_IPC) || (!pool->imported && pool->used[desc->index])) {
        /* A fresh event is not signalled. In a shared pool another process may have signalled the words
         * already, so there only a place that this process used before is cleared. */
        memset(event->slot, 0, sizeof *event->slot);
    }
    pool->used[desc->index] = 1;
    gs_object_complete(event, pool->context);
    *phEvent = (ze_event_handle_t)event;
    return ZE_RESULT_SUCCESS;
}

gs_event *gs_event_of_word(gs_context *context, const gs_word_test *test) {
    gs_event *event = new_event(context, NULL);
    if (event == NULL)
        return NULL;
    if (!follow_counters(event)) {
        gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory to wait for a word of memory");
        gs_object_close(event);
        return NULL;
    }
    event->mode = GS_EVENT_EXTERNAL;
    event->external = test->word;
    event->external_value = test->value;
    event->external_comparison = test->comparison;
    event->external_is_narrow = test->is_narrow;
    return event;
}

/* A struct of the chain, by the type that the specification gives it or by that of Intel's driver. */
static const void *find_either(const void *next, ze_structure_type_t type, ze_structure_type_t of_intel) {
    const void *found = gs_find_next(next, type);
    return found != NULL ? found : gs_find_next(next, of_intel);
}

/* The application's own word, for an event that completes when it reaches a value. */
static ze_result_t use_external(gs_event *event, const void *next) {
    const ze_event_counter_based_external_sync_allocation_desc_t *sync =
        find_either(next, ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_EXTERNAL_SYNC_ALLOCATION_DESC,
                    ZEX_STRUCTURE_COUNTER_BASED_EVENT_EXTERNAL_SYNC_ALLOC_PROPERTIES);
    const ze_event_counter_based_external_aggregate_storage_desc_t *storage =
        find_either(next, ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_EXTERNAL_AGGREGATE_STORAGE_DESC,
                    ZEX_STRUCTURE_COUNTER_BASED_EVENT_EXTERNAL_STORAGE_ALLOC_PROPERTIES);
    if (sync == NULL && storage == NULL)
        return ZE_RESULT_SUCCESS;
    if (sync != NULL && storage != NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "zeEventCounterBasedCreate: an event has an external counter or aggregate storage, not both");
    uint64_t *word = sync != NULL ? sync->hostAddress : storage->deviceAddress;
    event->external_value = sync != NULL ? sync->completionValue : storage->completionValue;
    event->external_increment = sync != NULL ? 0 : storage->incrementValue;
    if (word == NULL || (uintptr_t)word % sizeof *word != 0)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "zeEventCounterBasedCreate: the external counter must be a non-null, 8-byte aligned address");
    if (!gs_is_readable(word, sizeof *word))
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "zeEventCounterBasedCreate: there is no memory at %p for the external counter", (void *)word);
    if (event->external_value > GS_COUNTER_MAX)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "zeEventCounterBasedCreate: completionValue is beyond zeDeviceGetCounterBasedEventMaxValue");
    event->mode = GS_EVENT_EXTERNAL;
    event->external = (_Atomic uint64_t *)word;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeEventCounterBasedCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                         const ze_event_counter_based_desc_t *desc, ze_event_handle_t *phEvent) {
    ze_result_t result = gs_context_check_device(GS_FN_zeEventCounterBasedCreate, (gs_context *)hContext,
                                                 (gs_device *)hDevice);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    const ze_event_counter_based_flags_t stamps =
        ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP | ZE_EVENT_COUNTER_BASED_FLAG_HOST_TIMESTAMP;
    if ((desc->flags & stamps) == stamps)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ENUMERATION,
                       "zeEventCounterBasedCreate: ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP and "
                       "ZE_EVENT_COUNTER_BASED_FLAG_HOST_TIMESTAMP cannot be combined");
    gs_event *event = new_event((gs_context *)hContext, NULL);
    if (event == NULL)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    const ze_event_counter_based_flags_t lists =
        ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE;
    event->counter_flags = desc->flags & lists ? desc->flags : desc->flags | ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE;
    event->signal_scope = desc->signal;
    event->wait_scope = desc->wait;
    event->timestamps = desc->flags & stamps;
    if (!follow_counters(event))
        result = gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another counter-based event");
    else
        result = use_external(event, desc->pNext);
    if (result != ZE_RESULT_SUCCESS) {
        gs_object_close(event);
        return result;
    }
    gs_object_complete(event, event->context);
    *phEvent = (ze_event_handle_t)event;
    return ZE_RESULT_SUCCESS;
}

static bool is_opened(const gs_event *event) {
    return event->mode == GS_EVENT_COUNTER && event->heap == &event->mapped;
}

/* A command that still waits for the event, or is to signal it, holds it. */
ze_result_t gs_zeEventDestroy(ze_event_handle_t hEvent) {
    if (is_opened((gs_event *)hEvent))
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "zeEventDestroy: this event was opened from another process; use "
                       "zeEventCounterBasedCloseIpcHandle");
    gs_object_close(hEvent);
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeEventCounterBasedCloseIpcHandle(ze_event_handle_t hEvent) {
    if (!is_opened((gs_event *)hEvent))
        return gs_fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
                       "zeEventCounterBasedCloseIpcHandle: this event was created here; use zeEventDestroy");
    gs_object_close(hEvent);
    return ZE_RESULT_SUCCESS;
}

/* Where another process finds a counter-based event: a file, and an offset in it. -1: it cannot be shared. */
GS_EXPORT int gs_event_share(const gs_event *event, uint64_t *offset) {
    if (event->mode != GS_EVENT_COUNTER || is_opened(event) ||
        !(event->counter_flags & ZE_EVENT_COUNTER_BASED_FLAG_IPC))
        return -1;
    *offset = (uint64_t)((char *)event->slot - event->heap->base);
    return event->heap->fd;
}

/* The heap of another process, or NULL if the file is none or has no event at the offset (EINVAL). */
static char *map_heap(int fd, uint64_t offset) {
    struct stat file;
    if (fstat(fd, &file) != 0)
        return NULL;
    if (offset >= GS_HEAP_BYTES || offset % GS_HEAP_CELL != 0 || (uint64_t)file.st_size != GS_HEAP_BYTES) {
        errno = EINVAL;
        return NULL;
    }
    void *base = mmap(NULL, GS_HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    return base != MAP_FAILED ? base : NULL;
}

/* Opens an event of another process from that process's memory file, which is taken over, also on failure. */
GS_EXPORT ze_result_t gs_event_open(gs_context *context, int fd, uint64_t offset,
                                    ze_event_counter_based_flags_t flags, ze_event_handle_t *created) {
    char *base = map_heap(fd, offset);
    int reason = errno;
    gs_event *event = base != NULL ? new_event(context, NULL) : NULL;
    if (event == NULL) {
        close(fd);
        if (base == NULL && gs_is_exhaustion(reason))
            return gs_fail_errno(reason, "the event of the handle cannot be opened");
        if (base == NULL)
            return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the IPC handle does not lead to an event");
        munmap(base, GS_HEAP_BYTES);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    event->mapped = (gs_heap){fd, base};
    event->heap = &event->mapped;
    event->slot = (gs_event_slot *)(base + offset);
    event->mode = GS_EVENT_COUNTER;
    event->counter_flags = flags;
    event->timestamps =
        flags & (ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP | ZE_EVENT_COUNTER_BASED_FLAG_HOST_TIMESTAMP);
    gs_object_complete(event, context);
    *created = (ze_event_handle_t)event;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeEventCounterBasedGetDeviceAddress(ze_event_handle_t hEvent, uint64_t *completionValue,
                                                   uint64_t *deviceAddress) {
    gs_event *event = (gs_event *)hEvent;
    if (event->mode == GS_EVENT_EXTERNAL) {
        *completionValue = event->external_value;
        *deviceAddress = (uintptr_t)event->external;
        return ZE_RESULT_SUCCESS;
    }
    if (event->mode == GS_EVENT_PLAIN)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "zeEventCounterBasedGetDeviceAddress: the event is not counter-based");
    gs_target target;
    gs_target_take(event, &target);
    bool enqueued = target.counter != NULL;
    if (enqueued) {
        *completionValue = target.resolved;
        *deviceAddress = (uintptr_t)&target.counter->done;
    }
    gs_target_drop(&target);
    if (enqueued)
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "zeEventCounterBasedGetDeviceAddress: the event was not yet given to any command as its signal "
                   "event, so it has no counter");
}

/* --- Getters ------------------------------------------------------------------------------------- */

ze_result_t gs_zeEventGetEventPool(ze_event_handle_t hEvent, ze_event_pool_handle_t *phEventPool) {
    gs_event *event = (gs_event *)hEvent;
    if (event->pool == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "zeEventGetEventPool: the event was created without a pool");
    *phEventPool = (ze_event_pool_handle_t)event->pool;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeEventGetCounterBasedFlags(ze_event_handle_t hEvent, ze_event_counter_based_flags_t *pFlags) {
    const gs_event *event = (gs_event *)hEvent;
    *pFlags = event->pool == NULL ? event->counter_flags : 0;
    return ZE_RESULT_SUCCESS;
}
