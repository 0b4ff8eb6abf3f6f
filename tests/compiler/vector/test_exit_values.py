"""What lanes take out of a loop that they leave at different times."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.codegen.control.exit_values import exit_values
from groundstate.compiler.ir.parser import parse_kernel
from groundstate.compiler.ir.passes import Analyses, Variant
from groundstate.compiler.program import Program
from groundstate.compiler.target import Target
from tests.compiler.runner import program_of, run

SOURCE = """
__kernel void last_state(__global const uint *start, __global const uint *steps,
    __global uint *out) {
    size_t i = get_global_id(0);
    uint state = start[i];
    for (uint step = 0; step < steps[i]; step++)
        state = state * 5 + step;
    out[i] = state;
}
__kernel void state_before(__global const uint *start, __global const uint *steps,
    __global uint *out) {
    size_t i = get_global_id(0);
    uint state = start[i], before = 7;
    for (uint step = 0; step < steps[i]; step++) {
        before = state;
        state = state * 5 + step;
    }
    out[i] = state ^ before;
}
__kernel void nested(__global const uint *start, __global const uint *steps, __global uint *out) {
    size_t i = get_global_id(0);
    uint sum = 0, state = start[i];
    for (uint round = 0; round <= (i & 3); round++) {
        for (uint step = 0; step < steps[i] + round; step++)
            state = state * 5 + step;
        sum += state;
        if (sum & 1)
            break;
    }
    out[i] = sum + state;
}
__kernel void two_levels(__global const uint *start, __global const uint *steps,
    __global uint *out) {
    size_t i = get_global_id(0);
    uint state = start[i];
    for (uint round = 0; round < 5; round++)
        for (uint step = 0; step < steps[i]; step++) {
            state = state * 5 + step;
            if (state % 11 == 3)
                goto end;
        }
end:
    out[i] = state;
}
__kernel void counted(__global const uint *start, __global const uint *steps, __global uint *out) {
    size_t i = get_global_id(0);
    uint state = start[i], count = 0;
    while (state % 13 != 5 && count < steps[i]) {
        state = state * 5 + 1;
        count++;
    }
    out[i] = count;
}
"""
ITEMS = 192


def last_state(start: int, steps: int, item: int) -> int:
    del item
    for step in range(steps):
        start = (start * 5 + step) & 0xFFFFFFFF
    return start


def state_before(start: int, steps: int, item: int) -> int:
    before = last_state(start, steps - 1, item) if steps else 7
    return last_state(start, steps, item) ^ before


def nested(start: int, steps: int, item: int) -> int:
    total = 0
    for turn in range((item & 3) + 1):
        start = last_state(start, steps + turn, item)
        total = (total + start) & 0xFFFFFFFF
        if total & 1:
            break
    return (total + start) & 0xFFFFFFFF


def two_levels(start: int, steps: int, item: int) -> int:
    del item
    for _ in range(5):
        for step in range(steps):
            start = (start * 5 + step) & 0xFFFFFFFF
            if start % 11 == 3:
                return start
    return start


def counted(start: int, steps: int, item: int) -> int:
    del item
    count = 0
    while start % 13 != 5 and count < steps:
        start = (start * 5 + 1) & 0xFFFFFFFF
        count += 1
    return count


REFERENCES = (last_state, state_before, nested, two_levels, counted)


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.mark.parametrize("width", [None, 4, 16, 32])
@pytest.mark.parametrize("reference", REFERENCES, ids=lambda each: each.__name__)
def test_lanes_keep_what_they_leave_with(
    program: Program, reference: Callable[[int, int, int], int], width: int | None
) -> None:
    random = np.random.default_rng(5)
    start = random.integers(0, 1 << 32, ITEMS, dtype=np.uint32)
    steps = random.integers(0, 9, ITEMS, dtype=np.uint32)
    out = np.zeros(ITEMS, np.uint32)
    size = (64, 1, 1)
    run(program, reference.__name__, (ITEMS // 64, 1, 1), size, start, steps, out, width=width)
    given = zip(start.tolist(), steps.tolist(), strict=True)
    assert out.tolist() == [reference(*each, item) for item, each in enumerate(given)]


def test_value_of_the_loop_needs_no_second_slot(program: Program) -> None:
    """The loop writes what it carries round in the lanes that take part, and nothing else."""
    text = program.write("last_state", (64, 1, 1), 16).text
    assert text.count("select <16 x i1>") == 1
    assert not re.search(r"^leave\.", text, re.M)


NESTED_LOOPS = """
kernel "nested"
argument 0: global u32*
argument 1: u32
block 0:
  %0: u64 = Builtin ["GlobalInvocationId", 0]
  %1: global u32* = InBoundsPtrAccessChain argument 0, %0
  %2: u32 = Load %1
  %3: bool = IEqual %2, argument 1
  branch block 1
block 1:
  %4: u32 = Phi block 0: u32:0, block 3: %10
  branch %3, block 2, block 3
block 2:
  %5: u32 = Phi block 1: %2, block 2: %6
  %6: u32 = IMul %5, u32:5
  %7: bool = ULessThan %6, argument 1
  branch %7, block 2, block 3
block 3:
  %8: u32 = Phi block 1: %2, block 2: %6
  %10: u32 = IAdd %4, %8
  %9: bool = ULessThan %10, %2
  branch %9, block 1, block 4
block 4:
  Store %1, {stored}
  return
"""


@pytest.mark.parametrize(("stored", "count"), [("%2", 1), ("%8", 0)])
def test_value_that_leaves_two_loops_is_not_shared(stored: str, count: int) -> None:
    """The outer loop enters the inner one again while lanes wait with what they left with."""
    kernel = parse_kernel(NESTED_LOOPS.format(stored=stored))
    divergence = Analyses(kernel, Target(8), Variant((64, 1, 1), 8, 8)).get(Divergence)
    store = next(node for node in kernel.nodes() if node.op == "Store")
    assert store.block is not None
    escaping = {each for each in store.operands if divergence.escapes(each, store.block)}
    assert len(exit_values(divergence, escaping)) == count
