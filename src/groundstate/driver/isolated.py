"""Extension modules for an isolated interpreter: one that is not the only one in its process.

A process that runs Python already may call the driver from any thread, under any lock, and wait
for it while it holds the lock of its interpreter. So the driver has an interpreter of its own
there, in a second copy of libpython (native/python/isolated_library.c). An extension module names
no libpython: it takes what the process has. Here each one is loaded from a copy that needs the
driver's libpython, and finds everything there first.

This file runs before anything is imported that is not built into the interpreter.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ExtensionFileLoader, ModuleSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

DRIVER_SONAME = b"__gmon_start__"
"""The soname of the driver's copy of libpython: a string that every module has."""

SEGMENT_LOAD, SEGMENT_DYNAMIC = 1, 2
TAG_NULL, TAG_NEEDED, TAG_STRINGS, TAG_STRINGS_SIZE = 0, 1, 5, 10
ENTRY_BYTES = 16


def _number(data: bytearray, offset: int, size: int = 8) -> int:
    return int.from_bytes(data[offset : offset + size], "little")


def _segments(elf: bytearray) -> list[tuple[int, int, int, int]]:
    """Kind, place in the file, address and size of each segment."""
    first, step, count = _number(elf, 32), _number(elf, 54, 2), _number(elf, 56, 2)
    heads = [first + step * index for index in range(count)]
    return [
        (_number(elf, at, 4), _number(elf, at + 8), _number(elf, at + 16), _number(elf, at + 32))
        for at in heads
    ]


def needing_libpython(elf: bytearray, soname: bytes = DRIVER_SONAME) -> bytearray:
    """A module that needs one more library. There must be room for it, as most linkers leave."""
    segments = _segments(elf)
    dynamic = next(each for each in segments if each[0] == SEGMENT_DYNAMIC)
    places = range(dynamic[1], dynamic[1] + dynamic[3], ENTRY_BYTES)
    tags = [_number(elf, at) for at in places]
    values = {tag: _number(elf, at + 8) for tag, at in zip(tags, places, strict=True)}
    strings = next(
        values[TAG_STRINGS] - address + offset
        for kind, offset, address, size in segments
        if kind == SEGMENT_LOAD and address <= values[TAG_STRINGS] < address + size
    )
    name = elf.find(b"\0" + soname + b"\0", strings, strings + values[TAG_STRINGS_SIZE])
    free = tags.index(TAG_NULL)
    if name < 0 or free + 1 >= len(tags):
        raise ImportError("the module has no room for the name of a library")
    entry = TAG_NEEDED.to_bytes(8, "little") + (name + 1 - strings).to_bytes(8, "little")
    elf[places[free] : places[free] + ENTRY_BYTES] = entry
    return elf


_loaded: list[str] = []
_soname = [DRIVER_SONAME]


def _create_module(loader: ExtensionFileLoader, spec: ModuleSpec) -> ModuleType:
    """Takes the place of ExtensionFileLoader.create_module."""
    import _imp

    origin = spec.origin
    assert origin is not None
    with open(origin, "rb") as file:
        copy = needing_libpython(bytearray(file.read()), _soname[-1])
    memory = os.memfd_create(spec.name)  # stays open: a debugger reads the module by its name
    with open(memory, "wb", closefd=False) as file:
        file.write(copy)
    # The system's loader knows a library by the text of its path. Should the program close files
    # that it does not know, their numbers are used again, so each path is written differently.
    spec.origin = f"/proc/{os.getpid()}/fd{'/.' * len(_loaded)}/{memory}"
    _loaded.append(spec.name)
    try:
        return _imp.create_dynamic(spec)
    finally:
        spec.origin = origin


def prepare(soname: bytes = DRIVER_SONAME) -> None:
    """Makes extension modules safe to import."""
    _soname.append(soname)
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_DEEPBIND)
    ExtensionFileLoader.create_module = _create_module  # type: ignore[method-assign, assignment]
