/* Residency, and attributes of shared memory. A CPU reaches all memory at any time: what is asked for is
 * checked, and remembered where it can be asked back. */
#include "image.h"
#include "memory.h"

/* INVALID_ARGUMENT unless `size` bytes from `pointer` lie in an allocation of the context. */
static ze_result_t check_known(enum gs_function function, gs_context *context, gs_device *device, const void *pointer,
                               size_t size) {
    ze_result_t result = gs_context_check_device(function, context, device);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_memory_lock();
    const gs_allocation *found = gs_allocation_at(context, pointer);
    bool inside = found != NULL && size <= (uint64_t)(found->base + found->span - (const char *)pointer);
    gs_memory_unlock();
    if (inside)
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: %zu bytes from %p are no allocation of this context",
                   gs_function_names[function], size, pointer);
}

ze_result_t gs_zeContextMakeMemoryResident(ze_context_handle_t hContext, ze_device_handle_t hDevice, void *ptr,
                                           size_t size) {
    return check_known(GS_FN_zeContextMakeMemoryResident, (gs_context *)hContext, (gs_device *)hDevice, ptr, size);
}

ze_result_t gs_zeContextEvictMemory(ze_context_handle_t hContext, ze_device_handle_t hDevice, void *ptr, size_t size) {
    return check_known(GS_FN_zeContextEvictMemory, (gs_context *)hContext, (gs_device *)hDevice, ptr, size);
}

static ze_result_t check_image(enum gs_function function, gs_context *context, gs_device *device,
                               const gs_image *image) {
    if (image->context != context)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the image belongs to another context",
                       gs_function_names[function]);
    return gs_context_check_device(function, context, device);
}

ze_result_t gs_zeContextMakeImageResident(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                          ze_image_handle_t hImage) {
    return check_image(GS_FN_zeContextMakeImageResident, (gs_context *)hContext, (gs_device *)hDevice,
                       (gs_image *)hImage);
}

ze_result_t gs_zeContextEvictImage(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                   ze_image_handle_t hImage) {
    return check_image(GS_FN_zeContextEvictImage, (gs_context *)hContext, (gs_device *)hDevice, (gs_image *)hImage);
}

/* The shared allocation at `pointer`, with the lock held, or NULL with the error recorded and no lock. */
static gs_allocation *lock_shared(enum gs_function function, gs_context *context, const void *pointer) {
    gs_memory_lock();
    gs_allocation *found = gs_allocation_at(context, pointer);
    if (found != NULL && found->type == ZE_MEMORY_TYPE_SHARED)
        return found;
    gs_memory_unlock();
    gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: %p is in no shared allocation of this context",
            gs_function_names[function], pointer);
    return NULL;
}

ze_result_t gs_zeMemSetAtomicAccessAttributeExp(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                                const void *ptr, size_t size, ze_memory_atomic_attr_exp_flags_t attr) {
    ze_result_t result = check_known(GS_FN_zeMemSetAtomicAccessAttributeExp, (gs_context *)hContext,
                                     (gs_device *)hDevice, ptr, size);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_allocation *found = lock_shared(GS_FN_zeMemSetAtomicAccessAttributeExp, (gs_context *)hContext, ptr);
    if (found == NULL)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    found->atomics = attr;
    gs_memory_unlock();
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeMemGetAtomicAccessAttributeExp(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                                const void *ptr, size_t size,
                                                ze_memory_atomic_attr_exp_flags_t *pAttr) {
    ze_result_t result = check_known(GS_FN_zeMemGetAtomicAccessAttributeExp, (gs_context *)hContext,
                                     (gs_device *)hDevice, ptr, size);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    const gs_allocation *found = lock_shared(GS_FN_zeMemGetAtomicAccessAttributeExp, (gs_context *)hContext, ptr);
    if (found == NULL)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *pAttr = found->atomics;
    gs_memory_unlock();
    return ZE_RESULT_SUCCESS;
}
