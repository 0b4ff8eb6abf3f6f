/* Recorded graphs under the names that Intel's driver gave them before the specification had them. They differ in the
 * order of parameters, and in the numbers of three results. Programs find them by zeDriverGetExtensionFunctionAddress. */
#include "intel/intel.h"

#define QUERY_TRUE_EXP ((ze_result_t)0x7fff0000)
#define QUERY_FALSE_EXP ((ze_result_t)0x7fff0001)
#define ERROR_INVALID_GRAPH_EXP ((ze_result_t)0x7fff0002)

static ze_result_t as_experimental(ze_result_t result) {
    switch (result) {
    case ZE_RESULT_QUERY_TRUE:
        return QUERY_TRUE_EXP;
    case ZE_RESULT_QUERY_FALSE:
        return QUERY_FALSE_EXP;
    case ZE_RESULT_ERROR_INVALID_GRAPH:
        return ERROR_INVALID_GRAPH_EXP;
    default:
        return result;
    }
}

GS_EXPORT ze_result_t zeGraphCreateExp(ze_context_handle_t context, ze_graph_handle_t *graph, void *next) {
    return zeGraphCreateExt(context, next, graph);
}

GS_EXPORT ze_result_t zeCommandListBeginGraphCaptureExp(ze_command_list_handle_t list, void *next) {
    return zeCommandListBeginGraphCaptureExt(list, next);
}

GS_EXPORT ze_result_t zeCommandListBeginCaptureIntoGraphExp(ze_command_list_handle_t list, ze_graph_handle_t graph, void *next) {
    return zeCommandListBeginCaptureIntoGraphExt(list, graph, next);
}

GS_EXPORT ze_result_t zeCommandListEndGraphCaptureExp(ze_command_list_handle_t list, ze_graph_handle_t *graph, void *next) {
    return zeCommandListEndGraphCaptureExt(list, next, graph);
}

GS_EXPORT ze_result_t zeCommandListInstantiateGraphExp(ze_graph_handle_t graph, ze_executable_graph_handle_t *made, void *next) {
    return zeGraphInstantiateExt(graph, next, made);
}

GS_EXPORT ze_result_t zeCommandListAppendGraphExp(ze_command_list_handle_t list, ze_executable_graph_handle_t graph, void *next,
                                                  ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits) {
    return zeCommandListAppendGraphExt(list, graph, next, signal, wait_count, waits);
}

GS_EXPORT ze_result_t zeGraphDestroyExp(ze_graph_handle_t graph) {
    return zeGraphDestroyExt(graph);
}

GS_EXPORT ze_result_t zeExecutableGraphDestroyExp(ze_executable_graph_handle_t graph) {
    return zeExecutableGraphDestroyExt(graph);
}

GS_EXPORT ze_result_t zeCommandListIsGraphCaptureEnabledExp(ze_command_list_handle_t list) {
    return as_experimental(zeCommandListIsGraphCaptureEnabledExt(list));
}

GS_EXPORT ze_result_t zeGraphIsEmptyExp(ze_graph_handle_t graph) {
    return as_experimental(zeGraphIsEmptyExt(graph));
}

GS_EXPORT ze_result_t zeGraphDumpContentsExp(ze_graph_handle_t graph, const char *path, void *next) {
    return zeGraphDumpContentsExt(graph, path, next);
}

GS_EXPORT ze_result_t zeCommandListGetGraphExp(ze_command_list_handle_t list, ze_graph_handle_t *graph) {
    return zeCommandListGetGraphExt(list, graph);
}

GS_EXPORT ze_result_t zeGraphSetDestructionCallbackExp(ze_graph_handle_t graph, zex_mem_graph_free_callback_fn_t callback,
                                                       void *user_data, void *next) {
    return zeGraphSetDestructionCallbackExt(graph, callback, user_data, next);
}
