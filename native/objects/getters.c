/* The functions of the API that answer one field of an object. */
#include "graphs/graph.h"
#include "objects/kernel.h"

/* Function, the types of its handle and of its answer, the struct behind the handle, and the field. */
#define GS_GETTER(function, handle_type, answer_type, object, field)              \
    ze_result_t gs_##function(handle_type handle, answer_type *answer) {          \
        *answer = (answer_type)((const object *)handle)->field;                   \
        return ZE_RESULT_SUCCESS;                                                 \
    }

GS_GETTER(zeCommandListGetContextHandle, ze_command_list_handle_t, ze_context_handle_t, gs_list, context)
GS_GETTER(zeCommandListGetDeviceHandle, ze_command_list_handle_t, ze_device_handle_t, gs_list, device)
GS_GETTER(zeCommandListGetFlags, ze_command_list_handle_t, ze_command_list_flags_t, gs_list, flags)
GS_GETTER(zeCommandListGetOrdinal, ze_command_list_handle_t, uint32_t, gs_list, ordinal)
GS_GETTER(zeCommandListIsImmediate, ze_command_list_handle_t, ze_bool_t, gs_list, immediate)
GS_GETTER(zeCommandListIsMutableExp, ze_command_list_handle_t, ze_bool_t, gs_list, is_mutable)
GS_GETTER(zeCommandQueueGetFlags, ze_command_queue_handle_t, ze_command_queue_flags_t, gs_command_queue, queue.flags)
GS_GETTER(zeCommandQueueGetIndex, ze_command_queue_handle_t, uint32_t, gs_command_queue, queue.index)
GS_GETTER(zeCommandQueueGetMode, ze_command_queue_handle_t, ze_command_queue_mode_t, gs_command_queue, queue.mode)
GS_GETTER(zeCommandQueueGetOrdinal, ze_command_queue_handle_t, uint32_t, gs_command_queue, queue.ordinal)
GS_GETTER(zeCommandQueueGetPriority, ze_command_queue_handle_t, ze_command_queue_priority_t, gs_command_queue, queue.priority)
GS_GETTER(zeEventGetSignalScope, ze_event_handle_t, ze_event_scope_flags_t, gs_event, signal_scope)
GS_GETTER(zeEventGetWaitScope, ze_event_handle_t, ze_event_scope_flags_t, gs_event, wait_scope)
GS_GETTER(zeEventPoolGetContextHandle, ze_event_pool_handle_t, ze_context_handle_t, gs_event_pool, context)
GS_GETTER(zeEventPoolGetFlags, ze_event_pool_handle_t, ze_event_pool_flags_t, gs_event_pool, flags)
GS_GETTER(zeExecutableGraphGetSourceGraphExt, ze_executable_graph_handle_t, ze_graph_handle_t, gs_executable_graph, source)
GS_GETTER(zeKernelGetIndirectAccess, ze_kernel_handle_t, ze_kernel_indirect_access_flags_t, gs_kernel, indirect_access)
