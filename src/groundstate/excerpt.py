r"""Reports with an excerpt of the source, as compilers print them.

>>> source = "    out[i + 1] = sum / 3.0f;"
>>> place = Place("blur.cl", 17, 5, source, "kernel blur", "argument 1 'out'")
>>> print(render("out-of-bounds write of 4 bytes", [place], ["allocated by zeMemAllocDevice"]))
error: out-of-bounds write of 4 bytes
  --> blur.cl:17:5   kernel blur
   17 |     out[i + 1] = sum / 3.0f;
      |     ^ argument 1 'out'
  allocated by zeMemAllocDevice
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from groundstate.compiler.light_dataclass import light_dataclass, replace
from groundstate.printable import printable

MOST_CHARACTERS = 100
"""Of a line of the source; of a longer one, the part around the column is shown."""
MARGIN = 30
"""How much of a long line is shown before the column."""

RED, BLUE, BOLD, PLAIN = "\x1b[1;31m", "\x1b[1;34m", "\x1b[1m", "\x1b[0m"


@light_dataclass()
class Place:
    """A place in the source, and what there is to say of it."""

    file: str
    line: int
    column: int
    """In bytes, from 1 on; 0 if it is not known."""
    source: str | None = None
    """The line of the source, if that is known."""
    beside: str = ""
    """What stands beside the place: a kernel, a function, a work-item."""
    label: str = ""
    """What stands at the caret."""
    begins_other: bool = False
    """The places from here on are of another party: the other access of a race."""


def of_other(places: Sequence[Place], beside: str) -> list[Place]:
    """The places of another party, of which the first says who it is."""
    return [replace(places[0], beside=beside, begins_other=True), *places[1:]] if places else []


def render(
    title: str,
    places: Sequence[Place],
    notes: Sequence[str] = (),
    *,
    kind: str = "error",
    colour: bool = False,
) -> str:
    """A whole report: a title, the places with their source, and notes."""
    heading = f"{_in(RED, kind, colour)}{_in(BOLD, f': {title}', colour)}"
    return "\n".join([heading, *render_places(places, colour=colour), *(f"  {n}" for n in notes)])


def render_places(places: Sequence[Place], *, colour: bool = False) -> list[str]:
    """The lines of places: each with its source, and a caret at the column."""
    width = max((len(str(each.line)) for each in places), default=0) + 3
    lines = []
    for number, place in enumerate(places):
        arrow = _in(BLUE, "-->" if number == 0 else ":::", colour)
        column = f":{place.column}" if place.column else ""
        beside = f"   {printable(place.beside)}" if place.beside else ""
        lines.append(f"  {arrow} {printable(place.file)}:{place.line}{column}{beside}")
        if place.source is not None:
            lines += _source_lines(place, place.source, width, colour)
    return lines


def _source_lines(place: Place, source: str, width: int, colour: bool) -> list[str]:
    text, index = _cut(source.rstrip(), _character(source, place.column))
    bar = _in(BLUE, "|", colour)
    lines = [f"{_in(BLUE, f'{place.line:>{width}}', colour)} {bar} {_shown(text)}"]
    if 0 < place.column <= len(source.encode("utf-8", "surrogatepass")) + 1:
        caret = _in(RED, "^", colour)
        label = f" {_in(RED, printable(place.label), colour)}" if place.label else ""
        lines.append(f"{'':>{width}} {bar} {_blank(text[:index])}{caret}{label}")
    return lines


def _in(colour: str, text: str, wanted: bool) -> str:
    return f"{colour}{text}{PLAIN}" if wanted else text


def _character(source: str, column: int) -> int:
    """The index of the character at a column, which counts bytes."""
    before = source.encode("utf-8", "surrogatepass")[: max(column - 1, 0)]
    return len(before.decode("utf-8", "ignore"))


def _cut(text: str, index: int) -> tuple[str, int]:
    """The part of a line that is shown, and where in that the character is."""
    if len(text) <= MOST_CHARACTERS:
        return text, index
    start = max(0, min(index - MARGIN, len(text) - MOST_CHARACTERS))
    before, behind = "..." if start else "", "..." if start + MOST_CHARACTERS < len(text) else ""
    return before + text[start : start + MOST_CHARACTERS] + behind, index - start + len(before)


def _shown(text: str) -> str:
    return "\t".join(map(printable, text.split("\t")))


def _blank(text: str) -> str:
    """White space that is as wide as a text."""
    return "".join(_blank_for(each) for each in text)


def _blank_for(character: str) -> str:
    if character == "\t":
        return "\t"
    if not character.isprintable():
        return " " * len(printable(character))
    if unicodedata.combining(character):
        return ""
    return "  " if unicodedata.east_asian_width(character) in "WF" else " "
