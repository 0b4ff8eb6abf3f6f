/* The tracing functions a loader exports. They answer that there is no tracing layer, so that a program
 * which links against them starts, asks, and is told. */
#include "abi/loader.h"

ze_result_t gs_no_tracing(const char *function) {
    return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                   "%s: there is no tracing layer here; run the program with a Level Zero loader "
                   "(groundstate run --real-loader) to trace it",
                   function);
}

GS_EXPORT ze_result_t zelEnableTracingLayer(void) {
    return gs_no_tracing("zelEnableTracingLayer");
}

GS_EXPORT ze_result_t zelDisableTracingLayer(void) {
    return gs_no_tracing("zelDisableTracingLayer");
}

GS_EXPORT ze_result_t zelGetTracingLayerState(bool *enabled) {
    if (enabled == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "zelGetTracingLayerState: enabled is null");
    *enabled = false;
    return ZE_RESULT_SUCCESS;
}

/* A library handle of the tracing layer; shims accept that there is none. */
GS_EXPORT void *zeLoaderGetTracingHandle(void) {
    return NULL;
}

GS_EXPORT ze_result_t zelTracerCreate(const void *description, void **tracer) {
    (void)description;
    (void)tracer;
    return gs_no_tracing("zelTracerCreate");
}

GS_EXPORT ze_result_t zelTracerDestroy(void *tracer) {
    (void)tracer;
    return gs_no_tracing("zelTracerDestroy");
}

GS_EXPORT ze_result_t zelTracerSetPrologues(void *tracer, void *callbacks) {
    (void)tracer;
    (void)callbacks;
    return gs_no_tracing("zelTracerSetPrologues");
}

GS_EXPORT ze_result_t zelTracerSetEpilogues(void *tracer, void *callbacks) {
    (void)tracer;
    (void)callbacks;
    return gs_no_tracing("zelTracerSetEpilogues");
}

GS_EXPORT ze_result_t zelTracerSetEnabled(void *tracer, uint8_t enable) {
    (void)tracer;
    (void)enable;
    return gs_no_tracing("zelTracerSetEnabled");
}

/* Shims fail to start without this table, so it is filled, with functions that say no. */
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
