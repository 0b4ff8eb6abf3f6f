"""Devices: what runs the work, and what it says of itself."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import UUID

from groundstate import ze
from groundstate.core.device_extensions import extension_properties
from groundstate.core.enums import DeviceFlag, DeviceType, QueueGroupFlag
from groundstate.core.handle import Handle, Resource
from groundstate.core.properties import (
    CacheProperties,
    ComputeProperties,
    DeviceProperties,
    ExternalMemoryProperties,
    ImageProperties,
    MemoryAccessProperties,
    MemoryProperties,
    ModuleProperties,
    PciAddress,
    PeerProperties,
    PeerSpeed,
    Properties,
    QueueGroup,
)

if TYPE_CHECKING:
    from typing import TypeVar

    from groundstate.core.driver import Driver
    from groundstate.core.fabric import FabricVertex
    from groundstate.core.sysman import SysmanDevice

    AnyProperties = TypeVar("AnyProperties", bound=Properties)


@dataclass(frozen=True)
class Timer:
    """The clock with which a device stamps its work."""

    resolution_ns: int
    """Nanoseconds between two ticks."""
    valid_bits: int
    """How many bits of a global timestamp count before it starts again from zero."""
    kernel_valid_bits: int
    """The same for the timestamps of events."""

    def nanoseconds(self, start: int, end: int, *, kernel: bool = False) -> int:
        """The time from one timestamp to a later one, also when the clock went round in between.

        >>> Timer(resolution_ns=10, valid_bits=8, kernel_valid_bits=8).nanoseconds(250, 4)
        100
        """
        bits = self.kernel_valid_bits if kernel else self.valid_bits
        return ((end - start) & ((1 << bits) - 1)) * self.resolution_ns


class Device(Handle):
    """A device of a driver, or a part of one.

    Its properties are read once and kept. The most wanted have names of their own; all of them are
    in `properties`, `compute_properties`, `memories` and so on, one object for each question that
    Level Zero has.

    >>> import groundstate as gs
    >>> device = gs.devices()[0]
    >>> device.type.name
    'GPU'
    >>> device.memory_bytes == sum(memory.total_bytes for memory in device.memories)
    True
    >>> [gs.QueueGroupFlag.COPY in group.flags for group in device.queue_groups]
    [True, True]
    """

    def __init__(self, driver: Driver, handle: int) -> None:
        self.driver = driver
        self._resource = Resource(driver.api, handle, None, driver.resource)

    def _describe(self) -> str:
        kind = self.type.name if isinstance(self.type, DeviceType) else f"type {self.type}"
        part = ", sub-device" * self.is_sub_device
        return f"{self.label} {self.name!r} ({kind}{part}, uuid {str(self.uuid)[:8]}...)"

    @cached_property
    def label(self) -> str:
        """The place of the device in its driver, `0`, or that of a sub-device in it, `0.1`.

        >>> import groundstate as gs
        >>> gs.devices()[0].label
        '0'
        """
        root = self.root_device
        if root is not None:
            return f"{root.label}.{root.sub_devices.index(self)}"
        listed = self.driver.devices
        return str(listed.index(self)) if self in listed else ""

    def _one(self, kind: type[AnyProperties], function: str, *arguments: Any) -> AnyProperties:
        return kind.read(self.api.struct(kind.struct(), function, self.handle, *arguments))

    def _all(self, kind: type[AnyProperties], function: str) -> tuple[AnyProperties, ...]:
        return tuple(map(kind.read, self.api.structs(kind.struct(), function, self.handle)))

    # --- What Level Zero can be asked, one answer for each question -------------------------------

    @cached_property
    def properties(self) -> DeviceProperties:
        """What the device is: name, identity, shape, clocks and limits."""
        return self._one(DeviceProperties, "zeDeviceGetProperties")

    @cached_property
    def compute_properties(self) -> ComputeProperties:
        """How large the work-groups of a kernel may be."""
        return self._one(ComputeProperties, "zeDeviceGetComputeProperties")

    @cached_property
    def module_properties(self) -> ModuleProperties:
        """What kernels may use."""
        return self._one(ModuleProperties, "zeDeviceGetModuleProperties")

    @cached_property
    def queue_groups(self) -> tuple[QueueGroup, ...]:
        """The groups of queues; the place of a group is its ordinal."""
        return self._all(QueueGroup, "zeDeviceGetCommandQueueGroupProperties")

    @cached_property
    def memories(self) -> tuple[MemoryProperties, ...]:
        """The memories of the device."""
        return self._all(MemoryProperties, "zeDeviceGetMemoryProperties")

    @cached_property
    def memory_access(self) -> MemoryAccessProperties:
        """What the device can do with host, device and shared allocations."""
        return self._one(MemoryAccessProperties, "zeDeviceGetMemoryAccessProperties")

    @cached_property
    def caches(self) -> tuple[CacheProperties, ...]:
        """The caches of the device, in the driver's order."""
        return self._all(CacheProperties, "zeDeviceGetCacheProperties")

    @cached_property
    def image_properties(self) -> ImageProperties:
        """How large images may be; all zero for a device without images."""
        return self._one(ImageProperties, "zeDeviceGetImageProperties")

    @cached_property
    def external_memory(self) -> ExternalMemoryProperties:
        """How memory can be exchanged with other APIs."""
        return self._one(ExternalMemoryProperties, "zeDeviceGetExternalMemoryProperties")

    @cached_property
    def extension_properties(self) -> dict[str, Any]:
        """What the extensions of the driver add to all of this, by the name of the struct."""
        return extension_properties(self.api, self.handle, self.driver.extensions)

    # --- The most wanted --------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the device."""
        return self.properties.name

    @property
    def type(self) -> DeviceType:
        """What kind of thing the device is, or says it is."""
        return self.properties.type

    @property
    def uuid(self) -> UUID:
        """The identity of the device on this machine."""
        return self.properties.uuid

    @property
    def memory_bytes(self) -> int:
        """The size of all memories of the device together."""
        return sum(memory.total_bytes for memory in self.memories)

    @property
    def max_allocation_bytes(self) -> int:
        """The largest single allocation."""
        return self.properties.max_allocation_bytes

    @cached_property
    def timer(self) -> Timer:
        """The clock with which the device stamps its work."""
        facts = self.properties
        return Timer(
            facts.timer_resolution_ns, facts.timestamp_valid_bits, facts.kernel_timestamp_valid_bits
        )

    @property
    def is_sub_device(self) -> bool:
        """True if this is a part of another device."""
        return bool(self.properties.flags & DeviceFlag.SUBDEVICE)

    @cached_property
    def sub_devices(self) -> tuple[Device, ...]:
        """The parts of the device that can be used on their own."""
        return self.driver._known(self.api.handles("zeDeviceGetSubDevices", self.handle))

    @cached_property
    def root_device(self) -> Device | None:
        """The device that this is a part of, or None."""
        if self.driver.api_version < (1, 7):
            return None
        handle = self.api.create("zeDeviceGetRootDevice", self.handle)
        return self.driver._known([handle])[0] if handle else None

    @cached_property
    def peers(self) -> tuple[Device, ...]:
        """The other devices and sub-devices of the driver whose memory this one can use directly.

        What it is a part of, and its own parts, are not among them.
        """
        root = self.root_device or self
        others = [
            each
            for device in self.driver.devices
            for each in (device, *device.sub_devices)
            if each not in (self, root) and (self is not root or each.root_device is not self)
        ]
        return tuple(other for other in others if self.can_access(other))

    @cached_property
    def fabric_vertex(self) -> FabricVertex:
        """The place of the device in the fabric."""
        from groundstate.core.fabric import FabricVertex

        handle = self.api.create("zeDeviceGetFabricVertexExp", self.handle)
        return FabricVertex(self.driver, handle)

    @cached_property
    def sysman(self) -> SysmanDevice:
        """What the device is doing, how warm it is, what it uses, and who uses it.

        A sub-device is watched with the device that it is a part of, whose parts say where they
        belong.
        """
        from groundstate.core.sysman.discovery import sysman_of

        return sysman_of(self)

    def queue_ordinal(self, flags: QueueGroupFlag) -> int:
        """The first queue group that has all of these abilities and the fewest others.

        >>> import groundstate as gs
        >>> gs.devices()[0].queue_ordinal(gs.QueueGroupFlag.COPY)
        1
        """
        fitting = [
            (group.flags.bit_count(), ordinal)
            for ordinal, group in enumerate(self.queue_groups)
            if group.flags & flags == flags
        ]
        if not fitting:
            raise ValueError(f"{self.name} has no queue group for {flags.name}")
        return min(fitting)[1]

    # --- Questions with an argument, or whose answer changes --------------------------------------

    def global_timestamps(self) -> tuple[int, int]:
        """The clock of the host in nanoseconds and that of the device in ticks, read together."""
        host, device = ctypes.c_uint64(), ctypes.c_uint64()
        self.api.call(
            "zeDeviceGetGlobalTimestamps", self.handle, ctypes.byref(host), ctypes.byref(device)
        )
        return host.value, device.value

    def can_access(self, peer: Device) -> bool:
        """True if this device can use the memory of the other one directly."""
        answer = ctypes.c_uint8()
        self.api.call("zeDeviceCanAccessPeer", self.handle, peer.handle, ctypes.byref(answer))
        return bool(answer.value)

    def peer_properties(self, peer: Device) -> PeerProperties:
        """What this device can do with the memory of the other one."""
        return self._one(PeerProperties, "zeDeviceGetP2PProperties", peer.handle)

    def peer_speed(self, peer: Device) -> PeerSpeed:
        """How fast this device reaches the memory of the other one, or its own.

        Our own driver measures it when it is first asked, which takes a moment.
        """
        kind = PeerSpeed.struct()
        head, tail = ze.ze_device_p2p_properties_t(), kind()
        head.pNext = ctypes.addressof(tail)
        self.api.call("zeDeviceGetP2PProperties", self.handle, peer.handle, ctypes.byref(head))
        return PeerSpeed.read(tail)

    def usable_memory_bytes(self) -> int:
        """How much of its memory can be allocated now; all of it if the driver does not tell."""
        if ze.ZE_DEVICE_USABLEMEM_SIZE_PROPERTIES_EXT_NAME not in self.driver.extensions:
            return self.memory_bytes
        head = ze.ze_device_properties_t()
        tail = ze.ze_device_usablemem_size_ext_properties_t()
        head.pNext = ctypes.addressof(tail)
        self.api.call("zeDeviceGetProperties", self.handle, ctypes.byref(head))
        return int(tail.currUsableMemSize)

    def check_status(self) -> None:
        """Raises `DeviceLost`, or what else is wrong, if the device does not work."""
        self.api.call("zeDeviceGetStatus", self.handle)

    @cached_property
    def pci_address(self) -> str | None:
        """The place of the device on the PCI bus, such as "0000:03:00.0", or None."""
        if ze.ZE_PCI_PROPERTIES_EXT_NAME not in self.driver.extensions:
            return None
        kind = ze.ze_pci_ext_properties_t
        at = self.api.struct(kind, "zeDevicePciGetPropertiesExt", self.handle).address
        return str(PciAddress(at.domain, at.bus, at.device, at.function))
