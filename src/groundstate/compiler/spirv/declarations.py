"""Defines the types, constants and variables of a module.

They usually come in an order in which everything is defined before it is used. Where something is
used earlier, it is defined at that moment; a pointer that its own structure contains is filled in
at the end.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping

from groundstate.compiler.errors import RefusedError
from groundstate.compiler.spirv import types as t
from groundstate.compiler.spirv.constants import (
    Address,
    Constant,
    PipeStorageValue,
    SamplerValue,
    null,
    undefined,
)
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.fold import Folder
from groundstate.compiler.spirv.instructions import ROWS, enumeration, invalid
from groundstate.compiler.spirv.module import Module, Variable
from groundstate.compiler.spirv.opcodes import Capability, Decoration, FPEncoding, Op
from groundstate.compiler.spirv.preamble import Preamble
from groundstate.compiler.spirv.strings import read_string

MAX_FORWARD = 64
"""How many definitions may wait for one another."""
INT_WIDTHS = (8, 16, 32, 64)
MAX_INT_WIDTH = 4096
"""With arbitrary precision, for which there is an extension."""
MAX_VECTOR = 256
FLOAT_WIDTHS = (8, 16, 32, 64)
FLOAT_FORMATS = (
    (16, FPEncoding.BFloat16KHR),
    (8, FPEncoding.Float8E4M3EXT),
    (8, FPEncoding.Float8E5M2EXT),
)
TYPE_OPCODES = frozenset(number for number, row in ROWS.items() if row.name.startswith("OpType"))
VARIABLES = frozenset((Op.Variable, Op.UntypedVariableKHR))

HANDLES: dict[int, Callable[[], t.Type]] = {
    Op.TypeVoid: t.Void,
    Op.TypeBool: t.Bool,
    Op.TypeEvent: t.Event,
    Op.TypeDeviceEvent: t.DeviceEvent,
    Op.TypeReserveId: t.ReserveId,
    Op.TypeQueue: t.Queue,
    Op.TypeSampler: t.Sampler,
    Op.TypePipeStorage: t.PipeStorage,
    Op.TypeNamedBarrier: t.NamedBarrier,
}
"""The types that have no operands."""


class Declarations:
    """Defines everything that a preamble has noted."""

    def __init__(self, module: Module, words: array[int], preamble: Preamble) -> None:
        self.module = module
        self.words = words
        self.preamble = preamble
        self.open: set[int] = set()
        self.waiting: list[tuple[t.Pointer, int]] = []
        self.interned: dict[t.Type, t.Type] = {}
        self.folder = Folder()
        self.owner = object()
        """Tells the structures of this module, with these values, from those of any other."""
        self.spec_values: Mapping[int, bytes] = {}

    def define_all(self, spec_values: Mapping[int, bytes]) -> None:
        """Defines every type, constant and variable, with values for specialization constants."""
        self.spec_values = spec_values
        for id in self.preamble.declared:
            self._define(id)
        for pointer, pointee in self.waiting:
            pointer.settle_pointee(self.type(pointee))
        t.check_chains([pointer for pointer, _ in self.waiting])
        self._find_spec_constants()

    def _find_spec_constants(self) -> None:
        found: dict[int, list[int]] = {}
        for id in self.module.constants:
            operands = self.module.decorations.get(id, {}).get(Decoration.SpecId)
            if isinstance(operands, tuple):
                found.setdefault(operands[0], []).append(id)
        self.module.spec_constants = {spec_id: tuple(ids) for spec_id, ids in found.items()}

    def _is_defined(self, id: int) -> bool:
        module = self.module
        return id in module.types or id in module.constants or id in module.variables

    def _define(self, id: int) -> None:
        if self._is_defined(id):
            return
        position = self.preamble.places[id]
        word = self.words[position]
        if id in self.open:
            raise invalid(f"%{id} is defined by itself", word, position)
        if len(self.open) > MAX_FORWARD:
            raise invalid("too many definitions wait for one another", word, position)
        self.open.add(id)
        try:
            self._define_at(id, word & 0xFFFF, position)
        except InvalidModule as problem:
            if problem.offset is not None:
                raise
            raise invalid(problem.reason, word, position) from None
        self.open.discard(id)

    def _define_at(self, id: int, opcode: int, position: int) -> None:
        row, count = ROWS[opcode], self.words[position] >> 16
        skip = row.has_type + row.has_result
        operands = tuple(self.words[position + 1 + skip : position + count])
        if position in self.preamble.continued:
            operands += tuple(self.preamble.continued[position])
        if len(operands) < row.fewest:
            raise InvalidModule("an operand is missing")
        if row.most is not None and len(operands) > row.most:
            raise InvalidModule("it has too many operands")
        if opcode in TYPE_OPCODES:
            kind = self._make_type(id, opcode, operands)
            self.module.types[id] = self.interned.setdefault(kind, kind)
            return
        kind = self.type(self.words[position + 1])
        if opcode in VARIABLES:
            self.module.variables[id] = self._make_variable(id, opcode, kind, operands)
        else:
            self.module.constants[id] = self._make_constant(id, opcode, kind, operands)

    # --- What is referred to ----------------------------------------------------------------------

    def type(self, id: int) -> t.Type:
        """A type by its id."""
        found = self.module.types.get(id)
        if found is None:
            if self._opcode(id) not in TYPE_OPCODES:
                raise InvalidModule(f"%{id} is not a type")
            self._define(id)
            found = self.module.types[id]
        return found

    def constant(self, id: int) -> Constant:
        """A constant by its id, or the address of a variable or function."""
        found = self.module.constants.get(id)
        if found is not None:
            return found
        opcode = self._opcode(id)
        if opcode in VARIABLES or opcode == Op.Function:
            return self._address(id, opcode)
        if opcode in TYPE_OPCODES or opcode is None:
            raise InvalidModule(f"%{id} is not a constant")
        self._define(id)
        found = self.module.constants.get(id)
        if found is None:
            raise InvalidModule(f"%{id} is not a constant")
        return found

    def _address(self, id: int, opcode: int) -> Constant:
        if opcode == Op.Function:
            code = self.type(self.module.function_types[id])
            return Constant(t.Pointer(5605, code), Address(id))
        return Constant(self.type(self.words[self.preamble.places[id] + 1]), Address(id))

    def _opcode(self, id: int) -> int | None:
        position = self.preamble.places.get(id)
        return None if position is None else self.words[position] & 0xFFFF

    # --- Types ------------------------------------------------------------------------------------

    def _make_type(self, id: int, opcode: int, operands: tuple[int, ...]) -> t.Type:
        if opcode in HANDLES:
            return HANDLES[opcode]()
        match opcode:
            case Op.TypeInt:
                return self._make_int(operands)
            case Op.TypeFloat:
                return self._make_float(operands)
            case Op.TypeVector:
                return self._make_vector(operands)
            case Op.TypeArray:
                return t.Array(self._stored(operands[0]), self._length(operands[1]))
            case Op.TypeRuntimeArray:
                return t.RuntimeArray(self._stored(operands[0]))
            case Op.TypeStruct:
                return self._make_struct(id, operands)
            case Op.TypePointer:
                return self._make_pointer(id, operands)
            case Op.TypeUntypedPointerKHR:
                return t.Pointer(operands[0])
            case Op.TypeFunction:
                parameters = tuple(map(self.type, operands[1:]))
                return t.FunctionType(self.type(operands[0]), parameters)
            case Op.TypeImage:
                return t.Image(self.type(operands[0]), *operands[1:])
            case Op.TypeSampledImage:
                return t.SampledImage(self.type(operands[0]))
            case Op.TypePipe:
                return t.Pipe(operands[0])
            case Op.TypeOpaque:
                return t.Opaque(read_string(operands)[0])
        return t.Opaque(ROWS[opcode].name.removeprefix("OpType"))

    def _make_int(self, operands: tuple[int, ...]) -> t.Type:
        width, signed = operands
        is_known = width in INT_WIDTHS or (
            0 < width <= MAX_INT_WIDTH
            and Capability.ArbitraryPrecisionIntegersINTEL in self.module.capabilities
        )
        if not is_known or signed > 1:
            raise InvalidModule(f"there are no integers of {width} bits with signedness {signed}")
        return t.Int(width, bool(signed))

    def _make_float(self, operands: tuple[int, ...]) -> t.Type:
        if operands[0] not in FLOAT_WIDTHS:
            raise InvalidModule(f"there are no floating-point numbers of {operands[0]} bits")
        if len(operands) > 1 and (operands[0], operands[1]) not in FLOAT_FORMATS:
            raise InvalidModule(f"there is no format {operands[1]} of {operands[0]} bits")
        return t.Float(*operands)

    def _make_vector(self, operands: tuple[int, ...]) -> t.Type:
        element, count = self.type(operands[0]), operands[1]
        if not (t.is_scalar(element) or isinstance(element, t.Pointer)):
            raise InvalidModule(f"a vector cannot contain a {element}")
        if count > MAX_VECTOR and Capability.VectorAnyINTEL in self.module.capabilities:
            raise RefusedError(
                f"vectors of {count} elements are registers of one kind of GPU (VectorAnyINTEL); "
                "a CPU has none such"
            )
        if not 0 < count <= MAX_VECTOR:
            raise InvalidModule(f"a vector cannot have {count} elements")
        return t.Vector(element, count)

    def _make_struct(self, id: int, operands: tuple[int, ...]) -> t.Type:
        said = self.module.decorations.get(id, {})
        alignment = said.get(Decoration.Alignment)
        align = alignment[0] if isinstance(alignment, tuple) else 1
        if align.bit_count() != 1:
            raise InvalidModule(f"{align} is not an alignment")
        return t.Struct(
            id,
            tuple(map(self._stored, operands)),
            packed=Decoration.CPacked in said,
            least_align=align,
            owner=self.owner,
        )

    def _make_pointer(self, id: int, operands: tuple[int, ...]) -> t.Type:
        storage, pointee = operands
        forward = id in self.preamble.forward_pointers or pointee in self.open
        if not forward:
            return t.Pointer(storage, self.type(pointee))
        pointer = t.Pointer(storage, None, forward=True)
        self.waiting.append((pointer, pointee))
        return pointer

    def _stored(self, id: int) -> t.Type:
        kind = self.type(id)
        if isinstance(kind, t.Void | t.FunctionType):
            raise InvalidModule(f"a {kind} cannot be stored")
        return kind

    def _length(self, id: int) -> int:
        constant = self.constant(id)
        if not isinstance(constant.type, t.Int) or not isinstance(constant.value, int):
            raise InvalidModule(f"the length of an array, %{id}, is not an integer")
        return constant.value

    # --- Constants and variables ------------------------------------------------------------------

    def _make_constant(
        self, id: int, opcode: int, kind: t.Type, operands: tuple[int, ...]
    ) -> Constant:
        match opcode:
            case Op.Constant | Op.SpecConstant:
                return self._make_number(id, opcode, kind, operands)
            case Op.ConstantComposite | Op.SpecConstantComposite:
                return composite(kind, tuple(map(self.constant, operands)))
            case Op.ConstantTrue | Op.ConstantFalse | Op.SpecConstantTrue | Op.SpecConstantFalse:
                if not isinstance(kind, t.Bool):
                    raise InvalidModule(f"a {kind} is not true or false")
                default = opcode in (Op.ConstantTrue, Op.SpecConstantTrue)
                return Constant(kind, self._specialised(id, opcode, 1, int(default)) & 1)
            case Op.ConstantCompositeReplicateEXT | Op.SpecConstantCompositeReplicateEXT:
                part, count = self.constant(operands[0]), t.member_count(kind)
                self.folder.spend(count)
                return composite(kind, (part,) * count)
            case Op.ConstantNull:
                return null(kind)
            case Op.Undef | Op.PoisonKHR:
                return undefined(kind)
            case Op.ConstantSampler:
                return Constant(kind, SamplerValue(*operands))
            case Op.ConstantPipeStorage:
                return Constant(kind, PipeStorageValue(*operands))
            case Op.ConstantFunctionPointerINTEL:
                if operands[0] not in self.module.function_types:
                    raise InvalidModule(f"%{operands[0]} is not a function")
                return Constant(kind, Address(operands[0]))
            case Op.SpecConstantOp:
                return self.folder.fold(kind, operands[0], operands[1:], self.constant)
        raise InvalidModule("a kernel cannot use it")

    def _make_number(
        self, id: int, opcode: int, kind: t.Type, operands: tuple[int, ...]
    ) -> Constant:
        if not isinstance(kind, t.Int | t.Float):
            raise InvalidModule(f"a {kind} is not a number")
        if len(operands) != (kind.width + 31) // 32:
            raise InvalidModule(f"a {kind} takes {(kind.width + 31) // 32} words")
        bits = sum(word << 32 * index for index, word in enumerate(operands))
        bits = self._specialised(id, opcode, kind.size, bits)
        return Constant(kind, bits & ((1 << kind.width) - 1))

    def _specialised(self, id: int, opcode: int, size: int, default: int) -> int:
        if opcode in (Op.Constant, Op.ConstantTrue, Op.ConstantFalse):
            return default
        spec_id = self.module.decorations.get(id, {}).get(Decoration.SpecId)
        value = self.spec_values.get(spec_id[0]) if isinstance(spec_id, tuple) else None
        if value is None:
            return default
        number = int.from_bytes(value[:size], "little")
        return int(number != 0) if opcode != Op.SpecConstant else number

    def _make_variable(
        self, id: int, opcode: int, kind: t.Type, operands: tuple[int, ...]
    ) -> Variable:
        if not isinstance(kind, t.Pointer):
            raise InvalidModule(f"the type of a variable is a pointer, not a {kind}")
        storage, data_type, rest = operands[0], kind.pointee, operands[1:]
        if opcode == Op.UntypedVariableKHR:
            data_type = self.type(rest[0]) if rest else None
            rest = rest[1:]
        builtin = self.module.decorations.get(id, {}).get(Decoration.BuiltIn)
        if isinstance(builtin, tuple) and builtin[0] not in enumeration("BuiltIn"):
            raise InvalidModule(f"there is no built-in variable {builtin[0]}")
        start = self.constant(rest[0]) if rest else None
        if start is not None and data_type is not None and start.type.size > data_type.size:
            raise InvalidModule(f"it starts as a {start.type}, which does not fit in a {data_type}")
        return Variable(
            id,
            kind,
            storage,
            start,
            builtin[0] if isinstance(builtin, tuple) else None,
            data_type,
        )


def composite(kind: t.Type, parts: tuple[Constant, ...]) -> Constant:
    """A composite of constants, if they fit."""
    if not isinstance(kind, t.Vector | t.Array | t.Struct):
        raise InvalidModule(f"a {kind} has no parts")
    if len(parts) != t.member_count(kind):
        raise InvalidModule(f"a {kind} has {t.member_count(kind)} parts, not {len(parts)}")
    for index, part in enumerate(parts):
        expected = t.member_type(kind, index)
        if expected is None or not t.compatible(expected, part.type):
            raise InvalidModule(f"part {index} of a {kind} is a {expected}, not a {part.type}")
    return Constant(kind, parts)
