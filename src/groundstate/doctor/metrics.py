"""Which metrics of the processor there are, and which setting is missing for the others."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from groundstate import zet
from groundstate.doctor.finding import Finding, State

SETTING = Path("/proc/sys/kernel/perf_event_paranoid")
GROUP = b"Processor"
EXPECTED = ("CpuCycles", "CacheMisses", "DataTlbMisses", "PageFaults")
"""One of each kind that can be missing by itself."""
MOST_FOR_USERS = 2
"""What the setting may be at most for a user without special rights."""


def names_of(device: Any) -> list[str]:
    """The metrics that the system counts for a device, by their names."""
    return [
        name
        for group in _list(zet.zetMetricGroupGet, int(device.handle))
        if _properties(zet.zetMetricGroupGetProperties, group, "group").name == GROUP
        for metric in _list(zet.zetMetricGet, group)
        if (found := _properties(zet.zetMetricGetProperties, metric, "")).component == GROUP
        for name in [found.name.decode()]
    ]


def _list(ask: Any, subject: int) -> list[int]:
    count = ctypes.c_uint32()
    if ask(subject, ctypes.byref(count), None) != 0:
        return []
    handles = (ctypes.c_void_p * count.value)()
    ask(subject, ctypes.byref(count), handles)
    return [each or 0 for each in handles]


def _properties(ask: Any, handle: int, kind: str) -> Any:
    found = zet.zet_metric_group_properties_t() if kind else zet.zet_metric_properties_t()
    ask(handle, ctypes.byref(found))
    return found


def findings(section: str, names: Sequence[str]) -> Iterator[Finding]:
    """What there is, and what to change for what there is not."""
    found = dict.fromkeys(names)
    missing = [each for each in EXPECTED if each not in found]
    if not missing:
        yield Finding(section, "processor metrics", State.OK, ", ".join(found))
        return
    has = f"; there are {', '.join(found)}" if found else ""
    text = f"{', '.join(missing)} and similar are not counted{has}"
    yield Finding(section, "processor metrics", State.NOTE, text, _advice())


def _advice() -> str:
    try:
        level = int(SETTING.read_text())
    except (OSError, ValueError):
        return "the system has no performance events, or hides them"
    if level > MOST_FOR_USERS:
        return f"sysctl kernel.perf_event_paranoid={MOST_FOR_USERS}"
    return "a virtual machine or container may hide them; ask for its PMU, or for CAP_PERFMON"
