"""System management: initialisation, drivers and devices."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from groundstate import ze, zes
from groundstate.version import __version__
from tests.conftest import check, last_error
from tests.driver.support import Bench
from tests.driver.sysman.sysman import engines, listed, memory_state, told


def run(program: str, **variables: str) -> None:
    """Runs a Python program in a process of its own."""
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, **variables})


def test_driver_start_imports_no_sysman_modules() -> None:
    run(
        "import sys\n"
        "from groundstate import ze, zes\n"
        "assert ze.zeInit(0) == 0\n"
        "prefix = 'groundstate.driver.sysman.'\n"
        "loaded = {name for name in sys.modules if name.startswith(prefix)}\n"
        "assert loaded == {prefix + 'functions'}, loaded\n"
        "assert zes.zesInit(0) == 0\n"
        "assert prefix + 'driver' in sys.modules\n"
    )


def test_sysman_initialises_without_core() -> None:
    run(
        "from ctypes import byref, c_uint32\n"
        "from groundstate import ze, zes\n"
        "count, uninitialised = c_uint32(), 0x78000001\n"
        "assert zes.zesDriverGet(byref(count), None) == uninitialised\n"
        "assert zes.zesInit(0) == 0\n"
        "assert zes.zesDriverGet(byref(count), None) == 0 and count.value == 1\n"
        "assert ze.zeDriverGet(byref(count), None) == uninitialised\n"
        "assert ze.zeInit(0) == 0\n"
        "assert ze.zeDriverGet(byref(count), None) == 0 and count.value == 1\n"
        "assert zes.zesInit(0) == 0\n"
    )


def test_core_and_sysman_share_handles(driver: int, device: int, sysman: int) -> None:
    assert listed(zes.zesDriverGet) == [driver]
    assert listed(zes.zesDeviceGet, driver) == listed(ze.zeDeviceGet, driver)
    assert sysman == device


def test_unknown_init_flags_are_refused(driver: int) -> None:
    assert zes.zesInit(2) == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION


# --- Devices --------------------------------------------------------------------------------------


def test_core_and_sysman_report_same_properties(device: int, sysman: int) -> None:
    core = told(ze.zeDeviceGetProperties, device, ze.ze_device_properties_t)
    extended = zes.zes_device_ext_properties_t()
    properties = zes.zes_device_properties_t(pNext=ctypes.addressof(extended))
    check(zes.zesDeviceGetProperties(sysman, ctypes.byref(properties)))
    for field in ("type", "vendorId", "deviceId", "flags", "coreClockRate", "name"):
        assert getattr(properties.core, field) == getattr(core, field)
    assert bytes(properties.core.uuid.id) == bytes(core.uuid.id) == bytes(extended.uuid.id)
    assert (extended.type, extended.flags) == (core.type, core.flags)
    assert properties.driverVersion == __version__.encode()
    assert properties.modelName
    assert properties.serialNumber
    assert properties.numSubdevices == 0


def test_uninitialised_chain_is_not_followed(sysman: int) -> None:
    properties = zes.zes_device_properties_t(stype=0x5A5A, pNext=0xDEAD0)
    check(zes.zesDeviceGetProperties(sysman, ctypes.byref(properties)))
    properties = zes.zes_device_properties_t(pNext=0xDEAD0)
    check(zes.zesDeviceGetProperties(sysman, ctypes.byref(properties)))


def test_serial_number_comes_with_its_length(sysman: int) -> None:
    serial = zes.zes_oem_serial_id_ext_properties_t(length=999)
    properties = zes.zes_device_properties_t(pNext=ctypes.addressof(serial))
    check(zes.zesDeviceGetProperties(sysman, ctypes.byref(properties)))
    assert serial.length == len(serial.oemSerialId)


def test_a_healthy_device_needs_no_reset(sysman: int) -> None:
    extended = zes.zes_device_ext_state_t()
    state = zes.zes_device_state_t(pNext=ctypes.addressof(extended), reset=3)
    check(zes.zesDeviceGetState(sysman, ctypes.byref(state)))
    assert state.reset == 0
    assert state.repaired == zes.ZES_REPAIR_STATUS_UNSUPPORTED
    assert extended.flags == zes.ZES_DEVICE_STATE_EXT_FLAG_NORMAL


def test_a_device_that_is_used_is_not_reset(bench: Bench, sysman: int) -> None:
    assert zes.zesDeviceReset(sysman, 0) == ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE
    assert "processes use the device" in last_error()
    request = zes.zes_reset_properties_t(force=0)
    result = zes.zesDeviceResetExt(sysman, ctypes.byref(request))
    assert result == ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE
    check(ze.zeContextGetStatus(bench.context))


def test_a_device_is_found_by_its_uuid(driver: int, sysman: int) -> None:
    properties = told(zes.zesDeviceGetProperties, sysman, zes.zes_device_properties_t)
    uuid = zes.zes_uuid_t.from_buffer_copy(bytes(properties.core.uuid.id))
    found, part, number = ctypes.c_void_p(), ctypes.c_uint8(9), ctypes.c_uint32(9)
    answer = (ctypes.byref(found), ctypes.byref(part), ctypes.byref(number))
    check(zes.zesDriverGetDeviceByUuidExp(driver, uuid, *answer))
    assert (found.value, part.value, number.value) == (sysman, 0, 0)
    uuid.id[0] ^= 0xFF
    result = zes.zesDriverGetDeviceByUuidExp(driver, uuid, *answer)
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "no device has the UUID" in last_error()


def test_advertised_extensions_have_functions(driver: int, sysman: int) -> None:
    count = ctypes.c_uint32()
    check(zes.zesDriverGetExtensionProperties(driver, ctypes.byref(count), None))
    extensions = (zes.zes_driver_extension_properties_t * count.value)()
    check(zes.zesDriverGetExtensionProperties(driver, ctypes.byref(count), extensions))
    names = {extension.name.decode() for extension in extensions}
    assert {"ZES_extension_engine_activity", "ZES_experimental_sysman_device_mapping"} <= names
    assert all(extension.version == 0x10000 for extension in extensions)
    address = ctypes.c_void_p()
    for name in (b"zesEngineGetActivityExt", b"zesDriverGetDeviceByUuidExp"):
        check(zes.zesDriverGetExtensionFunctionAddress(driver, name, ctypes.byref(address)))
        assert address.value
    result = zes.zesDriverGetExtensionFunctionAddress(driver, b"zesNobody", ctypes.byref(address))
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


DIVIDED = """
import ctypes
from groundstate import ze, zes
from tests.conftest import check
from tests.driver.sysman.sysman import engines, listed, told
check(ze.zeInit(0))
check(zes.zesInit(0))
driver, = listed(zes.zesDriverGet)
devices = listed(zes.zesDeviceGet, driver)
assert len(devices) == 2, devices
for device in devices:
    properties = told(zes.zesDeviceGetProperties, device, zes.zes_device_properties_t)
    assert properties.numSubdevices == 2
    for group in range(4):
        if group != zes.ZES_ENGINE_GROUP_MEDIA_ALL:
            for place in (None, 0, 1):
                assert len(engines(device, group, place)) == 1
    assert not engines(device, zes.ZES_ENGINE_GROUP_COMPUTE_SINGLE)
    assert len(engines(device, zes.ZES_ENGINE_GROUP_COMPUTE_SINGLE, 1)) == 3
    assert len(listed(zes.zesDeviceEnumMemoryModules, device)) == 2
    count = ctypes.c_uint32(5)
    parts = (zes.zes_subdevice_exp_properties_t * 5)()
    check(zes.zesDeviceGetSubDevicePropertiesExp(device, ctypes.byref(count), parts))
    assert count.value == 2
    for number, part in enumerate(parts[:2]):
        found, inside, place = ctypes.c_void_p(), ctypes.c_uint8(), ctypes.c_uint32()
        answer = ctypes.byref(found), ctypes.byref(inside), ctypes.byref(place)
        check(zes.zesDriverGetDeviceByUuidExp(driver, part.uuid, *answer))
        assert (found.value, inside.value, place.value) == (device, 1, number)
for leaf in listed(ze.zeDeviceGet, driver):
    core = told(ze.zeDeviceGetProperties, leaf, ze.ze_device_properties_t)
    uuid = zes.zes_uuid_t.from_buffer_copy(bytes(core.uuid.id))
    found, inside, place = ctypes.c_void_p(), ctypes.c_uint8(), ctypes.c_uint32()
    answer = ctypes.byref(found), ctypes.byref(inside), ctypes.byref(place)
    check(zes.zesDriverGetDeviceByUuidExp(driver, uuid, *answer))
    assert found.value in devices
    whole = told(zes.zesDeviceGetProperties, leaf, zes.zes_device_properties_t)
    same = told(zes.zesDeviceGetProperties, found.value, zes.zes_device_properties_t)
    assert bytes(whole.core.uuid.id) == bytes(same.core.uuid.id)
"""


@pytest.mark.parametrize(
    "variables",
    [
        {"ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE"},
        {"ZE_FLAT_DEVICE_HIERARCHY": "FLAT"},
        {"ZE_FLAT_DEVICE_HIERARCHY": "COMBINED"},
        {"ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE", "ZE_AFFINITY_MASK": "1"},
        {"ZE_FLAT_DEVICE_HIERARCHY": "FLAT", "ZE_AFFINITY_MASK": "2"},
    ],
    ids=lambda variables: ",".join(variables.values()),
)
def test_whole_devices_listed_whatever_core_shows(variables: dict[str, str]) -> None:
    path = os.pathsep.join([str(Path(__file__).parents[3]), *sys.path])
    settings = {"GROUNDSTATE_TOPOLOGY": "2x2", "GROUNDSTATE_THREADS": "12", "PYTHONPATH": path}
    run(DIVIDED, **variables, **settings)


# --- Memory and processes -------------------------------------------------------------------------


def test_the_memory_that_is_free(alone: None, bench: Bench, sysman: int) -> None:
    (memory,) = listed(zes.zesDeviceEnumMemoryModules, sysman)
    properties = told(zes.zesMemoryGetProperties, memory, zes.zes_mem_properties_t)
    assert properties.location == zes.ZES_MEM_LOC_SYSTEM
    assert (properties.busWidth, properties.numChannels) == (-1, -1)
    before = memory_state(sysman)
    bench.local(3 << 20)
    state = memory_state(sysman)
    assert state.size == before.size == properties.physicalSize
    assert state.free == before.free - (3 << 20)
    bandwidth = zes.zes_mem_bandwidth_t()
    result = zes.zesMemoryGetBandwidth(memory, ctypes.byref(bandwidth))
    assert result == ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE


def test_the_count_of_processes_may_be_too_large(bench: Bench, sysman: int) -> None:
    count = ctypes.c_uint32()
    check(zes.zesDeviceProcessesGetState(sysman, ctypes.byref(count), None))
    assert count.value >= 1
    states = (zes.zes_process_state_t * 4096)()
    count.value = 4096
    check(zes.zesDeviceProcessesGetState(sysman, ctypes.byref(count), states))
    assert 1 <= count.value < 4096


def test_every_worker_is_an_engine(sysman: int) -> None:
    core = told(zes.zesDeviceGetProperties, sysman, zes.zes_device_properties_t).core
    assert len(engines(sysman, zes.ZES_ENGINE_GROUP_COMPUTE_SINGLE)) == core.numEUsPerSubslice
    handles = listed(zes.zesDeviceEnumEngineGroups, sysman)
    assert listed(zes.zesDeviceEnumEngineGroups, sysman) == handles
    some = (ctypes.c_void_p * 2)()
    count = ctypes.c_uint32(2)
    check(zes.zesDeviceEnumEngineGroups(sysman, ctypes.byref(count), some))
    assert count.value == 2
    assert list(some) == handles[:2]
