"""Functions of our own that LLVM's short list of passes inlines because it is told to."""

from __future__ import annotations

import pytest

from groundstate.compiler.codegen.routines import MOST_COPIED_LINES, inline_hinted

HINTED = "define internal float @gs.f(float %x) nounwind inlinehint {\nentry:\n{body}}\n"


def attributes(lines: int, calls: int, function: str = HINTED) -> str:
    """How a function of so many lines is declared in the end, when it is called so often."""
    body = "  %t = fadd float %x, %x\n" * (lines - 2)
    declared = {"gs.f": function.replace("{body}", body), "gs.g": "declare void @gs.g()"}
    called = ["  %a = call float @gs.f(float 0.0)"] * calls
    made, other = inline_hinted(declared, called)
    assert other == declared["gs.g"]
    assert made.split("\n", 1)[1] == declared["gs.f"].split("\n", 1)[1]
    return made.split("\n", 1)[0].rsplit(" ", 2)[1]


@pytest.mark.parametrize(
    ("lines", "calls", "expected"),
    [
        (10 * MOST_COPIED_LINES, 1, "alwaysinline"),
        (20, 3, "alwaysinline"),
        (20, 30, "inlinehint"),
        (MOST_COPIED_LINES, 2, "inlinehint"),
    ],
)
def test_hinted_functions_are_inlined_unless_copies_are_long(
    lines: int, calls: int, expected: str
) -> None:
    assert attributes(lines, calls) == expected


def test_functions_without_a_hint_stay_as_they_are() -> None:
    assert attributes(20, 1, HINTED.replace("inlinehint", "noinline")) == "noinline"
