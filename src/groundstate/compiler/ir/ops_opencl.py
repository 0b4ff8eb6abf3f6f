"""The instructions of OpenCL.std, which `ExtInst` names by their numbers.

Most act on each component of floats, or of integers, and give what they take. The others have a
row here.
"""

from __future__ import annotations

from functools import cache
from typing import TypeVar

from groundstate.compiler.ir import lowered_checks as lowered
from groundstate.compiler.ir.operation import Category, Effect, LaneRule, Operation, define
from groundstate.compiler.ir.type_rules import type_rule
from groundstate.compiler.spirv.instructions import opencl_rows

define(
    "ExtInst",
    "any* -> any?",
    Category.ARITHMETIC,
    effect=Effect.READS | Effect.WRITES | Effect.OBSERVABLE,
    lowered=lowered.unknown_function,
)
"""One with a number that is not known. The others have rows of their own: `extended`."""

FIRST_INTEGER = 141
"""From this number on, instructions are for integers."""

TYPES: dict[str, str] = {
    "fract modf sincos frexp lgamma_r": "ieee= pointer. -> ieee",
    "remquo": "ieee: ieee: pointer. -> ieee",
    "ilogb": "ieee~ -> whole",
    "ldexp pown rootn": "ieee= whole~ -> ieee",
    "nan": "whole~ -> ieee",
    "cross": "ieee= ieee= -> ieee/",
    "distance fast_distance": "ieee ieee@ -> ieee.",
    "length fast_length": "ieee -> ieee.",
    "normalize fast_normalize": "ieee= -> ieee",
    "vloadn vload_half vload_halfn vloada_halfn": "whole. pointer. -> numeric",
    "vstoren vstore_half vstore_half_r vstore_halfn vstore_halfn_r vstorea_halfn "
    "vstorea_halfn_r": "numeric whole. pointer. -> void",
    "u_upsample s_upsample": "whole~ whole~ -> whole",
    "shuffle": "numeric/ whole~ -> numeric/",
    "shuffle2": "numeric/ numeric/@ whole~ -> numeric/",
    "printf": "pointer. any* -> whole.",
    "prefetch": "pointer. whole. -> void",
    "select": "numeric= numeric= whole~ -> numeric",
    "bitselect": "numeric= numeric= numeric= -> numeric",
}
"""What the instructions take and give that do not give what they take."""

EFFECTS: dict[str, Effect] = {
    "fract modf sincos frexp lgamma_r remquo": Effect.WRITES,
    "vloadn vload_half vload_halfn vloada_halfn": Effect.READS,
    "vstoren vstore_half vstore_half_r vstore_halfn vstore_halfn_r vstorea_halfn "
    "vstorea_halfn_r": Effect.WRITES,
    "printf": Effect.READS | Effect.OBSERVABLE,
    "prefetch": Effect.READS,
}
"""What the instructions do that are given an address."""

LANES = {"printf": LaneRule.VARYING}
"""A buffer may become full after what some lanes print."""
LOWERED = {"printf": lowered.printf}
"""What else must be known."""

Fact = TypeVar("Fact")


@cache
def extended(number: int) -> Operation | None:
    """The row of an instruction of OpenCL.std, or None if there is none of that number."""
    row = opencl_rows().get(number)
    if row is None:
        return None
    kind = "whole" if number >= FIRST_INTEGER else "ieee"
    types = f"{f'{kind}: ' * row.fewest}-> {kind}"
    return Operation(
        row.name,
        Category.ARITHMETIC,
        type_rule(_named(TYPES, row.name, types)),
        effect=_named(EFFECTS, row.name, Effect.NONE),
        divergence=_named(LANES, row.name, LaneRule.OPERANDS),
        lowered=LOWERED.get(row.name),
    )


def _named(facts: dict[str, Fact], name: str, otherwise: Fact) -> Fact:
    """What is known under one of several names."""
    return next((fact for names, fact in facts.items() if name in names.split()), otherwise)
