"""Print `src/groundstate/pyzes.pyi`: what type checkers and editors know of `groundstate.pyzes`."""

from __future__ import annotations

from collections.abc import Iterator

from registry.generators.python import NOTICE
from registry.load import load
from registry.model import CType, Function, Registry, Struct

# What pyzes has of the core API.
CORE_ENUMS = ("ze_result_t", "ze_device_type_t")
CORE_TYPES = ("ze_bool_t", "ze_device_property_flags_t")
CORE_STRUCTS = ("ze_device_uuid_t", "ze_device_properties_t")
CORE_CONSTANTS = ("ZE_MAX_DEVICE_UUID_SIZE", "ZE_MAX_DEVICE_NAME")

INTRODUCTION = f"""\
{NOTICE}
# ruff: noqa
# fmt: off
import ctypes
import glob as glob
import os as os
import sys as sys
import threading as threading
from ctypes import *
from typing import Any as Any, ClassVar, Dict as Dict, Final

libLoadLock: threading.Lock
gpuLib: ctypes.CDLL

pyzes: Any

def getFunctionPointerList(name: str) -> Any: ...

class _PrintableStructure(ctypes.Structure):
    _fmt_: ClassVar[Dict[str, str]]
"""

DOCUMENTED_NAMES = {
    "zes_process_state_t": """\
    @property
    def pid(self) -> int: ...
    @property
    def command(self) -> bytes: ...
    @property
    def sharedMemSize(self) -> int: ...
    @property
    def engineType(self) -> int: ...
    @property
    def subdeviceId(self) -> int: ...""",
}


def generate() -> Iterator[str]:
    registry = load()
    yield INTRODUCTION
    for constant in registry.constants.values():
        if constant.namespace == "zes" or constant.name in CORE_CONSTANTS:
            yield f"{constant.name}: Final[{type(constant.value).__name__}]"
    for enum in registry.enums.values():
        if enum.namespace == "zes" or enum.name in CORE_ENUMS:
            unsigned = enum.is_flags or enum.name == "zes_engine_group_t"
            yield f"\n{enum.name} = ctypes.{'c_uint32' if unsigned else 'c_int32'}"
            yield from (f"{name}: Final[int]" for name, _ in enum.values)
    yield from _types(registry)
    for struct in registry.structs.values():
        if struct.namespace == "zes" or struct.name in CORE_STRUCTS:
            yield from _struct(struct, registry)
    yield ""
    for function in registry.functions.values():
        if function.namespace == "zes":
            yield _function(function)


def _types(registry: Registry) -> Iterator[str]:
    yield ""
    for typedef in registry.typedefs.values():
        if typedef.namespace == "zes" or typedef.name in CORE_TYPES:
            yield f"{typedef.name} = ctypes.c_{typedef.type.removesuffix('_t')}"
    for handle in registry.handles.values():
        if handle.namespace == "zes":
            yield f"\nclass {handle.name}(ctypes.c_void_p): ..."


def _struct(struct: Struct, registry: Registry) -> Iterator[str]:
    yield f"\nclass {struct.name}(_PrintableStructure):"
    for field in struct.fields:
        yield f"    {field.name}: {_field(field.type, registry)}"
    if struct.name in DOCUMENTED_NAMES:
        yield DOCUMENTED_NAMES[struct.name]


def _field(type_: CType, registry: Registry) -> str:
    if type_.is_pointer:
        return "Any"  # an address, or what ctypes.cast and ctypes.pointer return
    if type_.length is not None:
        return "bytes" if type_.base == "char" else "ctypes.Array[Any]"
    struct = registry.struct_of(type_.base)
    return struct.name if struct else "float" if type_.base in ("float", "double") else "int"


def _function(function: Function) -> str:
    parameters = ", ".join(f"{parameter.name}: Any" for parameter in function.parameters)
    return f"def {function.name}({parameters}) -> int: ..."
