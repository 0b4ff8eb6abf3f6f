"""Cases of integer instructions of extensions: dot products, bits, averages, odd widths."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.compiler.instructions.arithmetic import (
    COUNT,
    INTEGERS,
    RANDOM,
    exactly,
    floats,
    signed,
    unsigned,
)
from tests.compiler.instructions.instruction_support import Array, case

# --- Dot products ---------------------------------------------------------------------------------

BYTES = [np.stack([unsigned(8) for _ in range(4)], axis=1) for _ in range(2)]
SHORTS = [np.stack([unsigned(16) for _ in range(2)], axis=1) for _ in range(2)]
PACKED = [np.ascontiguousarray(each).view(np.uint32).reshape(-1) for each in BYTES]
SUMS = unsigned(32)
DOT = {
    "capabilities": (
        "DotProduct",
        "DotProductInputAll",
        "DotProductInput4x8Bit",
        "DotProductInput4x8BitPacked",
    ),
    "extensions": ("SPV_KHR_integer_dot_product",),
    "version": (1, 6),
}


def dot(op: str, a: Array, b: Array, total: Array | None, width: int) -> Array:
    """A dot product without limits, then wrapped or clamped to a width."""
    first = signed(a) if op[0] == "S" else a
    second = signed(b) if op.startswith("SDot") else b
    sums = (first.astype(object) * second.astype(object)).sum(axis=1)
    if total is not None:
        extra = signed(total) if op[0] == "S" else total
        low, high = (
            (-(1 << (width - 1)), (1 << (width - 1)) - 1) if op[0] == "S" else (0, (1 << width) - 1)
        )
        sums = np.array([max(low, min(high, each)) for each in sums + extra.astype(object)], object)
    return (sums % (1 << width)).astype(f"u{width // 8}")


for op in ("SDot", "UDot", "SUDot"):
    for kind, pair, width in (("v4u8", BYTES, 32), ("v4u8", BYTES, 64), ("v2u16", SHORTS, 64)):
        case(
            f"{op}-{kind}-u{width}",
            f"%r = Op{op} %u{width} %a %b",
            [(kind, pair[0]), (kind, pair[1])],
            f"u{width}",
            lambda a, b, op=op, width=width: dot(op, a, b, None, width),
            **DOT,
        )
    case(
        f"{op}-packed",
        f"%r = Op{op} %u32 %a %b PackedVectorFormat4x8Bit",
        [("u32", PACKED[0]), ("u32", PACKED[1])],
        "u32",
        lambda a, b, op=op: dot(op, *BYTES, None, 32),
        **DOT,
    )
    case(
        f"{op}AccSat-v4u8",
        f"%r = Op{op}AccSat %u32 %a %b %c",
        [("v4u8", BYTES[0]), ("v4u8", BYTES[1]), ("u32", SUMS)],
        "u32",
        lambda a, b, c, op=op: dot(op, a, b, c, 32),
        **DOT,
    )
    case(
        f"{op}AccSat-packed",
        f"%r = Op{op}AccSat %u32 %a %b %c PackedVectorFormat4x8Bit",
        [("u32", PACKED[0]), ("u32", PACKED[1]), ("u32", SUMS)],
        "u32",
        lambda a, b, c, op=op: dot(op, *BYTES, c, 32),
        **DOT,
    )
LONG_SUMS = unsigned(64)
case(
    "SDotAccSat-u64",
    "%r = OpSDotAccSat %u64 %a %b %c",
    [("v2u16", SHORTS[0]), ("v2u16", SHORTS[1]), ("u64", LONG_SUMS)],
    "u64",
    lambda a, b, c: dot("SDot", a, b, c, 64),
    **DOT,
)
case(
    "UDotAccSat-u8",
    "%r = OpUDotAccSat %u8 %a %b %c",
    [("v4u8", BYTES[0]), ("v4u8", BYTES[1]), ("u8", unsigned(8))],
    "u8",
    lambda a, b, c: dot("UDot", a, b, c, 8),
    **DOT,
)

# --- Fields of bits -------------------------------------------------------------------------------

BITS = {"capabilities": ("BitInstructions",), "extensions": ("SPV_KHR_bit_instructions",)}
for width in INTEGERS:
    kind, base, new = f"u{width}", unsigned(width), unsigned(width)
    start = RANDOM.integers(0, width, COUNT).astype(np.uint32)
    count = np.array([RANDOM.integers(0, width - each + 1) for each in start], np.uint32)

    def field(a: int, o: int, c: int, sign: bool) -> int:
        value = a >> o & ((1 << c) - 1)
        return value - (1 << c) if sign and c and value >> (c - 1) else value

    for op, sign in (("BitFieldUExtract", False), ("BitFieldSExtract", True)):
        case(
            f"{op}-{kind}",
            f"%r = Op{op} %{kind} %a %b %c",
            [(kind, base), ("u32", start), ("u32", count)],
            kind,
            lambda a, b, c, sign=sign, width=width: np.array(
                [
                    field(x, y, z, sign) % (1 << width)
                    for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
                ],
                a.dtype,
            ),
            **BITS,
        )
    case(
        f"BitFieldInsert-{kind}",
        f"%r = OpBitFieldInsert %{kind} %a %d %b %c",
        [(kind, base), ("u32", start), ("u32", count), (kind, new)],
        kind,
        lambda a, b, c, d: np.array(
            [
                x & ~(((1 << z) - 1) << y) | (w & ((1 << z) - 1)) << y
                for x, y, z, w in zip(a.tolist(), b.tolist(), c.tolist(), d.tolist(), strict=True)
            ],
            a.dtype,
        ),
        **BITS,
    )
TABLES = (0x80, 0xE8, 0xCA, 0x1B, 0xFF, 0x00)
WORDS = [unsigned(32) for _ in range(3)]


def by_table(table: int) -> Callable[[Array, Array, Array], Array]:
    def apply(a: Array, b: Array, c: Array) -> Array:
        result = np.zeros_like(a)
        for bit in range(32):
            index = (a >> bit & 1) | (b >> bit & 1) << 1 | (c >> bit & 1) << 2
            result |= (np.uint32(table) >> index & 1) << np.uint32(bit)
        return result

    return apply


TRIPLE = [("u32", each) for each in WORDS]
for table in TABLES:
    case(
        f"BitwiseFunctionINTEL-{table:#x}",
        f"%r = OpBitwiseFunctionINTEL %u32 %a %b %c %u32:{table}",
        TRIPLE,
        "u32",
        by_table(table),
        capabilities=("TernaryBitwiseFunctionINTEL",),
        extensions=("SPV_INTEL_ternary_bitwise_function",),
    )

# --- Functions of SPV_INTEL_shader_integer_functions2 ---------------------------------------------


def clamped(low: int, high: int, compute: Callable[[int, int], int]) -> Callable[[int, int], int]:
    return lambda a, b: max(low, min(high, compute(a, b)))


for width in INTEGERS:
    kind, first, second = f"u{width}", unsigned(width), unsigned(width)
    half, full = 1 << (width - 1), (1 << width) - 1
    functions: dict[str, tuple[Callable[[int, int], int], bool]] = {
        "AbsISubINTEL": (lambda a, b: abs(a - b), True),
        "AbsUSubINTEL": (lambda a, b: abs(a - b), False),
        "IAddSatINTEL": (clamped(-half, half - 1, lambda a, b: a + b), True),
        "UAddSatINTEL": (clamped(0, full, lambda a, b: a + b), False),
        "ISubSatINTEL": (clamped(-half, half - 1, lambda a, b: a - b), True),
        "USubSatINTEL": (clamped(0, full, lambda a, b: a - b), False),
        "IAverageINTEL": (lambda a, b: (a + b) >> 1, True),
        "UAverageINTEL": (lambda a, b: (a + b) >> 1, False),
        "IAverageRoundedINTEL": (lambda a, b: (a + b + 1) >> 1, True),
        "UAverageRoundedINTEL": (lambda a, b: (a + b + 1) >> 1, False),
    }
    pair = [(kind, first), (kind, second)]
    integer2 = {
        "capabilities": ("IntegerFunctions2INTEL",),
        "extensions": ("SPV_INTEL_shader_integer_functions2",),
    }
    for op, (compute, is_signed) in functions.items():
        case(
            f"{op}-{kind}",
            f"%r = Op{op} %{kind} %a %b",
            pair,
            kind,
            exactly(compute, is_signed),
            **integer2,
        )
    case(
        f"UCountLeadingZerosINTEL-{kind}",
        f"%r = OpUCountLeadingZerosINTEL %{kind} %a",
        pair,
        kind,
        exactly(lambda a, b, width=width: width - a.bit_length(), False),
        **integer2,
    )
    case(
        f"UCountTrailingZerosINTEL-{kind}",
        f"%r = OpUCountTrailingZerosINTEL %{kind} %a",
        pair,
        kind,
        exactly(lambda a, b, width=width: (a & -a).bit_length() - 1 if a else width, False),
        **integer2,
    )
for op, is_signed in (("IMul32x16INTEL", True), ("UMul32x16INTEL", False)):
    case(
        op,
        f"%r = Op{op} %u32 %a %b",
        TRIPLE[:2],
        "u32",
        lambda a, b, is_signed=is_signed: (
            a
            * (b.astype(np.uint16).view(np.int16) if is_signed else b.astype(np.uint16)).astype(
                np.int64
            )
        ),
        capabilities=("IntegerFunctions2INTEL",),
        extensions=("SPV_INTEL_shader_integer_functions2",),
    )

# --- Integers of any width ------------------------------------------------------------------------

ODD = {
    "capabilities": ("ArbitraryPrecisionIntegersINTEL",),
    "extensions": ("SPV_INTEL_arbitrary_precision_integers",),
}


def wrapped(compute: Callable[[int, int], int], width: int, is_signed: bool) -> Callable:
    """An operation on integers of a width, whose results are widened again."""

    def value(bits: int) -> int:
        bits &= (1 << width) - 1
        return bits - (1 << width) if is_signed and bits >> (width - 1) else bits

    def apply(a: Array, b: Array) -> Array:
        pairs = zip(a.tolist(), b.tolist(), strict=True)
        return np.array(
            [value(compute(value(x), value(y))) % (1 << 64) for x, y in pairs], np.uint64
        )

    return apply


LONGS = [unsigned(64), unsigned(64)]
OPERATIONS: dict[str, tuple[Callable[[int, int], int], bool]] = {
    "IAdd": (lambda a, b: a + b, False),
    "ISub": (lambda a, b: a - b, True),
    "IMul": (lambda a, b: a * b, False),
    "UDiv": (lambda a, b: a // b if b else a, False),
    "BitwiseXor": (lambda a, b: a ^ b, False),
    "ShiftLeftLogical": (lambda a, b: a << (b & 1), False),
}
for width in (2, 3, 4, 7, 12, 17, 24, 33, 48, 63):
    for op, (compute, is_signed) in OPERATIONS.items():
        amount = "%y"
        steps = f"%x = OpUConvert %u{width} %a\n%y = OpUConvert %u{width} %b\n"
        if op == "ShiftLeftLogical":
            steps += f"%amount = OpBitwiseAnd %u{width} %y %u{width}:1\n"
            amount = "%amount"
        widen = "OpSConvert" if is_signed else "OpUConvert"
        case(
            f"{op}-u{width}",
            f"{steps}%z = Op{op} %u{width} %x {amount}\n%r = {widen} %u64 %z",
            [("u64", LONGS[0]), ("u64", LONGS[1])],
            "u64",
            wrapped(compute, width, is_signed),
            **ODD,
        )
    case(
        f"memory-u{width}",
        f"""
        %x = OpUConvert %u{width} %a
        %y = OpUConvert %u{width} %b
        %cells = OpVariable %p*row.{width} Function
        %first = OpInBoundsAccessChain %p*u{width} %cells %u32:0
        %second = OpInBoundsAccessChain %p*u{width} %cells %u32:1
        OpStore %first %x
        OpStore %second %y
        %low = OpBitwiseAnd %u64 %a %u64:1
        %at = OpInBoundsAccessChain %p*u{width} %cells %low
        %z = OpLoad %u{width} %at
        %r = OpUConvert %u64 %z
        """,
        [("u64", LONGS[0]), ("u64", LONGS[1])],
        "u64",
        lambda a, b, width=width: np.where(a & 1, b, a) & np.uint64((1 << width) - 1),
        declarations=f"%row.{width} = OpTypeArray %u{width} %u32:2\n"
        f"%p*row.{width} = OpTypePointer Function %row.{width}",
        **ODD,
    )
case(
    "vector-of-odd-integers",
    "%x = OpUConvert %u12 %a\n%y = OpUConvert %u12 %b\n%v = OpCompositeConstruct %v2u12 %x %y\n"
    "%w = OpIMul %v2u12 %v %v\n%r = OpUConvert %v2u64 %w",
    [("u64", LONGS[0]), ("u64", LONGS[1])],
    "v2u64",
    lambda a, b: np.stack([a * a & np.uint64(4095), b * b & np.uint64(4095)], axis=1),
    **ODD,
)
case(
    "wide-integers",
    "%x = OpUConvert %u128 %a\n%y = OpUConvert %u128 %b\n%z = OpIMul %u128 %x %y\n"
    "%high = OpShiftRightLogical %u128 %z %u128:64\n%r = OpUConvert %u64 %high",
    [("u64", LONGS[0]), ("u64", LONGS[1])],
    "u64",
    lambda a, b: np.array(
        [x * y >> 64 for x, y in zip(a.tolist(), b.tolist(), strict=True)], np.uint64
    ),
    **ODD,
)

# --- The rest of the extensions -------------------------------------------------------------------

NUMBERS = [np.nan_to_num(floats(32), posinf=2, neginf=3).astype(np.float32) for _ in range(3)]
NUMBERS = [np.where(np.abs(each) < 1e6, each, 1).astype(np.float32) for each in NUMBERS]
case(
    "FmaKHR",
    "%r = OpFmaKHR %f32 %a %b %c",
    [("f32", each) for each in NUMBERS],
    "f32",
    lambda a, b, c: (a.astype(np.longdouble) * b + c).astype(np.float32),
    capabilities=("FMAKHR",),
    extensions=("SPV_KHR_fma",),
)
case(
    "ArithmeticFenceEXT",
    "%sum = OpFAdd %f32 %a %b\n%kept = OpArithmeticFenceEXT %f32 %sum\n%r = OpFSub %f32 %kept %b",
    [("f32", NUMBERS[0]), ("f32", NUMBERS[1])],
    "f32",
    lambda a, b: (a + b) - b,
    capabilities=("ArithmeticFenceEXT",),
    extensions=("SPV_EXT_arithmetic_fence",),
)
case(
    "expect-and-assume",
    "%small = OpULessThan %bool %a %u32:0xFFFFFFFF\nOpAssumeTrueKHR %bool:true\n"
    "%r = OpExpectKHR %bool %small %bool:true",
    [("u32", WORDS[0])],
    "bool",
    lambda a: a < 0xFFFFFFFF,
    capabilities=("ExpectAssumeKHR",),
    extensions=("SPV_KHR_expect_assume",),
)
case(
    "ReadClockKHR",
    "%first = OpReadClockKHR %u64 %u32:1\n%second = OpReadClockKHR %u64 %u32:1\n"
    "%halves = OpReadClockKHR %v2u32 %u32:1\n%third = OpBitcast %u64 %halves\n"
    "%up = OpULessThanEqual %bool %first %second\n%on = OpULessThanEqual %bool %second %third\n"
    "%r = OpLogicalAnd %bool %up %on",
    [("u32", WORDS[0])],
    "bool",
    np.ones(COUNT),
    capabilities=("ShaderClockKHR",),
    extensions=("SPV_KHR_shader_clock",),
)
