"""What drivers and devices say of themselves, as frozen dataclasses read from the API's structs.

A class names its struct. Each of its fields is found in the struct by its name without underscores
(`sub_group_sizes` is `subGroupSizes`), or has the struct's name beside its type where another name
is plainer or tells the unit. A test holds that no field of a struct is forgotten.
"""

from __future__ import annotations

import ctypes
import dataclasses
import enum
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple, Self
from uuid import UUID

from groundstate import _raw, ze
from groundstate.core.enums import (
    BandwidthUnit,
    CacheFlag,
    DeviceFlag,
    DeviceType,
    ExternalMemoryType,
    FabricDuplexity,
    FabricVertexType,
    FloatFlag,
    LatencyUnit,
    MemoryAccess,
    MemoryFlag,
    ModuleFlag,
    PeerFlag,
    QueueGroupFlag,
)

HEADER = ("stype", "pNext")


class PciAddress(NamedTuple):
    """The place of a device on the PCI bus."""

    domain: int
    bus: int
    device: int
    function: int

    def __str__(self) -> str:
        return f"{self.domain:04x}:{self.bus:02x}:{self.device:02x}.{self.function:x}"


@dataclass(frozen=True)
class Properties:
    """Facts that were read from a struct of the API."""

    STRUCT: ClassVar[str] = ""

    @classmethod
    def read(cls, struct: _raw.Structure) -> Self:
        """The facts in a struct that the driver has filled in."""
        values = {
            name: _value(getattr(struct, raw), kind) for name, raw, kind in cls._fields_of_struct()
        }
        return cls(**values)

    @classmethod
    @cache
    def _fields_of_struct(cls) -> tuple[tuple[str, str, Any], ...]:
        """Name here, name there and type of each field."""
        names = {name.lower(): name for name, *_ in getattr(ze, cls.STRUCT)._fields_}
        hints = typing.get_type_hints(cls, include_extras=True)
        return tuple(
            _mapped(each.name, hints[each.name], names) for each in dataclasses.fields(cls)
        )

    @classmethod
    def struct(cls) -> Any:
        """The struct that this is read from."""
        return getattr(ze, cls.STRUCT)


def _mapped(name: str, hint: Any, names: dict[str, str]) -> tuple[str, str, Any]:
    if typing.get_origin(hint) is Annotated:
        kind, raw = typing.get_args(hint)
        return name, raw, kind
    return name, names[name.replace("_", "")], hint


def _value(value: Any, kind: Any) -> object:
    """A field of a struct as Python has it."""
    if kind is str:
        return value.decode(errors="replace")
    if kind is UUID:
        return UUID(bytes=bytes(value.id))
    if kind is PciAddress:
        return PciAddress(value.domain, value.bus, value.device, value.function)
    if kind is bool:
        return bool(value)
    if isinstance(value, ctypes.Array):
        return tuple(value)
    if isinstance(kind, type) and issubclass(kind, enum.IntFlag):
        return kind(value)
    if isinstance(kind, type) and issubclass(kind, enum.IntEnum):
        return kind(value) if value in kind._value2member_map_ else value
    return value


@dataclass(frozen=True)
class DeviceProperties(Properties):
    """What a device is."""

    STRUCT = "ze_device_properties_t"

    name: str
    type: DeviceType
    uuid: UUID
    vendor_id: int
    device_id: int
    flags: DeviceFlag
    sub_device_id: int
    core_clock_mhz: Annotated[int, "coreClockRate"]
    max_allocation_bytes: Annotated[int, "maxMemAllocSize"]
    max_hardware_contexts: int
    max_command_queue_priority: int
    num_threads_per_eu: int
    physical_eu_simd_width: int
    num_eus_per_subslice: int
    num_subslices_per_slice: int
    num_slices: int
    timer_resolution_ns: Annotated[int, "timerResolution"]
    timestamp_valid_bits: int
    kernel_timestamp_valid_bits: int


@dataclass(frozen=True)
class ComputeProperties(Properties):
    """How large the work-groups of a kernel may be."""

    STRUCT = "ze_device_compute_properties_t"

    max_total_group_size: int
    max_group_size_x: int
    max_group_size_y: int
    max_group_size_z: int
    max_group_count_x: int
    max_group_count_y: int
    max_group_count_z: int
    max_local_memory_bytes: Annotated[int, "maxSharedLocalMemory"]
    num_sub_group_sizes: int
    sub_group_sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        sizes = self.sub_group_sizes[: self.num_sub_group_sizes]
        object.__setattr__(self, "sub_group_sizes", sizes)


@dataclass(frozen=True)
class ModuleProperties(Properties):
    """What kernels may use."""

    STRUCT = "ze_device_module_properties_t"

    spirv_version: Annotated[int, "spirvVersionSupported"]
    flags: ModuleFlag
    fp16_flags: FloatFlag
    fp32_flags: FloatFlag
    fp64_flags: FloatFlag
    max_arguments_bytes: Annotated[int, "maxArgumentsSize"]
    printf_buffer_bytes: Annotated[int, "printfBufferSize"]
    native_kernel: Annotated[UUID, "nativeKernelSupported"]


@dataclass(frozen=True)
class QueueGroup(Properties):
    """A group of like queues; its place in `Device.queue_groups` is the ordinal of a queue."""

    STRUCT = "ze_command_queue_group_properties_t"

    flags: QueueGroupFlag
    max_fill_pattern_bytes: Annotated[int, "maxMemoryFillPatternSize"]
    num_queues: int


@dataclass(frozen=True)
class MemoryProperties(Properties):
    """A memory of a device."""

    STRUCT = "ze_device_memory_properties_t"

    name: str
    total_bytes: Annotated[int, "totalSize"]
    max_clock_mhz: Annotated[int, "maxClockRate"]
    max_bus_width_bits: Annotated[int, "maxBusWidth"]
    flags: MemoryFlag


@dataclass(frozen=True)
class MemoryAccessProperties(Properties):
    """What a device can do with each kind of allocation."""

    STRUCT = "ze_device_memory_access_properties_t"

    host: Annotated[MemoryAccess, "hostAllocCapabilities"]
    device: Annotated[MemoryAccess, "deviceAllocCapabilities"]
    shared_single_device: Annotated[MemoryAccess, "sharedSingleDeviceAllocCapabilities"]
    shared_cross_device: Annotated[MemoryAccess, "sharedCrossDeviceAllocCapabilities"]
    shared_system: Annotated[MemoryAccess, "sharedSystemAllocCapabilities"]


@dataclass(frozen=True)
class CacheProperties(Properties):
    """A cache of a device."""

    STRUCT = "ze_device_cache_properties_t"

    size_bytes: Annotated[int, "cacheSize"]
    flags: CacheFlag


@dataclass(frozen=True)
class ImageProperties(Properties):
    """How large images may be."""

    STRUCT = "ze_device_image_properties_t"

    max_dims_1d: Annotated[int, "maxImageDims1D"]
    max_dims_2d: Annotated[int, "maxImageDims2D"]
    max_dims_3d: Annotated[int, "maxImageDims3D"]
    max_buffer_bytes: Annotated[int, "maxImageBufferSize"]
    max_array_slices: Annotated[int, "maxImageArraySlices"]
    max_samplers: int
    max_read_image_args: int
    max_write_image_args: int


@dataclass(frozen=True)
class ExternalMemoryProperties(Properties):
    """How memory can be exchanged with other APIs."""

    STRUCT = "ze_device_external_memory_properties_t"

    memory_import_types: Annotated[ExternalMemoryType, "memoryAllocationImportTypes"]
    memory_export_types: Annotated[ExternalMemoryType, "memoryAllocationExportTypes"]
    image_import_types: ExternalMemoryType
    image_export_types: ExternalMemoryType


@dataclass(frozen=True)
class PeerProperties(Properties):
    """What a device can do with the memory of another."""

    STRUCT = "ze_device_p2p_properties_t"

    flags: PeerFlag


@dataclass(frozen=True)
class PeerSpeed(Properties):
    """How fast a device reaches the memory of another; 0 with the unit UNKNOWN if nobody knows."""

    STRUCT = "ze_device_p2p_bandwidth_exp_properties_t"

    logical_bandwidth: int
    physical_bandwidth: int
    bandwidth_unit: BandwidthUnit
    logical_latency: int
    physical_latency: int
    latency_unit: LatencyUnit


@dataclass(frozen=True)
class FabricVertexProperties(Properties):
    """What stands at a place in the fabric."""

    STRUCT = "ze_fabric_vertex_exp_properties_t"

    uuid: UUID
    type: FabricVertexType
    remote: bool
    address: PciAddress


@dataclass(frozen=True)
class FabricEdgeProperties(Properties):
    """What links two places in the fabric."""

    STRUCT = "ze_fabric_edge_exp_properties_t"

    uuid: UUID
    model: str
    bandwidth: int
    bandwidth_unit: BandwidthUnit
    latency: int
    latency_unit: LatencyUnit
    duplexity: FabricDuplexity


def plain_struct(struct: Any) -> dict[str, Any]:
    """A struct as a dict of plain values, enumerations by name, without its header."""
    return {name: _plain_field(struct, name) for name in _field_names(struct)}


def _field_names(struct: Any) -> Iterator[str]:
    return (name for name, *_ in struct._fields_ if name not in HEADER)


def _plain_field(struct: Any, name: str) -> Any:
    value = getattr(struct, name)
    enumeration = struct._enums_.get(name)
    if enumeration is not None:
        return enum_names(getattr(ze, enumeration), value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, ctypes.Array):
        return [plain_struct(item) if hasattr(item, "_fields_") else item for item in value]
    return plain_struct(value) if hasattr(value, "_fields_") else value


def enum_names(kind: Any, value: int) -> str | list[str]:
    """The name of a value, or the names of the flags in it."""
    if issubclass(kind, enum.IntFlag):
        return [str(member.name) for member in kind if value & member]
    return str(kind(value).name) if value in kind._value2member_map_ else str(value)
