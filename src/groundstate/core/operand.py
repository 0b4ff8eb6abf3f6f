"""What copies and fills can work on: memory of a context, NumPy arrays, buffers and addresses."""

from __future__ import annotations

import ctypes
import math
import struct
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from groundstate.core.dtype import BYTES, DType, dtype, require_byte_order
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
    if type(pattern) in _PLAIN and type(destination) is Memory and destination.dtype.is_number:
        try:
            return destination.dtype.packer(pattern)
        except (struct.error, OverflowError):
            pass  # with a message below
    element = element_of(destination) or BYTES
    if getattr(pattern, "ndim", 0):
        require_same_elements(destination, pattern, "the pattern")
        return bytes(pattern.tobytes())
    try:
        return element.pack(pattern)
    except (TypeError, OverflowError) as problem:
        raise type(problem)(
            f"{problem}: a fill of {element.name} takes {_pattern_for(element)}, or bytes that are "
            "repeated as they are, such as b'ab'"
        ) from None


_PLAIN = frozenset((int, float))
"""What most patterns are."""


def _pattern_for(element: DType) -> str:
    if element.record is not None:
        return "a tuple or a record of this type"
    if element.dlpack_code in (0, 1):
        bits, is_signed = 8 * element.itemsize_bytes, element.dlpack_code == 0
        return f"an integer from {-(1 << bits - 1) if is_signed else 0} to " + (
            f"{(1 << bits - is_signed) - 1}"
        )
    return "True or False" if element.name == "bool" else "a number"


# --- Elements -------------------------------------------------------------------------------------


def element_of(thing: Operand) -> DType | None:
    """The type of the elements of an operand; None for an address, of which nobody knows.

    Raises TypeError for elements whose bytes are in another order than the device's.
    """
    if isinstance(thing, Memory):
        return thing.dtype
    if isinstance(thing, int):
        return None
    kind = getattr(thing, "dtype", None)
    if kind is not None:
        require_byte_order(kind)
        try:
            return dtype(kind)
        except TypeError:
            return DType(str(kind), "", 0, "", None)  # a type of NumPy that no memory has
    try:
        form = memoryview(thing).format  # type: ignore[arg-type]
    except (TypeError, BufferError, ValueError):
        return None
    return _element_of_format(form)


_FORMATS = {"c": "uint8", "?": "bool", "e": "float16", "f": "float32", "d": "float64"}
_INTEGERS = "bBhHiIlLqQ"


def _element_of_format(form: str) -> DType | None:
    """The elements of a memoryview, such as that of an array.array or a ctypes array."""
    order, code = form[:-1], form[-1:]
    if order in (">", "!") and code not in "bBc?":
        raise TypeError(
            f"the elements are big-endian (format {form!r}), and the device is little-endian"
        )
    if order not in ("", "@", "=", "<", ">", "!"):
        return None
    if code in _INTEGERS:
        bits = 8 * ctypes.sizeof(ctypes.c_long if code in "lL" and order in "@" else _SIZES[code])
        return dtype(f"{'u' * code.isupper()}int{bits}")
    return dtype(_FORMATS[code]) if code in _FORMATS else None


_SIZES: dict[str, Any] = {
    **dict.fromkeys("bB", ctypes.c_int8),
    **dict.fromkeys("hH", ctypes.c_int16),
    **dict.fromkeys("iIlL", ctypes.c_int32),
    **dict.fromkeys("qQ", ctypes.c_int64),
}
"""By code of the struct module; those of l are other ones where the machine's own are meant."""


def require_same_elements(destination: Operand, source: Operand, what: str = "the source") -> None:
    """Raises TypeError if a copy would take elements for those of another type.

    Memory of bytes can be anything.
    """
    if type(destination) is Memory is type(source) and destination.dtype is source.dtype:
        return
    to, of = element_of(destination), element_of(source)
    if to is not of and to is not None and BYTES not in (to, of):
        _require(to, of, source, what, "the destination")


def require_texels(memory: Operand, texel: DType, what: str) -> None:
    """Raises TypeError if memory is neither of the type of an image's texels nor bytes."""
    element = element_of(memory)
    if element is not texel and element is not BYTES:
        _require(texel, element, memory, what, "the image")


def _require(to: DType, of: DType | None, thing: Operand, what: str, other: str) -> None:
    if of is None:
        return
    convert = f"convert it, with .astype({to.name!r}), or " if hasattr(thing, "astype") else ""
    bytes_ = 'its .view("uint8")' if hasattr(thing, "view") else 'memoryview(...).cast("B") of it'
    raise TypeError(
        f"{what} has elements of {of.name} and {other} of {to.name}, and a copy does not convert: "
        f"{convert}use {bytes_} to copy the bytes as they are"
    )


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


def _as_buffer(thing: Any) -> Any:
    """An array whose elements a buffer cannot have, such as bfloat16, as one of bytes."""
    flags = getattr(thing, "flags", None)
    if flags is None or not hasattr(thing, "__array_interface__"):
        return thing
    if not flags["C_CONTIGUOUS"]:
        raise ValueError("it is not C-contiguous; pass numpy.ascontiguousarray(...) of it")
    is_plain = thing.dtype.kind in "biufc" or not thing.ndim
    return thing if is_plain or not thing.dtype.itemsize else thing.view("uint8")


class _BufferView:
    """The memory of a Python object, pinned for as long as this exists."""

    __slots__ = ("_buffer",)

    def __init__(self, thing: Any, *, writable: bool) -> None:
        buffer = _PyBuffer()
        try:
            _get_buffer(_as_buffer(thing), buffer, _WRITABLE if writable else _SIMPLE)
        except (BufferError, TypeError, ValueError) as problem:
            advice = "; pass a NumPy array of it" * isinstance(thing, list | tuple | range)
            raise TypeError(
                f"a command cannot {'write to' if writable else 'read'} this "
                f"{type(thing).__name__}: {problem}{advice}"
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
