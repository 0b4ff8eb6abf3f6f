"""What a recorder has to know of pointers beyond what the specification's data files say."""

from __future__ import annotations

COUNTS: dict[tuple[str, str], str] = {
    ("zeKernelSetArgumentValue", "pArgValue"): "argSize",
    ("zeCommandListAppendMemoryFill", "pattern"): "pattern_size",
    ("zeCommandListAppendMemoryFillWithParameters", "pattern"): "pattern_size",
    ("zeDeviceGetRuntimeRequirements", "pRequirements"): "*pSize",
    ("zeModuleBuildLogGetString", "pBuildLog"): "*pSize",
    ("zeModuleGetNativeBinary", "pModuleNativeBinary"): "*pSize",
    ("zeKernelGetName", "pName"): "*pSize",
    ("zeKernelGetBinaryExp", "pKernelBinary"): "*pSize",
    ("zesFirmwareGetConsoleLogs", "pFirmwareLog"): "*pSize",
    ("zetModuleGetDebugInfo", "pDebugInfo"): "*pSize",
    ("zetMetricGroupGetExportDataExp", "pRawData"): "rawDataSize",
    ("zetCommandListAppendMetricQueryEnd", "phWaitEvents"): "numWaitEvents",
    ("zetDeviceCreateMetricGroupsFromMetricsExp", "phMetrics"): "metricCount",
    ("ze_module_desc_t", "pInputModule"): "inputSize",
    ("ze_mutable_kernel_argument_exp_desc_t", "pArgValue"): "argSize",
}
"""How many elements (bytes, for `void`) a pointer leads to, by function or struct and name."""

DEVICE_MEMORY: frozenset[tuple[str, str]] = frozenset(
    {
        ("zeCommandListAppendWriteGlobalTimestamp", "dstptr"),
        ("zeCommandListAppendLaunchKernelIndirect", "pLaunchArgumentsBuffer"),
        ("zeCommandListAppendLaunchMultipleKernelsIndirect", "pCountBuffer"),
        ("zeCommandListAppendLaunchMultipleKernelsIndirect", "pLaunchArgumentsBuffer"),
        ("zesFirmwareGetSecurityVersionExp", "pVersion"),
        ("zetMetricTracerDecodeExp", "phMetrics"),
        ("zetDeviceGetConcurrentMetricGroupsExp", "phMetricGroups"),
        ("ze_event_counter_based_external_sync_allocation_desc_t", "deviceAddress"),
        ("ze_event_counter_based_external_sync_allocation_desc_t", "hostAddress"),
        ("ze_event_counter_based_external_aggregate_storage_desc_t", "deviceAddress"),
    }
)
"""Pointers that are not followed: the device writes or reads there, or their extent is unknown."""


def count_of(owner: str, name: str, stated: str | None) -> str | None:
    """How many elements a pointer leads to, in the names of its function or struct."""
    return COUNTS.get((owner, name), stated)
