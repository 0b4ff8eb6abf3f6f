"""The memory of a GPU, and the errors in it, on the chip and on the link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from groundstate import zes
from groundstate.driver.api import Unsupported
from groundstate.driver.sysman.kinds.nvidia.library import Gpu
from groundstate.driver.sysman.parts import ErrorCounters, MemoryModule, MemoryState

NARROWEST_HBM_BITS = 1024
MEMORY_TYPES = {
    2: zes.ZES_MEM_TYPE_GDDR5,
    3: zes.ZES_MEM_TYPE_GDDR5,
    4: zes.ZES_MEM_TYPE_GDDR5,
    10: zes.ZES_MEM_TYPE_GDDR7,
}
"""By architecture (Kepler, Maxwell, Pascal, Blackwell); NVML does not tell, and others have
GDDR6."""


@dataclass(slots=True)
class GpuMemory(MemoryModule):
    """The memory on the card."""

    gpu: Gpu = field(kw_only=True)

    def state(self) -> MemoryState:
        now = self.gpu.ask("MemoryInfo")
        return MemoryState(now.free, now.total, self._health())

    def _health(self) -> int:
        """What the count of rows says that were replaced by spare ones."""
        rows = self.gpu.maybe("RemappedRows")
        if rows is None:
            return int(zes.ZES_MEM_HEALTH_UNKNOWN)
        _, uncorrectable, is_pending, has_failed = rows
        if has_failed:
            return int(zes.ZES_MEM_HEALTH_REPLACE)
        if is_pending:
            return int(zes.ZES_MEM_HEALTH_CRITICAL)
        return int(zes.ZES_MEM_HEALTH_DEGRADED if uncorrectable else zes.ZES_MEM_HEALTH_OK)


def memories_of(gpu: Gpu) -> list[MemoryModule]:
    now = gpu.maybe("MemoryInfo")
    if now is None:
        return []
    width = gpu.maybe("MemoryBusWidth")
    if width is not None and width >= NARROWEST_HBM_BITS:
        kind = zes.ZES_MEM_TYPE_HBM
    else:
        kind = MEMORY_TYPES.get(gpu.maybe("Architecture"), zes.ZES_MEM_TYPE_GDDR6)
    return [GpuMemory(kind, zes.ZES_MEM_LOC_DEVICE, now.total, width, gpu=gpu)]


# --- Errors ---------------------------------------------------------------------------------------

CORRECTED, UNCORRECTED = 0, 1
SINCE_START = 0
DEVICE_MEMORY, ON_THE_CHIP = 2, (0, 1, 3, 4, 5, 6, 7)
PCIE_CORRECTABLE, PCIE_NON_FATAL, PCIE_FATAL = 173, 179, 180


@dataclass(slots=True)
class GpuErrors(ErrorCounters):
    """Errors since the GPU was reset last, in its memory, on the chip and on its link."""

    gpu: Gpu = field(kw_only=True)

    def counts(self) -> dict[int, int]:
        kind = UNCORRECTED if self.type == zes.ZES_RAS_ERROR_TYPE_UNCORRECTABLE else CORRECTED
        links = [PCIE_NON_FATAL, PCIE_FATAL] if kind == UNCORRECTED else [PCIE_CORRECTABLE]
        sums = {
            zes.ZES_RAS_ERROR_CATEGORY_EXP_CACHE_ERRORS: self._ecc(kind, ON_THE_CHIP),
            zes.ZES_RAS_ERROR_CATEGORY_EXP_MEMORY_ERRORS: self._ecc(kind, (DEVICE_MEMORY,)),
            zes.ZES_RAS_ERROR_CATEGORY_EXP_PCIE_ERRORS: _sum(self.gpu.fields(links)),
        }
        return {int(category): count for category, count in sums.items() if count is not None}

    def _ecc(self, kind: int, places: Sequence[int]) -> int | None:
        ask = self.gpu.maybe
        return _sum([ask("MemoryErrorCounter", kind, SINCE_START, place) for place in places])

    def clear(self) -> None:
        raise Unsupported("NVML would clear all counters of the GPU; nvidia-smi -p 0 does")


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def errors_of(gpu: Gpu) -> list[ErrorCounters]:
    types = (zes.ZES_RAS_ERROR_TYPE_CORRECTABLE, zes.ZES_RAS_ERROR_TYPE_UNCORRECTABLE)
    found: list[ErrorCounters] = [GpuErrors(each, gpu=gpu) for each in types]
    return [counters for counters in found if _counts_something(counters)]


def _counts_something(counters: ErrorCounters) -> bool:
    try:
        return bool(counters.counts())
    except PermissionError:
        return True
