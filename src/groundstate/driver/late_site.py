"""Lets an interpreter of the driver's own do without `site` until something is not found.

Python runs `site` when it starts: it looks through folders, reads `.pth` files and imports what
they name, which takes a good part of the time that a program waits for `zeInit`. The driver knows
where it lies itself, and has its neighbours' folder on the path. What else is installed, such as a
module that only a `.pth` file leads to, is looked for once more after `site` has run.

This file runs before anything is imported that is not built into the interpreter.
"""

from __future__ import annotations

import sys
from _frozen_importlib_external import PathFinder
from _thread import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class SiteFinder:
    """The last of the finders, which is asked for what no other one has found."""

    def __init__(self) -> None:
        self._lock = RLock()
        """While `site` runs, which imports modules itself."""
        self._has_run = False

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Runs `site` for the first top-level module that is missing, and looks again."""
        if path is not None:
            return None
        with self._lock:
            if not self._has_run:
                self._has_run = True
                import site

                site.main()
        return PathFinder.find_spec(name, path, target)


def prepare() -> None:
    """Puts the finder in place, unless the interpreter has run `site`."""
    if sys.flags.no_site:
        sys.meta_path.append(SiteFinder())
