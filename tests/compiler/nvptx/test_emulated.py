"""The LLVM IR of threads computes what the CPU's does, where work-items do not need each other."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.program.ptx_program import compile_ptx
from tests.compiler.cases import CASES
from tests.compiler.instructions.test_instructions import BATCHES
from tests.compiler.kernels import Case
from tests.compiler.nvptx.emulation import Emulated, NeedsGpuError
from tests.compiler.runner import Local
from tests.gpu.export import CANCELLING, Exported, of_batch, of_case, shapes_of
from tests.gpu.run import compare

SILENT = [case for case in CASES if not case.prints and int(np.prod(case.size)) <= 4096]
MOST_THREADS = 256
"""Of a launch whose work-items need each other: threads of the system are slow to meet."""
PARTS, STEP = 4, 3
"""Tests that instructions are divided among, and of how many one is run here; all are on a GPU."""
LEAST_RUN = 8


def differences(case: Exported) -> list[str] | None:
    """What a launch gives wrong; None if it is not run here."""
    try:
        emulated = Emulated(compile_ptx(case.spirv, sm=90, kernels=[case.kernel]))
    except NeedsGpuError:
        return None
    if emulated.needs_others and np.prod(case.groups) * np.prod(case.group_size) > MOST_THREADS:
        return None
    given = [
        Local(each) if isinstance(each, int) else each if isinstance(each, bytes) else each.copy()
        for each in case.arguments
    ]
    sizes = case.groups, case.group_size
    emulated.run(case.kernel, *sizes, *given, offset=case.offset)
    wrong: list[str] = []
    for place, wanted in case.expected.items():
        found = given[place]
        assert isinstance(found, np.ndarray)
        found = found.view(wanted.dtype.base).reshape(wanted.shape)
        least = CANCELLING.get(case.kernel, 0.0)
        wrong += compare(place, found, wanted, case.ulp.get(place, 0.0), least)
    return wrong


@pytest.mark.parametrize("case", SILENT, ids=lambda case: case.identity)
def test_a_thread_computes_what_the_cpu_does(case: Case) -> None:
    assert not differences(of_case(case))


@pytest.mark.parametrize("number", range(PARTS))
def test_instructions_give_what_they_should(number: int) -> None:
    found: dict[str, list[str]] = {}
    for batch in BATCHES[number :: PARTS * STEP]:
        for shape in shapes_of(batch)[:1]:
            case = of_batch(batch, shape)
            assert case is not None
            wrong = differences(case)
            if wrong is not None:
                found[case.name] = wrong
    assert len(found) >= LEAST_RUN
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("width", ["f16", "f32", "f64"])
def test_remainders_are_exact(width: str) -> None:
    """LLVM's own remainder is not on a GPU: x - trunc(x / y) * y."""
    names = {f"FRem-{width}", f"FMod-{width}"}
    batch = next(each for each in BATCHES if names <= {case.name for case in each.cases})
    assert "frem" not in compile_ptx(batch.spirv, sm=90).llvm
    case = of_batch(batch, shapes_of(batch)[0])
    assert case is not None
    assert differences(case) == []


def test_arrays_of_variable_length() -> None:
    batches = [each for each in BATCHES if "VariableLength" in each.name]
    assert batches
    for batch in batches:
        case = of_batch(batch, shapes_of(batch)[0])
        assert case is not None
        assert differences(case) == []


def test_a_difference_is_seen() -> None:
    case = of_case(next(case for case in SILENT if case.file == "arithmetic"))
    place = next(iter(case.expected))
    case.expected[place] = case.expected[place].copy()
    case.expected[place].view("u1")[..., 0] ^= 1
    assert differences(case)
