"""What can be set: clocks, time slices, conditions for events; and what is counted and cleared."""

import ctypes
import errno
import math
import os
from collections.abc import Callable

import pytest

from groundstate import ze, zes
from groundstate.driver.sysman import handles, thresholds
from groundstate.driver.sysman.parts import ErrorCounters, TemperatureSensor
from groundstate.driver.sysman.system.files import Files
from tests.conftest import check, last_error
from tests.driver.sysman.machines import Recorded, asked

Machines = Callable[..., Recorded]
POLICY = "sys/devices/system/cpu/cpufreq/policy"
INVALID = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
UNSUPPORTED = ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE


def set_range(clock: int, minimum: float, maximum: float) -> int:
    limits = zes.zes_freq_range_t(min=minimum, max=maximum)
    return int(zes.zesFrequencySetRange(clock, ctypes.byref(limits)))


def get_range(clock: int) -> tuple[float, float]:
    limits = asked(zes.zesFrequencyGetRange, zes.zes_freq_range_t, clock)
    return limits.min, limits.max


# --- Clocks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "set_to"),
    [
        ((1200, 2400), (1200, 2400)),
        ((0, 2400), (400, 2400)),
        ((1200, 0), (1200, 4800)),
        ((-1, -1), (400, 4800)),
        ((-1, 900), (400, 900)),
        ((1, 1e12), (400, 4800)),
        ((1200, math.inf), (1200, 4800)),
        ((4800, 4800), (4800, 4800)),
        ((10, 20), (400, 400)),
        ((1e300, 1e300), (4800, 4800)),
    ],
)
def test_frequency_range_is_clamped_to_cpu_limits(
    recorded: Machines, wanted: tuple[float, float], set_to: tuple[float, float]
) -> None:
    machine = recorded("laptop")
    [clock] = machine.parts("frequencies")
    check(set_range(clock, 3000, 3500))
    check(set_range(clock, *wanted))
    assert get_range(clock) == set_to
    for cpu in range(8):
        low = int(machine.read(f"{POLICY}{cpu}/scaling_min_freq"))
        high = int(machine.read(f"{POLICY}{cpu}/scaling_max_freq"))
        assert (low, high) == (set_to[0] * 1000, set_to[1] * 1000)


@pytest.mark.parametrize(
    ("minimum", "maximum"),
    [(2000, 1000), (math.nan, 2000), (1000, math.nan), (-2, 2000), (1000, -0.5), (-math.inf, 1)],
)
def test_invalid_frequency_range_changes_nothing(
    recorded: Machines, minimum: float, maximum: float
) -> None:
    machine = recorded("laptop")
    [clock] = machine.parts("frequencies")
    before = machine.contents()
    assert set_range(clock, minimum, maximum) == INVALID
    assert last_error()
    assert machine.contents() == before


def test_low_clock_limit_is_a_throttle_reason(recorded: Machines) -> None:
    [clock] = recorded("laptop").parts("frequencies")
    check(set_range(clock, 400, 2000))
    state = asked(zes.zesFrequencyGetState, zes.zes_freq_state_t, clock)
    assert state.throttleReasons == zes.ZES_FREQ_THROTTLE_REASON_FLAG_SW_RANGE
    check(set_range(clock, -1, -1))
    assert not asked(zes.zesFrequencyGetState, zes.zes_freq_state_t, clock).throttleReasons


def test_only_the_cpus_of_a_part_get_its_limits(recorded: Machines) -> None:
    machine = recorded("server", [range(4), range(4, 8)])
    first, second = machine.parts("frequencies")
    check(set_range(second, 1000, 2000))
    assert (get_range(first), get_range(second)) == ((800, 3800), (1000, 2000))
    assert machine.read(f"{POLICY}3/scaling_max_freq") == "3800000"
    assert machine.read(f"{POLICY}4/scaling_max_freq") == "2000000"


@pytest.mark.parametrize(
    ("number", "result"),
    [
        (errno.EACCES, ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS),
        (errno.EROFS, ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS),
        (errno.EINVAL, INVALID),
        (errno.EIO, UNSUPPORTED),
    ],
)
def test_a_write_that_fails_midway_is_taken_back(
    recorded: Machines, monkeypatch: pytest.MonkeyPatch, number: int, result: int
) -> None:
    machine = recorded("laptop")
    [clock] = machine.parts("frequencies")
    before = machine.contents()
    real, written = Files._write, []

    def refuse_the_sixth(files: Files, path: str, text: str) -> None:
        if path.startswith(f"{POLICY}5"):
            raise OSError(number, os.strerror(number), path)
        written.append(path)
        real(files, path, text)

    monkeypatch.setattr(Files, "_write", refuse_the_sixth)
    assert set_range(clock, 1000, 2000) == result
    assert f"{POLICY}5" in last_error()
    assert len(written) == 20
    assert machine.contents() == before


# --- Time slices ----------------------------------------------------------------------------------


def test_the_time_slice_of_the_scheduler(recorded: Machines) -> None:
    machine = recorded("laptop")
    [scheduler] = machine.parts("schedulers")
    properties = asked(zes.zesSchedulerGetProperties, zes.zes_sched_properties_t, scheduler)
    assert properties.engines == zes.ZES_ENGINE_TYPE_FLAG_COMPUTE
    assert properties.supportedModes == 1 << zes.ZES_SCHED_MODE_TIMESLICE
    assert properties.canControl
    mode = asked(zes.zesSchedulerGetCurrentMode, ctypes.c_uint32, scheduler)
    assert mode.value == zes.ZES_SCHED_MODE_TIMESLICE
    kind = zes.zes_sched_timeslice_properties_t
    read = zes.zesSchedulerGetTimesliceModeProperties
    config = asked(read, kind, scheduler, 0)
    assert (config.interval, config.yieldTimeout) == (3000, zes.ZES_SCHED_WATCHDOG_DISABLE)
    config.interval = 5500
    reload = ctypes.c_uint8(1)
    check(zes.zesSchedulerSetTimesliceMode(scheduler, ctypes.byref(config), ctypes.byref(reload)))
    assert reload.value == 0
    assert machine.read("sys/kernel/debug/sched/base_slice_ns") == "5500000"
    assert asked(read, kind, scheduler, 0).interval == 5500
    assert asked(read, kind, scheduler, 1).interval == 3000


@pytest.mark.parametrize(
    ("interval", "yielding", "result"),
    [
        (0, zes.ZES_SCHED_WATCHDOG_DISABLE, INVALID),
        (99, zes.ZES_SCHED_WATCHDOG_DISABLE, INVALID),
        (1_000_001, zes.ZES_SCHED_WATCHDOG_DISABLE, INVALID),
        (2**64 - 1, zes.ZES_SCHED_WATCHDOG_DISABLE, INVALID),
        (5000, 1000, UNSUPPORTED),
    ],
)
def test_slices_that_cannot_be(
    recorded: Machines, interval: int, yielding: int, result: int
) -> None:
    machine = recorded("laptop")
    [scheduler] = machine.parts("schedulers")
    before = machine.contents()
    config = zes.zes_sched_timeslice_properties_t(interval=interval, yieldTimeout=yielding)
    reload = ctypes.c_uint8()
    arguments = (scheduler, ctypes.byref(config), ctypes.byref(reload))
    assert zes.zesSchedulerSetTimesliceMode(*arguments) == result
    assert zes.zesSchedulerSetExclusiveMode(scheduler, ctypes.byref(reload)) == UNSUPPORTED
    assert machine.contents() == before


# --- Temperatures ---------------------------------------------------------------------------------


def test_conditions_on_a_thermometer(recorded: Machines) -> None:
    handle = recorded("laptop").parts("temperatures")[0]
    config = asked(zes.zesTemperatureGetConfig, zes.zes_temp_config_t, handle)
    assert not config.enableCritical
    assert not config.threshold1.enableLowToHigh
    config.enableCritical = 1
    config.threshold1 = zes.zes_temp_threshold_t(enableLowToHigh=1, threshold=80)
    config.threshold2 = zes.zes_temp_threshold_t(enableHighToLow=1, threshold=50)
    check(zes.zesTemperatureSetConfig(handle, ctypes.byref(config)))
    again = asked(zes.zesTemperatureGetConfig, zes.zes_temp_config_t, handle)
    assert (again.enableCritical, again.threshold1.threshold) == (1, 80)
    assert (again.threshold2.enableHighToLow, again.threshold2.enableLowToHigh) == (1, 0)
    sensor = handles.part_of(handle, TemperatureSensor)
    conditions = thresholds.of_temperature(sensor)
    first = zes.ZES_EVENT_TYPE_FLAG_TEMP_THRESHOLD1
    second = zes.ZES_EVENT_TYPE_FLAG_TEMP_THRESHOLD2
    critical = zes.ZES_EVENT_TYPE_FLAG_TEMP_CRITICAL
    changes = {(61, 79): 0, (79, 80): first, (80, 61): 0, (50, 49): second, (49, 50): 0}
    changes |= {(90, 100): critical, (40, 101): first | critical, (101, 105): 0}
    assert {change: conditions.events(sensor, *change) for change in changes} == changes


@pytest.mark.parametrize("celsius", [math.nan, math.inf, -math.inf, 100.5])
def test_impossible_temperature_limit_is_refused(recorded: Machines, celsius: float) -> None:
    handle = recorded("laptop").parts("temperatures")[0]
    config = zes.zes_temp_config_t()
    config.threshold1 = zes.zes_temp_threshold_t(enableLowToHigh=1, threshold=70)
    check(zes.zesTemperatureSetConfig(handle, ctypes.byref(config)))
    config.threshold2 = zes.zes_temp_threshold_t(enableLowToHigh=1, threshold=celsius)
    config.threshold1.threshold = 60
    assert zes.zesTemperatureSetConfig(handle, ctypes.byref(config)) == INVALID
    again = asked(zes.zesTemperatureGetConfig, zes.zes_temp_config_t, handle)
    assert again.threshold1.threshold == 70


# --- Errors ---------------------------------------------------------------------------------------

MEMORY = zes.ZES_RAS_ERROR_CATEGORY_EXP_MEMORY_ERRORS
CONTROLLER = "sys/devices/system/edac/mc/mc"


def counted(ras: int) -> int:
    category, state = ctypes.c_uint32(MEMORY), zes.zes_ras_state_exp2_t()
    check(zes.zesRasGetStateExp2(ras, 1, ctypes.byref(category), ctypes.byref(state)))
    return int(state.errorCounter)


def test_errors_of_memory(recorded: Machines) -> None:
    machine = recorded("server")
    sets = machine.parts("errors")
    assert [counted(ras) for ras in sets] == [12, 0, 0, 1]
    types = [asked(zes.zesRasGetProperties, zes.zes_ras_properties_t, ras).type for ras in sets]
    assert types == [0, 1, 0, 1]
    count, states = ctypes.c_uint32(5), (zes.zes_ras_state_exp_t * 5)()
    check(zes.zesRasGetStateExp(sets[0], ctypes.byref(count), states))
    assert (count.value, states[0].category, states[0].errorCounter) == (1, MEMORY, 12)
    count, categories = ctypes.c_uint32(5), (ctypes.c_uint32 * 5)()
    check(zes.zesRasGetSupportedCategoriesExp(sets[0], ctypes.byref(count), categories))
    assert (count.value, categories[0]) == (1, MEMORY)
    state = asked(zes.zesRasGetState, zes.zes_ras_state_t, sets[0], 0)
    old = zes.ZES_RAS_ERROR_CAT_NON_COMPUTE_ERRORS
    assert list(state.category) == [12 if each == old else 0 for each in range(7)]


def test_errors_are_cleared_if_no_others_are_lost(recorded: Machines) -> None:
    machine = recorded("server")
    corrected, _, other, uncorrected = machine.parts("errors")
    asked(zes.zesRasGetState, zes.zes_ras_state_t, corrected, 1)
    assert machine.read(f"{CONTROLLER}0/reset_counters") == "1"
    check(zes.zesRasClearStateExp(uncorrected, MEMORY))
    assert machine.read(f"{CONTROLLER}1/reset_counters") == "1"
    machine.write(f"{CONTROLLER}1/reset_counters", "")
    assert zes.zesRasClearStateExp(other, MEMORY) == UNSUPPORTED
    assert "together" in last_error()
    assert machine.read(f"{CONTROLLER}1/reset_counters") == ""


def test_conditions_on_errors(recorded: Machines) -> None:
    handle = recorded("server").parts("errors")[0]
    config = asked(zes.zesRasGetConfig, zes.zes_ras_config_t, handle)
    assert config.totalThreshold == 0
    conditions = thresholds.of_errors(handles.part_of(handle, ErrorCounters))
    assert not conditions.is_exceeded({MEMORY: 10**9})
    config.totalThreshold = 20
    wanted = [
        5 if category == zes.ZES_RAS_ERROR_CAT_NON_COMPUTE_ERRORS else 7 for category in range(7)
    ]
    config.detailedThresholds.category[:] = wanted
    check(zes.zesRasSetConfig(handle, ctypes.byref(config)))
    again = asked(zes.zesRasGetConfig, zes.zes_ras_config_t, handle)
    assert list(again.detailedThresholds.category) == wanted
    new = zes.zes_ras_config_exp_t(category=MEMORY)
    check(zes.zesRasGetConfigExp(handle, 1, ctypes.byref(new)))
    assert new.threshold == 5
    exceeded = [conditions.is_exceeded({MEMORY: count}) for count in (5, 6)]
    new.threshold = 0
    check(zes.zesRasSetConfigExp(handle, 1, ctypes.byref(new)))
    exceeded += [conditions.is_exceeded({MEMORY: count}) for count in (6, 20, 21)]
    assert exceeded == [False, True, False, False, True]
    assert asked(zes.zesRasGetConfig, zes.zes_ras_config_t, handle).totalThreshold == 20


@pytest.mark.parametrize(
    ("category", "result"),
    [(zes.ZES_RAS_ERROR_CATEGORY_EXP_RESET, UNSUPPORTED), (0x7777, INVALID)],
)
def test_categories_that_are_not_counted(recorded: Machines, category: int, result: int) -> None:
    handle = recorded("server").parts("errors")[0]
    states = (zes.zes_ras_state_exp2_t * 2)()
    categories = (ctypes.c_uint32 * 2)(MEMORY, category)
    assert zes.zesRasGetStateExp2(handle, 2, categories, states) == result
    assert states[0].errorCounter == 0
    configs = (zes.zes_ras_config_exp_t * 2)()
    configs[0].category, configs[0].threshold, configs[1].category = MEMORY, 9, category
    assert zes.zesRasSetConfigExp(handle, 2, configs) == result
    assert zes.zesRasGetConfigExp(handle, 2, configs) == result
    check(zes.zesRasGetConfigExp(handle, 1, configs))
    assert configs[0].threshold == 0
    size = ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert zes.zesRasGetStateExp2(handle, 2**32 - 1, categories, states) == size
    assert zes.zesRasSetConfigExp(handle, 2**32 - 1, configs) == size
