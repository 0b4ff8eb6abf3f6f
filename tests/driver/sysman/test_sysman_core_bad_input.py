"""Handles and pointers that are wrong, for devices, engines, memory and drivers."""

import ctypes
from typing import Any

import pytest

from groundstate import ze, zes
from groundstate.driver import native
from groundstate.driver.sysman.functions import NOUNS
from registry.load import load
from registry.model import Function, Parameter
from tests.conftest import check, last_error
from tests.driver.support import Bench
from tests.driver.sysman.sysman import listed

REGISTRY = load()
FUNCTIONS = [
    REGISTRY.functions[name]
    for name, noun in NOUNS.items()
    if noun in ("device", "driver", "engine", "memory") and name not in ("zesInit", "zesDriverGet")
]
by_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)


def filled(parameter: Parameter, byte: int = 1) -> Any:
    """Something for a parameter: memory for a pointer, a small number for a count and the like."""
    if parameter.type.is_pointer:
        memory = ctypes.create_string_buffer(1 << 16)
        ctypes.memset(memory, byte, 4096)
        if parameter.name == "pCount":
            ctypes.c_uint32.from_buffer(memory).value = min(byte, 4)
        return memory
    return zes.zes_uuid_t() if REGISTRY.struct_of(parameter.type.base) else 1


def call(function: Function, handle: int | None, byte: int = 1, **others: Any) -> int:
    rest = {each.name: filled(each, byte) for each in function.parameters[1:]} | others
    return int(getattr(zes, function.name)(handle, *rest.values()))


def handle_for(function: Function, driver: int, device: int) -> int:
    """A live handle of the kind that a function takes."""
    kind = function.parameters[0].type.base
    if kind == "zes_engine_handle_t":
        return listed(zes.zesDeviceEnumEngineGroups, device)[0]
    if kind == "zes_mem_handle_t":
        return listed(zes.zesDeviceEnumMemoryModules, device)[0]
    return driver if kind == "zes_driver_handle_t" else device


@by_function
def test_handles_that_are_not_ones(function: Function, sysman: int, driver: int) -> None:
    live = handle_for(function, driver, sysman)
    foreign = native.object_new("ze_physical_mem_handle_t")
    for handle in (None, 1, 0x1000, 2**64 - 1, live + 8, live + (512 << 20), foreign):
        assert call(function, handle) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
        assert last_error().startswith(function.name)
    native.object_end(foreign)
    assert call(function, foreign) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE


@by_function
def test_pointers_that_are_null(function: Function, sysman: int, driver: int) -> None:
    for parameter in function.parameters[1:]:
        if parameter.type.is_pointer and not parameter.optional:
            nothing: dict[str, Any] = {parameter.name: None}
            result = call(function, handle_for(function, driver, sysman), **nothing)
            assert result == ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER
            assert parameter.name in last_error()


@pytest.mark.parametrize(
    "function",
    # one that is forced costs all contexts of the process: test_faults_endless.py has it
    [function for function in FUNCTIONS if function.name != "zesDeviceReset"],
    ids=lambda function: function.name,
)
@pytest.mark.parametrize("byte", [0x00, 0x41, 0xFF])
def test_memory_that_nobody_initialised(
    function: Function, byte: int, bench: Bench, sysman: int
) -> None:
    """Structs full of noise are answered, or refused with a result of the specification."""
    result = call(function, handle_for(function, bench.driver, sysman), byte)
    assert result != ze.ZE_RESULT_ERROR_UNKNOWN, last_error()


@pytest.mark.parametrize(
    "function",
    [
        function
        for function in FUNCTIONS
        if any(each.name == "pCount" for each in function.parameters)
        and function.name != "zesDeviceProcessesGetState"  # the number of processes changes
    ],
    ids=lambda function: function.name,
)
def test_counts(function: Function, bench: Bench, sysman: int) -> None:
    """Zero asks for the number, less gives the first ones, and more is put right."""
    handle, array = handle_for(function, bench.driver, sysman), ctypes.create_string_buffer(1 << 20)
    ask = getattr(zes, function.name)
    count = ctypes.c_uint32(0)
    check(ask(handle, ctypes.byref(count), None))
    total = count.value
    for given in (total + 100, total, 1):
        count.value = given
        check(ask(handle, ctypes.byref(count), array))
        assert count.value == min(given, total) or given == total == 0
    count.value = 3
    check(ask(handle, ctypes.byref(count), None))
    assert count.value == total
