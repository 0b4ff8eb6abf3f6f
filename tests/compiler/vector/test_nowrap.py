"""Loops over indices of 32 bits, which pass their end in some round or in none."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from groundstate.compiler.analysis.divergence import VARYING
from groundstate.compiler.pipeline import specialise
from groundstate.compiler.program import Program
from tests.compiler.runner import program_of, run

COUNTERS = {
    "up": "int k = 0; k < (int)n; k++",
    "down": "int k = n; k > 0; k--",
    "unsigned_up": "uint k = 7; k < n + 7; k++",
    "unsigned_down": "uint k = n + 9; k > 9; k--",
    "different": "uint k = 0; k != n; k++",
    "different_down": "uint k = n; k != 0; k--",
    "wide": "long k = -5; k < (long)n - 5; k++",
    "larger_steps": "int k = 0; k < (int)n * 3; k += 3",
    "uneven_steps": "int k = 0; k < (int)n * 3 - 1; k += 3",
    "larger_steps_down": "long k = n * 4L; k > 0; k -= 4",
    "bound_first": "int k = 0; (int)n > k; k++",
}
"""Ways to do something n times."""


def summing(name: str, counter: str, index: str = "i", body: str = "i += step") -> str:
    return f"""
    __kernel void {name}(__global const uchar *table, __global uint *out, uint start, uint step,
                         uint n) {{
        uint i = get_global_id(0) + start, sum = 1;
        for ({counter}) {{ sum = sum * 3 + table[{index}]; {body}; }}
        out[get_global_id(0)] = sum;
    }}"""


FIXED = "i += 48"
SOURCE = "".join(summing(name, counter, body=FIXED) for name, counter in COUNTERS.items())
SOURCE += summing("stepped", COUNTERS["up"])
SOURCE += summing("computed", "uint k = 0; k < n; k++", "(k * 3 << 4) + i", "")
SOURCE += summing("jumping", "uint k = 0; k < 0xf0000000; k += 0x61234567", body="i += 0x10000000")
SOURCE += summing("unsteady", COUNTERS["up"], body="i += k")
SOURCE += summing("searching", "uint k = 0; table[k] != n; k++", body=FIXED)
SOURCE += """
__kernel void checked_below(__global const uchar *table, __global uint *out, uint start, uint n) {
    uint i = get_global_id(0) + start, k = 0, sum = 1;
    do { sum = sum * 3 + table[i]; i += 48; k++; } while (k < n);
    out[get_global_id(0)] = sum;
}
__kernel void filling(__global uchar *table, uint start, uint n) {
    uint i = get_global_id(0) + start;
    for (uint k = 0; k < n; k++) { table[i] = table[i] + k + get_global_id(0); i += 48; }
}
__kernel void masked(__global const uchar *table, __global uint *out, ulong start, uint n) {
    ulong i = get_global_id(0) + start;
    uint sum = 1;
    for (uint k = 0; k < n; k++) { sum = sum * 3 + table[i & 0xffffffff]; i += 48; }
    out[get_global_id(0)] = sum;
}
"""
ALL_COUNTED = [*COUNTERS, "stepped", "computed", "jumping", "masked", "filling", "checked_below"]
TABLE_BYTES = 1 << 32
MAP_NORESERVE = 0x4000
STEP, ITEMS = 48, 64
LAST = TABLE_BYTES - ITEMS
"""The last start from which no work-item's index wraps in one round."""
CASES = [
    (0, 0),
    (0, 1),
    (5, 9),
    (LAST, 1),
    (LAST, 0),
    (LAST - 2 * STEP, 2),
    (LAST - 2 * STEP, 3),
    (LAST - 2 * STEP + 1, 3),
    (LAST - 2 * STEP, 4),
    (LAST - 4 * STEP, 9),
    (TABLE_BYTES - 3, 5),
]
"""Starts and numbers of rounds."""
WIDTHS = [1, 8, None]


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    """As many bytes as there are indices, of which only some are not 0."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
    found = np.frombuffer(mmap.mmap(-1, TABLE_BYTES, flags), np.uint8)
    dice = np.random.default_rng(1)
    for place in (0, LAST - 4096):
        found[place : place + 4096] = dice.integers(0, 255, 4096)
    return found


def sums(table: np.ndarray, start: int, rounds: int, step: int = STEP) -> np.ndarray:
    index = np.arange(ITEMS, dtype=np.uint64) + np.uint64(start)
    result = np.ones(ITEMS, np.uint32)
    for _ in range(rounds):
        result = result * np.uint32(3) + table[index % TABLE_BYTES]
        index += np.uint64(step)
    return result


def found(
    program: Program, name: str, table: np.ndarray, *numbers: np.generic, width: int | None
) -> np.ndarray:
    out = np.zeros(ITEMS, np.uint32)
    run(program, name, (2, 1, 1), (ITEMS // 2, 1, 1), table, out, *numbers, width=width)
    return out


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", [*COUNTERS, "stepped", "computed"])
def test_sums(program: Program, table: np.ndarray, name: str, width: int | None) -> None:
    for start, rounds in CASES:
        numbers = (np.uint32(start), np.uint32(STEP), np.uint32(rounds))
        result = found(program, name, table, *numbers, width=width)
        np.testing.assert_array_equal(result, sums(table, start, rounds), f"{start} {rounds}")


def shapes_of_addresses(program: Program, name: str) -> list[set[int | None]]:
    """For each loop of a kernel, how the addresses that it loads from go on from lane to lane."""
    divergence = specialise(program, name, (32, 1, 1), 8)
    return [
        {
            divergence.stride(node.operands[0])
            for block in loop.blocks
            for node in block.nodes
            if node.op == "Load"
        }
        for loop in divergence.cfg.loops
    ]


@pytest.mark.parametrize("name", ALL_COUNTED)
def test_one_loop_reads_vectors_without_a_look(program: Program, name: str) -> None:
    assert sorted(shapes_of_addresses(program, name), key=str) == [{1}, {VARYING}]


@pytest.mark.parametrize("name", ["unsteady", "searching"])
def test_loop_of_unknown_last_index_is_not_split(program: Program, name: str) -> None:
    [shapes] = shapes_of_addresses(program, name)
    assert VARYING in shapes


@pytest.mark.parametrize("width", WIDTHS)
def test_a_step_that_is_not_known(program: Program, table: np.ndarray, width: int | None) -> None:
    for step in (0, 1, TABLE_BYTES - 16):
        numbers = (np.uint32(64), np.uint32(step), np.uint32(6))
        result = found(program, "stepped", table, *numbers, width=width)
        np.testing.assert_array_equal(result, sums(table, 64, 6, step))


@pytest.mark.parametrize("width", WIDTHS)
def test_a_counter_that_jumps_over_its_end(
    program: Program, table: np.ndarray, width: int | None
) -> None:
    counter, rounds = 0, 0
    while counter < 0xF0000000:
        counter, rounds = (counter + 0x61234567) % TABLE_BYTES, rounds + 1
    assert rounds > 4, "more than if it did not jump"
    step = 0x10000000
    start = (TABLE_BYTES - 3 - (rounds - 1) * step) % TABLE_BYTES
    numbers = (np.uint32(start), np.uint32(0), np.uint32(0))
    result = found(program, "jumping", table, *numbers, width=width)
    np.testing.assert_array_equal(result, sums(table, start, rounds, step))


@pytest.mark.parametrize("width", WIDTHS)
def test_a_loop_that_is_left_at_its_end(
    program: Program, table: np.ndarray, width: int | None
) -> None:
    for start, rounds in CASES:
        numbers = (np.uint32(start), np.uint32(rounds))
        result = found(program, "checked_below", table, *numbers, width=width)
        np.testing.assert_array_equal(result, sums(table, start, max(1, rounds)))


@pytest.mark.parametrize("width", WIDTHS)
def test_an_index_of_64_bits_of_which_32_count(
    program: Program, table: np.ndarray, width: int | None
) -> None:
    for start, rounds in CASES:
        far = np.uint64(start + 5 * TABLE_BYTES)
        result = found(program, "masked", table, far, np.uint32(rounds), width=width)
        np.testing.assert_array_equal(result, sums(table, start, rounds))


@pytest.mark.parametrize("width", WIDTHS)
def test_stores(program: Program, table: np.ndarray, width: int | None) -> None:
    for start, rounds in CASES:
        places = [
            (np.arange(32, dtype=np.uint64) + np.uint64(start + STEP * round_)) % TABLE_BYTES
            for round_ in range(rounds)
        ]
        expected = [table[place].copy() for place in places]
        numbers = (np.uint32(start), np.uint32(rounds))
        run(program, "filling", (1, 1, 1), (32, 1, 1), table, *numbers, width=width)
        for round_, (place, before) in enumerate(zip(places, expected, strict=True)):
            wanted = before + np.arange(32, dtype=np.uint8) + np.uint8(round_)
            np.testing.assert_array_equal(table[place], wanted)
