"""The clocks of a GPU, why they are held down, and the limits that can be set."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from groundstate import zes
from groundstate.driver.api import Unsupported
from groundstate.driver.sysman.kinds.nvidia.library import Gpu
from groundstate.driver.sysman.parts import FrequencyDomain, FrequencyState

GRAPHICS_CLOCK, MEMORY_CLOCK, VIDEO_CLOCK = 0, 2, 3
FASTEST_STATE = 0

REASONS = {
    0x002: zes.ZES_FREQ_THROTTLE_REASON_FLAG_SW_RANGE,
    0x004: zes.ZES_FREQ_THROTTLE_REASON_FLAG_AVE_PWR_CAP,
    0x008: zes.ZES_FREQ_THROTTLE_REASON_FLAG_HW_RANGE,
    0x010: zes.ZES_FREQ_THROTTLE_REASON_FLAG_SW_RANGE,
    0x020: zes.ZES_FREQ_THROTTLE_REASON_FLAG_THERMAL_LIMIT,
    0x040: zes.ZES_FREQ_THROTTLE_REASON_FLAG_THERMAL_LIMIT,
    0x080: zes.ZES_FREQ_THROTTLE_REASON_FLAG_PSU_ALERT,
    0x100: zes.ZES_FREQ_THROTTLE_REASON_FLAG_SW_RANGE,
}
"""NVML's reasons why a clock is not higher. The first of them, idleness, is no throttling."""

POLICIES = [74, 75, 77, 79]
"""Fields that count nanoseconds for which a limit held the clock down: power, heat, those of the
board, those of voltage."""


class Throttling:
    """For how long a clock was held down, by one reason or several at once."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._lock = threading.Lock()
        self._last: tuple[int, int] | None = None
        self._total_ns = 0

    def read(self) -> tuple[int, int]:
        """The time and when it was read, in microseconds."""
        with self._lock:
            counted = [count for count in self._gpu.fields(POLICIES) if count is not None]
            if not counted:
                raise Unsupported("this GPU does not count how long its clock is held down")
            now, total = time.monotonic_ns(), sum(counted)
            if self._last is None:
                self._total_ns = max(counted)
            else:
                # Two reasons can hold at once, but no longer than it took.
                total_before, before = self._last
                self._total_ns += max(0, min(total - total_before, now - before))
            self._last = (total, now)
            return self._total_ns // 1000, now // 1000


@dataclass(slots=True)
class GpuClock(FrequencyDomain):
    """A clock of the GPU, of its memory or of its video engines."""

    gpu: Gpu = field(kw_only=True)
    clock: int = field(kw_only=True)
    clocks: Sequence[float] = field(default=(), kw_only=True)
    throttling: Throttling | None = field(default=None, kw_only=True)
    limits: tuple[float, float] | None = field(default=None, kw_only=True)
    """What this process has set: NVML does not tell."""

    def state(self) -> FrequencyState:
        actual = float(self.gpu.ask("ClockInfo", self.clock))
        return FrequencyState(actual_mhz=actual, throttle_reasons=self._reasons())

    def _reasons(self) -> int:
        if self.clock != GRAPHICS_CLOCK:
            return 0
        bits = self.gpu.maybe("CurrentClocksEventReasons")
        if bits is None:
            bits = self.gpu.maybe("CurrentClocksThrottleReasons") or 0
        found = 0
        for bit, reason in REASONS.items():
            found |= reason if bits & bit else 0
        return found

    def available_mhz(self) -> Sequence[float]:
        return self.clocks

    def throttle_time_us(self) -> tuple[int, int]:
        if self.throttling is None:
            raise Unsupported("NVML does not count how long this clock is held down")
        return self.throttling.read()

    def range_mhz(self) -> tuple[float, float]:
        if self.limits is None:
            raise Unsupported("NVML tells no limits of clocks but those that were set here")
        return self.limits

    def set_range(self, minimum_mhz: float, maximum_mhz: float) -> None:
        if not self.can_control or self.minimum_mhz is None or self.maximum_mhz is None:
            raise Unsupported("only the clock of the GPU itself can be set, where it can")
        for limit in (minimum_mhz, maximum_mhz):
            if not math.isfinite(limit) or (limit < 0 and limit != -1):
                raise ValueError(f"{limit} is no clock: give MHz, or -1 for the GPU's own limit")
        if minimum_mhz <= 0 and maximum_mhz <= 0:
            self.gpu.call("nvmlDeviceResetGpuLockedClocks")
            self.limits = (self.minimum_mhz, self.maximum_mhz)
            return
        low = max(minimum_mhz, self.minimum_mhz)
        high = min(maximum_mhz, self.maximum_mhz) if maximum_mhz > 0 else self.maximum_mhz
        if low > high:
            raise ValueError(f"the lower limit {low} is above the upper one {high}")
        self.gpu.call("nvmlDeviceSetGpuLockedClocks", round(low), round(high))
        self.limits = (low, high)


def frequencies_of(gpu: Gpu) -> list[FrequencyDomain]:
    memory = sorted(map(float, gpu.maybe("SupportedMemoryClocks") or []))
    graphics = gpu.maybe("SupportedGraphicsClocks", int(memory[-1])) if memory else None
    domains: tuple[tuple[int, int, list[float]], ...] = (
        (zes.ZES_FREQ_DOMAIN_GPU, GRAPHICS_CLOCK, sorted(map(float, graphics or []))),
        (zes.ZES_FREQ_DOMAIN_MEMORY, MEMORY_CLOCK, memory),
        (zes.ZES_FREQ_DOMAIN_MEDIA, VIDEO_CLOCK, []),
    )
    return [
        GpuClock(
            kind,
            clocks[0] if clocks else _slowest(gpu, clock),
            gpu.maybe("MaxClockInfo", clock),
            can_control=clock == GRAPHICS_CLOCK and bool(clocks),
            gpu=gpu,
            clock=clock,
            clocks=clocks,
            throttling=Throttling(gpu) if clock == GRAPHICS_CLOCK else None,
        )
        for kind, clock, clocks in domains
        if gpu.answers("ClockInfo", clock)
    ]


def _slowest(gpu: Gpu, clock: int) -> float | None:
    found = gpu.maybe("MinMaxClockOfPState", clock, FASTEST_STATE)
    return None if found is None else float(found[0])
