"""What copies and fills can work on: memory of a context, NumPy arrays, buffers and addresses."""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from groundstate.core.dtype import dtype
from groundstate.core.memory import Memory

if TYPE_CHECKING:
    from typing_extensions import Buffer

    Operand: TypeAlias = "Memory | Buffer | Array | int"


class Array(Protocol):
    """A NumPy array, which type checkers know as a buffer only from Python 3.12 on."""

    @property
    def __array_interface__(self) -> Any: ...


class Borrowed(NamedTuple):
    """An operand as a command takes it."""

    address: int
    size_bytes: int | None
    """None for a bare address, of which nobody knows how far it reaches."""
    owner: object
    """What has to stay alive until the command has run."""

    def size(self, asked: int | None, what: str) -> int:
        """The number of bytes to use: those asked for, if there are as many, or all."""
        if asked is None:
            if self.size_bytes is None:
                raise ValueError(f"{what} is an address: say how much, with size_bytes=")
            return self.size_bytes
        self.require(asked, what)
        return asked

    def require(self, size_bytes: int, what: str) -> None:
        """Raises ValueError if there are fewer bytes."""
        if size_bytes < 0:
            raise ValueError(f"a size is not negative: {size_bytes}")
        if self.size_bytes is not None and size_bytes > self.size_bytes:
            raise ValueError(f"{what} has {self.size_bytes} bytes, fewer than {size_bytes}")


def borrow(thing: Operand, *, writable: bool = False) -> Borrowed:
    """The address and size of an operand, and what keeps it alive."""
    if isinstance(thing, Memory):
        resource = thing.resource
        return Borrowed(resource.value + thing.offset_bytes, thing.size_bytes, resource)
    if isinstance(thing, int):
        return Borrowed(thing, None, None)
    view = _BufferView(thing, writable=writable)
    return Borrowed(view.address, view.size_bytes, view)


def row_bytes(thing: Operand) -> int:
    """Bytes from one row of an array to the next, or 0 for what has no rows."""
    shape = getattr(thing, "shape", None)
    if not shape or len(shape) < 2:
        return 0
    return int(shape[-1]) * _itemsize(thing)


def slice_bytes(thing: Operand) -> int:
    """Bytes from one slice of an array of three dimensions to the next, or 0."""
    shape = getattr(thing, "shape", None)
    if not shape or len(shape) < 3:
        return 0
    return int(math.prod(shape[-2:])) * _itemsize(thing)


def _itemsize(thing: Any) -> int:
    own = getattr(thing, "itemsize", None)
    return int(own) if own is not None else dtype(thing.dtype).itemsize_bytes


def pattern_bytes(pattern: Any, destination: Operand) -> bytes:
    """A pattern for a fill: bytes as they are, a number as one element of the destination."""
    if isinstance(pattern, bytes | bytearray | memoryview):
        return bytes(pattern)
    kind = getattr(destination, "dtype", None)
    if kind is None:
        if isinstance(pattern, int) and 0 <= pattern < 256:
            return bytes([pattern])
        raise TypeError("a fill of plain bytes takes a pattern of bytes, or a number below 256")
    return dtype(kind).pack(pattern)


class _PyBuffer(ctypes.Structure):
    """Py_buffer of Python's C API, which is the same in all versions since 3.11."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    )


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = (ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int)
_get_buffer.restype = ctypes.c_int
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = (ctypes.POINTER(_PyBuffer),)
_release_buffer.restype = None

_SIMPLE, _WRITABLE = 0, 1


class _BufferView:
    """The memory of a Python object, pinned for as long as this exists."""

    __slots__ = ("_buffer",)

    def __init__(self, thing: Any, *, writable: bool) -> None:
        buffer = _PyBuffer()
        try:
            _get_buffer(thing, buffer, _WRITABLE if writable else _SIMPLE)
        except (BufferError, TypeError, ValueError) as problem:
            raise TypeError(
                f"a command cannot {'write to' if writable else 'read'} this "
                f"{type(thing).__name__}: {problem}"
            ) from problem
        self._buffer = buffer

    @property
    def address(self) -> int:
        return int(self._buffer.buf or 0)

    @property
    def size_bytes(self) -> int:
        return int(self._buffer.len)

    def __del__(self) -> None:
        if hasattr(self, "_buffer"):
            _release_buffer(self._buffer)
