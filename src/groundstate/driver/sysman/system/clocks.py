"""The clocks of the CPUs, from the kernel's cpufreq policies and its count of throttling.

Without cpufreq, as on most virtual machines, the clock is the one in /proc/cpuinfo, and nothing
else is known. The clock of many CPUs is the mean of a sample: each reading may interrupt a CPU.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Iterable, Sequence

from groundstate import zes
from groundstate.driver.api import Unsupported
from groundstate.driver.devices.cpu import parse_cpu_list
from groundstate.driver.sysman.parts import FrequencyDomain, FrequencyState
from groundstate.driver.sysman.system.files import Files, Gauge, readings
from groundstate.driver.sysman.system.places import Place, Places

_CPUFREQ = "sys/devices/system/cpu/cpufreq"
SAMPLE = 16
"""Of how many CPUs the clock is read."""

RECENTLY_SECONDS = 1.0
"""For how long throttling is told after it was counted: several may look, and all are to see it."""

FACTORY = -1.0
"""The limit that stands for the machine's own."""


class Policy:
    """CPUs that the kernel gives one clock."""

    def __init__(self, files: Files, folder: str) -> None:
        self.folder = folder
        text = files.text(f"{folder}/related_cpus") or files.text(f"{folder}/affected_cpus") or ""
        self.cpus = frozenset(parse_cpu_list(text.replace(" ", ",")))
        self.minimum_khz = files.number(f"{folder}/cpuinfo_min_freq") or 0
        self.maximum_khz = files.number(f"{folder}/cpuinfo_max_freq") or 0
        self.clock = files.gauge(f"{folder}/scaling_cur_freq")
        self.base = files.gauge(f"{folder}/base_frequency")
        self.low = files.gauge(f"{folder}/scaling_min_freq")
        self.high = files.gauge(f"{folder}/scaling_max_freq")

    def clamped(self, megahertz: float) -> int:
        """A clock within what this policy's CPUs can do, in kHz."""
        return round(min(max(megahertz * 1000, self.minimum_khz), self.maximum_khz))


class CpuClock(FrequencyDomain):
    """The clocks of some CPUs."""

    def __init__(self, files: Files, place: Place, policies: Sequence[Policy]) -> None:
        self._files = files
        self._place = place
        self._policies = [policy for policy in policies if not policy.cpus.isdisjoint(place.cpus)]
        limited = [policy for policy in self._policies if policy.low and policy.high]
        super().__init__(
            type=zes.ZES_FREQ_DOMAIN_GPU,
            minimum_mhz=_lowest(policy.minimum_khz for policy in limited),
            maximum_mhz=_highest(policy.maximum_khz for policy in limited),
            can_control=bool(limited)
            and files.is_writable_by_somebody(f"{limited[0].folder}/scaling_max_freq"),
            subdevice=place.subdevice,
        )
        self._limited = limited
        self._sample = [policy.clock for policy in _spread(self._policies) if policy.clock]
        self._cpuinfo = None if self._sample else files.gauge("proc/cpuinfo")
        throttling = f"sys/devices/system/cpu/cpu{place.cpus[0]}/thermal_throttle"
        self._throttle_ms = files.gauge(f"{throttling}/package_throttle_total_time_ms")
        self._throttle_count = files.gauge(f"{throttling}/package_throttle_count")
        self._efficient_mhz = self._efficient()
        self.tells_throttling = self._throttle_count is not None or bool(limited)
        self._last_count: int | None = None
        self._throttled_at = -math.inf
        self._lock = threading.Lock()

    @property
    def is_known(self) -> bool:
        """Whether the machine tells anything about this clock."""
        return bool(self._sample) or self._from_cpuinfo() is not None

    def state(self) -> FrequencyState:
        return FrequencyState(
            actual_mhz=self._actual(),
            tdp_mhz=self._base(),
            efficient_mhz=self._efficient_mhz,
            throttle_reasons=self._throttle_reasons(),
        )

    def _actual(self) -> float | None:
        if not self._sample:
            return self._from_cpuinfo()
        clocks = readings(self._sample)
        return sum(clocks) / len(clocks) / 1000

    def _from_cpuinfo(self) -> float | None:
        # The first kilobytes tell of the first CPUs; all of it is long on a large machine.
        if self._cpuinfo is None:
            return None
        found = re.findall(r"^cpu MHz\s*: ([0-9.]+)\n", self._cpuinfo.text(), re.MULTILINE)
        return sum(map(float, found)) / len(found) if found else None

    def _base(self) -> float | None:
        """The clock that is guaranteed within the power that the package may use."""
        bases = [policy.base for policy in self._policies if policy.base]
        khz = _number(bases[0]) if bases else None
        return None if khz is None else khz / 1000

    def _efficient(self) -> float | None:
        """The clock below which less speed saves little power."""
        if not self._policies:
            return None
        khz = self._files.number(f"{self._policies[0].folder}/amd_pstate_lowest_nonlinear_freq")
        return khz / 1000 if khz else None

    def _throttle_reasons(self) -> int:
        """Heat, if the package was throttled of late; and a limit that somebody set."""
        reasons = 0
        if self._was_throttled():
            reasons |= zes.ZES_FREQ_THROTTLE_REASON_FLAG_THERMAL_LIMIT
        highs = [_number(policy.high) for policy in self._limited[:1]]
        if highs and highs[0] is not None and highs[0] < self._limited[0].maximum_khz:
            reasons |= zes.ZES_FREQ_THROTTLE_REASON_FLAG_SW_RANGE
        return reasons

    def _was_throttled(self) -> bool:
        count, now = _number(self._throttle_count), time.monotonic()
        with self._lock:
            if count is not None and self._last_count is not None and count > self._last_count:
                self._throttled_at = now
            self._last_count = count
            return now - self._throttled_at < RECENTLY_SECONDS

    def range_mhz(self) -> tuple[float, float]:
        if not self._limited:
            return -1.0, -1.0  # nobody can have set a limit
        lows = [policy.low.number() for policy in self._limited if policy.low]
        highs = [policy.high.number() for policy in self._limited if policy.high]
        return min(lows) / 1000, max(highs) / 1000

    def set_range(self, minimum_mhz: float, maximum_mhz: float) -> None:
        _check_range(minimum_mhz, maximum_mhz)
        if not self._limited:
            raise Unsupported("the kernel does not control the clocks of these CPUs")
        changes: list[tuple[str, str]] = []
        for policy in self._limited:
            low = policy.clamped(0 if minimum_mhz < 0 else minimum_mhz)
            high = policy.clamped(maximum_mhz if maximum_mhz > 0 else math.inf)
            changes += self._changes(policy, low, max(low, high))
        self._files.write_all(changes)

    def _changes(self, policy: Policy, low: int, high: int) -> list[tuple[str, str]]:
        """The lower limit must never be above the upper one, not even between the two writes."""
        lower = (f"{policy.folder}/scaling_min_freq", str(low))
        upper = (f"{policy.folder}/scaling_max_freq", str(high))
        now = self._files.number(upper[0]) or 0
        return [upper, lower] if low > now else [lower, upper]

    def available_mhz(self) -> Sequence[float]:
        if not self._limited or self.minimum_mhz is None or self.maximum_mhz is None:
            return []
        listed = self._files.text(f"{self._limited[0].folder}/scaling_available_frequencies")
        if listed:
            return sorted(int(khz) / 1000 for khz in listed.split() if khz.isdigit())
        # A driver with so many states has them at even distances; others take any clock between.
        steps = self._files.number("sys/devices/system/cpu/intel_pstate/num_pstates") or 2
        width = self.maximum_mhz - self.minimum_mhz
        return [self.minimum_mhz + width * step / (steps - 1) for step in range(max(steps, 2))]

    def throttle_time_us(self) -> tuple[int, int]:
        if self._throttle_ms is None:
            return super().throttle_time_us()
        return self._throttle_ms.number() * 1000, time.monotonic_ns() // 1000


def _check_range(minimum_mhz: float, maximum_mhz: float) -> None:
    """Refuses limits that make no sense. -1 is the machine's own, 0 its lowest or highest."""
    for limit in (minimum_mhz, maximum_mhz):
        if math.isnan(limit) or (limit < 0 and limit != FACTORY):
            raise ValueError(f"{limit} is no clock: give MHz, 0, or -1 for the machine's own limit")
    if 0 < maximum_mhz < minimum_mhz:
        raise ValueError(f"the lower limit {minimum_mhz} is above the upper one {maximum_mhz}")


def _number(gauge: Gauge | None) -> int | None:
    """What a gauge says; None if it is not there or says nothing now, as for a CPU that is off."""
    if gauge is None:
        return None
    try:
        return gauge.number()
    except (Unsupported, PermissionError):
        return None


def _lowest(khz: Iterable[int]) -> float | None:
    known = [each for each in khz if each]
    return min(known) / 1000 if known else None


def _highest(khz: Iterable[int]) -> float | None:
    known = [each for each in khz if each]
    return max(known) / 1000 if known else None


def _spread(policies: Sequence[Policy]) -> list[Policy]:
    """At most `SAMPLE` of the policies, at even distances."""
    count = len(policies)
    if count <= SAMPLE:
        return list(policies)
    return [policies[index * count // SAMPLE] for index in range(SAMPLE)]


def clocks(files: Files, places: Places) -> list[FrequencyDomain]:
    """One clock for each sub-device and package."""
    names = files.names(_CPUFREQ, r"policy\d+")
    policies = [Policy(files, f"{_CPUFREQ}/{name}") for name in names]
    found = [CpuClock(files, place, policies) for place in places.clock_places()]
    return [clock for clock in found if clock.is_known]
