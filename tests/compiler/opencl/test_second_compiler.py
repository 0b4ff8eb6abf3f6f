"""The kernels of `kernels/` through SPIR-V that other compilers wrote, beside that of ours."""

from __future__ import annotations

from functools import cache

import pytest

from groundstate.compiler.program import Program
from tests.compiler.kernels import Case, differences
from tests.compiler.opencl import second_compiler
from tests.compiler.vector.test_cases import HAS_ONE_ANSWER_PER_WIDTH, SILENT, run

NOT_IN_SPIRV = {"dimension_argument": "the translator does not guard components beyond a vector"}
"""Cases whose answer is undefined in the SPIR-V that the translator writes."""

COMPARED = [case for case in SILENT if case.name not in NOT_IN_SPIRV]


@cache
def program(source: str, standard: str, way: str) -> Program:
    return Program(second_compiler.compile_opencl(source, standard, way))


@pytest.mark.parametrize("case", COMPARED, ids=lambda case: case.identity)
def test_both_compilers_agree(case: Case) -> None:
    ours = run(case, None)
    for way, width in (("plain", None), ("plain", 1), ("optimised", None)):
        if width == 1 and case.needs & set(HAS_ONE_ANSWER_PER_WIDTH):
            continue
        try:
            other = program(case.source, case.standard, way)
        except second_compiler.MissingError as problem:
            pytest.skip(str(problem))
        assert differences(case, run(case, width, other), ours) == [], (way, width)
