"""Specialization constants: the caller gives pointers, and the module says how large each value is.

Only the declarations of the SPIR-V module are looked at, and only when constants are given.
"""

from __future__ import annotations

import ctypes
import sys

from groundstate import ze
from groundstate.driver.api import pointer_in, read_pointer, read_u32

_MAGIC = 0x07230203
_HEADER_WORDS = 5

_TYPE_BOOL, _TYPE_INT, _TYPE_FLOAT = 20, 21, 22
_SPEC_TRUE, _SPEC_FALSE, _SPEC_CONSTANT = 48, 49, 50
_FUNCTION, _DECORATE = 54, 71
_SPEC_ID = 1


def sizes(spirv: bytes) -> dict[int, int]:
    """The bytes of each specialization constant of a module, by its number.

    Nothing is checked here: what is not SPIR-V has no constants, and the compiler says why.
    """
    words = memoryview(spirv[: len(spirv) & ~3]).cast("I")
    if len(words) < _HEADER_WORDS or words[0] not in (_MAGIC, _swapped(_MAGIC)):
        return {}
    if words[0] != _MAGIC:
        words = memoryview(b"".join(_swapped(word).to_bytes(4, sys.byteorder) for word in words))
        words = words.cast("I")
    numbers: dict[int, int] = {}
    widths: dict[int, int] = {}
    found: dict[int, int] = {}
    place = _HEADER_WORDS
    while place < len(words):
        count, opcode = words[place] >> 16, words[place] & 0xFFFF
        operands = words[place + 1 : place + count]
        if count == 0 or len(operands) != count - 1 or opcode == _FUNCTION:
            break
        if opcode == _DECORATE and count == 4 and operands[1] == _SPEC_ID:
            numbers[operands[0]] = operands[2]
        elif opcode == _TYPE_BOOL and count >= 2:
            widths[operands[0]] = 1
        elif opcode in (_TYPE_INT, _TYPE_FLOAT) and count >= 3:
            widths[operands[0]] = operands[1] // 8
        elif opcode in (_SPEC_TRUE, _SPEC_FALSE, _SPEC_CONSTANT) and count >= 3:
            number = numbers.get(operands[1])
            if number is not None and operands[0] in widths:
                found[number] = widths[operands[0]]
        place += count
    return found


def _swapped(word: int) -> int:
    return int.from_bytes(word.to_bytes(4, "little"), "big")


def read(constants: int, spirv: bytes) -> dict[int, bytes]:
    """The values of a `ze_module_constants_t`, less those of numbers that the module lacks."""
    if not constants:
        return {}
    given = ze.ze_module_constants_t.from_address(constants)
    ids, values = pointer_in(given, "pConstantIds"), pointer_in(given, "pConstantValues")
    if not ids or not values:
        return {}
    known = sizes(spirv)
    result: dict[int, bytes] = {}
    for index in range(given.numConstants):
        number = read_u32(ids + 4 * index)
        value = read_pointer(values + 8 * index)
        if number in known and value:
            result[number] = ctypes.string_at(value, known[number])
    return result
