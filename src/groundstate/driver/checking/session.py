"""Checked mode from its start to its end: what is on is told first, and how often things happened
last (native/check/session.c)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from groundstate import findings, knobs
from groundstate.driver import native
from groundstate.driver.api import request

WHEN_FOUND = (knobs.CHECK_STOP, knobs.CHECK_DEVICE, knobs.CHECK_STRICT)
"""Variables that are looked at when it comes to them: what is wrong with one is said at once."""


def start(checkers: Sequence[str]) -> None:
    """Begins to check; before any checker is switched on, so that this ends after all of them."""
    import atexit

    for knob in WHEN_FOUND:
        knob.get()
    native.check_session_start()
    native.enable_host_stacks(True)
    findings.begin(checkers)
    atexit.register(findings.flush)  # runs in an interpreter that the program shares


@cache
def start_once(checkers: Sequence[str]) -> None:
    """The same for a module that is checked in a program that is not."""
    start(checkers)


@request
def end_findings() -> None:
    """Tells the final counts."""
    findings.flush()
