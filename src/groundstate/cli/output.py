"""Files that commands write.

An error while a file is opened carries its name; one while it is written, such as a full disk, does
not. Those of the files here do, so that `errors.describe` can say which file it was.
"""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Named(io.FileIO):
    """A file whose errors name it."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as problem:
            problem.filename = self.name
            raise


def create(path: str | os.PathLike[str]) -> io.TextIOWrapper:
    """Opens a file of text for writing, in UTF-8."""
    return io.TextIOWrapper(create_binary(path), encoding="utf-8")


def create_binary(path: str | os.PathLike[str]) -> io.BufferedWriter:
    """Opens a file for writing bytes."""
    return io.BufferedWriter(_Named(os.fspath(path), "w"))
