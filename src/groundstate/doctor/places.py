"""The folders that are written to."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

from groundstate import knobs
from groundstate.doctor.finding import Finding, State

SECTION = "Places"


def check() -> Iterator[Finding]:
    """The cache of compiled kernels."""
    folder = knobs.cache_folder()
    if folder is None:
        why = f"{knobs.CACHE.name}=0" if knobs.CACHE.text() else "this user has no home folder"
        yield Finding(SECTION, "cache", State.NOTE, f"kernels are not kept: {why}")
    elif not is_writable(folder):
        text = f"{folder} cannot be written to: kernels are compiled anew each time"
        yield Finding(SECTION, "cache", State.MISSING, text, f"set {knobs.CACHE.name} to a folder")
    else:
        from groundstate.compiler.cache import disk

        count, size = disk.size()
        text = f"{folder}, {count} entries, {size / 2**20:.1f} MiB"
        yield Finding(SECTION, "cache", State.OK, text)


def is_writable(folder: str) -> bool:
    """Whether files can be made in a folder, or the folder itself if it is not there yet."""
    while not os.path.exists(folder):
        folder = os.path.dirname(folder) or os.sep
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


CHECKS = (check,)
