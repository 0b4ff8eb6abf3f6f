/* Standing in for the loader. Under the name libze_loader.so.1 this library is the loader and its only
 * driver at once, so these functions have little to do: handles are never wrapped, there are no layers,
 * and the tables a statically linked loader shim asks for are the driver's own.
 *
 * A shim treats three entry points as optional: zelLoaderTracingLayerInit, zelLoaderZerTracingLayerInit and
 * zelLoaderGetContext. They are absent here: entry points look for tracers themselves (tracer.c). */
#include <stdlib.h>

#include "abi/loader.h"
#include "threads/lock.h"

typedef struct teardown_callback {
    uint32_t index;
    zel_loader_teardown_callback_t notify;
    struct teardown_callback *next;
} teardown_callback;

GS_STATIC_LOCK(teardown_lock, GS_SHORT_LOCK)
static teardown_callback *teardown_callbacks;
static uint32_t last_teardown_index;
static bool torn_down;

/* Tells each registered program once that the loader is going. The list is taken first, so that a
 * callback may call back into this file. */
static void tear_down(void) {
    gs_lock(&teardown_lock);
    teardown_callback *callback = teardown_callbacks;
    teardown_callbacks = NULL;
    torn_down = true;
    gs_unlock(&teardown_lock);
    while (callback != NULL) {
        teardown_callback *next = callback->next;
        callback->notify();
        free(callback);
        callback = next;
    }
}

__attribute__((destructor)) static void tear_down_at_exit(void) {
    tear_down();
}

/* Given to the program: it goes first, and no longer wants to hear from us. */
static void forget_teardown_callback(uint32_t index) {
    gs_lock(&teardown_lock);
    for (teardown_callback **link = &teardown_callbacks; *link != NULL; link = &(*link)->next) {
        teardown_callback *callback = *link;
        if (callback->index == index) {
            *link = callback->next;
            free(callback);
            break;
        }
    }
    gs_unlock(&teardown_lock);
}

GS_EXPORT ze_result_t zelRegisterTeardownCallback(zel_loader_teardown_callback_t application_callback,
                                                  zel_application_teardown_callback_t *loader_callback,
                                                  uint32_t *index) {
    if (application_callback == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "zelRegisterTeardownCallback: application_callback is null");
    if (loader_callback == NULL || index == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
                       "zelRegisterTeardownCallback: loader_callback and index must not be null");
    teardown_callback *callback = calloc(1, sizeof *callback);
    if (callback == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                       "zelRegisterTeardownCallback: no memory for another callback");
    callback->notify = application_callback;
    gs_lock(&teardown_lock);
    callback->index = ++last_teardown_index;
    callback->next = teardown_callbacks;
    teardown_callbacks = callback;
    *loader_callback = forget_teardown_callback;
    *index = callback->index;
    gs_unlock(&teardown_lock);
    return ZE_RESULT_SUCCESS;
}

GS_EXPORT bool zelCheckIsLoaderInTearDown(void) {
    gs_lock(&teardown_lock);
    bool answer = torn_down;
    gs_unlock(&teardown_lock);
    return answer;
}

GS_EXPORT ze_result_t zelSetDriverTeardown(void) {
    tear_down();
    return ZE_RESULT_SUCCESS;
}

/* These two concern a loader linked into the program; a shared one goes when its process does. */
GS_EXPORT void zelSetDelayLoaderContextTeardown(void) {}

GS_EXPORT void zelLoaderContextTeardown(void) {}

/* The shims' first call, and their check that there is a usable driver. The parameters of the second have
 * changed over the years; the first was always the flags, and nothing but the driver's health matters. */
GS_EXPORT ze_result_t zeLoaderInit(void) {
    return zeInit(0);
}

GS_EXPORT ze_result_t zelLoaderDriverCheck(void) {
    return zeInit(0);
}

GS_EXPORT ze_result_t zelLoaderGetVersion(zel_component_version_t *version) {
    if (version == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "zelGetLoaderVersion: version is null");
    *version = (zel_component_version_t){
        .component_name = "loader",
        .spec_version = ZE_API_VERSION_CURRENT,
        .component_lib_version = {GS_LOADER_MAJOR, GS_LOADER_MINOR, GS_LOADER_PATCH},
    };
    return ZE_RESULT_SUCCESS;
}

GS_EXPORT ze_result_t zelGetLoaderVersion(zel_component_version_t *version) {
    return zelLoaderGetVersion(version);
}

/* One component: no layer is loaded beside this library. */
GS_EXPORT ze_result_t zelLoaderGetVersionsInternal(size_t *count, zel_component_version_t *versions) {
    if (count == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "zelLoaderGetVersions: num_elems is null");
    if (versions != NULL && *count == 0)
        return ZE_RESULT_SUCCESS;
    *count = 1;
    return versions != NULL ? zelLoaderGetVersion(versions) : ZE_RESULT_SUCCESS;
}

GS_EXPORT ze_result_t zelLoaderGetVersions(size_t *count, zel_component_version_t *versions) {
    return zelLoaderGetVersionsInternal(count, versions);
}

GS_EXPORT ze_result_t zelLoaderTranslateHandleInternal(zel_handle_type_t type, void *handle, void **driver_handle) {
    if (type >= GS_LOADER_HANDLE_TYPES)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ENUMERATION,
                       "zelLoaderTranslateHandle: handle type %u is unknown", type);
    if (handle == NULL || driver_handle == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
                       "zelLoaderTranslateHandle: neither the handle nor handleOut may be null");
    *driver_handle = handle;
    return ZE_RESULT_SUCCESS;
}

GS_EXPORT ze_result_t zelLoaderTranslateHandle(zel_handle_type_t type, void *handle, void **driver_handle) {
    return zelLoaderTranslateHandleInternal(type, handle, driver_handle);
}
