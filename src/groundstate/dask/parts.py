"""The parts of a machine that get a worker each: its devices, or the sub-devices of divided ones.

The process that starts workers does not start the driver for that: what it would see depends on
the variables of its own environment, and the workers get others. Another process lists the devices.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from groundstate import knobs

_LIST = """
import json
from groundstate import core
found = core.devices(include_system=False)
print(json.dumps([[d.memory_bytes, [s.memory_bytes for s in d.sub_devices]] for d in found]))
"""

_Devices = list[tuple[int, list[int]]]
"""The memory of each device, and of its sub-devices."""


@dataclass(frozen=True, slots=True)
class Part:
    """A device or a sub-device that one worker has for itself."""

    mask: str
    """What `ZE_AFFINITY_MASK` calls it: `1`, or `1.2` for the third sub-device of the second."""
    memory_bytes: int
    environment: tuple[tuple[str, str], ...] = ()
    """The variables with which a process sees this part alone, as its first device."""


def find_parts(
    devices: str | None = None, topology: str | None = None, memory: str | None = None
) -> tuple[Part, ...]:
    """The parts of this machine, each for one worker.

    `devices` names some, such as `0,1.2`; otherwise those count that `ZE_AFFINITY_MASK` leaves, or
    all. A device with sub-devices counts as these. `topology` and `memory` divide the machine as
    `groundstate run --topology 2x4 --memory 8G` does.

    >>> [part.mask for part in find_parts(topology="2x2")]
    ['0.0', '0.1', '1.0', '1.1']
    >>> [part.mask for part in find_parts("1", topology="2x2")]
    ['1.0', '1.1']
    """
    shape = {knobs.FLAT_DEVICE_HIERARCHY.name: "COMPOSITE"}
    if topology is not None:
        shape[knobs.TOPOLOGY.name] = topology
    if memory is not None:
        shape[knobs.MEMORY.name] = memory
    found = _list_devices(shape)
    if not isinstance(devices, str | None):
        raise TypeError(f"devices is a list as a str, such as '0,1.2', not {devices!r}")
    wanted = knobs.AFFINITY_MASK.get() if devices is None else devices
    masks = dict(_chosen(found, wanted) if wanted else _all(found))
    if not masks:
        raise ValueError("there is no device for a worker")
    return tuple(
        Part(mask, size, tuple({**shape, knobs.AFFINITY_MASK.name: mask}.items()))
        for mask, size in masks.items()
    )


def _list_devices(shape: dict[str, str]) -> _Devices:
    """What the driver of this package finds with such variables."""
    environment = {**os.environ, **shape}
    environment.pop(knobs.AFFINITY_MASK.name, None)
    command = [sys.executable, "-c", _LIST]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        last = done.stderr.strip().rpartition("\n")[2]
        raise RuntimeError(f"the devices of this machine cannot be listed: {last}")
    for line in done.stderr.splitlines():
        if any(name in line for name in shape):  # the driver goes on without; a worker must not
            raise ValueError(line.removeprefix("groundstate: ").partition("; using")[0])
    found: _Devices = json.loads(done.stdout)
    return found


def _all(found: _Devices) -> Iterator[tuple[str, int]]:
    for number in range(len(found)):
        yield from _parts_of(found, number)


def _parts_of(found: _Devices, number: int) -> Iterator[tuple[str, int]]:
    """A device, or each of its sub-devices."""
    size, parts = found[number]
    if not parts:
        yield str(number), size
    for index, part_size in enumerate(parts):
        yield f"{number}.{index}", part_size


def _chosen(found: _Devices, wanted: str) -> Iterator[tuple[str, int]]:
    """The parts that a list such as `0,1.2` names."""
    for word in filter(None, map(str.strip, wanted.split(","))):
        matched = re.fullmatch(r"(\d{1,4})(?:\.(\d{1,4}))?", word)
        if matched is None:
            raise ValueError(f"'{word}' is not a device such as 0, or a sub-device such as 0.1")
        names = dict(_parts_of(found, int(matched[1]))) if int(matched[1]) < len(found) else {}
        if matched[2] is not None:
            names = {name: size for name, size in names.items() if name == word}
        if not names:
            there_is = ", ".join(name for name, _ in _all(found))
            raise ValueError(f"there is no device {word}; there is {there_is}")
        yield from names.items()
