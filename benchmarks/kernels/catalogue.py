"""Every case by its name."""

from __future__ import annotations

from benchmarks.kernels.cases import (
    CASES,
    EMPTY,
    OCLGRIND_CASES,
    SCALING_CASES,
    UNEVEN_CASES,
    Case,
)
from benchmarks.kernels.irregular import IRREGULAR_CASES


def find(name: str) -> Case:
    """The case of a name, small ones excepted, but for those that Oclgrind runs, too."""
    cases = {**CASES, **IRREGULAR_CASES, **SCALING_CASES, **UNEVEN_CASES, EMPTY.name: EMPTY}
    cases |= OCLGRIND_CASES
    return cases[name]
