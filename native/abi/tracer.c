/* The tracing functions that a loader exports, for profilers that want to see every call.
 *
 * A traced call notes under a lock which tracers are enabled, and with which callbacks, so that they may be disabled and
 * changed meanwhile. A tracer counts the calls that it is in: its end waits for them. */
#define _GNU_SOURCE
#include "abi/tracer.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "abi/loader.h"
#include "objects/object.h"
#include "profile/profile.h"
#include "threads/fork.h"
#include "threads/lock.h"
#include "threads/wait.h"

enum { PROLOGUE, EPILOGUE, SIDES };

typedef struct gs_tracer {
    gs_object object;
    gs_tracer_callback *callbacks[SIDES]; /* by function */
    void *user_data;
    bool is_enabled;
    _Atomic uint32_t calls; /* under way */
    gs_futex call_ended;
    struct gs_tracer *next; /* of all that exist */
} gs_tracer;

GS_STATIC_LOCK(tracers_lock, GS_SHORT_LOCK)
static gs_tracer *all_tracers, *enabled_tracers[GS_MOST_TRACERS];
static uint32_t enabled_count, forks;
static _Atomic uint32_t layer_users; /* of zelEnableTracingLayer */
static _Atomic bool some_is_enabled;
_Atomic bool gs_some_tracer_is_enabled; /* or a profile is written */
static _Thread_local bool is_inside;

bool gs_is_inside_a_traced_call(void) { return is_inside; }

/* --- Calls ------------------------------------------------------------------------------------------- */

void gs_traced_call_begin(gs_traced_call *call, enum gs_function function, void **params) {
    gs_tracer_callback prologues[GS_MOST_TRACERS];
    is_inside = true;
    call->count = 0;
    call->function = function;
    call->start = gs_profile_is_on() ? gs_clock(CLOCK_MONOTONIC) : 0;
    if (!some_is_enabled)
        return;
    gs_lock(&tracers_lock);
    call->forks = forks;
    for (uint32_t i = 0; i < enabled_count; i++) {
        gs_tracer *tracer = enabled_tracers[i];
        gs_tracer_callback prologue = tracer->callbacks[PROLOGUE][function];
        gs_tracer_callback epilogue = tracer->callbacks[EPILOGUE][function];
        if (prologue == NULL && epilogue == NULL)
            continue;
        tracer->calls++;
        prologues[call->count] = prologue;
        call->each[call->count].tracer = tracer;
        call->each[call->count].epilogue = epilogue;
        call->each[call->count].user_data = tracer->user_data;
        call->each[call->count++].instance_data = NULL;
    }
    gs_unlock(&tracers_lock);
    for (uint32_t i = 0; i < call->count; i++)
        if (prologues[i] != NULL)
            prologues[i](params, ZE_RESULT_SUCCESS, call->each[i].user_data, &call->each[i].instance_data);
}

void gs_traced_call_end(gs_traced_call *call, void **params, uintptr_t result) {
    for (uint32_t i = 0; i < call->count; i++)
        if (call->each[i].epilogue != NULL)
            call->each[i].epilogue(params, result, call->each[i].user_data, &call->each[i].instance_data);
    if (call->count > 0) {
        gs_lock(&tracers_lock);
        for (uint32_t i = 0; i < call->count && call->forks == forks; i++)
            if (--call->each[i].tracer->calls == 0)
                gs_futex_notify(&call->each[i].tracer->call_ended);
        gs_unlock(&tracers_lock);
    }
    if (call->start != 0)
        gs_profile_call(call->function, call->start);
    is_inside = false;
}

void gs_tracers_after_fork(void) {
    forks++;
    for (gs_tracer *tracer = all_tracers; tracer != NULL; tracer = tracer->next)
        tracer->calls = 0;
}

/* --- Tracers ----------------------------------------------------------------------------------------- */

static void release_tracer(gs_object *object) {
    gs_tracer *tracer = (gs_tracer *)object;
    free(tracer->callbacks[PROLOGUE]);
    free(tracer->callbacks[EPILOGUE]);
}

GS_EXPORT ze_result_t zelTracerCreate(const zel_tracer_desc_t *description, void **created) {
    if (description == NULL || created == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "zelTracerCreate: neither desc nor phTracer may be null");
    gs_tracer *tracer = gs_object_new(GS_KIND_ZET_TRACER_EXP, release_tracer);
    if (tracer == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "zelTracerCreate: no memory for another tracer");
    for (int side = PROLOGUE; side < SIDES; side++) {
        tracer->callbacks[side] = calloc(GS_FN_COUNT, sizeof *tracer->callbacks[side]);
        if (tracer->callbacks[side] == NULL) {
            gs_object_close(tracer);
            return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "zelTracerCreate: no memory for callbacks");
        }
    }
    tracer->user_data = description->pUserData;
    gs_lock(&tracers_lock);
    tracer->next = all_tracers;
    all_tracers = tracer;
    gs_unlock(&tracers_lock);
    gs_object_complete(tracer, NULL);
    *created = tracer;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t fail_handle(const char *name, const void *tracer) {
    return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
                   "%s: %p is no tracer of this driver, or was destroyed; pass one of zelTracerCreate", name, tracer);
}

static bool is_in_no_call(void *tracer) { return ((gs_tracer *)tracer)->calls == 0; }

static void forget(gs_tracer *tracer) {
    gs_lock(&tracers_lock);
    for (gs_tracer **link = &all_tracers; *link != NULL; link = &(*link)->next)
        if (*link == tracer) {
            *link = tracer->next;
            break;
        }
    gs_unlock(&tracers_lock);
}

GS_EXPORT ze_result_t zelTracerDestroy(void *handle) {
    GS_PIN void *pinned = gs_pin(handle, GS_KIND_ZET_TRACER_EXP);
    gs_tracer *tracer = pinned;
    if (tracer == NULL)
        return fail_handle("zelTracerDestroy", handle);
    if (tracer->is_enabled)
        return gs_fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "zelTracerDestroy: the tracer is enabled; disable it first");
    if (is_inside && tracer->calls > 0)
        return gs_fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
                       "zelTracerDestroy: a callback asks for it, and would wait for itself");
    if (!gs_object_close(tracer))
        return fail_handle("zelTracerDestroy", handle);
    gs_may_wait("callbacks of a tracer");
    gs_futex_wait(&tracer->call_ended, is_in_no_call, tracer, GS_FOREVER, false);
    forget(tracer);
    return ZE_RESULT_SUCCESS;
}

/* --- What they call ---------------------------------------------------------------------------------- */

static ze_result_t fail_enabled(const char *name) {
    return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the tracer is enabled; disable it to change its callbacks", name);
}

ze_result_t gs_tracer_register(const char *name, void *handle, uint32_t when, enum gs_function function,
                               gs_tracer_callback callback) {
    GS_PIN void *pinned = gs_pin(handle, GS_KIND_ZET_TRACER_EXP);
    gs_tracer *tracer = pinned;
    if (tracer == NULL)
        return fail_handle(name, handle);
    if (when >= SIDES)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "%s: callback_type %u is neither prologue (0) nor epilogue (1)",
                       name, when);
    gs_lock(&tracers_lock);
    bool is_enabled = tracer->is_enabled;
    if (!is_enabled)
        tracer->callbacks[when][function] = callback;
    gs_unlock(&tracers_lock);
    return is_enabled ? fail_enabled(name) : ZE_RESULT_SUCCESS;
}

static ze_result_t set_all(const char *name, void *handle, int side, const void *callbacks) {
    GS_PIN void *pinned = gs_pin(handle, GS_KIND_ZET_TRACER_EXP);
    gs_tracer *tracer = pinned;
    if (tracer == NULL)
        return fail_handle(name, handle);
    if (callbacks == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "%s: pCoreCbs is null", name);
    gs_lock(&tracers_lock);
    bool is_enabled = tracer->is_enabled;
    for (const gs_core_callback *each = gs_core_callbacks; !is_enabled && each->offset >= 0; each++)
        memcpy(&tracer->callbacks[side][each->function], (const char *)callbacks + each->offset, sizeof(gs_tracer_callback));
    gs_unlock(&tracers_lock);
    return is_enabled ? fail_enabled(name) : ZE_RESULT_SUCCESS;
}

GS_EXPORT ze_result_t zelTracerSetPrologues(void *tracer, const void *callbacks) {
    return set_all("zelTracerSetPrologues", tracer, PROLOGUE, callbacks);
}

GS_EXPORT ze_result_t zelTracerSetEpilogues(void *tracer, const void *callbacks) {
    return set_all("zelTracerSetEpilogues", tracer, EPILOGUE, callbacks);
}

GS_EXPORT ze_result_t zelTracerResetAllCallbacks(void *handle) {
    GS_PIN void *pinned = gs_pin(handle, GS_KIND_ZET_TRACER_EXP);
    gs_tracer *tracer = pinned;
    if (tracer == NULL)
        return fail_handle("zelTracerResetAllCallbacks", handle);
    gs_lock(&tracers_lock);
    bool is_enabled = tracer->is_enabled;
    for (int side = PROLOGUE; !is_enabled && side < SIDES; side++)
        memset(tracer->callbacks[side], 0, GS_FN_COUNT * sizeof *tracer->callbacks[side]);
    gs_unlock(&tracers_lock);
    return is_enabled ? fail_enabled("zelTracerResetAllCallbacks") : ZE_RESULT_SUCCESS;
}

/* With the lock held; false if there is no room. The order stays: that in which tracers were enabled. */
static bool enable(gs_tracer *tracer, bool wanted) {
    if (tracer->is_enabled == wanted)
        return true;
    if (wanted) {
        if (enabled_count == GS_MOST_TRACERS)
            return false;
        enabled_tracers[enabled_count++] = tracer;
    } else {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < enabled_count; i++)
            if (enabled_tracers[i] != tracer)
                enabled_tracers[kept++] = enabled_tracers[i];
        enabled_count = kept;
    }
    tracer->is_enabled = wanted;
    some_is_enabled = enabled_count > 0;
    gs_some_tracer_is_enabled = some_is_enabled || gs_profile_is_on();
    return true;
}

void gs_tracers_profile(bool begins) {
    gs_lock(&tracers_lock);
    gs_some_tracer_is_enabled = some_is_enabled || begins;
    gs_unlock(&tracers_lock);
}

GS_EXPORT ze_result_t zelTracerSetEnabled(void *handle, uint8_t wanted) {
    GS_PIN void *pinned = gs_pin(handle, GS_KIND_ZET_TRACER_EXP);
    gs_tracer *tracer = pinned;
    if (tracer == NULL)
        return fail_handle("zelTracerSetEnabled", handle);
    gs_lock(&tracers_lock);
    bool done = enable(tracer, wanted != 0);
    gs_unlock(&tracers_lock);
    return done ? ZE_RESULT_SUCCESS
                : gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "zelTracerSetEnabled: %d tracers are enabled, and no more may be",
                          GS_MOST_TRACERS);
}

/* --- The tracing layer ------------------------------------------------------------------------------- */

/* Tracers work without these. They count, so that a program is told what it has asked for. */
GS_EXPORT ze_result_t zelEnableTracingLayer(void) {
    layer_users++;
    return ZE_RESULT_SUCCESS;
}

GS_EXPORT ze_result_t zelDisableTracingLayer(void) {
    for (uint32_t users = layer_users; users > 0;)
        if (atomic_compare_exchange_weak(&layer_users, &users, users - 1))
            break;
    return ZE_RESULT_SUCCESS;
}

GS_EXPORT ze_result_t zelGetTracingLayerState(bool *enabled) {
    if (enabled == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "zelGetTracingLayerState: enabled is null");
    *enabled = layer_users > 0 || some_is_enabled;
    return ZE_RESULT_SUCCESS;
}

/* The library in which a shim looks for zelTracer...RegisterCallback: this one. It stays open without our help. */
GS_EXPORT void *zeLoaderGetTracingHandle(void) {
    Dl_info here;
    if (dladdr((void *)zeLoaderGetTracingHandle, &here) == 0)
        return NULL;
    void *library = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL)
        dlclose(library);
    return library;
}

GS_EXPORT ze_result_t zelGetTracerApiProcAddrTable(ze_api_version_t version, zel_tracer_dditable_t *table) {
    if (table == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
                       "zelGetTracerApiProcAddrTable: pDdiTable is null");
    if (version >> 16 != ZE_API_VERSION_CURRENT >> 16)
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_VERSION,
                       "zelGetTracerApiProcAddrTable: version %u.%u is unknown here", version >> 16,
                       version & 0xffff);
    *table = (zel_tracer_dditable_t){
        .pfnCreate = zelTracerCreate,
        .pfnDestroy = zelTracerDestroy,
        .pfnSetPrologues = zelTracerSetPrologues,
        .pfnSetEpilogues = zelTracerSetEpilogues,
        .pfnSetEnabled = zelTracerSetEnabled,
    };
    return ZE_RESULT_SUCCESS;
}
