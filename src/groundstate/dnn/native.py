"""The C half of the primitives: `libgroundstate_dnnl.so.3`, which lies beside the driver's library.

It holds what executing needs (engines, streams, memory, launches), so that a C program executes
without Python. The objects of this package are handles to the same things.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from typing import Any, Self

from groundstate import _raw, knobs
from groundstate.closing import Closing
from groundstate.core.errors import ClosedError
from groundstate.dnn.errors import DnnError
from groundstate.dnn.types import Status

NAME = "libgroundstate_dnnl.so.3"

BUFFER, SCRATCH, HOST_SCALAR, VALUE = 1, 2, 3, 4
"""What a parameter of a kernel is: as in native/dnnl/primitive.h."""

ENGINE, STREAM, MEMORY, PRIMITIVE, NAMED = 1, 2, 3, 4, 5
"""Kinds of objects: as in native/dnnl/objects.h."""

_POINTER, _INT, _BOOL, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_bool, ctypes.c_size_t

_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "gs_object_is": (_BOOL, _POINTER, _INT),
    "gs_name_new": (_POINTER,),
    "gs_name_free": (None, _POINTER),
    "gs_engine_new": (_POINTER, ctypes.c_char_p, _POINTER, ctypes.c_bool, _POINTER),
    "gs_engine_drop": (None, _POINTER),
    "gs_memory_new": (_POINTER, _POINTER, _INT, _POINTER, _POINTER),
    "gs_scalar_new": (_POINTER, _SIZE, _POINTER),
    "gs_scalar_get": (_SIZE, _POINTER, _POINTER),
    "gs_scalar_set": (None, _POINTER, _POINTER),
    "gs_memory_free": (None, _POINTER),
    "gs_memory_get": (_POINTER, _POINTER, _INT),
    "gs_memory_set": (None, _POINTER, _INT, _POINTER),
    "gs_stream_new": (_POINTER, _POINTER, _POINTER, _BOOL, _BOOL, _BOOL),
    "gs_stream_free": (None, _POINTER),
    "gs_stream_reset": (None, _POINTER),
    "gs_stream_times": (_INT, _POINTER, _INT, _POINTER),
    "gs_stream_wait": (_INT, _POINTER),
    "gs_stream_copy": (_INT, _POINTER, _POINTER, _POINTER, _SIZE),
    "gs_primitive_new": (_POINTER, _POINTER, _INT, _POINTER, _INT, _BOOL, _POINTER),
    "gs_primitive_launch": (_INT, _POINTER, _INT, _POINTER, _POINTER, _INT),
    "gs_primitive_parameter": (None, _POINTER, _INT, _INT, _INT, _INT, _INT, _SIZE),
    "gs_primitive_leave_open": (None, _POINTER),
    "gs_primitive_free": (None, _POINTER),
    "gs_primitive_run": (
        *(_INT, _POINTER, _POINTER, _INT, _POINTER, _INT, _POINTER, _POINTER),
        *(_POINTER, _SIZE),
    ),
    "gs_ze_of_program": (ctypes.c_char_p,),
}


class Owner(Closing):
    """An object of the C half, which is there until `close`."""

    _handle = 0
    """Where it is; 0 before it is made and after it was closed."""

    @property
    def native(self) -> int:
        """The handle; raises `ClosedError` once this was closed."""
        if not self._handle:
            raise ClosedError(f"this {type(self).__name__} was closed")
        return self._handle

    @property
    def closed(self) -> bool:
        """True after `close()`."""
        return not self._handle

    def close(self) -> None:
        """Lets go of the object; nothing if that was done already."""
        handle, self._handle = self._handle, 0
        if handle:
            self._release(handle)

    def _release(self, handle: int) -> None:
        """What closing does."""

    def __enter__(self) -> Self:
        self.native  # noqa: B018  a closed object cannot be entered
        return self

    def __del__(self) -> None:
        if self._handle and not sys.is_finalizing():
            self.close()


class Passed(ctypes.Structure):
    """What is passed for an argument: `dnnl_exec_arg_t`."""

    _fields_ = (("argument", ctypes.c_int), ("memory", ctypes.c_void_p))


def path() -> str:
    """Where the library is: beside the driver's, unless that is one from elsewhere."""
    beside = os.path.join(os.path.dirname(knobs.library()), NAME)
    if os.path.exists(beside):
        return beside
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return os.path.join(package, "_native", NAME)


@cache
def library() -> ctypes.CDLL:
    """The library, with the functions that this package uses declared."""
    _raw.default_library()  # the driver is told first that this interpreter is to be used
    try:
        opened = ctypes.CDLL(path())
    except OSError as problem:
        raise OSError(f"cannot open {path()}, which `make native` builds: {problem}") from problem
    for name, (returns, *parameters) in _FUNCTIONS.items():
        function = getattr(opened, name)
        function.restype, function.argtypes = returns, parameters
    return opened


def made(handle: int | None) -> int:
    """The handle of an object that was made, or `out_of_memory`."""
    if not handle:
        raise DnnError(Status.out_of_memory, "there is no memory left")
    return handle


def check(result: int, what: str) -> None:
    """Raises if Level Zero answered anything but success."""
    if result != 0:
        raise DnnError(Status.runtime_error, f"{what} failed: Level Zero answers {result:#x}")
