"""How the machine is divided into devices and sub-devices, before any of them has a handle.

A tree of parts goes through three steps: `divide` cuts the machine into devices of equal sub-
devices, `affinity.select` keeps what `ZE_AFFINITY_MASK` names, and the hierarchy decides which
parts are reported as devices. All of it is plain data, so tests need neither a library nor this
machine.
"""

from __future__ import annotations

from groundstate import knobs
from groundstate.knobs.kinds import complain

TYPE_CHECKING = False  # as in driver/platform.py
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_DEVICES = 64
MAX_SUBDEVICES = 64


class Part:
    """A device or a sub-device: its place in the machine, its workers, its memory, its own parts.

    `path` is the place, whatever a mask hides: (1,) is the second device, (1, 2) its third
    sub-device. What identifies a device to the outside (its UUID, its PCI address) follows from it.
    `workers` are numbers of the machine's worker threads, each of which belongs to one CPU.
    """

    def __init__(
        self,
        path: tuple[int, ...],
        workers: Sequence[int],
        memory_bytes: int,
        parts: Sequence[Part] = (),
    ) -> None:
        self.path = path
        self.workers = tuple(workers)
        self.memory_bytes = memory_bytes
        self.parts = tuple(parts)

    def leaves(self) -> list[Part]:
        """The parts that have no parts: the sub-devices, or the device itself."""
        return [leaf for part in self.parts for leaf in part.leaves()] or [self]

    def keeping(self, parts: Sequence[Part]) -> Part:
        """The same device with only some of its sub-devices, and only what those have."""
        workers = dict.fromkeys(worker for part in parts for worker in part.workers)
        return Part(self.path, list(workers), sum(part.memory_bytes for part in parts), parts)

    def moved(self, devices: int) -> Part:
        """The same workers and memory as another device, so many devices further on."""
        path = (self.path[0] + devices, *self.path[1:])
        return Part(path, self.workers, self.memory_bytes, [p.moved(devices) for p in self.parts])


def parse(text: str) -> tuple[int, int]:
    """Reads "2x4" as (2 devices, 4 sub-devices each) and "2" as (2, 0). Raises ValueError."""
    devices, cross, subdevices = text.lower().replace(" ", "").partition("x")
    counts = (int(devices), int(subdevices) if cross else 0)
    if not 1 <= counts[0] <= MAX_DEVICES or not 0 <= counts[1] <= MAX_SUBDEVICES:
        raise ValueError(text)
    return counts


def configured() -> tuple[int, int]:
    """The topology that `GROUNDSTATE_TOPOLOGY` asks for, or one device."""
    text = knobs.TOPOLOGY.get()
    try:
        return parse(text)
    except ValueError:
        complain(
            knobs.TOPOLOGY.name,
            text,
            f"expected devices or devices x sub-devices, such as 2x4 (at most {MAX_DEVICES}x"
            f"{MAX_SUBDEVICES}); using 1",
        )
        return 1, 0


def divide(devices: int, subdevices: int, workers: int, memory_bytes: int) -> list[Part]:
    """Divides workers and memory evenly among the sub-devices of all devices, in order.

    With fewer workers than leaves, neighbouring leaves share one. A device has what its sub-devices
    have.
    """
    per_device = max(1, subdevices)
    leaf_count = devices * per_device
    leaf_bytes = memory_bytes // leaf_count
    roots = []
    for device in range(devices):
        first = device * per_device
        shares = [_share(workers, first + part, leaf_count) for part in range(per_device)]
        if subdevices == 0:
            roots.append(Part((device,), shares[0], leaf_bytes))
            continue
        parts = [Part((device, index), share, leaf_bytes) for index, share in enumerate(shares)]
        roots.append(Part((device,), (), 0).keeping(parts))
    return roots


def _share(workers: int, leaf: int, leaf_count: int) -> range:
    """The workers of one leaf out of `leaf_count`: a consecutive run, never empty."""
    first = leaf * workers // leaf_count
    return range(first, max(first + 1, (leaf + 1) * workers // leaf_count))
