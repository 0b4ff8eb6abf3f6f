"""What the next group will read is fetched ahead of time, and nothing else changes."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np
import pytest

from groundstate.compiler.ir import Node
from groundstate.compiler.pipeline import specialise
from groundstate.compiler.program import Program
from tests.compiler.runner import program_of, run

SOURCE = """
#define ROWS(name, row, step)                                                            \\
__kernel void name(__global const float4 *a, __global float *y, long width, long n) {    \\
    __global const float4 *from = a + row;                                               \\
    float sum = 0;                                                                       \\
    for (long i = get_local_id(0); i < n; i += step) {                                   \\
        float4 v = from[i];                                                              \\
        sum += v.x + v.y + v.z + v.w;                                                    \\
    }                                                                                    \\
    y[get_global_id(0)] = sum;                                                           \\
}
ROWS(given_width, get_group_id(0) * width, get_local_size(0))
ROWS(known_width, (get_group_id(0) << 6), get_local_size(0))
ROWS(by_item, get_global_id(0) - get_local_id(0), get_local_size(0))
ROWS(far_away, (get_group_id(0) << 50), get_local_size(0))
ROWS(one_for_all, width - width, get_local_size(0))
ROWS(unknown, (get_group_id(0) * get_group_id(0)) * width, get_local_size(0))
__kernel void together(__global const float4 *a, __global float *y, long width, long n) {
    float sum = 0;
    for (long i = 0; i < n; i++)
        sum += a[get_group_id(0) * width + i * get_local_size(0) + get_local_id(0)].x;
    y[get_global_id(0)] = sum;
}
"""
SIZE, ROWS, WIDTH = 32, 5, 64


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def fetches(program: Program, name: str) -> list[Node]:
    nodes = specialise(program, name, (SIZE, 1, 1), 16).kernel.nodes()
    return [node for node in nodes if node.op == "Prefetch"]


@pytest.mark.parametrize(
    ("name", "step"), [("given_width", 16), ("known_width", 64 * 16), ("by_item", SIZE * 16)]
)
def test_steps_from_group_to_group(program: Program, name: str, step: int) -> None:
    [node] = fetches(program, name)
    assert node.literals == (step,)
    assert [each.op for each in node.operands[1:]] == ["Argument"] * (name == "given_width")


def test_each_group_size_has_steps_of_its_own(program: Program) -> None:
    for size in (32, 64, 32):
        nodes = specialise(program, "by_item", (size, 1, 1), 16).kernel.nodes()
        [ahead] = [node for node in nodes if node.op == "Prefetch"]
        assert ahead.literals == (size * 16,)


@pytest.mark.parametrize("name", ["far_away", "one_for_all", "unknown", "together"])
def test_what_is_not_fetched(program: Program, name: str) -> None:
    assert fetches(program, name) == []


@pytest.mark.parametrize("width", [1, 4, 8, 16, 32, None])
@pytest.mark.parametrize("n", [0, 1, 32, 33, 64])
def test_results_next_to_the_end_of_memory(program: Program, n: int, width: int | None) -> None:
    room = mmap.mmap(-1, 3 * mmap.PAGESIZE)
    memory = np.frombuffer(room, np.uint8)
    behind = memory.ctypes.data + 2 * mmap.PAGESIZE
    protect = ctypes.CDLL(None).mprotect
    assert protect(ctypes.c_void_p(behind), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    a = memory[2 * mmap.PAGESIZE - ROWS * WIDTH * 16 : 2 * mmap.PAGESIZE].view(np.float32)
    a[:] = np.random.default_rng(n).integers(0, 9, len(a))
    y = np.zeros(ROWS * SIZE, np.float32)
    given = (a, y, np.int64(WIDTH), np.int64(n))
    run(program, "given_width", (ROWS, 1, 1), (SIZE, 1, 1), *given, width=width)
    sums = a.reshape(ROWS, WIDTH, 4)[:, :n].sum(2)
    sums = np.pad(sums, ((0, 0), (0, WIDTH - n))).reshape(ROWS, 2, SIZE).sum(1)
    np.testing.assert_array_equal(y.reshape(ROWS, SIZE), sums)
