#include "objects/device.h"

#include <stdlib.h>

#include "faults/lost_context.h"
#include "memory/memory.h"
#include "objects/device_kind.h"
#include "runtime/queue.h"
#include "threads/fork.h"
#include "threads/lock.h"
#include "threads/wait.h"

/* The driver of this process, for the runtime API, which names none. */
static gs_driver *the_driver;

/* Around its default context. */
GS_STATIC_LOCK(default_lock, GS_SHORT_LOCK)

GS_EXPORT void *gs_driver_new(void) {
    the_driver = gs_object_new(GS_KIND_DRIVER, NULL);
    if (the_driver != NULL)
        gs_object_complete(the_driver, NULL);
    return the_driver;
}

GS_EXPORT void *gs_device_new(gs_driver *driver, gs_device *parent, uint32_t width, uint64_t memory_bytes,
                              uint32_t queue_groups, uint32_t queues_per_group) {
    gs_device *device = gs_object_new(GS_KIND_DEVICE, NULL);
    if (device == NULL)
        return NULL;
    device->driver = driver;
    device->parent = parent;
    device->pool = gs_thread_pool_new(width);
    device->activity = gs_device_activity_new(width, memory_bytes);
    device->memory_bytes = memory_bytes;
    device->queue_groups = queue_groups;
    device->queues_per_group = queues_per_group;
    if (device->pool == NULL || device->activity == NULL) {
        gs_object_close(device);
        return NULL;
    }
    gs_object_complete(device, NULL);
    return device;
}

_Atomic bool gs_some_device_has_kind;

gs_device *gs_context_needs_kind(const gs_context *context) {
    if (!atomic_load_explicit(&gs_some_device_has_kind, memory_order_relaxed))
        return NULL;
    if (context->device_count == 0)
        return context->driver->needs_kind;
    for (uint32_t each = 0; each < context->device_count; each++)
        if (context->devices[each]->kind != NULL)
            return context->devices[each];
    return NULL;
}

/* The same for Python. */
GS_EXPORT gs_device *gs_context_gpu(const gs_context *context) { return gs_context_needs_kind(context); }

/* Says which part of the machine a device is, so that other processes know it: `subdevice` is -1 for a whole one. */
GS_EXPORT void gs_device_locate(gs_device *device, uint32_t number, int32_t subdevice) {
    device->activity->device = number;
    device->activity->subdevice = subdevice;
}

GS_EXPORT uint64_t gs_device_memory_used(const gs_device *device) { return device->activity->memory_used; }

ze_result_t gs_zeDeviceGetGlobalTimestamps(ze_device_handle_t hDevice, uint64_t *hostTimestamp,
                                           uint64_t *deviceTimestamp) {
    (void)hDevice;
    *hostTimestamp = gs_clock(CLOCK_MONOTONIC_RAW);
    *deviceTimestamp = gs_timestamp();
    return ZE_RESULT_SUCCESS;
}

bool gs_context_has_device(const gs_context *context, const gs_device *device) {
    if (context->device_count == 0)
        return device->driver == context->driver;
    for (; device != NULL; device = device->parent)
        for (uint32_t each = 0; each < context->device_count; each++)
            if (context->devices[each] == device)
                return true;
    return false;
}

GS_EXPORT bool gs_context_uses_device(const gs_context *context, const gs_device *device) {
    return gs_context_has_device(context, device);
}

ze_result_t gs_context_check_device(enum gs_function function, const gs_context *context,
                                    const gs_device *device) {
    if (gs_context_has_device(context, device))
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "%s: the context was created without this device; name it in zeContextCreateEx",
                   gs_function_names[function]);
}

/* Every context, for a device that is reset. */
static gs_context *contexts;
GS_STATIC_LOCK(contexts_lock, GS_SHORT_LOCK)

static void enter_context(gs_context *context) {
    gs_lock(&contexts_lock);
    context->next = contexts;
    context->link = &contexts;
    if (context->next != NULL)
        context->next->link = &context->next;
    contexts = context;
    gs_unlock(&contexts_lock);
}

static void leave_context(const gs_context *context) {
    gs_lock(&contexts_lock);
    *context->link = context->next;
    if (context->next != NULL)
        context->next->link = context->link;
    gs_unlock(&contexts_lock);
}

static void release_context(gs_object *object) {
    gs_context *context = (gs_context *)object;
    leave_context(context);
    gs_memory_free_all(context);
    gs_context_forget_loss(context);
    free(context->devices);
}

static ze_result_t create_context(gs_driver *driver, uint32_t count, ze_device_handle_t *devices,
                                  gs_context **created) {
    gs_device **named = count > 0 ? calloc(count, sizeof *named) : NULL;
    if (count > 0 && named == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for a list of %u devices", count);
    for (uint32_t each = 0; each < count; each++)
        named[each] = (gs_device *)devices[each];
    gs_context *context = gs_object_new(GS_KIND_CONTEXT, release_context);
    if (context == NULL) {
        free(named);
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another context");
    }
    context->driver = driver;
    context->devices = named;
    context->device_count = count;
    enter_context(context);
    gs_activity_publish();
    gs_object_complete(context, NULL);
    *created = context;
    return ZE_RESULT_SUCCESS;
}

/* --- Resets ------------------------------------------------------------------------------------------ */

static gs_device *root_of(gs_device *device) {
    while (device->parent != NULL)
        device = device->parent;
    return device;
}

/* The programming guide: until the program has asked for the status of a device that was reset, it gets no context. */
static bool was_reset(const gs_driver *driver, uint32_t count, ze_device_handle_t *devices) {
    if (atomic_load(&driver->resets) == 0)
        return false;
    for (uint32_t each = 0; each < count; each++)
        if (root_of((gs_device *)devices[each])->was_reset)
            return true;
    return count == 0;
}

static bool uses_part_of(const gs_context *context, const gs_device *root) {
    if (context->device_count == 0)
        return root->driver == context->driver;
    for (uint32_t each = 0; each < context->device_count; each++)
        if (root_of(context->devices[each]) == root)
            return true;
    return false;
}

/* True if the program has a context for a device or a part of it, or had one when the device was reset last. */
GS_EXPORT bool gs_device_is_used(gs_device *device) {
    bool used = false;
    gs_lock(&contexts_lock);
    for (const gs_context *each = contexts; each != NULL && !used; each = each->next)
        used = uses_part_of(each, root_of(device));
    gs_unlock(&contexts_lock);
    return used;
}

static bool is_at_rest(void *root) {
    bool busy = false;
    gs_lock(&contexts_lock);
    for (const gs_context *each = contexts; each != NULL && !busy; each = each->next)
        busy = uses_part_of(each, root) && gs_queues_work(each);
    gs_unlock(&contexts_lock);
    return !busy;
}

bool gs_device_has_lost_context(gs_device *device) {
    bool found = false;
    gs_lock(&contexts_lock);
    for (const gs_context *each = contexts; each != NULL && !found; each = each->next)
        found = gs_context_is_lost(each) && uses_part_of(each, root_of(device));
    gs_unlock(&contexts_lock);
    return found;
}

void gs_device_lose_contexts(gs_device *device, const char *sentence) {
    gs_lock(&contexts_lock);
    for (gs_context *each = contexts; each != NULL; each = each->next)
        if (uses_part_of(each, root_of(device)))
            gs_context_lose(each, sentence);
    gs_unlock(&contexts_lock);
}

/* Stops what runs on a device, and loses every context that uses it. */
GS_EXPORT void gs_device_reset(gs_device *device) {
    gs_device *root = root_of(device);
    if (!atomic_exchange(&root->was_reset, true))
        atomic_fetch_add(&root->driver->resets, 1);
    gs_device_lose_contexts(root, "the device was reset (zesDeviceReset)");
    gs_wait_moment(is_at_rest, root);
}

/* The CPU that answers this call is not lost, whatever happened before. */
ze_result_t gs_zeDeviceGetStatus(ze_device_handle_t hDevice) {
    gs_device *root = root_of((gs_device *)hDevice);
    if (atomic_exchange(&root->was_reset, false))
        atomic_fetch_sub(&root->driver->resets, 1);
    return ZE_RESULT_SUCCESS;
}

/* --- Contexts ---------------------------------------------------------------------------------------- */

static ze_result_t create_unless_reset(enum gs_function function, gs_driver *driver, uint32_t count,
                                       ze_device_handle_t *devices, gs_context **context) {
    if (gs_is_abandoned())
        return gs_fail_abandoned(function);
    if (was_reset(driver, count, devices))
        return gs_fail(ZE_RESULT_ERROR_DEVICE_LOST,
                       "%s: the device was reset; call zeDeviceGetStatus to use it again",
                       gs_function_names[function]);
    return create_context(driver, count, devices, context);
}

ze_result_t gs_zeContextCreateEx(ze_driver_handle_t hDriver, const ze_context_desc_t *desc, uint32_t numDevices,
                                 ze_device_handle_t *phDevices, ze_context_handle_t *phContext) {
    (void)desc;
    for (uint32_t each = 0; each < numDevices; each++)
        if (((gs_device *)phDevices[each])->driver != (gs_driver *)hDriver)
            return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                           "zeContextCreateEx: device %u of the list belongs to another driver", each);
    return create_unless_reset(GS_FN_zeContextCreateEx, (gs_driver *)hDriver, numDevices, phDevices,
                               (gs_context **)phContext);
}

ze_result_t gs_zeContextCreate(ze_driver_handle_t hDriver, const ze_context_desc_t *desc,
                               ze_context_handle_t *phContext) {
    (void)desc;
    return create_unless_reset(GS_FN_zeContextCreate, (gs_driver *)hDriver, 0, NULL, (gs_context **)phContext);
}

static bool has_no_work(void *context) { return !gs_queues_work(context); }

/* What was made in a lost context goes with it. If that was the default context, there will be another. */
static void destroy_lost(gs_context *context) {
    gs_context_reclaim(context);
    gs_lock(&default_lock);
    if (context->driver->default_context == context)
        context->driver->default_context = NULL;
    gs_unlock(&default_lock);
    gs_object_close(context);
}

/* Stops the kernels of a context, at the cost of the context. For this package's objects, too: they close a context
 * whose queues and lists may live on. */
GS_EXPORT void gs_context_stop(gs_context *context) {
    if (!gs_is_abandoned() && !gs_wait_moment(has_no_work, context))
        gs_context_lose(context, "it was closed while a kernel ran");
}

ze_result_t gs_zeContextDestroy(ze_context_handle_t hContext) {
    gs_context *context = (gs_context *)hContext;
    if (context == context->driver->default_context && !gs_context_is_lost(context))
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "zeContextDestroy: the driver's default context lives as long as the driver");
    gs_context_stop(context);
    if (gs_context_is_lost(context))
        destroy_lost(context);
    else
        gs_object_close(context); /* queues that wait hold it, as everything does that was made in it */
    return ZE_RESULT_SUCCESS;
}

/* The entry point answers for a context that is lost. */
ze_result_t gs_zeContextGetStatus(ze_context_handle_t hContext) {
    (void)hContext;
    return ZE_RESULT_SUCCESS;
}

ze_context_handle_t gs_zeDriverGetDefaultContext(ze_driver_handle_t hDriver) {
    gs_driver *driver = (gs_driver *)hDriver;
    if (gs_is_abandoned()) {
        gs_fail_abandoned(GS_FN_zeDriverGetDefaultContext);
        return NULL;
    }
    gs_lock(&default_lock);
    if (driver->default_context == NULL)
        create_context(driver, 0, NULL, &driver->default_context);
    ze_context_handle_t context = (ze_context_handle_t)driver->default_context;
    gs_unlock(&default_lock);
    return context;
}

ze_context_handle_t gs_zerGetDefaultContext(void) {
    return the_driver != NULL ? gs_zeDriverGetDefaultContext((ze_driver_handle_t)the_driver) : NULL;
}

/* Host and device are coherent on a CPU, and every engine publishes its writes before it signals. */
ze_result_t gs_zeContextSystemBarrier(ze_context_handle_t hContext, ze_device_handle_t hDevice) {
    atomic_thread_fence(memory_order_seq_cst);
    return gs_context_check_device(GS_FN_zeContextSystemBarrier, (gs_context *)hContext, (gs_device *)hDevice);
}
