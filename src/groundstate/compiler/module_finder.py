"""Finds the compiler's modules faster than Python does by itself.

The first kernel of a process waits for the import of more than two hundred modules, of whose time
a fifth goes into looking along the path for files whose place is known. What the finder here does
not know, or what has to be compiled first, is left to Python. Modules get the loader that they
would have got: only how it takes code out of `__pycache__` is shorter.
"""

from __future__ import annotations

import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import (
    MAGIC_NUMBER,
    SourceFileLoader,
    spec_from_file_location,
)
from _io import open_code
from _struct import Struct
from marshal import loads
from posix import stat

TYPE_CHECKING = False  # importing typing takes longer than what is saved for some modules
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

PACKAGE = "groundstate.compiler."
HEAD_BYTES = 16
STAMP = Struct("<III")
BY_TIME = 0
"""The flags of files that are valid for a source of the same time and size."""
WORD = 0xFFFFFFFF
OPTIMISED = f".opt-{sys.flags.optimize}" if sys.flags.optimize else ""
ENDING = f".{sys.implementation.cache_tag}{OPTIMISED}.pyc"


class Loader(SourceFileLoader):
    """Python's own loader with a short cut to code that is up to date."""

    def __init__(self, name: str, path: str, compiled: str) -> None:
        super().__init__(name, path)
        self._compiled = compiled

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of a module."""
        try:
            source = stat(self.path)
            with open_code(self._compiled) as file:
                content = file.read()
        except OSError:
            return super().get_code(fullname)
        if content[:HEAD_BYTES] != MAGIC_NUMBER + STAMP.pack(
            BY_TIME, int(source.st_mtime) & WORD, source.st_size & WORD
        ):
            return super().get_code(fullname)
        code: CodeType = loads(memoryview(content)[HEAD_BYTES:])
        return code


class Finder:
    """Knows where the modules of the compiler are: each in the folder of its package."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What Python asks for a module; None if it has to look for itself."""
        del target
        if not name.startswith(PACKAGE) or not path or sys.pycache_prefix is not None:
            return None
        last, folder, inside = name.rpartition(".")[2], path[0], None
        file = f"{folder}/{last}.py"
        if not _is_there(file):
            folder, last = f"{folder}/{last}", "__init__"
            file, inside = f"{folder}/{last}.py", [folder]
            if not _is_there(file):
                return None
        compiled = f"{folder}/__pycache__/{last}{ENDING}"
        loader = Loader(name, file, compiled)
        spec = spec_from_file_location(name, file, loader=loader, submodule_search_locations=inside)
        if spec is not None:
            spec.cached = compiled
        return spec


def _is_there(file: str) -> bool:
    try:
        stat(file)
    except OSError:
        return False
    return True


def install() -> None:
    """Lets Python ask the finder first."""
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)
