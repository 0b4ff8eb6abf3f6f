"""Handles and pointers that are wrong, for each function of system management about the machine."""

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from groundstate import ze, zes
from groundstate.driver import native
from groundstate.driver.sysman.functions import NOUNS
from registry.load import load
from registry.model import Function, Parameter
from tests.conftest import last_error
from tests.driver.sysman.machines import Recorded

REGISTRY = load()
ABOUT_THE_MACHINE = (
    "absent", "ecc", "fan", "firmware", "frequency", "pci", "power", "psu", "ras", "scheduler",
    "temperature",
)  # fmt: skip
FUNCTIONS = {
    noun: [REGISTRY.functions[name] for name, other in NOUNS.items() if other == noun]
    for noun in ABOUT_THE_MACHINE
}
KINDS = {
    "zes_freq_handle_t": "frequencies",
    "zes_temp_handle_t": "temperatures",
    "zes_pwr_handle_t": "powers",
    "zes_fan_handle_t": "fans",
    "zes_psu_handle_t": "supplies",
    "zes_ras_handle_t": "errors",
    "zes_sched_handle_t": "schedulers",
    "zes_firmware_handle_t": "firmwares",
}
NULL_HANDLE = ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
by_noun = pytest.mark.parametrize("noun", ABOUT_THE_MACHINE)


@pytest.fixture
def machine(noun: str, recorded: Callable[..., Recorded]) -> Recorded:
    """One that has what the noun is about."""
    return recorded("laptop" if noun == "psu" else "server")


def filled(parameter: Parameter) -> Any:
    """Something for a parameter that is not the handle: memory for a pointer, 1 for a number."""
    return (ctypes.c_uint64 * 512)() if parameter.type.is_pointer else 1


def call(function: Function, handle: int | None, **others: Any) -> int:
    rest = {each.name: filled(each) for each in function.parameters[1:]} | others
    return int(getattr(zes, function.name)(handle, *rest.values()))


def handle_for(function: Function, machine: Recorded) -> int:
    """A live handle of the kind that a function takes."""
    kind = KINDS.get(function.parameters[0].type.base)
    return machine.device if kind is None else machine.parts(kind)[0]


def test_all_functions_are_there() -> None:
    names = {function.name for functions in FUNCTIONS.values() for function in functions}
    assert len(names) > 50
    assert names >= {
        "zesFrequencySetRange", "zesPowerSetLimitsExt", "zesRasGetStateExp2", "zesPsuGetState",
        "zesSchedulerSetTimesliceMode", "zesDevicePciGetStats", "zesDeviceEnumLeds",
    }  # fmt: skip


@by_noun
def test_handles_that_are_not_ones(noun: str, machine: Recorded) -> None:
    garbage = (ctypes.c_uint64 * 64)()
    foreign = native.object_new("ze_physical_mem_handle_t")
    for function in FUNCTIONS[noun]:
        for handle in (None, ctypes.addressof(garbage), 0x1000, foreign):
            assert call(function, handle) == NULL_HANDLE, function.name
            assert last_error().startswith(function.name)
    native.object_end(foreign)
    assert call(FUNCTIONS[noun][0], foreign) == NULL_HANDLE


@by_noun
def test_handles_of_a_machine_that_is_gone(noun: str, machine: Recorded) -> None:
    stale = {
        function.name: handle
        for function in FUNCTIONS[noun]
        if (handle := handle_for(function, machine)) != machine.device
    }
    machine.close()
    for name, handle in stale.items():
        assert call(REGISTRY.functions[name], handle) == NULL_HANDLE, name


@by_noun
def test_pointers_that_are_null(noun: str, machine: Recorded) -> None:
    for function in FUNCTIONS[noun]:
        handle = handle_for(function, machine)
        for parameter in function.parameters[1:]:
            if parameter.type.is_pointer and not parameter.optional:
                others: dict[str, Any] = {parameter.name: None}
                result = call(function, handle, **others)
                assert result == ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER, function.name
                assert parameter.name in last_error()


@by_noun
@pytest.mark.parametrize("byte", [0x00, 0x41, 0xFF])
def test_memory_that_nobody_initialised(noun: str, machine: Recorded, byte: int) -> None:
    """Structs full of noise are answered, or refused with a result of the specification."""
    for function in FUNCTIONS[noun]:
        noise: dict[str, Any] = {}
        for parameter in function.parameters[1:]:
            if parameter.name == "pCount":
                noise[parameter.name] = (ctypes.c_uint64 * 1)(min(byte, 4))
            elif parameter.type.is_pointer:
                noise[parameter.name] = ctypes.create_string_buffer(4096)
                ctypes.memset(noise[parameter.name], byte, 4096)
        result = call(function, handle_for(function, machine), **noise)
        assert result != ze.ZE_RESULT_ERROR_UNKNOWN, last_error()
