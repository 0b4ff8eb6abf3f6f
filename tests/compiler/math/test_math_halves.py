"""Halves: each operation is rounded once and correctly, whatever the machine computes them with."""

from __future__ import annotations

import numpy as np

from tests.compiler.math.math_support import Array, run

COUNT = 1 << 14
UNIT = 48
"""A product of halves is a multiple of two to the power of minus this."""


def scaled(values: Array) -> list[int]:
    """Finite halves as multiples of 2^-24, which all of them are."""
    return [int(each) for each in values.astype(np.float64) * 2**24]


def rounded(exact: int, negative: bool) -> float:
    """A multiple of 2^-48 as the nearest half, of two equally near ones the even."""
    size = abs(exact)
    drop = max(size.bit_length() - 11, UNIT - 24)
    kept, rest = size >> drop, size & ((1 << drop) - 1)
    kept += rest > 1 << (drop - 1) or (rest == 1 << (drop - 1) and kept & 1 == 1)
    value = float("inf") if kept << drop >= 65520 << UNIT else kept * 2.0 ** (drop - UNIT)
    return -value if exact < 0 or (exact == 0 and negative) else value


def triples() -> tuple[Array, Array, Array]:
    """Random bits, and sums that lie next to the middle between two halves."""
    random = np.random.default_rng(5)
    x, y, z = (random.integers(0, 1 << 16, COUNT).astype(np.uint16).view("f2") for _ in range(3))
    near = slice(COUNT // 2, None)  # z, a half of its last place, and 2^-21 less or more
    sign = random.choice([-1, 1], (3, COUNT // 2))
    x[near] = sign[0] * (1 + sign[1] * 2.0**-10)
    y[near] = sign[2] * (1 - sign[1] * 2.0**-10) / 2
    z[near] = random.integers(1024, 2048, COUNT // 2) * random.choice([-1, 1], COUNT // 2)
    return x, y, z


def test_fma_of_halves_is_rounded_once() -> None:
    text = """kernel void f(global const half *x, global const half *y, global const half *z,
                            global half *out) {
        size_t i = get_global_id(0); out[i] = fma(x[i], y[i], z[i]); }"""
    x, y, z = triples()
    out = np.zeros_like(x)
    run(text, "f", COUNT, x, y, z, out, width=16)
    finite = np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
    with np.errstate(all="ignore"):
        wide = x.astype("f8") * y.astype("f8") + z.astype("f8")
        twice = wide[finite].astype("f4").astype("f2")
    np.testing.assert_array_equal(out[~finite], wide[~finite].astype("f2"))
    numbers = zip(*(scaled(each[finite]) for each in (x, y, z)), strict=True)
    expected = [
        rounded(a * b + (c << 24), bool(sign))
        for (a, b, c), sign in zip(numbers, np.signbit(wide[finite]), strict=True)
    ]
    np.testing.assert_array_equal(out[finite].view("u2"), np.array(expected, "f2").view("u2"))
    assert (twice != expected).sum() > 1000, "rounding to float first must not do here"


def test_operations_on_halves_are_rounded_each() -> None:
    text = """kernel void f(global const half *x, global const half *y, global half *out) {
        size_t i = get_global_id(0), n = get_global_size(0);
        out[i] = x[i] + y[i]; out[n + i] = x[i] - y[i]; out[2 * n + i] = x[i] * y[i];
        out[3 * n + i] = x[i] / y[i]; out[4 * n + i] = sqrt(x[i]); }"""
    x, y, _ = triples()
    out = np.zeros((5, COUNT), "f2")
    run(text, "f", COUNT, x, y, out, width=16)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out, [x + y, x - y, x * y, x / y, np.sqrt(x)])


def test_expression_of_halves_is_rounded_once_or_twice() -> None:
    text = """kernel void f(global const half *x, global const half *y, global const half *z,
                            global half *out, global half *fused) {
        size_t i = get_global_id(0);
        out[i] = x[i] * y[i] + z[i]; fused[i] = fma(x[i], y[i], z[i]); }"""
    x, y, z = triples()
    out, fused = np.zeros_like(x), np.zeros_like(x)
    run(text, "f", COUNT, x, y, z, out, fused, width=16)
    with np.errstate(all="ignore"):
        twice = x * y + z
    same = np.isnan(out) | (out == fused) | (out == twice)
    assert same.all()


def test_mad_of_halves_is_rounded_once() -> None:
    text = """kernel void f(global const half *x, global const half *y, global const half *z,
                            global half *out, global half *sums) {
        size_t i = get_global_id(0);
        out[i] = mad(x[i], y[i], z[i]); sums[i] = x[i] * y[i] + z[i]; }"""
    x, y, z = (np.random.default_rng(7).uniform(1, 2, (3, COUNT))).astype("f2")
    out, sums = np.zeros_like(x), np.zeros_like(x)
    run(text, "f", COUNT, x, y, z, out, sums, width=16)
    exact = x.astype("f8") * y + z
    # Next to the middle between two halves, machines that use floats may choose the other one.
    certain = exact.astype("f4").astype("f2") == exact.astype("f2")
    np.testing.assert_array_equal(out[certain], exact.astype("f2")[certain])
    np.testing.assert_array_equal(sums[certain], out[certain])
    assert (out != x * y + z).sum() > COUNT // 10
