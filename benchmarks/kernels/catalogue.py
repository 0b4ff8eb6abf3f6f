"""Every case by its name."""

from __future__ import annotations

from benchmarks.kernels.cases import CASES, EMPTY, SCALING_CASES, Case
from benchmarks.kernels.irregular import IRREGULAR_CASES


def find(name: str) -> Case:
    """The case of a name, small ones excepted."""
    return {**CASES, **IRREGULAR_CASES, **SCALING_CASES, EMPTY.name: EMPTY}[name]
