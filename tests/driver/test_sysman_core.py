"""System management: initialisation, drivers and devices."""

import ctypes
import subprocess
import sys
from typing import Any

from groundstate import ze, zes
from tests.conftest import check


def listed(function: Any, *arguments: Any) -> list[int]:
    """The handles that a function with the count protocol answers, asked for in the usual way."""
    count = ctypes.c_uint32()
    check(function(*arguments, ctypes.byref(count), None))
    handles = (ctypes.c_void_p * count.value)()
    check(function(*arguments, ctypes.byref(count), handles))
    return [handle or 0 for handle in handles]


def run(program: str) -> None:
    """Runs a Python program in a process of its own."""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_starting_the_driver_imports_no_noun_of_system_management() -> None:
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


def test_system_management_is_initialised_without_the_core() -> None:
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


def test_the_core_and_system_management_share_their_handles(
    driver: int, device: int, sysman: int
) -> None:
    assert listed(zes.zesDriverGet) == [driver]
    assert listed(zes.zesDeviceGet, driver) == listed(ze.zeDeviceGet, driver)
    assert sysman == device


def test_flags_of_initialisation_that_do_not_exist_are_refused(driver: int) -> None:
    assert zes.zesInit(2) == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION
