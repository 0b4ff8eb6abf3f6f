"""OpenCL.std functions of several numbers, or with results of several, and the faster variants."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from tests.compiler.math.math_reference import BINARY, BINARY_EDGES, UNARY
from tests.compiler.math.math_support import (
    FORMATS,
    Array,
    evaluate,
    padded,
    run,
    samples,
    ulp_error,
)

COUNT = 600
KINDS = ("half", "float", "double")
INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1


@functools.cache
def pairs(kind: str) -> tuple[Array, Array]:
    """Two arrays: unrelated numbers of all sizes, then such as stand in a simple relation."""
    x, y = samples(kind, COUNT, 11), samples(kind, COUNT, 12)
    with np.errstate(all="ignore"):
        multiples = (x * np.round(y)).astype(x.dtype)
        small = np.round(y * 4).astype(x.dtype) / 2
    edges = [row for table in BINARY_EDGES.values() for row in table]
    first = np.array([pair[0] for pair in edges], x.dtype)
    second = np.array([pair[1] for pair in edges], x.dtype)
    return (
        np.concatenate([first, x, multiples, np.abs(x)]),
        np.concatenate([second, y, x, small]),
    )


@functools.cache
def results(kind: str, width: int = 8) -> dict[str, Array]:
    """All functions of two numbers."""
    expressions = {name: f"{name}(a, b)" for name in BINARY}
    return evaluate(kind, expressions, *pairs(kind), width=width)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BINARY)
def test_error_of_two_arguments(name: str, kind: str) -> None:
    function = BINARY[name]
    x, y = pairs(kind)
    worst, where = 0.0, (0.0, 0.0)
    for a, b, result in zip(x.tolist(), y.tolist(), results(kind)[name].tolist(), strict=True):
        if not (math.isfinite(a) and math.isfinite(b)):
            continue
        try:
            exact = function.exact(mpf(a), mpf(b))
        except ValueError:
            continue
        error = ulp_error(kind, result, exact)
        if error > worst:
            worst, where = error, (a, b)
    assert worst <= function.limit(kind), f"{name}{where!r}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BINARY_EDGES)
def test_edges_of_two_arguments(name: str, kind: str) -> None:
    x, y = pairs(kind)
    arguments = [(repr(a), repr(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    for a, b, expected in BINARY_EDGES[name]:
        found = float(results(kind)[name][arguments.index((repr(a), repr(b)))])
        wanted = float(FORMATS[kind][0](expected))
        if math.isnan(wanted):
            assert math.isnan(found), f"{name}({a}, {b})"
        else:
            close = found == wanted or abs(found - wanted) <= 2e-3 * abs(wanted)
            assert close, f"{name}({a}, {b}) is {found}"
            assert math.copysign(1, found) == math.copysign(1, wanted), f"{name}({a}, {b})"


@pytest.mark.parametrize("kind", KINDS)
def test_one_lane_says_the_same_of_two_arguments(kind: str) -> None:
    eight, one = results(kind), results(kind, 1)
    for name in BINARY:
        np.testing.assert_array_equal(one[name], eight[name], err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
def test_nextafter(kind: str) -> None:
    x, y = pairs(kind)
    found = evaluate(kind, {"nextafter": "nextafter(a, b)"}, x, y)["nextafter"]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, np.nextafter(x, y))


@pytest.mark.parametrize("kind", KINDS)
def test_three_arguments(kind: str) -> None:
    x, y = pairs(kind)
    z = samples(kind, COUNT, 13)
    z = np.resize(z, len(x))
    expressions = {
        "fma": "fma(a, b, c)",
        "mad": "mad(a, b, c)",
        "mix": "mix(a, b, c)",
        "clamp": "clamp(a, fmin(b, c), fmax(b, c))",
        "smoothstep": "smoothstep((HALF)0, (HALF)1, a)".replace("HALF", kind),
        "sign": "sign(a)",
        "degrees": "degrees(a)",
        "radians": "radians(a)",
    }
    found = evaluate(kind, expressions, x, y, z)
    for at in range(len(x)):
        a, b, c = float(x[at]), float(y[at]), float(z[at])
        if not all(map(math.isfinite, (a, b, c))):
            continue
        fused = mpf(a) * mpf(b) + mpf(c)
        assert ulp_error(kind, float(found["fma"][at]), fused) <= 0.5, (a, b, c)
        assert float(found["clamp"][at]) == min(max(a, min(b, c)), max(b, c))
        assert float(found["sign"][at]) == (a > 0) - (a < 0)
        degrees = ulp_error(kind, float(found["degrees"][at]), mpf(a) * 180 / mpmath.pi)
        radians = ulp_error(kind, float(found["radians"][at]), mpf(a) * mpmath.pi / 180)
        assert degrees <= 2
        assert radians <= 2
        t = min(max(mpf(a), 0), 1)
        assert abs(mpf(float(found["smoothstep"][at])) - t * t * (3 - 2 * t)) < 3e-3
        if abs(a * b) < 1e4 and abs(c) < 1e4:
            size = abs(a * b) + abs(c)
            assert abs(float(found["mad"][at]) - float(fused)) <= 2e-3 * size + 1e-7
        if max(abs(a), abs(b)) < 100 and 0 <= c <= 1:
            exact = a + (b - a) * c
            assert abs(float(found["mix"][at]) - exact) <= 4e-3 * max(abs(a), abs(b))


# --- Faster variants -----------------------------------------------------------------------------

VARIANTS = ("cos", "exp", "exp2", "exp10", "log", "log2", "log10", "rsqrt", "sin", "sqrt", "tan")


@pytest.mark.parametrize("width", [1, 8])
def test_half_and_native_variants(width: int) -> None:
    """half_ functions may be wrong by 8192 units and native_ by any number; ours are not."""
    x = np.concatenate([samples("float", COUNT, 21), np.array([0.0, math.inf], np.float32)])
    x = x[(np.abs(x) < 80) & ((np.abs(x) > 1e-30) | (x == 0)) | np.isinf(x)]
    expressions = {
        f"{way}_{name}": f"{way}_{name}(a)" for way in ("half", "native") for name in VARIANTS
    }
    expressions |= {f"{way}_recip": f"{way}_recip(a)" for way in ("half", "native")}
    found = evaluate("float", expressions, x, width=width)
    for way in ("half", "native"):
        for name in VARIANTS:
            for a, result in zip(x.tolist(), found[f"{way}_{name}"].tolist(), strict=True):
                if not math.isfinite(a) or a == 0 or (name == "exp10" and abs(a) > 36):
                    continue
                try:
                    exact = UNARY[name].exact(mpf(a))
                except ValueError:
                    assert math.isnan(result)
                    continue
                error = ulp_error("float", result, exact)
                assert error <= (5 if way == "half" else 64), f"{way}_{name}({a!r})"
        zero, infinite = found[f"{way}_rsqrt"][x == 0], found[f"{way}_rsqrt"][np.isinf(x)]
        assert np.isinf(zero).all()
        assert (infinite == 0).all()
        assert np.isneginf(found[f"{way}_log"][x == 0]).all()
        assert np.isposinf(found[f"{way}_exp"][np.isinf(x)]).all()
        assert np.isinf(found[f"{way}_recip"][x == 0]).all()


# --- Integers in and out -------------------------------------------------------------------------


def integer_source(kind: str) -> str:
    return f"""kernel void f(global const {kind} *px, global const int *pn, global {kind} *out,
                      global int *ints) {{
    size_t i = get_global_id(0), n = get_global_size(0);
    {kind} x = px[i], second; int k = pn[i], e;
    out[i] = ldexp(x, k);
    out[n + i] = pown(x, k);
    out[2 * n + i] = rootn(x, k);
    out[3 * n + i] = frexp(x, &e); ints[i] = e;
    ints[n + i] = ilogb(x);
    out[4 * n + i] = fract(x, &second); out[5 * n + i] = second;
    out[6 * n + i] = modf(x, &second); out[7 * n + i] = second;
    out[8 * n + i] = sincos(x, &second); out[9 * n + i] = second;
    out[10 * n + i] = lgamma_r(x, &e); ints[2 * n + i] = e;
    out[11 * n + i] = remquo(x, ({kind})0.75, &e); ints[3 * n + i] = e;
}}"""


@functools.cache
def integer_results(kind: str, width: int) -> tuple[Array, Array, Array, Array]:
    random = np.random.default_rng(5)
    x = samples(kind, COUNT, 31)
    info = np.finfo(x.dtype)
    edges = [0.0, -0.0, math.inf, -math.inf, math.nan, info.smallest_subnormal, info.max, -1.0, 1.0]
    x = padded(np.concatenate([np.array(edges, x.dtype), x]))
    n = random.integers(-30, 30, len(x)).astype(np.int32)
    n[::7] = random.integers(-1200, 1200, len(n[::7]))
    n[3::50] = INT_MAX
    n[5::50] = INT_MIN
    out = np.zeros(12 * len(x), x.dtype)
    ints = np.zeros(4 * len(x), np.int32)
    run(integer_source(kind), "f", len(x), x, n, out, ints, width=width)
    return x, n, out.reshape(12, -1), ints.reshape(4, -1)


@pytest.mark.parametrize("kind", KINDS)
def test_ldexp_pown_rootn(kind: str) -> None:
    x, n, out, _ = integer_results(kind, 8)
    limit = 4 if kind == "half" else 16
    for a, k, scaled, power, root in zip(
        x.tolist(), n.tolist(), *(row.tolist() for row in out[:3]), strict=True
    ):
        if not math.isfinite(a) or a == 0:
            continue
        bounded = max(min(k, 5000), -5000)
        assert ulp_error(kind, scaled, mpmath.ldexp(mpf(a), bounded)) <= 0.5, (a, k)
        exact = BINARY["pow"].exact(mpf(a), mpf(k)) if k else mpf(1)
        assert ulp_error(kind, power, exact) <= limit, f"pown({a!r}, {k})"
        if k == 0 or (a < 0 and k % 2 == 0):
            assert math.isnan(root)
            continue
        exact = mpmath.exp(mpmath.log(abs(mpf(a))) / k)
        assert ulp_error(kind, root, exact if a > 0 else -exact) <= limit, f"rootn({a!r}, {k})"


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_a_number(kind: str) -> None:
    x, _, out, ints = integer_results(kind, 8)
    fraction, fract, floor, rest, whole = out[3], out[4], out[5], out[6], out[7]
    finite = np.isfinite(x)
    wanted, exponents = np.frexp(x.astype(np.float64))
    np.testing.assert_array_equal(fraction[finite], wanted[finite].astype(x.dtype))
    np.testing.assert_array_equal(ints[0][finite], exponents[finite])
    some = finite & (x != 0)
    np.testing.assert_array_equal(ints[1][some], exponents[some] - 1)
    assert (ints[1][x == 0] == INT_MIN).all()
    assert (ints[1][~finite] == INT_MAX).all()
    np.testing.assert_array_equal(floor, np.floor(x))
    largest = np.nextafter(x.dtype.type(1), x.dtype.type(0))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(fract[finite], np.minimum(x - np.floor(x), largest)[finite])
    assert (fract[np.isinf(x)] == 0).all()
    np.testing.assert_array_equal(rest, np.modf(x)[0])
    np.testing.assert_array_equal(whole, np.modf(x)[1])
    np.testing.assert_array_equal(np.signbit(rest[finite]), np.signbit(x[finite]))


@pytest.mark.parametrize("kind", KINDS)
def test_sincos(kind: str) -> None:
    x, _, out, _ = integer_results(kind, 8)
    for a, sine, cosine in zip(x.tolist(), out[8].tolist(), out[9].tolist(), strict=True):
        if not math.isfinite(a):
            assert math.isnan(sine)
            assert math.isnan(cosine)
        else:
            assert ulp_error(kind, sine, mpmath.sin(mpf(a))) <= 4, a
            assert ulp_error(kind, cosine, mpmath.cos(mpf(a))) <= 4, a


@pytest.mark.parametrize("kind", KINDS)
def test_lgamma_and_remquo(kind: str) -> None:
    x, _, out, ints = integer_results(kind, 8)
    for at, a in enumerate(x.tolist()):
        if not math.isfinite(a) or (a <= 0 and a == math.floor(a)):
            continue
        if abs(a) < 50:
            gamma = mpmath.gamma(mpf(a))
            assert ints[2][at] == (1 if gamma > 0 else -1), a
            exact = mpmath.log(abs(gamma))
            assert abs(mpf(float(out[10][at])) - exact) <= 2e-3 * (1 + abs(exact)), a
        exact = BINARY["remainder"].exact(mpf(a), mpf(0.75))
        assert float(out[11][at]) == exact, a
        quotient = int((Fraction(a) - Fraction(float(exact))) / Fraction(3, 4))
        assert abs(int(ints[3][at])) % 128 == abs(quotient) % 128, a
        assert int(ints[3][at]) * quotient >= 0, a


@pytest.mark.parametrize("kind", KINDS)
def test_one_lane_says_the_same_with_integers(kind: str) -> None:
    eight, one = integer_results(kind, 8), integer_results(kind, 1)
    for a, b in zip(eight, one, strict=True):
        np.testing.assert_array_equal(a, b)
