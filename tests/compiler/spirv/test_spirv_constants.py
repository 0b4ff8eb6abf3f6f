"""Constants: specialization, and what OpSpecConstantOp computes, compared with NumPy."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from groundstate.compiler.spirv import InvalidModule, Module, read
from groundstate.compiler.spirv.constants import Address, Constant, null, undefined
from groundstate.compiler.spirv.fold import Folder
from groundstate.compiler.spirv.opcodes import ExecutionMode, Op
from groundstate.compiler.spirv.types import Array, Bool, Float, Int, Pointer, Struct, Type, Vector
from tests.compiler.spirv.spirv_support import by_name, module_data, read_text

INT, UINT = Int(32, True), Int(32)
LONG, BOOL = Int(64), Bool()
HALF, FLOAT, DOUBLE = Float(16), Float(32), Float(64)
CODES = {16: "<e", 32: "<f", 64: "<d"}


def fold(kind: Type, opcode: int, *operands: Constant | int) -> Constant:
    """What an instruction computes; constants are given ids, plain numbers stay as they are."""
    given: dict[int, Constant] = {}
    words = []
    for operand in operands:
        if isinstance(operand, Constant):
            given[1000 + len(given)] = operand
            words.append(1000 + len(given) - 1)
        else:
            words.append(operand)
    return Folder().fold(kind, opcode, tuple(words), given.__getitem__)


def number(kind: Type, value: float) -> Constant:
    """A constant of a number."""
    if isinstance(kind, Float):
        return Constant(kind, int.from_bytes(struct.pack(CODES[kind.width], value), "little"))
    assert isinstance(kind, Int)
    return Constant(kind, int(value) & ((1 << kind.width) - 1))


def value_of(constant: Constant) -> float | int:
    """The number that a constant stands for."""
    assert isinstance(constant.value, int)
    kind = constant.type
    if isinstance(kind, Float):
        raw = constant.value.to_bytes(kind.width // 8, "little")
        return float(struct.unpack(CODES[kind.width], raw)[0])
    if isinstance(kind, Int) and kind.signed and constant.value >> (kind.width - 1):
        return constant.value - (1 << kind.width)
    return constant.value


def vector(kind: Type, *values: float) -> Constant:
    """A constant vector."""
    return Constant(Vector(kind, len(values)), tuple(number(kind, value) for value in values))


EDGES = (0, 1, 2, 3, 7, 31, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 0x12345678)
PAIRS = [(a, b) for a in EDGES for b in EDGES]


@pytest.mark.parametrize(
    ("opcode", "compute"),
    [
        (Op.IAdd, lambda a, b: a + b),
        (Op.ISub, lambda a, b: a - b),
        (Op.IMul, lambda a, b: a * b),
        (Op.BitwiseAnd, lambda a, b: a & b),
        (Op.BitwiseOr, lambda a, b: a | b),
        (Op.BitwiseXor, lambda a, b: a ^ b),
    ],
)
def test_wrapping_arithmetic(opcode: int, compute: object) -> None:
    assert callable(compute)
    with np.errstate(over="ignore"):
        for a, b in PAIRS:
            expected = int(compute(np.uint32(a), np.uint32(b)))
            assert fold(UINT, opcode, number(UINT, a), number(UINT, b)).value == expected


def test_division_of_signed_and_unsigned_numbers() -> None:
    for a, b in PAIRS:
        if b == 0:
            continue
        x, y = number(INT, a), number(INT, b)
        quotient, rest = fold(INT, Op.SDiv, x, y).value, value_of(fold(INT, Op.SRem, x, y))
        modulo = value_of(fold(INT, Op.SMod, x, y))
        sx, sy = np.int64(value_of(x)), np.int64(value_of(y))
        assert quotient == int(np.trunc(np.longdouble(sx) / np.longdouble(sy))) & 0xFFFFFFFF
        assert rest == np.fmod(sx, sy)
        assert modulo == np.mod(sx, sy)
        assert fold(UINT, Op.UDiv, number(UINT, a), number(UINT, b)).value == a // b
        assert fold(UINT, Op.UMod, number(UINT, a), number(UINT, b)).value == a % b


@pytest.mark.parametrize("opcode", [Op.UDiv, Op.SDiv, Op.UMod, Op.SRem, Op.SMod])
def test_division_by_zero_gives_some_number(opcode: int) -> None:
    assert isinstance(fold(UINT, opcode, number(UINT, 5), number(UINT, 0)).value, int)


def test_shifts() -> None:
    for a in EDGES:
        for b in (0, 1, 5, 31):
            x, s = number(UINT, a), number(UINT, b)
            assert fold(UINT, Op.ShiftLeftLogical, x, s).value == int(np.uint32(a) << np.uint32(b))
            assert fold(UINT, Op.ShiftRightLogical, x, s).value == a >> b
            signed = np.uint32(a).astype(np.int32) >> np.int32(b)
            expected = int(signed) & 0xFFFFFFFF
            assert fold(UINT, Op.ShiftRightArithmetic, x, s).value == expected
    far = number(UINT, 0xFFFFFFFF)
    assert fold(UINT, Op.ShiftLeftLogical, number(UINT, 1), far).value == 0
    assert fold(UINT, Op.ShiftRightArithmetic, number(UINT, 1 << 31), far).value == 0xFFFFFFFF


@pytest.mark.parametrize(
    ("opcode", "compute"),
    [
        (Op.IEqual, lambda a, b: a == b),
        (Op.INotEqual, lambda a, b: a != b),
        (Op.UGreaterThan, lambda a, b: a > b),
        (Op.UGreaterThanEqual, lambda a, b: a >= b),
        (Op.ULessThan, lambda a, b: a < b),
        (Op.ULessThanEqual, lambda a, b: a <= b),
    ],
)
def test_unsigned_comparisons(opcode: int, compute: object) -> None:
    assert callable(compute)
    for a, b in PAIRS:
        assert fold(BOOL, opcode, number(UINT, a), number(UINT, b)).value == int(compute(a, b))


@pytest.mark.parametrize(
    ("opcode", "compute"),
    [
        (Op.SGreaterThan, lambda a, b: a > b),
        (Op.SGreaterThanEqual, lambda a, b: a >= b),
        (Op.SLessThan, lambda a, b: a < b),
        (Op.SLessThanEqual, lambda a, b: a <= b),
    ],
)
def test_signed_comparisons(opcode: int, compute: object) -> None:
    assert callable(compute)
    for a, b in PAIRS:
        x, y = number(UINT, a), number(UINT, b)
        expected = compute(value_of(number(INT, a)), value_of(number(INT, b)))
        assert fold(BOOL, opcode, x, y).value == int(expected)


@pytest.mark.parametrize(
    ("opcode", "expected"),
    [
        (Op.LogicalOr, (0, 1, 1, 1)),
        (Op.LogicalAnd, (0, 0, 0, 1)),
        (Op.LogicalEqual, (1, 0, 0, 1)),
        (Op.LogicalNotEqual, (0, 1, 1, 0)),
    ],
)
def test_truths(opcode: int, expected: tuple[int, ...]) -> None:
    truths = (Constant(BOOL, 0), Constant(BOOL, 1))
    assert tuple(fold(BOOL, opcode, a, b).value for a in truths for b in truths) == expected


def test_one_operand() -> None:
    assert fold(UINT, Op.SNegate, number(UINT, 1)).value == 0xFFFFFFFF
    assert fold(UINT, Op.Not, number(UINT, 1)).value == 0xFFFFFFFE
    assert fold(BOOL, Op.LogicalNot, Constant(BOOL, 1)).value == 0
    assert value_of(fold(FLOAT, Op.FNegate, number(FLOAT, 1.5))) == -1.5


FLOATS = (0.0, -0.0, 1.0, -1.5, 3.25, 1e-45, 3e38, float("inf"), float("-inf"), float("nan"))


@pytest.mark.parametrize(
    ("opcode", "compute"),
    [
        (Op.FAdd, np.add),
        (Op.FSub, np.subtract),
        (Op.FMul, np.multiply),
        (Op.FDiv, np.divide),
        (Op.FRem, np.fmod),
    ],
)
def test_floating_point_arithmetic(opcode: int, compute: np.ufunc) -> None:
    with np.errstate(all="ignore"):
        for a in FLOATS:
            for b in FLOATS:
                expected = compute(np.float32(a), np.float32(b))
                got = value_of(fold(FLOAT, opcode, number(FLOAT, a), number(FLOAT, b)))
                assert np.array_equal(np.float32(got), expected, equal_nan=True), (a, b)


@pytest.mark.parametrize(
    ("ordered", "unordered", "compute"),
    [
        (Op.FOrdEqual, Op.FUnordEqual, np.equal),
        (Op.FOrdLessThan, Op.FUnordLessThan, np.less),
        (Op.FOrdGreaterThan, Op.FUnordGreaterThan, np.greater),
        (Op.FOrdLessThanEqual, Op.FUnordLessThanEqual, np.less_equal),
        (Op.FOrdGreaterThanEqual, Op.FUnordGreaterThanEqual, np.greater_equal),
        (Op.FOrdNotEqual, Op.FUnordNotEqual, np.not_equal),
    ],
)
def test_floating_point_comparisons(ordered: int, unordered: int, compute: np.ufunc) -> None:
    for a in FLOATS:
        for b in FLOATS:
            x, y = number(DOUBLE, a), number(DOUBLE, b)
            either_nan = np.isnan(a) or np.isnan(b)
            plain = bool(compute(a, b))
            assert fold(BOOL, ordered, x, y).value == int(plain and not either_nan)
            assert fold(BOOL, unordered, x, y).value == int(plain or either_nan)


def test_conversions_of_integers() -> None:
    assert fold(LONG, Op.SConvert, number(UINT, 0xFFFFFFFE)).value == (1 << 64) - 2
    assert fold(LONG, Op.UConvert, number(UINT, 0xFFFFFFFE)).value == 0xFFFFFFFE
    assert fold(Int(8), Op.UConvert, number(UINT, 0x1FF)).value == 0xFF
    assert value_of(fold(FLOAT, Op.ConvertSToF, number(UINT, 0xFFFFFFFF))) == -1.0
    assert value_of(fold(FLOAT, Op.ConvertUToF, number(UINT, 0xFFFFFFFF))) == 2.0**32
    assert value_of(fold(UINT, Op.ConvertFToU, number(FLOAT, 3.9))) == 3
    assert value_of(fold(INT, Op.ConvertFToS, number(FLOAT, -3.9))) == -3
    assert value_of(fold(INT, Op.ConvertFToS, number(FLOAT, float("nan")))) == 0


@pytest.mark.parametrize("value", [1 << 24, (1 << 24) + 1, (1 << 53) + 1, (1 << 64) - 1, 5])
def test_integers_are_rounded_once(value: int) -> None:
    got = value_of(fold(FLOAT, Op.ConvertUToF, number(LONG, value)))
    assert np.float32(got) == np.uint64(value).astype(np.float32)
    assert value_of(fold(DOUBLE, Op.ConvertUToF, number(LONG, value))) == float(value)


def test_conversions_of_floating_point_numbers() -> None:
    assert value_of(fold(HALF, Op.FConvert, number(DOUBLE, 1 / 3))) == float(np.float16(1 / 3))
    assert value_of(fold(HALF, Op.FConvert, number(FLOAT, 1e6))) == float("inf")
    quantized = value_of(fold(FLOAT, Op.QuantizeToF16, number(FLOAT, 1 / 3)))
    assert quantized == float(np.float16(1 / 3))
    brain = fold(Float(16, 0), Op.FConvert, number(FLOAT, 1.0))
    assert brain.value == 0x3F80


def test_bits_seen_as_another_type() -> None:
    assert fold(UINT, Op.Bitcast, number(FLOAT, 1.0)).value == 0x3F800000
    pair = fold(Vector(UINT, 2), Op.Bitcast, number(LONG, 0x1111222233334444))
    assert pair == vector(UINT, 0x33334444, 0x11112222)
    assert fold(LONG, Op.Bitcast, pair).value == 0x1111222233334444
    with pytest.raises(InvalidModule, match="different sizes"):
        fold(LONG, Op.Bitcast, number(UINT, 1))


def test_vectors_element_by_element() -> None:
    total = fold(Vector(UINT, 2), Op.IAdd, vector(UINT, 1, 0xFFFFFFFF), vector(UINT, 2, 1))
    assert total == vector(UINT, 3, 0)
    mask = fold(Vector(BOOL, 2), Op.ULessThan, vector(UINT, 1, 2), vector(UINT, 2, 1))
    chosen = fold(Vector(UINT, 2), Op.Select, mask, vector(UINT, 5, 6), vector(UINT, 7, 8))
    assert chosen == vector(UINT, 5, 8)
    zeros = fold(Vector(UINT, 2), Op.IAdd, null(Vector(UINT, 2)), vector(UINT, 2, 1))
    assert zeros == vector(UINT, 2, 1)


def test_composites() -> None:
    struct_type = Struct(1, (UINT, Array(FLOAT, 2)))
    value = Constant(struct_type, (number(UINT, 3), null(Array(FLOAT, 2))))
    changed = fold(struct_type, Op.CompositeInsert, number(FLOAT, 2.0), value, 1, 1)
    assert value_of(fold(FLOAT, Op.CompositeExtract, changed, 1, 1)) == 2.0
    assert value_of(fold(FLOAT, Op.CompositeExtract, changed, 1, 0)) == 0.0
    shuffled = fold(
        Vector(UINT, 3), Op.VectorShuffle, vector(UINT, 1, 2), vector(UINT, 3, 4), 3, 0, 0xFFFFFFFF
    )
    assert isinstance(shuffled.value, tuple)
    assert [part.value for part in shuffled.value] == [4, 1, None]
    assert shuffled.value[2].undef


def test_addresses() -> None:
    to_struct = Pointer(5, Struct(1, (UINT, Array(LONG, 4))))
    base = Constant(to_struct, Address(77))
    index, one = number(LONG, 3), number(UINT, 1)
    place = fold(Pointer(5, LONG), Op.InBoundsPtrAccessChain, base, index, one, number(INT, -1))
    assert place.value == Address(77, 3 * 40 + 8 - 8)
    byte = fold(Pointer(5, Int(8)), Op.PtrAccessChain, base, number(LONG, 12))
    assert byte.value == Address(77, 12)
    as_number = fold(LONG, Op.ConvertPtrToU, place)
    moved = fold(LONG, Op.IAdd, as_number, number(LONG, 16))
    assert moved.value == Address(77, 136)
    assert fold(LONG, Op.ISub, moved, number(LONG, 136)).value == Address(77, 0)
    back = fold(Pointer(8, LONG), Op.PtrCastToGeneric, place)
    assert back.value == place.value
    empty = null(to_struct)
    assert fold(Pointer(5, UINT), Op.AccessChain, empty, number(UINT, 0)).value is None
    assert fold(Pointer(5, LONG), Op.AccessChain, empty, one, one).value == 16


@pytest.mark.parametrize(
    ("kind", "opcode", "operands", "reason"),
    [
        (UINT, Op.IAdd, (number(UINT, 1),), "takes 2 operands, not 1"),
        (UINT, Op.IAdd, (number(UINT, 1), number(FLOAT, 1)), "a u32 and a f32"),
        (UINT, Op.Dot, (number(UINT, 1), number(UINT, 1)), "OpDot cannot be computed"),
        (UINT, Op.CompositeExtract, (number(UINT, 1), 0), "a u32 has no part 0"),
        (UINT, Op.CompositeExtract, (vector(UINT, 1, 2), 2), "a u32x2 has no part 2"),
        (FLOAT, Op.CompositeExtract, (vector(UINT, 1, 2), 0), "a u32, not a f32"),
        (UINT, Op.CompositeExtract, (), "an operand is missing"),
        (Vector(UINT, 2), Op.VectorShuffle, (vector(UINT, 1), vector(UINT, 1), 0, 9), "element 9"),
        (Vector(UINT, 4), Op.IAdd, (vector(UINT, 1), vector(UINT, 1)), "too few elements"),
        (UINT, Op.FAdd, (number(UINT, 1), number(UINT, 1)), "cannot be computed with"),
        (UINT, Op.AccessChain, (number(UINT, 1),), "does not say what it points to"),
        (UINT, Op.AccessChain, (), "an operand is missing"),
    ],
)
def test_what_cannot_be_computed_is_refused(
    kind: Type, opcode: int, operands: tuple[Constant | int, ...], reason: str
) -> None:
    with pytest.raises(InvalidModule, match=reason):
        fold(kind, opcode, *operands)


def test_what_is_undefined_stays_so() -> None:
    assert fold(UINT, Op.IAdd, undefined(UINT), number(UINT, 1)).undef
    assert undefined(Vector(UINT, 2)).part(1) == undefined(UINT)
    assert not undefined(UINT).is_null


# --- Specialization -------------------------------------------------------------------------------


def values(module: Module) -> list[object]:
    """The values of all numbers of a module, in order."""
    return [c.value for c in module.constants.values() if isinstance(c.value, int)]


def test_without_values_the_defaults_hold() -> None:
    module = read(module_data("specialise"))
    assert sorted(module.spec_constants) == [1, 2, 3, 4]
    (scratch,) = module.variables.values()
    assert isinstance(scratch.data_type, Array)
    assert scratch.data_type.length == (64 + 2) << 2
    numbers = values(module)
    assert 0x89ABCDEF in numbers
    (size,) = module.spec_constants[1]
    assert module.constants[size].value == 64


def test_specialization_updates_dependent_values() -> None:
    base = read(module_data("specialise"))
    module = base.specialise(
        {
            1: (10).to_bytes(4, "little"),
            2: b"\0",
            3: struct.pack("<f", 1.25),
            4: (5).to_bytes(8, "little"),
            99: b"nobody asks for this",
        }
    )
    (size,), (fast,), (factor,) = (module.spec_constants[spec_id] for spec_id in (1, 2, 3))
    assert module.constants[size].value == 10
    assert module.constants[fast].value == 0
    assert value_of(module.constants[factor]) == 1.25
    (scratch,) = module.variables.values()
    assert isinstance(scratch.data_type, Array)
    assert scratch.data_type.length == 48
    kernel = module.entry_points["scale"].function
    assert module.execution_modes[kernel][ExecutionMode.LocalSize] == (10, 1, 1)
    assert base.execution_modes[kernel][ExecutionMode.LocalSize] == (64, 1, 1)
    assert base.constants[size].value == 64
    assert module.function(kernel).blocks
    assert module.specialise({}).constants[size].value == 64


def test_structures_that_depend_on_values_differ() -> None:
    base = read_text(
        """
        %n = OpSpecConstant %uint 4
        %array = OpTypeArray %uint %n
        %struct = OpTypeStruct %uint %array
        """,
        'OpDecorate %n SpecId 7\nOpName %struct "struct"',
    )
    struct = by_name(base, "struct")
    larger = base.specialise({7: b"\x08\0\0\0"})
    assert base.types[struct].size == 20
    assert larger.types[struct].size == 36
    assert base.types[struct] != larger.types[struct]


def test_a_value_that_makes_no_sense_is_refused() -> None:
    module = read_text(
        """
        %n = OpSpecConstant %ulong 4
        %array = OpTypeArray %ulong %n
        """,
        "OpDecorate %n SpecId 7",
    )
    with pytest.raises(InvalidModule, match="larger than any memory"):
        module.specialise({7: b"\xff" * 8})


def test_narrow_numbers_are_kept_as_their_bits() -> None:
    module = read_text(
        """
        %char = OpTypeInt 8 1
        %minus = OpConstant %char -1
        %half_one = OpConstant %half 1
        %null = OpConstantNull %uint
        """,
        'OpName %minus "minus"\nOpName %half_one "half_one"\nOpName %null "null"',
    )
    assert module.constants[by_name(module, "minus")].value == 0xFF
    assert module.constants[by_name(module, "half_one")].value == 0x3C00
    assert module.constants[by_name(module, "null")].value == 0
