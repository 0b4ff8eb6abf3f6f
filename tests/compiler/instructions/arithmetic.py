"""Cases of arithmetic: what each instruction computes for integers and floats of all widths."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tests.compiler.instructions.instruction_support import Array, case

COUNT = 176
INTEGERS = (8, 16, 32, 64)
FLOATS = (16, 32, 64)
RANDOM = np.random.default_rng(11)


def unsigned(width: int) -> Array:
    """Numbers of a width, those at the edges among them."""
    edges = [0, 1, 2, 3, 7, (1 << width) - 1, (1 << width) - 2, 1 << (width - 1)]
    edges += [(1 << (width - 1)) - 1, (1 << (width - 1)) + 1]
    some = RANDOM.integers(0, 1 << width, COUNT, np.uint64, endpoint=False)
    some[: len(edges)] = edges
    return RANDOM.permutation(some).astype(f"u{width // 8}")


def floats(width: int) -> Array:
    """Numbers of a width, special ones among them."""
    kind = np.dtype(f"f{width // 8}")
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, math.inf, -math.inf, math.nan, 3.5, -7.25]
    limits = np.finfo(kind)
    edges += [float(limits.max), float(limits.tiny), float(limits.smallest_subnormal)]
    some = (RANDOM.standard_normal(COUNT) * 10.0 ** RANDOM.integers(-3, 4, COUNT)).astype(kind)
    some[: len(edges)] = np.array(edges, np.float64).astype(kind)
    return RANDOM.permutation(some)


def signed(data: Array) -> Array:
    return data.view(f"i{data.dtype.itemsize}")


def exactly(compute: Callable[[int, int], int], is_signed: bool) -> Callable[[Array, Array], Array]:
    """An operation on integers without limits, wrapped to their width."""

    def apply(a: Array, b: Array) -> Array:
        width = 8 * a.dtype.itemsize
        x, y = (signed(a), signed(b)) if is_signed else (a, b)
        pairs = zip(x.tolist(), y.tolist(), strict=True)
        return np.array([compute(p, q) % (1 << width) for p, q in pairs], a.dtype)

    return apply


def truncated(a: int, b: int) -> int:
    """A quotient rounded toward zero, or some number where there is none."""
    if b == 0:
        return a
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "IAdd": exactly(lambda a, b: a + b, False),
    "ISub": exactly(lambda a, b: a - b, False),
    "IMul": exactly(lambda a, b: a * b, False),
    "BitwiseAnd": exactly(lambda a, b: a & b, False),
    "BitwiseOr": exactly(lambda a, b: a | b, False),
    "BitwiseXor": exactly(lambda a, b: a ^ b, False),
    "UDiv": exactly(lambda a, b: a // b if b else a, False),
    "SDiv": exactly(truncated, True),
    "UMod": exactly(lambda a, b: a % b if b else a, False),
    "SRem": exactly(lambda a, b: a - truncated(a, b) * b if b else a, True),
    "SMod": exactly(lambda a, b: a % b if b else a, True),
}
COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "IEqual": lambda a, b: a == b,
    "INotEqual": lambda a, b: a != b,
    "UGreaterThan": lambda a, b: a > b,
    "UGreaterThanEqual": lambda a, b: a >= b,
    "ULessThan": lambda a, b: a < b,
    "ULessThanEqual": lambda a, b: a <= b,
    "SGreaterThan": lambda a, b: signed(a) > signed(b),
    "SGreaterThanEqual": lambda a, b: signed(a) >= signed(b),
    "SLessThan": lambda a, b: signed(a) < signed(b),
    "SLessThanEqual": lambda a, b: signed(a) <= signed(b),
}
UNARY: dict[str, Callable[[Array], Array]] = {
    "SNegate": lambda a: (0 - a.astype(object)) % (1 << 8 * a.dtype.itemsize),
    "Not": lambda a: ~a,
    "BitCount": lambda a: np.array([bin(each).count("1") for each in a.tolist()]),
    "BitReverse": lambda a: np.array(
        [int(f"{each:0{8 * a.dtype.itemsize}b}"[::-1], 2) for each in a.tolist()], a.dtype
    ),
}
for width in INTEGERS:
    first, second = unsigned(width), unsigned(width)
    second[:20] = first[:20]
    kind = f"u{width}"
    pair = [(kind, first), (kind, second)]
    for op, compute in BINARY.items():
        case(f"{op}-{kind}", f"%r = Op{op} %{kind} %a %b", pair, kind, compute)
    for op, compute in COMPARISONS.items():
        case(f"{op}-{kind}", f"%r = Op{op} %bool %a %b", pair, "bool", compute)
    for op, single in UNARY.items():
        case(f"{op}-{kind}", f"%r = Op{op} %{kind} %a", [(kind, first)], kind, single)
    amounts = (second % width).astype(second.dtype)
    shifts: dict[str, Callable[[Array, Array], Array]] = {
        "ShiftLeftLogical": exactly(lambda a, b: a << b, False),
        "ShiftRightLogical": exactly(lambda a, b: a >> b, False),
        "ShiftRightArithmetic": exactly(lambda a, b: a >> b, True),
    }
    for op, compute in shifts.items():
        given = [(kind, first), (kind, amounts)]
        case(f"{op}-{kind}", f"%r = Op{op} %{kind} %a %b", given, kind, compute)

WORDS = unsigned(32)
case(
    "ShiftLeftLogical-by-another-width",
    "%r = OpShiftLeftLogical %u32 %a %b",
    [("u32", WORDS), ("u8", (WORDS % 32).astype(np.uint8))],
    "u32",
    lambda a, b: a << b,
)
case(
    "ShiftRightLogical-by-a-wider-amount",
    "%r = OpShiftRightLogical %u16 %a %b",
    [("u16", unsigned(16)), ("u64", (WORDS % 16).astype(np.uint64))],
    "u16",
    lambda a, b: a >> b.astype(np.uint16),
)

# --- Two results ----------------------------------------------------------------------------------

PAIRS = {
    "IAddCarry": lambda a, b, width: (a + b, (a + b) >> width),
    "ISubBorrow": lambda a, b, width: (a - b, int(a < b)),
    "UMulExtended": lambda a, b, width: (a * b, a * b >> width),
    "SMulExtended": lambda a, b, width: (a * b, a * b >> width),
}
for width in INTEGERS:
    kind, first, second = f"u{width}", unsigned(width), unsigned(width)
    for op, both in PAIRS.items():
        is_signed = op == "SMulExtended"
        for part in (0, 1):
            case(
                f"{op}-{kind}-{part}",
                f"%p = Op{op} %two %a %b\n%r = OpCompositeExtract %{kind} %p {part}",
                [(kind, first), (kind, second)],
                kind,
                exactly(
                    lambda a, b, both=both, part=part, width=width: both(a, b, width)[part],  # type: ignore[misc]
                    is_signed,
                ),
                declarations=f"%two = OpTypeStruct %{kind} %{kind}",
            )

# --- Floating-point numbers -----------------------------------------------------------------------


def modulo(a: Array, b: Array) -> Array:
    """The remainder with the sign of the divisor, as C's fmod gives it with the other sign."""
    rest = np.fmod(a, b)
    wrong = (rest != 0) & (np.signbit(rest) != np.signbit(b))
    return np.copysign(np.where(wrong, rest + b, rest), b).astype(a.dtype)


FLOAT_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "FAdd": lambda a, b: a + b,
    "FSub": lambda a, b: a - b,
    "FMul": lambda a, b: a * b,
    "FDiv": lambda a, b: a / b,
    "FRem": np.fmod,
    "FMod": modulo,
}
ORDERS: dict[str, Callable[[Array, Array], Array]] = {
    "Equal": lambda a, b: a == b,
    "LessThan": lambda a, b: a < b,
    "GreaterThan": lambda a, b: a > b,
    "LessThanEqual": lambda a, b: a <= b,
    "GreaterThanEqual": lambda a, b: a >= b,
}


def unordered(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)


FLOAT_COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "FOrdNotEqual": lambda a, b: (a != b) & ~unordered(a, b),
    "FUnordNotEqual": lambda a, b: a != b,
    "LessOrGreater": lambda a, b: (a < b) | (a > b),
    "Ordered": lambda a, b: ~unordered(a, b),
    "Unordered": unordered,
}
FLOAT_COMPARISONS |= {f"FOrd{name}": compare for name, compare in ORDERS.items()}
FLOAT_COMPARISONS |= {
    f"FUnord{name}": (lambda a, b, compare=compare: compare(a, b) | unordered(a, b))
    for name, compare in ORDERS.items()
}
CLASSES: dict[str, Callable[[Array], Array]] = {
    "IsNan": np.isnan,
    "IsInf": np.isinf,
    "IsFinite": np.isfinite,
    "IsNormal": lambda a: np.isfinite(a) & (np.abs(a) >= np.finfo(a.dtype).tiny),
    "SignBitSet": np.signbit,
}
for width in FLOATS:
    kind, first, second = f"f{width}", floats(width), floats(width)
    second[:20] = first[:20]
    pair = [(kind, first), (kind, second)]
    for op, compute in FLOAT_BINARY.items():
        case(f"{op}-{kind}", f"%r = Op{op} %{kind} %a %b", pair, kind, compute)
    case(f"FNegate-{kind}", f"%r = OpFNegate %{kind} %a", [(kind, first)], kind, lambda a: -a)
    for op, compute in FLOAT_COMPARISONS.items():
        case(f"{op}-{kind}", f"%r = Op{op} %bool %a %b", pair, "bool", compute)
    for op, single in CLASSES.items():
        case(f"{op}-{kind}", f"%r = Op{op} %bool %a", [(kind, first)], "bool", single)

PARTS = np.stack([floats(32) for _ in range(4)], axis=1)
PARTS = np.where(np.isfinite(PARTS) & (np.abs(PARTS) < 1e18), PARTS, 2).astype(np.float32)
SCALE = PARTS[::-1, 0].copy()
case(
    "VectorTimesScalar",
    "%r = OpVectorTimesScalar %v4f32 %a %b",
    [("v4f32", PARTS), ("f32", SCALE)],
    "v4f32",
    lambda a, b: a * b[:, None],
)
SMALL = RANDOM.integers(-9, 9, (COUNT, 3)).astype(np.float32)
case(
    "Dot",
    "%r = OpDot %f32 %a %b",
    [("v3f32", SMALL), ("v3f32", SMALL[::-1].copy())],
    "f32",
    lambda a, b: (a * b).sum(axis=1),
)

# --- Truths ---------------------------------------------------------------------------------------

LOGIC: dict[str, Callable[[Array, Array], Array]] = {
    "LogicalAnd": lambda a, b: a & b,
    "LogicalOr": lambda a, b: a | b,
    "LogicalEqual": lambda a, b: a == b,
    "LogicalNotEqual": lambda a, b: a != b,
}
BITS = RANDOM.integers(0, 2, (COUNT, 2)).astype(np.uint8)
TRUTHS = "\n".join(f"%t{name} = OpINotEqual %v2bool %{name} %v2u8:0,0" for name in ("a", "b"))
for op, compute in LOGIC.items():
    case(
        op,
        f"{TRUTHS}\n%r = Op{op} %v2bool %ta %tb",
        [("v2u8", BITS), ("v2u8", BITS[::-1].copy())],
        "v2bool",
        compute,
    )
case(
    "LogicalNot",
    f"{TRUTHS.splitlines()[0]}\n%r = OpLogicalNot %v2bool %ta",
    [("v2u8", BITS)],
    "v2bool",
    lambda a: 1 - a,
)
for op, reduce in (("All", np.all), ("Any", np.any)):
    case(
        op,
        f"{TRUTHS.splitlines()[0]}\n%r = Op{op} %bool %ta",
        [("v2u8", BITS)],
        "bool",
        lambda a, reduce=reduce: reduce(a, axis=1),
    )
SELECTED = [("v2u8", BITS), ("v2u32", np.arange(2 * COUNT).reshape(-1, 2))]
case(
    "Select",
    f"{TRUTHS.splitlines()[0]}\n%r = OpSelect %v2u32 %ta %b %v2u32:7,9",
    SELECTED,
    "v2u32",
    lambda a, b: np.where(a != 0, b, [7, 9]),
)
case(
    "Select-whole",
    f"{TRUTHS.splitlines()[0]}\n%first = OpCompositeExtract %bool %ta 0\n"
    "%r = OpSelect %v2u32 %first %b %v2u32:7,9",
    SELECTED,
    "v2u32",
    lambda a, b: np.where(a[:, :1] != 0, b, [7, 9]),
)
