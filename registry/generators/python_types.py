"""Print `src/groundstate/ze.pyi` and its like: what type checkers and editors know of the API."""

from __future__ import annotations

from collections.abc import Iterator
from keyword import iskeyword

from registry.generators.python import NOTICE, field_type
from registry.load import load
from registry.model import CType, Enum, Function, Registry, Struct, Table

INTRODUCTION = """\
{notice}
# ruff: noqa
# fmt: off
import ctypes
from enum import IntEnum, IntFlag
from typing import Any, Final

from groundstate._raw import Namespace, Structure, TypedStructure, Union
{imports}
NAMESPACE: Namespace
"""

VERSION_HELPERS = """\
def ZE_MAKE_VERSION(major: int, minor: int) -> int: ...
def ZE_MAJOR_VERSION(version: int) -> int: ...
def ZE_MINOR_VERSION(version: int) -> int: ...
def ZE_BIT(index: int) -> int: ...
"""

NUMBERS = {
    "float": "float",
    "double": "float",
    **dict.fromkeys(("int", "unsigned int", "size_t"), "int"),
    **{f"{sign}int{bits}_t": "int" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


def generate(namespace: str) -> Iterator[str]:
    registry = load()
    imports = "" if namespace == "ze" else "from groundstate import ze\n"
    yield INTRODUCTION.format(notice=NOTICE, imports=imports)
    if namespace == "ze":
        yield VERSION_HELPERS
    for constant in registry.constants.values():
        if constant.namespace == namespace:
            kind = "str" if isinstance(constant.value, str) else "int"
            yield f"{constant.name}: Final[{kind}]"
    for enum in registry.enums.values():
        if enum.namespace == namespace:
            yield from _enum(enum)
    yield from _types(namespace, registry)
    for struct in registry.structs.values():
        if struct.namespace == namespace:
            yield from _struct(struct, registry)
    for table in registry.tables.values():
        if table.namespace == namespace:
            yield from _table(table)
    for function in registry.functions.values():
        if function.namespace == namespace:
            yield _function(function, registry)
    for table in registry.tables.values():
        if table.namespace == namespace and table.getter:
            yield f"def {table.getter}(version: int, pDdiTable: Any, /) -> int: ..."


def _enum(enum: Enum) -> Iterator[str]:
    yield f"\nclass {enum.name}({'IntFlag' if enum.is_flags else 'IntEnum'}):"
    for name, value in enum.known:
        yield f"    {name} = 0x{value:x}"
    for name, _ in enum.known:
        yield f"{name}: Final = {enum.name}.{name}"
    for name, _ in enum.values[len(enum.known) :]:
        yield f"{name}: Final[int]"


def _types(namespace: str, registry: Registry) -> Iterator[str]:
    yield ""
    for handle in registry.handles.values():
        if handle.namespace == namespace:
            yield f"{handle.name} = ctypes.c_void_p"
    for typedef in registry.typedefs.values():
        if typedef.namespace == namespace:
            struct = registry.struct_of(typedef.name)
            plain = f"ctypes.c_{typedef.type.removesuffix('_t')}"
            yield f"{typedef.name} = {_qualified(struct, namespace) if struct else plain}"
    for callback in registry.callbacks.values():
        if callback.namespace == namespace:
            yield f"{callback.name}: Any"


def _struct(struct: Struct, registry: Registry) -> Iterator[str]:
    base = "Union" if struct.kind == "union" else "TypedStructure" if struct.stype else "Structure"
    yield f"\nclass {struct.name}({base}):"
    for field in struct.fields:
        name = f"{field.name}_" if iskeyword(field.name) else field.name
        type_ = field_type(struct, field)
        yield f"    {name}: {_field_type(type_, struct.namespace, registry)}"


def _field_type(type_: CType, namespace: str, registry: Registry) -> str:
    if type_.text == "const char *":
        return "bytes | None"
    if type_.is_pointer or type_.base in registry.handles:
        return "int | None"
    if type_.base in registry.callbacks:
        return "Any"
    if type_.length is not None:
        return "bytes" if type_.base == "char" else "ctypes.Array[Any]"
    struct = registry.struct_of(type_.base)
    return _qualified(struct, namespace) if struct else NUMBERS.get(type_.base, "int")


def _qualified(struct: Struct, namespace: str) -> str:
    return struct.name if struct.namespace == namespace else f"{struct.namespace}.{struct.name}"


def _table(table: Table) -> Iterator[str]:
    yield f"\nclass {table.name}(Structure):"
    for field in table.fields:
        if field.type is None or field.type.endswith("*"):
            yield f"    {field.name}: int | None"
        else:
            yield f"    {field.name}: {field.type if 'dditable' in field.type else 'int'}"


def _function(function: Function, registry: Registry) -> str:
    parameters = [f"{p.name}: {_parameter(p.type, registry)}" for p in function.parameters]
    positional = ", ".join([*parameters, "/"] if parameters else [])
    returns = "int | None" if function.returns in registry.handles else "int"
    return f"def {function.name}({positional}) -> {returns}: ..."


def _parameter(type_: CType, registry: Registry) -> str:
    is_struct = registry.struct_of(type_.base) is not None
    if type_.is_pointer or type_.base in registry.handles or type_.base in registry.callbacks:
        return "Any"
    return type_.base if is_struct else NUMBERS.get(type_.base, "int")
