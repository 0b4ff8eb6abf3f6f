"""Kernels that compute: integers, floats, vectors, conversions."""

from __future__ import annotations

import numpy as np

from tests.compiler.cases.case import DOUBLE, FLOAT, FLOAT4, INT, LONG, UINT, ULONG, N, case
from tests.compiler.kernels import (
    Array,
    int_,
    random,
    special,
    zeros,
)

# --- arithmetic.cl --------------------------------------------------------------------------------

case(
    "arithmetic",
    "add_int",
    [INT, INT, zeros("i4", N)],
    N,
    64,
    expect=lambda a, b, out: {2: a + b},
)
case("arithmetic", "add_int", [INT, INT, zeros("i4", N)], 7 * 13, 7)
case("arithmetic", "add_int", [INT, INT, zeros("i4", N)], 1, 1)
case("arithmetic", "wrap_narrow", [random("i1", N), random("u1", N), zeros("i2", N)], N, 32)
case("arithmetic", "divide_int", [INT, random("i4", N, -50, 50), zeros("i4", 2 * N)], N, 64)
case("arithmetic", "divide_ulong", [ULONG, ULONG, zeros("u8", N)], N, 64)
case("arithmetic", "shifts", [INT, UINT, zeros("i4", 4 * N)], N, 16)
case("arithmetic", "saturate", [random("i2", N), random("i2", N), zeros("i2", 4 * N)], N, 64)
case("arithmetic", "wide_products", [INT, UINT, zeros("i8", 4 * N)], N, 64)
case("arithmetic", "count_bits", [UINT, LONG, zeros("i4", 4 * N)], N, 128)
case("arithmetic", "averages", [INT, INT, zeros("i4", 4 * N)], N, 64)
case("arithmetic", "clamp_int", [INT, INT, zeros("i4", N)], 999, 27)
case("arithmetic", "mul24_mad24", [INT, INT, zeros("i4", N)], N, 64)
case("arithmetic", "polynomial", [FLOAT, zeros("f4", N)], N, 64)
case("arithmetic", "float_expressions", [FLOAT, FLOAT, zeros("f4", 3 * N)], N, 64, ulp=3)
case("arithmetic", "double_expressions", [DOUBLE, DOUBLE, zeros("f8", N)], N, 64)
case("arithmetic", "compare_floats", [special("f4", N), special("f4", N), zeros("i4", N)], N, 64)
case("arithmetic", "xorshift", [UINT, int_(37)], N, 64)
case("arithmetic", "crc32", [random("u1", 16 * N), zeros("u4", N), int_(16)], N, 64)

case("arithmetic", "bit_idioms", [UINT, zeros("u4", 6 * N)], N, 64)

# --- mathematics.cl: allowed errors are those of both implementations together --------------------

case("mathematics", "trigonometry", [FLOAT, zeros("f4", 6 * N)], N, 64, ulp=10)
case("mathematics", "exponentials", [FLOAT, zeros("f4", 6 * N)], N, 64, ulp=6)
case("mathematics", "hyperbolic", [FLOAT, zeros("f4", 4 * N)], N, 64, ulp=10)
case(
    "mathematics",
    "powers",
    [FLOAT, random("i4", N, 0, 1000), zeros("f4", 5 * N)],
    N,
    64,
    ulp=32,
)
case("mathematics", "round_floats", [FLOAT, zeros("f4", 6 * N)], N, 64, ulp=3)
case("mathematics", "split_floats", [FLOAT, zeros("f4", 4 * N), zeros("i4", 2 * N)], N, 64)
case("mathematics", "sine_and_cosine", [DOUBLE, zeros("f8", 3 * N)], N, 64, ulp=8)
case("mathematics", "neighbours", [FLOAT, FLOAT, zeros("f4", 3 * N)], N, 64)
case("mathematics", "common_functions", [FLOAT, zeros("f4", 5 * N)], N, 64, ulp=8)
case(
    "mathematics",
    "geometry",
    [random("f4", 4 * N, 1, 2), random("f4", 4 * N, 1, 2), zeros("f4", 8 * N)],
    N,
    64,
    # A cross product subtracts nearly equal products: results near 0 lose digits.
    ulp=4096,
)

# --- vectors.cl -----------------------------------------------------------------------------------

INT4 = random("i4", 4 * N)
case("vectors", "swizzle", [INT4, zeros("i4", 4 * N)], N, 64)
case("vectors", "select_lanes", [FLOAT4, FLOAT4, zeros("f4", 12 * N)], N, 64)
case("vectors", "compare_vectors", [INT4, INT4, zeros("i4", 3 * N)], N, 64)
case("vectors", "shuffles", [random("u4", 4 * N), random("u4", 4 * N), zeros("u4", 8 * N)], N, 64)
case("vectors", "three", [random("f4", 3 * N), zeros("f4", 3 * N)], N, 64)
case("vectors", "sixteen", [random("i2", 16 * N), zeros("i4", 2 * N)], N, 64)
case("vectors", "indexed_lane", [random("i4", 8 * N), zeros("i4", N)], N, 64)
case("vectors", "reinterpret", [FLOAT4, zeros("u4", 4 * N)], N, 64)
case(
    "vectors",
    "vector_arithmetic",
    [random("u1", 8 * N), random("u1", 8 * N), zeros("u1", 8 * N)],
    N,
    64,
)
case("vectors", "vector_math", [random("f4", 8 * N), zeros("f4", 8 * N)], N, 64, ulp=8)

# --- conversions.cl -------------------------------------------------------------------------------

case(
    "conversions",
    "float_to_narrow",
    [random("f4", N, -400, 400), zeros("i1", N), zeros("u1", N), zeros("i2", N)],
    N,
    64,
)
case("conversions", "float_to_int", [FLOAT, zeros("i4", 5 * N)], N, 64)
case(
    "conversions",
    "int_to_narrow",
    [INT, zeros("i1", N), zeros("u1", N), zeros("u2", N)],
    N,
    64,
)
case(
    "conversions",
    "unsigned_to_signed",
    [UINT, zeros("i4", N), zeros("i1", N), zeros("i8", N)],
    N,
    64,
)
case("conversions", "long_to_float", [LONG, zeros("f4", 5 * N)], N, 64)
case("conversions", "double_to_float", [DOUBLE, zeros("f4", 4 * N)], N, 64)
case(
    "conversions",
    "vector_conversions",
    [INT4, zeros("f4", 4 * N), zeros("u1", 4 * N), zeros("f8", 4 * N)],
    N,
    64,
)
case("conversions", "half_storage", [FLOAT, zeros("u2", N), zeros("f4", N)], N, 64)
case("conversions", "bool_and_casts", [FLOAT, zeros("i4", N)], N, 64)


def minus_one_where_true(a: Array, out: Array) -> dict[int, Array]:
    """What `truths_to_floats` gives: a comparison of vectors is -1 where it is true."""
    x, y, z, w = a.reshape(-1, 4).T
    rows = [-1.0 * (x < w), -1.0 * (y < z), -1.0 * (z < y), -1.0 * (w < x)]
    rows += [x < 5, -1.0 * (y < 5), -1.0 * (z < 5), np.ones_like(x)]
    rows += [-0.5 * (each > 0) for each in (x, y, z, w)]
    return {1: np.stack(rows, 1).astype("f4").ravel()}


case(
    "conversions",
    "truths_to_floats",
    [INT4, zeros("f4", 12 * N)],
    N,
    64,
    expect=minus_one_where_true,
)

# --- widths.cl ------------------------------------------------------------------------------------

for kind, name in (("u1", "uchar"), ("u2", "ushort"), ("u4", "uint"), ("u8", "ulong")):
    data = [random(kind, 16 * 256), random(kind, 16 * 256), zeros(kind, 40 * 256)]
    case("widths", f"arithmetic_{name}", data, 256, 64)
for kind, name in (("i1", "char"), ("i2", "short"), ("i4", "int"), ("i8", "long")):
    data = [random(kind, 16 * 256), random(kind, 16 * 256), zeros(kind, 40 * 256)]
    case("widths", f"signed_{name}", data, 256, 64)
for kind, name in (("f4", "float"), ("f8", "double")):
    data = [random(kind, 16 * 256), random(kind, 16 * 256), zeros(kind, 40 * 256)]
    case("widths", f"floating_{name}", data, 256, 64)
case("widths", "swizzles", [random("u1", 16 * N), zeros("u1", 32 * N)], N, 64)
case("widths", "reinterpretations", [random("u8", 2 * N), zeros("u4", 8 * N)], N, 64)
case(
    "widths",
    "conversions_of_vectors",
    [random("i4", 8 * N), zeros("i1", 8 * N), zeros("u2", 8 * N), zeros("f8", 8 * N)],
    N,
    64,
)
case("widths", "index_with_lanes", [UINT, zeros("u4", N)], N, 64)
case("widths", "long_arithmetic", [LONG, LONG, zeros("i8", N)], N, 64)
case("widths", "double_arithmetic", [DOUBLE, DOUBLE, zeros("f8", 2 * N)], N, 64)
