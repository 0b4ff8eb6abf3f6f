"""All labelled cases, by the checker that they are for."""

from __future__ import annotations

from tests.check.labelled import (
    arithmetic,
    copies,
    fences,
    images,
    inner_arrays,
    locks,
    memory,
    races,
    races_of_atomics,
    races_together,
    rows,
    subgroups,
    together,
    uninitialised,
    unused,
    unwritten_atomics,
)
from tests.check.labelled.cases import Case

SUITES: dict[str, tuple[Case, ...]] = {
    "memory": (*memory.CASES, *inner_arrays.CASES, *unused.MEMORY),
    "uninit": (*uninitialised.CASES, *unwritten_atomics.CASES),
    "races": (
        *(*races.CASES, *races_of_atomics.CASES, *races_together.CASES),
        *(*unused.RACES, *rows.RACES, *copies.RACES, *fences.CASES),
        *(*images.CASES, *locks.CASES),
    ),
    "sync": (*races.BARRIERS, *copies.TOGETHER, *subgroups.CASES),
    "arithmetic": arithmetic.CASES,
    "memory,uninit,races,sync": together.CASES,
}
