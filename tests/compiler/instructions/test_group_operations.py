"""Operations of a whole group: in a row, in loops, and how often the group waits for them."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.lower.barriers import is_group_barrier
from groundstate.compiler.program import Program
from tests.compiler.instructions.instruction_support import each_item, module
from tests.compiler.runner import program_of, run

SOURCE = """
__kernel void in_a_row(__global const int *in, __global int *out, int n) {
    int i = get_global_id(0), sum = work_group_reduce_add(in[i]);
    int high = work_group_reduce_max(in[i] - sum);
    out[i] = sum * 100 + high + n;
}
__kernel void in_a_loop(__global const int *in, __global int *out, int n) {
    int i = get_global_id(0), x = in[i], sum = 0;
    for (int k = 0; k < n; k++) {
        sum = work_group_reduce_add(x);
        x = (x + sum + (int)get_local_id(0)) & 255;
    }
    out[i] = sum * 256 + x;
}
"""
ITEMS = 64
SHUFFLE = ("GroupNonUniformShuffle",)


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def in_a_row(group: np.ndarray, rounds: int) -> np.ndarray:
    total = group.sum()
    return np.full_like(group, total * 100 + (group - total).max() + rounds)


def in_a_loop(group: np.ndarray, rounds: int) -> np.ndarray:
    total = 0
    for _ in range(rounds):
        total = group.sum()
        group = (group + total + np.arange(len(group))) & 255
    return total * 256 + group


EXPECTED = {"in_a_row": in_a_row, "in_a_loop": in_a_loop}


@pytest.mark.parametrize("width", [1, 4, 16, None])
@pytest.mark.parametrize("size", [16, 32, 24, 64])
@pytest.mark.parametrize("name", EXPECTED)
def test_results(program: Program, name: str, size: int, width: int | None) -> None:
    given = np.random.default_rng(3).integers(0, 100, ITEMS // size * size).astype(np.int32)
    out = np.zeros_like(given)
    groups = (len(given) // size, 1, 1)
    run(program, name, groups, (size, 1, 1), given, out, np.int32(3), width=width)
    for group, found in zip(given.reshape(-1, size), out.reshape(-1, size), strict=True):
        np.testing.assert_array_equal(found, EXPECTED[name](group, 3))


@pytest.mark.parametrize(("name", "barriers"), [("in_a_row", 2), ("in_a_loop", 2)])
def test_only_what_comes_again_waits_for_readers(
    program: Program, name: str, barriers: int
) -> None:
    nodes = program.kernel(name).nodes()
    assert sum(map(is_group_barrier, nodes)) == barriers


@pytest.mark.parametrize(("distance", "lanes"), [(8, 16), (15, 16), (16, 32), (31, 32), (32, 16)])
def test_shuffle_names_a_lane_that_subgroups_have(distance: int, lanes: int) -> None:
    """Programs for GPUs with sub-groups of 32 do not always say that they need them."""
    body = f"""
    %mine = OpLoad %u32 %in:SubgroupLocalInvocationId:u32
    %r = OpGroupNonUniformShuffleXor %u32 %u32:3 %mine %u32:{distance}
    """
    program = Program(module(each_item([body], [], ["u32"]), capabilities=SHUFFLE))
    assert program.signature("kernel").subgroup_size == lanes
    if distance < lanes:
        result = np.zeros(64, np.uint32)
        run(program, "kernel", (1, 1, 1), (64, 1, 1), result)
        assert result.tolist() == [lane % lanes ^ distance for lane in range(64)]
