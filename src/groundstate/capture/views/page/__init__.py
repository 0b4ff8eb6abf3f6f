"""Timelines as one HTML file that needs nothing else: no network, no other file.

The page's parts lie beside this file; its data is one JSON object of columns and tables of texts.
Names in it are whatever a stream says, so nothing of the data can end the script that it is in,
and the page shows it as text only.
"""

from __future__ import annotations

import html
import json
import re
from importlib.resources import files
from typing import Any

from groundstate.capture.views.spans import CATEGORIES, Span, Timeline, Track

PARTS = ("data.js", "draw.js", "controls.js")


def page_of(found: Timeline) -> str:
    """The whole page."""
    folder = files(__name__)
    script = "\n".join((folder / part).read_text(encoding="utf-8") for part in PARTS)
    parts = {
        "@TITLE@": html.escape(found.title),
        "/*STYLE*/": (folder / "timeline.css").read_text(encoding="utf-8"),
        "/*SCRIPT*/": script,
        "@DATA@": _inside_script(json.dumps(_data(found), separators=(",", ":"))),
    }
    # In one go: what is put in may itself look like a place for something else.
    places = re.compile("|".join(map(re.escape, parts)))
    page = (folder / "timeline.html").read_text(encoding="utf-8")
    return places.sub(lambda place: parts[place[0]], page)


def _inside_script(text: str) -> str:
    """JSON that no reader of HTML takes for the end of its script, or for the start of another."""
    return text.replace("<", "\\u003c")


class _Texts:
    """A table in which each text is stored once."""

    def __init__(self) -> None:
        self.table: dict[str, int] = {}

    def place(self, text: str) -> int:
        return self.table.setdefault(text, len(self.table))


def _data(found: Timeline) -> dict[str, Any]:
    names, notes = _Texts(), _Texts()
    tracks = [_track(track, names, notes) for track in found.tracks]
    return {
        "title": found.title,
        "start": found.start // 10**6,
        "categories": CATEGORIES,
        "processes": [{"number": each.number, "name": each.name} for each in found.processes],
        "tracks": tracks,
        "names": list(names.table),
        "notes": list(notes.table),
        "remarks": found.notes + found.problems,
    }


def _track(track: Track, names: _Texts, notes: _Texts) -> dict[str, Any]:
    return {
        "process": track.process,
        "name": track.name,
        "kind": track.kind,
        "lanes": [_lane(row, names, notes) for row in track.lanes()],
    }


def _lane(row: list[Span], names: _Texts, notes: _Texts) -> dict[str, list[int]]:
    """Columns; starts are distances from the start before, which are shorter to write."""
    starts = [span.start for span in row]
    return {
        "starts": [start - before for before, start in zip([0, *starts], starts, strict=False)],
        "lengths": [span.end - span.start for span in row],
        "names": [names.place(span.name) for span in row],
        "kinds": [2 * CATEGORIES.index(span.category) + span.estimated for span in row],
        "notes": [notes.place(span.note) for span in row],
    }
