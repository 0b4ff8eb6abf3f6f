"""What the checker `host` finds: mistakes in a program's use of Level Zero (native/check/host*.c).

The C half knows what is wrong and which calls matter; here that becomes a finding, with the places
of the calls in the program's source.
"""

from __future__ import annotations

import ctypes
import os

from groundstate import findings, knobs
from groundstate.driver import native
from groundstate.driver.api import request
from groundstate.driver.checking import host_stack
from groundstate.findings import Finding

RECORD, FIELD = "\x1e", "\x1f"
"""As in native/check/host/host_report.c."""

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_RUNTIMES = ("libur_", "libumf.", "libsycl.", "libpi_", "libomptarget", "libOpenCL.", "libpti")
"""Libraries that call Level Zero for a program, and end with it. What they leave is not its own."""

_LEAKS = ("leaked-object", "leaked-allocation")
_ENDS = ("destroy-while-in-use", "destroy-before-children", "double-destroy", "use-after-destroy")
_LIVES = _LEAKS + _ENDS
"""When the objects of `groundstate.core` end is for Python's garbage collector to say: they are
destroyed when nobody needs them any more, and again later if the device still does."""


def start() -> None:
    """Switches the checker on."""
    native.check_device_memory(knobs.CHECK_STRICT.get())
    if native.check_host(True):
        import atexit

        atexit.register(native.report_host_leaks)


@request
def report_host_finding(address: int) -> int:
    """Reports what native/check/host/host_report.c wrote; 1 if the program is to be stopped."""
    finding = read(ctypes.string_at(address).decode("utf-8", "replace"))
    if finding is None:
        return 0
    return int(findings.report(finding) and knobs.CHECK_STOP.get())


def read(text: str) -> Finding | None:
    """The finding that a text tells of; None for what is not the program's mistake."""
    records = [each.split(FIELD) for each in text.split(RECORD) if each]
    kind = title = ""
    count, place, notes = 1, 0, []
    for letter, *fields in records:
        match letter, fields:
            case "K", [kind]:
                pass
            case "T", [title]:
                pass
            case "P", [_, stack]:
                place = int(stack)
            case "C", [words, function, stack]:
                notes += host_stack.notes(f"{words} {function}", int(stack))
            case "N", [note]:
                notes.append(note)
            case "X", [number]:
                count = int(number)
    if kind in _LIVES and _is_of_a_runtime(place, () if kind in _ENDS else _RUNTIMES):
        return None
    places = host_stack.places(place)
    if not places:
        notes = host_stack.notes("called from", place) * bool(place) + notes
    return Finding("host", kind, title, places, notes, count=count)


def _is_of_a_runtime(stack: int, runtimes: tuple[str, ...]) -> bool:
    """True for a call of one of these libraries, or one of this package's own: `core`, `dnn`.

    The modules at the top of the package, such as `ze`, only pass on what a program calls.
    """
    if not stack:
        return False
    lines = [line.split("\t") for line in native.host_stack_describe(stack).split("\n")]
    if lines[0][0] == "c" and os.path.basename(lines[0][1]).startswith(runtimes):
        return True
    for kind, *rest in lines:
        if kind == "python":
            inside = rest[0].removeprefix(_PACKAGE)
            if inside == rest[0] or os.sep in inside:
                return inside != rest[0]
    return False
