"""The PCI link of a GPU: where it is, how fast it can be and is."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from groundstate import zes
from groundstate.driver.sysman.kinds.nvidia.library import Gpu
from groundstate.driver.sysman.parts import Pci, PciBar, PciSpeed, PciStats

LANE_BYTES_PER_SECOND = {
    1: 250_000_000,
    2: 500_000_000,
    3: 8_000_000_000 // 8 * 128 // 130,
    4: 16_000_000_000 // 8 * 128 // 130,
    5: 32_000_000_000 // 8 * 128 // 130,
    6: 64_000_000_000 // 8 * 242 // 256,
}
"""By generation, what the coding of the link leaves of its transfers; in flits for the last."""

REGISTERS, ROM = 0, 6
IS_MEMORY = 0x200
USUAL_WINDOW_BYTES = 256 << 20
"""The largest window of a device whose windows are not resized."""


@dataclass(slots=True)
class GpuLink(Pci):
    """The link that NVML tells of, with the windows that the kernel tells of."""

    gpu: Gpu = field(kw_only=True)
    resources: str = field(kw_only=True)
    """The kernel's file of the device's windows."""

    def speed(self) -> PciSpeed:
        ask = self.gpu.maybe
        return _speed(ask("CurrPcieLinkGeneration"), ask("CurrPcieLinkWidth"))

    def stats(self) -> PciStats:
        """NVML's byte counters have 32 bits, less than a tenth of a second of a fast link."""
        replays = self.gpu.ask("PcieReplayCounter")
        return PciStats(time.monotonic_ns() // 1000, replays=int(replays))

    def bars(self) -> Sequence[PciBar]:
        try:
            with open(self.resources, encoding="ascii") as file:
                lines = file.read().split("\n")
        except OSError:
            return []
        found = [_bar(index, line) for index, line in enumerate(lines[: ROM + 1])]
        bars = [bar for bar in found if bar is not None]
        for bar in bars:
            bar.is_resizable = os.path.exists(f"{self.resources}{bar.index}_resize")
            bar.is_resized = bar.is_resizable and bar.size_bytes > USUAL_WINDOW_BYTES
        return bars


def _bar(index: int, line: str) -> PciBar | None:
    """A line has the first and the last address and flags, all 0 where there is no window."""
    try:
        first, last, flags = (int(word, 16) for word in line.split())
    except ValueError:
        return None
    if not flags & IS_MEMORY or last <= first:
        return None
    kind = zes.ZES_PCI_BAR_TYPE_MEM
    if index in (REGISTERS, ROM):
        kind = zes.ZES_PCI_BAR_TYPE_MMIO if index == REGISTERS else zes.ZES_PCI_BAR_TYPE_ROM
    return PciBar(kind, index, first, last - first + 1)


def _speed(generation: Any, width: Any) -> PciSpeed:
    lane = LANE_BYTES_PER_SECOND.get(generation)
    return PciSpeed(generation, width, None if lane is None or not width else lane * width)


def link_of(gpu: Gpu, root: str) -> Pci | None:
    info = gpu.maybe("PciInfo")
    if info is None:
        return None
    text = info.busId.decode() if isinstance(info.busId, bytes) else info.busId
    place = re.fullmatch(r"([0-9a-fA-F]+):([0-9a-fA-F]+):([0-9a-fA-F]+)\.([0-7])", text)
    if place is None:
        return None
    domain, bus, device, function = (int(part, 16) for part in place.groups())
    name = f"{domain:04x}:{bus:02x}:{device:02x}.{function}"
    generation = gpu.maybe("GpuMaxPcieLinkGeneration") or gpu.maybe("MaxPcieLinkGeneration")
    return GpuLink(
        (domain, bus, device, function),
        _speed(generation, gpu.maybe("MaxPcieLinkWidth")),
        has_replay_counter=gpu.answers("PcieReplayCounter"),
        gpu=gpu,
        resources=os.path.join(root, "sys/bus/pci/devices", name, "resource"),
    )
