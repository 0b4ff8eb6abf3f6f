"""The registers of a device thread, in sets (docs/internals/debugging.md has their layout).

Sets of the device have the same size for every thread. A thread has more: those whose size depends
on its kernel and its work-group.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from groundstate import ze, zet
from groundstate.compiler.step.values import decode, encode, stored_bytes
from groundstate.driver.api import Failure
from groundstate.driver.capabilities import MAX_GROUP_SIZE
from groundstate.driver.debugging.sessions.device_thread import CONTROL_BYTES, DeviceThread
from groundstate.driver.debugging.sessions.loaded_module import WORD

VALUES, ACTIVE_LANES, CONTROL = 1, 4, 6
"""The numbers that these sets have for Intel's GPUs, too."""
HEADER, POINTERS, PRIVATE = 0x100, 0x101, 0x102
VERSION = 1
READABLE = int(zet.ZET_DEBUG_REGSET_FLAG_READABLE)
WRITABLE = int(zet.ZET_DEBUG_REGSET_FLAG_WRITEABLE)
CONTROL_REGISTER = 4
HEADER_COUNT = 16


class RegisterSet(NamedTuple):
    """What `zet_debug_regset_properties_t` says of a set."""

    type: int
    flags: int
    length: int
    """How many registers it has."""
    size: int
    """Bytes of a register."""


OF_DEVICE = (
    RegisterSet(HEADER, READABLE, HEADER_COUNT, WORD),
    RegisterSet(ACTIVE_LANES, READABLE, 1, MAX_GROUP_SIZE // 8),
    RegisterSet(CONTROL, READABLE | WRITABLE, CONTROL_BYTES // CONTROL_REGISTER, CONTROL_REGISTER),
)


def sets_of(thread: DeviceThread) -> list[RegisterSet]:
    """All sets of a thread."""
    lanes = len(thread.group.items)
    return [
        *OF_DEVICE,
        RegisterSet(POINTERS, READABLE, lanes, WORD),
        RegisterSet(PRIVATE, READABLE, lanes, WORD),
        RegisterSet(VALUES, READABLE | WRITABLE, len(thread.kernel.words), WORD * lanes),
    ]


def set_of(thread: DeviceThread, kind: int, first: int, count: int) -> RegisterSet:
    """A set of a thread that has registers of these numbers."""
    found = next((each for each in sets_of(thread) if each.type == kind), None)
    if found is None:
        raise _invalid(f"there is no register set {kind:#x}")
    if first < 0 or count < 0 or first >= max(found.length, 1) or first + count > found.length:
        raise _invalid(f"register set {kind:#x} has {found.length} registers")
    return found


def read(thread: DeviceThread, kind: int, first: int, count: int) -> bytes:
    """Registers of a set, one after the other."""
    found = set_of(thread, kind, first, count)
    if kind == VALUES:
        return b"".join(_value(thread, number) for number in range(first, first + count))
    return _READERS[kind](thread)[first * found.size : (first + count) * found.size]


def write(thread: DeviceThread, kind: int, first: int, data: bytes) -> None:
    """Changes whole registers of a set."""
    size = set_of(thread, kind, first, 0).size
    count, rest = divmod(len(data), size)
    found = set_of(thread, kind, first, count)
    if rest or not found.flags & WRITABLE:
        raise _invalid(f"register set {kind:#x} cannot be written so")
    if kind == CONTROL:
        thread.control[first * size : first * size + len(data)] = data
        return
    for number in range(count):
        _set_value(thread, first + number, data[number * size : (number + 1) * size])


def _header(thread: DeviceThread) -> bytes:
    group, active = thread.group, thread.active()
    pointer = thread.pointer(active[0]) if active else 0
    words = (
        *(pointer, thread.module.address_of(thread.kernel.first), len(group.items)),
        *(group.subgroup_size, *group.id, *group.size),
        *(group.local, group.local_bytes, thread.kernel.code.private_bytes),
    )
    return struct.pack(f"<{HEADER_COUNT}Q", *words, *(0,) * (HEADER_COUNT - len(words)))


def _active_lanes(thread: DeviceThread) -> bytes:
    mask = sum(1 << each.number for each in thread.active())
    return mask.to_bytes(MAX_GROUP_SIZE // 8, "little")


def _pointers(thread: DeviceThread) -> bytes:
    return b"".join(struct.pack("<Q", thread.pointer(each)) for each in thread.group.items)


def _private(thread: DeviceThread) -> bytes:
    has_any = thread.kernel.code.private_bytes > 0
    starts = (each.private_start if has_any else 0 for each in thread.group.items)
    return b"".join(struct.pack("<Q", each) for each in starts)


_READERS: dict[int, Callable[[DeviceThread], bytes]] = {
    HEADER: _header,
    ACTIVE_LANES: _active_lanes,
    CONTROL: lambda thread: bytes(thread.control),
    POINTERS: _pointers,
    PRIVATE: _private,
}


def _value(thread: DeviceThread, number: int) -> bytes:
    """One word of a value, for each lane."""
    word = thread.kernel.words[number]
    found = bytearray()
    for item in thread.group.items:
        data = encode(word.type, item.values[word.slot])
        found += data[word.offset : word.offset + WORD].ljust(WORD, b"\0")
    return bytes(found)


def _set_value(thread: DeviceThread, number: int, data: bytes) -> None:
    word = thread.kernel.words[number]
    room = -(-stored_bytes(word.type) // WORD) * WORD
    for item in thread.group.items:
        own = bytearray(encode(word.type, item.values[word.slot]).ljust(room, b"\0"))
        own[word.offset : word.offset + WORD] = data[WORD * item.number : WORD * (item.number + 1)]
        item.values[word.slot] = decode(word.type, bytes(own))


def _invalid(sentence: str) -> Failure:
    return Failure(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, sentence)
