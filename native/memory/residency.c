/* Residency, and attributes of shared memory. A CPU reaches all memory at any time. What residency is for all the same
 * is the books: shared memory that a program wants in a device's memory takes room there. */
#include <stdlib.h>

#include "images/image.h"
#include "memory/memory.h"

/* --- Which bytes are resident where ------------------------------------------------------------------- */

/* Bytes of a shared allocation that were made resident on a device, and count as its memory until they are evicted or
 * freed. The ranges of one device never overlap. */
struct gs_resident {
    gs_resident *next;
    gs_device *device;
    uint64_t start, end; /* from the start of the allocation */
};

/* Host memory stays where it is, and device memory counts for its device from its allocation on. Shared memory moves. */
static bool is_counted(const gs_allocation *allocation, const gs_device *device) {
    if (allocation->type != ZE_MEMORY_TYPE_SHARED)
        return false;
    for (const gs_device *each = allocation->charged; each != NULL; each = each->parent)
        if (each == device)
            return false;
    return allocation->charged == NULL || allocation->charged != device->parent;
}

static uint64_t overlap(const gs_resident *resident, uint64_t start, uint64_t end) {
    uint64_t from = resident->start > start ? resident->start : start;
    uint64_t to = resident->end < end ? resident->end : end;
    return from < to ? to - from : 0;
}

/* Takes a range out of those of a device and returns how many bytes were in it. `spare` is used up if what is
 * left of a range are two pieces. */
static uint64_t take_out(gs_resident **link, const gs_device *device, uint64_t start, uint64_t end,
                         gs_resident **spare) {
    uint64_t taken = 0;
    while (*link != NULL) {
        gs_resident *each = *link;
        uint64_t bytes = each->device == device ? overlap(each, start, end) : 0;
        taken += bytes;
        if (bytes == each->end - each->start) {
            *link = each->next;
            free(each);
            continue;
        }
        if (bytes > 0 && each->start < start && each->end > end) {
            gs_resident *rest = *spare;
            *spare = NULL;
            *rest = (gs_resident){each->next, each->device, end, each->end};
            each->next = rest;
            each->end = start;
        } else if (bytes > 0 && each->start < start) {
            each->end = start;
        } else if (bytes > 0) {
            each->start = end;
        }
        link = &each->next;
    }
    return taken;
}

/* Why a range cannot be made resident. */
typedef struct shortage {
    const gs_device *full; /* NULL: of memory to note it */
    uint64_t size;
} shortage;

static ze_result_t fail(shortage why) {
    if (why.full != NULL)
        return gs_memory_fail_full(why.full, why.size);
    return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory to note what is resident");
}

/* Makes a range resident or evicts it: all of it, or on failure nothing. Called with the lock held. */
static bool change(gs_allocation *allocation, gs_device *device, uint64_t start, uint64_t end, bool resident,
                   shortage *why) {
    if (!is_counted(allocation, device) || start == end)
        return true;
    gs_resident *spare = malloc(sizeof *spare), *added = resident ? malloc(sizeof *added) : NULL;
    uint64_t before = 0;
    for (const gs_resident *each = allocation->resident; each != NULL; each = each->next)
        before += each->device == device ? overlap(each, start, end) : 0;
    *why = (shortage){.size = end - start - before};
    bool possible = spare != NULL && (!resident || (added != NULL && gs_memory_try_charge(device, why->size, &why->full)));
    if (possible) {
        take_out(&allocation->resident, device, start, end, &spare);
        if (resident) {
            *added = (gs_resident){allocation->resident, device, start, end};
            allocation->resident = added;
            added = NULL;
        } else if (before > 0) {
            gs_memory_uncharge(device, before);
        }
    }
    free(spare);
    free(added);
    return possible;
}

void gs_residency_end(gs_allocation *allocation) {
    for (gs_resident *next; allocation->resident != NULL; allocation->resident = next) {
        const gs_resident *each = allocation->resident;
        next = each->next;
        gs_memory_uncharge(each->device, each->end - each->start);
        free(allocation->resident);
    }
}

/* --- Memory -------------------------------------------------------------------------------------------- */

/* How many bytes from `pointer` on belong to an allocation, or to virtual memory that was mapped piece by piece. */
static uint64_t reach(const gs_context *context, const gs_allocation *found, const char *pointer, uint64_t wanted) {
    const char *end = found->base + found->span;
    while (found != NULL && found->backing == GS_BACKING_MAPPING && (uint64_t)(end - pointer) < wanted) {
        found = gs_allocation_at(context, end);
        if (found != NULL && found->backing == GS_BACKING_MAPPING)
            end = found->base + found->span;
    }
    return (uint64_t)(end - pointer);
}

/* The allocation with `size` bytes from `pointer`, with the lock held; or NULL with the error recorded and no lock. */
static gs_allocation *lock_range(enum gs_function function, const gs_context *context, const void *pointer,
                                 size_t size) {
    gs_memory_lock();
    gs_allocation *found = gs_allocation_at(context, pointer);
    if (found != NULL && size <= reach(context, found, pointer, size))
        return found;
    gs_memory_unlock();
    gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: %zu bytes from %p are no allocation of this context",
            gs_function_names[function], size, pointer);
    return NULL;
}

static ze_result_t change_memory(enum gs_function function, gs_context *context, gs_device *device, void *pointer,
                                 size_t size, bool resident) {
    ze_result_t result = gs_context_check_device(function, context, device);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_memory_free_deferred(); /* may give back what is needed now */
    gs_allocation *found = lock_range(function, context, pointer, size);
    if (found == NULL)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    uint64_t start = (uint64_t)((char *)pointer - found->base);
    uint64_t end = start + size < found->size ? start + size : found->size;
    shortage why;
    bool changed = start >= end || change(found, device, start, end, resident, &why);
    gs_memory_unlock();
    return changed ? ZE_RESULT_SUCCESS : fail(why);
}

ze_result_t gs_zeContextMakeMemoryResident(ze_context_handle_t hContext, ze_device_handle_t hDevice, void *ptr,
                                           size_t size) {
    return change_memory(GS_FN_zeContextMakeMemoryResident, (gs_context *)hContext, (gs_device *)hDevice, ptr, size,
                         true);
}

ze_result_t gs_zeContextEvictMemory(ze_context_handle_t hContext, ze_device_handle_t hDevice, void *ptr, size_t size) {
    return change_memory(GS_FN_zeContextEvictMemory, (gs_context *)hContext, (gs_device *)hDevice, ptr, size, false);
}

/* --- Images -------------------------------------------------------------------------------------------- */

/* An image is as resident as its texels, which lie in memory of the program if it is a pitched image. */
static ze_result_t change_image(enum gs_function function, gs_context *context, gs_device *device, gs_image *image,
                                bool resident) {
    if (image->context != context)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the image belongs to another context",
                       gs_function_names[function]);
    gs_memory_lock();
    bool known = gs_allocation_at(context, image->view.texels) != NULL;
    gs_memory_unlock();
    if (!known) /* the program's own memory, which is as near as any */
        return gs_context_check_device(function, context, device);
    return change_memory(function, context, device, image->view.texels, image->size, resident);
}

ze_result_t gs_zeContextMakeImageResident(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                          ze_image_handle_t hImage) {
    return change_image(GS_FN_zeContextMakeImageResident, (gs_context *)hContext, (gs_device *)hDevice,
                        (gs_image *)hImage, true);
}

ze_result_t gs_zeContextEvictImage(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                   ze_image_handle_t hImage) {
    return change_image(GS_FN_zeContextEvictImage, (gs_context *)hContext, (gs_device *)hDevice, (gs_image *)hImage,
                        false);
}

/* --- Attributes of shared memory ----------------------------------------------------------------------- */

/* The shared allocation with `size` bytes from `pointer`, with the lock held; or NULL with the error recorded and no
 * lock. */
static gs_allocation *lock_shared(enum gs_function function, const gs_context *context, const gs_device *device,
                                  const void *pointer, size_t size) {
    if (gs_context_check_device(function, context, device) != ZE_RESULT_SUCCESS)
        return NULL;
    gs_allocation *found = lock_range(function, context, pointer, size);
    if (found == NULL || found->type == ZE_MEMORY_TYPE_SHARED)
        return found;
    gs_memory_unlock();
    gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: %p is in no shared allocation of this context",
            gs_function_names[function], pointer);
    return NULL;
}

ze_result_t gs_zeMemSetAtomicAccessAttributeExp(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                                const void *ptr, size_t size, ze_memory_atomic_attr_exp_flags_t attr) {
    gs_allocation *found = lock_shared(GS_FN_zeMemSetAtomicAccessAttributeExp, (gs_context *)hContext,
                                       (gs_device *)hDevice, ptr, size);
    if (found == NULL)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    found->atomics = attr;
    gs_memory_unlock();
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeMemGetAtomicAccessAttributeExp(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                                const void *ptr, size_t size,
                                                ze_memory_atomic_attr_exp_flags_t *pAttr) {
    const gs_allocation *found = lock_shared(GS_FN_zeMemGetAtomicAccessAttributeExp, (gs_context *)hContext,
                                             (gs_device *)hDevice, ptr, size);
    if (found == NULL)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *pAttr = found->atomics;
    gs_memory_unlock();
    return ZE_RESULT_SUCCESS;
}
