"""One problem, two libraries, a verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from tests.dnn.reference import facts
from tests.dnn.reference.client import Outcome
from tests.dnn.reference.compare import compare
from tests.dnn.reference.families.base import Family
from tests.dnn.reference.numbers import LOWEST, Array
from tests.dnn.reference.problem import Problem, in_single_precision, quantised
from tests.dnn.reference.second import more_exact
from tests.dnn.reference.worker import ReferenceCrashed

PASSED, MISMATCHED, UNIMPLEMENTED, REFUSED = "passed", "mismatched", "unimplemented", "refused"
REFUSED_ALIKE, NO_REFERENCE = "refused by both", "without reference"
WRONG = (REFUSED, MISMATCHED)


class Solver(Protocol):
    """A library that solves problems, in this process or another."""

    def run(self, problem: Problem) -> Outcome: ...


@dataclass
class Verdict:
    """What became of a problem, and why."""

    result: str
    problem: str
    reasons: list[str] = field(default_factory=list)
    by_numpy: bool = False
    """NumPy decided, because the reference is not exact enough."""


def judge(family: Family, problem: Problem, ours: Solver, reference: Solver) -> Verdict:
    """Solves a problem with both libraries and compares all results.

    Where the reference crashes, NumPy decides alone, if it knows all results.
    """
    plain = in_single_precision(problem)
    try:
        told = reference.run(plain)
    except ReferenceCrashed as crash:
        better = more_exact(problem, plain)
        if missing := sorted(problem.results() - better.keys()):
            reason = f"{crash}; NumPy has no {', '.join(missing)}"
            return Verdict(NO_REFERENCE, str(problem), [reason])
        told = Outcome(outputs=better)
    got = ours.run(problem)
    if told.status != facts.SUCCESS:
        return without_reference(problem, told, got)
    if got.status == facts.UNIMPLEMENTED:
        return Verdict(UNIMPLEMENTED, str(problem), [got.reason or got.call])
    if got.status != facts.SUCCESS:
        name = facts.STATUS_NAMES.get(got.status, str(got.status))
        return Verdict(REFUSED, str(problem), [f"{got.call}: {name} {got.reason}"])
    better = more_exact(problem, plain)
    for name, exact in better.items():
        told.outputs[name] = fairest(problem, exact, told.outputs[name], got.outputs[name])
    reasons = mismatches(family, problem, told, got)
    return Verdict(MISMATCHED if reasons else PASSED, str(problem), reasons, bool(better))


def fairest(problem: Problem, exact: Array, told: Array, got: Array) -> Array:
    """What NumPy says, except for what post-operations make of NaN and infinity.

    There the library has the last word, unless ours keeps a NaN that NumPy keeps, too.
    """
    if not problem.attributes.post_ops or not problem.traits.get("special"):
        return exact
    finite = np.isfinite(exact) & np.isfinite(told)
    return np.where(finite | (np.isnan(exact) & np.isnan(got)), exact, told)


def without_reference(problem: Problem, told: Outcome, got: Outcome) -> Verdict:
    """The reference refuses: then so must we, unless it only does not have it."""
    theirs = facts.STATUS_NAMES.get(told.status, str(told.status))
    if told.status == facts.UNIMPLEMENTED:
        return Verdict(NO_REFERENCE, str(problem), [f"{told.call}: {theirs}"])
    if told.status == got.status:
        return Verdict(REFUSED_ALIKE, str(problem))
    ours = facts.STATUS_NAMES.get(got.status, str(got.status))
    return Verdict(MISMATCHED, str(problem), [f"{told.call}: {theirs}, ours: {ours} {got.reason}"])


def mismatches(family: Family, problem: Problem, told: Outcome, got: Outcome) -> list[str]:
    """What is wrong with the results."""
    reasons = [f"{name}: wrote between its elements" for name in got.outside]
    for name, expected in told.outputs.items():
        tensor = problem.tensors[name]
        wanted = as_stored(problem, name, expected)
        rule = family.rule(problem, name)
        wrong = compare(name, wanted, got.outputs[name], tensor.dtype, rule, problem.attributes)
        if wrong is not None:
            reasons.append(str(wrong))
    return reasons


def as_stored(problem: Problem, name: str, values: Array) -> Array:
    """A result of the reference, with the scale and zero point of the real problem."""
    if name != "dst":
        return values
    before = problem.tensors["dst"].values
    empty = any(0 in tensor.dims for tensor in problem.tensors.values())
    if empty and before is not None and np.array_equal(values, before):
        return before  # nothing was computed from nothing, and nothing stored
    if problem.family == "pooling":
        # The maximum of nothing is the lowest number of the type: f32 has another one.
        values = np.where(values == LOWEST["f32"], LOWEST[problem.tensors["dst"].dtype], values)
    scale = next((q for q in problem.attributes.scales if q.argument == "dst"), None)
    point = next((q for q in problem.attributes.zero_points if q.argument == "dst"), None)
    return quantised(values, scale, point)
