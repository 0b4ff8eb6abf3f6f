"""Where in the source an operation comes from.

A location is a place in a file, the function that it stands in, and, if that function was inlined,
the location of the call. So a location is the innermost frame of a stack of calls, whether the
compiler that wrote the module inlined them or ours did.
"""

from __future__ import annotations

from collections.abc import Iterator


class Location:
    """A place in the source. `Locations` makes them: the same place is the same object."""

    __slots__ = ("caller", "column", "file", "function", "line")

    def __init__(
        self, file: str, line: int, column: int, function: str, caller: Location | None = None
    ) -> None:
        self.file = file
        self.line = line
        self.column = column
        """From 1 on; 0 if it is not known."""
        self.function = function
        self.caller = caller
        """Where the function was called from, if it was inlined."""

    @property
    def place(self) -> str:
        """The file, line and column, as compilers write them."""
        column = f":{self.column}" if self.column else ""
        return f"{self.file}:{self.line}{column}"

    def frames(self) -> Iterator[Location]:
        """This location, and those of the calls around it."""
        frame: Location | None = self
        while frame is not None:
            yield frame
            frame = frame.caller

    def __repr__(self) -> str:
        return " called at ".join(f"{each.place} in {each.function}" for each in self.frames())


Frame = tuple[str, int, int, str]
"""File, line, column and function."""


class Locations:
    """The locations of one kernel, each made once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Frame, int], Location] = {}

    def of(self, frame: Frame, caller: Location | None = None) -> Location:
        """The location of a frame that is called from another."""
        key = frame, id(caller)  # a caller lives as long as those that name it
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Location(*frame, caller)
        return found
