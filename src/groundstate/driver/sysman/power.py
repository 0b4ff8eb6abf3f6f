"""Power domains: the energy that they used, the limits of their power, and events about energy."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Sequence

from groundstate import ze, zes
from groundstate.driver.api import (
    Failure,
    Unsupported,
    answer_structs,
    chained,
    handler,
    pointer_in,
    read_u32,
    write_pointer,
    write_u32,
)
from groundstate.driver.sysman import kinds, thresholds
from groundstate.driver.sysman.handles import enumerate_parts, handle_of, part_of
from groundstate.driver.sysman.parts import PowerDomain, PowerLimit
from groundstate.driver.sysman.structs import known_int32, write_place
from groundstate.driver.sysman.thresholds import EnergyCondition

_NOBODY = 0xFFFFFFFF
_LEVELS = range(zes.ZES_POWER_LEVEL_INSTANTANEOUS + 1)
_MOST_LIMITS = 64
_SHORTEST_USAGE_US = 1000
"""Over less time than this, the power is not told: counters move in steps."""

_usage: dict[int, tuple[tuple[int, int], tuple[int, int]]] = {}
"""The first and the last reading of domains whose power somebody asked for."""


@handler
def zesDeviceEnumPowerDomains(hDevice: int, pCount: int, phPower: int) -> None:
    enumerate_parts(pCount, phPower, kinds.watched(hDevice).powers(), "zes_pwr_handle_t")


@handler
def zesDeviceGetCardPowerDomain(hDevice: int, phPower: int) -> None:
    for domain in kinds.watched(hDevice).powers():
        if domain.domain == zes.ZES_POWER_DOMAIN_CARD:
            write_pointer(phPower, handle_of(domain, "zes_pwr_handle_t"))
            return
    raise Unsupported("the machine does not count the energy of all its parts together")


@handler
def zesPowerGetProperties(hPower: int, pProperties: int) -> None:
    domain = part_of(hPower, PowerDomain)
    properties = zes.zes_power_properties_t.from_address(pProperties)
    write_place(properties, domain)
    properties.canControl = domain.can_control
    properties.isEnergyThresholdSupported = True
    properties.defaultLimit = known_int32(domain.default_limit_mw)
    properties.minLimit = known_int32(domain.minimum_limit_mw)
    properties.maxLimit = known_int32(domain.maximum_limit_mw)
    extended = chained(properties, zes.zes_power_ext_properties_t)
    if extended is not None:
        extended.domain = domain.domain
        _write_default(domain, pointer_in(extended, "defaultLimit"))
    named = chained(properties, zes.zes_power_domain_exp_properties_t)
    if named is not None:
        named.powerDomain = domain.domain


def _write_default(domain: PowerDomain, address: int) -> None:
    """The default limit goes where the caller's struct points, if it points anywhere."""
    if not address:
        return
    limit = zes.zes_power_limit_ext_desc_t.from_address(address)
    _write_limit(limit, PowerLimit(zes.ZES_POWER_LEVEL_SUSTAINED, 0))
    limit.limit = known_int32(domain.default_limit_mw)


@handler
def zesPowerGetEnergyCounter(hPower: int, pEnergy: int) -> None:
    counter = zes.zes_power_energy_counter_t.from_address(pEnergy)
    counter.energy, counter.timestamp = part_of(hPower, PowerDomain).energy_uj()


@handler
def zesPowerGetUsage(hPower: int, pInstantPower: int, pAveragePower: int) -> None:
    """The power since the last call, and since the first; the first call waits a moment."""
    domain = part_of(hPower, PowerDomain)
    told = domain.usage_mw()
    if told is not None:
        write_u32(pInstantPower, told[0])
        write_u32(pAveragePower, told[1])
        return
    now = domain.energy_uj()
    first, last = _usage.get(id(domain), (now, now))
    while now[1] - last[1] < _SHORTEST_USAGE_US:
        time.sleep(_SHORTEST_USAGE_US / 1e6)
        now = domain.energy_uj()
    _usage[id(domain)] = (first, now)
    write_u32(pInstantPower, _milliwatts(last, now))
    write_u32(pAveragePower, _milliwatts(first, now))


def _milliwatts(before: tuple[int, int], after: tuple[int, int]) -> int:
    power = (after[0] - before[0]) * 1000 // (after[1] - before[1])
    return min(power, (1 << 32) - 1)


# --- Limits ---------------------------------------------------------------------------------------


def _limit_of(limits: Sequence[PowerLimit], level: int) -> PowerLimit | None:
    return next((limit for limit in limits if limit.level == level), None)


@handler
def zesPowerGetLimits(hPower: int, pSustained: int, pBurst: int, pPeak: int) -> None:
    """A limit that the domain has not got is one of -1 that is not enabled."""
    limits = part_of(hPower, PowerDomain).limits()
    if not limits:
        raise Unsupported("the power of this domain cannot be limited")
    found = _limit_of(limits, zes.ZES_POWER_LEVEL_SUSTAINED)
    if pSustained:
        sustained = zes.zes_power_sustained_limit_t.from_address(pSustained)
        sustained.enabled = found is not None and found.enabled
        sustained.power = known_int32(found.milliwatts if found else None)
        sustained.interval = known_int32(found.interval_ms if found else None)
    found = _limit_of(limits, zes.ZES_POWER_LEVEL_BURST)
    if pBurst:
        burst = zes.zes_power_burst_limit_t.from_address(pBurst)
        burst.enabled = found is not None and found.enabled
        burst.power = known_int32(found.milliwatts if found else None)
    found = _limit_of(limits, zes.ZES_POWER_LEVEL_PEAK)
    if pPeak:
        peak = zes.zes_power_peak_limit_t.from_address(pPeak)
        peak.powerAC = known_int32(found.milliwatts if found else None)
        peak.powerDC = -1


@handler
def zesPowerSetLimits(hPower: int, pSustained: int, pBurst: int, pPeak: int) -> None:
    domain = part_of(hPower, PowerDomain)
    wanted = []
    enabled = [limit.enabled for limit in domain.limits()[:1]]
    if pSustained:
        sustained = zes.zes_power_sustained_limit_t.from_address(pSustained)
        interval = None if sustained.interval == 0 else sustained.interval
        level = zes.ZES_POWER_LEVEL_SUSTAINED
        enabled = [bool(sustained.enabled)]
        wanted.append(PowerLimit(level, sustained.power, interval, enabled[0]))
    if pBurst:
        burst = zes.zes_power_burst_limit_t.from_address(pBurst)
        level = zes.ZES_POWER_LEVEL_BURST
        wanted.append(PowerLimit(level, burst.power, enabled=bool(burst.enabled)))
    if pPeak:
        peak = zes.zes_power_peak_limit_t.from_address(pPeak)
        level = zes.ZES_POWER_LEVEL_PEAK
        wanted.append(PowerLimit(level, peak.powerAC, enabled=all(enabled)))
    if wanted:
        domain.set_limits(wanted)


def _write_limit(description: ctypes.Structure, limit: PowerLimit) -> None:
    description.level = limit.level
    description.source = zes.ZES_POWER_SOURCE_ANY
    description.limitUnit = zes.ZES_LIMIT_UNIT_POWER
    description.enabledStateLocked = not limit.can_set
    description.enabled = limit.enabled
    description.intervalValueLocked = not limit.can_set or limit.interval_ms is None
    description.interval = known_int32(limit.interval_ms)
    description.limitValueLocked = not limit.can_set
    description.limit = known_int32(limit.milliwatts)


@handler
def zesPowerGetLimitsExt(hPower: int, pCount: int, pSustained: int) -> None:
    limits = part_of(hPower, PowerDomain).limits()
    answer_structs(pCount, pSustained, zes.zes_power_limit_ext_desc_t, limits, _write_limit)


@handler
def zesPowerSetLimitsExt(hPower: int, pCount: int, pSustained: int) -> None:
    domain = part_of(hPower, PowerDomain)
    count = read_u32(pCount)
    if not count or not pSustained:
        return
    if count > _MOST_LIMITS:
        raise Failure(ze.ZE_RESULT_ERROR_INVALID_SIZE, f"{count} limits are more than there are")
    array = (zes.zes_power_limit_ext_desc_t * count).from_address(pSustained)
    present = domain.limits()
    domain.set_limits([_read_limit(each, present) for each in array])


def _read_limit(description: ctypes.Structure, present: Sequence[PowerLimit]) -> PowerLimit:
    """A limit as it was given, without what is locked."""
    if description.level not in _LEVELS:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ENUMERATION,
            f"{description.level} is no level of power limits (zes_power_level_t)",
        )
    before = _limit_of(present, description.level)
    locked = before is None or before.interval_ms is None or description.interval == 0
    interval = None if locked else description.interval
    return PowerLimit(description.level, description.limit, interval, bool(description.enabled))


@handler
def zesPowerGetLimitsExt2(hPower: int, pLimit: int) -> None:
    write_u32(pLimit, _sustained(part_of(hPower, PowerDomain)).milliwatts)


@handler
def zesPowerSetLimitsExt2(hPower: int, limit: int) -> None:
    domain = part_of(hPower, PowerDomain)
    before = _sustained(domain)
    domain.set_limits([PowerLimit(before.level, limit, enabled=before.enabled)])


def _sustained(domain: PowerDomain) -> PowerLimit:
    found = _limit_of(domain.limits(), zes.ZES_POWER_LEVEL_SUSTAINED)
    if found is None:
        raise Unsupported("the power of this domain cannot be limited")
    return found


# --- Events ---------------------------------------------------------------------------------------


@handler
def zesPowerGetEnergyThreshold(hPower: int, pThreshold: int) -> None:
    condition = thresholds.of_energy(part_of(hPower, PowerDomain))
    threshold = zes.zes_energy_threshold_t.from_address(pThreshold)
    threshold.enable = condition is not None
    threshold.threshold = 0.0 if condition is None else condition.joules
    threshold.processId = _NOBODY if condition is None else condition.process


@handler
def zesPowerSetEnergyThreshold(hPower: int, threshold: float) -> None:
    """Counts from now on; 0, which is what is read where there is no threshold, removes it."""
    domain = part_of(hPower, PowerDomain)
    if not math.isfinite(threshold) or threshold < 0:
        raise ValueError(f"{threshold} joules are no threshold: give more than 0, or 0 for none")
    now = domain.energy_uj()[0]
    thresholds.set_energy(domain, EnergyCondition(threshold, now) if threshold else None)
