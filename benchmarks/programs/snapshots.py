"""What a snapshot of system management costs, and what psutil takes for what it can tell.

Usage: snapshots.py COUNT. Prints `name nanoseconds` for each sample; the nanoseconds are those that
the thread kept a CPU busy, which is what a monitor costs its machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import psutil

import groundstate as gs


def with_psutil() -> object:
    """The same questions to psutil, as far as it can be asked."""
    return (
        psutil.cpu_times(percpu=True),
        psutil.virtual_memory(),
        psutil.cpu_freq(),
        psutil.sensors_temperatures(),
        psutil.sensors_fans(),
        psutil.sensors_battery(),
    )


def sample(name: str, take: Callable[[], object], count: int) -> None:
    """Prints the time of each of several calls, after one that opens files."""
    take()
    for _ in range(count):
        start = time.thread_time_ns()
        take()
        print(name, time.thread_time_ns() - start)


def main() -> None:
    """Takes turns with all of them."""
    count = int(sys.argv[1])
    sysman = gs.devices()[0].sysman
    sample("snapshot", sysman.snapshot, count)
    sample("psutil", with_psutil, count)
    earlier, later = sysman.snapshot(), sysman.snapshot()
    sample("since", lambda: later.since(earlier), count)
    sample("json", later.as_json, count)


if __name__ == "__main__":
    main()
