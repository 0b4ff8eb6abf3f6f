"""Computes OpSpecConstantOp: instructions whose operands are all constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from groundstate.compiler.spirv import types as t
from groundstate.compiler.spirv.constants import Address, Constant, null, undefined
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.fold_numbers import Fold, mask
from groundstate.compiler.spirv.instructions import opcode_name
from groundstate.compiler.spirv.opcodes import Op

if TYPE_CHECKING:
    from groundstate.compiler.ir.operation import Operation

MAX_PARTS = 1 << 18
"""How many parts all folded composites of a module may have together."""

Lookup = Callable[[int], Constant]

LITERALS = {Op.CompositeExtract: 1, Op.CompositeInsert: 2, Op.VectorShuffle: 2}
"""From which operand on the words are numbers and not ids."""


class Folder:
    """Folds instructions of one module, within a limit on what they may take."""

    def __init__(self) -> None:
        self.left = MAX_PARTS

    def spend(self, parts: int) -> None:
        """Counts parts of composites against the limit."""
        self.left -= parts
        if self.left < 0:
            raise InvalidModule(f"constants have more than {MAX_PARTS} parts")

    def fold(
        self, kind: t.Type, opcode: int, operands: tuple[int, ...], lookup: Lookup
    ) -> Constant:
        """The value of an instruction."""
        split = LITERALS.get(opcode, len(operands))
        values = [lookup(id) for id in operands[:split]]
        if opcode in LITERALS and len(values) < split:
            raise InvalidModule("an operand is missing")
        match opcode:
            case Op.CompositeExtract:
                return same_type(kind, extract(values[0], operands[split:]))
            case Op.CompositeInsert:
                return same_type(kind, self._insert(values[0], values[1], operands[split:]))
            case Op.VectorShuffle:
                return self._shuffle(kind, values[0], values[1], operands[split:])
            case Op.Select:
                return self._select(kind, *exactly(values, 3))
        row = _row(opcode)
        if row is not None and row.is_chain:
            return chain(kind, values, row.moves_pointer)
        if (
            row is not None
            and (row.same_address or row.converts_address)
            and is_address(kind, values)
        ):
            return Constant(kind, exactly(values, 1)[0].value)
        if opcode == Op.Bitcast:
            return bitcast(kind, exactly(values, 1)[0])
        if any(isinstance(value.value, Address) for value in values):
            if opcode in (Op.IAdd, Op.ISub):
                return move(kind, opcode, *exactly(values, 2))
            if opcode in (Op.IEqual, Op.INotEqual, Op.PtrEqual, Op.PtrNotEqual):
                equal = same_place(*exactly(values, 2))
                return Constant(kind, int(equal == (opcode in (Op.IEqual, Op.PtrEqual))))
        return self._each(kind, opcode, values)

    def _each(self, kind: t.Type, opcode: int, values: list[Constant]) -> Constant:
        """An instruction on numbers, applied to each element of vectors."""
        row = _row(opcode)
        fold = row.fold if row is not None else None
        if fold is None:
            raise InvalidModule(f"{opcode_name(opcode)} cannot be computed before the program runs")
        if not isinstance(kind, t.Vector):
            return number(kind, fold, values)
        self.spend(kind.count)
        parts = []
        for index in range(kind.count):
            arguments = [value.part(index) for value in values]
            known = [argument for argument in arguments if argument is not None]
            if len(known) != len(values):
                raise InvalidModule("the operands have too few elements")
            parts.append(number(kind.element, fold, known))
        return Constant(kind, tuple(parts))

    def _select(
        self, kind: t.Type, condition: Constant, first: Constant, second: Constant
    ) -> Constant:
        if isinstance(condition.type, t.Bool):
            return same_type(kind, first if condition.value else second)
        self.spend(condition.part_count)
        parts = []
        for index in range(condition.part_count):
            chosen = condition.part(index)
            source = first if chosen is not None and chosen.value else second
            part = source.part(index)
            if part is None:
                raise InvalidModule("the operands have too few elements")
            parts.append(part)
        if not isinstance(kind, t.Vector) or len(parts) != kind.count:
            raise InvalidModule(f"the condition does not fit a {kind}")
        return Constant(kind, tuple(parts))

    def _insert(self, part: Constant, whole: Constant, path: tuple[int, ...]) -> Constant:
        if not path:
            return part
        count = whole.part_count
        old = whole.part(path[0])
        if old is None:
            raise InvalidModule(f"a {whole.type} has no part {path[0]}")
        self.spend(count)
        parts = [whole.part(index) or old for index in range(count)]
        parts[path[0]] = same_type(old.type, self._insert(part, old, path[1:]))
        return Constant(whole.type, tuple(parts))

    def _shuffle(
        self, kind: t.Type, first: Constant, second: Constant, picks: tuple[int, ...]
    ) -> Constant:
        if not isinstance(kind, t.Vector) or len(picks) != kind.count:
            raise InvalidModule(f"it picks {len(picks)} elements for a {kind}")
        self.spend(kind.count)
        parts = []
        for pick in picks:
            at = pick - first.part_count
            part = first.part(pick) if at < 0 else second.part(at)
            if pick == 0xFFFFFFFF:
                part = undefined(kind.element)
            if part is None:
                raise InvalidModule(f"there is no element {pick}")
            parts.append(same_type(kind.element, part))
        return Constant(kind, tuple(parts))


def exactly(values: list[Constant], count: int) -> list[Constant]:
    """The operands, if there are as many as it takes."""
    if len(values) != count:
        raise InvalidModule(f"it takes {count} operands, not {len(values)}")
    return values


def same_type(kind: t.Type, value: Constant) -> Constant:
    """A value, if it has the type that is announced."""
    both_pointers = isinstance(kind, t.Pointer) and isinstance(value.type, t.Pointer)
    if kind != value.type and not both_pointers:
        raise InvalidModule(f"the value is a {value.type}, not a {kind}")
    return value


def extract(value: Constant, path: tuple[int, ...]) -> Constant:
    """A part of a part of a composite."""
    for index in path:
        part = value.part(index)
        if part is None:
            raise InvalidModule(f"a {value.type} has no part {index}")
        value = part
    return value


def is_address(kind: t.Type, values: list[Constant]) -> bool:
    """Whether a cast only renames an address, or a null or integer that becomes one."""
    if len(values) != 1:
        return False
    either = isinstance(kind, t.Pointer) or isinstance(values[0].type, t.Pointer)
    return either and kind.size == values[0].type.size


def bitcast(kind: t.Type, value: Constant) -> Constant:
    """The same bits as another type of number or vector."""
    if kind.size != value.type.size or value.undef:
        if value.undef:
            return undefined(kind)
        raise InvalidModule(f"a {value.type} and a {kind} have different sizes")
    bits = to_bits(value)
    if not isinstance(kind, t.Vector):
        return Constant(kind, bits)
    width = 8 * kind.element.size
    parts = tuple(
        Constant(kind.element, bits >> width * index & mask(width)) for index in range(kind.count)
    )
    return Constant(kind, parts)


def to_bits(value: Constant) -> int:
    """The bits of a number, or of a vector of numbers with the first one lowest."""
    if isinstance(value.type, t.Vector):
        width, bits = 8 * value.type.element.size, 0
        for index in range(value.type.count):
            part = value.part(index)
            bits |= (to_bits(part) if part is not None else 0) << width * index
        return bits
    if value.value is None or isinstance(value.value, int):
        return value.value or 0
    raise InvalidModule(f"the bits of a {value.type} are not known before the program is loaded")


def move(kind: t.Type, opcode: int, first: Constant, second: Constant) -> Constant:
    """An address plus or minus a number, or the distance of two in the same variable."""
    one, other = first.value, second.value
    if opcode == Op.ISub and isinstance(one, Address) and isinstance(other, Address):
        if one.base != other.base:
            raise InvalidModule("the distance of two variables is not known before they are loaded")
        return Constant(kind, (one.offset - other.offset) & mask(8 * kind.size))
    if isinstance(second.value, Address) and opcode == Op.IAdd:
        first, second = second, first
    if not isinstance(first.value, Address) or not isinstance(second.value, int):
        raise InvalidModule("the sum of two addresses is not known before the program is loaded")
    step = signed(second)
    offset = first.value.offset + (step if opcode == Op.IAdd else -step)
    return Constant(kind, Address(first.value.base, offset))


def same_place(first: Constant, second: Constant) -> bool:
    """Whether two addresses are equal: those of different variables never are, and none is null."""
    return first.value == second.value


def stepped(kind: t.Type, part: t.Type) -> t.Type:
    """What a step from one element to the next goes over, where the address is then of type `kind`.

    The types of a valid module agree. LLVM makes constant addresses inside an array of steps over
    bytes, and llvm-spirv 18 gives such a step a base that points to the whole array.
    """
    to_byte = (
        isinstance(kind, t.Pointer) and isinstance(kind.pointee, t.Int) and kind.pointee.size == 1
    )
    return t.Int(8) if to_byte else part


def chain(kind: t.Type, values: list[Constant], moves_pointer: bool) -> Constant:
    """The address of a part of what a pointer points to."""
    if len(values) < 1 + moves_pointer:
        raise InvalidModule("an operand is missing")
    base, indices = values[0], [signed(value) for value in values[1:]]
    if not isinstance(base.type, t.Pointer) or base.type.pointee is None:
        raise InvalidModule(f"a {base.type} does not say what it points to")
    part, offset = base.type.pointee, 0
    if moves_pointer:
        offset += indices.pop(0) * (part.size if indices else stepped(kind, part).size)
    for index in indices:
        inner = t.member_type(part, 0 if isinstance(part, t.Array) else index)
        if inner is None:
            raise InvalidModule(f"a {part} has no part {index}")
        inside_struct = isinstance(part, t.Struct)
        offset += part.offsets[index] if isinstance(part, t.Struct) else index * inner.size
        part = inner
        if inside_struct and index < 0:
            raise InvalidModule(f"a {part} has no part {index}")
    if isinstance(base.value, Address):
        return Constant(kind, Address(base.value.base, base.value.offset + offset))
    if base.value is None and offset == 0:
        return null(kind)
    start = base.value if isinstance(base.value, int) else 0
    return Constant(kind, (start + offset) & mask(64))


def signed(value: Constant) -> int:
    """An integer, with its top bit as the sign."""
    if not isinstance(value.type, t.Int) or not isinstance(value.value, int):
        raise InvalidModule(f"an index is an integer, not a {value.type}")
    width = value.type.width
    return value.value - ((value.value >> (width - 1)) << width)


def number(kind: t.Type, fold: Fold, values: list[Constant]) -> Constant:
    """An operation on numbers."""
    if any(value.undef for value in values):
        return undefined(kind)
    raw = [value.value for value in values]
    bits = [value for value in raw if isinstance(value, int)]
    if len(bits) != len(raw):
        raise InvalidModule("an operand is not a number")
    if not isinstance(kind, t.Int | t.Float | t.Bool):
        raise InvalidModule(f"the result is a {kind}, not a number")
    types = [value.type for value in exactly(values, fold.arity)]
    if isinstance(types[0], t.Int) != isinstance(types[-1], t.Int):
        raise InvalidModule(f"the operands are a {types[0]} and a {types[-1]}")
    return Constant(kind, fold.compute(types[0], kind, *bits))


def _row(opcode: int) -> Operation | None:
    """What is known of an instruction. Few modules have constants that are computed, so the table
    is only read when one does."""
    from groundstate.compiler.ir.ops import operation_of

    return operation_of(opcode)
