"""Clocks: what they are, what they can be, and between which limits they change."""

from __future__ import annotations

import ctypes

from groundstate import zes
from groundstate.driver.api import handler, take_count
from groundstate.driver.sysman import kinds
from groundstate.driver.sysman.handles import enumerate_parts, part_of
from groundstate.driver.sysman.parts import FrequencyDomain
from groundstate.driver.sysman.structs import known, write_place


@handler
def zesDeviceEnumFrequencyDomains(hDevice: int, pCount: int, phFrequency: int) -> None:
    domains = kinds.watched(hDevice).frequencies()
    enumerate_parts(pCount, phFrequency, domains, "zes_freq_handle_t")


@handler
def zesFrequencyGetProperties(hFrequency: int, pProperties: int) -> None:
    domain = part_of(hFrequency, FrequencyDomain)
    properties = zes.zes_freq_properties_t.from_address(pProperties)
    write_place(properties, domain)
    properties.type = domain.type
    properties.canControl = domain.can_control
    properties.isThrottleEventSupported = domain.tells_throttling
    properties.min = known(domain.minimum_mhz)
    properties.max = known(domain.maximum_mhz)


@handler
def zesFrequencyGetAvailableClocks(hFrequency: int, pCount: int, phFrequency: int) -> None:
    clocks = part_of(hFrequency, FrequencyDomain).available_mhz()
    for index in range(take_count(pCount, phFrequency, len(clocks))):
        ctypes.c_double.from_address(phFrequency + 8 * index).value = clocks[index]


@handler
def zesFrequencyGetRange(hFrequency: int, pLimits: int) -> None:
    limits = zes.zes_freq_range_t.from_address(pLimits)
    limits.min, limits.max = part_of(hFrequency, FrequencyDomain).range_mhz()


@handler
def zesFrequencySetRange(hFrequency: int, pLimits: int) -> None:
    limits = zes.zes_freq_range_t.from_address(pLimits)
    part_of(hFrequency, FrequencyDomain).set_range(limits.min, limits.max)


@handler
def zesFrequencyGetState(hFrequency: int, pState: int) -> None:
    found = part_of(hFrequency, FrequencyDomain).state()
    state = zes.zes_freq_state_t.from_address(pState)
    state.currentVoltage = known(found.voltage)
    state.request = known(found.request_mhz)
    state.tdp = known(found.tdp_mhz)
    state.efficient = known(found.efficient_mhz)
    state.actual = known(found.actual_mhz)
    state.throttleReasons = found.throttle_reasons


@handler
def zesFrequencyGetThrottleTime(hFrequency: int, pThrottleTime: int) -> None:
    throttled = zes.zes_freq_throttle_time_t.from_address(pThrottleTime)
    domain = part_of(hFrequency, FrequencyDomain)
    throttled.throttleTime, throttled.timestamp = domain.throttle_time_us()


@handler
def zesFrequencyOcGetCapabilities(hFrequency: int, pOcCapabilities: int) -> None:
    """No device of this driver can be overclocked through it."""
    domain = part_of(hFrequency, FrequencyDomain)
    capabilities = zes.zes_oc_capabilities_t.from_address(pOcCapabilities)
    for name, *_ in capabilities._fields_:
        if name not in ("stype", "pNext"):
            setattr(capabilities, name, 0)
    capabilities.maxFactoryDefaultFrequency = known(domain.maximum_mhz)
