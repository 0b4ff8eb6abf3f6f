"""Which metrics of processor and packages there are, and which setting others need."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from groundstate import zet
from groundstate.doctor.finding import Finding, State

POWERCAP = Path("/sys/class/powercap")
PMUS = Path("/sys/bus/event_source/devices")
SETTING = Path("/proc/sys/kernel/perf_event_paranoid")
PROCESSOR, PACKAGE = b"Processor", b"Package"
"""The groups, and what their metrics say they are of."""
OF_PROCESSOR = ("CpuCycles", "CacheMisses", "DataTlbMisses", "PageFaults")
"""One of each kind that can be missing by itself."""
OF_PACKAGE = ("PackageEnergy", "MemoryBytesRead")
"""The same of packages."""
MOST_FOR_USERS = 2
"""What the setting may be at most for a user without special rights."""
MOST_FOR_PACKAGES = 0
"""The same for events of a whole package."""


def names_of(device: Any, kind: bytes) -> list[str]:
    """The metrics of a kind that a device has, by their names."""
    return [
        name
        for group in _list(zet.zetMetricGroupGet, int(device.handle))
        if _properties(zet.zetMetricGroupGetProperties, group, "group").name == kind
        for metric in _list(zet.zetMetricGet, group)
        if (found := _properties(zet.zetMetricGetProperties, metric, "")).component == kind
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


def findings(section: str, processor: Sequence[str], package: Sequence[str]) -> Iterator[Finding]:
    """What there is, and what to change for what there is not."""
    yield _finding(section, "processor metrics", OF_PROCESSOR, processor, _advice)
    yield _finding(section, "package metrics", OF_PACKAGE, package, _advice_for_packages)


def _finding(
    section: str,
    subject: str,
    expected: Sequence[str],
    names: Sequence[str],
    advice: Callable[[], str],
) -> Finding:
    found = ", ".join(dict.fromkeys(names))
    missing = [each for each in expected if each not in names]
    if not missing:
        return Finding(section, subject, State.OK, found)
    has = f"; there are {found}" if names else ""
    text = f"{', '.join(missing)} and similar are not counted{has}"
    return Finding(section, subject, State.NOTE, text, advice())


def _level() -> int | None:
    try:
        return int(SETTING.read_text())
    except (OSError, ValueError):
        return None


def _advice() -> str:
    level = _level()
    if level is None:
        return "the system has no performance events, or hides them"
    if level > MOST_FOR_USERS:
        return f"sysctl kernel.perf_event_paranoid={MOST_FOR_USERS}"
    return "a virtual machine or container may hide them; ask for its PMU, or for CAP_PERFMON"


def _advice_for_packages() -> str:
    if not any(POWERCAP.glob("*/energy_uj")) and not any(PMUS.glob("*/cpumask")):
        return "this machine, or what it runs in, shows no counters of packages"
    level = _level()
    if level is not None and level > MOST_FOR_PACKAGES and os.geteuid() != 0:
        return f"sysctl kernel.perf_event_paranoid={MOST_FOR_PACKAGES}, or CAP_PERFMON"
    return "the machine has no such counters that are known, or what it runs in hides them"
