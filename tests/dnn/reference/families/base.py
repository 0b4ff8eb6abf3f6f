"""What the families share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.dnn.reference import facts
from tests.dnn.reference.compare import Rule
from tests.dnn.reference.draw import Draw
from tests.dnn.reference.problem import Problem, Step

FLOATS = ("f16", "bf16")
NARROW = ("s8", "u8")


@dataclass(frozen=True)
class Family:
    """A family of primitives: draws problems, and says what is tolerated for a result."""

    name: str
    generate: Callable[[Draw], Problem]
    rule: Callable[[Problem, str], Rule]

    def problem(self, seed: int, index: int) -> Problem:
        """The problem of that number; the same one each time."""
        return self.generate(Draw(self.name, seed, index))


def md(name: str) -> tuple[str, str]:
    return "md", name


def propagation(name: str) -> tuple[str, int]:
    return "int", facts.PROPAGATION[name]


def step(
    call: str,
    *arguments: Any,
    inputs: dict[str, str] | list[str],
    outputs: dict[str, str] | list[str],
    attributes: bool = True,
    execute: bool = True,
) -> Step:
    """A primitive; arguments given as a list are tensors of the same name."""
    return Step(
        f"dnnl_{call}_primitive_desc_create",
        arguments,
        named(inputs),
        named(outputs),
        attributes,
        execute,
    )


def named(tensors: dict[str, str] | list[str]) -> dict[str, str]:
    return tensors if isinstance(tensors, dict) else {name: name for name in tensors}
