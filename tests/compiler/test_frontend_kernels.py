"""Every kernel of `kernels/` becomes valid SPIR-V, in each standard it can be compiled in."""

from __future__ import annotations

import re

import numpy as np
import pytest

from groundstate.compiler.opencl.frontend import compile_opencl
from tests.compiler.cases import CASES
from tests.compiler.frontend_support import disassemble, imports, validate
from tests.compiler.kernels import FEATURES, FOLDER, Local, arguments, read

FILES = sorted(path.stem for path in FOLDER.glob("*.cl"))
BUILDS = sorted({(case.file, standard) for case in CASES for standard in (case.standard, "CL3.0")})


def kernels_of(file: str) -> list[str]:
    """The names of the kernels in a file."""
    declared = r"^kernel (?:__attribute__\(\(.*?\)\)\) )?void (\w+)\("
    return re.findall(declared, read(file), re.MULTILINE)


TESTED_BY_THEMSELVES = {"images"}
"""Kernels whose arguments no case can describe: test_images_used.py runs them."""


@pytest.mark.needs_compiler
@pytest.mark.parametrize(("file", "standard"), BUILDS)
def test_file_compiles(file: str, standard: str) -> None:
    spirv = compile_opencl(read(file), options=[f"-cl-std={standard}"], name=f"{file}.cl")
    validate(spirv)
    text = disassemble(spirv)
    assert sorted(re.findall(r'OpEntryPoint Kernel %\w+ "(\w+)"', text)) == sorted(kernels_of(file))
    assert imports(text) == []


@pytest.mark.needs_compiler
@pytest.mark.parametrize("file", FILES)
def test_file_compiles_without_optimisation(file: str) -> None:
    spirv = compile_opencl(read(file), options=["-cl-opt-disable"], name=f"{file}.cl")
    validate(spirv)
    assert imports(disassemble(spirv)) == []


@pytest.mark.parametrize("file", [file for file in FILES if file not in TESTED_BY_THEMSELVES])
def test_every_kernel_has_a_case(file: str) -> None:
    described = {case.name for case in CASES if case.file == file}
    assert described == set(kernels_of(file))


def test_there_are_enough() -> None:
    assert sum(len(kernels_of(file)) for file in FILES) >= 180


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.identity)
def test_case_is_consistent(case: object) -> None:
    from tests.compiler.kernels import Case

    assert isinstance(case, Case)
    assert case.needs <= set(FEATURES)
    assert len(case.size) == len(case.group)
    assert all(size % group == 0 for size, group in zip(case.size, case.group, strict=True))
    first, second = arguments(case), arguments(case)
    for one, other in zip(first, second, strict=True):
        if isinstance(one, Local) or isinstance(other, Local):
            assert one == other
        else:
            np.testing.assert_array_equal(one, other)
    if case.expect is not None:
        for place, expected in case.expect(*first).items():
            before = first[place]
            assert isinstance(before, np.ndarray)
            assert (expected.dtype, expected.size) == (before.dtype, before.size)
