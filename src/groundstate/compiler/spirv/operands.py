"""Which words of an instruction are ids."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence

from groundstate.compiler.spirv import types as t
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.grammar import ENUMERATIONS
from groundstate.compiler.spirv.instructions import Operand, Row, enumeration, is_bits, opencl_rows
from groundstate.compiler.spirv.module import Instruction, Module
from groundstate.compiler.spirv.opcodes import MemoryAccess, Op
from groundstate.compiler.spirv.strings import read_string

OPENCL_STD = "OpenCL.std"


def ids_of(module: Module, instruction: Instruction, row: Row) -> tuple[int, ...]:
    """The ids that an instruction other than OpSwitch uses, without its type and its result.

    Raises `InvalidModule` where words are missing or left over.
    """
    operands = instruction.operands
    if instruction.opcode == Op.ExtInst:
        return extension_ids(module, operands)
    if row.id_positions is not None:
        ids = [operands[at] for at in row.id_positions if at < len(operands)]
        return (*ids, *operands[row.all_ids_from :])
    if row.memory_at is not None and has_plain_memory(operands, row.memory_at):
        return operands[: row.memory_at]
    return tuple(word for kind, word in walk(row.operands, operands) if kind == "id")


def has_plain_memory(operands: tuple[int, ...], at: int) -> bool:
    """Whether what is said about memory is at most that it is aligned, volatile or nontemporal."""
    extra = len(operands) - at
    if extra == 0:
        return True
    if extra < 0 or operands[at] > 7:
        return False
    return extra == (2 if operands[at] & MemoryAccess.Aligned else 1)


def extension_ids(module: Module, operands: tuple[int, ...]) -> tuple[int, ...]:
    """The ids that OpExtInst uses; of sets other than OpenCL.std none are known."""
    name = module.ext_imports.get(operands[0])
    if name is None:
        raise InvalidModule(f"%{operands[0]} is not a set of extended instructions")
    if name != OPENCL_STD:
        return ()
    row = opencl_rows().get(operands[1])
    if row is None:
        raise InvalidModule(f"{OPENCL_STD} has no instruction {operands[1]}")
    rest = operands[2:]
    if len(rest) < row.fewest or (row.most is not None and len(rest) > row.most):
        raise InvalidModule(f"{row.name} does not take {len(rest)} operands")
    ids = [rest[at] for at in row.id_positions or () if at < len(rest)]
    return (*ids, *rest[row.all_ids_from :])


def switch_cases(
    module: Module, operands: tuple[int, ...], value_types: Mapping[int, int]
) -> Iterator[tuple[int, int]]:
    """The numbers and labels of OpSwitch; a number takes as many words as the selector does.

    `value_types` has the id of the type of each value that the function defines.
    """
    selector = operands[0]
    constant = module.constants.get(selector)
    kind = constant.type if constant else module.types.get(value_types.get(selector, 0))
    if not isinstance(kind, t.Int):
        raise InvalidModule("the selector is not an integer")
    width = (kind.width + 31) // 32
    if (len(operands) - 2) % (width + 1):
        raise InvalidModule("the cases and their labels do not pair up")
    for at in range(2, len(operands), width + 1):
        number = sum(operands[at + i] << 32 * i for i in range(width)) & ((1 << kind.width) - 1)
        yield number, operands[at + width]


def walk(kinds: Sequence[Operand], words: Sequence[int]) -> Iterator[tuple[str, int]]:
    """The words of operands, each with its kind ("id" among them).

    A bit of an enumeration such as MemoryAccess brings operands of its own, behind it.
    """
    at = 0
    for kind in kinds:
        if kind.repeated:
            while at < len(words):
                at = yield from _walk_one(kind.kind, words, at)
        elif at < len(words):
            at = yield from _walk_one(kind.kind, words, at)
        elif not kind.optional:
            raise InvalidModule("an operand is missing")
    if at < len(words):
        raise InvalidModule("it has too many operands")


PAIRS = {
    "incoming": ("id", "id"),
    "member": ("id", "integer"),
    "case": ("integer", "id"),
}


def _walk_one(kind: str, words: Sequence[int], at: int) -> Generator[tuple[str, int], None, int]:
    """The words of one operand; returns where the next one begins."""
    if kind == "string":
        used = read_string(words[at:])[1]
        for word in words[at : at + used]:
            yield kind, word
        return at + used
    if kind in PAIRS:
        if at + 2 > len(words):
            raise InvalidModule("an operand is missing")
        yield PAIRS[kind][0], words[at]
        yield PAIRS[kind][1], words[at + 1]
        return at + 2
    if at >= len(words):
        raise InvalidModule("an operand is missing")
    yield kind, words[at]
    if kind in ENUMERATIONS:
        for operand in parameters_of(kind, words[at]):
            at = yield from _walk_one(operand.kind, words, at + 1)
            at -= 1
    return at + 1


def parameters_of(kind: str, value: int) -> list[Operand]:
    """The operands that a value of an enumeration brings, bit by bit from the lowest."""
    known = enumeration(kind)
    if not is_bits(kind):
        return list(known[value].operands) if value in known else []
    bits = (1 << bit for bit in range(value.bit_length()) if value >> bit & 1)
    return [operand for bit in bits if bit in known for operand in known[bit].operands]
