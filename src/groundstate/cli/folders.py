"""Folders that commands write into."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def output_folder(path: Path | None) -> Iterator[None]:
    """Makes a folder, and those above it; what is still empty in the end goes away again."""
    if path is None:
        yield
        return
    new = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        for folder in new:
            with suppress(OSError):  # something is in it
                folder.rmdir()
