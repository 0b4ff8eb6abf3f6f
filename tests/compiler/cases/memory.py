"""Kernels that read and write memory: structures, arrays, shapes."""

from __future__ import annotations

import numpy as np

from tests.compiler.cases.case import FLOAT, INT, SMALL, UINT, N, case
from tests.compiler.kernels import (
    Local,
    Value,
    given,
    int_,
    packed,
    random,
    structure,
    value,
    zeros,
)

# --- memory.cl ------------------------------------------------------------------------------------

case("memory", "copy", [FLOAT, zeros("f4", N)], N, 64, expect=lambda a, out: {1: a})
case("memory", "strided_read", [random("i4", 5 * N), zeros("i4", N), int_(5)], N, 64)
case("memory", "reversed", [random("i2", N), zeros("i2", N)], N, 64)
case("memory", "gather", [FLOAT, UINT, zeros("f4", N)], N, 64)
case("memory", "scatter", [INT, zeros("i4", N)], N, 64)
case("memory", "constant_table", [UINT, random("f4", 8, 0, 4), zeros("f4", N)], N, 64, ulp=1)
case("memory", "private_array", [INT, zeros("i4", N)], N, 64)
case("memory", "bytes_of_ints", [UINT, zeros("u1", 4 * N)], N, 64)
case("memory", "unaligned", [random("u1", 4 * N), zeros("u4", N)], N, 64)
case("memory", "pointer_chase", [UINT, zeros("u4", N), int_(9)], N, 64)
case("memory", "pointer_select", [INT, random("i4", N + 1), zeros("i4", N)], N, 64)
case(
    "memory",
    "transpose_naive",
    [random("f4", 30 * 41), zeros("f4", 30 * 41), int_(30), int_(41)],
    (32, 44),
    (8, 4),
    expect=lambda a, out, w, h: {1: a.reshape(41, 30).T.ravel()},
)
case("memory", "stencil", [FLOAT, zeros("f4", N), int_(32)], (32, 32), (8, 8), ulp=1)
case(
    "memory",
    "matrix_product",
    [FLOAT, FLOAT, zeros("f4", N), int_(32)],
    (32, 32),
    (16, 2),
)
STARTS = np.concatenate([[0], np.cumsum(np.arange(256) * 7 % 11)])
case(
    "memory",
    "sparse_product",
    [
        given("i4", STARTS),
        random("i4", int(STARTS[-1]), 0, 256),
        random("f4", int(STARTS[-1])),
        random("f4", 256),
        zeros("f4", 256),
    ],
    256,
    32,
)
case("memory", "fill_and_copy", [random("i4", 10 * N), zeros("i4", 20 * N), int_(10)], N, 64)
case("memory", "game_of_life", [random("u1", 40 * 24), zeros("u1", 40 * 24)], (40, 24), (5, 3))

# --- structures.cl --------------------------------------------------------------------------------

PARTICLE = structure([("position", "f4", (3,)), ("mass", "f4"), ("id", "i4")], N)
INNER = np.dtype([("a", "i2"), ("b", "f8")], align=True)
PADDED = structure([("tag", "u1"), ("big", "i8"), ("inner", INNER)], N)
SETTINGS = np.zeros(
    (), np.dtype([("offsets", "i4", (4,)), ("scale", "f4"), ("mode", "u1"), ("pad", "u1", (11,))])
)
SETTINGS["offsets"] = (5, 6, 70, 8)
SETTINGS["scale"] = 0.25
SETTINGS["mode"] = 2
case("structures", "move_particles", [PARTICLE, value("f4", 0.125)], N, 64)
case("structures", "padded_structure", [PADDED], N, 64)
case(
    "structures",
    "structure_argument",
    [INT, zeros("f4", N), Value(SETTINGS)],
    N,
    64,
    expect=lambda a, out, s: {1: ((np.fmod(a, 1000) + 70) * 0.25).astype("f4")},
)
case("structures", "unions", [FLOAT, zeros("u4", N)], N, 64)
case("structures", "structure_by_value", [PARTICLE, zeros("i4", N)], N, 64)
case("structures", "array_of_structures", [INT, zeros("i4", N)], N, 64)

# --- shapes.cl ------------------------------------------------------------------------------------

TIGHT = np.dtype([("a", "i1"), ("b", "i4"), ("c", "i2"), ("d", "f8")])
NESTED = np.dtype([("parts", SETTINGS.dtype, (2,)), ("last", "i2"), ("pad", "u1", (14,))])
NESTED_SETTINGS = np.zeros((), NESTED)
NESTED_SETTINGS["parts"] = SETTINGS
NESTED_SETTINGS["parts"]["scale"] = (1.5, -2.0)
NESTED_SETTINGS["last"] = -77
case("shapes", "linked_list", [INT, zeros("u4", N)], N, 64)
case("shapes", "pointers_to_pointers", [SMALL, SMALL, zeros("i4", N)], 1000, 40)
case("shapes", "structures_by_value", [INT, zeros("i4", N)], N, 64)
case(
    "shapes",
    "nested_argument",
    [INT, zeros("i4", N), Value(NESTED_SETTINGS), value("i1", 5)],
    N,
    64,
)
case("shapes", "packed_structure", [packed(TIGHT, N), zeros("i4", N)], N, 64)
case(
    "shapes",
    "three_local_arguments",
    [random("i2", N), zeros("i2", N), Local(1), Local(2), Local(8)],
    990,
    45,
)
case("shapes", "tables", [UINT, zeros("i4", N)], N, 64)
case("shapes", "private_tables", [UINT, zeros("u4", N)], N, 64)
case("shapes", "pointer_differences", [SMALL, zeros("i8", 4 * N)], N, 64)
case("shapes", "vector_memory", [random("i2", 16 * N + 1), zeros("i2", 40 * N)], N, 64)
case("shapes", "vectors_in_private_memory", [FLOAT, zeros("f4", 8 * N)], N - 128, 64)
case("shapes", "bytes_of_structures", [UINT, zeros("u4", N)], N, 64)
case("shapes", "copies_by_a_group", [random("i4", 4 * N), zeros("i4", 4 * N), Local(16)], N, 32)
case("shapes", "strided_copies", [random("i2", 3 * N), zeros("i2", 2 * N), Local(2)], N, 64)
case("shapes", "local_structures", [INT, zeros("i4", N)], N, 64)
case(
    "shapes", "wide_indices", [random("u1", 4096), zeros("u1", N), value("u8", 12345678901)], N, 64
)
