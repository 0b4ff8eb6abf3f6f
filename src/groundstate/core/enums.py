"""The enumerations of the object layer: those of the API under shorter names, with their values."""

from __future__ import annotations

from enum import IntEnum, IntFlag


class DeviceType(IntEnum):
    """What kind of thing a device is."""

    GPU = 1
    CPU = 2
    FPGA = 3
    MCA = 4
    VPU = 5


class DeviceFlag(IntFlag):
    """What is true of a device."""

    INTEGRATED = 1
    SUBDEVICE = 2
    ECC = 4
    ONDEMANDPAGING = 8


class QueueGroupFlag(IntFlag):
    """What the queues of a group can do."""

    COMPUTE = 1
    COPY = 2
    COOPERATIVE_KERNELS = 4
    METRICS = 8


class QueueMode(IntEnum):
    """Whether submitting work waits until the work is done."""

    DEFAULT = 0
    SYNCHRONOUS = 1
    ASYNCHRONOUS = 2


class QueuePriority(IntEnum):
    """Which queue goes first when the device has more work than it can do at once."""

    NORMAL = 0
    LOW = 1
    HIGH = 2


class MemoryType(IntEnum):
    """Who owns an allocation, and so who can reach it."""

    UNKNOWN = 0
    HOST = 1
    DEVICE = 2
    SHARED = 3
    HOST_IMPORTED = 4


class MemoryFlag(IntFlag):
    """What is true of a memory of a device; the API has no flags here yet."""

    TBD = 1


class MemoryAccess(IntFlag):
    """What a device can do with memory of some kind."""

    RW = 1
    ATOMIC = 2
    CONCURRENT = 4
    CONCURRENT_ATOMIC = 8


class CacheFlag(IntFlag):
    """What is true of a cache."""

    USER_CONTROL = 1


class ModuleFlag(IntFlag):
    """What kernels can use."""

    FP16 = 1
    FP64 = 2
    INT64_ATOMICS = 4
    DP4A = 8


class FloatFlag(IntFlag):
    """What holds for floating-point numbers of some width."""

    DENORM = 1
    INF_NAN = 2
    ROUND_TO_NEAREST = 4
    ROUND_TO_ZERO = 8
    ROUND_TO_INF = 16
    FMA = 32
    ROUNDED_DIVIDE_SQRT = 64
    SOFT_FLOAT = 128


class ExternalMemoryType(IntFlag):
    """The ways in which memory can come from, or go to, another API."""

    OPAQUE_FD = 1
    DMA_BUF = 2
    OPAQUE_WIN32 = 4
    OPAQUE_WIN32_KMT = 8
    D3D11_TEXTURE = 16
    D3D11_TEXTURE_KMT = 32
    D3D12_HEAP = 64
    D3D12_RESOURCE = 128


class PeerFlag(IntFlag):
    """What a device can do with the memory of another."""

    ACCESS = 1
    ATOMICS = 2


class BandwidthUnit(IntEnum):
    """What a bandwidth counts."""

    UNKNOWN = 0
    BYTES_PER_NANOSEC = 1
    BYTES_PER_CLOCK = 2


class LatencyUnit(IntEnum):
    """What a latency counts."""

    UNKNOWN = 0
    NANOSEC = 1
    CLOCK = 2
    HOP = 3


class FabricVertexType(IntEnum):
    """What stands at a place in the fabric."""

    UNKNOWN = 0
    DEVICE = 1
    SUBDEVICE = 2
    SWITCH = 3


class FabricDuplexity(IntEnum):
    """Whether a link has its bandwidth in both directions at once."""

    UNKNOWN = 0
    HALF_DUPLEX = 1
    FULL_DUPLEX = 2


class IpcFlag(IntFlag):
    """What processes can share."""

    MEMORY = 1
    EVENT_POOL = 2
    FABRIC_ACCESSIBLE = 4


class EventScope(IntFlag):
    """Who has to see the memory that was written before an event was signalled."""

    NONE = 0
    SUBDEVICE = 1
    DEVICE = 2
    HOST = 4


class Access(IntEnum):
    """What may be done with a range of virtual memory."""

    NONE = 0
    READWRITE = 1
    READONLY = 2


class Advice(IntEnum):
    """How a range of memory is going to be used."""

    SET_READ_MOSTLY = 0
    CLEAR_READ_MOSTLY = 1
    SET_PREFERRED_LOCATION = 2
    CLEAR_PREFERRED_LOCATION = 3
    SET_NON_ATOMIC_MOSTLY = 4
    CLEAR_NON_ATOMIC_MOSTLY = 5
    BIAS_CACHED = 6
    BIAS_UNCACHED = 7
    SET_SYSTEM_MEMORY_PREFERRED_LOCATION = 8
    CLEAR_SYSTEM_MEMORY_PREFERRED_LOCATION = 9


class AddressMode(IntEnum):
    """What a sampler makes of coordinates outside of an image."""

    NONE = 0
    REPEAT = 1
    CLAMP = 2
    CLAMP_TO_BORDER = 3
    MIRROR = 4


class FilterMode(IntEnum):
    """Whether a sampler takes the nearest texel, or a mean of those around."""

    NEAREST = 0
    LINEAR = 1


class CacheConfig(IntFlag):
    """What a kernel would rather have much of, where a cache is divided between the two."""

    NONE = 0
    LARGE_SLM = 1
    LARGE_DATA = 2


class IndirectAccess(IntFlag):
    """Which memory a kernel reaches through pointers that it finds in memory."""

    NONE = 0
    HOST = 1
    DEVICE = 2
    SHARED = 4


RAW_NAMES: dict[type[IntEnum] | type[IntFlag], str] = {
    DeviceType: "ze_device_type_t",
    DeviceFlag: "ze_device_property_flag_t",
    QueueGroupFlag: "ze_command_queue_group_property_flag_t",
    QueueMode: "ze_command_queue_mode_t",
    QueuePriority: "ze_command_queue_priority_t",
    MemoryType: "ze_memory_type_t",
    MemoryFlag: "ze_device_memory_property_flag_t",
    MemoryAccess: "ze_memory_access_cap_flag_t",
    CacheFlag: "ze_device_cache_property_flag_t",
    ModuleFlag: "ze_device_module_flag_t",
    FloatFlag: "ze_device_fp_flag_t",
    ExternalMemoryType: "ze_external_memory_type_flag_t",
    PeerFlag: "ze_device_p2p_property_flag_t",
    BandwidthUnit: "ze_bandwidth_unit_t",
    LatencyUnit: "ze_latency_unit_t",
    FabricVertexType: "ze_fabric_vertex_exp_type_t",
    FabricDuplexity: "ze_fabric_edge_exp_duplexity_t",
    IpcFlag: "ze_ipc_property_flag_t",
    EventScope: "ze_event_scope_flag_t",
    Access: "ze_memory_access_attribute_t",
    Advice: "ze_memory_advice_t",
    AddressMode: "ze_sampler_address_mode_t",
    FilterMode: "ze_sampler_filter_mode_t",
    CacheConfig: "ze_cache_config_flag_t",
    IndirectAccess: "ze_kernel_indirect_access_flag_t",
}
"""The enumeration of the API behind each of these; a test compares their members."""
