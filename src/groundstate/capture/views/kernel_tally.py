"""Counts and times of what queues ran: each kernel, and each kind of copy."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import prod
from typing import Any

from groundstate.capture.structure import Launch
from groundstate.capture.views.device_times import all_runs
from groundstate.capture.views.device_work import DeviceWork, Ran
from groundstate.capture.views.spread import Spread

SHAPES = 64
"""So many different group sizes of a kernel are kept apart."""


@dataclass
class CommandTally:
    """The runs of a kernel, or of one kind of other command; times are nanoseconds."""

    name: str
    category: str
    time: Spread = field(default_factory=Spread)
    measured: int = 0
    groups: int = 0
    items: int = 0
    size: int = 0
    group_sizes: Counter[str] = field(default_factory=Counter)

    def add(self, ran: Ran) -> None:
        """Counts one run."""
        self.time.add(ran.took)
        self.measured += bool(ran.measured)
        self.size += ran.what.size
        for launch in ran.command.launches:
            self._add_launch(launch)

    def _add_launch(self, launch: Launch) -> None:
        groups = prod(launch.groups) if launch.groups is not None else 0
        self.groups += groups
        if launch.group_size is not None:
            self.items += groups * prod(launch.group_size)
            shape = " x ".join(map(str, launch.group_size))
            if shape in self.group_sizes or len(self.group_sizes) < SHAPES:
                self.group_sizes[shape] += 1

    @property
    def certainty(self) -> str:
        """Whether the times were measured."""
        if self.measured == self.time.count:
            return "measured"
        return "estimated" if not self.measured else "measured in part"

    def data(self) -> dict[str, Any]:
        """The figures, for JSON."""
        figures = {
            "name": self.name,
            "category": self.category,
            "time_ns": self.time.data(),
            "measured": self.measured,
        }
        if self.category == "kernel":
            shapes = dict(self.group_sizes.most_common())
            return {
                **figures, "groups": self.groups, "items": self.items, "group_sizes": shapes,
            }  # fmt: skip
        return {**figures, "bytes": self.size}


def tally_commands(work: DeviceWork) -> list[CommandTally]:
    """The kernels and other commands of all queues, those that took longest first."""
    found: dict[tuple[str, str], CommandTally] = {}
    for _, _, ran in all_runs(work):
        key = (ran.what.category, ran.what.name)
        found.setdefault(key, CommandTally(ran.what.name, ran.what.category)).add(ran)
    return sorted(found.values(), key=lambda each: (-each.time.total, each.name))
