"""Functions of our library that are built-in functions of this interpreter.

A call through ctypes takes longer than what it calls: launching a small kernel, or waiting for it.
Our library has functions for both that the interpreter calls by itself. Other libraries have not,
and an interpreter without a lock of its own has no use for them: then `ctypes` does it.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

from groundstate import _raw

_NEEDED = (
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyLong_AsVoidPtr",
    "PyLong_FromVoidPtr",
    "PyLong_FromLongLong",
    "PyTuple_Size",
    "PyTuple_GetItem",
    "PyDict_Update",
)
"""What `native/python/built_in.c` calls, in its order."""


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("description", ctypes.c_char_p),
    )


class BuiltIn:
    """The functions; `native/python/built_in.c` says what they take and return."""

    def __init__(self, library: _raw.Library, table: int) -> None:
        self.remember = _function(library, table, "remember", "")
        self.repeat = _function(library, table, "repeat", "zeCommandListAppendLaunchKernel")
        self.forget = _function(library, table, "forget", "")
        self.release = _function(library, table, "release", "")
        self.wait_for_list = _function(library, table, "wait", "zeCommandListHostSynchronize")


def find(library: _raw.Library) -> BuiltIn | None:
    """The functions of a library, if it has them and this interpreter can call them."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    try:
        table = library.find("gs_built_in_functions")
    except _raw.MissingFunctionError:
        return None
    needed = (getattr(ctypes.pythonapi, name) for name in _NEEDED)
    addresses = (ctypes.c_void_p * len(_NEEDED))(*map(_address, needed))
    table.restype = ctypes.c_void_p
    return BuiltIn(library, table(addresses))


def _function(library: _raw.Library, table: int, name: str, calls: str) -> Callable[..., int]:
    """The function of a name, for which a function of the API is what `self` is for a method."""
    method = _Method.from_address(table)
    while method.name != name.encode():
        assert method.name is not None
        table += ctypes.sizeof(_Method)
        method = _Method.from_address(table)
    make: Any = ctypes.pythonapi.PyCFunction_NewEx
    make.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    make.restype = ctypes.py_object
    made: Callable[..., int] = make(table, _address(library.find(calls)) if calls else 0, None)
    return made


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
