"""Every kernel of `kernels/` with its arguments, sizes and expectations: the list `CASES`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compiler.kernels import (
    Argument,
    Array,
    Case,
    Local,
    Value,
    given,
    int_,
    packed,
    random,
    sorted_numbers,
    special,
    structure,
    value,
    zeros,
)

CASES: list[Case] = []

Size = int | tuple[int, ...]


def case(
    file: str, name: str, arguments: list[Argument], size: Size, group: Size, **more: Any
) -> None:
    """Adds a case; one-dimensional sizes may be plain numbers, needs a text of words."""
    sizes = (size,) if isinstance(size, int) else size
    groups = (group,) if isinstance(group, int) else group
    more["needs"] = frozenset(str(more.get("needs", "")).split())
    CASES.append(Case(file, name, tuple(arguments), sizes, groups, **more))


N = 1024
INT, UINT, LONG, ULONG = random("i4", N), random("u4", N), random("i8", N), random("u8", N)
FLOAT, DOUBLE = random("f4", N), random("f8", N)

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

# --- control.cl -----------------------------------------------------------------------------------

case(
    "control",
    "branch",
    [random("i4", N, 0, 1 << 20), zeros("i4", N)],
    N,
    64,
    expect=lambda a, out: {1: np.where(a & 1, a * 3 + 1, a // 2).astype("i4")},
)
case("control", "nested_branches", [random("i4", N, -1000, 1000), zeros("i4", N)], N, 64)
case("control", "collatz", [UINT, zeros("u4", N)], N, 64)
case("control", "early_return", [random("i4", N, -300, 1000), zeros("i4", N), int_(1000)], N, 64)
case("control", "switch_dense", [UINT, zeros("i4", N)], N, 64)
case("control", "switch_values", [UINT, zeros("i4", N)], N, 64)
case("control", "switch_sparse", [INT, zeros("i4", N)], N, 64)
case("control", "break_and_continue", [random("i4", N, 0, 10000), zeros("i4", N)], N, 64)
case("control", "do_while", [UINT, zeros("u4", N)], N, 64)
case("control", "nested_loops", [UINT, zeros("u4", N)], N, 64)
case("control", "jump_out", [INT, zeros("i4", N)], N, 64)
case("control", "irreducible", [UINT, zeros("u4", N)], N, 64)
case("control", "short_circuit", [INT, zeros("i4", N)], N, 64)
for mode in (0, 1, 2):
    case("control", "uniform_branch", [INT, zeros("i4", N), int_(mode)], N, 64)
case("control", "binary_search", [sorted_numbers("i4", N), INT, zeros("i4", N), int_(N)], N, 64)
case(
    "control",
    "mandelbrot",
    [zeros("u4", 96 * 64), value("f4", 1 / 32), int_(80)],
    (96, 64),
    (16, 4),
)
case("control", "insertion_sort", [random("i4", 8 * N)], N, 64)
case("control", "call_in_branch", [INT, zeros("i4", N)], N, 64)

# --- barriers.cl ----------------------------------------------------------------------------------

for group in (1, 7, 64, 100):
    case("barriers", "reverse_group", [random("i4", group * 9), Local(4)], group * 9, group)
case(
    "barriers",
    "tree_reduce",
    [random("i4", N, -1000, 1000), zeros("i4", N // 128), Local(4)],
    N,
    128,
    expect=lambda a, out, shared: {1: a.reshape(-1, 128).sum(axis=1, dtype="i4")},
)
case("barriers", "scan_group", [random("i4", 960), zeros("i4", 960), Local(4), Local(4)], 960, 96)
case(
    "barriers",
    "transpose_tile",
    [FLOAT, zeros("f4", N), int_(64), int_(16)],
    (64, 16),
    (8, 8),
)
case("barriers", "matrix_tiles", [FLOAT, FLOAT, zeros("f4", N), int_(32)], (32, 32), (8, 8))
case("barriers", "blur_halo", [FLOAT, zeros("f4", N)], N, 64, ulp=1)
for mode in (0, 1):
    case("barriers", "barrier_in_branch", [INT, int_(mode)], 960, 48)
case("barriers", "barrier_in_function", [INT, Local(4)], N, 32)
case("barriers", "barrier_with_live_values", [INT, zeros("i4", N), Local(4)], 990, 33)
case(
    "barriers",
    "bitonic_sort",
    [INT, Local(4)],
    N,
    128,
    expect=lambda a, shared: {0: np.sort(a.reshape(-1, 128), axis=1).ravel()},
)
case("barriers", "local_histogram", [random("u1", N), zeros("u4", N // 4)], N, 64)
case("barriers", "async_copies", [FLOAT, zeros("f4", N), Local(4), Local(4)], N, 64)
case("barriers", "choose_local", [INT, int_(7)], N, 64)
case("barriers", "global_barrier", [INT, zeros("i4", N)], N, 64)

# --- atomics.cl, atomics2.cl ----------------------------------------------------------------------

case("atomics", "count", [INT, zeros("i4", 4)], N, 64)
case(
    "atomics",
    "histogram",
    [UINT, zeros("u4", 32)],
    N,
    64,
    expect=lambda a, out: {1: np.bincount(a % 32, minlength=32).astype("u4")},
)
case(
    "atomics",
    "extremes",
    [INT, given("i4", [2**31 - 1, -(2**31)]), given("u4", [2**32 - 1, 0])],
    N,
    64,
    expect=lambda a, s, u: {
        1: np.array([a.min(), a.max()]),
        2: np.array([a.view("u4").min(), a.view("u4").max()]),
    },
)
case("atomics", "masks", [UINT, given("u4", [0, 2**32 - 1, 0])], 64, 16)
case("atomics", "compare_exchange_add", [INT, zeros("i4", 1)], N, 64)
case("atomics", "exchange", [INT, random("f4", N), zeros("i4", 2 * N)], N, 64)
case("atomics", "tickets", [zeros("i4", 1), zeros("i4", N)], N, 64)
case("atomics", "local_counters", [INT, zeros("i4", 2 * N // 64)], N, 64)
case(
    "atomics",
    "wide",
    [LONG, given("i8", [0, 2**63 - 1, -(2**63), 0])],
    N,
    64,
    needs="int64_atomics",
)
case(
    "atomics2",
    "fetch",
    [INT, given("i4", [0, 0, 2**31 - 1, -(2**31)]), given("u4", [0, 0, 2**32 - 1])],
    N,
    64,
    needs="cl2",
)
case("atomics2", "compare_exchange", [INT, zeros("i4", 1)], N, 64, needs="cl2")
case("atomics2", "hand_over", [INT, zeros("i4", N)], N, 64, needs="cl2")
case(
    "atomics2",
    "flags",
    [zeros("i4", 1), zeros("i4", 1)],
    N,
    64,
    needs="cl2",
    expect=lambda flag, winners: {1: np.array([1], "i4")},
)
case(
    "atomics2",
    "float_sum",
    [INT, given("f4", [0, -1, 100])],
    N,
    64,
    needs="cl2 float_atomics",
    expect=lambda a, out: {1: np.array([(a & 15).sum(), 15, 0], "f4")},
)

# --- vectors.cl -----------------------------------------------------------------------------------

INT4, FLOAT4 = random("i4", 4 * N), random("f4", 4 * N)
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

# --- subgroups.cl, workgroups.cl ------------------------------------------------------------------


def all_equal(place: int, number: int, dtype: str = "i4", count: int = N) -> Any:
    """An expectation: the buffer at `place` holds `number` everywhere."""
    return lambda *arguments: {place: np.full(count, number, dtype)}


case(
    "subgroups",
    "subgroup_sum",
    [random("i4", N, 0, 100), zeros("i4", N // 64)],
    N,
    64,
    needs="subgroups",
    expect=lambda a, out: {1: a.reshape(-1, 64).sum(axis=1, dtype="i4")},
)
case(
    "subgroups",
    "subgroup_extremes",
    [INT, given("i4", [2**31 - 1, -(2**31)])],
    N,
    64,
    needs="subgroups",
    expect=lambda a, out: {1: np.array([a.min(), a.max()])},
)
for name, expected in (("subgroup_scan", 0), ("subgroup_votes", 7), ("subgroup_ids", 7)):
    data: list[Argument] = [zeros("i4", N)] if name == "subgroup_ids" else [INT, zeros("i4", N)]
    case(
        "subgroups",
        name,
        data,
        N,
        64,
        needs="subgroups",
        expect=all_equal(len(data) - 1, expected),
    )
case(
    "subgroups",
    "subgroup_shuffle",
    [random("i4", N, 0, 1000), zeros("i4", N)],
    N,
    64,
    needs="subgroups subgroup_extensions",
    expect=lambda a, out: {1: 2 * a},
)
case(
    "subgroups",
    "subgroup_neighbours",
    [INT, zeros("i4", N)],
    N,
    64,
    needs="subgroups subgroup_extensions",
    expect=all_equal(1, 3),
)
case(
    "subgroups",
    "subgroup_ballot",
    [INT, zeros("i4", N)],
    N,
    64,
    needs="subgroups subgroup_extensions",
    expect=all_equal(1, 15),
)


def odd_and_even(a: Array, out: Array) -> dict[int, Array]:
    """What `subgroup_divergent` counts."""
    odd = a[(a & 1) != 0]
    return {1: np.array([len(odd), np.bitwise_xor.reduce(odd), len(a) - len(odd)], "i4")}


case(
    "subgroups",
    "subgroup_divergent",
    [INT, zeros("i4", 3)],
    N,
    64,
    needs="subgroups subgroup_extensions",
    expect=odd_and_even,
)
case(
    "subgroups",
    "subgroup_clusters",
    [INT, zeros("i4", N)],
    N,
    64,
    needs="subgroups subgroup_extensions",
    expect=lambda a, out: {1: np.repeat(a.reshape(-1, 4).max(axis=1), 4)},
)
case(
    "subgroups",
    "subgroup_float_sum",
    [INT, zeros("f4", N)],
    N,
    64,
    needs="subgroups",
    expect=lambda a, out: {1: (a & 63).astype("f4")},
)
case(
    "workgroups",
    "group_reduce",
    [random("i4", N, -1000, 1000), zeros("i4", 3 * N // 64)],
    N,
    64,
    needs="cl2 collectives",
)
case("workgroups", "group_scan", [INT, zeros("i4", 3 * N)], 1000, 40, needs="cl2 collectives")
case("workgroups", "group_broadcast", [FLOAT, zeros("f4", N)], N, 64, needs="cl2 collectives")
case("workgroups", "group_votes", [INT, zeros("i4", N)], N, 16, needs="cl2 collectives")
case(
    "workgroups",
    "group_scan_in_loop",
    [INT, zeros("i4", N), int_(5)],
    N,
    64,
    needs="cl2 collectives",
)

# --- languages.cl, places.cl, printing.cl, simulation.cl ------------------------------------------

case("languages", "generic_pointers", [INT, zeros("i4", N)], N, 64, needs="cl2")
case("languages", "program_variables", [zeros("i4", N)], N, 64, needs="cl2")
case("languages", "out_parameters", [random("i4", 2 * N)], N, 64, needs="cl2")
case("languages", "address_spaces", [INT, zeros("i4", N)], N, 64, needs="cl2")
case("places", "ids3", [zeros("u8", 4 * 240)], (10, 6, 4), (5, 3, 2))
case("places", "ids3", [zeros("u8", 4 * 240)], (10, 6, 4), (5, 3, 2), offset=(3, 100, 7))
case("places", "sizes", [zeros("u8", 2 * 84)], (12, 7), (4, 7))
case("places", "dimension_argument", [zeros("u8", 64), int_(1)], 64, 16)
case("places", "required_size", [zeros("i4", 128)], (16, 8), (8, 2))
case(
    "printing",
    "print_numbers",
    [given("i4", [-5, 7, 0xBEEF])],
    16,
    16,
    prints="int -5, unsigned 7, hex 0000beef, char g\n"
    "float 1.500, exponent 1.234568e+04, long -42949672960\n"
    "vector 1,2,3,4 and 0.500000,0.250000\n"
    "string here, percent %\n",
)
case(
    "printing",
    "print_in_loop",
    [given("i4", [4, 9, 16]), int_(3)],
    16,
    4,
    prints="0:4\n1:9\n2:16\n",
)
case(
    "simulation",
    "nbody",
    [FLOAT4, zeros("f4", 4 * N), int_(64), value("f4", 0.01)],
    64,
    16,
    ulp=256,
)
case("simulation", "monte_carlo", [UINT, zeros("u4", N), int_(100)], N, 64)
case(
    "simulation",
    "edit_distance",
    [random("u1", 16 * N), random("u1", 16 * N), zeros("i4", N)],
    N,
    64,
)
case(
    "simulation",
    "ray_spheres",
    [given("f4", [0, 0, 8, 2, 3, 1, 12, 4, -3, -2, 9, 1.5, 1, -3, 7, 1]), zeros("i4", N), int_(4)],
    (32, 32),
    (8, 8),
)
case(
    "simulation",
    "prefix_blocks",
    [INT, zeros("i4", N), zeros("i4", N // 128), Local(4)],
    N,
    128,
)

# --- flow.cl --------------------------------------------------------------------------------------

SMALL = random("i4", N, -1000, 1000)
case("flow", "jump_into_loop", [UINT, zeros("u4", N)], N, 64)
case("flow", "switch_into_loop", [UINT, zeros("u4", N)], N, 64)
case("flow", "states", [UINT, zeros("u4", N)], N, 64)
case("flow", "several_ways_out", [INT, zeros("i4", 2 * N)], N, 64)
case("flow", "returns_in_loops", [INT, zeros("i4", N)], N, 64)
case("flow", "return_before_the_rest", [INT, zeros("i4", N), int_(30)], 999, 27)
case("flow", "loop_carried", [UINT, zeros("u4", 4 * N)], N, 64)
case("flow", "else_chain", [INT, zeros("i4", N)], N, 64)
case("flow", "calls_of_calls", [INT, zeros("i4", N)], N, 64)
for group in (1, 24, 64):
    case(
        "flow",
        "until_nothing_changes",
        [random("i4", 8 * group, -(10**9), 10**9), Local(4), Local(4)],
        8 * group,
        group,
    )
for rounds in (0, 1, 5):
    case(
        "flow",
        "barriers_in_nested_loops",
        [UINT, zeros("u4", N), Local(4), value("u4", 3), value("u4", rounds)],
        960,
        48,
    )
for way in (0, 1, 3):
    case(
        "flow", "barriers_in_functions", [UINT, zeros("u4", N), Local(4), value("u4", way)], 990, 33
    )
case("flow", "barrier_by_group", [INT, zeros("i4", N), Local(4)], N, 32)
case("flow", "divergent_around_uniform", [INT, zeros("i4", N), int_(11)], N, 64)
case("flow", "leave_one_by_one", [UINT, zeros("u4", N), zeros("u4", 64)], N, 64)

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
