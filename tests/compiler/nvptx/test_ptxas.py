"""PTX of the kernels of other tests, of the benchmarks and of the survey is assembled by CUDA."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from groundstate.compiler.errors import BuildError
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.opencl.prebuilt import unpack
from groundstate.compiler.program.ptx_program import compile_ptx
from groundstate.survey.files import collect
from tests.compiler.cases import CASES
from tests.compiler.instructions.test_instructions import BATCHES
from tests.compiler.nvptx.ptxas import assemble, find, known
from tests.compiler.nvptx.test_ptx_text import LINES
from tests.survey.recipes import WHEELS, recipes

ROOT = Path(__file__).parents[3]
PREBUILT = sorted((ROOT / "tests" / "prebuilt" / "compiler").rglob("*.zip"))
SOURCES = sorted((ROOT / "benchmarks" / "kernels" / "sources").rglob("*.cl"))
REFUSED = ("a tile lies in", "a barrier among several groups", "is declared but not defined")
"""What GPUs do not have, or CPUs neither."""
MOST_REGISTERS = 255
MOST_SPILLED = 1024
"""Bytes, in kernels of tests that are made to be large."""
USUAL_REGISTERS = 128
"""Of kernels that people write: two groups of 256 run at once."""
PARTS = 8
"""In which the instructions are tested."""
OTHERS = [sm for sm in known() if sm != 90]
"""GPUs for which a sample is assembled: each module of it for one of them."""
EVERY = 8
"""One of so many modules of tests is in the sample."""

pytestmark = pytest.mark.skipif(find() is None, reason="there is no ptxas (nvidia-cuda-nvcc)")


def modules(path: Path) -> list[bytes]:
    """The SPIR-V in a zip file of the tests."""
    with zipfile.ZipFile(path) as packed:
        found = [unpack(packed.read(name)) for name in sorted(packed.namelist())]
    return [each.spirv for each in found if each is not None and each.spirv]


def check(
    spirv: bytes, sm: int, registers: int = MOST_REGISTERS, spilled: int = MOST_SPILLED
) -> None:
    """A module is assembled and takes so many registers, or cannot be compiled for a reason that is
    known."""
    try:
        module = compile_ptx(spirv, sm=sm)
    except BuildError as problem:
        if not any(reason in str(problem) for reason in REFUSED):
            raise
        return
    found = assemble(module.text, sm)
    assert len(found.registers) >= len(module.kernels)
    assert max(found.registers, default=0) <= registers
    assert max(found.spilled_bytes, default=0) <= spilled


@pytest.mark.parametrize("path", PREBUILT, ids=lambda path: path.stem)
def test_modules_of_tests_are_assembled(path: Path) -> None:
    for spirv in modules(path):
        check(spirv, 90)


@pytest.mark.parametrize("sm", OTHERS)
def test_some_modules_for_other_gpus(sm: int) -> None:
    sample = [spirv for path in PREBUILT for spirv in modules(path)[::EVERY]]
    for spirv in sample[OTHERS.index(sm) :: len(OTHERS)]:
        check(spirv, sm)


@pytest.mark.parametrize("sm", known())
def test_kernels_of_cases_for_each_gpu(sm: int) -> None:
    for file in dict.fromkeys(case.file for case in CASES):
        case = next(case for case in CASES if case.file == file)
        check(compile_opencl(case.source, options=[f"-cl-std={case.standard}"]), sm)


@pytest.mark.parametrize("number", range(PARTS))
def test_instructions_are_assembled(number: int) -> None:
    for batch in BATCHES[number::PARTS]:
        check(batch.spirv, 90)


def test_modules_that_ship_are_assembled_and_do_not_spill() -> None:
    """The hundred of the survey, each for one of the GPUs."""
    wheels = sorted(WHEELS.glob("dpnp-0.20.0-*.whl"))
    if not wheels:
        pytest.skip("the wheel of dpnp is not there: make .venv/wheels/.downloaded")
    shipped, chosen = collect(wheels), recipes()
    assert len(chosen) == 100
    for number, recipe in enumerate(chosen):
        sm = known()[number % len(known())]
        check(shipped.modules[recipe.digest].data, sm, USUAL_REGISTERS, 0)


def test_lines_of_the_source_are_taken() -> None:
    found = assemble(compile_ptx(compile_opencl(LINES, options=["-g"]), sm=90).text, 90)
    assert len(found.registers) == 2


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_benchmarks_do_not_spill(path: Path) -> None:
    module = compile_ptx(compile_opencl(path.read_text()), sm=90)
    found = assemble(module.text, 90)
    assert len(found.registers) == len(module.kernels)
    assert max(found.registers) <= USUAL_REGISTERS
    assert set(found.spilled_bytes) == {0}
