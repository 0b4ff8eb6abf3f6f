"""Power supplies: mains adapters and batteries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from groundstate.core.sysman.enums import VoltageStatus
from groundstate.core.sysman.part import Look, Part, PartProperties
from groundstate.core.sysman.records import Record


@dataclass(frozen=True, slots=True)
class PowerSupplyProperties(PartProperties):
    """What a power supply is."""

    STRUCT = "zes_psu_properties_t"

    has_fan: Annotated[bool, "haveFan"]
    limit_milliamperes: Annotated[int | None, "ampLimit"]


@dataclass(frozen=True, slots=True)
class PowerSupplyState(Record):
    """How a power supply does."""

    STRUCT = "zes_psu_state_t"

    voltage: Annotated[VoltageStatus, "voltStatus"]
    fan_failed: bool
    celsius: Annotated[int | None, "temperature"]
    milliamperes: Annotated[int | None, "current"]


@dataclass(frozen=True, slots=True)
class PowerSupplyReading(Record):
    """A power supply in a snapshot."""

    subdevice: int | None
    limit_milliamperes: int | None
    voltage: VoltageStatus | None
    fan_failed: bool | None
    celsius: int | None
    milliamperes: int | None


class PowerSupply(Part[PowerSupplyProperties]):
    """A power supply of a device."""

    ENUMERATE = "zesDeviceEnumPsus"
    DESCRIBE = "zesPsuGetProperties"
    FACTS = PowerSupplyProperties

    @property
    def state(self) -> PowerSupplyState | None:
        """How it does now."""
        return self._record(PowerSupplyState, "zesPsuGetState")

    def reading(self, look: Look) -> PowerSupplyReading:
        """All of it, for a snapshot."""
        facts = self.properties
        state = look.at(f"psus[{self.index}].state", lambda: self.state)
        return PowerSupplyReading(
            facts.subdevice,
            facts.limit_milliamperes,
            state.voltage if state else None,
            state.fan_failed if state else None,
            state.celsius if state else None,
            state.milliamperes if state else None,
        )
