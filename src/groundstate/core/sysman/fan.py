"""Fans: how fast they turn, and who decides that."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from groundstate import zes
from groundstate.core.sysman.enums import FanMode, FanUnit
from groundstate.core.sysman.part import Look, Part, PartProperties
from groundstate.core.sysman.records import CHAINED, Record


@dataclass(frozen=True, slots=True)
class FanProperties(PartProperties):
    """What a fan can do."""

    STRUCT = "zes_fan_properties_t"

    can_control: bool
    mode_bits: Annotated[int, "supportedModes"]
    unit_bits: Annotated[int, "supportedUnits"]
    maximum_rpm: Annotated[int | None, "maxRPM"]
    maximum_points: Annotated[int | None, "maxPoints"]
    """How many points a table of speeds may have; None if there are no tables."""

    @property
    def modes(self) -> tuple[FanMode, ...]:
        """Who can decide how fast it turns."""
        return tuple(mode for mode in FanMode if self.mode_bits >> mode & 1)

    @property
    def units(self) -> tuple[FanUnit, ...]:
        """In which units its speed is told."""
        return tuple(unit for unit in FanUnit if self.unit_bits >> unit & 1)


@dataclass(frozen=True, slots=True)
class FanSpeed(Record):
    """A speed in turns per minute or in percent."""

    STRUCT = "zes_fan_speed_t"

    speed: int | None
    unit: Annotated[FanUnit, "units"]


@dataclass(frozen=True, slots=True)
class FanPoint(Record):
    """From which temperature on a fan turns how fast."""

    STRUCT = "zes_fan_temp_speed_t"

    celsius: Annotated[int, "temperature"]
    speed: FanSpeed


@dataclass(frozen=True, slots=True)
class FanConfig(Record):
    """Who decides how fast a fan turns, and what was decided."""

    STRUCT = "zes_fan_config_t"

    mode: FanMode
    fixed: Annotated[FanSpeed, "speedFixed"]
    table: Annotated[tuple[FanPoint, ...], CHAINED] = ()


@dataclass(frozen=True, slots=True)
class FanReading(Record):
    """A fan in a snapshot."""

    subdevice: int | None
    rpm: int | None
    percent: int | None
    maximum_rpm: int | None


class Fan(Part[FanProperties]):
    """A fan of a device."""

    ENUMERATE = "zesDeviceEnumFans"
    DESCRIBE = "zesFanGetProperties"
    FACTS = FanProperties

    def _speed(self, unit: FanUnit) -> int | None:
        if unit not in self.properties.units:
            return None
        speed: int | None = self._number(ctypes.c_int32, "zesFanGetState", unit)
        return None if speed is None or speed < 0 else speed

    @property
    def rpm(self) -> int | None:
        """How many turns it makes in a minute."""
        return self._speed(FanUnit.RPM)

    @property
    def percent(self) -> int | None:
        """How fast it turns, of its greatest speed."""
        return self._speed(FanUnit.PERCENT)

    @property
    def config(self) -> FanConfig | None:
        """Who decides how fast it turns."""
        struct = self._struct(zes.zes_fan_config_t, "zesFanGetConfig")
        if struct is None:
            return None
        points = struct.speedTable.table[: max(0, struct.speedTable.numPoints)]
        config = FanConfig.read(struct)
        return FanConfig(config.mode, config.fixed, tuple(map(FanPoint.read, points)))

    def set_default(self) -> None:
        """Leaves the speed to the machine."""
        self._set("zesFanSetDefaultMode")

    def set_speed(self, speed: int, unit: FanUnit = FanUnit.PERCENT) -> None:
        """Makes it turn at one speed."""
        wanted = zes.zes_fan_speed_t(speed=speed, units=unit)
        self._set("zesFanSetFixedSpeedMode", ctypes.byref(wanted))

    def set_table(self, speeds: Sequence[tuple[int, int]], unit: FanUnit = FanUnit.PERCENT) -> None:
        """Makes its speed follow the temperature: pairs of degrees Celsius and speed."""
        table = zes.zes_fan_speed_table_t(numPoints=len(speeds))
        if len(speeds) > len(table.table):
            raise ValueError(f"a table of fan speeds has at most {len(table.table)} points")
        for point, (celsius, speed) in zip(table.table, speeds, strict=False):
            point.temperature, point.speed.speed, point.speed.units = celsius, speed, unit
        self._set("zesFanSetSpeedTableMode", ctypes.byref(table))

    def reading(self, look: Look) -> FanReading:
        """All of it, for a snapshot."""
        facts, name = self.properties, f"fans[{self.index}]"
        rpm = look.at(f"{name}.rpm", lambda: self.rpm)
        percent = look.at(f"{name}.percent", lambda: self.percent)
        return FanReading(facts.subdevice, rpm, percent, facts.maximum_rpm)
