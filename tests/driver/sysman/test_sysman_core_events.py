"""Events: what a listener hears of a machine whose files change."""

import ctypes
import resource
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from groundstate import ze, zes
from groundstate.driver import platform
from tests.conftest import check, last_error
from tests.driver import processes as programs
from tests.driver.support import handles
from tests.driver.sysman.machines import Recorded

Machines = Callable[..., Recorded]
FOREVER = 2**32 - 1
HEAT = "sys/class/hwmon/hwmon2/temp1_input"
THRESHOLD = zes.ZES_EVENT_TYPE_FLAG_TEMP_THRESHOLD1
ATTACH, DETACH = zes.ZES_EVENT_TYPE_FLAG_DEVICE_ATTACH, zes.ZES_EVENT_TYPE_FLAG_DEVICE_DETACH
EVERYTHING = 0xFFFF


def listen(driver: int, milliseconds: int, *devices: int) -> list[int]:
    """The events of each device; none if none came in time."""
    events, count = (ctypes.c_uint32 * len(devices))(*[77] * len(devices)), ctypes.c_uint32(77)
    check(
        zes.zesDriverEventListen(
            driver,
            milliseconds,
            len(devices),
            handles(*devices),
            ctypes.byref(count),
            events,
        )
    )
    assert count.value == sum(event != 0 for event in events)
    return list(events)


def threshold(machine: Recorded, celsius: float, rising: bool = True) -> None:
    """Asks to hear of it when the first thermometer passes a temperature."""
    config = zes.zes_temp_config_t()
    config.threshold1.threshold = celsius
    config.threshold1.enableLowToHigh = rising
    config.threshold1.enableHighToLow = not rising
    for sensor in machine.parts("temperatures"):
        check(zes.zesTemperatureSetConfig(sensor, ctypes.byref(config)))


def test_temperature_rise_above_threshold_fires(driver: int, recorded: Machines) -> None:
    machine = recorded("laptop")
    machine.write(HEAT, 50000)
    threshold(machine, 90)
    check(zes.zesDeviceEventRegister(machine.device, THRESHOLD))
    assert listen(driver, 0, machine.device) == [0]
    machine.write(HEAT, 89999)
    assert listen(driver, 0, machine.device) == [0]
    machine.write(HEAT, 91000)
    assert listen(driver, 0, machine.device) == [THRESHOLD]
    assert listen(driver, 0, machine.device) == [0]


def test_threshold_event_survives_sensor_failure(driver: int, recorded: Machines) -> None:
    machine = recorded("laptop")
    machine.write(HEAT, 50000)
    threshold(machine, 90)
    check(zes.zesDeviceEventRegister(machine.device, EVERYTHING))
    machine.write(HEAT, "")
    assert listen(driver, 0, machine.device) == [0]
    machine.write(HEAT, 95000)
    assert listen(driver, 0, machine.device) == [THRESHOLD]


def test_a_listener_wakes_when_it_happens(driver: int, recorded: Machines) -> None:
    machine = recorded("laptop")
    machine.write(HEAT, 95000)
    threshold(machine, 60, rising=False)
    check(zes.zesDeviceEventRegister(machine.device, THRESHOLD))
    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(listen, driver, FOREVER, machine.device)
        time.sleep(0.05)
        machine.write(HEAT, 40000)
        assert heard.result(timeout=30) == [THRESHOLD]


def test_taking_events_back_ends_the_listening(driver: int, sysman: int) -> None:
    check(zes.zesDeviceEventRegister(sysman, DETACH))
    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(listen, driver, FOREVER, sysman)
        time.sleep(0.25)
        assert not heard.done()
        check(zes.zesDeviceEventRegister(sysman, 0))
        assert heard.result(timeout=30) == [0]


def test_listener_before_registration_hears_event(driver: int, recorded: Machines) -> None:
    machine = recorded("laptop")
    machine.write(HEAT, 50000)
    threshold(machine, 90)
    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(listen, driver, FOREVER, machine.device)
        time.sleep(0.15)
        check(zes.zesDeviceEventRegister(machine.device, THRESHOLD))
        machine.write(HEAT, 95000)
        assert heard.result(timeout=30) == [THRESHOLD]


def test_only_events_that_were_asked_for_are_told(driver: int, recorded: Machines) -> None:
    machine = recorded("laptop")
    machine.write(HEAT, 50000)
    threshold(machine, 90)
    check(zes.zesDeviceEventRegister(machine.device, EVERYTHING & ~THRESHOLD))
    machine.write(HEAT, 95000)
    assert listen(driver, 0, machine.device) == [0]
    check(zes.zesDeviceEventRegister(machine.device, 0))
    assert listen(driver, 0, machine.device) == [0]


def test_an_event_is_kept_for_who_listens_later(driver: int, recorded: Machines) -> None:
    machine = recorded("laptop")
    machine.write(HEAT, 50000)
    threshold(machine, 90)
    check(zes.zesDeviceEventRegister(machine.device, THRESHOLD))
    machine.write(HEAT, 95000)
    check(zes.zesDeviceEventRegister(machine.device, THRESHOLD | ATTACH))
    machine.write(HEAT, 50000)
    assert listen(driver, 0, machine.device, machine.device) == [THRESHOLD, THRESHOLD]


def test_errors_of_memory(driver: int, recorded: Machines) -> None:
    health, errors = (
        zes.ZES_EVENT_TYPE_FLAG_MEM_HEALTH,
        zes.ZES_EVENT_TYPE_FLAG_RAS_UNCORRECTABLE_ERRORS,
    )
    machine = recorded("server")
    machine.write("sys/devices/system/edac/mc/mc1/ue_count", 0)
    config = zes.zes_ras_config_t(totalThreshold=1)
    for counters in machine.parts("errors"):
        check(zes.zesRasSetConfig(counters, ctypes.byref(config)))
    check(zes.zesDeviceEventRegister(machine.device, health | errors))
    assert listen(driver, 0, machine.device) == [0]
    machine.write("sys/devices/system/edac/mc/mc0/ue_count", 2)
    assert listen(driver, 0, machine.device) == [health | errors]
    assert listen(driver, 0, machine.device) == [0]


def test_cpus_that_go_offline_and_come_back(
    driver: int, recorded: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = recorded("laptop")
    monkeypatch.setattr(platform.device(machine.device).machine, "root", str(machine.root))
    monkeypatch.setattr(platform.device(machine.device), "cpus", (0, 1))
    check(zes.zesDeviceEventRegister(machine.device, ATTACH | DETACH))
    online = "sys/devices/system/cpu/online"
    machine.write(online, "1-7")
    assert listen(driver, 0, machine.device) == [0]
    machine.write(online, "2-7")
    assert listen(driver, 0, machine.device) == [DETACH]
    machine.write(online, "0-7")
    assert listen(driver, 0, machine.device) == [ATTACH]


def test_listener_sleeps_until_its_timeout(driver: int, sysman: int) -> None:
    check(zes.zesDeviceEventRegister(sysman, EVERYTHING))
    spent = resource.getrusage(resource.RUSAGE_THREAD)
    start = time.monotonic()
    assert listen(driver, 250, sysman) == [0]
    assert time.monotonic() - start >= 0.25
    now = resource.getrusage(resource.RUSAGE_THREAD)
    assert now.ru_nvcsw > spent.ru_nvcsw  # it went to sleep, and not to work
    assert now.ru_utime - spent.ru_utime < 0.2
    check(zes.zesDeviceEventRegister(sysman, 0))


INTERRUPTED = """
from groundstate import zes
check(zes.zesInit(0))
check(zes.zesDeviceEventRegister(device.value, zes.ZES_EVENT_TYPE_FLAG_DEVICE_DETACH))
events, count = (ctypes.c_uint32 * 1)(), ctypes.c_uint32()
say("listening")
try:
    zes.zesDriverEventListen(first_driver(), 2**32 - 1, 1, handles(device.value),
                             ctypes.byref(count), events)
except KeyboardInterrupt:
    say("interrupted")
"""


def test_ctrl_c_ends_the_listening() -> None:
    child = programs.start(INTERRUPTED)
    assert child.stdout is not None
    assert child.stdout.readline() == "listening\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    assert programs.finished(child) == "interrupted\n"


def test_other_threads_run_while_one_listens(driver: int, sysman: int) -> None:
    counted = []

    def count() -> None:
        for number in range(20):
            time.sleep(0.001)
            counted.append(number)

    other = threading.Thread(target=count)
    other.start()
    check(zes.zesDeviceEventRegister(sysman, DETACH))
    listen(driver, 300, sysman)
    check(zes.zesDeviceEventRegister(sysman, 0))
    other.join()
    assert len(counted) == 20


def test_what_a_listener_is_given_is_checked(driver: int, sysman: int) -> None:
    count, events = ctypes.c_uint32(), (ctypes.c_uint32 * 1)()
    for function in (zes.zesDriverEventListen, zes.zesDriverEventListenEx):
        ask = (ctypes.byref(count), events)
        assert function(driver, 0, 0, handles(sysman), *ask) == (
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
        )
        assert "no device to listen to" in last_error()
        null = ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
        assert function(None, 0, 1, handles(sysman), *ask) == null
        assert function(driver, 0, 1, handles(driver), *ask) == null
        assert function(driver, 0, 2, handles(sysman, 0), *ask) == null
        null = ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER
        assert function(driver, 0, 1, None, *ask) == null
        assert function(driver, 0, 1, handles(sysman), None, events) == null
        assert function(driver, 0, 1, handles(sysman), ctypes.byref(count), None) == null
    assert zes.zesDeviceEventRegister(sysman, 0x10000) == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION
