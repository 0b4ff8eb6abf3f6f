"""Conversions between number types, rounded and saturated, against exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from groundstate.compiler.program import Program
from tests.compiler.runner import program_of, run

INTEGERS = {
    "char": 8,
    "uchar": 8,
    "short": 16,
    "ushort": 16,
    "int": 32,
    "uint": 32,
    "long": 64,
    "ulong": 64,
}
FLOATS = {"half": np.float16, "float": np.float32, "double": np.float64}
MODES = ("rte", "rtz", "rtp", "rtn")
COUNT = 256


def dtype(name: str) -> np.dtype:
    if name in FLOATS:
        return np.dtype(FLOATS[name])
    return np.dtype(f"{'u' if name.startswith('u') else 'i'}{INTEGERS[name] // 8}")


def rounded(value: Fraction, mode: str) -> int:
    """An integer near a number."""
    if mode == "rtz":
        return math.trunc(value)
    if mode == "rtp":
        return math.ceil(value)
    return math.floor(value) if mode == "rtn" else round(value)


def nearest_float(value: Fraction, kind: np.dtype, mode: str) -> float:
    """The floating-point number that a mode rounds to."""
    with np.errstate(over="ignore"):
        guess = kind.type(float(value))
    below = [x for x in (guess, np.nextafter(guess, kind.type(-np.inf))) if x <= value]
    above = [x for x in (guess, np.nextafter(guess, kind.type(np.inf))) if x >= value]
    low, high = max(below, key=float), min(above, key=float)
    if mode == "rtz":
        return float(low if value >= 0 else high)
    return float(high if mode == "rtp" else low)


def kernels() -> str:
    lines = ["#pragma OPENCL EXTENSION cl_khr_fp16 : enable"]
    for source in FLOATS:
        for target in INTEGERS:
            for mode in MODES:
                lines.append(kernel(source, target, f"_sat_{mode}"))
    for source in ("short", "ushort", "int", "uint", "long", "ulong"):
        for target in FLOATS:
            lines += [kernel(source, target, f"_{mode}") for mode in MODES]
    lines += [
        kernel("double", target, f"_{mode}") for target in ("half", "float") for mode in MODES
    ]
    lines += [kernel("float", "half", f"_{mode}") for mode in MODES]
    lines += [kernel(a, b, "_sat") for a in INTEGERS for b in INTEGERS if a != b]
    return "\n".join(lines)


def kernel(source: str, target: str, suffix: str) -> str:
    return (
        f"__kernel void {source}_to_{target}{suffix}(__global const {source} *in, "
        f"__global {target} *out) {{ size_t i = get_global_id(0); "
        f"out[i] = convert_{target}{suffix}(in[i]); }}"
    )


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(kernels())


def convert(
    program: Program, source: str, target: str, suffix: str, given: np.ndarray
) -> np.ndarray:
    """The same with one lane and with eight, which must agree."""
    results = []
    for width in (1, 8):
        out = np.zeros(len(given), dtype(target))
        groups = (len(given) // 64, 1, 1)
        name = f"{source}_to_{target}{suffix}"
        run(program, name, groups, (64, 1, 1), given, out, width=width)
        results.append(out)
    assert np.array_equal(*results, equal_nan=target in FLOATS)
    return results[1]


def float_samples(kind: np.dtype) -> np.ndarray:
    rng = np.random.default_rng(5)
    exact = [0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, 127.5, 128.0, -128.5, 255.5, 32767.5, -32768.5]
    edges = [
        2.0**31,
        -(2.0**31),
        2.0**32,
        2.0**63,
        -(2.0**63),
        2.0**64,
        1e30,
        -1e30,
        np.inf,
        -np.inf,
    ]
    with np.errstate(over="ignore"):
        spread = rng.normal(size=COUNT) * 10.0 ** rng.integers(-3, 12, COUNT)
        return np.array([*exact, *edges, *spread][:COUNT], kind)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source", FLOATS)
def test_floats_to_integers(program: Program, source: str, mode: str) -> None:
    given = float_samples(dtype(source))
    for target in INTEGERS:
        limits = np.iinfo(dtype(target))
        out = convert(program, source, target, f"_sat_{mode}", given)
        for value, result in zip(given, out, strict=True):
            if np.isinf(value):
                expected = limits.max if value > 0 else limits.min
            else:
                expected = min(max(rounded(Fraction(float(value)), mode), limits.min), limits.max)
            assert int(result) == expected, (float(value), target)


@pytest.mark.parametrize("mode", ["rtz", "rtp", "rtn"])
@pytest.mark.parametrize("source", ["short", "ushort", "int", "uint", "long", "ulong"])
def test_integers_to_floats(program: Program, source: str, mode: str) -> None:
    limits = np.iinfo(dtype(source))
    rng = np.random.default_rng(6)
    ends = [limits.min, limits.max, limits.max - 1, 0, 1, 2049]
    numbers = [
        *ends,
        *(each for each in ((1 << 24) + 1, (1 << 25) + 3) if each <= limits.max),
        *(
            int(x) >> int(s)
            for x, s in zip(
                rng.integers(limits.min, limits.max, COUNT, dtype(source), endpoint=True),
                rng.integers(0, 40, COUNT),
                strict=True,
            )
        ),
    ]
    given = np.array(numbers[:COUNT], dtype(source))
    for target in FLOATS:
        out = convert(program, source, target, f"_{mode}", given)
        for value, result in zip(given, out, strict=True):
            expected = nearest_float(Fraction(int(value)), dtype(target), mode)
            assert float(result) == expected, (int(value), target)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("source", "target"), [("double", "half"), ("double", "float"), ("float", "half")]
)
def test_floats_to_narrower_floats(program: Program, source: str, target: str, mode: str) -> None:
    rng = np.random.default_rng(7)
    given = (rng.normal(size=COUNT) * 10.0 ** rng.integers(-4, 4, COUNT)).astype(dtype(source))
    out = convert(program, source, target, f"_{mode}", given)
    if mode == "rte":
        assert np.array_equal(out, given.astype(dtype(target)))
        return
    for value, result in zip(given, out, strict=True):
        assert float(result) == nearest_float(Fraction(float(value)), dtype(target), mode), value


def test_integers_saturate(program: Program) -> None:
    rng = np.random.default_rng(8)
    for source in INTEGERS:
        limits = np.iinfo(dtype(source))
        given = rng.integers(limits.min, limits.max, 64, dtype(source), endpoint=True)
        given[:2] = limits.min, limits.max
        given[32:] >>= max(0, limits.bits - 8)
        for target in INTEGERS:
            if source == target:
                continue
            wanted = np.iinfo(dtype(target))
            out = convert(program, source, target, "_sat", given)
            expected = [min(max(int(x), wanted.min), wanted.max) for x in given]
            assert [int(x) for x in out] == expected, (source, target)
