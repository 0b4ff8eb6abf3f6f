"""The environment variables that are set, those that make no sense, and those that are misspelt."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from groundstate import knobs
from groundstate.doctor.finding import Finding, State
from groundstate.knobs import kinds

SECTION = "Variables"
OTHERS = {
    "GROUNDSTATE_OBJECTS",
    "GROUNDSTATE_STRICT_TESTS",
    "ZE_ENABLE_ALT_DRIVERS",
    "ZE_ENABLE_LOADER_DEBUG_TRACE",
    "ZE_ENABLE_LOADER_INTERCEPT",
    "ZE_ENABLE_NULL_DRIVER",
    "ZE_ENABLE_PARAMETER_VALIDATION",
    "ZE_ENABLE_TRACING_LAYER",
    "ZE_ENABLE_VALIDATION_LAYER",
}
"""Variables that are not knobs of the driver: of the loader, of our build and of our tests."""
SIMILAR = 0.85


def check() -> Iterator[Finding]:
    """All that is set, or a word that nothing is."""
    found = [*known(), *misspelt(os.environ)]
    yield from found
    if not found:
        yield Finding(SECTION, "none", State.OK, "no variable changes what the driver does")


def known() -> Iterator[Finding]:
    """The knobs that are set, and what is wrong with them."""
    for knob in knobs.KNOBS:
        if knob is knobs.USER_CACHE or not knob.text():
            continue
        problem = problem_of(knob)
        state = State.WRONG if problem else State.OK
        yield Finding(SECTION, f"{knob.name}={knob.text()}", state, problem or "is set")


def problem_of(knob: kinds.Knob) -> str:
    """What is wrong with the value of a knob; empty if nothing is."""
    said = io.StringIO()
    kept, kinds.complained = kinds.complained, set()
    with contextlib.redirect_stderr(said):
        knob.get()
    kinds.complained = kept
    return said.getvalue().strip().rpartition(": ")[2]


def misspelt(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Variables that look like ours, but that nothing reads."""
    names = [knob.name for knob in knobs.KNOBS]
    for name, value in sorted(environment.items()):
        if name in names or name in OTHERS:
            continue
        near = get_close_matches(name, names, n=1, cutoff=SIMILAR)
        if near:
            text = f"there is no such variable; did you mean {near[0]}?"
        elif name.startswith("GROUNDSTATE_"):
            text = "there is no such variable"
        else:
            continue
        yield Finding(SECTION, f"{name}={value}", State.WRONG, text)


CHECKS = (check,)
