"""Calls every function of a library and compares with what another library noted: both by path.

python -m tests.loader.call_all LIBRARY NOTED
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from registry.load import load
from registry.model import CType, Function, Registry

ROOM = 4096
SIZES = {"uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "unsigned int": 4, "uint64_t": 8, "size_t": 8}
UNREADABLE = 0x0000_7000_DEAD_0000


class Value:
    """An argument, and what should be noted of it."""

    def __init__(self, kind: CType, place: int, memory: int, registry: Registry) -> None:
        struct = registry.struct_of(kind.base)
        self.bytes: bytes | None = None
        if kind.is_pointer or registry.kind_of(kind.base) or kind.base in registry.callbacks:
            # Structs are read for a hook, so they must be there. Other pointers lead nowhere.
            self.word = memory if struct is not None else UNREADABLE + place * 8
            self.passed: Any = ctypes.c_void_p(self.word)
        elif struct is not None:
            self.bytes = bytes((place * 16 + each) % 255 + 1 for each in range(struct.size))
            self.word = 0
            self.passed = _by_value(struct.size, struct.align).from_buffer_copy(self.bytes)
        elif kind.base == "double":
            real = ctypes.c_double(-1.5e300 / (place + 1))
            self.word = int.from_bytes(bytes(real), "little")
            self.passed = real
        else:
            size = _size(kind.base, registry)
            self.word = (0xF1E2_D3C4_B5A6_9788 + place) & ((1 << size * 8) - 1)
            self.passed = {1: ctypes.c_uint8, 4: ctypes.c_uint32, 8: ctypes.c_uint64}[size](
                self.word
            )


def _by_value(size: int, align: int) -> Any:
    word = {1: ctypes.c_uint8, 4: ctypes.c_uint32, 8: ctypes.c_uint64}[align]
    return type("ByValue", (ctypes.Structure,), {"_fields_": [("words", word * (size // align))]})


def _size(name: str, registry: Registry) -> int:
    if name in registry.enums:
        return 4
    while name in registry.typedefs:
        name = registry.typedefs[name].type
    return SIZES[name]


def check(function: Function, number: int, library: Any, noted: Any, registry: Registry) -> None:
    """Calls one function and compares its arguments and its answer."""
    memory = ctypes.create_string_buffer(ROOM)
    address = ctypes.addressof(memory)
    values = [
        Value(parameter.type, place, address, registry)
        for place, parameter in enumerate(function.parameters)
    ]
    call = getattr(library, function.name)
    is_handle = registry.kind_of(function.returns) is not None
    call.restype = ctypes.c_void_p if is_handle else ctypes.c_uint32
    answer = call(*(value.passed for value in values))
    seen = (ctypes.c_uint64 * 16).in_dll(noted, "seen")
    structs = ((ctypes.c_ubyte * ROOM) * 16).in_dll(noted, "seen_struct")
    assert ctypes.c_uint64.in_dll(noted, "seen_function").value == number, function.name
    assert answer == 0x71230000 + number, function.name
    for place, (parameter, value) in enumerate(zip(function.parameters, values, strict=True)):
        name = f"{parameter.name} of {function.name}"
        if value.bytes is not None:
            assert bytes(structs[place][: len(value.bytes)]) == value.bytes, name
        else:
            assert seen[place] == value.word, f"{name}: {seen[place]:x} is not {value.word:x}"


def main() -> None:
    library, noted = (ctypes.CDLL(path) for path in sys.argv[1:])
    registry = load()
    for number, function in enumerate(registry.functions.values()):
        if (
            function.name != "zeDriverGetExtensionFunctionAddress"
        ):  # which the library answers itself
            check(function, number, library, noted, registry)
    print(f"{len(registry.functions)} functions")


if __name__ == "__main__":
    main()
