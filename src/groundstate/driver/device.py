"""Devices: which there are, how they hang together, and what each is."""

from __future__ import annotations

import importlib
from types import ModuleType

from groundstate import ze
from groundstate.driver import platform, speed
from groundstate.driver.api import (
    Extensions,
    answer_list,
    handler,
    write_bool,
    write_bytes,
    write_pointer,
    write_text,
    write_u32,
    write_u64,
)
from groundstate.driver.devices import quirks
from groundstate.driver.platform import Device
from groundstate.native_layouts import COUNTER_MAX

TIMESTAMP_BITS = 60
"""Timestamps count nanoseconds. Programs shift by this number, and a shift by 64 is undefined."""

MAX_HARDWARE_CONTEXTS = 65536
"""A context is a piece of memory, so only a number that no program reaches limits them."""


@handler
def zeDeviceGet(hDriver: int, pCount: int, phDevices: int) -> None:
    handles = [device.handle for device in platform.current().devices]
    answer_list(pCount, phDevices, handles)


@handler
def zeDeviceGetRootDevice(hDevice: int, phRootDevice: int) -> None:
    parent = platform.device(hDevice).parent
    write_pointer(phRootDevice, 0 if parent is None else parent.handle)


@handler
def zeDeviceGetSubDevices(hDevice: int, pCount: int, phSubdevices: int) -> None:
    handles = [device.handle for device in platform.device(hDevice).subdevices]
    answer_list(pCount, phSubdevices, handles)


HIGHEST_PRIORITY = 2
"""Of command queues: low priority is 0, normal 1 and high 2."""

DEVICE_EXTENSIONS = Extensions("DEVICE_PROPERTIES", "DEVICE_PROPERTIES_1_2")


@handler
def zeDeviceGetProperties(hDevice: int, pDeviceProperties: int) -> None:
    device = platform.device(hDevice)
    properties = ze.ze_device_properties_t.from_address(pDeviceProperties)
    write_core(properties, device)
    DEVICE_EXTENSIONS.fill(properties, device)


def write_core(properties: ze.ze_device_properties_t, device: Device) -> None:
    """Everything that a struct of device properties has, but for what is chained to it."""
    if device.gpu is not None:
        from groundstate.driver.devices.nvidia import properties as gpus

        gpus.write_identity(properties, device.gpu)
        gpus.write_shape(properties, device.gpu, HIGHEST_PRIORITY)
        return
    _write_identity(properties, device)
    _write_shape(properties, device)


def _write_identity(properties: ze.ze_device_properties_t, device: Device) -> None:
    properties.type = device.type
    properties.vendorId = device.platform.vendor_id
    properties.deviceId = device.platform.device_id
    properties.flags = _flags(device)
    properties.subdeviceId = 0 if device.parent is None else device.ordinal
    write_bytes(properties.uuid.id, device.uuid)
    write_text(properties, "name", f"Groundstate CPU device: {device.machine.model_name}")


def _flags(device: Device) -> int:
    """INTEGRATED is true in fact: device memory is host memory, and nothing needs to be copied."""
    flags = ze.ZE_DEVICE_PROPERTY_FLAG_INTEGRATED | ze.ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING
    if device.parent is not None:
        flags |= ze.ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE
    if device.machine.has_ecc:
        flags |= ze.ZE_DEVICE_PROPERTY_FLAG_ECC
    return int(flags)


def _write_shape(properties: ze.ze_device_properties_t, device: Device) -> None:
    """An execution unit is a CPU that works for the device; nothing groups them further."""
    properties.coreClockRate = device.machine.clock_mhz
    properties.maxMemAllocSize = device.part.memory_bytes
    properties.maxHardwareContexts = MAX_HARDWARE_CONTEXTS
    properties.maxCommandQueuePriority = HIGHEST_PRIORITY
    properties.numThreadsPerEU = quirks.threads_per_unit()
    properties.physicalEUSimdWidth = device.machine.simd_bits // 32
    properties.numEUsPerSubslice = device.worker_count
    properties.numSubslicesPerSlice = 1
    properties.numSlices = 1
    # The timer ticks once a nanosecond. Which unit says so depends on the version of the struct.
    in_cycles = properties.stype == ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2
    properties.timerResolution = 1_000_000_000 if in_cycles else 1
    properties.timestampValidBits = TIMESTAMP_BITS
    properties.kernelTimestampValidBits = TIMESTAMP_BITS


@DEVICE_EXTENSIONS.add("ze_eu_count_ext_t")
def _eu_count(properties: ze.ze_eu_count_ext_t, device: Device) -> None:
    if device.gpu is not None:
        from groundstate.driver.devices.nvidia.properties import UNITS_PER_MULTIPROCESSOR

        properties.numTotalEUs = UNITS_PER_MULTIPROCESSOR * device.gpu.multiprocessors
        return
    properties.numTotalEUs = device.worker_count


@DEVICE_EXTENSIONS.add("ze_device_ip_version_ext_t")
def _ip_version(properties: ze.ze_device_ip_version_ext_t, device: Device) -> None:
    if device.gpu is not None:
        major, minor = device.gpu.capability
        properties.ipVersion = major << 22 | minor << 14
        return
    properties.ipVersion = device.platform.ip_version


@DEVICE_EXTENSIONS.add("ze_device_usablemem_size_ext_properties_t")
def _usable_memory(
    properties: ze.ze_device_usablemem_size_ext_properties_t, device: Device
) -> None:
    if device.gpu is not None:
        from groundstate.driver.devices.nvidia.native_gpu import free_memory

        properties.currUsableMemSize = free_memory(device.handle)
        return
    used = device.platform.native.device_memory_used(device.handle)
    own = max(0, device.part.memory_bytes - used)
    properties.currUsableMemSize = min(own, device.machine.available_memory())


@DEVICE_EXTENSIONS.add("ze_device_luid_ext_properties_t")
def _luid(properties: ze.ze_device_luid_ext_properties_t, device: Device) -> None:
    """Only Windows has LUIDs. All zeros is none, and the mask is 1 wherever it has no meaning."""
    write_bytes(properties.luid.id, bytes(ze.ZE_MAX_DEVICE_LUID_SIZE_EXT))
    properties.nodeMask = 1


@DEVICE_EXTENSIONS.add("ze_device_event_properties_t")
def _events(properties: ze.ze_device_event_properties_t, device: Device) -> None:
    properties.flags = (
        ze.ZE_DEVICE_EVENT_PROPERTIES_FLAG_COUNTER_BASED_EXTERNAL_AGGREGATE_STORAGE
        | ze.ZE_DEVICE_EVENT_PROPERTIES_FLAG_COUNTER_BASED_IPC
        | ze.ZE_DEVICE_EVENT_PROPERTIES_FLAG_COUNTER_BASED_EXTERNAL_SYNC_ALLOCATION
    )


@DEVICE_EXTENSIONS.add("ze_event_query_kernel_timestamps_ext_properties_t")
def _kernel_timestamps(
    properties: ze.ze_event_query_kernel_timestamps_ext_properties_t, device: Device
) -> None:
    properties.flags = (
        ze.ZE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_FLAG_KERNEL
        | ze.ZE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_FLAG_SYNCHRONIZED
    )


@DEVICE_EXTENSIONS.add("ze_device_readonly_memory_ext_properties_t")
def _readonly_memory(
    properties: ze.ze_device_readonly_memory_ext_properties_t, device: Device
) -> None:
    properties.readonlyCapability = (
        ze.ZE_DEVICE_READONLY_MEMORY_CAPABILITY_ENFORCED
        if device.gpu is None
        else ze.ZE_DEVICE_READONLY_MEMORY_CAPABILITY_NONE
    )


@DEVICE_EXTENSIONS.add("ze_mutable_command_list_exp_properties_t")
def _mutable_lists(properties: ze.ze_mutable_command_list_exp_properties_t, device: Device) -> None:
    properties.mutableCommandListFlags = 0
    properties.mutableCommandFlags = (
        ze.ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_ARGUMENTS
        | ze.ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_COUNT
        | ze.ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_SIZE
        | ze.ZE_MUTABLE_COMMAND_EXP_FLAG_GLOBAL_OFFSET
        | ze.ZE_MUTABLE_COMMAND_EXP_FLAG_SIGNAL_EVENT
        | ze.ZE_MUTABLE_COMMAND_EXP_FLAG_WAIT_EVENTS
        | ze.ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION
    )


@DEVICE_EXTENSIONS.add("ze_record_replay_graph_ext_properties_t")
def _graphs(properties: ze.ze_record_replay_graph_ext_properties_t, device: Device) -> None:
    properties.graphFlags = (
        ze.ZE_RECORD_REPLAY_GRAPH_EXT_FLAG_IMMUTABLE_GRAPH
        | ze.ZE_RECORD_REPLAY_GRAPH_EXT_FLAG_SUBGRAPHS
        | ze.ZE_RECORD_REPLAY_GRAPH_EXT_FLAG_APPEND_COMMANDLIST
    )


@DEVICE_EXTENSIONS.add("ze_rtas_device_ext_properties_t")
def _ray_tracing_structures(properties: ze.ze_rtas_device_ext_properties_t, device: Device) -> None:
    properties.flags = 0
    properties.rtasFormat = ze.ZE_RTAS_FORMAT_EXT_INVALID
    properties.rtasBufferAlignment = 0


@DEVICE_EXTENSIONS.add("ze_rtas_device_exp_properties_t")
def _ray_tracing_structures_experimental(
    properties: ze.ze_rtas_device_exp_properties_t, device: Device
) -> None:
    properties.flags = 0
    properties.rtasFormat = ze.ZE_RTAS_FORMAT_EXP_INVALID
    properties.rtasBufferAlignment = 0


@handler
def zeDeviceCanAccessPeer(hDevice: int, hPeerDevice: int, value: int) -> None:
    """The CPU's devices are parts of one machine with one memory. A GPU has its own."""
    write_bool(value, _peer_flags(platform.device(hDevice), platform.device(hPeerDevice)) != 0)


def _peer_flags(device: Device, peer: Device) -> int:
    """What kernels of a device may do with the device memory of another."""
    access = int(ze.ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS)
    both = access | int(ze.ZE_DEVICE_P2P_PROPERTY_FLAG_ATOMICS)
    if device is peer or (device.gpu is None and peer.gpu is None):
        return both
    if device.gpu is None or peer.gpu is None:
        return 0
    return (0, access, both)[_gpus().reaches(device.handle, peer.handle)]


def _gpus() -> ModuleType:
    """The native half of GPUs, which is not imported without one."""
    return importlib.import_module("groundstate.driver.devices.nvidia.native_gpu")


PEER_EXTENSIONS = Extensions("DEVICE_P2P_PROPERTIES")


@handler
def zeDeviceGetP2PProperties(hDevice: int, hPeerDevice: int, pP2PProperties: int) -> None:
    properties = ze.ze_device_p2p_properties_t.from_address(pP2PProperties)
    pair = platform.device(hDevice), platform.device(hPeerDevice)
    properties.flags = _peer_flags(*pair)
    PEER_EXTENSIONS.fill(properties, pair)


@PEER_EXTENSIONS.add("ze_device_p2p_bandwidth_exp_properties_t")
def _peer_bandwidth(
    properties: ze.ze_device_p2p_bandwidth_exp_properties_t, pair: tuple[Device, Device]
) -> None:
    """No protocol lies between two parts of one memory: logical and physical are the same."""
    measured = speed.between(*pair)
    bandwidth, properties.bandwidthUnit = speed.bandwidth(measured.copy)
    properties.logicalBandwidth = properties.physicalBandwidth = bandwidth
    latency, properties.latencyUnit = speed.latency(measured.latency)
    properties.logicalLatency = properties.physicalLatency = latency


@handler
def zeDevicePciGetPropertiesExt(hDevice: int, pPciProperties: int) -> None:
    """A CPU sits on no PCI bus: the address only tells devices apart, the speed is not known."""
    properties = ze.ze_pci_ext_properties_t.from_address(pPciProperties)
    address = properties.address
    address.domain, address.bus, address.device, address.function = platform.device(
        hDevice
    ).pci_address
    properties.maxSpeed.genVersion = -1
    properties.maxSpeed.width = -1
    properties.maxSpeed.maxBandwidth = -1


@handler
def zeDeviceGetAggregatedCopyOffloadIncrementValue(hDevice: int, incrementValue: int) -> None:
    """A copy is one operation here, however many CPUs share it."""
    write_u32(incrementValue, 1)


@handler
def zeDeviceGetCounterBasedEventMaxValue(hDevice: int, maxValue: int) -> None:
    write_u64(maxValue, COUNTER_MAX)
