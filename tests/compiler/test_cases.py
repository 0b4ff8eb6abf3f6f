"""Every kernel of `kernels/`, with one lane and with several, beside its expectation and PoCL."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from tests.compiler import runner
from tests.compiler.cases import CASES
from tests.compiler.kernels import Array, Case, Local, arguments, differences
from tests.compiler.peer_pocl import Peer

SILENT = [case for case in CASES if not case.prints]
"""What a kernel prints goes through the driver; tests/driver looks at that."""

HAS_ONE_ANSWER_PER_WIDTH = ("subgroups", "subgroup_extensions")
"""What these do depends on how large a sub-group is."""

POCL_IS_WRONG = {"dimension_argument": "it says that sizes of a fourth dimension are 0, not 1"}
"""Cases in which PoCL 3.1 differs from the specification."""


@cache
def program(file: str, standard: str) -> Program:
    source = next(case.source for case in CASES if case.file == file)
    return Program(compile_opencl(source, options=[f"-cl-std={standard}"]))


def three(size: tuple[int, ...], rest: int = 1) -> runner.Size:
    x, y, z = (*size, rest, rest, rest)[:3]
    return x, y, z


def run(case: Case, width: int | None, code: Program | None = None) -> dict[int, Array]:
    """What a case leaves in its buffers, when it is run from our SPIR-V or from another's."""
    given: list[object] = []
    buffers: dict[int, Array] = {}
    for place, argument in enumerate(arguments(case)):
        if isinstance(argument, Local):
            given.append(runner.Local(argument.bytes_per_item * case.group_items))
        elif argument.shape == ():
            given.append(argument[()])
        else:
            buffers[place] = np.ascontiguousarray(argument).copy()
            given.append(buffers[place])
    group = three(case.group)
    groups = three(tuple(s // g for s, g in zip(case.size, case.group, strict=True)))
    code = code or program(case.file, case.standard)
    runner.run(code, case.name, groups, group, *given, width=width, offset=three(case.offset, 0))
    return buffers


@pytest.fixture(scope="module")
def pocl() -> Peer:
    try:
        return Peer()
    except LookupError as problem:
        pytest.skip(str(problem))


@pytest.mark.parametrize("case", SILENT, ids=lambda case: case.identity)
def test_one_lane_and_several_agree(case: Case) -> None:
    natural = run(case, None)
    if not case.needs & set(HAS_ONE_ANSWER_PER_WIDTH):
        assert differences(case, natural, run(case, 1)) == []
    if case.expect is not None:
        assert differences(case, natural, case.expect(*arguments(case))) == []


@pytest.mark.parametrize(
    "case",
    [case for case in SILENT if case.name not in POCL_IS_WRONG],
    ids=lambda case: case.identity,
)
def test_pocl_agrees(case: Case, pocl: Peer) -> None:
    if pocl.lacks(case):
        return  # the other test still compares it with what it must give
    assert differences(case, run(case, None), pocl.run(case).buffers) == []
