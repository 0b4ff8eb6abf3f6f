"""The place of a device on the PCI bus, its link, and what went through it."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from groundstate.core.properties import PciAddress
from groundstate.core.sysman.enums import (
    DeviceAction,
    PciBarType,
    PciLinkStatus,
    PciQualityIssue,
    PciStabilityIssue,
)
from groundstate.core.sysman.part import Look, record, records
from groundstate.core.sysman.records import Record

if TYPE_CHECKING:
    from groundstate.core.sysman.device import SysmanDevice


@dataclass(frozen=True, slots=True)
class PciSpeed(Record):
    """What a link can carry, or carries."""

    STRUCT = "zes_pci_speed_t"

    generation: Annotated[int | None, "gen"]
    lanes: Annotated[int | None, "width"]
    bytes_per_second: Annotated[int | None, "maxBandwidth"]


@dataclass(frozen=True, slots=True)
class PciProperties(Record):
    """Where a device is on the bus, and what it counts."""

    STRUCT = "zes_pci_properties_t"

    address: PciAddress
    maximum: Annotated[PciSpeed, "maxSpeed"]
    has_bandwidth_counters: Annotated[bool, "haveBandwidthCounters"]
    has_packet_counters: Annotated[bool, "havePacketCounters"]
    has_replay_counters: Annotated[bool, "haveReplayCounters"]


@dataclass(frozen=True, slots=True)
class PciState(Record):
    """How well the link works, and how fast it is now."""

    STRUCT = "zes_pci_state_t"

    status: PciLinkStatus
    quality_issues: PciQualityIssue
    stability_issues: PciStabilityIssue
    speed: PciSpeed


@dataclass(frozen=True, slots=True)
class PciBar(Record):
    """A window into a device."""

    STRUCT = "zes_pci_bar_properties_t"

    type: PciBarType
    index: int
    base: int
    size_bytes: Annotated[int, "size"]


@dataclass(frozen=True, slots=True)
class PciStats(Record):
    """What went through the link so far, and when that was read."""

    STRUCT = "zes_pci_stats_t"

    timestamp_us: Annotated[int, "timestamp"]
    replays: Annotated[int | None, "replayCounter"]
    packets: Annotated[int | None, "packetCounter"]
    received_bytes: Annotated[int | None, "rxCounter"]
    sent_bytes: Annotated[int | None, "txCounter"]
    speed: PciSpeed


@dataclass(frozen=True, slots=True)
class PciReading(Record):
    """The PCI link in a snapshot."""

    address: PciAddress
    maximum: PciSpeed
    state: PciState | None
    stats: PciStats | None


class Pci:
    """The place of a device on the PCI bus."""

    def __init__(self, sysman: SysmanDevice, properties: PciProperties) -> None:
        self.sysman = sysman
        self.properties = properties

    def __repr__(self) -> str:
        return f"<Pci {self.address}>"

    @classmethod
    def of(cls, sysman: SysmanDevice) -> Pci | None:
        """The place of a device, or None for one that is on no bus."""
        name = "zesDevicePciGetProperties"
        properties = record(PciProperties, sysman.api, name, sysman.handle)
        return cls(sysman, properties) if properties else None

    @property
    def address(self) -> PciAddress:
        """Where it is."""
        return self.properties.address

    @property
    def state(self) -> PciState | None:
        """How well the link works now."""
        return record(PciState, self.sysman.api, "zesDevicePciGetState", self.sysman.handle)

    @cached_property
    def bars(self) -> tuple[PciBar, ...]:
        """The windows into the device."""
        name = "zesDevicePciGetBars"
        return records(PciBar, self.sysman.api, name, self.sysman.handle) or ()

    @property
    def stats(self) -> PciStats | None:
        """What went through the link so far; what is not counted is None."""
        found = record(PciStats, self.sysman.api, "zesDevicePciGetStats", self.sysman.handle)
        if found is None:
            return None
        facts = self.properties
        return replace(
            found,
            replays=found.replays if facts.has_replay_counters else None,
            packets=found.packets if facts.has_packet_counters else None,
            received_bytes=found.received_bytes if facts.has_bandwidth_counters else None,
            sent_bytes=found.sent_bytes if facts.has_bandwidth_counters else None,
        )

    def set_slow_link(self, slow: bool) -> DeviceAction:
        """Asks for a slower link, or for the full speed; says what has to be done before it is."""
        pending = ctypes.c_uint32()
        name = "zesDevicePciLinkSpeedUpdateExt"
        self.sysman.api.call(name, self.sysman.handle, slow, ctypes.byref(pending))
        return DeviceAction(pending.value)

    def reading(self, look: Look) -> PciReading:
        """All of it, for a snapshot."""
        return PciReading(
            self.address,
            self.properties.maximum,
            look.at("pci.state", lambda: self.state),
            look.at("pci.stats", lambda: self.stats),
        )
