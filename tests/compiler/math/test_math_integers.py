"""The integer functions of OpenCL.std against Python's integers, for every width."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pytest

from tests.compiler.math.math_support import Array, run

COUNT = 512
TYPES = {"char": 8, "uchar": 8, "short": 16, "ushort": 16, "int": 32, "uint": 32, "long": 64}
TYPES["ulong"] = 64


def bounds(kind: str) -> tuple[int, int]:
    """The least and the greatest number of a type."""
    width = TYPES[kind]
    if kind.startswith("u"):
        return 0, (1 << width) - 1
    return -(1 << (width - 1)), (1 << (width - 1)) - 1


def wrap(kind: str, value: int) -> int:
    """The number of the type with the same low bits."""
    low, high = bounds(kind)
    return (value - low) % (high - low + 1) + low


def saturate(kind: str, value: int) -> int:
    low, high = bounds(kind)
    return max(low, min(high, value))


def rotate(kind: str, x: int, count: int) -> int:
    width = TYPES[kind]
    bits, count = x % (1 << width), count % width
    return wrap(kind, bits << count | bits >> (width - count))


def leading_zeros(kind: str, x: int) -> int:
    return TYPES[kind] - (x % (1 << TYPES[kind])).bit_length()


def trailing_zeros(kind: str, x: int) -> int:
    bits = x % (1 << TYPES[kind])
    return (bits & -bits).bit_length() - 1 if bits else TYPES[kind]


def bits_of(kind: str, x: int) -> int:
    return x % (1 << TYPES[kind])


FUNCTIONS: dict[str, tuple[str, Callable[[str, int, int, int], int]]] = {
    "abs": ("abs(a)", lambda kind, a, b, c: abs(a)),
    "abs_diff": ("abs_diff(a, b)", lambda kind, a, b, c: abs(a - b)),
    "add_sat": ("add_sat(a, b)", lambda kind, a, b, c: saturate(kind, a + b)),
    "sub_sat": ("sub_sat(a, b)", lambda kind, a, b, c: saturate(kind, a - b)),
    "hadd": ("hadd(a, b)", lambda kind, a, b, c: (a + b) >> 1),
    "rhadd": ("rhadd(a, b)", lambda kind, a, b, c: (a + b + 1) >> 1),
    "clamp": (
        "clamp(a, min(b, c), max(b, c))",
        lambda kind, a, b, c: max(min(b, c), min(max(b, c), a)),
    ),
    "clz": ("clz(a)", lambda kind, a, b, c: leading_zeros(kind, a)),
    "ctz": ("ctz(a)", lambda kind, a, b, c: trailing_zeros(kind, a)),
    "popcount": ("popcount(a)", lambda kind, a, b, c: bits_of(kind, a).bit_count()),
    "mad_hi": ("mad_hi(a, b, c)", lambda kind, a, b, c: (a * b >> TYPES[kind]) + c),
    "mul_hi": ("mul_hi(a, b)", lambda kind, a, b, c: a * b >> TYPES[kind]),
    "mad_sat": ("mad_sat(a, b, c)", lambda kind, a, b, c: saturate(kind, a * b + c)),
    "max": ("max(a, b)", lambda kind, a, b, c: max(a, b)),
    "min": ("min(a, b)", lambda kind, a, b, c: min(a, b)),
    "rotate": ("rotate(a, b)", lambda kind, a, b, c: rotate(kind, a, b)),
    "bitselect": (
        "bitselect(a, b, c)",
        lambda kind, a, b, c: (a & ~c) | (b & c),
    ),
    "select": ("select(a, b, c)", lambda kind, a, b, c: b if c else a),
}
"""Each function in OpenCL C, and the number that it should give, to be wrapped to the type."""


@functools.cache
def operands(kind: str) -> tuple[list[int], list[int], list[int]]:
    """Numbers of all sizes, and the least and greatest."""
    random = np.random.default_rng(TYPES[kind])
    low, high = bounds(kind)
    special = [low, high, 0, 1, high // 2, low + 1, high - 1, wrap(kind, -1)]

    def some() -> list[int]:
        sizes = random.integers(0, TYPES[kind], COUNT)
        raw = [int.from_bytes(random.bytes(8), "little") >> (64 - int(size) - 1) for size in sizes]
        values = [wrap(kind, x if index % 2 else -x) for index, x in enumerate(raw)]
        for index in range(0, COUNT, 5):
            values[index] = special[int(random.integers(len(special)))]
        return values

    return some(), some(), some()


def source(kind: str) -> str:
    lines = "\n".join(
        f"out[{at} * n + i] = ({kind}){expression};"
        for at, (expression, _) in enumerate(FUNCTIONS.values())
    )
    vectors = f"""kernel void v(global const {kind} *pa, global const {kind} *pb,
                               global const {kind} *pc, global {kind} *out) {{
        size_t i = get_global_id(0), n = get_global_size(0) * 4;
        {kind}4 a = vload4(i, pa), b = vload4(i, pb), c = vload4(i, pc);
        vstore4(mad_sat(a, b, c), i, out); vstore4(hadd(a, b), i, out + n);
        vstore4(select(a, b, c), i, out + 2 * n); }}"""
    return f"""kernel void f(global const {kind} *pa, global const {kind} *pb,
                             global const {kind} *pc, global {kind} *out) {{
        size_t i = get_global_id(0), n = get_global_size(0);
        {kind} a = pa[i], b = pb[i], c = pc[i];\n{lines} }}\n{vectors}"""


def arrays(kind: str) -> list[Array]:
    type_ = ("u" if kind.startswith("u") else "") + f"int{TYPES[kind]}"
    return [np.array(each, type_) for each in operands(kind)]


@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize("kind", TYPES)
def test_functions(kind: str, width: int) -> None:
    a, b, c = arrays(kind)
    out = np.zeros((len(FUNCTIONS), COUNT), a.dtype)
    run(source(kind), "f", COUNT, a, b, c, out, width=width)
    for at, (name, (_, exact)) in enumerate(FUNCTIONS.items()):
        wanted = [wrap(kind, exact(kind, x, y, z)) for x, y, z in zip(*operands(kind), strict=True)]
        np.testing.assert_array_equal(out[at], np.array(wanted, a.dtype), err_msg=name)


@pytest.mark.parametrize("kind", ["char", "uint", "long"])
def test_functions_of_vectors(kind: str) -> None:
    a, b, c = arrays(kind)
    out = np.zeros((3, COUNT), a.dtype)
    run(source(kind), "v", COUNT // 4, a, b, c, out)
    rows = list(zip(*operands(kind), strict=True))
    saturated = [saturate(kind, x * y + z) for x, y, z in rows]
    top = 1 << (TYPES[kind] - 1)
    chosen = [y if bits_of(kind, z) & top else x for x, y, z in rows]
    np.testing.assert_array_equal(out[0], np.array(saturated, a.dtype))
    np.testing.assert_array_equal(out[1], np.array([(x + y) >> 1 for x, y, _ in rows], a.dtype))
    np.testing.assert_array_equal(out[2], np.array(chosen, a.dtype))


def test_upsample_and_24_bits() -> None:
    text = """kernel void f(global const int *pa, global const uint *pb, global long *out,
                           global int *small) {
        size_t i = get_global_id(0), n = get_global_size(0);
        int a = pa[i]; uint b = pb[i];
        out[i] = upsample(a, b);
        small[i] = upsample((short)a, (ushort)b);
        small[n + i] = upsample((char)a, (uchar)b);
        small[2 * n + i] = mul24(a << 8 >> 8, (int)b << 8 >> 8);
        small[3 * n + i] = mad24(a & 0xFFFFu, b & 0xFFu, b); }"""
    a, b = arrays("int")[0], arrays("uint")[0]
    out, small = np.zeros(COUNT, np.int64), np.zeros((4, COUNT), np.int32)
    run(text, "f", COUNT, a, b, out, small)
    for at, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        assert out[at] == x * (1 << 32) + y
        assert small[0][at] == wrap("short", x) * 65536 + y % 65536
        assert small[1][at] == wrap("char", x) * 256 + y % 256
        first = (x % (1 << 24) ^ 1 << 23) - (1 << 23)
        second = (y % (1 << 24) ^ 1 << 23) - (1 << 23)
        assert small[2][at] == wrap("int", first * second)
        assert small[3][at] == wrap("int", (x & 0xFFFF) * (y & 0xFF) + y)
