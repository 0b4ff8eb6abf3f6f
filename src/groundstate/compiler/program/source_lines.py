"""What is said of a kernel's code when something happens in it: places in the source.

The code's line table leads from an address to the number of a location; the locations are kept
beside the code in the kernel cache. The text of a file is in the module, or on disk.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from groundstate.printable import printable

if TYPE_CHECKING:
    from groundstate.compiler.spirv.module import Module
    from groundstate.native_layouts import SourceLines

MOST_BYTES = 4 << 20
"""Of a file that is read for an excerpt."""
MOST_CHARACTERS = 240
"""Of the words for one place."""
MOST_SOURCE_CHARACTERS = 80
STDERR = 2

Described = tuple[str, int, int, str, int]
"""File, line, column, function, and the number of the caller's location, from 1 on; 0: none."""


class SourceTexts:
    """The texts of files that modules were compiled from."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self.modules = modules
        self._lines: dict[str, list[str]] = {}

    def line(self, file: str, number: int) -> str | None:
        """A line of a file, if there is one."""
        lines = self._lines.get(file)
        if lines is None:
            lines = self._lines[file] = self._text(file).splitlines()
        return lines[number - 1] if 0 < number <= len(lines) else None

    def _text(self, file: str) -> str:
        for module in self.modules:
            text = module.debug_info.text_of(file) if module.debug_info is not None else None
            if text is not None:
                return text
        return _read(file)


def _read(path: str) -> str:
    """The text of a file on disk; nothing if it is none that a compiler would have read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError):
        return ""
    with open(descriptor, "rb") as file:
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or not 0 < status.st_size <= MOST_BYTES:
                return ""
            content = file.read(MOST_BYTES)
        except OSError:
            return ""
    return "" if b"\0" in content else content.decode("utf-8", "replace")


class KernelLines:
    """The locations of one kernel's code, in words."""

    def __init__(
        self, kernel: str, locations: Sequence[Described], table: bytes, texts: SourceTexts
    ) -> None:
        self.kernel = kernel
        self.locations = locations
        self.table = table
        """The DWARF line table, with the addresses that the code has now."""
        self._texts = texts
        self.native: tuple[SourceLines, object] | None = None
        """The same as C knows it, once it does."""

    @cached_property
    def sentences(self) -> list[bytes]:
        """Each location for the end of a sentence, with the line of the source."""
        return [self._sentence(number).encode("utf-8", "replace") for number in self._numbers]

    @cached_property
    def excerpts(self) -> list[bytes]:
        """Each location as an excerpt for a terminal; none if there is no terminal."""
        if not os.isatty(STDERR):
            return []
        return [self._excerpt(number).encode("utf-8", "replace") for number in self._numbers]

    @property
    def _numbers(self) -> range:
        return range(1, len(self.locations) + 1)

    def _frames(self, number: int) -> list[Described]:
        """A location and those of the calls around it, whose numbers are lower."""
        frames = []
        while 0 < number <= len(self.locations):
            frames.append(self.locations[number - 1])
            number = min(frames[-1][4], number - 1)
        return frames

    def _sentence(self, number: int) -> str:
        first, *callers = self._frames(number)
        source = (self._texts.line(first[0], first[1]) or "").strip()
        if len(source) > MOST_SOURCE_CHARACTERS:
            source = source[:MOST_SOURCE_CHARACTERS] + "..."
        words = f"at {_place(first)}"
        if first[3] != self.kernel:
            words += f" in {printable(first[3])}"
        for caller in callers:
            if len(words) < MOST_CHARACTERS // 2:
                words += f", called at {_place(caller)}"
        words = words if len(words) <= MOST_CHARACTERS else words[:MOST_CHARACTERS] + "..."
        return f'{words}, "{printable(source)}"' if source else words

    def _excerpt(self, number: int) -> str:
        from groundstate.excerpt import Place, render_places  # only where there is a terminal

        places = [
            Place(file, line, column, self._texts.line(file, line), f"in {function}")
            for file, line, column, function, _ in self._frames(number)
        ]
        return "\n".join(render_places(places, colour=True)) + "\n"


def _place(location: Described) -> str:
    file, line, column, _, _ = location
    return f"{printable(file)}:{line}" + (f":{column}" if column else "")
