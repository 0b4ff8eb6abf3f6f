"""Power: the energy that was used, and how much power may be."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated

from groundstate import zes
from groundstate.core.sysman.enums import LimitUnit, PowerDomainType, PowerLevel, PowerSource
from groundstate.core.sysman.part import Look, Part, PartProperties, chained, records, supported
from groundstate.core.sysman.records import CHAINED, Record


@dataclass(frozen=True, slots=True)
class PowerProperties(PartProperties):
    """Whose power it is, and between which limits it can be held."""

    STRUCT = "zes_power_properties_t"

    can_control: bool
    has_energy_event: Annotated[bool, "isEnergyThresholdSupported"]
    default_limit_mw: Annotated[int | None, "defaultLimit"]
    minimum_limit_mw: Annotated[int | None, "minLimit"]
    maximum_limit_mw: Annotated[int | None, "maxLimit"]
    domain: Annotated[PowerDomainType, CHAINED] = PowerDomainType.UNKNOWN


@dataclass(frozen=True, slots=True)
class EnergyCounter(Record):
    """The energy that was used so far, and when that was read."""

    STRUCT = "zes_power_energy_counter_t"

    energy_uj: Annotated[int, "energy"]
    timestamp_us: Annotated[int, "timestamp"]

    def watts_since(self, earlier: EnergyCounter) -> float | None:
        """The mean power between two readings.

        >>> EnergyCounter(25_000_000, 2_000_000).watts_since(EnergyCounter(5_000_000, 1_000_000))
        20.0
        """
        elapsed = self.timestamp_us - earlier.timestamp_us
        used = self.energy_uj - earlier.energy_uj
        return used / elapsed if elapsed > 0 and used >= 0 else None


@dataclass(frozen=True, slots=True)
class PowerLimit(Record):
    """One limit of a power domain."""

    STRUCT = "zes_power_limit_ext_desc_t"

    level: PowerLevel
    source: PowerSource
    unit: Annotated[LimitUnit, "limitUnit"]
    enabled_locked: Annotated[bool, "enabledStateLocked"]
    enabled: bool
    interval_locked: Annotated[bool, "intervalValueLocked"]
    interval_ms: Annotated[int | None, "interval"]
    limit_locked: Annotated[bool, "limitValueLocked"]
    limit: int | None
    """Milliwatts, or milliamperes if the unit is CURRENT."""

    @property
    def limit_mw(self) -> int | None:
        """The limit if it is one of power."""
        return None if self.unit == LimitUnit.CURRENT else self.limit


@dataclass(frozen=True, slots=True)
class PowerUsage(Record):
    """The power now, and since it was first asked for."""

    instant_mw: int
    average_mw: int


@dataclass(frozen=True, slots=True)
class PowerReading(Record):
    """A power domain in a snapshot."""

    domain: PowerDomainType
    subdevice: int | None
    energy_uj: int | None
    timestamp_us: int | None
    limits: tuple[PowerLimit, ...]
    default_limit_mw: int | None
    maximum_limit_mw: int | None

    @property
    def limit_mw(self) -> int | None:
        """The limit of the mean power, if there is one and it is in force."""
        return _sustained_mw(self.limits)


def _sustained_mw(limits: Iterable[PowerLimit]) -> int | None:
    found = (
        each.limit_mw for each in limits if each.level == PowerLevel.SUSTAINED and each.enabled
    )
    return next(found, None)


class PowerDomain(Part[PowerProperties]):
    """Something whose energy is counted: a package, a card, a memory."""

    ENUMERATE = "zesDeviceEnumPowerDomains"
    DESCRIBE = "zesPowerGetProperties"
    FACTS = PowerProperties

    def _describe(self) -> str:
        return self.domain.name

    def _described(self) -> PowerProperties:
        more = zes.zes_power_ext_properties_t()
        head = chained(zes.zes_power_properties_t(), more)
        self.api.call(self.DESCRIBE, self.handle, ctypes.byref(head))
        return replace(PowerProperties.read(head), domain=PowerDomainType(more.domain))

    @property
    def domain(self) -> PowerDomainType:
        """Whose energy it is."""
        return self.properties.domain

    @property
    def energy(self) -> EnergyCounter | None:
        """The energy used so far, with the time; two of them give the power."""
        return self._record(EnergyCounter, "zesPowerGetEnergyCounter")

    @property
    def energy_uj(self) -> int | None:
        """The energy used so far."""
        counter = self.energy
        return counter.energy_uj if counter else None

    def usage(self) -> PowerUsage | None:
        """The power now and on average; a driver may have to wait a moment to find out."""
        instant, average = ctypes.c_uint32(), ctypes.c_uint32()
        pointers = ctypes.byref(instant), ctypes.byref(average)
        if not supported(self.api, "zesPowerGetUsage", self.handle, *pointers):
            return None
        return PowerUsage(instant.value, average.value)

    @property
    def limits(self) -> tuple[PowerLimit, ...]:
        """The limits that there are; assign some to set them."""
        return records(PowerLimit, self.api, "zesPowerGetLimitsExt", self.handle, room=8) or ()

    @limits.setter
    def limits(self, wanted: Iterable[PowerLimit]) -> None:
        structs = [_limit_struct(each) for each in wanted]
        array = (zes.zes_power_limit_ext_desc_t * len(structs))(*structs)
        count = ctypes.c_uint32(len(structs))
        self._set("zesPowerSetLimitsExt", ctypes.byref(count), array)

    @property
    def limit_mw(self) -> int | None:
        """The limit of the mean power, or None without one; assign a number to set it."""
        return _sustained_mw(self.limits)

    @limit_mw.setter
    def limit_mw(self, milliwatts: int) -> None:
        self.set_limit(milliwatts)

    def set_limit(
        self,
        milliwatts: int,
        level: PowerLevel = PowerLevel.SUSTAINED,
        *,
        interval_ms: int | None = None,
        enabled: bool = True,
    ) -> None:
        """Sets one limit; its interval stays as it is if none is given."""
        before = next((each for each in self.limits if each.level == level), None)
        if before is None:
            raise ValueError(f"this power domain has no limit of the level {level.name}")
        interval = before.interval_ms if interval_ms is None else interval_ms
        self.limits = (replace(before, limit=milliwatts, interval_ms=interval, enabled=enabled),)

    def set_energy_event(self, joules: float) -> None:
        """Asks for the event ENERGY_THRESHOLD_CROSSED when so much more energy was used."""
        self._set("zesPowerSetEnergyThreshold", joules)

    def reading(self, look: Look) -> PowerReading:
        """All of it, for a snapshot."""
        facts, name = self.properties, f"power[{self.index}]"
        now = look.at(f"{name}.energy", lambda: self.energy)
        return PowerReading(
            facts.domain,
            facts.subdevice,
            now.energy_uj if now else None,
            now.timestamp_us if now else None,
            look.at_setting(f"{name}.limits", lambda: self.limits) or (),
            facts.default_limit_mw,
            facts.maximum_limit_mw,
        )


def _limit_struct(limit: PowerLimit) -> zes.zes_power_limit_ext_desc_t:
    return zes.zes_power_limit_ext_desc_t(
        level=limit.level,
        source=limit.source,
        limitUnit=limit.unit,
        enabledStateLocked=limit.enabled_locked,
        enabled=limit.enabled,
        intervalValueLocked=limit.interval_locked,
        interval=limit.interval_ms or 0,
        limitValueLocked=limit.limit_locked,
        limit=-1 if limit.limit is None else limit.limit,
    )
