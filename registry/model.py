"""The API's facts as frozen dataclasses, each field with an example beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum as PythonEnum

NAMESPACES = ("ze", "zes", "zet", "zer")

Version = tuple[int, int]


def parse_version(text: str) -> Version:
    """Turn "1.10" into (1, 10), which compares as versions do."""
    major, minor = text.split(".")
    return int(major), int(minor)


class Direction(PythonEnum):
    """Who writes through a parameter or a field."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"


@dataclass(frozen=True)
class CType:
    """A C type, taken apart."""

    text: str  # "const ze_context_desc_t *"
    base: str  # "ze_context_desc_t"
    depth: int  # 1, the number of pointers
    const: bool  # True
    length: int | None  # 256 for "char[256]", None for what is no array

    _PATTERN = re.compile(r"(const )?([\w ]+?)\s*(\**)(?:\[(\d+)\])?")

    @classmethod
    def parse(cls, text: str) -> CType:
        match = cls._PATTERN.fullmatch(text)
        if match is None:
            raise ValueError(f"not a C type this registry understands: {text!r}")
        const, base, stars, length = match.groups()
        return cls(text, base, len(stars), const is not None, int(length) if length else None)

    @property
    def is_pointer(self) -> bool:
        return self.depth > 0

    def declare(self, name: str) -> str:
        """Write the declaration of `name` with this type: "char name[256]"."""
        if self.length is not None:
            element = self.text[: self.text.index("[")]
            return f"{element} {name}[{self.length}]"
        separator = "" if self.text.endswith("*") else " "
        return f"{self.text}{separator}{name}"


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function."""

    name: str  # "phWaitEvents"
    type: CType  # ze_event_handle_t *
    direction: Direction  # Direction.IN
    optional: bool  # True: null (or zero) is a legal value
    count: str | None  # "numWaitEvents", how many elements the pointer leads to
    release: bool  # True for the handle that a destroy function ends
    must_be_zero: bool  # True for what only a later version of the API may use


@dataclass(frozen=True)
class Function:
    """One function of the API."""

    name: str  # "zeMemAllocDevice"
    namespace: str  # "ze"
    noun: str  # "zeMem", the class it belongs to
    region: str  # "memory", the chapter it belongs to
    since: Version  # (1, 0)
    returns: str  # "ze_result_t"
    failure: str | None  # "UINT32_MAX", what it returns on failure if that is no ze_result_t
    parameters: tuple[Parameter, ...]
    errors: tuple[tuple[str, tuple[str, ...]], ...]  # (("ZE_RESULT_ERROR_…", ("0 == size",)),)

    @property
    def pointer_type(self) -> str:
        """The typedef of a pointer to it: "ze_pfnMemAllocDevice_t"."""
        return f"{self.namespace}_pfn{self.name[len(self.namespace) :]}_t"

    def names_error(self, result: str) -> bool:
        return any(name == result for name, _ in self.errors)


@dataclass(frozen=True)
class Field:
    """One member of a struct or union."""

    name: str  # "pInputModule"
    type: CType  # const uint8_t *
    offset: int  # 32, in bytes, where pointers have 64 bits
    direction: Direction | None  # Direction.IN, or None where nothing is said
    optional: bool  # False
    count: str | None  # "inputSize"


@dataclass(frozen=True)
class Struct:
    """A struct or a union."""

    name: str  # "ze_module_desc_t"
    namespace: str  # "ze"
    kind: str  # "struct" or "union"
    size: int  # 56
    align: int  # 8
    since: Version | None  # (1, 0), or None for the parameter structs of tracing
    base: str | None  # "ze_base_desc_t"
    stype: str | None  # "ZE_STRUCTURE_TYPE_MODULE_DESC"
    extends: tuple[str, ...]  # ("ze_device_properties_t",), the structs (or functions) it chains to
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Enum:
    """An enumeration; flags enumerations are called ..._flag_t."""

    name: str  # "ze_init_flag_t"
    namespace: str  # "ze"
    since: Version  # (1, 0)
    values: tuple[tuple[str, int], ...]  # (("ZE_INIT_FLAG_GPU_ONLY", 1), …)

    @property
    def is_flags(self) -> bool:
        return self.name.endswith("flag_t")

    @property
    def known(self) -> tuple[tuple[str, int], ...]:
        """The values a caller may use, without the one that only fixes the size of the type."""
        return tuple((n, v) for n, v in self.values if not n.endswith("_FORCE_UINT32"))

    @property
    def mask(self) -> int:
        """All known bits of a flags enumeration."""
        mask = 0
        for _, value in self.known:
            mask |= value
        return mask


@dataclass(frozen=True)
class Handle:
    """A handle type."""

    name: str  # "zes_device_handle_t"
    namespace: str  # "zes"
    alias_of: str | None  # "ze_device_handle_t", or None for a kind of its own

    @property
    def kind(self) -> str:
        """The name of its kind: "DEVICE", and "ZES_SCHED" outside the core namespace."""
        stem = self.name.removesuffix("_handle_t")
        return stem.removeprefix("ze_").upper()


@dataclass(frozen=True)
class Typedef:
    """Another name for a type."""

    name: str  # "ze_init_flags_t"
    namespace: str  # "ze"
    type: str  # "uint32_t"


@dataclass(frozen=True)
class Callback:
    """A pointer to a function that the program provides; all of them return nothing."""

    name: str  # "ze_host_function_callback_t"
    namespace: str  # "ze"
    parameters: tuple[CType, ...]  # (void *,)


@dataclass(frozen=True)
class TableField:
    """One member of a dispatch table."""

    name: str  # "pfnInit"
    offset: int  # 0
    function: str | None  # "zeInit", or None in a table of tables
    type: str | None  # "ze_global_dditable_t *", or None for a function
    since: Version | None  # (1, 0): a table asked for by an older version ends before this field


@dataclass(frozen=True)
class Table:
    """A dispatch table."""

    name: str  # "ze_global_dditable_t"
    namespace: str  # "ze"
    size: int  # 16
    getter: str | None  # "zeGetGlobalProcAddrTable", or None for a table of tables
    fields: tuple[TableField, ...]


@dataclass(frozen=True)
class Constant:
    """A macro with a value."""

    name: str  # "ZE_MAX_DEVICE_NAME"
    namespace: str  # "ze"
    value: int | str  # 256


@dataclass(frozen=True)
class Registry:
    """Everything the API consists of, in the order of the specification."""

    version: str  # "1.17.24"
    functions: dict[str, Function]
    structs: dict[str, Struct]
    enums: dict[str, Enum]
    handles: dict[str, Handle]
    typedefs: dict[str, Typedef]
    callbacks: dict[str, Callback]
    tables: dict[str, Table]
    constants: dict[str, Constant]

    def kind_of(self, type_name: str) -> str | None:
        """The kind of object that a handle type stands for, or None if it is no handle type."""
        handle = self.handles.get(type_name)
        while handle is not None and handle.alias_of is not None:
            handle = self.handles[handle.alias_of]
        return handle.kind if handle else None

    def enum_of(self, type_name: str) -> Enum | None:
        """The enumeration whose values a type holds: of "ze_init_flags_t", "ze_init_flag_t"."""
        if type_name in self.enums:
            return self.enums[type_name]
        if type_name in self.typedefs:
            plain = type_name.replace("_packed", "")
            for candidate in (plain, plain.removesuffix("flags_t") + "flag_t"):
                if candidate in self.enums:
                    return self.enums[candidate]
        return None

    def struct_of(self, type_name: str) -> Struct | None:
        """The struct behind a type name, looking through typedefs."""
        while type_name in self.typedefs:
            type_name = self.typedefs[type_name].type
        return self.structs.get(type_name)
