"""Engines: the workers of a device, alone and together, and how long they were busy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from groundstate import zes
from groundstate.core.sysman.enums import EngineGroup
from groundstate.core.sysman.part import Look, Part, PartProperties, records
from groundstate.core.sysman.records import Record


@dataclass(frozen=True, slots=True)
class EngineProperties(PartProperties):
    """What an engine is."""

    STRUCT = "zes_engine_properties_t"

    group: Annotated[EngineGroup, "type"]


@dataclass(frozen=True, slots=True)
class EngineActivity(Record):
    """How long an engine was busy so far, and when that was read: two counters of one clock."""

    STRUCT = "zes_engine_stats_t"

    active_us: Annotated[int, "activeTime"]
    timestamp_us: Annotated[int, "timestamp"]

    def since(self, earlier: EngineActivity) -> float | None:
        """The share of the time between two readings in which it was busy, from 0 to 1.

        >>> EngineActivity(700, 3000).since(EngineActivity(200, 1000))
        0.25
        """
        elapsed = self.timestamp_us - earlier.timestamp_us
        active = self.active_us - earlier.active_us
        if elapsed <= 0 or active < 0:
            return None
        return min(1.0, active / elapsed)


@dataclass(frozen=True, slots=True)
class EngineReading(Record):
    """An engine in a snapshot."""

    group: EngineGroup
    subdevice: int | None
    active_us: int | None
    timestamp_us: int | None


class Engine(Part[EngineProperties]):
    """Some workers of a device whose busy time is counted.

    >>> import groundstate as gs
    >>> engine = gs.devices()[0].sysman.engines[0]
    >>> engine.group.name
    'ALL'
    >>> before = engine.activity
    >>> engine.activity.timestamp_us >= before.timestamp_us
    True
    """

    ENUMERATE = "zesDeviceEnumEngineGroups"
    DESCRIBE = "zesEngineGetProperties"
    FACTS = EngineProperties

    def _describe(self) -> str:
        return self.group.name

    @property
    def group(self) -> EngineGroup:
        """Which workers these are."""
        return self.properties.group

    @property
    def activity(self) -> EngineActivity | None:
        """How long it was busy so far."""
        return self._record(EngineActivity, "zesEngineGetActivity")

    @property
    def function_activity(self) -> tuple[EngineActivity, ...]:
        """The same for each virtual function; the first is the physical one."""
        name = "zesEngineGetActivityExt"
        return records(EngineActivity, self.api, name, self.handle) or ()

    def reading(self, look: Look) -> EngineReading:
        """All of it, for a snapshot."""
        facts, now = self.properties, look.at(f"engines[{self.index}].activity", self._stats)
        active, timestamp = (now.activeTime, now.timestamp) if now else (None, None)
        return EngineReading(facts.group, facts.subdevice, active, timestamp)

    def _stats(self) -> zes.zes_engine_stats_t | None:
        """The bare struct: a large machine has hundreds of engines to read."""
        return self._struct(zes.zes_engine_stats_t, "zesEngineGetActivity")
