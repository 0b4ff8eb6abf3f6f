"""Loops that load the same in each iteration, and may store to it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.typing import NDArray

from groundstate.compiler.codegen.control.loop_hints import FILLING_LOOP
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.target import Target
from groundstate.compiler.target.x86 import AVX2, AVX512
from tests.compiler.runner import program_of, run

SOURCE = """
kernel void up(global int *out, global const int *end, int value) {
    for (long k = 0; k < end[0]; k++) out[k] = value;
}
kernel void down(global int *out, global const int *end, int value) {
    for (long k = 47; k > end[0]; k--) out[k] = value;
}
kernel void by_three(global int *out, global const int *end, int value) {
    for (long k = 0; k < end[0]; k += 3) out[k] = value;
}
kernel void scaled(global int *out, global const int *factor, int count) {
    for (long k = 0; k < count; k++) out[k] = factor[0] + 1;
}
kernel void bytes(global uchar *out, global const int *end, int value) {
    for (long k = 0; k < end[0]; k++) out[k] = value;
}
kernel void shifted(global int *out, global const uint *from, uint count) {
    for (uint k = 0; k < count; k++) out[from[0] + k] = 3;
}
kernel void copies(global const int *in, global const int *starts, global int *out) {
    int run = get_global_id(0), begin = starts[run], count = starts[run + 1] - begin;
    for (int k = 0; k < count; k++) out[begin + k] = 3 * in[begin + k] + k;
}
kernel void runs(global const int *values, global const int *starts, global int *out) {
    int run = get_global_id(0);
    for (int k = starts[run]; k < starts[run + 1]; k++) out[k] = values[run];
}
"""
SIZE = 128
BEGINS, PLACES = (16, 31, 64), tuple(range(0, SIZE, 7))


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def at(memory: NDArray[np.int32], place: int) -> int:
    return int(memory[place])


def expected(
    name: str, memory: NDArray[np.int32], begin: int, place: int, number: int
) -> NDArray[np.int32]:
    """What one work-item leaves in memory, one iteration after the other."""
    out = memory[begin:].view(np.uint8) if name == "bytes" else memory[begin:]
    k = 47 if name == "down" else 0
    if name in ("scaled", "shifted"):
        for k in range(number):
            read = at(memory, place)
            out[k if name == "scaled" else read + k] = read + 1 if name == "scaled" else 3
        return memory
    while k > at(memory, place) if name == "down" else k < at(memory, place):
        out[k] = number
        k += {"down": -1, "by_three": 3}.get(name, 1)
    return memory


@pytest.mark.parametrize("name", ["up", "down", "by_three", "scaled", "shifted", "bytes"])
def test_stores_may_reach_what_is_loaded(program: Program, name: str) -> None:
    for begin in BEGINS:
        for place in PLACES:
            for number in (0, 1, 9) if name == "bytes" else (0, 1, 9, 40):
                given = np.full(SIZE, 20, np.int32)
                wanted = expected(name, given.copy(), begin, place, number)
                out, end = given[begin:], given[place:]
                run(program, name, (1, 1, 1), (1, 1, 1), out, end, np.int32(number), width=1)
                assert given.tolist() == wanted.tolist(), (begin, place, number)


@pytest.mark.parametrize("width", [1, 8, None])
def test_runs_of_all_lengths(program: Program, width: int | None) -> None:
    items = 256
    lengths = np.random.default_rng(4).integers(0, 70, items)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    values = np.arange(items, dtype=np.int32)
    out = np.full(starts[-1] + 8, -1, np.int32)
    run(program, "runs", (4, 1, 1), (64, 1, 1), values, starts, out, width=width)
    assert out.tolist() == [*np.repeat(values, lengths), *[-1] * 8]


def text(name: str) -> str:
    return program_of(SOURCE).write(name, (64, 1, 1), 1).text


def test_ends_are_compared_with_what_is_stored() -> None:
    for name in ("up", "down", "by_three", "runs"):
        assert re.search(r"icmp ule i64 .*\n  %t\d+ = icmp uge i64", text(name))


def test_short_indices_are_known_not_to_wrap() -> None:
    assert re.search(r"icmp ule i64 %t\d+, 4294967295\n  .*icmp sge i64", text("shifted"))


def fills(name: str, target: Target, group: int = 64) -> bool:
    """Whether LLVM is told that a loop of a kernel has masks if it becomes one over vectors."""
    program = Program(compile_opencl(SOURCE), target=target)
    written = program.write(name, (group, 1, 1), 1).text
    return re.search(rf"br label %b\d+, !llvm.loop {FILLING_LOOP}", written) is not None


def test_loops_that_fill_memory_have_masks_where_the_machine_has() -> None:
    assert fills("runs", AVX512)
    assert not fills("runs", AVX2)
    assert not fills("runs", AVX512, group=1)  # a single work-item has a long one
    assert not fills("copies", AVX512)


@pytest.mark.parametrize("width", [1, 8, None])
def test_copies_of_all_lengths(program: Program, width: int | None) -> None:
    items = 256
    lengths = np.random.default_rng(6).integers(0, 70, items)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    given = np.random.default_rng(7).integers(0, 1000, starts[-1]).astype(np.int32)
    out = np.full(starts[-1] + 8, -1, np.int32)
    run(program, "copies", (4, 1, 1), (64, 1, 1), given, starts, out, width=width)
    places = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    assert out.tolist() == [*(3 * given + places), *[-1] * 8]
