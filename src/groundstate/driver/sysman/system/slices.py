"""How long a program may compute before the kernel's scheduler lets another: its time slice."""

from __future__ import annotations

from groundstate import zes
from groundstate.driver.api import Unsupported
from groundstate.driver.sysman.parts import Scheduler
from groundstate.driver.sysman.system.files import Files, Gauge

_FILES = (
    "sys/kernel/debug/sched/base_slice_ns",
    "sys/kernel/debug/sched/min_granularity_ns",
    "proc/sys/kernel/sched_min_granularity_ns",
)
"""The shortest time between two switches, by the names of ever older kernels."""

_SHORTEST_US, _LONGEST_US = 100, 1_000_000
"""What the kernel accepts."""


class CpuScheduler(Scheduler):
    """The scheduler of the operating system, which all CPUs share."""

    def __init__(self, files: Files, path: str) -> None:
        super().__init__(
            engines=zes.ZES_ENGINE_TYPE_FLAG_COMPUTE,
            modes=1 << zes.ZES_SCHED_MODE_TIMESLICE,
            can_control=files.is_writable_by_somebody(path),
        )
        self._files = files
        self._path = path
        self._slice_ns = Gauge(files.path(path))

    def mode(self) -> int:
        return int(zes.ZES_SCHED_MODE_TIMESLICE)

    def timeslice_us(self) -> tuple[int, int]:
        """Nobody is ended for not yielding."""
        return self._slice_ns.number() // 1000, zes.ZES_SCHED_WATCHDOG_DISABLE

    def set_timeslice(self, interval_us: int, yield_us: int) -> None:
        if not _SHORTEST_US <= interval_us <= _LONGEST_US:
            raise ValueError(
                f"an interval of {interval_us} us is not between {_SHORTEST_US} and {_LONGEST_US}"
            )
        if yield_us != zes.ZES_SCHED_WATCHDOG_DISABLE:
            raise Unsupported(
                "the system interrupts programs and needs no time limit for their yielding: give "
                "ZES_SCHED_WATCHDOG_DISABLE"
            )
        self._files.write_all([(self._path, str(interval_us * 1000))])


def schedulers(files: Files) -> list[Scheduler]:
    """One, if the kernel tells the time slice."""
    for path in _FILES:
        if files.exists(path):
            return [CpuScheduler(files, path)]
    return []
