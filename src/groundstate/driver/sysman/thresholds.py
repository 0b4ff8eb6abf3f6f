"""The conditions that programs set on sensors and counters, under which they want an event.

They are this process's own: each process watches the machine for itself, so none has to wait for
another to give a sensor up. Whoever delivers events asks here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from groundstate import zes
from groundstate.driver.sysman.parts import ErrorCounters, PowerDomain, TemperatureSensor


@dataclass
class Crossing:
    """A temperature, and in which direction it is to be crossed."""

    celsius: float = 0.0
    rising: bool = False
    falling: bool = False

    def is_crossed(self, before: float, now: float) -> bool:
        """Whether a sensor that went from one temperature to another crossed it."""
        if self.rising and before < self.celsius <= now:
            return True
        return self.falling and before >= self.celsius > now


@dataclass
class TemperatureConditions:
    """What is to be told about a thermometer."""

    critical: bool = False
    first: Crossing = field(default_factory=Crossing)
    second: Crossing = field(default_factory=Crossing)

    def events(self, sensor: TemperatureSensor, before: float, now: float) -> int:
        """The events (zes_event_type_flags_t) that a change of temperature is."""
        found = 0
        limit = sensor.critical_celsius
        if self.critical and limit is not None and before < limit <= now:
            found |= zes.ZES_EVENT_TYPE_FLAG_TEMP_CRITICAL
        if self.first.is_crossed(before, now):
            found |= zes.ZES_EVENT_TYPE_FLAG_TEMP_THRESHOLD1
        if self.second.is_crossed(before, now):
            found |= zes.ZES_EVENT_TYPE_FLAG_TEMP_THRESHOLD2
        return found


@dataclass
class EnergyCondition:
    """How much energy a domain may use from when this was set."""

    joules: float
    from_uj: int
    process: int = field(default_factory=os.getpid)

    def is_crossed(self, energy_uj: int) -> bool:
        return energy_uj - self.from_uj > self.joules * 1e6


@dataclass
class ErrorConditions:
    """How many errors there may be, all together and of each category; 0 is any number."""

    total: int = 0
    by_category: dict[int, int] = field(default_factory=dict)

    def is_exceeded(self, counts: Mapping[int, int]) -> bool:
        if self.total and sum(counts.values()) > self.total:
            return True
        return any(
            limit and counts.get(category, 0) > limit
            for category, limit in self.by_category.items()
        )


_temperatures: dict[int, TemperatureConditions] = {}
_energies: dict[int, EnergyCondition] = {}
_errors: dict[int, ErrorConditions] = {}


def of_temperature(sensor: TemperatureSensor) -> TemperatureConditions:
    """What was set for a thermometer; nothing, to begin with."""
    return _temperatures.setdefault(id(sensor), TemperatureConditions())


def set_temperature(sensor: TemperatureSensor, conditions: TemperatureConditions) -> None:
    _temperatures[id(sensor)] = conditions


def of_energy(domain: PowerDomain) -> EnergyCondition | None:
    """What was set for a power domain, until it was crossed."""
    return _energies.get(id(domain))


def set_energy(domain: PowerDomain, condition: EnergyCondition | None) -> None:
    """Sets a condition, or removes it, as when its event was sent."""
    if condition is None:
        _energies.pop(id(domain), None)
    else:
        _energies[id(domain)] = condition


def of_errors(counters: ErrorCounters) -> ErrorConditions:
    """What was set for counters of errors; nothing, to begin with."""
    return _errors.setdefault(id(counters), ErrorConditions())
