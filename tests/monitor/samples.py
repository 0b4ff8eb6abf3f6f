"""Readings of machines that are not here: a server with two devices, and a bare virtual machine."""

from __future__ import annotations

import math
from dataclasses import replace

from groundstate.monitor.readings import (
    Clock,
    Device,
    Engine,
    Errors,
    Fan,
    Memory,
    Power,
    Process,
    Reading,
    Temperature,
)

GIB = 1 << 30
START = 1_800_000_000.0

PROCESSES = (
    Process(4711, "/usr/bin/python3 train.py --batch 64", 6 * GIB, GIB, 812.5, 0.47),
    Process(815, "./mandelbrot -w 8192", 512 << 20, 0, 12.25, 0.13),
    Process(20319, "dpbench [all] --numpy", 3 * GIB, 0, 3.0, 0.002),
    Process(99, "", None, None, None, None),
)


def server(step: int = 0, workers: int = 32) -> Reading:
    """A machine that tells everything; a later step is a later reading."""
    return Reading(
        START + step, 1.0, tuple(socket(number, step, workers) for number in range(2)), "nova"
    )


def socket(number: int, step: int, workers: int = 32) -> Device:
    """One of its devices."""
    busy = 0.55 + 0.4 * math.sin(step / 7 + number * 2)
    singles = tuple(
        Engine(f"compute-{each}", "compute_single", None, 10.0 * each, worker_share(busy, each))
        for each in range(workers)
    )
    return Device(
        number,
        "Intel(R) Xeon(R) Platinum 8480+",
        f"00000000-0000-0000-0000-00000000000{number}",
        engines=(
            Engine("all", "all", None, 130.0 + step, min(busy + 0.02, 1.0)),
            Engine("compute", "compute_all", None, 120.5 + step, busy),
            Engine("copy", "copy_all", None, 3.25, 0.02),
            *singles,
        ),
        memories=(Memory("ddr", None, 64 * GIB, int((52 - 9 * busy) * GIB), 1 << 40, 1 << 39),),
        clocks=(Clock("cpu", None, 2000 + 1700 * busy, 800, 3800, (), 1.5),),
        temperatures=(Temperature("package", None, 45 + 35 * busy, 100.0),),
        powers=(Power("package", "package", None, 98765.5 + step, 90 + 240 * busy, 350.0),),
        fans=(Fan("fan-0", 4200, 55),),
        errors=(Errors("correctable", "cache", 3), Errors("uncorrectable", "cache", 0)),
        processes=PROCESSES if number == 0 else PROCESSES[1:2],
    )


def worker_share(busy: float, worker: int) -> float:
    """Some workers do more than others."""
    return min(max(busy + 0.35 * math.sin(worker * 1.7), 0.0), 1.0)


def bare() -> Reading:
    """A virtual machine: no thermometers, no clocks, and nothing to compare with yet."""
    engines = (Engine("compute", "compute_all", None, 0.0), Engine("copy", "copy_all", None, 0.0))
    device = Device(
        0,
        "QEMU Virtual CPU version 2.5+",
        "00000000-0000-0000-0000-0000000000ff",
        engines=engines,
        memories=(Memory("ddr", None, 2 * GIB, 2 * GIB),),
    )
    return Reading(START, None, (device,), "vm")


def divided() -> Reading:
    """One device of four sub-devices."""
    whole = socket(0, 3)
    parts = tuple(Engine("compute", "compute_all", part, 10.0, 0.2 * part) for part in range(4))
    memories = tuple(Memory("ddr", part, 16 * GIB, (16 - 2 * part) * GIB) for part in range(4))
    device = replace(
        whole, subdevices=4, engines=whole.engines + parts, memories=memories, number=0
    )
    return Reading(START, 1.0, (device,), "nova")


def many(count: int) -> Reading:
    """A machine with more devices than a screen has room for."""
    devices = tuple(
        replace(socket(0, each), number=each, uuid=f"uuid-{each}", processes=PROCESSES[: each % 3])
        for each in range(count)
    )
    return Reading(START, 1.0, devices, "rack")
