"""Addresses inside buffers: at declared places, or wherever a word looks like one."""

from __future__ import annotations

import json
from bisect import bisect_left
from pathlib import Path

from groundstate.capture.play.errors import PlayError
from groundstate.capture.play.names import Names

WORD = 8
MOST = 1 << 24
"""How many places one entry of a file may mean."""


class PointersInside:
    """Replaces recorded addresses in what is written to memory, and present ones on the way back.

    Scanning looks at aligned words only, and takes for an address what lies in an allocation.
    """

    def __init__(self, names: Names, *, scan: bool, places: frozenset[int]) -> None:
        self._names = names
        self._scan = scan
        self._places = sorted(places)

    def as_present(self, address: int, data: bytes) -> bytes:
        """What to write to a recorded address, instead of `data`."""
        if self._scan:
            return self._names.scanned(data)
        return self._at_places(address, data, back=False) if self._places else data

    def as_recorded(self, address: int, data: bytes) -> bytes:
        """What would be at a recorded address if memory were where it was."""
        if self._scan:
            return self._names.unscanned(data)
        return self._at_places(address, data, back=True) if self._places else data

    def _at_places(self, address: int, data: bytes, *, back: bool) -> bytes:
        result = bytearray(data)
        first = bisect_left(self._places, address)
        for place in self._places[first:]:
            at = place - address
            if at + WORD > len(data):
                break
            word = int.from_bytes(data[at : at + WORD], "little")
            other = self._names.memory.find_present(word) if back else self._names.word(word)
            if other is not None:
                result[at : at + WORD] = other.to_bytes(WORD, "little")
        return bytes(result)


def places_in(texts: list[str]) -> frozenset[int]:
    """Places of addresses as they are given on a command line: a number, or a file with many.

    >>> sorted(places_in(["0x1000", "4104"]))
    [4096, 4104]
    """
    places: set[int] = set()
    for text in texts:
        try:
            places.add(int(text, 0))
        except ValueError:
            places |= _places_of_file(Path(text))
    return frozenset(places)


def _places_of_file(path: Path) -> set[int]:
    """Of a JSON list of numbers and of `{"address", "stride", "count"}` for places in a row."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise PlayError(f"'{path}' is neither an address nor a list of them: {problem}") from None
    places: set[int] = set()
    for entry in entries if isinstance(entries, list) else [entries]:
        try:
            if isinstance(entry, dict):
                begin, stride = _number(entry["address"]), _number(entry.get("stride", WORD))
                count = min(_number(entry.get("count", 1)), MOST)
                places.update(range(begin, begin + stride * count, stride))
            else:
                places.add(_number(entry))
        except (KeyError, TypeError, ValueError):
            raise PlayError(f"'{path}' has a place that is not understood: {entry!r}") from None
    return places


def _number(value: object) -> int:
    """A number, or a text such as "0x1000"."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError(value)
    return int(value, 0) if isinstance(value, str) else value
