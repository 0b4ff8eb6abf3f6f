"""Kernels that branch and loop, and what languages make of that."""

from __future__ import annotations

import numpy as np

from tests.compiler.cases.case import FLOAT4, INT, UINT, N, case
from tests.compiler.kernels import (
    Local,
    given,
    int_,
    random,
    sorted_numbers,
    value,
    zeros,
)

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
