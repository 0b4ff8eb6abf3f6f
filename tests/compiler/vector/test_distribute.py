"""Loops with more sums than registers, and sub-groups that run in parts: results stay the same."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.analysis.cfg import CFG, Loop
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.ir.passes import Analyses, Variant, run_passes
from groundstate.compiler.ir.printer import print_kernel
from groundstate.compiler.pipeline import VECTOR
from groundstate.compiler.program import Program
from groundstate.compiler.target import Target
from groundstate.compiler.target.vector_width import vector_of_subgroup
from tests.compiler.runner import program_of, run

COLUMNS = 8
"""Of each half of a sub-group, from which every lane takes a vector."""


def multiplying(
    name: str, inside: str = "", shuffled: str = "first + {j}", ahead: bool = True
) -> str:
    """A kernel that sums up 64 products for each work-item, as kernels for GPUs do: it loads what
    it needs for the next round ahead of time, and lanes take half of it from each other."""
    sums = "".join(f"float4 s{r}{j} = 0; " for r in range(2) for j in range(COLUMNS))
    adds = "".join(
        f"bb = intel_sub_group_shuffle(b4, {shuffled.format(j=j)}); "
        f"s0{j} = mad((float4)a2.x, bb, s0{j}); s1{j} = mad((float4)a2.y, bb, s1{j}); "
        for j in range(COLUMNS)
    )
    stores = "".join(f"out[{2 * j + r}] = s{r}{j}; " for r in range(2) for j in range(COLUMNS))
    return f"""
    __attribute__((intel_reqd_sub_group_size(16)))
    kernel void {name}(global const float *a, global float *b, global float4 *c, uint n) {{
        uint lane = get_sub_group_local_id(), first = lane / 8 * 8;
        uint x = get_local_id(0), y = get_local_id(1), width = get_local_size(0);
        uint at_a = y * (n + 1) * width * 2 + 16 * x / 8, at_b = 32 * x / 8;
        {sums}
        float2 a2 = *(global const float2 *)(a + at_a);
        float4 bb, b4 = *(global const float4 *)(b + at_b);
        at_a += 2 * width;
        at_b += 4 * width;
        {"" if ahead else "*(global float4 *)(b + 32 * x / 8) = -1;"}
        for (int l = n; l > 0; l--) {{
            {adds}
            {inside}
            a2 = *(global const float2 *)(a + at_a);
            {"b4 = *(global const float4 *)(b + at_b);" if ahead else ""}
            at_a += 2 * width;
            at_b += 4 * width;
        }}
        global float4 *out = c + get_local_linear_id() * 16;
        {stores}
    }}"""


SOURCE = multiplying("plain") + multiplying("writes", "c[get_local_linear_id() * 16] = 0;")
SOURCE += multiplying("across", shuffled="(first + {j} + 8) & 15")
SOURCE += multiplying("overwritten", ahead=False)
ROUNDS = 37
SIZES = [(8, 8, 1), (16, 4, 1), (32, 1, 1), (24, 2, 1), (4, 4, 1)]
CASES = [(name, size) for name in ("plain", "writes", "across") for size in SIZES]
CASES.append(("plain", (8, 3, 1)))  # half a sub-group at the end


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


def matrices(width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """Small whole numbers, so that sums are exact; with a round more than is added up."""
    dice = np.random.default_rng(width * height)
    a = dice.integers(-9, 9, (height, ROUNDS + 1, width, 2)).astype(np.float32)
    b = dice.integers(-9, 9, (ROUNDS + 1, width, 4)).astype(np.float32)
    return a, b


def sums_of(a: np.ndarray, b: np.ndarray, move: int) -> np.ndarray:
    """For each work-item: what it adds up with each lane of its eight, or of another eight."""
    height, _, width, _ = a.shape
    item = np.arange(width * height)
    first = item % 16 // 8 * 8
    columns = first[:, None] + np.arange(COLUMNS) + move
    source = (item // 16 * 16)[:, None] + columns % 16  # the work-item whose vector it takes
    taken = b[:ROUNDS, source % width]  # rounds, items, columns, 4
    own = a[item // width, :ROUNDS, item % width]  # items, rounds, 2
    return np.einsum("iln,licv->icnv", own, taken)


@pytest.mark.parametrize(("name", "size"), CASES)
def test_sums(program: Program, name: str, size: tuple[int, int, int]) -> None:
    move = 8 if name == "across" else 0
    items = size[0] * size[1]
    a, b = matrices(size[0], size[1])
    out = np.zeros((items, COLUMNS, 2, 4), np.float32)
    run(program, name, (1, 1, 1), size, a, b, out, np.uint32(ROUNDS))
    np.testing.assert_array_equal(out, sums_of(a, b, move))


def test_load_before_loop_is_not_repeated(program: Program) -> None:
    a, b = matrices(8, 1)
    out = np.zeros((8, COLUMNS, 2, 4), np.float32)
    given = b.copy()
    run(program, "overwritten", (1, 1, 1), (8, 1, 1), a, given, out, np.uint32(ROUNDS))
    assert (given[0] == -1).all()
    np.testing.assert_array_equal(out, sums_of(a, np.broadcast_to(b[:1], b.shape), 0))


def split(program: Program, name: str, without: str = "") -> tuple[Divergence, Divergence]:
    """A kernel for groups of 8 x 8 and registers of 8 lanes, before and after passes."""
    kernel, target = program.kernel(name), Target(lanes=8)
    width = vector_of_subgroup(kernel, (8, 8, 1), 16, 8)
    variant = Variant((8, 8, 1), width, 16)
    before = Divergence(kernel, CFG(kernel), variant, target)
    changed = kernel.copy()
    analyses = Analyses(changed, target, variant)
    run_passes([each for each in VECTOR if each.name != without], changed, analyses)
    return before, analyses.get(Divergence)


def _loops_without_wrap(divergence: Divergence) -> list[Loop]:
    """All but the version of a loop for indices that wrap."""
    return [loop for loop in divergence.cfg.loops if not loop.header.cold]


def test_a_loop_becomes_several(program: Program) -> None:
    before, after = split(program, "plain")
    assert before.width == 8, "half of the sub-group takes nothing from the other"
    assert len(before.cfg.loops) == 1
    loops = _loops_without_wrap(after)
    assert len(loops) == 6, "64 sums, 12 at a time"
    for loop in loops:
        loads = [node for block in loop.blocks for node in block.nodes if node.op == "Load"]
        assert len(loads) <= 3
        assert any(after.stride(each) == 0 for each in loads), "one lane's vector for all"


def test_a_loop_that_writes_stays_one(program: Program) -> None:
    before, after = split(program, "writes", without="no-wrap")
    assert print_kernel(after.kernel) == print_kernel(before.kernel)
    _, after = split(program, "writes")
    assert len(_loops_without_wrap(after)) == 1


def test_lanes_that_need_each_other_stay_together(program: Program) -> None:
    before, _ = split(program, "across")
    assert before.width == 16
