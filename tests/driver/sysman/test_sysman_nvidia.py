"""What system management tells of an NVIDIA GPU: the answers of a real one, which were recorded."""

import copy
import ctypes
import math
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from groundstate import ze, zes
from groundstate.driver.sysman import kinds
from tests.conftest import check, last_error
from tests.driver.sysman.machines import asked, value
from tests.driver.sysman.nvidia import RESOURCES, RecordedGpu
from tests.driver.sysman.sysman import activity, listed, processes, told

UNSUPPORTED = ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
DENIED = ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS
INVALID = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
LOST = ze.ZE_RESULT_ERROR_DEVICE_LOST
NOT_SUPPORTED, NO_PERMISSION, GPU_IS_LOST = 3, 4, 15

IDENTITY = ("nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlSystemGetDriverVersion")

ENUMERATIONS = {
    "engines": zes.zesDeviceEnumEngineGroups,
    "memories": zes.zesDeviceEnumMemoryModules,
    "clocks": zes.zesDeviceEnumFrequencyDomains,
    "temperatures": zes.zesDeviceEnumTemperatureSensors,
    "powers": zes.zesDeviceEnumPowerDomains,
    "fans": zes.zesDeviceEnumFans,
    "supplies": zes.zesDeviceEnumPsus,
    "errors": zes.zesDeviceEnumRasErrorSets,
    "schedulers": zes.zesDeviceEnumSchedulers,
    "firmwares": zes.zesDeviceEnumFirmwares,
}


@pytest.fixture
def gpu(driver: int, sysman: int, tmp_path: Path) -> Iterator[RecordedGpu]:
    recorded = RecordedGpu(tmp_path)
    yield recorded
    recorded.close()


def parts(gpu: RecordedGpu, kind: str) -> list[int]:
    return listed(ENUMERATIONS[kind], gpu.handle)


def first(gpu: RecordedGpu, kind: str) -> int:
    return parts(gpu, kind)[0]


def text(array: Any) -> str:
    return bytes(array).split(b"\0")[0].decode()


# --- Which device it is ---------------------------------------------------------------------------


def test_gpu_is_listed_after_compute_devices(gpu: RecordedGpu, driver: int) -> None:
    devices = listed(zes.zesDeviceGet, driver)
    assert devices[-1] == gpu.handle
    assert gpu.handle not in listed(ze.zeDeviceGet, driver)


def test_the_core_does_not_take_its_handle(gpu: RecordedGpu, driver: int) -> None:
    properties = ze.ze_device_properties_t()
    result = ze.zeDeviceGetProperties(gpu.handle, ctypes.byref(properties))
    assert result == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    assert "zes_device_handle_t" in last_error()


def test_its_names_and_numbers(gpu: RecordedGpu) -> None:
    properties = told(zes.zesDeviceGetProperties, gpu.handle, zes.zes_device_properties_t)
    assert text(properties.core.name) == text(properties.modelName) == "NVIDIA H200"
    assert properties.core.type == ze.ZE_DEVICE_TYPE_GPU
    assert (properties.core.vendorId, properties.core.deviceId) == (0x10DE, 0x2335)
    assert properties.core.flags == ze.ZE_DEVICE_PROPERTY_FLAG_ECC
    assert properties.core.coreClockRate == 1980
    assert text(properties.vendorName) == "NVIDIA Corporation"
    assert text(properties.brandName) == "NVIDIA"
    assert text(properties.boardNumber).startswith("692-2G520-0282-")
    assert text(properties.serialNumber) == "1650000000000"
    assert text(properties.driverVersion) == "580.159.04"
    assert properties.numSubdevices == 0


def test_it_is_found_by_its_uuid(gpu: RecordedGpu, driver: int) -> None:
    wanted = zes.zes_uuid_t()
    wanted.id[:] = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff").bytes
    handle, on_part, part = ctypes.c_void_p(), ze.ze_bool_t(), ctypes.c_uint32()
    function = zes.zesDriverGetDeviceByUuidExp
    check(function(driver, wanted, *map(ctypes.byref, (handle, on_part, part))))
    assert handle.value == gpu.handle
    assert not on_part.value


def test_a_consumers_card_has_no_serial_number(gpu: RecordedGpu) -> None:
    for function in ("Serial", "BoardPartNumber", "CurrentEccMode"):
        gpu.answer(function, {"error": NOT_SUPPORTED})
    gpu.open()
    properties = told(zes.zesDeviceGetProperties, gpu.handle, zes.zes_device_properties_t)
    assert text(properties.serialNumber) == text(properties.boardNumber) == "unknown"
    assert properties.core.flags == 0
    assert not value(zes.zesDeviceEccAvailable, ze.ze_bool_t, gpu.handle)


# --- Engines --------------------------------------------------------------------------------------


def test_a_large_gpu_has_no_encoder(gpu: RecordedGpu) -> None:
    groups = [
        told(zes.zesEngineGetProperties, engine, zes.zes_engine_properties_t).type
        for engine in parts(gpu, "engines")
    ]
    assert groups == [
        zes.ZES_ENGINE_GROUP_3D_RENDER_COMPUTE_ALL,
        zes.ZES_ENGINE_GROUP_MEDIA_DECODE_SINGLE,
    ]


def test_undividable_gpu_has_its_reported_encoder(gpu: RecordedGpu) -> None:
    gpu.answer("GpuInstanceProfileInfo", {"error": NOT_SUPPORTED}, "4")
    gpu.open()
    assert len(parts(gpu, "engines")) == 3


def test_samples_add_up_to_busy_time(gpu: RecordedGpu) -> None:
    engine = first(gpu, "engines")
    idle = activity(engine)
    assert idle[0] == 0
    assert idle[1] > 4_000_000  # what the driver had kept of the time before
    assert activity(engine) == idle
    gpu.library.go_to("busy")
    busy = activity(engine)
    samples = gpu.library.answers["nvmlDeviceGetSamples"]["1"][1]
    times = [sample["timeStamp"] for sample in samples]
    assert busy[1] - idle[1] == times[-1] - times[0]  # not the hole between the recordings
    assert (busy[0] - idle[0]) / (busy[1] - idle[1]) == pytest.approx(0.99, abs=0.01)


def test_each_sample_weighs_as_long_as_it_lasted(gpu: RecordedGpu) -> None:
    engine = first(gpu, "engines")
    _, samples = gpu.library.answers["nvmlDeviceGetSamples"]["1"]
    before = activity(engine)
    last = samples[-1]["timeStamp"]
    for after, percent in ((200_000, 25), (300_000, 75), (1_300_000, 10)):
        samples.append({"timeStamp": last + after, "sampleValue": {"uiVal": percent}})
    busy, covered = activity(engine)
    assert busy - before[0] == 50_000 + 75_000 + 100_000
    assert covered - before[1] == 1_300_000


# --- Memory ---------------------------------------------------------------------------------------


def test_memory_is_as_full_as_the_driver_says(gpu: RecordedGpu) -> None:
    (memory,) = parts(gpu, "memories")
    properties = told(zes.zesMemoryGetProperties, memory, zes.zes_mem_properties_t)
    assert properties.type == zes.ZES_MEM_TYPE_HBM
    assert properties.location == zes.ZES_MEM_LOC_DEVICE
    assert (properties.busWidth, properties.numChannels) == (6016, -1)
    idle = told(zes.zesMemoryGetState, memory, zes.zes_mem_state_t)
    assert idle.size == properties.physicalSize == 143771 << 20
    assert idle.health == zes.ZES_MEM_HEALTH_OK
    gpu.library.go_to("busy")
    busy = told(zes.zesMemoryGetState, memory, zes.zes_mem_state_t)
    assert idle.free - busy.free >= processes(gpu.handle)[4001].memSize > 0


@pytest.mark.parametrize(
    ("rows", "health"),
    [
        ([3, 0, 0, 0], zes.ZES_MEM_HEALTH_OK),
        ([0, 1, 0, 0], zes.ZES_MEM_HEALTH_DEGRADED),
        ([0, 1, 1, 0], zes.ZES_MEM_HEALTH_CRITICAL),
        ([0, 9, 0, 1], zes.ZES_MEM_HEALTH_REPLACE),
        ({"error": NOT_SUPPORTED}, zes.ZES_MEM_HEALTH_UNKNOWN),
    ],
)
def test_replaced_rows_tell_the_health_of_memory(gpu: RecordedGpu, rows: Any, health: int) -> None:
    gpu.answer("RemappedRows", rows)
    state = told(zes.zesMemoryGetState, first(gpu, "memories"), zes.zes_mem_state_t)
    assert state.health == health
    device = told(zes.zesDeviceGetState, gpu.handle, zes.zes_device_state_t)
    waits = health == zes.ZES_MEM_HEALTH_CRITICAL
    assert device.reset == (zes.ZES_RESET_REASON_FLAG_REPAIR if waits else 0)


def test_bandwidth_is_not_told_without_counters(gpu: RecordedGpu) -> None:
    bandwidth = zes.zes_mem_bandwidth_t()
    memory = first(gpu, "memories")
    assert zes.zesMemoryGetBandwidth(memory, ctypes.byref(bandwidth)) == UNSUPPORTED


# --- Clocks ---------------------------------------------------------------------------------------


def test_clocks(gpu: RecordedGpu) -> None:
    gpu.library.go_to("busy")
    domains = [
        told(zes.zesFrequencyGetProperties, clock, zes.zes_freq_properties_t)
        for clock in parts(gpu, "clocks")
    ]
    assert [(domain.type, domain.min, domain.max, domain.canControl) for domain in domains] == [
        (zes.ZES_FREQ_DOMAIN_GPU, 345, 1980, 1),
        (zes.ZES_FREQ_DOMAIN_MEMORY, 2201, 3201, 0),
        (zes.ZES_FREQ_DOMAIN_MEDIA, 765, 1545, 0),
    ]
    count = ctypes.c_uint32(200)
    clocks = (ctypes.c_double * 200)()
    clock = first(gpu, "clocks")
    check(zes.zesFrequencyGetAvailableClocks(clock, ctypes.byref(count), clocks))
    assert list(clocks[: count.value]) == [345.0 + 15 * step for step in range(110)]


def test_a_clock_tells_what_holds_it_down(gpu: RecordedGpu) -> None:
    clock = first(gpu, "clocks")
    idle = told(zes.zesFrequencyGetState, clock, zes.zes_freq_state_t)
    assert (idle.actual, idle.throttleReasons) == (345, 0)
    gpu.library.go_to("busy")
    recorded = gpu.library.answers["nvmlDeviceGetClockInfo"]["0"]
    busy = told(zes.zesFrequencyGetState, clock, zes.zes_freq_state_t)
    assert busy.actual == recorded > 1000
    assert busy.throttleReasons == zes.ZES_FREQ_THROTTLE_REASON_FLAG_AVE_PWR_CAP
    assert busy.tdp == busy.request == busy.currentVoltage == -1
    gpu.answer("CurrentClocksEventReasons", 0x40 | 0x80 | 0x1)
    hot = told(zes.zesFrequencyGetState, clock, zes.zes_freq_state_t)
    assert hot.throttleReasons == (
        zes.ZES_FREQ_THROTTLE_REASON_FLAG_THERMAL_LIMIT
        | zes.ZES_FREQ_THROTTLE_REASON_FLAG_PSU_ALERT
    )


def test_two_throttle_reasons_count_time_once(gpu: RecordedGpu) -> None:
    clock = first(gpu, "clocks")
    before = told(zes.zesFrequencyGetThrottleTime, clock, zes.zes_freq_throttle_time_t)
    fields = gpu.library.answers["nvmlDeviceGetFieldValues"]
    assert before.throttleTime == fields["74"]["value"]["ullVal"] // 1000
    for policy in ("74", "75"):
        fields[policy]["value"]["ullVal"] += 10**15
    after = told(zes.zesFrequencyGetThrottleTime, clock, zes.zes_freq_throttle_time_t)
    assert 0 <= after.throttleTime - before.throttleTime <= after.timestamp - before.timestamp + 1


def set_range(clock: int, low: float, high: float) -> int:
    limits = zes.zes_freq_range_t(min=low, max=high)
    return int(zes.zesFrequencySetRange(clock, ctypes.byref(limits)))


def test_clock_limits_are_locked_and_freed(gpu: RecordedGpu) -> None:
    clock, limits = first(gpu, "clocks"), zes.zes_freq_range_t()
    assert zes.zesFrequencyGetRange(clock, ctypes.byref(limits)) == UNSUPPORTED
    check(set_range(clock, 1200, 1500))
    limits = told(zes.zesFrequencyGetRange, clock, zes.zes_freq_range_t)
    assert (limits.min, limits.max) == (1200, 1500)
    check(set_range(clock, 100, 9000))
    check(set_range(clock, -1, -1))
    assert gpu.library.changes == [
        ("nvmlDeviceSetGpuLockedClocks", 1200, 1500),
        ("nvmlDeviceSetGpuLockedClocks", 345, 1980),
        ("nvmlDeviceResetGpuLockedClocks",),
    ]


@pytest.mark.parametrize(
    "limits", [(math.nan, 1500), (1200, math.inf), (-7, 1500), (1500, 1200), (5000, 6000)]
)
def test_nonsense_is_no_limit_of_a_clock(gpu: RecordedGpu, limits: tuple[float, float]) -> None:
    assert set_range(first(gpu, "clocks"), *limits) == INVALID
    assert set_range(parts(gpu, "clocks")[1], 2201, 3201) == UNSUPPORTED
    assert gpu.library.changes == []


# --- Temperature, power ---------------------------------------------------------------------------


def test_thermometers(gpu: RecordedGpu) -> None:
    found = []
    for sensor in parts(gpu, "temperatures"):
        properties = told(zes.zesTemperatureGetProperties, sensor, zes.zes_temp_properties_t)
        found.append(
            (properties.type, properties.maxTemperature, properties.isCriticalTempSupported)
        )
    assert found == [(zes.ZES_TEMP_SENSORS_GPU, 87, 1), (zes.ZES_TEMP_SENSORS_MEMORY, 95, 0)]
    gpu.answer("Temperature", 71, "0")
    gpu.library.answers["nvmlDeviceGetFieldValues"]["82"]["value"]["uiVal"] = 83
    celsius = [
        value(zes.zesTemperatureGetState, ctypes.c_double, sensor)
        for sensor in parts(gpu, "temperatures")
    ]
    assert celsius == [71, 83]


def test_energy_and_power(gpu: RecordedGpu) -> None:
    power = value(zes.zesDeviceGetCardPowerDomain, ctypes.c_void_p, gpu.handle)
    assert [power] == parts(gpu, "powers")
    idle = told(zes.zesPowerGetEnergyCounter, power, zes.zes_power_energy_counter_t)
    gpu.library.go_to("busy")
    busy = told(zes.zesPowerGetEnergyCounter, power, zes.zes_power_energy_counter_t)
    millijoules = gpu.library.answers["nvmlDeviceGetTotalEnergyConsumption"][""]
    assert busy.energy == millijoules * 1000 > idle.energy
    instant, average = ctypes.c_uint32(), ctypes.c_uint32()
    check(zes.zesPowerGetUsage(power, ctypes.byref(instant), ctypes.byref(average)))
    fields = gpu.library.answers["nvmlDeviceGetFieldValues"]
    assert instant.value == fields["186"]["value"]["uiVal"] > 500_000
    assert average.value == fields["185"]["value"]["uiVal"]


def set_power(power: int, milliwatts: int, enabled: bool = True) -> int:
    limit = zes.zes_power_sustained_limit_t(enabled=enabled, power=milliwatts)
    return int(zes.zesPowerSetLimits(power, ctypes.byref(limit), None, None))


def test_the_power_is_limited(gpu: RecordedGpu) -> None:
    power = first(gpu, "powers")
    properties = told(zes.zesPowerGetProperties, power, zes.zes_power_properties_t)
    limits = (properties.defaultLimit, properties.minLimit, properties.maxLimit)
    assert limits == (700_000, 200_000, 700_000)
    sustained = zes.zes_power_sustained_limit_t()
    check(zes.zesPowerGetLimits(power, ctypes.byref(sustained), None, None))
    assert (sustained.enabled, sustained.power) == (1, 700_000)
    check(set_power(power, 600_000))
    assert set_power(power, 199_999) == INVALID
    assert set_power(power, 700_001) == INVALID
    assert set_power(power, -1) == INVALID
    assert set_power(power, 600_000, enabled=False) == UNSUPPORTED
    burst = zes.zes_power_burst_limit_t(enabled=True, power=600_000)
    assert zes.zesPowerSetLimits(power, None, ctypes.byref(burst), None) == UNSUPPORTED
    assert gpu.library.changes == [("nvmlDeviceSetPowerManagementLimit", 600_000)]


def test_a_card_with_fans(gpu: RecordedGpu) -> None:
    assert parts(gpu, "fans") == []
    gpu.answer("NumFans", 2)
    gpu.answer("FanSpeed_v2", 30, "0")
    gpu.answer("FanSpeed_v2", 104, "1")
    gpu.open()
    percent = zes.ZES_FAN_SPEED_UNITS_PERCENT
    fans = parts(gpu, "fans")
    speeds = [value(zes.zesFanGetState, ctypes.c_int32, fan, percent) for fan in fans]
    assert speeds == [30, 100]
    speed, rpm = ctypes.c_int32(), zes.ZES_FAN_SPEED_UNITS_RPM
    assert zes.zesFanGetState(fans[0], rpm, ctypes.byref(speed)) == UNSUPPORTED


# --- The link, errors, firmware -------------------------------------------------------------------


def test_the_link(gpu: RecordedGpu) -> None:
    properties = told(zes.zesDevicePciGetProperties, gpu.handle, zes.zes_pci_properties_t)
    address = properties.address
    assert (address.domain, address.bus, address.device, address.function) == (0, 0, 6, 0)
    gpu.answer("CurrPcieLinkGeneration", 4)
    gpu.answer("CurrPcieLinkWidth", 8)
    gpu.answer("PcieReplayCounter", 12)
    state = told(zes.zesDevicePciGetState, gpu.handle, zes.zes_pci_state_t)
    speeds = [
        (speed.gen, speed.width, round(speed.maxBandwidth / 1e9, 2))
        for speed in (properties.maxSpeed, state.speed)
    ]
    assert speeds == [(5, 16, 63.02), (4, 8, 15.75)]
    assert (properties.haveReplayCounters, properties.haveBandwidthCounters) == (1, 0)
    stats = told(zes.zesDevicePciGetStats, gpu.handle, zes.zes_pci_stats_t)
    assert stats.replayCounter == 12


def test_the_windows_of_the_link(gpu: RecordedGpu) -> None:
    file = gpu.root / RESOURCES
    file.parent.mkdir(parents=True)
    file.write_text(
        "0x0000104002000000 0x0000104002ffffff 0x000000000014220c\n"
        "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
        "0x0000100000000000 0x0000103fffffffff 0x000000000014220c\n"
    )
    count, bars = ctypes.c_uint32(8), (zes.zes_pci_bar_properties_t * 8)()
    check(zes.zesDevicePciGetBars(gpu.handle, ctypes.byref(count), bars))
    found = [(bar.type, bar.index, bar.base, bar.size) for bar in bars[: count.value]]
    assert found == [
        (zes.ZES_PCI_BAR_TYPE_MMIO, 0, 0x104002000000, 16 << 20),
        (zes.ZES_PCI_BAR_TYPE_MEM, 2, 0x100000000000, 256 << 30),
    ]
    (file.parent / "resource2_resize").write_text("0000000000007fc0\n")
    extended = [zes.zes_pci_bar_properties_1_2_t(resizableBarEnabled=7) for _ in range(2)]
    for bar, more in zip(bars, extended, strict=False):
        bar.stype, bar.pNext = bar._stype_, ctypes.addressof(more)
    check(zes.zesDevicePciGetBars(gpu.handle, ctypes.byref(count), bars))
    assert [(each.index, each.size) for each in extended] == [(0, 16 << 20), (2, 256 << 30)]
    assert [each.resizableBarSupported for each in extended] == [0, 1]
    assert [each.resizableBarEnabled for each in extended] == [0, 1]


def test_errors_are_counted_by_where_they_happen(gpu: RecordedGpu) -> None:
    gpu.answer("MemoryErrorCounter", 5, "1,0,2")
    gpu.answer("MemoryErrorCounter", 2, "1,0,7")
    fields = gpu.library.answers["nvmlDeviceGetFieldValues"]
    for number in ("179", "180"):
        fields[number]["value"]["uiVal"] = 3
    correctable, uncorrectable = parts(gpu, "errors")
    count, states = ctypes.c_uint32(8), (zes.zes_ras_state_exp_t * 8)()
    check(zes.zesRasGetStateExp(uncorrectable, ctypes.byref(count), states))
    assert {state.category: state.errorCounter for state in states[: count.value]} == {
        zes.ZES_RAS_ERROR_CATEGORY_EXP_CACHE_ERRORS: 2,
        zes.ZES_RAS_ERROR_CATEGORY_EXP_MEMORY_ERRORS: 5,
        zes.ZES_RAS_ERROR_CATEGORY_EXP_PCIE_ERRORS: 6,
    }
    state = asked(zes.zesRasGetState, zes.zes_ras_state_t, correctable, 0)
    assert list(state.category) == [0] * zes.ZES_MAX_RAS_ERROR_CATEGORY_COUNT


def test_firmware(gpu: RecordedGpu) -> None:
    versions = {}
    for firmware in parts(gpu, "firmwares"):
        properties = told(zes.zesFirmwareGetProperties, firmware, zes.zes_firmware_properties_t)
        versions[text(properties.name)] = text(properties.version)
    assert versions == {
        "VBIOS": "96.00.A5.00.1A",
        "InfoROM": "G520.0282.02.02",
        "GSP": "580.159.04",
    }


def test_ecc_changes_with_next_reset(gpu: RecordedGpu) -> None:
    assert value(zes.zesDeviceEccAvailable, ze.ze_bool_t, gpu.handle)
    assert value(zes.zesDeviceEccConfigurable, ze.ze_bool_t, gpu.handle)
    wanted = zes.zes_device_ecc_desc_t(state=zes.ZES_DEVICE_ECC_STATE_DISABLED)
    state = zes.zes_device_ecc_properties_t()
    gpu.answer("PendingEccMode", 0)  # as the library answers once it is set
    check(zes.zesDeviceSetEccState(gpu.handle, ctypes.byref(wanted), ctypes.byref(state)))
    assert gpu.library.changes == [("nvmlDeviceSetEccMode", 0)]
    assert state.currentState == zes.ZES_DEVICE_ECC_STATE_ENABLED
    assert state.pendingState == zes.ZES_DEVICE_ECC_STATE_DISABLED
    assert state.pendingAction == zes.ZES_DEVICE_ACTION_WARM_CARD_RESET


def test_processes(gpu: RecordedGpu) -> None:
    assert processes(gpu.handle) == {}
    gpu.library.go_to("busy")
    (process,) = processes(gpu.handle).values()
    assert process.memSize == 1130 << 20
    assert process.engines == zes.ZES_ENGINE_TYPE_FLAG_COMPUTE
    assert zes.zesDeviceReset(gpu.handle, 0) == ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE
    assert zes.zesDeviceReset(gpu.handle, 1) == UNSUPPORTED


def test_the_work_for_each_process_is_added_up(gpu: RecordedGpu) -> None:
    gpu.library.go_to("busy")
    start = 1_794_750_000_000_000
    samples: list[dict[str, int]] = []
    gpu.answer("ProcessUtilization", samples)
    for seconds, percent in ((0, 90), (1, 50), (3, 25)):
        samples.append({"pid": 4001, "timeStamp": start + seconds * 10**6, "smUtil": percent})
        (process,) = kinds.watched(gpu.handle).processes()
    assert process.busy_us == 500_000 + 500_000
    (process,) = kinds.watched(gpu.handle).processes()
    assert process.busy_us == 1_000_000
    gpu.answer("ProcessUtilization", {"error": NOT_SUPPORTED})
    (process,) = kinds.watched(gpu.handle).processes()
    assert process.busy_us is None


# --- What the library refuses ---------------------------------------------------------------------


def test_what_a_gpu_has_not_got_is_not_listed(gpu: RecordedGpu) -> None:
    kept = {name: gpu.library.answers[name] for name in IDENTITY}
    gpu.library.answers = copy.deepcopy(gpu.library.answers)
    gpu.fail(NOT_SUPPORTED)
    gpu.library.answers |= kept
    gpu.open()
    found = {kind: parts(gpu, kind) for kind in ENUMERATIONS}
    assert found == {kind: [] for kind in ENUMERATIONS}
    state = zes.zes_pci_state_t()
    assert zes.zesDevicePciGetState(gpu.handle, ctypes.byref(state)) == UNSUPPORTED


@pytest.mark.parametrize(
    ("error", "result"),
    [(NOT_SUPPORTED, UNSUPPORTED), (NO_PERMISSION, DENIED), (GPU_IS_LOST, LOST)],
)
def test_errors_of_the_library_are_results(
    gpu: RecordedGpu, driver: int, error: int, result: int
) -> None:
    sensor, power, clock = (first(gpu, kind) for kind in ("temperatures", "powers", "clocks"))
    memory = first(gpu, "memories")
    gpu.fail(error)
    celsius, energy = ctypes.c_double(), zes.zes_power_energy_counter_t()
    assert zes.zesTemperatureGetState(sensor, ctypes.byref(celsius)) == result
    assert zes.zesPowerGetEnergyCounter(power, ctypes.byref(energy)) == result
    state, full = zes.zes_freq_state_t(), zes.zes_mem_state_t()
    assert zes.zesFrequencyGetState(clock, ctypes.byref(state)) == result
    assert zes.zesMemoryGetState(memory, ctypes.byref(full)) == result
    assert "nvmlDeviceGetMemoryInfo" in last_error()


def test_a_lost_gpu_has_to_be_reset(gpu: RecordedGpu) -> None:
    gpu.fail(GPU_IS_LOST)
    state = told(zes.zesDeviceGetState, gpu.handle, zes.zes_device_state_t)
    assert state.reset == zes.ZES_RESET_REASON_FLAG_WEDGED


def listen(gpu: RecordedGpu, driver: int) -> int:
    """The events of the GPU that happened since they were asked for last."""
    device, count, events = ctypes.c_void_p(gpu.handle), ctypes.c_uint32(), ctypes.c_uint32()
    answers = (ctypes.byref(count), ctypes.byref(events))
    check(zes.zesDriverEventListen(driver, 0, 1, ctypes.byref(device), *answers))
    return events.value if count.value else 0


def test_events(gpu: RecordedGpu, driver: int) -> None:
    broken = zes.ZES_EVENT_TYPE_FLAG_MEM_HEALTH
    reset, gone = (
        zes.ZES_EVENT_TYPE_FLAG_DEVICE_RESET_REQUIRED,
        zes.ZES_EVENT_TYPE_FLAG_DEVICE_DETACH,
    )
    check(zes.zesDeviceEventRegister(gpu.handle, broken | reset | gone))
    assert listen(gpu, driver) == 0
    gpu.answer("RemappedRows", [0, 1, 1, 0])
    assert listen(gpu, driver) == broken | reset
    assert listen(gpu, driver) == 0
    gpu.fail(GPU_IS_LOST)
    assert listen(gpu, driver) & gone


def test_who_may_not_set_is_told_so(gpu: RecordedGpu) -> None:
    power, clock = first(gpu, "powers"), first(gpu, "clocks")
    for function in ("SetPowerManagementLimit", "SetGpuLockedClocks"):
        gpu.library.answers[f"nvmlDevice{function}"] = Refusing()
    assert set_power(power, 600_000) == DENIED
    assert set_range(clock, 1200, 1500) == DENIED


class Refusing(dict[str, Any]):
    """Answers that all are the same error."""

    def __missing__(self, arguments: str) -> dict[str, int]:
        return {"error": NO_PERMISSION}
