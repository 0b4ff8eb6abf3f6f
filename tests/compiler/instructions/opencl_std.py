"""Cases of the extended instructions of OpenCL.std: each of them, by its number.

How precise they are over their whole range is for test_math_*; here it is that each does what its
name says, with one lane and with several.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.compiler.instructions.arithmetic import COUNT, RANDOM, exactly, signed, unsigned
from tests.compiler.instructions.instruction_support import Array, case

ANY = RANDOM.uniform(-8, 8, COUNT).astype(np.float32)
OTHER = RANDOM.uniform(-8, 8, COUNT).astype(np.float32)
THIRD = RANDOM.uniform(-8, 8, COUNT).astype(np.float32)
UNIT = RANDOM.uniform(-1, 1, COUNT).astype(np.float32)
POSITIVE = RANDOM.uniform(0.1, 20, COUNT).astype(np.float32)
OVER_ONE = POSITIVE + 1
WHOLE = RANDOM.integers(1, 6, COUNT).astype(np.uint32)
ROUGH = 8192.0
"""How many units in the last place functions called half_ and native_ may be off."""


def each(compute: Callable[..., Any]) -> Callable[..., Array]:
    """A function of Python, for each item."""

    def apply(*given: Array) -> Array:
        return np.array([compute(*row) for row in zip(*(a.tolist() for a in given), strict=True)])

    return apply


def floats(name: str, compute: Callable[..., Any], *data: Array, ulp: float = 0.0) -> None:
    """A case of a function of floats."""
    names = " ".join(f"%{chr(ord('a') + index)}" for index in range(len(data)))
    inputs = [("f32" if a.dtype.kind == "f" else "u32", a) for a in data]
    body = f"%r = OpExtInst %f32 %cl {name} {names}"
    case(name, body, inputs, "f32", each(compute), ulp=ulp)


def power_of_ten(x: float) -> float:
    return 10.0**x


def root(x: float) -> float:
    return math.copysign(abs(x) ** (1 / 3), x)


UNARY: dict[str, tuple[Callable[[float], float], Array, float]] = {
    "acos": (math.acos, UNIT, 4),
    "acosh": (math.acosh, OVER_ONE, 4),
    "acospi": (lambda x: math.acos(x) / math.pi, UNIT, 5),
    "asin": (math.asin, UNIT, 4),
    "asinh": (math.asinh, ANY, 4),
    "asinpi": (lambda x: math.asin(x) / math.pi, UNIT, 5),
    "atan": (math.atan, ANY, 5),
    "atanh": (math.atanh, UNIT, 5),
    "atanpi": (lambda x: math.atan(x) / math.pi, ANY, 5),
    "cbrt": (root, ANY, 2),
    "ceil": (math.ceil, ANY, 0.1),
    "cos": (math.cos, ANY, 4),
    "cosh": (math.cosh, ANY, 4),
    "cospi": (lambda x: math.cos(math.pi * math.fmod(x, 2)), UNIT, 4),
    "erfc": (math.erfc, UNIT, 16),
    "erf": (math.erf, ANY, 16),
    "exp": (math.exp, ANY, 3),
    "exp2": (lambda x: 2.0**x, ANY, 3),
    "exp10": (power_of_ten, ANY, 3),
    "expm1": (math.expm1, ANY, 3),
    "fabs": (abs, ANY, 0.1),
    "floor": (math.floor, ANY, 0.1),
    "lgamma": (math.lgamma, OVER_ONE + 2, 16),
    "log": (math.log, POSITIVE, 3),
    "log2": (math.log2, POSITIVE, 3),
    "log10": (math.log10, POSITIVE, 3),
    "log1p": (math.log1p, POSITIVE, 2),
    "logb": (lambda x: math.frexp(x)[1] - 1, ANY, 0.1),
    "rint": (round, ANY, 0.1),
    "round": (lambda x: math.copysign(math.floor(abs(x) + 0.5), x), ANY, 0.1),
    "rsqrt": (lambda x: 1 / math.sqrt(x), POSITIVE, 2),
    "sin": (math.sin, ANY, 4),
    "sinh": (math.sinh, ANY, 4),
    "sinpi": (lambda x: math.sin(math.pi * x), UNIT, 4),
    "sqrt": (math.sqrt, POSITIVE, 3),
    "tan": (math.tan, ANY, 5),
    "tanh": (math.tanh, ANY, 5),
    "tanpi": (lambda x: math.tan(math.pi * x), UNIT / 3, 6),
    "tgamma": (math.gamma, POSITIVE, 16),
    "trunc": (math.trunc, ANY, 0.1),
    "half_recip": (lambda x: 1 / x, ANY, ROUGH),
    "half_sqrt": (math.sqrt, POSITIVE, ROUGH),
    "native_recip": (lambda x: 1 / x, ANY, ROUGH),
    "native_sqrt": (math.sqrt, POSITIVE, ROUGH),
    "degrees": (math.degrees, ANY, 2),
    "radians": (math.radians, ANY, 2),
    "sign": (lambda x: math.copysign(1, x), ANY, 0.1),
}
for name in ("cos", "exp", "exp2", "exp10", "log", "log2", "log10", "rsqrt", "sin", "tan"):
    compute, data, _ = UNARY[name]
    for prefix in ("half", "native"):
        UNARY[f"{prefix}_{name}"] = (compute, data, ROUGH)
for name, (compute, data, ulp) in UNARY.items():
    floats(name, compute, data, ulp=ulp)


def nearest_even_remainder(x: float, y: float) -> float:
    return math.remainder(x, y)


BINARY: dict[str, tuple[Callable[[float, float], float], Array, Array, float]] = {
    "atan2": (math.atan2, ANY, OTHER, 6),
    "atan2pi": (lambda x, y: math.atan2(x, y) / math.pi, ANY, OTHER, 6),
    "copysign": (math.copysign, ANY, OTHER, 0.1),
    "fdim": (lambda x, y: max(x - y, 0.0), ANY, OTHER, 1),
    "fmax": (max, ANY, OTHER, 0.1),
    "fmin": (min, ANY, OTHER, 0.1),
    "fmod": (math.fmod, ANY, OTHER, 0.1),
    "hypot": (math.hypot, ANY, OTHER, 4),
    "maxmag": (lambda x, y: x if abs(x) > abs(y) else y, ANY, OTHER, 0.1),
    "minmag": (lambda x, y: x if abs(x) < abs(y) else y, ANY, OTHER, 0.1),
    "pow": (math.pow, POSITIVE, OTHER, 16),
    "powr": (math.pow, POSITIVE, OTHER, 16),
    "remainder": (nearest_even_remainder, ANY, OTHER, 0.1),
    "half_divide": (lambda x, y: x / y, ANY, OTHER, ROUGH),
    "half_powr": (math.pow, POSITIVE, UNIT, ROUGH),
    "native_divide": (lambda x, y: x / y, ANY, OTHER, ROUGH),
    "native_powr": (math.pow, POSITIVE, UNIT, ROUGH),
    "fmax_common": (max, ANY, OTHER, 0.1),
    "fmin_common": (min, ANY, OTHER, 0.1),
    "step": (lambda edge, x: 0.0 if x < edge else 1.0, ANY, OTHER, 0.1),
    "pown": (lambda x, n: x**n, ANY, WHOLE, 16),
    "rootn": (lambda x, n: x ** (1 / n), POSITIVE, WHOLE, 16),
    "ldexp": (math.ldexp, ANY, WHOLE, 0.1),
}
for name, (operation, first, second, ulp) in BINARY.items():
    floats(name, operation, first, second, ulp=ulp)
case(
    "nextafter",
    "%r = OpExtInst %f32 %cl nextafter %a %b",
    [("f32", ANY), ("f32", OTHER)],
    "f32",
    np.nextafter,
)


def smooth(low: float, high: float, x: float) -> float:
    t = min(max((x - low) / (high - low), 0.0), 1.0)
    return t * t * (3 - 2 * t)


LOW = -np.abs(OTHER)
TERNARY: dict[str, tuple[Callable[..., float], tuple[Array, Array, Array], float]] = {
    "fma": (lambda x, y, z: x * y + z, (ANY, OTHER, THIRD), 1),
    "mad": (lambda x, y, z: x * y + z, (POSITIVE, POSITIVE, POSITIVE), 2),
    "fclamp": (lambda x, low, high: min(max(x, low), high), (ANY, LOW, POSITIVE), 0.1),
    "mix": (lambda x, y, t: x + (y - x) * t, (POSITIVE, OVER_ONE + 20, np.abs(UNIT)), 4),
    "smoothstep": (smooth, (LOW, POSITIVE, POSITIVE * 0.5), 16),
}
for name, (function, (a, b, c), ulp) in TERNARY.items():
    floats(name, function, a, b, c, ulp=ulp)

# --- Second results in memory ---------------------------------------------------------------------


def with_second(
    name: str, compute: Callable[..., tuple[Any, Any]], second: str, *data: Array
) -> None:
    """Both results of a function, the second of which goes to memory."""
    names = " ".join(f"%{chr(ord('a') + index)}" for index in range(len(data)))
    inputs = [("f32", a) for a in data]
    call = (
        f"%second = OpVariable %p*{second} Function\n"
        f"%first = OpExtInst %f32 %cl {name} {names} %second\n"
    )
    first_body = call + "%r = OpCopyObject %f32 %first"
    case(f"{name}-first", first_body, inputs, "f32", each(lambda *x: compute(*x)[0]), ulp=16)
    more = {"ulp": 16.0} if second == "f32" else {}
    case(
        f"{name}-second",
        call + f"%r = OpLoad %{second} %second",
        inputs,
        second,
        each(lambda *x: compute(*x)[1]),
        **more,
    )


def quotient(x: float, y: float) -> tuple[float, int]:
    rest = math.remainder(x, y)
    whole = round((x - rest) / y)
    low = abs(whole) & 0x7F
    return rest, (-low if whole < 0 else low) % (1 << 32)


with_second("fract", lambda x: (x - math.floor(x), math.floor(x)), "f32", POSITIVE)
with_second("modf", lambda x: math.modf(x), "f32", ANY)
with_second("sincos", lambda x: (math.sin(x), math.cos(x)), "f32", ANY)
with_second("frexp", lambda x: (math.frexp(x)[0], math.frexp(x)[1] % (1 << 32)), "u32", ANY)
with_second("lgamma_r", lambda x: (math.lgamma(x), 1), "u32", OVER_ONE + 2)
with_second("remquo", quotient, "u32", ANY, OTHER)
case(
    "ilogb",
    "%r = OpExtInst %u32 %cl ilogb %a",
    [("f32", ANY)],
    "u32",
    each(lambda x: (math.frexp(x)[1] - 1) % (1 << 32)),
)
case(
    "nan",
    "%nan = OpExtInst %f32 %cl nan %a\n%r = OpBitcast %u32 %nan",
    [("u32", WHOLE)],
    "u32",
    lambda a: 0x7FC00000 | a,
)

# --- Whole vectors --------------------------------------------------------------------------------

FIRST, SECOND = (RANDOM.uniform(1, 3, (COUNT, 3)).astype(np.float32) for _ in range(2))
VECTORS = [("v3f32", FIRST), ("v3f32", SECOND * 7)]


def norm(a: Array) -> Array:
    return np.sqrt((a.astype(np.float64) ** 2).sum(axis=1))


for prefix, ulp in (("", 8.0), ("fast_", ROUGH)):
    case(
        f"{prefix}length",
        f"%r = OpExtInst %f32 %cl {prefix}length %a",
        VECTORS,
        "f32",
        lambda a, b: norm(a),
        ulp=ulp,
    )
    case(
        f"{prefix}distance",
        f"%r = OpExtInst %f32 %cl {prefix}distance %a %b",
        VECTORS,
        "f32",
        lambda a, b: norm(a.astype(np.float64) - b),
        ulp=ulp,
    )
    case(
        f"{prefix}normalize",
        f"%v = OpExtInst %v3f32 %cl {prefix}normalize %a\n%r = OpCompositeExtract %f32 %v 1",
        VECTORS,
        "f32",
        lambda a, b: a[:, 1] / norm(a),
        ulp=ulp,
    )
case(
    "cross",
    "%v = OpExtInst %v3f32 %cl cross %a %b\n%r = OpCompositeExtract %f32 %v 2",
    VECTORS,
    "f32",
    lambda a, b: a[:, 0].astype(np.float64) * b[:, 1] - a[:, 1].astype(np.float64) * b[:, 0],
    ulp=4096,
)
FOURS, MASKS = unsigned(32).reshape(-1, 4), RANDOM.integers(0, 8, (COUNT // 4, 4)).astype(np.uint32)
ROWS = np.arange(COUNT // 4)[:, None]
case(
    "shuffle",
    "%r = OpExtInst %v4u32 %cl shuffle %a %b",
    [("v4u32", FOURS), ("v4u32", MASKS)],
    "v4u32",
    lambda a, b: a[ROWS, b % 4],
)
case(
    "shuffle2",
    "%other = OpNot %v4u32 %a\n%r = OpExtInst %v4u32 %cl shuffle2 %a %other %b",
    [("v4u32", FOURS), ("v4u32", MASKS)],
    "v4u32",
    lambda a, b: np.concatenate([a, ~a], axis=1)[ROWS, b],
)

# --- Integers -------------------------------------------------------------------------------------


def clamp(low: int, high: int) -> Callable[[int], int]:
    return lambda value: max(low, min(high, value))


def integer_functions(width: int) -> dict[str, tuple[Callable[..., int], bool]]:
    """What functions of two integers compute, and whether they have a sign."""
    half, full = 1 << (width - 1), (1 << width) - 1
    fit_signed, fit = clamp(-half, half - 1), clamp(0, full)
    return {
        "s_abs_diff": (lambda a, b: abs(a - b), True),
        "u_abs_diff": (lambda a, b: abs(a - b), False),
        "s_add_sat": (lambda a, b: fit_signed(a + b), True),
        "u_add_sat": (lambda a, b: fit(a + b), False),
        "s_sub_sat": (lambda a, b: fit_signed(a - b), True),
        "u_sub_sat": (lambda a, b: fit(a - b), False),
        "s_hadd": (lambda a, b: (a + b) >> 1, True),
        "u_hadd": (lambda a, b: (a + b) >> 1, False),
        "s_rhadd": (lambda a, b: (a + b + 1) >> 1, True),
        "u_rhadd": (lambda a, b: (a + b + 1) >> 1, False),
        "s_max": (max, True),
        "u_max": (max, False),
        "s_min": (min, True),
        "u_min": (min, False),
        "s_mul_hi": (lambda a, b: a * b >> width, True),
        "u_mul_hi": (lambda a, b: a * b >> width, False),
        "rotate": (lambda a, b: a << b % width | a >> (width - b % width), False),
    }


for width in (8, 16, 32, 64):
    kind, one, two, three = f"u{width}", unsigned(width), unsigned(width), unsigned(width)
    pair = [(kind, one), (kind, two)]
    for name, (function, is_signed) in integer_functions(width).items():
        body = f"%r = OpExtInst %{kind} %cl {name} %a %b"
        case(f"{name}-{kind}", body, pair, kind, exactly(function, is_signed))
    singles: dict[str, Callable[[Array], Array]] = {
        "s_abs": lambda a: np.abs(signed(a).astype(object)) % (1 << 8 * a.dtype.itemsize),
        "u_abs": lambda a: a,
        "clz": each(lambda a, width=width: width - a.bit_length()),
        "ctz": each(lambda a, width=width: (a & -a).bit_length() - 1 if a else width),
        "popcount": each(lambda a: a.bit_count()),
    }
    for name, single in singles.items():
        body = f"%r = OpExtInst %{kind} %cl {name} %a"
        case(f"{name}-{kind}", body, [(kind, one)], kind, single)
    half, full = 1 << (width - 1), (1 << width) - 1
    triple = [(kind, one), (kind, two), (kind, three)]
    triples: dict[str, tuple[Callable[[int, int, int], int], bool]] = {
        "s_mad_hi": (lambda a, b, c, width=width: (a * b >> width) + c, True),
        "u_mad_hi": (lambda a, b, c, width=width: (a * b >> width) + c, False),
        "s_mad_sat": (
            lambda a, b, c, half=half: max(-half, min(half - 1, a * b + c)),
            True,
        ),
        "u_mad_sat": (lambda a, b, c, full=full: min(full, a * b + c), False),
        "bitselect": (lambda a, b, c: a & ~c | b & c, False),
        "select": (lambda a, b, c: b if c else a, False),
    }

    def of_three(compute: Callable[[int, int, int], int], is_signed: bool) -> Callable[..., Array]:
        def apply(*given: Array) -> Array:
            kind = given[0].dtype
            values = [signed(a) if is_signed else a for a in given]
            rows = zip(*(a.tolist() for a in values), strict=True)
            return np.array([compute(*row) % (1 << 8 * kind.itemsize) for row in rows], kind)

        return apply

    for name, (function3, is_signed) in triples.items():
        body = f"%r = OpExtInst %{kind} %cl {name} %a %b %c"
        case(f"{name}-{kind}", body, triple, kind, of_three(function3, is_signed))
    for name, is_signed in (("s_clamp", True), ("u_clamp", False)):
        body = (
            f"%least = OpExtInst %{kind} %cl {name[0]}_min %b %c\n"
            f"%most = OpExtInst %{kind} %cl {name[0]}_max %b %c\n"
            f"%r = OpExtInst %{kind} %cl {name} %a %least %most"
        )
        bounded = of_three(lambda a, b, c: min(max(a, min(b, c)), max(b, c)), is_signed)
        case(f"{name}-{kind}", body, triple, kind, bounded)
    if width < 64:
        wide = f"u{2 * width}"
        for name in ("s_upsample", "u_upsample"):
            case(
                f"{name}-{kind}",
                f"%r = OpExtInst %{wide} %cl {name} %a %b",
                pair,
                wide,
                lambda a, b, width=width: a.astype(f"u{width // 4}") << width | b,
            )
SMALL = [unsigned(32) & 0x7FFFFF for _ in range(2)]
ADDED = unsigned(32)
for sign in "su":
    case(
        f"{sign}_mul24",
        f"%r = OpExtInst %u32 %cl {sign}_mul24 %a %b",
        [("u32", SMALL[0]), ("u32", SMALL[1])],
        "u32",
        lambda a, b: a * b,
    )
    case(
        f"{sign}_mad24",
        f"%r = OpExtInst %u32 %cl {sign}_mad24 %a %b %c",
        [("u32", SMALL[0]), ("u32", SMALL[1]), ("u32", ADDED)],
        "u32",
        lambda a, b, c: a * b + c,
    )

# --- Memory ---------------------------------------------------------------------------------------

NUMBERS = RANDOM.integers(-99, 99, (COUNT, 4)).astype(np.float32)
HALVES = NUMBERS.astype(np.float16)
ROOM = "%room = OpVariable %p*rows Function"
ROOM_TYPES = """
%rows = OpTypeArray %f16 %u32:16
%p*rows = OpTypePointer Function %rows
%wide = OpTypeArray %f32 %u32:16
%p*wide = OpTypePointer Function %wide
"""
case(
    "vloadn",
    "%start = OpBitcast %g*f32 %in.a\n%r = OpExtInst %v4f32 %cl vloadn %i %start 4",
    [("v4f32", NUMBERS)],
    "v4f32",
    NUMBERS,
)
case(
    "vstoren",
    "%place = OpVariable %p*wide Function\n%start = OpBitcast %p*f32 %place\n"
    "%done = OpExtInst %void %cl vstoren %a %u64:1 %start\n"
    "%r = OpExtInst %v4f32 %cl vloadn %u64:1 %start 4",
    [("v4f32", NUMBERS)],
    "v4f32",
    NUMBERS,
    declarations=ROOM_TYPES,
)
case(
    "vload_half",
    "%start = OpBitcast %g*f16 %in.a\n%place = OpIMul %u64 %i %u64:4\n"
    "%r = OpExtInst %f32 %cl vload_half %place %start",
    [("v4f16", HALVES)],
    "f32",
    lambda a: a[:, 0],
)
for name in ("vload_halfn", "vloada_halfn"):
    case(
        name,
        f"%start = OpBitcast %g*f16 %in.a\n%r = OpExtInst %v4f32 %cl {name} %i %start 4",
        [("v4f16", HALVES)],
        "v4f32",
        lambda a: a.astype(np.float32),
    )
EXACT = [("v4f32", NUMBERS + np.float32(0.001))]
for name, mode in (
    ("vstore_half", ""),
    ("vstore_half_r", " RTZ"),
    ("vstore_halfn", ""),
    ("vstore_halfn_r", " RTZ"),
    ("vstorea_halfn", ""),
    ("vstorea_halfn_r", " RTZ"),
):
    count = 4 if "n" in name.removeprefix("vstore") else 1

    def stored(a: Array, count: int = count, toward_zero: bool = bool(mode)) -> Array:
        near = a.astype(np.float16)
        beyond = np.abs(near.astype(np.float32)) > np.abs(a)
        down = np.where(beyond, np.nextafter(near, np.float16(0)), near)
        return (down if toward_zero else near)[:, :count].reshape((-1, 4) if count == 4 else -1)

    value = "%a" if count == 4 else "%x"
    kind = "v4f16" if count == 4 else "f16"
    load = "OpExtInst %v4f16 %cl vloadn %u64:1 %start 4" if count == 4 else "OpLoad %f16 %second"
    case(
        name,
        f"{ROOM}\n%start = OpBitcast %p*f16 %room\n%x = OpCompositeExtract %f32 %a 0\n"
        f"%second = OpInBoundsPtrAccessChain %p*f16 %start %u64:1\n"
        f"%done = OpExtInst %void %cl {name} {value} %u64:1 %start{mode}\n%r = {load}",
        EXACT,
        kind,
        stored,
        declarations=ROOM_TYPES,
    )
case(
    "prefetch-and-printf",
    "%start = OpBitcast %g*f32 %in.a\n%soon = OpExtInst %void %cl prefetch %start %u64:4\n"
    "%text.at = OpInBoundsAccessChain %c*u8 %format %u32:0\n"
    "%said = OpExtInst %u32 %cl printf %text.at %i\n%r = OpCopyObject %v4f32 %a",
    [("v4f32", NUMBERS)],
    "v4f32",
    NUMBERS,
    declarations="""
    %letters = OpTypeArray %u8 %u32:3
    %c*letters = OpTypePointer UniformConstant %letters
    %text = OpConstantComposite %letters %u8:37 %u8:100 %u8:0
    %format = OpVariable %c*letters UniformConstant %text
    """,
)
