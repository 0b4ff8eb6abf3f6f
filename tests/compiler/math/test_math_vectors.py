"""Functions of whole vectors, vector loads and stores, and functions where some lanes are idle."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from tests.compiler.math.math_reference import BINARY, UNARY
from tests.compiler.math.math_support import FORMATS, run, samples, ulp_error

COUNT = 256


@pytest.mark.parametrize("width", [1, 8])
def test_four_components(width: int) -> None:
    text = """kernel void f(global const float4 *x, global const float4 *y, global float4 *out) {
        size_t i = get_global_id(0), n = get_global_size(0);
        out[i] = sin(x[i]); out[n + i] = pow(fabs(x[i]), y[i]); out[2 * n + i] = exp(x[i]);
        float4 c; out[3 * n + i] = sincos(y[i], &c); out[4 * n + i] = c; }"""
    x, y = samples("float", 4 * COUNT, 41), samples("float", 4 * COUNT, 42)
    out = np.zeros((5, len(x)), np.float32)
    run(text, "f", COUNT, x, y, out, width=width)
    for at, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        assert ulp_error("float", float(out[0][at]), mpmath.sin(mpf(a))) <= 4
        assert ulp_error("float", float(out[2][at]), UNARY["exp"].exact(mpf(a))) <= 3
        assert ulp_error("float", float(out[3][at]), mpmath.sin(mpf(b))) <= 4
        assert ulp_error("float", float(out[4][at]), mpmath.cos(mpf(b))) <= 4
        if a != 0 and b != 0:
            power = BINARY["pow"].exact(abs(mpf(a)), mpf(b))
            assert ulp_error("float", float(out[1][at]), power) <= 16


def test_idle_lanes_do_not_disturb_the_others() -> None:
    text = """kernel void f(global const float *x, global float *out) {
        size_t i = get_global_id(0); float v = x[i];
        if (v > 0 && v < 100) { if (i % 3 == 0) v = log(v) + sin(v); else v = pow(v, 1.5f); }
        else if (i % 2) v = cos(v);
        out[i] = v; }"""
    x = samples("float", 4 * COUNT, 43)
    x[::5] = np.inf
    x[1::9] = np.nan
    eight, one = np.zeros_like(x), np.zeros_like(x)
    run(text, "f", len(x), x, eight, width=8)
    run(text, "f", len(x), x, one, width=1)
    np.testing.assert_array_equal(eight, one)


def geometric_source(kind: str, count: int) -> str:
    vector = f"{kind}{count}"
    return f"""kernel void f(global const {kind} *pa, global const {kind} *pb,
                             global {kind} *out) {{
        size_t i = get_global_id(0), n = get_global_size(0);
        {vector} a = vload{count}(i, pa), b = vload{count}(i, pb);
        out[i] = length(a); out[n + i] = distance(a, b); out[2 * n + i] = dot(a, b);
        vstore{count}(normalize(a), i, out + 3 * n); }}"""


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("kind", ["half", "float", "double"])
def test_geometric_functions(kind: str, count: int) -> None:
    """Over the whole range: squares that overflow or vanish must not matter."""
    a, b = (samples(kind, count * COUNT, seed).reshape(-1, count) for seed in (51, 52))
    scale = np.ldexp(1.0, np.random.default_rng(3).integers(-10, 10, (COUNT, 1)))
    with np.errstate(over="ignore"):
        a[::2] = (np.random.default_rng(4).uniform(-1, 1, a[::2].shape) * scale[::2]).astype(
            a.dtype
        )
    a[1] = 0
    out = np.zeros((3 + count) * COUNT, a.dtype)
    run(geometric_source(kind, count), "f", COUNT, a, b, out)
    lengths, distances, dots = out[: 3 * COUNT].reshape(3, -1)
    normals = out[3 * COUNT :].reshape(-1, count)
    assert (normals[1] == 0).all()
    for at in range(COUNT):
        left, right = ([mpf(float(x)) for x in row[at]] for row in (a, b))
        exact = mpmath.norm(left)
        assert ulp_error(kind, float(lengths[at]), exact) <= 2.75 + 0.5 * count, a[at]
        apart = mpmath.norm([x - y for x, y in zip(left, right, strict=True)])
        assert ulp_error(kind, float(distances[at]), apart) <= 2.5 + 2 * count, a[at]
        largest = max(abs(x * y) for x, y in zip(left, right, strict=True))
        if mpf(float(np.finfo(a.dtype).tiny)) < largest < mpf(float(np.finfo(a.dtype).max)) / 8:
            total = mpmath.fdot(left, right)
            error = abs(mpf(float(dots[at])) - total)
            assert error <= largest * count * mpf(2) ** (1 - FORMATS[kind][1])
        if exact != 0:
            for component, found in zip(left, normals[at].tolist(), strict=True):
                assert ulp_error(kind, found, component / exact) <= 2 + count, a[at]


def test_normalize_infinity_and_fast_functions() -> None:
    text = """kernel void f(global const float *pa, global float *out) {
        size_t i = get_global_id(0), n = get_global_size(0); float4 a = vload4(i, pa);
        vstore4(normalize(a), i, out); vstore4(fast_normalize(a), i, out + 4 * n);
        vstore4(cross(a, a.yzwx), i, out + 8 * n);
        out[12 * n + i] = fast_length(a); out[13 * n + i] = fast_distance(a, a.wzyx); }"""
    a = np.random.default_rng(6).uniform(-4, 4, (64, 4)).astype(np.float32)
    a[0] = [np.inf, 1, -np.inf, 2]
    a[1] = 0
    out = np.zeros(14 * 64, np.float32)
    run(text, "f", 64, a, out)
    normal, fast, cross = out[: 12 * 64].reshape(3, 64, 4)
    root = math.sqrt(0.5)
    np.testing.assert_allclose(normal[0], [root, 0, -root, 0], rtol=1e-6)
    assert (fast[1] == 0).all()
    wide = a[2:].astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1)
    np.testing.assert_allclose(fast[2:], wide / lengths[:, None], rtol=1e-4)
    expected = np.cross(wide[:, :3], wide[:, [1, 2, 3]])
    np.testing.assert_allclose(cross[2:, :3], expected, atol=1e-5)
    assert (cross[2:, 3] == 0).all()
    np.testing.assert_allclose(out[12 * 64 + 2 : 13 * 64], lengths, rtol=1e-5)
    apart = np.linalg.norm(wide - wide[:, ::-1], axis=1)
    np.testing.assert_allclose(out[13 * 64 + 2 :], apart, rtol=1e-5)


@pytest.mark.parametrize("width", [1, 8])
def test_shuffle(width: int) -> None:
    text = """kernel void f(global const float4 *x, global const uint4 *m, global float4 *out,
                           global float8 *wide) {
        size_t i = get_global_id(0), n = get_global_size(0);
        out[i] = shuffle(x[i], m[i]); out[n + i] = shuffle(x[i], (uint4)(3, 0, 5, 2));
        wide[i] = shuffle2(x[i], x[n - 1 - i], (uint8)(m[i], m[i] + 3)); }"""
    x = np.arange(4 * 64, dtype=np.float32).reshape(64, 4)
    m = np.random.default_rng(1).integers(0, 1 << 32, (64, 4), dtype=np.uint32)
    out, wide = np.zeros((2, 64, 4), np.float32), np.zeros((64, 8), np.float32)
    run(text, "f", 64, x, m, out, wide, width=width)
    np.testing.assert_array_equal(out[0], np.take_along_axis(x, (m % 4).astype(int), 1))
    np.testing.assert_array_equal(out[1], x[:, [3, 0, 1, 2]])
    both = np.concatenate([x, x[::-1]], axis=1)
    picks = np.concatenate([m % 8, (m + np.uint32(3)) % 8], axis=1)
    np.testing.assert_array_equal(wide, np.take_along_axis(both, picks.astype(int), 1))


# --- Halves in memory ----------------------------------------------------------------------------

MODES = ("", "_rte", "_rtz", "_rtp", "_rtn")


def to_half(value: float, mode: str) -> float:
    """A half by NumPy, moved in the direction asked for."""
    with np.errstate(over="ignore"):
        near = np.float16(value)
    back = float(near)
    up, down = np.float16(np.inf), np.float16(-np.inf)
    if mode == "_rtz" and abs(back) > abs(value):
        near = np.nextafter(near, np.float16(0))
    if mode == "_rtp" and back < value:
        near = np.nextafter(near, up)
    if mode == "_rtn" and back > value:
        near = np.nextafter(near, down)
    return float(near)


@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize("kind", ["float", "double"])
def test_rounding_when_storing_halves(kind: str, width: int) -> None:
    stores = "\n".join(
        f"vstore_half{mode}(x[i], i, out + {at} * n); "
        f"vstore_half4{mode}(vload4(i / 4, x), i / 4, out + {at + 5} * n); "
        f"vstorea_half2{mode}(vload2(i / 2, x), i / 2, out + {at + 10} * n);"
        for at, mode in enumerate(MODES)
    )
    text = f"""kernel void f(global const {kind} *x, global half *out) {{
        size_t i = get_global_id(0), n = get_global_size(0);\n{stores} }}"""
    x = samples(kind, 4 * COUNT, 61)
    random = np.random.default_rng(8)
    small = np.ldexp(random.uniform(-1, 1, len(x)), random.integers(-27, 18, len(x)))
    halves = random.uniform(-100, 100, len(x)).astype(np.float16).astype(x.dtype)
    ties = halves + (np.nextafter(halves.astype(np.float16), np.float16(200)) - halves) / 2
    x[::2], x[::5] = small[::2].astype(x.dtype), ties[::5].astype(x.dtype)
    x[:4] = [np.inf, -np.inf, 0.0, -0.0]
    out = np.zeros((15, len(x)), np.float16)
    run(text, "f", len(x), x, out, width=width)
    for at, mode in enumerate(MODES):
        wanted = np.array([to_half(value, mode) for value in x.tolist()], np.float16)
        for row in (at, at + 5, at + 10):
            np.testing.assert_array_equal(out[row], wanted, err_msg=mode)


@pytest.mark.parametrize("width", [1, 8])
def test_loading_and_storing_vectors(width: int) -> None:
    text = """kernel void f(global const half *h, global const int *v, global float *out,
                           global int *ints, global half *halves) {
        size_t i = get_global_id(0), n = get_global_size(0);
        out[i] = vload_half(i, h);
        vstore3(vload_half3(i, h), i, out + n);
        vstore4(vloada_half4(i, h), i, out + 4 * n);
        vstore8(vload_half8(i, h), i, out + 8 * n);
        vstore3(vload3(i, v + 1) + 1, i, ints);
        vstore2(vload2(i, v), i, ints + 3 * n);
        vstorea_half3(vload_half3(i, h), i, halves); }"""
    h = np.arange(8 * 64, dtype=np.float16)
    v = np.arange(4 * 64, dtype=np.int32)
    out, ints = np.zeros(16 * 64, np.float32), np.zeros(5 * 64, np.int32)
    halves = np.zeros((64, 4), np.float16)
    run(text, "f", 64, h, v, out, ints, halves, width=width)
    np.testing.assert_array_equal(out[:64], h[:64])
    np.testing.assert_array_equal(out[64 : 4 * 64], h[: 3 * 64])
    np.testing.assert_array_equal(out[4 * 64 : 8 * 64], h[: 4 * 64])
    np.testing.assert_array_equal(out[8 * 64 :], h)
    np.testing.assert_array_equal(ints[: 3 * 64], v[1 : 3 * 64 + 1] + 1)
    np.testing.assert_array_equal(ints[3 * 64 :], v[: 2 * 64])
    np.testing.assert_array_equal(halves[:, :3], h[: 3 * 64].reshape(64, 3))


def test_nan_and_bits_of_floats() -> None:
    text = """kernel void f(global const uint *x, global uint *out) {
        size_t i = get_global_id(0), n = get_global_size(0);
        out[i] = as_uint(nan(x[i]));
        out[n + i] = as_uint(bitselect(as_float(x[i]), 1.5f, as_float(0xFFFF0000u)));
        prefetch(x, 1); }"""
    x = np.arange(64, dtype=np.uint32)
    out = np.zeros((2, 64), np.uint32)
    run(text, "f", 64, x, out)
    np.testing.assert_array_equal(out[0], x | 0x7FC00000)
    np.testing.assert_array_equal(out[1], x | 0x3FC00000)
