"""The energy that packages, cores and memory use, and the limits of their power, from powercap.

The kernel's counters wrap; ours do not, as long as they are read once in a turn of the kernel's,
which takes minutes at full power. They count from where the kernel's stood when first read.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from groundstate import zes
from groundstate.driver.api import Unsupported
from groundstate.driver.sysman.parts import PowerDomain, PowerLimit
from groundstate.driver.sysman.system.files import Files, Gauge
from groundstate.driver.sysman.system.places import Place, Places

_POWERCAP = "sys/class/powercap"
_LARGEST_LIMIT_MW = (1 << 31) - 1

LEVELS = {
    "long_term": zes.ZES_POWER_LEVEL_SUSTAINED,
    "short_term": zes.ZES_POWER_LEVEL_BURST,
    "peak_power": zes.ZES_POWER_LEVEL_PEAK,
}

DOMAINS = {
    "package": zes.ZES_POWER_DOMAIN_PACKAGE,
    "core": zes.ZES_POWER_DOMAIN_GPU,
    "dram": zes.ZES_POWER_DOMAIN_MEMORY,
    "psys": zes.ZES_POWER_DOMAIN_CARD,
}
"""What the kernel's zones are to a device whose engines are the cores. The zone "uncore" is the
graphics unit beside the cores, which is another device."""

LEVEL_NAMES: dict[int, str] = {
    zes.ZES_POWER_LEVEL_SUSTAINED: "sustained",
    zes.ZES_POWER_LEVEL_BURST: "burst",
    zes.ZES_POWER_LEVEL_PEAK: "peak",
    zes.ZES_POWER_LEVEL_INSTANTANEOUS: "instantaneous",
}


@dataclass
class Constraint:
    """A limit as the kernel keeps it: the paths of its files."""

    level: int
    limit: str
    window: str | None
    maximum_mw: int | None


class CpuPower(PowerDomain):
    """The energy of one zone."""

    def __init__(self, files: Files, zone: str, domain: int, place: Place | None) -> None:
        self._files = files
        self._zone = zone
        self._constraints = _constraints(files, zone)
        maximum = next((each.maximum_mw for each in self._constraints if each.maximum_mw), None)
        super().__init__(
            domain=domain,
            default_limit_mw=maximum,
            maximum_limit_mw=maximum,
            can_control=any(
                files.is_writable_by_somebody(each.limit) for each in self._constraints
            ),
            subdevice=None if place is None else place.subdevice,
        )
        self._counter = Gauge(files.path(f"{zone}/energy_uj"))
        self._turn_uj = files.number(f"{zone}/max_energy_range_uj") or 0
        self._lock = threading.Lock()
        self._last: int | None = None
        self._total = 0

    def energy_uj(self) -> tuple[int, int]:
        with self._lock:
            now = self._counter.number()
            last = now if self._last is None else self._last
            # A counter that went back has wrapped, if it wraps; otherwise it has begun anew.
            self._total += now - last if now >= last else now + max(self._turn_uj - last, 0)
            if self._last is None:
                self._total = now
            self._last = now
            return self._total, time.monotonic_ns() // 1000

    def _is_enabled(self) -> bool:
        return self._files.number(f"{self._zone}/enabled") != 0

    def limits(self) -> Sequence[PowerLimit]:
        enabled = self._is_enabled()
        found = []
        for each in self._constraints:
            microwatts = self._files.number(each.limit)
            if microwatts is None:
                continue
            window = self._files.number(each.window) if each.window else None
            found.append(
                PowerLimit(
                    level=each.level,
                    milliwatts=min(microwatts // 1000, _LARGEST_LIMIT_MW),
                    interval_ms=None if window is None else window // 1000,
                    enabled=enabled,
                    can_set=self._files.is_writable_by_somebody(each.limit),
                )
            )
        return found

    def set_limits(self, limits: Sequence[PowerLimit]) -> None:
        """Writes what is to change: what is as it was stays, in the finer units of the files."""
        changes = self._switch(limits)
        present = {limit.level: limit for limit in self.limits()}
        for limit in limits:
            changes += self._changes(self._constraint(limit.level), limit, present.get(limit.level))
            present[limit.level] = limit
        self._files.write_all(changes)

    def _changes(
        self, constraint: Constraint, limit: PowerLimit, before: PowerLimit | None
    ) -> list[tuple[str, str]]:
        changes = []
        if before is None or limit.milliwatts != before.milliwatts:
            if not 0 < limit.milliwatts <= _LARGEST_LIMIT_MW:
                raise ValueError(f"{limit.milliwatts} mW is no limit: give more than 0")
            changes.append((constraint.limit, str(limit.milliwatts * 1000)))
        interval = limit.interval_ms
        if interval is None or constraint.window is None:
            return changes
        if before is None or interval != before.interval_ms:
            if interval <= 0:
                raise ValueError(f"{interval} ms is no interval: give more than 0")
            changes.append((constraint.window, str(interval * 1000)))
        return changes

    def _constraint(self, level: int) -> Constraint:
        for each in self._constraints:
            if each.level == level:
                return each
        name = LEVEL_NAMES.get(level, "such a")
        raise Unsupported(f"{self._zone} has no {name} limit; ask which limits there are")

    def _switch(self, limits: Sequence[PowerLimit]) -> list[tuple[str, str]]:
        """The kernel switches all limits of a zone on and off together."""
        wanted = {limit.enabled for limit in limits}
        enabled = self._is_enabled()
        if wanted <= {enabled}:
            return []
        if wanted != {not enabled} or {limit.level for limit in limits} != {
            each.level for each in self._constraints
        }:
            raise Unsupported(
                f"the limits of {self._zone} are switched on and off together: give all of them"
            )
        return [(f"{self._zone}/enabled", str(int(not enabled)))]


def _constraints(files: Files, zone: str) -> list[Constraint]:
    found = []
    for name in files.names(zone, r"constraint_\d+_name"):
        base = f"{zone}/{name.removesuffix('_name')}"
        level = LEVELS.get(files.text(f"{zone}/{name}") or "")
        if level is None:
            continue
        window = f"{base}_time_window_us"
        maximum = files.number(f"{base}_max_power_uw") or 0
        found.append(
            Constraint(
                level=level,
                limit=f"{base}_power_limit_uw",
                window=window if files.exists(window) else None,
                maximum_mw=maximum // 1000 or None,
            )
        )
    return found


def zones(files: Files, places: Places) -> Iterator[tuple[str, int, Place | None]]:
    """The zones of the packages that the device has CPUs in, and that of the whole machine.

    With the folder of each, what it is, and its package.

    The kernel offers the same zones twice on some laptops, through registers and through memory
    (intel-rapl-mmio); only the first are taken.
    """
    for name in files.names(_POWERCAP, r"intel-rapl:\d+(:\d+)?"):
        zone = f"{_POWERCAP}/{name}"
        kind = files.text(f"{zone}/name") or ""
        domain = DOMAINS.get(kind.partition("-")[0])
        if domain is None or not files.exists(f"{zone}/energy_uj"):
            continue
        if domain == zes.ZES_POWER_DOMAIN_CARD:
            yield zone, domain, None
            continue
        parent = name if name.count(":") == 1 else name.rpartition(":")[0]
        package = re.match(r"package-(\d+)", files.text(f"{_POWERCAP}/{parent}/name") or "")
        place = places.package(int(package[1])) if package else None
        if place is not None:
            yield zone, domain, place


def powers(files: Files, places: Places) -> list[PowerDomain]:
    return [CpuPower(files, *facts) for facts in zones(files, places)]
