"""One line of the doctor's screen, and how checks are kept from ending it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """What a finding means to a reader."""

    OK = "ok"
    MISSING = "missing"
    """Something that one can do without."""
    WRONG = "wrong"
    """Something that will not work as it is."""
    NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """What was looked at, how it is, and what to do about it."""

    section: str
    name: str
    state: State
    text: str
    fix: str = ""
    """A command, or a sentence."""


Check = Callable[[], Iterable[Finding]]


def findings_of(section: str, check: Check) -> Iterator[Finding]:
    """What a check finds; an exception in it is a finding, too."""
    try:
        yield from check()
    except Exception as problem:
        yield Finding(section, "check", State.WRONG, f"{type(problem).__name__}: {problem}")
