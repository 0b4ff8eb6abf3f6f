"""The judge itself: the reference library agrees with NumPy, and wrong results are found."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.dnn.journal import Journal
from tests.dnn.reference.cells import CELLS
from tests.dnn.reference.client import Outcome
from tests.dnn.reference.compare import Rule, compare
from tests.dnn.reference.draw import Draw
from tests.dnn.reference.families import FAMILIES
from tests.dnn.reference.judge import MISMATCHED, NO_REFERENCE, PASSED, Verdict, judge
from tests.dnn.reference.layouts import Place
from tests.dnn.reference.numbers import Array, representable
from tests.dnn.reference.problem import Attributes, Problem, in_single_precision
from tests.dnn.reference.second import more_exact
from tests.dnn.reference.worker import Reference, ReferenceCrashed


def numpy_result(problem: Problem) -> Array | None:
    """The result of a problem by NumPy in double precision, for a few families."""
    if problem.attributes.post_ops or problem.traits.get("backward"):
        return None
    values = {name: tensor.values for name, tensor in problem.tensors.items()}
    src = values.get("src")
    if problem.family == "matmul" and src is not None:
        product = np.matmul(src, np.asarray(values["weights"]))
        return product + (0.0 if values.get("bias") is None else values["bias"])
    if problem.family == "concat":
        parts = [v for name, v in values.items() if name != "dst" and v is not None]
        return np.concatenate(parts, axis=problem.traits["axis"])
    return more_exact(problem, problem).get("dst")


@pytest.mark.parametrize("family", ["matmul", "softmax", "concat"])
def test_the_reference_and_numpy_agree(family: str, reference: Reference) -> None:
    compared = 0
    for index in range(40):
        problem = in_single_precision(FAMILIES[family].problem(3, index))
        expected = numpy_result(problem)
        if expected is None or problem.traits.get("special"):
            continue
        got = reference.run(problem).outputs["dst"]
        np.testing.assert_allclose(got, expected, rtol=2e-6, atol=1e-5)
        compared += 1
    assert compared > 10


@pytest.mark.parametrize("family", FAMILIES)
def test_reference_solves_problems_of_each_family(family: str, reference: Reference) -> None:
    """In f32 and plain layouts it has nearly all, and repeats itself within the thresholds."""
    passed = 0
    for index in range(12):
        problem = in_single_precision(FAMILIES[family].problem(5, index))
        passed += judge(FAMILIES[family], problem, reference, reference).result == PASSED
    assert passed >= 9


def test_seed_and_number_determine_problem() -> None:
    for family in FAMILIES.values():
        first, again = family.problem(7, 3), family.problem(7, 3)
        assert str(first) == str(again)
        assert str(first) != str(family.problem(8, 3))
        for name, tensor in first.tensors.items():
            if tensor.values is not None:
                np.testing.assert_array_equal(tensor.values, again.tensors[name].values)


def test_wrong_results_are_found() -> None:
    expected = Draw("matmul", 1, 1).whole((4, 5), 1, 9)
    wrong = expected.copy()
    wrong[2, 3] += 1
    found = compare("dst", expected, wrong, "f32", Rule(0.0), Attributes())
    assert found is not None
    assert (found.count, found.first) == (1, (2, 3))
    assert compare("dst", expected, expected, "f32", Rule(0.0), Attributes()) is None
    assert compare("dst", expected, wrong, "f32", Rule(1.0), Attributes()) is None
    wrong[2, 3] = np.nan
    assert compare("dst", expected, wrong, "f32", Rule(1.0), Attributes()) is not None


def test_numbers_are_rounded_as_their_type_does() -> None:
    numbers = np.array([0.5, 1.5, -300.0, 300.0, 1.00390625])
    np.testing.assert_array_equal(representable(numbers, "s8"), [0, 2, -128, 127, 1])
    np.testing.assert_array_equal(representable(numbers, "u8"), [0, 2, 0, 255, 1])
    np.testing.assert_array_equal(representable(numbers, "bf16"), [0.5, 1.5, -300, 300, 1.0])
    assert np.isnan(representable(np.array([np.nan]), "bf16")).all()


def test_blocked_places_are_those_of_the_tag() -> None:
    """nChw4c of 1x6x1x2: two blocks of four channels, the last two of them padding."""
    place = Place((1, 6, 1, 2), (1, 8, 1, 2), (16, 8, 8, 4), ((1, 4),), 0, "f32", 64)
    offsets = place.offsets()
    assert [int(offsets[0, c, 0, 1]) for c in range(6)] == [4, 5, 6, 7, 12, 13]
    values = np.arange(12.0).reshape(1, 6, 1, 2)
    np.testing.assert_array_equal(place.unpack(place.pack(values)), values)


def test_a_run_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    file, key = tmp_path / "verdicts.jsonl", ("python", "sum", 1)
    verdict = Verdict(PASSED, "the problem", ["why"], by_numpy=True)
    Journal(file).add(key, 2, verdict)
    with file.open("a") as stopped:
        stopped.write('{"api": "pyth')
    journal = Journal(file)
    assert list(journal.verdicts(key, [0, 1, 2])) == [(2, verdict)]
    assert journal.left(key, [0, 1, 2]) == [0, 1]
    assert journal.left(("c", "sum", 1), [2]) == [2]


def test_a_crash_of_the_reference_is_told(reference: Reference) -> None:
    with pytest.raises(ReferenceCrashed):
        reference.ask("tests.dnn.test_reference:crash")
    problem = in_single_precision(FAMILIES["sum"].problem(1, 1))
    assert reference.run(problem).outputs, "the next question starts a new process"


def crash(session: object) -> None:
    """Ends the process of the reference, as a bug of it would."""

    os.abort()


def test_reference_crash_is_retried_as_older_cpu(reference: Reference) -> None:
    answer = reference.ask_twice("tests.dnn.test_reference:crash_on_new_cpus")
    assert answer == "AVX2"
    with pytest.raises(ReferenceCrashed):
        reference.ask_twice("tests.dnn.test_reference:crash")


def crash_on_new_cpus(session: object) -> str:
    """Ends the process of the reference, unless it is told which instructions to leave alone."""
    if "ONEDNN_MAX_CPU_ISA" not in os.environ:
        os.abort()
    return os.environ["ONEDNN_MAX_CPU_ISA"]


class Crashing:
    """A reference that crashes on every problem, with any instructions."""

    def run(self, problem: Problem) -> Outcome:
        raise ReferenceCrashed("exit code -11")


class Wrong:
    """A library whose results are all seven too large."""

    def __init__(self, library: Reference) -> None:
        self.library = library

    def run(self, problem: Problem) -> Outcome:
        outcome = self.library.run(problem)
        outcome.outputs = {name: values + 7 for name, values in outcome.outputs.items()}
        return outcome


def test_numpy_judges_where_reference_crashes(reference: Reference) -> None:
    """All derivatives of `lrn` are known to NumPy, and none of a product of matrices."""
    problems = (in_single_precision(FAMILIES["lrn"].problem(5, n)) for n in range(40))
    backward = next(each for each in problems if each.traits["backward"])
    verdict = judge(FAMILIES["lrn"], backward, reference, Crashing())
    assert (verdict.result, verdict.by_numpy) == (PASSED, True)
    assert judge(FAMILIES["lrn"], backward, Wrong(reference), Crashing()).result == MISMATCHED
    product = in_single_precision(FAMILIES["matmul"].problem(5, 1))
    verdict = judge(FAMILIES["matmul"], product, reference, Crashing())
    assert verdict.result == NO_REFERENCE
    assert "NumPy has no dst" in verdict.reasons[0]


@pytest.mark.parametrize("family", CELLS)
def test_the_reference_and_numpy_agree_on_cells(family: str, reference: Reference) -> None:
    """NumPy judges single steps: both have to mean the same cell."""
    compared = 0
    for index in range(30):
        problem = in_single_precision(FAMILIES[family].problem(3, index))
        expected = more_exact(problem, problem)
        if expected:
            got = reference.run(problem).outputs
            for name, values in expected.items():
                np.testing.assert_allclose(got[name], values, rtol=1e-6)
            compared += 1
    assert compared > 4
