"""Answers that the C half keeps: those of Python, for each caller and each kind of struct."""

import ctypes
import os
import subprocess
import sys
from typing import Any

import pytest

from groundstate import ze
from groundstate.driver import api
from tests.conftest import check

CYCLES = ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2
QUESTIONS = [
    ("zeDeviceGetProperties", ze.ze_device_properties_t, None),
    ("zeDeviceGetProperties", ze.ze_device_properties_t, CYCLES),
    ("zeDriverGetProperties", ze.ze_driver_properties_t, None),
]


def asked(function: str, handle: int, structure: Any, stype: int | None, rest: int) -> bytes:
    """What a function writes behind the header of a struct that was full of other bytes."""
    properties = structure()
    ctypes.memset(ctypes.addressof(properties) + 16, rest, ctypes.sizeof(properties) - 16)
    if stype is not None:
        properties.stype = stype
    answer = bytes(properties)[:16]
    check(getattr(ze, function)(handle, ctypes.byref(properties)))
    assert bytes(properties)[:16] == answer, "the header is the caller's"
    return bytes(properties)[16:]


@pytest.mark.parametrize(("function", "structure", "stype"), QUESTIONS)
def test_kept_answer_is_that_of_python(
    driver: int, device: int, function: str, structure: Any, stype: int | None
) -> None:
    handle = device if function.startswith("zeDevice") else driver
    first, second = (asked(function, handle, structure, stype, rest) for rest in (0, 0xA5))
    fresh = structure() if stype is None else structure(stype=stype)
    assert api.HANDLERS[function](handle, ctypes.addressof(fresh)) is None
    assert first == second == bytes(fresh)[16:]


def test_timer_resolution_depends_on_the_struct(device: int) -> None:
    resolutions = []
    for stype in (CYCLES, ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, CYCLES):
        properties = ze.ze_device_properties_t(stype=stype)
        check(ze.zeDeviceGetProperties(device, ctypes.byref(properties)))
        resolutions.append(properties.timerResolution)
    assert resolutions == [10**9, 1, 10**9]


def test_chained_struct_is_filled_each_time(device: int) -> None:
    for _ in range(2):
        units = ze.ze_eu_count_ext_t()
        properties = ze.ze_device_properties_t(pNext=ctypes.addressof(units))
        check(ze.zeDeviceGetProperties(device, ctypes.byref(properties)))
        assert units.numTotalEUs == properties.numEUsPerSubslice > 0


@pytest.mark.parametrize(("room", "count", "written"), [(0, 2, 0), (1, 1, 1), (4, 2, 2)])
def test_lists_of_devices_follow_the_count_protocol(room: int, count: int, written: int) -> None:
    code = f"""
import ctypes
from groundstate import ze
ze.zeInit(0)
number, driver = ctypes.c_uint32(1), ctypes.c_void_p()
ze.zeDriverGet(ctypes.byref(number), ctypes.byref(driver))
found = (ctypes.c_void_p * 4)()
for ask, of in ((ze.zeDeviceGet, driver), (ze.zeDeviceGetSubDevices, None)):
    for turn in range(2):
        number, found[:] = ctypes.c_uint32({room}), [None] * 4
        assert ask(of or first, ctypes.byref(number), found if {room} else None) == 0
        assert (number.value, sum(each is not None for each in found)) == ({count}, {written})
    number = ctypes.c_uint32(4)
    ask(of or first, ctypes.byref(number), found)
    first = found[0]
number = ctypes.c_uint32(7)
assert (ze.zeDriverGet(ctypes.byref(number), found), number.value) == (0, 1)
"""
    environment = {**os.environ, "GROUNDSTATE_TOPOLOGY": "2x2"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
