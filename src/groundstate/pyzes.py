"""Every name of the `pyzes` package, over this driver: `import groundstate.pyzes as pyzes`.

Functions take and return what those of pyzes 0.1.3 do, and there is one for each function of the
system management API, also where pyzes has none. `python -m groundstate.pyzes PROGRAM ...` runs a
program that says `import pyzes` with this module in its place. `docs/howto/pyzes.md` says more.
"""

import glob
import os
import sys
import threading
from ctypes import *
from typing import Any, Dict

from groundstate import _pyzes, _raw

_PrintableStructure = _pyzes.PrintableStructure

libLoadLock = threading.Lock()
gpuLib = CDLL(_raw.default_library().path)
_getFunctionPointerList: Dict[str, Any] = {}


def getFunctionPointerList(name: str) -> Any:
    """A function of the library; an AttributeError if it has none of that name."""
    with libLoadLock:
        if name not in _getFunctionPointerList:
            _getFunctionPointerList[name] = getattr(gpuLib, name)
        return _getFunctionPointerList[name]


globals().update(_pyzes.types_and_constants())
globals().update(_pyzes.functions(getFunctionPointerList))

pyzes = sys.modules[__name__]
"""This module, since the documentation of pyzes has `pyzes.zesInit` after `from pyzes import *`."""


def _run_program(arguments: list[str]) -> None:
    """Runs a Python program that finds this module when it imports pyzes."""
    import importlib
    import runpy

    if not arguments:
        sys.exit("usage: python -m groundstate.pyzes PROGRAM [ARGUMENT ...]")
    sys.modules["pyzes"] = importlib.import_module("groundstate.pyzes")
    sys.argv = arguments
    sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    _run_program(sys.argv[1:])
