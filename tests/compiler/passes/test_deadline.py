"""A kernel for which it takes too long to make LLVM IR is refused, whatever takes so long."""

from __future__ import annotations

import time

import pytest

from groundstate.compiler import pipeline
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Kernel, deadline
from groundstate.compiler.ir.passes import Analyses, Pass
from groundstate.compiler.program import Program
from tests.compiler.spirv.hostile_modules import sums_in_a_loop, variables_in_loops

TOO_LONG = r"in function 'k': it takes more than 0\.2 s to make LLVM IR of it"


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setenv("GROUNDSTATE_COMPILE_LIMIT", "200ms")
    return Program(sums_in_a_loop(2))


def dawdle(kernel: Kernel, analyses: Analyses) -> bool:
    """Takes longer than is allowed."""
    time.sleep(0.3)
    return False


def replace_pipeline(
    patch: pytest.MonkeyPatch, lowering: tuple[Pass, ...], variant: tuple[Pass, ...]
) -> None:
    pipelines = dict.fromkeys(pipeline.PIPELINES, pipeline.Pipeline(lowering, variant))
    patch.setattr(pipeline, "PIPELINES", pipelines)


SLOW = Pass("dawdle", dawdle)


def test_a_pass_that_takes_long(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_pipeline(monkeypatch, (SLOW, *pipeline.LOWERING), pipeline.VECTOR)
    with pytest.raises(BuildError, match=TOO_LONG):
        program.kernel("k")


def test_the_last_pass_before_code_is_written(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_pipeline(monkeypatch, pipeline.LOWERING, (*pipeline.VECTOR, SLOW))
    with pytest.raises(BuildError, match=TOO_LONG):
        pipeline.write(program, "k", (8, 1, 1))


def test_each_kernel_has_its_own_time(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_pipeline(monkeypatch, (SLOW, *pipeline.LOWERING), pipeline.VECTOR)
    with pytest.raises(BuildError, match=TOO_LONG):
        program.kernel("k")
    replace_pipeline(monkeypatch, pipeline.LOWERING, pipeline.VECTOR)
    assert pipeline.write(program, "k", (8, 1, 1)).text


def test_zero_is_any_time(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_COMPILE_LIMIT", "0")
    replace_pipeline(monkeypatch, (SLOW, *pipeline.LOWERING), pipeline.VECTOR)
    assert program.kernel("k").name == "k"


def test_a_loop_looks_at_the_clock_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_COMPILE_LIMIT", "1ms")
    with deadline.limited("k"):
        time.sleep(0.002)
        with pytest.raises(BuildError, match="to make LLVM IR of it"):
            deadline.check()
    deadline.check()


def test_too_many_phis_are_refused() -> None:
    with pytest.raises(BuildError, match="values where ways meet"):
        Program(variables_in_loops()).kernel("k")
