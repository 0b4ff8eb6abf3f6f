"""Bad descriptors: each argument of a good call made wrong in every way that suits its kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.dnn.reference.families.base import Family
from tests.dnn.reference.problem import (
    PLAIN,
    Attributes,
    Problem,
    Step,
    Tensor,
    in_single_precision,
)

# Where the reference ends its process. Ours has to say that an argument is invalid.
REFERENCE_CRASHES = ("engine null", "dilation null")


TOO_MANY = 77777


def good_problem(family: Family, backward: bool) -> Problem:
    """The first problem of a family that is no edge case, in f32 and without attributes."""
    for index in range(200):
        problem = in_single_precision(family.problem(11, index))
        kind = problem.traits.get("kind", "")
        is_backward = bool(problem.traits.get("backward")) or str(kind).startswith("backward")
        whole = all(0 not in t.dims and 1 not in t.dims[:2] for t in problem.tensors.values())
        if is_backward == backward and whole and len(problem.tensors["dst"].dims) >= 2:
            bare = replace(problem, attributes=Attributes())
            steps = tuple(replace(step, execute=False) for step in bare.steps)
            return replace(bare, steps=steps)
    raise LookupError(f"no plain problem of {family.name}, backward={backward}")


def mutations(problem: Problem) -> Iterator[tuple[str, Problem]]:
    """The problem with one argument of its last call made wrong, each with what was done."""
    step = problem.steps[-1]
    for position, argument in enumerate(step.arguments):
        counts = "mds" in (a[0] for a in step.arguments[position:] if isinstance(a, tuple))
        for label, wrong in wrong_arguments(argument):
            if counts and wrong == ("int", TOO_MANY):
                continue  # nobody can know that there are not so many descriptors
            if label == "dims null" and "pooling" in step.call and is_dilation(step, position):
                label = "dilation null"
            yield f"{position} {label}", with_argument(problem, step, position, wrong)
        if isinstance(argument, tuple) and argument[0] == "md":
            for label, tensor in wrong_tensors(problem.tensors[argument[1]]):
                name = f"{argument[1]} {label}"
                changed = replace(problem, tensors={**problem.tensors, "wrong": tensor})
                yield name, with_argument(changed, step, position, ("md", "wrong"))


def with_argument(problem: Problem, step: Step, position: int, wrong: Any) -> Problem:
    arguments = list(step.arguments)
    arguments[position] = wrong
    changed = replace(step, arguments=tuple(arguments))
    return replace(problem, steps=(*problem.steps[:-1], changed))


def is_dilation(step: Step, position: int) -> bool:
    """Whether this is the third of the sizes that a pooling call takes."""
    places = [i for i, a in enumerate(step.arguments) if isinstance(a, tuple) and a[0] == "dims"]
    return position == places[2]


def wrong_arguments(argument: Any) -> Iterator[tuple[str, Any]]:
    """What else could stand at the place of an argument."""
    if argument == "engine":
        yield "engine null", "null"
    if argument == "hint":
        yield "hint null", "null"
    if not isinstance(argument, tuple):
        return
    kind, value = argument
    if kind == "md":
        yield f"{value} null", "null"
    if kind == "mds":
        yield "descriptors null", "null"
    if kind in ("int", "dim"):
        for wrong in (-1, 0, TOO_MANY):
            yield f"{value}->{wrong}", (kind, wrong)
    if kind == "flags":
        yield "unknown flags", (kind, 0x10000)
    if kind == "dims":
        yield "dims null", "null"
        for wrong in (-1, 0, 1000):
            yield f"{value}[0]->{wrong}", ("dims", [wrong, *value[1:]])


def wrong_tensors(tensor: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Tensors that do not go with the others."""
    dims = tensor.dims
    for index in range(min(len(dims), 3)):
        for label, size in (("+1", dims[index] + 1), ("zero", 0), ("one", 1)):
            changed = (*dims[:index], size, *dims[index + 1 :])
            yield f"dim {index} {label}", Tensor(changed, tensor.dtype)
    yield "one rank more", Tensor((*dims, 1), tensor.dtype)
    if len(dims) > 1:
        yield "one rank less", Tensor(dims[:-1], tensor.dtype)
    for dtype in ("s32", "f64"):
        yield dtype, Tensor(dims, dtype, PLAIN)
