"""Energy, limits of power, and the energy after which a program wants to be told."""

import ctypes
import os
from collections.abc import Callable

import pytest

from groundstate import ze, zes
from groundstate.driver.sysman import handles, thresholds
from groundstate.driver.sysman.parts import PowerDomain
from tests.conftest import check, last_error
from tests.driver.sysman.machines import Recorded, asked

Machines = Callable[..., Recorded]
PACKAGE = "sys/class/powercap/intel-rapl:0"
SUSTAINED, BURST, PEAK = (
    zes.ZES_POWER_LEVEL_SUSTAINED,
    zes.ZES_POWER_LEVEL_BURST,
    zes.ZES_POWER_LEVEL_PEAK,
)
INVALID = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
UNSUPPORTED = ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE


def energy(domain: int) -> int:
    counter = asked(zes.zesPowerGetEnergyCounter, zes.zes_power_energy_counter_t, domain)
    return int(counter.energy)


def limits_of(domain: int) -> list[zes.zes_power_limit_ext_desc_t]:
    count = ctypes.c_uint32()
    check(zes.zesPowerGetLimitsExt(domain, ctypes.byref(count), None))
    found = (zes.zes_power_limit_ext_desc_t * count.value)()
    check(zes.zesPowerGetLimitsExt(domain, ctypes.byref(count), found))
    return list(found)


def set_limits(domain: int, *limits: zes.zes_power_limit_ext_desc_t) -> int:
    array = (zes.zes_power_limit_ext_desc_t * len(limits))(*limits)
    return int(zes.zesPowerSetLimitsExt(domain, ctypes.byref(ctypes.c_uint32(len(limits))), array))


def limit(level: int, milliwatts: int, interval: int = 0, enabled: bool = True) -> ctypes.Structure:
    return zes.zes_power_limit_ext_desc_t(
        level=level, limit=milliwatts, interval=interval, enabled=enabled
    )


def test_domains_of_a_laptop(recorded: Machines) -> None:
    machine = recorded("laptop")
    found = []
    for domain in machine.parts("powers"):
        named = zes.zes_power_domain_exp_properties_t()
        default = zes.zes_power_limit_ext_desc_t()
        extended = zes.zes_power_ext_properties_t(
            pNext=ctypes.addressof(named), defaultLimit=ctypes.addressof(default)
        )
        properties = zes.zes_power_properties_t(pNext=ctypes.addressof(extended))
        check(zes.zesPowerGetProperties(domain, ctypes.byref(properties)))
        assert extended.domain == named.powerDomain
        assert default.limit == properties.defaultLimit
        assert properties.minLimit == -1
        found.append((named.powerDomain, properties.canControl, properties.maxLimit))
    assert found == [
        (zes.ZES_POWER_DOMAIN_PACKAGE, 1, 28000),
        (zes.ZES_POWER_DOMAIN_GPU, 0, -1),
        (zes.ZES_POWER_DOMAIN_CARD, 1, -1),
    ]


def test_the_card_is_the_whole_machine(recorded: Machines) -> None:
    machine = recorded("laptop")
    card = ctypes.c_void_p()
    check(zes.zesDeviceGetCardPowerDomain(machine.device, ctypes.byref(card)))
    assert card.value == machine.parts("powers")[2]
    server = recorded("server")
    assert zes.zesDeviceGetCardPowerDomain(server.device, ctypes.byref(card)) == UNSUPPORTED


def test_energy_goes_on_when_the_counter_wraps(recorded: Machines) -> None:
    machine = recorded("laptop")
    domain = machine.parts("powers")[0]
    first = energy(domain)
    assert first == 98_765_432_100
    turn = int(machine.read(f"{PACKAGE}/max_energy_range_uj"))
    seen = []
    for counter in (first + 7_000_000, turn - 1_000_000, 500_000, 500_000, 2_000_000):
        machine.write(f"{PACKAGE}/energy_uj", counter)
        seen.append(energy(domain) - first)
    to_the_end = turn - 1_000_000 - first
    assert seen == [
        7_000_000,
        to_the_end,
        to_the_end + 1_500_000,
        to_the_end + 1_500_000,
        to_the_end + 3_000_000,
    ]


def test_usage_is_energy_over_time(recorded: Machines) -> None:
    machine = recorded("laptop")
    domain = machine.parts("powers")[0]
    instant, average = ctypes.c_uint32(7), ctypes.c_uint32(7)
    arguments = (domain, ctypes.byref(instant), ctypes.byref(average))
    check(zes.zesPowerGetUsage(*arguments))
    assert (instant.value, average.value) == (0, 0)
    machine.write(f"{PACKAGE}/energy_uj", 98_765_432_100 + 1_000_000)
    check(zes.zesPowerGetUsage(*arguments))
    assert instant.value >= average.value > 0
    spent = average.value
    check(zes.zesPowerGetUsage(*arguments))
    assert instant.value == 0
    assert 0 < average.value < spent


def test_a_counter_that_disappears_is_an_answer(recorded: Machines) -> None:
    machine = recorded("laptop")
    domain = machine.parts("powers")[0]
    machine.write(f"{PACKAGE}/energy_uj", "nonsense")
    counter = zes.zes_power_energy_counter_t()
    assert zes.zesPowerGetEnergyCounter(domain, ctypes.byref(counter)) == UNSUPPORTED
    assert "energy_uj" in last_error()


# --- Limits ---------------------------------------------------------------------------------------


def test_limits_of_a_laptop(recorded: Machines) -> None:
    machine = recorded("laptop")
    package, core, _ = machine.parts("powers")
    found = [(each.level, each.limit, each.interval, each.enabled) for each in limits_of(package)]
    assert found == [(SUSTAINED, 28000, 27983, 1), (BURST, 60000, 2, 1), (PEAK, 105000, -1, 1)]
    for each in limits_of(package):
        assert each.limitUnit == zes.ZES_LIMIT_UNIT_POWER
        assert each.source == zes.ZES_POWER_SOURCE_ANY
        assert not each.limitValueLocked
        assert each.intervalValueLocked == (each.level == PEAK)
    assert limits_of(core) == []
    sustained, burst = zes.zes_power_sustained_limit_t(), zes.zes_power_burst_limit_t()
    peak = zes.zes_power_peak_limit_t()
    arguments = [ctypes.byref(each) for each in (sustained, burst, peak)]
    check(zes.zesPowerGetLimits(package, *arguments))
    assert (sustained.enabled, sustained.power, sustained.interval) == (1, 28000, 27983)
    assert (burst.enabled, burst.power) == (1, 60000)
    assert (peak.powerAC, peak.powerDC) == (105000, -1)
    check(zes.zesPowerGetLimits(package, None, None, None))
    assert zes.zesPowerGetLimits(core, *arguments) == UNSUPPORTED


def test_limits_are_written(recorded: Machines) -> None:
    machine = recorded("laptop")
    package = machine.parts("powers")[0]
    check(set_limits(package, limit(BURST, 45000), limit(SUSTAINED, 15000, 28000)))
    assert machine.read(f"{PACKAGE}/constraint_0_power_limit_uw") == "15000000"
    assert machine.read(f"{PACKAGE}/constraint_0_time_window_us") == "28000000"
    assert machine.read(f"{PACKAGE}/constraint_1_power_limit_uw") == "45000000"
    assert machine.read(f"{PACKAGE}/constraint_1_time_window_us") == "2440"
    check(zes.zesPowerSetLimitsExt2(package, 20000))
    assert machine.read(f"{PACKAGE}/constraint_0_power_limit_uw") == "20000000"
    now = ctypes.c_uint32()
    check(zes.zesPowerGetLimitsExt2(package, ctypes.byref(now)))
    assert now.value == 20000
    sustained = zes.zes_power_sustained_limit_t(enabled=1, power=12000, interval=8000)
    peak = zes.zes_power_peak_limit_t(powerAC=90000)
    check(zes.zesPowerSetLimits(package, ctypes.byref(sustained), None, ctypes.byref(peak)))
    assert machine.read(f"{PACKAGE}/constraint_0_power_limit_uw") == "12000000"
    assert machine.read(f"{PACKAGE}/constraint_2_power_limit_uw") == "90000000"


def test_limits_that_were_read_can_be_set(recorded: Machines) -> None:
    machine = recorded("server")
    before = machine.contents()
    for domain in machine.parts("powers"):
        check(set_limits(domain, *limits_of(domain)))
    assert machine.contents() == before


def test_last_of_repeated_power_limits_holds(recorded: Machines) -> None:
    machine = recorded("laptop")
    package = machine.parts("powers")[0]
    check(set_limits(package, limit(BURST, 45000), limit(BURST, 60000)))
    assert machine.read(f"{PACKAGE}/constraint_1_power_limit_uw") == "60000000"


def test_limits_are_switched_off_together(recorded: Machines) -> None:
    machine = recorded("laptop")
    package = machine.parts("powers")[0]
    before = machine.contents()
    off = [limit(SUSTAINED, 28000, 0, False), limit(BURST, 60000, 0, False)]
    assert set_limits(package, *off) == UNSUPPORTED
    assert "together" in last_error()
    assert machine.contents() == before
    check(set_limits(package, *off, limit(PEAK, 105000, 0, False)))
    assert machine.read(f"{PACKAGE}/enabled") == "0"
    assert not any(each.enabled for each in limits_of(package))


@pytest.mark.parametrize(
    ("wrong", "result"),
    [
        (limit(SUSTAINED, 0), INVALID),
        (limit(SUSTAINED, -1), INVALID),
        (limit(SUSTAINED, -(2**31)), INVALID),
        (limit(SUSTAINED, 9000, -4), INVALID),
        (limit(zes.ZES_POWER_LEVEL_INSTANTANEOUS, 9000), UNSUPPORTED),
        (limit(0x7FFFFFFF, 9000), ze.ZE_RESULT_ERROR_INVALID_ENUMERATION),
    ],
)
def test_one_wrong_limit_and_none_is_set(
    recorded: Machines, wrong: ctypes.Structure, result: int
) -> None:
    machine = recorded("laptop")
    package = machine.parts("powers")[0]
    before = machine.contents()
    assert set_limits(package, limit(BURST, 40000), wrong) == result
    assert last_error()
    assert machine.contents() == before


def test_limits_that_are_no_numbers_of_limits(recorded: Machines) -> None:
    machine = recorded("laptop")
    package, core, _ = machine.parts("powers")
    before = machine.contents()
    count = ctypes.c_uint32(2**32 - 1)
    array = (zes.zes_power_limit_ext_desc_t * 1)()
    result = zes.zesPowerSetLimitsExt(package, ctypes.byref(count), array)
    assert result == ze.ZE_RESULT_ERROR_INVALID_SIZE
    check(zes.zesPowerSetLimitsExt(package, ctypes.byref(ctypes.c_uint32(0)), array))
    for nonsense in (0, 2**32 - 1):
        assert zes.zesPowerSetLimitsExt2(package, nonsense) == INVALID
    assert zes.zesPowerSetLimitsExt2(core, 9000) == UNSUPPORTED
    assert machine.contents() == before


# --- Events ---------------------------------------------------------------------------------------


def test_energy_threshold_counts_from_its_setting(recorded: Machines) -> None:
    machine = recorded("laptop")
    handle = machine.parts("powers")[0]
    found = asked(zes.zesPowerGetEnergyThreshold, zes.zes_energy_threshold_t, handle)
    assert (found.enable, found.threshold, found.processId) == (0, 0.0, 0xFFFFFFFF)
    check(zes.zesPowerSetEnergyThreshold(handle, 2.5))
    found = asked(zes.zesPowerGetEnergyThreshold, zes.zes_energy_threshold_t, handle)
    assert (found.enable, found.threshold, found.processId) == (1, 2.5, os.getpid())
    condition = thresholds.of_energy(handles.part_of(handle, PowerDomain))
    assert condition is not None
    assert not condition.is_crossed(98_765_432_100 + 2_500_000)
    assert condition.is_crossed(98_765_432_100 + 2_500_001)
    check(zes.zesPowerSetEnergyThreshold(handle, 0.0))
    found = asked(zes.zesPowerGetEnergyThreshold, zes.zes_energy_threshold_t, handle)
    assert (found.enable, found.threshold, found.processId) == (0, 0.0, 0xFFFFFFFF)


@pytest.mark.parametrize("joules", [-1.0, float("nan"), float("inf")])
def test_thresholds_that_are_no_energy(recorded: Machines, joules: float) -> None:
    handle = recorded("laptop").parts("powers")[0]
    check(zes.zesPowerSetEnergyThreshold(handle, 2.5))
    assert zes.zesPowerSetEnergyThreshold(handle, joules) == INVALID
    found = asked(zes.zesPowerGetEnergyThreshold, zes.zes_energy_threshold_t, handle)
    assert found.threshold == 2.5
