"""Floats become integers a vector at a time, and saturate as lanes by themselves would."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from groundstate.compiler import pipeline
from groundstate.compiler.program import Program
from tests.compiler.runner import program_of, run

KINDS = {"char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16}
KINDS |= {"int": np.int32, "uint": np.uint32, "long": np.int64, "ulong": np.uint64}
FLOATS = {"float": np.float32, "double": np.float64}
COUNT = 64


@cache
def program(source: str) -> Program:
    return program_of(
        "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
        + "".join(
            f"kernel void to_{kind}(global const {source} *a, global {kind} *b) {{ "
            f"b[get_global_id(0)] = convert_{kind}_sat(a[get_global_id(0)]); }}\n"
            for kind in KINDS
        )
    )


def numbers(kind: str, source: str) -> NDArray[np.floating]:
    """Small ones, the limits and their neighbours, infinities and what is not a number."""
    limits = np.iinfo(KINDS[kind])
    ends = np.array([limits.min, limits.max, 0], FLOATS[source])
    near = [np.nextafter(ends, FLOATS[source](way)) for way in (-np.inf, np.inf)]
    other = [0.5, -0.5, 126.9, -128.9, 1e30, -1e30, np.inf, -np.inf, np.nan, -0.0]
    found = np.concatenate([ends, ends + 1, ends - 1, *near, other]).astype(FLOATS[source])
    return np.resize(found, COUNT)


def saturated(kind: str, given: NDArray[np.floating]) -> list[int]:
    limits = np.iinfo(KINDS[kind])
    ends = {np.inf: int(limits.max), -np.inf: int(limits.min)}
    whole = [0 if np.isnan(x) else ends.get(float(x)) for x in given]
    exact = [int(x) if n is None else n for x, n in zip(given, whole, strict=True)]
    return [max(int(limits.min), min(int(limits.max), n)) for n in exact]


@pytest.mark.parametrize("width", [1, 8, 32])
@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("kind", KINDS)
def test_floats_saturate_at_the_limits(kind: str, source: str, width: int) -> None:
    given, found = numbers(kind, source), np.zeros(COUNT, KINDS[kind])
    run(program(source), f"to_{kind}", (1, 1, 1), (COUNT, 1, 1), given, found, width=width)
    assert found.tolist() == saturated(kind, given)


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_are_not_converted_lane_by_lane(kind: str) -> None:
    code = pipeline.write(program("float"), f"to_{kind}", (COUNT, 1, 1), 16)
    assert "fptosi <16" in code.text or "fptoui <16" in code.text
    assert ".sat." not in code.text
