"""The driver through its C interface: initialisation, properties, extensions."""

import ctypes
from typing import Any

import pytest

from groundstate import ze, zer
from tests.conftest import check, last_error


def test_the_same_driver_is_reported_every_time(driver: int) -> None:
    count = ctypes.c_uint32()
    check(ze.zeDriverGet(ctypes.byref(count), None))
    assert count.value == 1
    handles = (ctypes.c_void_p * 4)()
    for capacity in (1, 4):
        count.value = capacity
        check(ze.zeDriverGet(ctypes.byref(count), handles))
        assert count.value == 1
        assert handles[0] == driver
    assert handles[1] is None


@pytest.mark.parametrize("flags", [0, ze.ZE_INIT_FLAG_GPU_ONLY])
def test_init_again(driver: int, flags: int) -> None:
    assert ze.zeInit(flags) == ze.ZE_RESULT_SUCCESS


def test_init_for_another_type_of_device(driver: int) -> None:
    assert ze.zeInit(ze.ZE_INIT_FLAG_VPU_ONLY) == ze.ZE_RESULT_ERROR_UNINITIALIZED


def init_drivers(flags: int) -> tuple[int, int, int | None]:
    description = ze.ze_init_driver_type_desc_t(flags=flags)
    count, handle = ctypes.c_uint32(1), ctypes.c_void_p()
    result = ze.zeInitDrivers(ctypes.byref(count), ctypes.byref(handle), ctypes.byref(description))
    return result, count.value, handle.value


@pytest.mark.parametrize("flags", [ze.ZE_INIT_DRIVER_TYPE_FLAG_GPU, 0xFFFFFFFF])
def test_init_drivers_gives_the_same_driver(driver: int, flags: int) -> None:
    assert init_drivers(flags) == (ze.ZE_RESULT_SUCCESS, 1, driver)


def test_init_drivers_for_another_type(driver: int) -> None:
    result, count, handle = init_drivers(ze.ZE_INIT_DRIVER_TYPE_FLAG_NPU)
    assert (result, count, handle) == (ze.ZE_RESULT_ERROR_UNINITIALIZED, 0, None)


def test_api_version(driver: int) -> None:
    version = ctypes.c_uint32()
    check(ze.zeDriverGetApiVersion(driver, ctypes.byref(version)))
    assert version.value == ze.ZE_API_VERSION_1_17


def test_driver_properties_promise_ddi_handles(driver: int) -> None:
    handles = ze.ze_driver_ddi_handles_ext_properties_t()
    properties = ze.ze_driver_properties_t(pNext=ctypes.addressof(handles))
    check(ze.zeDriverGetProperties(driver, ctypes.byref(properties)))
    assert any(properties.uuid.id)
    assert properties.driverVersion > 0
    assert handles.flags == ze.ZE_DRIVER_DDI_HANDLE_EXT_FLAG_DDI_HANDLE_EXT_SUPPORTED


def test_ipc_properties(driver: int) -> None:
    properties = ze.ze_driver_ipc_properties_t()
    check(ze.zeDriverGetIpcProperties(driver, ctypes.byref(properties)))
    assert properties.flags == ze.ZE_IPC_PROPERTY_FLAG_MEMORY | ze.ZE_IPC_PROPERTY_FLAG_EVENT_POOL


def extensions(driver: int) -> dict[str, int]:
    count = ctypes.c_uint32()
    check(ze.zeDriverGetExtensionProperties(driver, ctypes.byref(count), None))
    array = (ze.ze_driver_extension_properties_t * count.value)()
    check(ze.zeDriverGetExtensionProperties(driver, ctypes.byref(count), array))
    return {entry.name.decode(): entry.version for entry in array}


def test_extension_names_follow_specification(driver: int) -> None:
    reported = extensions(driver)
    assert reported["ZE_extension_driver_ddi_handles"] == ze.ZE_MAKE_VERSION(1, 1)
    assert all(
        name.startswith(("ZE_extension_", "ZE_experimental_", "ZET_experimental_"))
        for name in reported
    )


def function_address(driver: int, name: bytes) -> tuple[int, int | None]:
    address = ctypes.c_void_p(1)
    result = ze.zeDriverGetExtensionFunctionAddress(driver, name, ctypes.byref(address))
    return result, address.value


def test_advertised_extension_functions_are_found(driver: int) -> None:
    from groundstate.driver.extensions import advertised

    for extension in advertised():
        for name in extension.functions:
            result, address = function_address(driver, name.encode())
            assert result == ze.ZE_RESULT_SUCCESS, name
            assert address


def test_a_function_found_by_name_can_be_called(driver: int) -> None:
    result, address = function_address(driver, b"zeDriverGetApiVersion")
    assert result == ze.ZE_RESULT_SUCCESS
    assert address is not None
    prototype = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p)
    version = ctypes.c_uint32()
    assert prototype(address)(driver, ctypes.addressof(version)) == ze.ZE_RESULT_SUCCESS
    assert version.value == ze.ZE_API_VERSION_1_17


@pytest.mark.parametrize("name", [b"zexVariableSetValue", b"", b"main", b"ze\xff"])
def test_unknown_function_is_refused_with_message(driver: int, name: bytes) -> None:
    result, address = function_address(driver, name)
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert address is None
    assert "has no function" in last_error()


def call_with_nulls(function: Any, *arguments: Any) -> int:
    return int(function(*arguments))


def test_null_pointers_are_refused(driver: int) -> None:
    null = ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER
    assert call_with_nulls(ze.zeDriverGet, None, None) == null
    assert call_with_nulls(ze.zeDriverGetProperties, driver, None) == null
    assert call_with_nulls(ze.zeDriverGetApiVersion, driver, None) == null
    assert call_with_nulls(ze.zeDriverGetExtensionProperties, driver, None, None) == null


@pytest.mark.parametrize("handle", [None, 1, 0xDEADBEEF, 2**64 - 1])
def test_handles_that_are_none_are_refused(driver: int, handle: int | None) -> None:
    version = ctypes.c_uint32()
    result = ze.zeDriverGetApiVersion(handle, ctypes.byref(version))
    assert result == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    assert last_error()


def test_devices_have_numbers(driver: int, device: int) -> None:
    number = zer.zerTranslateDeviceHandleToIdentifier(device)
    assert number == 0
    assert zer.zerTranslateIdentifierToDeviceHandle(number) == device
    assert zer.zerTranslateIdentifierToDeviceHandle(1000) is None
    assert "there is no device 1000" in last_error()
    assert zer.zerTranslateDeviceHandleToIdentifier(0xDEADBEEF) == 2**32 - 1
