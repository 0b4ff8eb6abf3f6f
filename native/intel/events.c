/* Counter-based events under the names that Intel's driver gave them before the specification had them. */
#include "intel/intel.h"

/* The flags and the chain of the old description mean the same in the new one, whose layout it has. */
GS_EXPORT ze_result_t zexCounterBasedEventCreate2(ze_context_handle_t context, ze_device_handle_t device,
                                                  const ze_event_counter_based_desc_t *description, ze_event_handle_t *event) {
    return zeEventCounterBasedCreate(context, device, description, event);
}

/* An event whose counter is the program's own, if it names one. */
GS_EXPORT ze_result_t zexCounterBasedEventCreate(ze_context_handle_t context, ze_device_handle_t device,
                                                 uint64_t *device_address, uint64_t *host_address, uint64_t completion_value,
                                                 const ze_event_desc_t *description, ze_event_handle_t *event) {
    if (description == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "zexCounterBasedEventCreate: desc must not be null");
    ze_event_counter_based_external_sync_allocation_desc_t counter = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_EXTERNAL_SYNC_ALLOCATION_DESC,
        .deviceAddress = device_address,
        .hostAddress = host_address,
        .completionValue = completion_value,
    };
    ze_event_counter_based_desc_t made = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC,
        .pNext = host_address != NULL ? &counter : NULL,
        .flags = ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE |
                 ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE,
        .signal = description->signal,
        .wait = description->wait,
    };
    return zeEventCounterBasedCreate(context, device, &made, event);
}

GS_EXPORT ze_result_t zexEventGetDeviceAddress(ze_event_handle_t event, uint64_t *completion_value, uint64_t *address) {
    return zeEventCounterBasedGetDeviceAddress(event, completion_value, address);
}

GS_EXPORT ze_result_t zexCounterBasedEventGetIpcHandle(ze_event_handle_t event, ze_ipc_event_counter_based_handle_t *handle) {
    return zeEventCounterBasedGetIpcHandle(event, handle);
}

GS_EXPORT ze_result_t zexCounterBasedEventOpenIpcHandle(ze_context_handle_t context, ze_ipc_event_counter_based_handle_t handle,
                                                        ze_event_handle_t *event) {
    return zeEventCounterBasedOpenIpcHandle(context, handle, event);
}

GS_EXPORT ze_result_t zexCounterBasedEventCloseIpcHandle(ze_event_handle_t event) {
    return zeEventCounterBasedCloseIpcHandle(event);
}

GS_EXPORT ze_result_t zexDeviceGetAggregatedCopyOffloadIncrementValue(ze_device_handle_t device, uint32_t *value) {
    return zeDeviceGetAggregatedCopyOffloadIncrementValue(device, value);
}
