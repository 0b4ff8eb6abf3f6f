"""What system management tells of recorded machines: a laptop, a server, a virtual machine."""

import ctypes
from collections.abc import Callable

import pytest

from groundstate import ze, zes
from groundstate.driver.sysman.system import clocks
from tests.conftest import check, last_error
from tests.driver.devices.topology import run
from tests.driver.sysman.machines import ENUMERATIONS, TREES, Recorded, asked, value

Machines = Callable[..., Recorded]
SOCKETS = [range(4), range(4, 8)]


def places(machine: Recorded, kind: str, function: object, structure: object) -> list[int | None]:
    """On which sub-device each part is; None for the whole device."""
    answers = [asked(function, structure, part) for part in machine.parts(kind)]
    return [answer.subdeviceId if answer.onSubdevice else None for answer in answers]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("laptop", [1, 3, 3, 1, 2, 0, 1, 2]),
        ("server", [2, 5, 4, 3, 0, 4, 1, 3]),
        ("vm", [1, 0, 0, 0, 0, 0, 0, 0]),
    ],
)
def test_a_machine_lists_what_it_has(recorded: Machines, name: str, counts: list[int]) -> None:
    machine = recorded(name)
    assert [len(machine.parts(kind)) for kind in ENUMERATIONS] == counts


def test_parts_keep_their_handles(recorded: Machines) -> None:
    machine = recorded("server")
    for kind in ENUMERATIONS:
        assert machine.parts(kind) == machine.parts(kind)


@pytest.mark.parametrize("kind", ENUMERATIONS)
def test_the_count_is_taken_as_it_should_be(recorded: Machines, kind: str) -> None:
    machine = recorded("server") if kind != "supplies" else recorded("laptop")
    parts = machine.parts(kind)
    for wanted in (1, len(parts) + 5):
        count, array = ctypes.c_uint32(wanted), (ctypes.c_void_p * wanted)()
        check(ENUMERATIONS[kind](machine.device, ctypes.byref(count), array))
        written = min(wanted, len(parts))
        assert count.value == written
        assert list(array) == parts[:written] + [None] * (wanted - written)


# --- Clocks ---------------------------------------------------------------------------------------


def test_clock_of_a_laptop(recorded: Machines) -> None:
    machine = recorded("laptop")
    [clock] = machine.parts("frequencies")
    properties = asked(zes.zesFrequencyGetProperties, zes.zes_freq_properties_t, clock)
    assert properties.type == zes.ZES_FREQ_DOMAIN_GPU
    assert (properties.min, properties.max) == (400, 4800)
    assert properties.canControl
    assert properties.isThrottleEventSupported
    state = asked(zes.zesFrequencyGetState, zes.zes_freq_state_t, clock)
    assert state.actual == 1586.75  # the mean of eight
    assert state.tdp == 3000
    assert state.request == state.efficient == state.currentVoltage == -1
    assert state.throttleReasons == 0
    machine.write("sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", 4400000)
    assert asked(zes.zesFrequencyGetState, zes.zes_freq_state_t, clock).actual == 1786.75


def test_available_clocks_are_driver_states(recorded: Machines) -> None:
    machine = recorded("laptop")
    [clock] = machine.parts("frequencies")
    count = ctypes.c_uint32()
    check(zes.zesFrequencyGetAvailableClocks(clock, ctypes.byref(count), None))
    found = (ctypes.c_double * 50)(*[-5.0] * 50)
    assert count.value == 45
    check(zes.zesFrequencyGetAvailableClocks(clock, ctypes.byref(ctypes.c_uint32(50)), found))
    assert list(found) == [float(mhz) for mhz in range(400, 4801, 100)] + [-5.0] * 5
    listed = "sys/devices/system/cpu/cpufreq/policy0/scaling_available_frequencies"
    machine.write(listed, "3000000 2000000 1400000")
    check(zes.zesFrequencyGetAvailableClocks(clock, ctypes.byref(ctypes.c_uint32(50)), found))
    assert list(found[:3]) == [1400, 2000, 3000]


def test_throttling_is_told_while_it_happens(
    recorded: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = recorded("laptop")
    [clock] = machine.parts("frequencies")
    heat = zes.ZES_FREQ_THROTTLE_REASON_FLAG_THERMAL_LIMIT
    folder = "sys/devices/system/cpu/cpu0/thermal_throttle"
    before = asked(zes.zesFrequencyGetThrottleTime, zes.zes_freq_throttle_time_t, clock)
    assert before.throttleTime == 5_120_000
    reasons = []
    for count, recently in ((37, 3600), (38, 3600), (38, 3600), (38, 0)):
        monkeypatch.setattr(clocks, "RECENTLY_SECONDS", recently)
        machine.write(f"{folder}/package_throttle_count", count)
        state = asked(zes.zesFrequencyGetState, zes.zes_freq_state_t, clock)
        reasons.append(state.throttleReasons)
    assert reasons == [0, heat, heat, 0]
    machine.write(f"{folder}/package_throttle_total_time_ms", 5220)
    after = asked(zes.zesFrequencyGetThrottleTime, zes.zes_freq_throttle_time_t, clock)
    assert after.throttleTime - before.throttleTime == 100_000
    assert after.timestamp > before.timestamp


def test_clock_of_a_virtual_machine_is_only_read(recorded: Machines) -> None:
    [clock] = recorded("vm").parts("frequencies")
    properties = asked(zes.zesFrequencyGetProperties, zes.zes_freq_properties_t, clock)
    assert (properties.min, properties.max, properties.canControl) == (-1, -1, 0)
    assert not properties.isThrottleEventSupported
    assert asked(zes.zesFrequencyGetState, zes.zes_freq_state_t, clock).actual == 2445.428
    limits = asked(zes.zesFrequencyGetRange, zes.zes_freq_range_t, clock)
    time = zes.zes_freq_throttle_time_t()
    assert (limits.min, limits.max) == (-1, -1)
    for function, answer in (
        (zes.zesFrequencySetRange, limits),
        (zes.zesFrequencyGetThrottleTime, time),
    ):
        assert function(clock, ctypes.byref(answer)) == ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
        assert last_error()


def test_nothing_can_be_overclocked(recorded: Machines) -> None:
    machine = recorded("laptop")
    [clock] = machine.parts("frequencies")
    found = asked(zes.zesFrequencyOcGetCapabilities, zes.zes_oc_capabilities_t, clock)
    assert not found.isOcSupported
    assert found.maxFactoryDefaultFrequency == 4800
    target = ctypes.c_double()
    result = zes.zesFrequencyOcGetFrequencyTarget(clock, ctypes.byref(target))
    assert result == ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
    assert value(zes.zesDeviceGetOverclockDomains, ctypes.c_uint32, machine.device) == 0


def test_clocks_of_two_sockets(recorded: Machines) -> None:
    parts = recorded("server").parts("frequencies")
    states = [asked(zes.zesFrequencyGetState, zes.zes_freq_state_t, clock) for clock in parts]
    assert [state.actual for state in states] == [2750, 3600]


# --- Where parts are ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subdevices", "frequencies", "powers"),
    [
        ([], [None, None], [None] * 4),
        (SOCKETS, [0, 1], [0, 0, 1, 1]),
        ([range(2), range(2, 4), range(4, 8)], [0, 1, 2], [None, None, 2, 2]),
        ([range(6), range(6, 8)], [0, 0, 1], [0, 0, None, None]),
    ],
)
def test_parts_are_on_subdevices_with_their_cpus(
    recorded: Machines,
    subdevices: list[range],
    frequencies: list[int | None],
    powers: list[int | None],
) -> None:
    machine = recorded("server", subdevices)
    frequency = (zes.zesFrequencyGetProperties, zes.zes_freq_properties_t)
    assert places(machine, "frequencies", *frequency) == frequencies
    power = (zes.zesPowerGetProperties, zes.zes_power_properties_t)
    assert places(machine, "powers", *power) == powers


def test_errors_firmware_and_heat_of_sockets(recorded: Machines) -> None:
    machine = recorded("server", SOCKETS)
    ras = (zes.zesRasGetProperties, zes.zes_ras_properties_t)
    assert places(machine, "errors", *ras) == [0, 0, 1, 1]
    firmware = (zes.zesFirmwareGetProperties, zes.zes_firmware_properties_t)
    assert places(machine, "firmwares", *firmware) == [0, 1, None]
    temperature = (zes.zesTemperatureGetProperties, zes.zes_temp_properties_t)
    assert places(machine, "temperatures", *temperature) == [0, 0, 1, 1, None]


# --- Heat, fans, supplies, firmware ---------------------------------------------------------------


def test_thermometers(recorded: Machines) -> None:
    machine = recorded("laptop")
    found = []
    for sensor in machine.parts("temperatures"):
        properties = asked(zes.zesTemperatureGetProperties, zes.zes_temp_properties_t, sensor)
        celsius = value(zes.zesTemperatureGetState, ctypes.c_double, sensor)
        found.append((properties.type, celsius, properties.maxTemperature))
        assert properties.isCriticalTempSupported
    assert found == [
        (zes.ZES_TEMP_SENSORS_GLOBAL, 61, 100),
        (zes.ZES_TEMP_SENSORS_GPU, 61, 100),
        (zes.ZES_TEMP_SENSORS_GPU_BOARD, 46, 105),
    ]
    machine.write("sys/class/hwmon/hwmon2/temp4_input", 71500)
    sensors = machine.parts("temperatures")
    assert value(zes.zesTemperatureGetState, ctypes.c_double, sensors[1]) == 71.5


def test_fans(recorded: Machines) -> None:
    machine = recorded("server")
    rpm, percent = zes.ZES_FAN_SPEED_UNITS_RPM, zes.ZES_FAN_SPEED_UNITS_PERCENT
    speeds = []
    for fan in machine.parts("fans"):
        properties = asked(zes.zesFanGetProperties, zes.zes_fan_properties_t, fan)
        assert properties.supportedUnits == 1 << rpm | 1 << percent
        assert (properties.maxRPM, properties.maxPoints) == (16000, -1)
        assert not properties.canControl
        config = asked(zes.zesFanGetConfig, zes.zes_fan_config_t, fan)
        assert config.mode == zes.ZES_FAN_SPEED_MODE_DEFAULT
        assert (config.speedFixed.speed, config.speedTable.numPoints) == (-1, -1)
        speeds.append([value(zes.zesFanGetState, ctypes.c_int32, fan, u) for u in (rpm, percent)])
        unsupported = ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
        assert zes.zesFanSetDefaultMode(fan) == unsupported
        speed = zes.zes_fan_speed_t(speed=50, units=percent)
        assert zes.zesFanSetFixedSpeedMode(fan, ctypes.byref(speed)) == unsupported
    assert speeds == [[7200, 60], [7350, 60], [0, 0]]


def test_supplies_of_a_laptop(recorded: Machines) -> None:
    machine = recorded("laptop")
    adapter, battery = machine.parts("supplies")
    state = asked(zes.zesPsuGetState, zes.zes_psu_state_t, adapter)
    assert state.voltStatus == zes.ZES_PSU_VOLTAGE_STATUS_UNKNOWN
    assert (state.temperature, state.current) == (-1, -1)
    state = asked(zes.zesPsuGetState, zes.zes_psu_state_t, battery)
    assert state.voltStatus == zes.ZES_PSU_VOLTAGE_STATUS_NORMAL
    assert (state.temperature, state.current) == (31, 800)
    machine.write("sys/class/power_supply/BAT0/voltage_now", 15_000_000)
    state = asked(zes.zesPsuGetState, zes.zes_psu_state_t, battery)
    assert state.voltStatus == zes.ZES_PSU_VOLTAGE_STATUS_UNDER
    assert asked(zes.zesPsuGetProperties, zes.zes_psu_properties_t, battery).ampLimit == -1


def test_firmware(recorded: Machines) -> None:
    found = [
        asked(zes.zesFirmwareGetProperties, zes.zes_firmware_properties_t, firmware)
        for firmware in recorded("laptop").parts("firmwares")
    ]
    assert [(each.name, each.version) for each in found] == [
        (b"microcode", b"0xb6"),
        (b"BIOS", b"N32ET75W (1.51 )"),
    ]
    assert not any(each.canControl for each in found)


# --- ECC and PCI ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("laptop", zes.ZES_DEVICE_ECC_STATE_UNAVAILABLE),
        ("server", zes.ZES_DEVICE_ECC_STATE_ENABLED),
    ],
)
def test_error_correction(recorded: Machines, name: str, state: int) -> None:
    device = recorded(name).device
    available = value(zes.zesDeviceEccAvailable, ctypes.c_uint8, device)
    assert bool(available) == (state != zes.ZES_DEVICE_ECC_STATE_UNAVAILABLE)
    assert value(zes.zesDeviceEccConfigurable, ctypes.c_uint8, device) == 0
    default = zes.zes_device_ecc_default_properties_ext_t(defaultState=7)
    found = zes.zes_device_ecc_properties_t(pNext=ctypes.addressof(default))
    check(zes.zesDeviceGetEccState(device, ctypes.byref(found)))
    assert (found.currentState, found.pendingState) == (state, state)
    assert found.pendingAction == zes.ZES_DEVICE_ACTION_NONE
    assert default.defaultState == zes.ZES_DEVICE_ECC_STATE_UNAVAILABLE
    for wanted, result in (
        (zes.ZES_DEVICE_ECC_STATE_DISABLED, ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE),
        (17, ze.ZE_RESULT_ERROR_INVALID_ENUMERATION),
    ):
        new = zes.zes_device_ecc_desc_t(state=wanted)
        assert zes.zesDeviceSetEccState(device, ctypes.byref(new), ctypes.byref(found)) == result


def test_cpu_pci_address_is_only_a_number(sysman: int) -> None:
    extra = zes.zes_pci_link_speed_downgrade_ext_properties_t(pciLinkSpeedUpdateCapable=1)
    found = zes.zes_pci_properties_t(pNext=ctypes.addressof(extra))
    check(zes.zesDevicePciGetProperties(sysman, ctypes.byref(found)))
    core = ze.ze_pci_ext_properties_t()
    check(ze.zeDevicePciGetPropertiesExt(sysman, ctypes.byref(core)))
    for field in ("domain", "bus", "device", "function"):
        assert getattr(found.address, field) == getattr(core.address, field)
    speed = found.maxSpeed
    assert (speed.gen, speed.width, speed.maxBandwidth) == (-1, -1, -1)
    assert (extra.pciLinkSpeedUpdateCapable, extra.maxPciGenSupported) == (0, -1)
    state = asked(zes.zesDevicePciGetState, zes.zes_pci_state_t, sysman)
    assert state.status == zes.ZES_PCI_LINK_STATUS_UNKNOWN
    count = ctypes.c_uint32(9)
    check(zes.zesDevicePciGetBars(sysman, ctypes.byref(count), None))
    assert count.value == 0
    stats = asked(zes.zesDevicePciGetStats, zes.zes_pci_stats_t, sysman)
    assert stats.timestamp > 0
    assert stats.replayCounter == stats.packetCounter == stats.rxCounter == stats.txCounter == 0
    assert not any(
        (found.haveBandwidthCounters, found.havePacketCounters, found.haveReplayCounters)
    )


@pytest.mark.parametrize(
    "name",
    [
        "zesDeviceEnumStandbyDomains",
        "zesDeviceEnumPerformanceFactorDomains",
        "zesDeviceEnumDiagnosticTestSuites",
        "zesDeviceEnumLeds",
        "zesDeviceEnumFabricPorts",
        "zesDeviceEnumActiveVFExp",
        "zesDeviceEnumEnabledVFExp",
        "zesDeviceEnumOverclockDomains",
    ],
)
def test_what_only_cards_have_is_not_listed(sysman: int, name: str) -> None:
    array = (ctypes.c_void_p * 3)()
    for count in (ctypes.c_uint32(0), ctypes.c_uint32(3)):
        check(getattr(zes, name)(sysman, ctypes.byref(count), array))
        assert count.value == 0
    assert list(array) == [None] * 3


TWO_SOCKETS = """
    from ctypes import byref, c_uint32, c_void_p
    from groundstate import zes
    assert zes.zesInit(0) == 0
    count, driver, device = c_uint32(1), c_void_p(), c_void_p()
    assert zes.zesDriverGet(byref(count), byref(driver)) == 0
    assert zes.zesDeviceGet(driver, byref(count), byref(device)) == 0
    count, domains = c_uint32(9), (c_void_p * 9)()
    assert zes.zesDeviceEnumPowerDomains(device, byref(count), domains) == 0
    for domain in domains[: count.value]:
        properties = zes.zes_power_properties_t()
        assert zes.zesPowerGetProperties(domain, byref(properties)) == 0
        print(properties.subdeviceId if properties.onSubdevice else None, end=" ")
"""


@pytest.mark.parametrize(("topology", "places"), [("1x2", "0 0 1 1 "), ("2", "None None ")])
def test_divided_machine_places_parts_at_cpus(topology: str, places: str) -> None:
    root = str(TREES / "server")
    printed = run(TWO_SOCKETS, GROUNDSTATE_SYSFS_ROOT=root, GROUNDSTATE_TOPOLOGY=topology)
    assert printed == places
