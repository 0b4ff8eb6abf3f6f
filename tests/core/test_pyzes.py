"""`groundstate.pyzes` against the real `pyzes` package: names, values, layouts, parameters, prints.

The real package is imported from the library that a program would have in the loader's place.
"""

from __future__ import annotations

import ast
import ctypes
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import groundstate as gs
from groundstate import _pyzes, knobs
from groundstate import pyzes as ours
from registry.load import load

REGISTRY = load()


@pytest.fixture(scope="module")
def real() -> ModuleType:
    """The real package; it opens a loader at one place only, here our library."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ctypes, "CDLL", lambda _path: ours.gpuLib)
        return importlib.import_module("pyzes")


def public(module: ModuleType) -> dict[str, Any]:
    """What a module offers, without the parts of ctypes that somebody else happened to import."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not (isinstance(value, ModuleType) and value.__name__.startswith("ctypes."))
    }


def is_struct(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, ctypes.Structure)


def structs_of(module: ModuleType) -> list[str]:
    return [name for name, value in public(module).items() if is_struct(value) and "ze" in name]


def functions_of(module: ModuleType) -> list[str]:
    return [name for name in public(module) if name.startswith("zes") and name[3].isupper()]


def described(kind: Any) -> Any:
    """A ctypes type in a form that is equal for types of the same names in two modules."""
    if hasattr(kind, "_length_"):
        return (kind._length_, described(kind._type_))
    if isinstance(getattr(kind, "_type_", None), type):
        return ("pointer", described(kind._type_))
    return kind.__name__


def test_every_public_name_is_there(real: ModuleType) -> None:
    assert len(public(real)) > 300
    assert set(public(real)) - set(public(ours)) == set()


def test_constants_are_equal_plain_numbers(real: ModuleType) -> None:
    constants = {name: value for name, value in public(real).items() if isinstance(value, int)}
    assert len(constants) > 150
    assert {name: getattr(ours, name) for name in constants} == constants
    assert {type(getattr(ours, name)) for name in constants} == {int}


def test_types_are_the_same(real: ModuleType) -> None:
    kinds = {name: value for name, value in public(real).items() if isinstance(value, type)}
    plain = {name: kind for name, kind in kinds.items() if kind.__module__ != "pyzes"}
    assert {name: getattr(ours, name) for name in plain} == plain
    handles = [name for name, kind in kinds.items() if kind.__base__ is ctypes.c_void_p]
    assert len(handles) == 7
    assert {getattr(ours, name).__base__ for name in handles} == {ctypes.c_void_p}


def test_structs_have_same_fields_and_offsets(real: ModuleType) -> None:
    assert len(structs_of(real)) > 25
    for name in structs_of(real):
        theirs, mine = getattr(real, name), getattr(ours, name)
        assert ctypes.sizeof(mine) == ctypes.sizeof(theirs)
        fields = [(field, described(kind)) for field, kind in theirs._fields_]
        assert [(field, described(kind)) for field, kind in mine._fields_] == fields
        for field, _ in fields:
            assert getattr(mine, field).offset == getattr(theirs, field).offset
            assert getattr(mine, field).size == getattr(theirs, field).size


def fill(struct: ctypes.Structure) -> None:
    """Small different numbers in every field that is a number."""
    for number, (field, kind, *_) in enumerate(struct._fields_, start=3):
        value = getattr(struct, field)
        if isinstance(value, ctypes.Structure):
            fill(value)
        elif field == "pNext" or isinstance(value, int | float):
            setattr(struct, field, 1.25 * number if kind is ctypes.c_double else number)


def test_structs_print_alike(real: ModuleType) -> None:
    for name in structs_of(real):
        if "uuid" in name or name == "zes_power_ext_properties_t":
            continue  # the package prints the addresses of arrays and pointers
        theirs, mine = getattr(real, name)(), getattr(ours, name)()
        fill(theirs)
        fill(mine)
        if "uuid" not in str(theirs):
            assert str(mine) == str(theirs)


def test_program_struct_prints_in_its_own_format() -> None:
    class Clock(ours._PrintableStructure):
        _fields_ = [("now", ctypes.c_uint32), ("limit", ctypes.c_uint32)]
        _fmt_ = {"<default>": "%d MHz", "limit": "%X"}

    assert str(Clock(100, 255)) == "Clock(now: 100 MHz, limit: FF)"
    uuid = ours.zes_uuid_t((ctypes.c_ubyte * 16)(*range(16)))
    assert str(uuid) == f"zes_uuid_t(id: {list(range(16))})"


class Recorder:
    """Stands for a library, and notes how its functions are declared when they are called."""

    def __init__(self) -> None:
        self.argtypes: list[Any] = []
        self.restype: Any = None

    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self, *arguments: Any) -> int:
        return 0


def declaration(module: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The parameters of a function of pyzes by name and ctypes type, and its result."""
    recorder = Recorder()
    monkeypatch.setattr(module, "gpuLib", recorder)
    monkeypatch.setattr(module, "_getFunctionPointerList", {})
    function = getattr(module, name)
    parameters = list(inspect.signature(function).parameters)
    function(*[None] * len(parameters))
    kinds = [described(kind) for kind in recorder.argtypes]
    return list(zip(parameters, kinds, strict=True)), recorder.restype


def test_functions_take_the_same_parameters(
    real: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(functions_of(real)) == 37
    for name in functions_of(real):
        parameters, result = declaration(real, name, monkeypatch)
        ours_by_name = [(each, described(kind)) for each, kind in _pyzes.parameters_of(name)]
        assert ours_by_name == parameters
        assert result is _pyzes.named_type("ze_result_t")


def test_every_function_of_the_api_is_there() -> None:
    names = [each.name for each in REGISTRY.functions.values() if each.namespace == "zes"]
    assert len(names) > 150
    assert sorted(functions_of(ours)) == sorted(names)
    for name in names:
        function = REGISTRY.functions[name]
        parameters = [parameter.name for parameter in function.parameters]
        assert list(inspect.signature(getattr(ours, name)).parameters) == parameters


def test_stub_file_has_names_of_module() -> None:
    source = (Path(ours.__file__).parent / "pyzes.pyi").read_text()
    stub: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            stub.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            stub.add(node.target.id)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            stub.add(node.targets[0].id)
    module = {name for name in public(ours) if name not in public(ctypes)}
    assert module - stub == {"glob", "os", "sys", "threading", "Any", "Dict"}
    assert stub - module == {"_PrintableStructure"}


def test_a_star_import_brings_what_programs_use() -> None:
    names: dict[str, Any] = {}
    exec("from groundstate.pyzes import *", names)
    assert {"zesInit", "ZE_RESULT_SUCCESS", "c_uint32", "byref", "os", "sys"} <= set(names)
    assert names["zes_mem_state_t"] is ours.zes_mem_state_t


def test_arguments_are_checked_as_python_does() -> None:
    with pytest.raises(TypeError, match="phDrivers"):
        ours.zesDriverGet(None)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="pCount"):
        ours.zesDriverGet(count=None, phDrivers=None)  # type: ignore[call-arg]
    with pytest.raises(ctypes.ArgumentError):
        ours.zesDriverGet("one", None)


def test_the_documented_names_of_a_process() -> None:
    """The package's documentation has other names for these fields than the package."""
    state = ours.zes_process_state_t(processId=1, memSize=5, sharedSize=6, engines=7)
    assert (state.pid, state.memSize, state.sharedMemSize, state.engineType) == (1, 5, 6, 7)
    assert state.subdeviceId == 0
    assert state.command == Path("/proc/1/comm").read_bytes().rstrip()
    assert ours.zes_process_state_t(processId=2**31 - 1).command == b""


def test_a_chain_of_structs_is_a_cast_pointer() -> None:
    properties, extension = ours.zes_device_properties_t(), ours.zes_device_ext_properties_t()
    extension.stype = ours.ZES_STRUCTURE_TYPE_DEVICE_EXT_PROPERTIES
    properties.pNext = ours.cast(ours.pointer(extension), ours.c_void_p)
    assert properties.pNext == ctypes.addressof(extension)
    power, limit = ours.zes_power_ext_properties_t(), ours.zes_power_limit_ext_desc_t(limit=7)
    power.defaultLimit = ours.pointer(limit)
    assert power.defaultLimit.contents.limit == 7


def states_of_this_process(device: Any) -> list[Any]:
    """What the device says of the process that runs the tests."""
    count = ours.c_uint32(0)
    assert ours.zesDeviceProcessesGetState(device, ours.byref(count), None) == 0
    states = (ours.zes_process_state_t * (count.value + 8))()
    count.value = len(states)
    assert ours.zesDeviceProcessesGetState(device, ours.byref(count), states) == 0
    return [state for state in states[: count.value] if state.pid == os.getpid()]


def test_a_process_that_uses_the_device_is_seen(device: int) -> None:
    assert ours.zesInit(0) == ours.ZE_RESULT_SUCCESS
    with gs.Context(gs.devices()[0]) as context, context.alloc_device(1 << 20):
        (state,) = states_of_this_process(ours.zes_device_handle_t(device))
    assert state.memSize >= 1 << 20
    assert state.command == Path("/proc/self/comm").read_bytes().rstrip()


ONE_ERROR = """
import groundstate.pyzes as pyzes
for _ in range(2):
    assert pyzes.zesDeviceGetProperties(None, None) == pyzes.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
"""


@pytest.mark.parametrize("switch", ["", "0"])
def test_an_error_is_printed_once_and_returned(switch: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ONE_ERROR],
        env={**os.environ, knobs.PYZES_ERRORS.name: switch},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, "")
    lines = done.stderr.splitlines()
    assert len(lines) == (0 if switch else 1), done.stderr
    assert all(
        line.startswith(
            "pyzes: zesDeviceGetProperties: ZE_RESULT_ERROR_INVALID_NULL_HANDLE: hDevice "
        )
        for line in lines
    )


def test_the_python_of_the_page_runs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "pyzes.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    assert len(blocks) == 2
    command = [sys.executable, "-c", "\n".join(blocks)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("b'")
