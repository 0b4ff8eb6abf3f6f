"""What this machine can do at most: multiply-adds, and bytes from memory and from its caches.

It is measured once, in a process of its own (`python -m groundstate.profiler.roof`), and kept in
the kernel cache for the CPU and the number of workers. After a change of roof.cl:
`groundstate compile roof.cl -o roof.spv`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from groundstate import knobs

KERNELS = Path(__file__).with_name("roof.spv")
TIME_LIMIT_S = 120
SECONDS = 0.25
"""For each of the three."""
LEAST_BYTES = 96 << 20
MOST_BYTES = 1 << 30
ITEMS = 64
"""Of a group."""
GROUPS = 64
"""For each worker."""
CHAINS = 12
"""Of multiply-adds in a work-item."""
CACHED = 2048
"""Floats that a group reads again and again."""
IDENTITY = ("model name", "CPU implementer", "CPU variant", "CPU part")
"""How lines of /proc/cpuinfo begin that name the CPU: the first on x86-64, the others on Arm."""
MEASURED_IN = b"\0roof 1\0"
"""What the results are kept under; another number when they are measured in another way."""


@dataclass(frozen=True)
class Roof:
    """Billions in a second: operations on 32-bit numbers, bytes of memory, bytes of caches."""

    gflops: float
    gbs: float
    cache_gbs: float
    workers: int


def roof(environment: Mapping[str, str], workers: int) -> Roof | None:
    """The roof for a program that runs in an environment; None if it cannot be measured."""
    from groundstate.compiler.cache import disk

    key = MEASURED_IN + f"{_cpu()}\0{workers}\0{environment.get(knobs.MAX_ISA.name)}".encode()
    known = disk.get(key)
    if known is not None:
        return Roof(**json.loads(known))
    command = [sys.executable, "-m", "groundstate.profiler.roof"]
    left_out = (knobs.PROFILE.name, knobs.CHECK.name, "LD_PRELOAD", "LD_AUDIT")
    given = {name: value for name, value in environment.items() if name not in left_out}
    try:
        done = subprocess.run(command, env=given, capture_output=True, timeout=TIME_LIMIT_S)
        found = Roof(**json.loads(done.stdout))
    except (OSError, ValueError, TypeError, subprocess.TimeoutExpired):
        return None
    disk.put(key, json.dumps(asdict(found)).encode())
    return found


def _cpu(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """What tells the CPU from others, and how many of them this process may use."""
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    lines = text.partition("\n\n")[0].splitlines()
    names = " ".join(line for line in lines if line.startswith(IDENTITY))
    return f"{names or os.uname().machine} {len(os.sched_getaffinity(0))}"


def measure() -> Roof:
    """Measures on the first device of this process."""
    import groundstate as gs

    device = gs.devices(include_system=False)[0]
    with gs.Context(device) as context:
        module = gs.Module(spirv=KERNELS.read_bytes(), context=context, device=device)
        workers = _workers(device)
        items = workers * GROUPS * ITEMS
        out = context.alloc_device((items,), "float32")
        some = context.array(bytes(4 * CACHED * GROUPS)).view("float32")

        def compute(rounds: int) -> None:
            module["compute"].launch(out, rounds, global_size=items, group_size=ITEMS)

        def cache(rounds: int) -> None:
            module["cache"].launch(some, out, rounds, global_size=items, group_size=ITEMS)

        return Roof(
            _best(compute, 2.0 * CHAINS * items),
            _stream(context, module, device),
            _best(cache, 4.0 * CACHED * workers * GROUPS),
            workers,
        )


def _workers(device: Any) -> int:
    """The threads that run kernels of a device."""
    of = device.properties
    return max(1, int(of.num_slices * of.num_subslices_per_slice * of.num_eus_per_subslice))


def _best(run: Callable[[int], None], work: float) -> float:
    """The best rate in a few runs, each of about a tenth of the time; `work` is that of a round."""
    rounds, took = 16, 0.0
    while took < SECONDS / 10 and rounds < 1 << 24:
        rounds *= 2
        took = _time(run, rounds)
    best, end = took, time.monotonic() + SECONDS
    while time.monotonic() < end:
        best = min(best, _time(run, rounds))
    return work * rounds / best / 1e9


def _stream(context: Any, module: Any, device: Any) -> float:
    """Bytes in a second that are read and written, of arrays that no cache holds."""
    size: int = min(MOST_BYTES, max(LEAST_BYTES, 3 * _last_cache()), device.memory_bytes // 8)
    count = size // 12 // ITEMS * ITEMS
    arrays = [context.alloc_device((count,), "float32") for _ in range(3)]

    def run(first: int) -> None:
        order = arrays[first:] + arrays[:first]
        module["stream"].launch(*order, global_size=count, group_size=ITEMS)

    for each in range(3):
        run(each)  # memory that nobody has written is one page of zeros
    best, end = _time(run, 0), time.monotonic() + SECONDS
    while time.monotonic() < end:
        best = min(best, _time(run, 0))
    return 12 * count / best / 1e9


def _last_cache() -> int:
    """The bytes of the last cache; 0 where the system does not tell."""
    name = "SC_LEVEL3_CACHE_SIZE"
    return max(0, os.sysconf(name)) if name in os.sysconf_names else 0


def _time(run: Callable[[int], None], argument: int) -> float:
    start = time.perf_counter()
    run(argument)
    return time.perf_counter() - start


if __name__ == "__main__":
    print(json.dumps(asdict(measure())))
