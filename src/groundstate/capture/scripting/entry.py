"""Where the capture library enters Python: it calls `start` once, when a script is loaded."""

from __future__ import annotations

import atexit
import ctypes
import os
import runpy
import shlex
import sys
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any

from groundstate import knobs
from groundstate.capture.scripting.hooks import EVENTS, HOOKS, Call, HookError, check_script

_functions: dict[int, tuple[str, Callable[[Any], int]]] = {}
"""The functions with a hook by their number in the library: name, and how to call on."""


class _Library:
    """The capture library."""

    handle: Any = None
    script = ""


def start(library: str, script: str) -> ModuleType | None:
    """Runs the script and hooks what it names; None if it failed, which is said."""
    _Library.handle = ctypes.CDLL(library)
    _Library.script = script
    _Library.handle.gc_script_call_on.restype = ctypes.c_uint64
    _Library.handle.gc_script_readable.restype = ctypes.c_bool
    _Library.handle.gc_script_readable.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.argv = [script, *shlex.split(knobs.SCRIPT_ARGUMENTS.get())]
    sys.path.insert(0, os.path.dirname(script))
    try:
        check_script(script, runpy.run_path(script, run_name="__hooks__"))
        for name in HOOKS:
            if name not in EVENTS:
                _hook(name)
    except BaseException as problem:
        _report(problem, "loading the script")
        return None
    return sys.modules[__name__]


def _hook(name: str) -> None:
    number = _Library.handle.gc_script_number(name.encode())
    if number < 0:
        raise ValueError(f"{name} is not a function that can be hooked")
    function = _Library.handle.gc_script_call_on

    def call_on(words: Any) -> int:
        result: int = function(number, words)
        return result

    _functions[number] = name, call_on
    _Library.handle.gc_script_hook(number)


def _is_there(address: int, size: int) -> bool:
    return bool(_Library.handle.gc_script_readable(address, size))


def ask(number: int, words: int) -> int | None:
    """Runs the hook of a function; None if it failed and the call is to be passed on."""
    name, call_on = _functions[number]
    call = Call(name, words, call_on, _is_there)
    try:
        result = HOOKS[name](call)
        if result is not None and not isinstance(result, int):
            raise TypeError(f"the hook must return a number, not {type(result).__name__}")
        return int(result) & 0xFFFFFFFFFFFFFFFF if result is not None else 0
    except BaseException as problem:
        call.undo()
        _report(problem, name)
        return None


def tell(event: str, number: int) -> None:
    """Runs the hook of an event, if there is one."""
    try:
        if event in HOOKS:
            HOOKS[event](*([number] if number >= 0 else []))
    except BaseException as problem:
        _report(problem, event)
    if event == "gitsProgramExit":
        atexit._run_exitfuncs()
        sys.stdout.flush()


def _report(problem: BaseException, during: str) -> None:
    """Says what went wrong, and where in the script."""
    frames = traceback.extract_tb(problem.__traceback__)
    own = [frame for frame in frames if frame.filename == _Library.script]
    place = f"{own[-1].filename}:{own[-1].lineno}" if own else during
    if isinstance(problem, SyntaxError) and problem.lineno is not None:
        place = f"{problem.filename}:{problem.lineno}"
    message = f"{place}: {type(problem).__name__}: {problem}"
    if isinstance(problem, HookError):
        place = f"{_Library.script}:{problem.line}"
        message = f"{place}: {problem}"
    _Library.handle.gc_script_failed(place.encode(), message.encode(), during.encode())
