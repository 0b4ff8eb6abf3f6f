"""Stepping a group in this process: stops, expressions, wrong accesses, and going back."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.driver.debugging.breakpoints import Active, Breakpoint, Places, Watch
from groundstate.driver.debugging.expressions import evaluate
from groundstate.driver.debugging.inspection import Names, frames, locals_of
from groundstate.driver.debugging.stepper import Stepper
from groundstate.driver.debugging.values import EvaluationError, text
from tests.compiler.runner import Local
from tests.compiler.step.step_support import Stepped

KERNEL = (Path(__file__).parent / "kernel.cl").read_text()
EDGES = """
kernel void far(global int *out, global int *nowhere) {
    int i = get_global_id(0);
    printf("%d of %s: %5.2f|%v4d\\n", i, "four", 1.5f * i, (int4)(1, 2, 3, i));
    if (i == 2)
        nowhere[1] = 5;
    out[i] = vload4(0, out).x + atomic_inc(out + 4) * 0 + i;
}
"""


@cache
def program(source: str, *options: str) -> Program:
    return Program(compile_opencl(source, options=options, name="kernel.cl"))


def stepper_of(
    launch: Stepped, *breakpoints: Breakpoint, watches: tuple[Watch, ...] = ()
) -> Stepper:
    active = Active(breakpoints, Places(launch.code), launch.code.name)
    return Stepper(launch.group(0), Names(launch.code), active, list(watches))


@pytest.fixture
def work() -> Stepped:
    given, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    sizes = (1, 1, 1), (8, 1, 1)
    built = program(KERNEL, "-O0", "-g")
    return Stepped(built, "work", *sizes, out, given, np.int32(8), Local(32), offset=(0, 0, 0))


def value(stepper: Stepper, expression: str, frame: int = 0) -> str:
    result = evaluate(expression, stepper.focus, stepper.names, frame)
    return text(result, stepper.group.memory)


def test_expressions_are_those_of_c(work: Stepped) -> None:
    stepper = stepper_of(work, Breakpoint(1, "kernel.cl", 21, condition="k == 3 && i == 9"))
    stop = stepper.go(is_fresh=True)
    assert stop is not None
    assert stop.breakpoint is not None
    assert stop.breakpoint.problem == ""
    for expression, wanted in {
        "k": "3",
        "i": "9",
        "-k + 2 * (4 - 1) % 4": "-1",
        "k << 2 | 1": "13",
        "~k & 0xff": "252",
        "k > 2 && !(k == 4) || 0": "1",
        "1 / 0": "a division by zero",
        "q.z + q.s3": "7.0",
        "*(in + 3)": "3",
        "in[2] * .5f": "1.0",
        "p": "{x = 0, n = {0, 0, 0}}",
        "(&p)->n[1]": "0",
        "shared[7]": "7",
        "&in[2] - 1 == in + 1": "1",
        "in @ 3": "{0, 1, 2}",
        "get_local_size(0) + get_global_size(1)": "9",
        "n[2]": "int has no elements",
        "q.w2": "a float4 has no member 'w2'",
        "missing": "there is no variable 'missing' here; there are: out, in, n, tmp",
        "k +": "the expression ends too early",
        "k k": "there is 'k' behind the expression",
        "shared[8]": "a float[8] has no element 8",
        "sin(1)": "sin() cannot be called here; only get_global_id() etc.",
        "*(k": "')' is missing",
        "1 << 99": "a shift by 99",
        "?": "'?' is out of place",
        "#": "'#' is no part of an expression",
        "(" * 60 + "1" + ")" * 60: "the expression is nested too deeply",
    }.items():
        try:
            found = value(stepper, expression)
        except EvaluationError as problem:
            found = str(problem)
        assert found.startswith(wanted), expression


def test_variables_of_inner_blocks_end_with_them(work: Stepped) -> None:
    stepper = stepper_of(work, Breakpoint(1, "kernel.cl", 22))
    stepper.go(is_fresh=True)
    assert value(stepper, "i") == "0"
    assert evaluate("i", stepper.focus, stepper.names).type.name == "int"
    assert "k" not in locals_of(stepper.focus, stepper.names)
    assert [each.function for each in frames(stepper.focus)] == ["work"]


def test_group_that_goes_back_computes_the_same_again(work: Stepped) -> None:
    out = work.kept[0]
    assert isinstance(out, np.ndarray)
    stepper = stepper_of(work, Breakpoint(1, "kernel.cl", 22, item=(5, 0, 0)))
    stepper.go(is_fresh=True)
    before = value(stepper, "sum"), stepper.group.executed
    assert stepper.go() is None
    first = out.copy()
    assert stepper.go_back().reason == "breakpoint"
    assert (value(stepper, "sum"), stepper.group.executed) == before
    assert out[7] == 0
    assert stepper.go() is None
    assert np.array_equal(out, first)
    assert out[0] == 156


def test_watch_stops_behind_each_write(work: Stepped) -> None:
    stepper = stepper_of(work)
    out = work.kept[0]
    assert isinstance(out, np.ndarray)
    stepper.watches = [Watch(1, "out[3]", out.ctypes.data + 12, 4)]
    stop = stepper.go()
    assert stop is not None
    assert stop.reason == "watchpoint"
    assert stop.item.global_id == (3, 0, 0)
    assert frames(stop.item)[0].line == 24
    assert stepper.go() is None


def test_step_of_all_items_passes_the_barrier(work: Stepped) -> None:
    stepper = stepper_of(work, Breakpoint(1, "kernel.cl", 16, item=(2, 0, 0)))
    stepper.go(is_fresh=True)
    stop = stepper.step(stepper.group.items, "over")
    assert stop is not None
    assert {frames(each)[0].line for each in stepper.group.items[:3]} == {17}
    assert not any(each.is_over for each in stepper.group.items)


def test_wrong_address_fails_one_item_and_its_text_is_printed() -> None:
    out = np.zeros(8, np.int32)
    built = program(EDGES, "-O0", "-g")
    launch = Stepped(built, "far", (1, 1, 1), (4, 1, 1), out, np.uint64(64))
    stepper = stepper_of(launch)
    stop = stepper.go()
    assert stop is not None
    assert stop.reason == "finding"
    assert stop.item.global_id == (2, 0, 0)
    assert "writes 4 bytes at 0x44, where the process has no memory" in stop.text
    assert stepper.go() is None
    assert out.tolist() == [0, 1, 0, 3, 3, 0, 0, 0]
    assert launch.printed[3] == "3 of four:  4.50|1,2,3,3\n"


def test_kernel_without_lines_stops_at_its_start() -> None:
    out = np.zeros(8, np.int32)
    launch = Stepped(program(EDGES), "far", (1, 1, 1), (4, 1, 1), out, np.uint64(64))
    stepper = stepper_of(launch, Breakpoint(1, function="far", item=(1, 0, 0)))
    stop = stepper.go(is_fresh=True)
    assert stop is not None
    assert stop.item.global_id == (1, 0, 0)
    assert set(locals_of(stop.item, stepper.names)) == {"out", "nowhere"}
