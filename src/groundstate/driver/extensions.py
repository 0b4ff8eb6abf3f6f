"""The extensions that the driver advertises: only those of which it implements everything.

Each row says which functions and structs make up the extension, so that a test can hold the driver
to what it says.
"""

from groundstate import ze
from groundstate.light_functools import cache


class Extension:
    """An extension with its version, and the functions and structs that it consists of."""

    def __init__(
        self,
        name: str,
        version: int,
        functions: tuple[str, ...] = (),
        structs: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.version = version
        self.functions = functions
        self.structs = structs


NOT_ADVERTISED: dict[str, str] = {
    "ZE_extension_cache_reservation": "a program cannot reserve a part of a CPU's cache",
    "ZE_experimental_power_saving_hint": "the system decides how fast a CPU runs",
    "ZE_extension_device_compute_dotproduct_ext_properties": "for systolic arrays",
    "ZE_extension_device_luid": "for Windows",
    "ZE_extension_memory_compression_hints": "memory is not compressed",
    "ZE_extension_raytracing": "for hardware that traces rays",
    "ZE_experimental_rtas_builder": "for hardware that traces rays",
    "ZE_extension_rtas": "for hardware that traces rays",
    "ZET_experimental_api_tracing": "the loader traces calls; its layer is for all drivers",
    "ZET_experimental_metric_export_memory": "reports are read; they lie in no buffer of a device",
}
"""Every other extension of the specification, and why the driver does not advertise it."""


@cache
def advertised() -> tuple[Extension, ...]:
    """The extensions of this driver. Made when first asked for, as the names in `ze` are."""
    return (
        Extension(
            ze.ZE_DRIVER_DDI_HANDLES_EXT_NAME,
            ze.ZE_DRIVER_DDI_HANDLES_EXT_VERSION_1_1,
            structs=("ze_driver_ddi_handles_ext_properties_t",),
        ),
        Extension(
            ze.ZE_EU_COUNT_EXT_NAME, ze.ZE_EU_COUNT_EXT_VERSION_1_0, structs=("ze_eu_count_ext_t",)
        ),
        Extension(
            ze.ZE_PCI_PROPERTIES_EXT_NAME,
            ze.ZE_PCI_PROPERTIES_EXT_VERSION_1_0,
            functions=("zeDevicePciGetPropertiesExt",),
        ),
        Extension(
            ze.ZE_DEVICE_IP_VERSION_EXT_NAME,
            ze.ZE_DEVICE_IP_VERSION_VERSION_1_0,
            structs=("ze_device_ip_version_ext_t",),
        ),
        Extension(
            ze.ZE_DEVICE_MEMORY_PROPERTIES_EXT_NAME,
            ze.ZE_DEVICE_MEMORY_PROPERTIES_EXT_VERSION_1_0,
            structs=("ze_device_memory_ext_properties_t",),
        ),
        Extension(
            ze.ZE_CACHELINE_SIZE_EXT_NAME,
            ze.ZE_DEVICE_CACHE_LINE_SIZE_EXT_VERSION_1_0,
            structs=("ze_device_cache_line_size_ext_t",),
        ),
        Extension(
            ze.ZE_DEVICE_VECTOR_SIZES_EXT_NAME,
            ze.ZE_DEVICE_VECTOR_SIZES_EXT_VERSION_1_0,
            functions=("zeDeviceGetVectorWidthPropertiesExt",),
        ),
        Extension(
            ze.ZE_DEVICE_USABLEMEM_SIZE_PROPERTIES_EXT_NAME,
            ze.ZE_DEVICE_USABLEMEM_SIZE_PROPERTIES_EXT_VERSION_1_0,
            structs=("ze_device_usablemem_size_ext_properties_t",),
        ),
        Extension(
            ze.ZE_FABRIC_EXP_NAME,
            ze.ZE_FABRIC_EXP_VERSION_1_0,
            functions=(
                "zeFabricVertexGetExp",
                "zeFabricVertexGetSubVerticesExp",
                "zeFabricVertexGetPropertiesExp",
                "zeFabricVertexGetDeviceExp",
                "zeDeviceGetFabricVertexExp",
                "zeFabricEdgeGetExp",
                "zeFabricEdgeGetVerticesExp",
                "zeFabricEdgeGetPropertiesExp",
            ),
        ),
        Extension(
            ze.ZE_BANDWIDTH_PROPERTIES_EXP_NAME,
            ze.ZE_BANDWIDTH_PROPERTIES_EXP_VERSION_1_0,
            structs=(
                "ze_device_p2p_bandwidth_exp_properties_t",
                "ze_copy_bandwidth_exp_properties_t",
            ),
        ),
        Extension(
            ze.ZE_MEMORY_FREE_POLICIES_EXT_NAME,
            ze.ZE_MEMORY_FREE_POLICIES_EXT_VERSION_1_0,
            functions=("zeMemFreeExt",),
            structs=("ze_driver_memory_free_ext_properties_t", "ze_memory_free_ext_desc_t"),
        ),
        Extension(
            ze.ZE_RELAXED_ALLOCATION_LIMITS_EXT_NAME,
            ze.ZE_RELAXED_ALLOCATION_LIMITS_EXT_VERSION_1_0,
            structs=("ze_relaxed_allocation_limits_ext_desc_t",),
        ),
        Extension(
            ze.ZE_RELAXED_ALLOCATION_LIMITS_EXP_NAME,
            ze.ZE_RELAXED_ALLOCATION_LIMITS_EXP_VERSION_1_0,
            structs=("ze_relaxed_allocation_limits_exp_desc_t",),
        ),
        Extension(
            ze.ZE_EVENT_QUERY_TIMESTAMPS_EXP_NAME,
            ze.ZE_EVENT_QUERY_TIMESTAMPS_EXP_VERSION_1_0,
            functions=("zeEventQueryTimestampsExp",),
        ),
        Extension(
            ze.ZE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_NAME,
            ze.ZE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_VERSION_1_0,
            functions=("zeEventQueryKernelTimestampsExt",),
            structs=("ze_event_query_kernel_timestamps_ext_properties_t",),
        ),
        Extension(
            ze.ZE_EVENT_POOL_COUNTER_BASED_EXP_NAME,
            ze.ZE_EVENT_POOL_COUNTER_BASED_EXP_VERSION_1_0,
            structs=("ze_event_pool_counter_based_exp_desc_t",),
        ),
        Extension(
            ze.ZE_COMMAND_LIST_CLONE_EXP_NAME,
            ze.ZE_COMMAND_LIST_CLONE_EXP_VERSION_1_0,
            functions=("zeCommandListCreateCloneExp",),
        ),
        Extension(
            ze.ZE_RECORD_REPLAY_GRAPH_EXT_NAME,
            ze.ZE_RECORD_REPLAY_GRAPH_EXT_VERSION_1_0,
            functions=(
                "zeGraphCreateExt",
                "zeCommandListBeginGraphCaptureExt",
                "zeCommandListBeginCaptureIntoGraphExt",
                "zeCommandListIsGraphCaptureEnabledExt",
                "zeCommandListEndGraphCaptureExt",
                "zeCommandListGetGraphExt",
                "zeGraphGetPrimaryCommandListExt",
                "zeGraphSetDestructionCallbackExt",
                "zeGraphInstantiateExt",
                "zeCommandListAppendGraphExt",
                "zeExecutableGraphGetSourceGraphExt",
                "zeGraphIsEmptyExt",
                "zeGraphDumpContentsExt",
                "zeExecutableGraphDestroyExt",
                "zeGraphDestroyExt",
            ),
            structs=(
                "ze_record_replay_graph_ext_properties_t",
                "ze_record_replay_graph_ext_dump_desc_t",
            ),
        ),
        Extension(
            ze.ZE_IMMEDIATE_COMMAND_LIST_APPEND_EXP_NAME,
            ze.ZE_IMMEDIATE_COMMAND_LIST_APPEND_EXP_VERSION_1_0,
            functions=("zeCommandListImmediateAppendCommandListsExp",),
        ),
        Extension(
            ze.ZE_MUTABLE_COMMAND_LIST_EXP_NAME,
            ze.ZE_MUTABLE_COMMAND_LIST_EXP_VERSION_1_1,
            functions=(
                "zeCommandListGetNextCommandIdExp",
                "zeCommandListGetNextCommandIdWithKernelsExp",
                "zeCommandListUpdateMutableCommandsExp",
                "zeCommandListIsMutableExp",
                "zeCommandListUpdateMutableCommandSignalEventExp",
                "zeCommandListUpdateMutableCommandWaitEventsExp",
                "zeCommandListUpdateMutableCommandKernelsExp",
            ),
            structs=(
                "ze_mutable_command_list_exp_properties_t",
                "ze_mutable_command_list_exp_desc_t",
                "ze_mutable_kernel_argument_exp_desc_t",
                "ze_mutable_group_count_exp_desc_t",
                "ze_mutable_group_size_exp_desc_t",
                "ze_mutable_global_offset_exp_desc_t",
            ),
        ),
        Extension(
            ze.ZE_SUBGROUPS_EXT_NAME,
            ze.ZE_SUBGROUP_EXT_VERSION_1_0,
        ),
        Extension(
            ze.ZE_BFLOAT16_CONVERSIONS_EXT_NAME,
            ze.ZE_BFLOAT16_CONVERSIONS_EXT_VERSION_1_0,
        ),
        Extension(
            ze.ZE_FLOAT_ATOMICS_EXT_NAME,
            ze.ZE_FLOAT_ATOMICS_EXT_VERSION_1_0,
            structs=("ze_float_atomic_ext_properties_t",),
        ),
        Extension(
            ze.ZE_LINKONCE_ODR_EXT_NAME,
            ze.ZE_LINKONCE_ODR_EXT_VERSION_1_0,
        ),
        Extension(
            ze.ZE_MODULE_PROGRAM_EXP_NAME,
            ze.ZE_MODULE_PROGRAM_EXP_VERSION_1_0,
            structs=("ze_module_program_exp_desc_t",),
        ),
        Extension(
            ze.ZE_LINKAGE_INSPECTION_EXT_NAME,
            ze.ZE_LINKAGE_INSPECTION_EXT_VERSION_1_0,
            functions=("zeModuleInspectLinkageExt",),
            structs=("ze_linkage_inspection_ext_desc_t",),
        ),
        Extension(
            ze.ZE_GLOBAL_OFFSET_EXP_NAME,
            ze.ZE_GLOBAL_OFFSET_EXP_VERSION_1_0,
            functions=("zeKernelSetGlobalOffsetExp",),
        ),
        Extension(
            ze.ZE_KERNEL_SCHEDULING_HINTS_EXP_NAME,
            ze.ZE_SCHEDULING_HINTS_EXP_VERSION_1_0,
            functions=("zeKernelSchedulingHintExp",),
            structs=("ze_scheduling_hint_exp_properties_t",),
        ),
        Extension(
            ze.ZE_KERNEL_MAX_GROUP_SIZE_PROPERTIES_EXT_NAME,
            ze.ZE_KERNEL_MAX_GROUP_SIZE_PROPERTIES_EXT_VERSION_1_0,
            structs=("ze_kernel_max_group_size_properties_ext_t",),
        ),
        Extension(
            ze.ZE_GET_KERNEL_BINARY_EXP_NAME,
            ze.ZE_KERNEL_GET_BINARY_EXP_VERSION_1_0,
            functions=("zeKernelGetBinaryExp",),
        ),
        Extension(
            ze.ZE_GET_KERNEL_ALLOCATION_PROPERTIES_EXP_NAME,
            ze.ZE_KERNEL_GET_ALLOCATION_PROPERTIES_EXP_VERSION_1_0,
            functions=("zeKernelGetAllocationPropertiesExp",),
            structs=("ze_kernel_allocation_exp_properties_t",),
        ),
        Extension(
            ze.ZE_SUB_ALLOCATIONS_EXP_NAME,
            ze.ZE_SUB_ALLOCATIONS_EXP_VERSION_1_0,
            structs=("ze_memory_sub_allocations_exp_properties_t",),
        ),
        Extension(
            ze.ZE_EXTERNAL_MEMORY_MAPPING_EXT_NAME,
            ze.ZE_EXTERNAL_MEMMAP_SYSMEM_EXT_VERSION_1_0,
            structs=("ze_external_memmap_sysmem_ext_desc_t",),
        ),
        Extension(
            ze.ZE_EXTERNAL_SEMAPHORES_EXTENSION_NAME,
            ze.ZE_EXTERNAL_SEMAPHORE_EXT_VERSION_1_0,
            functions=(
                "zeDeviceImportExternalSemaphoreExt",
                "zeDeviceReleaseExternalSemaphoreExt",
                "zeCommandListAppendSignalExternalSemaphoreExt",
                "zeCommandListAppendWaitExternalSemaphoreExt",
            ),
            structs=("ze_external_semaphore_ext_desc_t", "ze_external_semaphore_fd_ext_desc_t"),
        ),
        Extension(
            ze.ZE_IPC_MEM_HANDLE_TYPE_EXT_NAME,
            ze.ZE_IPC_MEM_HANDLE_TYPE_EXT_VERSION_1_0,
            functions=("zeMemGetIpcHandleWithProperties",),
            structs=("ze_ipc_mem_handle_type_ext_desc_t",),
        ),
        Extension(
            ze.ZE_VIRTUAL_MEM_READONLY_PROPERTIES_EXT_NAME,
            ze.ZE_VIRTUAL_MEM_READONLY_PROPERTIES_EXT_VERSION_1_0,
            structs=("ze_device_readonly_memory_ext_properties_t",),
        ),
        Extension(
            ze.ZE_IMAGE_COPY_EXT_NAME,
            ze.ZE_IMAGE_COPY_EXT_VERSION_1_0,
            functions=(
                "zeCommandListAppendImageCopyToMemoryExt",
                "zeCommandListAppendImageCopyFromMemoryExt",
            ),
        ),
        Extension(
            ze.ZE_IMAGE_FORMAT_SUPPORT_EXT_NAME,
            ze.ZE_IMAGE_FORMAT_SUPPORT_EXT_VERSION_1_0,
            structs=("ze_image_format_support_ext_properties_t",),
        ),
        Extension(
            ze.ZE_IMAGE_QUERY_ALLOC_PROPERTIES_EXT_NAME,
            ze.ZE_IMAGE_QUERY_ALLOC_PROPERTIES_EXT_VERSION_1_0,
            functions=("zeImageGetAllocPropertiesExt",),
            structs=("ze_image_allocation_ext_properties_t",),
        ),
        Extension(
            ze.ZE_IMAGE_MEMORY_PROPERTIES_EXP_NAME,
            ze.ZE_IMAGE_MEMORY_PROPERTIES_EXP_VERSION_1_0,
            functions=("zeImageGetMemoryPropertiesExp",),
            structs=("ze_image_memory_properties_exp_t",),
        ),
        Extension(
            ze.ZE_IMAGE_VIEW_EXT_NAME,
            ze.ZE_IMAGE_VIEW_EXT_VERSION_1_0,
            functions=("zeImageViewCreateExt",),
        ),
        Extension(
            ze.ZE_IMAGE_VIEW_EXP_NAME,
            ze.ZE_IMAGE_VIEW_EXP_VERSION_1_0,
            functions=("zeImageViewCreateExp",),
        ),
        Extension(
            ze.ZE_IMAGE_VIEW_PLANAR_EXT_NAME,
            ze.ZE_IMAGE_VIEW_PLANAR_EXT_VERSION_1_0,
            structs=("ze_image_view_planar_ext_desc_t",),
        ),
        Extension(
            ze.ZE_IMAGE_VIEW_PLANAR_EXP_NAME,
            ze.ZE_IMAGE_VIEW_PLANAR_EXP_VERSION_1_0,
            structs=("ze_image_view_planar_exp_desc_t",),
        ),
        Extension(
            ze.ZE_BINDLESS_IMAGE_EXP_NAME,
            ze.ZE_BINDLESS_IMAGE_EXP_VERSION_1_0,
            functions=("zeMemGetPitchFor2dImage", "zeImageGetDeviceOffsetExp"),
            structs=(
                "ze_image_bindless_exp_desc_t",
                "ze_image_pitched_exp_desc_t",
                "ze_custom_pitch_exp_desc_t",
                "ze_device_pitched_alloc_exp_properties_t",
                "ze_pitched_alloc_2dimage_linear_pitch_exp_info_t",
            ),
        ),
        Extension(
            ze.ZE_SRGB_EXT_NAME,
            ze.ZE_SRGB_EXT_VERSION_1_0,
            structs=("ze_srgb_ext_desc_t",),
        ),
        *_of_tools(),
    )


def _of_tools() -> tuple[Extension, ...]:
    from groundstate import zet

    return (
        Extension(
            zet.ZET_MULTI_METRICS_EXP_NAME,
            zet.ZE_CALCULATE_MULTIPLE_METRICS_EXP_VERSION_1_0,
            functions=("zetMetricGroupCalculateMultipleMetricValuesExp",),
        ),
        Extension(
            zet.ZET_GLOBAL_METRICS_TIMESTAMPS_EXP_NAME,
            zet.ZE_METRIC_GLOBAL_TIMESTAMPS_EXP_VERSION_1_0,
            functions=("zetMetricGroupGetGlobalTimestampsExp",),
            structs=("zet_metric_global_timestamps_resolution_exp_t",),
        ),
        Extension(
            zet.ZET_EXPORT_METRICS_DATA_EXP_NAME,
            zet.ZET_EXPORT_METRIC_DATA_EXP_VERSION_1_0,
            functions=(
                "zetMetricGroupGetExportDataExp",
                "zetMetricGroupCalculateMetricExportDataExp",
            ),
            structs=("zet_metric_calculate_exp_desc_t",),
        ),
        Extension(
            zet.ZET_CONCURRENT_METRIC_GROUPS_EXP_NAME,
            zet.ZET_CONCURRENT_METRIC_GROUPS_EXP_VERSION_1_0,
            functions=("zetDeviceGetConcurrentMetricGroupsExp",),
        ),
        Extension(
            zet.ZET_METRICS_RUNTIME_ENABLE_DISABLE_EXP_NAME,
            zet.ZET_METRICS_RUNTIME_ENABLE_DISABLE_EXP_VERSION_1_0,
            functions=("zetDeviceEnableMetricsExp", "zetDeviceDisableMetricsExp"),
        ),
        Extension(
            zet.ZET_METRIC_GROUP_MARKER_EXP_NAME,
            zet.ZET_METRIC_GROUP_MARKER_EXP_VERSION_1_0,
            functions=("zetCommandListAppendMarkerExp",),
        ),
        Extension(
            zet.ZET_METRICS_TRACER_EXP_NAME,
            zet.ZET_METRIC_TRACER_EXP_VERSION_1_0,
            functions=(
                "zetMetricTracerCreateExp",
                "zetMetricTracerDestroyExp",
                "zetMetricTracerEnableExp",
                "zetMetricTracerDisableExp",
                "zetMetricTracerReadDataExp",
                "zetMetricTracerDecodeExp",
                "zetMetricDecoderCreateExp",
                "zetMetricDecoderDestroyExp",
                "zetMetricDecoderGetDecodableMetricsExp",
            ),
        ),
        Extension(
            zet.ZET_PROGRAMMABLE_METRICS_EXP_NAME,
            zet.ZET_METRIC_PROGRAMMABLE_EXP_VERSION_1_1,
            functions=(
                "zetMetricProgrammableGetExp",
                "zetMetricProgrammableGetPropertiesExp",
                "zetMetricProgrammableGetParamInfoExp",
                "zetMetricProgrammableGetParamValueInfoExp",
                "zetMetricCreateFromProgrammableExp2",
                "zetMetricCreateFromProgrammableExp",
                "zetDeviceCreateMetricGroupsFromMetricsExp",
                "zetMetricGroupCreateExp",
                "zetMetricGroupAddMetricExp",
                "zetMetricGroupRemoveMetricExp",
                "zetMetricGroupCloseExp",
                "zetMetricGroupDestroyExp",
                "zetMetricDestroyExp",
            ),
        ),
    )
