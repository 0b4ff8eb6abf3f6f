"""Memories: how large, how full, how healthy, and how busy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from groundstate.core.sysman.enums import MemoryHealth, MemoryLocation, MemoryModuleType
from groundstate.core.sysman.part import Look, Part, PartProperties
from groundstate.core.sysman.records import Mark, Record


@dataclass(frozen=True, slots=True)
class MemoryModuleProperties(PartProperties):
    """What a memory is."""

    STRUCT = "zes_mem_properties_t"

    type: MemoryModuleType
    location: MemoryLocation
    physical_bytes: Annotated[int | None, "physicalSize", Mark.ZERO_IS_UNKNOWN]
    bus_width_bits: Annotated[int | None, "busWidth"]
    channels: Annotated[int | None, "numChannels"]


@dataclass(frozen=True, slots=True)
class MemoryState(Record):
    """How full a memory is."""

    STRUCT = "zes_mem_state_t"

    health: MemoryHealth
    free_bytes: Annotated[int, "free"]
    size_bytes: Annotated[int, "size"]

    @property
    def used_bytes(self) -> int:
        """What is not free."""
        return self.size_bytes - self.free_bytes


@dataclass(frozen=True, slots=True)
class MemoryBandwidth(Record):
    """What went through a memory so far, and when that was read."""

    STRUCT = "zes_mem_bandwidth_t"

    read_bytes: Annotated[int, "readCounter"]
    written_bytes: Annotated[int, "writeCounter"]
    maximum_bytes_per_second: Annotated[int | None, "maxBandwidth", Mark.ZERO_IS_UNKNOWN]
    timestamp_us: Annotated[int, "timestamp"]


@dataclass(frozen=True, slots=True)
class MemoryReading(Record):
    """A memory in a snapshot."""

    type: MemoryModuleType
    location: MemoryLocation
    subdevice: int | None
    physical_bytes: int | None
    size_bytes: int | None
    free_bytes: int | None
    used_bytes: int | None
    health: MemoryHealth | None
    bandwidth: MemoryBandwidth | None


class MemoryModule(Part[MemoryModuleProperties]):
    """A memory of a device.

    >>> import groundstate as gs
    >>> memory = gs.devices()[0].sysman.memory[0]
    >>> state = memory.state
    >>> 0 <= state.used_bytes <= state.size_bytes
    True
    """

    ENUMERATE = "zesDeviceEnumMemoryModules"
    DESCRIBE = "zesMemoryGetProperties"
    FACTS = MemoryModuleProperties

    def _describe(self) -> str:
        return f"{self.properties.location.name} {self.properties.type.name}"

    @property
    def state(self) -> MemoryState | None:
        """How full it is now."""
        return self._record(MemoryState, "zesMemoryGetState")

    @property
    def free_bytes(self) -> int | None:
        """How much can still be allocated."""
        state = self.state
        return state.free_bytes if state else None

    @property
    def size_bytes(self) -> int | None:
        """How much can be allocated in all."""
        state = self.state
        return state.size_bytes if state else None

    @property
    def bandwidth(self) -> MemoryBandwidth | None:
        """What went through it so far."""
        return self._record(MemoryBandwidth, "zesMemoryGetBandwidth")

    def reading(self, look: Look) -> MemoryReading:
        """All of it, for a snapshot."""
        facts, name = self.properties, f"memory[{self.index}]"
        state = look.at(f"{name}.state", lambda: self.state)
        return MemoryReading(
            facts.type,
            facts.location,
            facts.subdevice,
            facts.physical_bytes,
            state.size_bytes if state else None,
            state.free_bytes if state else None,
            state.used_bytes if state else None,
            state.health if state else None,
            look.at(f"{name}.bandwidth", lambda: self.bandwidth),
        )
