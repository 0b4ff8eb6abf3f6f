"""All labelled cases, by the checker that they are for."""

from __future__ import annotations

from tests.check.labelled import memory, races
from tests.check.labelled.cases import Case

SUITES: dict[str, tuple[Case, ...]] = {
    "memory": memory.CASES,
    "races": races.CASES,
    "sync": races.BARRIERS,
}
