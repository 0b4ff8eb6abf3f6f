"""The types that elements of memory can have.

NumPy's names and objects are understood, but NumPy is needed only for what is not in the table.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class DType:
    """The type of an element. There is one object for each."""

    name: str
    typestr: str
    """The type as NumPy's array interface writes it."""
    itemsize_bytes: int
    format: str
    """The type as the struct module and memoryview write it."""
    dlpack_code: int
    """Its class in DLPack: 0 signed, 1 unsigned, 2 float, 5 complex, 6 bool."""

    def pack(self, value: Any) -> bytes:
        """One element as bytes.

        >>> dtype("int16").pack(258)
        b'\\x02\\x01'
        """
        if self.dlpack_code == _COMPLEX:
            number = complex(value)
            half = self.format[1:]
            return struct.pack(f"={half}{half}", number.real, number.imag)
        return struct.pack(f"={self.format}", value)


_SIGNED, _UNSIGNED, _FLOAT, _COMPLEX, _BOOL = 0, 1, 2, 5, 6

_TYPES = {
    kind.name: kind
    for kind in (
        DType("bool", "|b1", 1, "?", _BOOL),
        DType("int8", "|i1", 1, "b", _SIGNED),
        DType("uint8", "|u1", 1, "B", _UNSIGNED),
        DType("int16", "<i2", 2, "h", _SIGNED),
        DType("uint16", "<u2", 2, "H", _UNSIGNED),
        DType("int32", "<i4", 4, "i", _SIGNED),
        DType("uint32", "<u4", 4, "I", _UNSIGNED),
        DType("int64", "<i8", 8, "q", _SIGNED),
        DType("uint64", "<u8", 8, "Q", _UNSIGNED),
        DType("float16", "<f2", 2, "e", _FLOAT),
        DType("float32", "<f4", 4, "f", _FLOAT),
        DType("float64", "<f8", 8, "d", _FLOAT),
        DType("complex64", "<c8", 8, "Zf", _COMPLEX),
        DType("complex128", "<c16", 16, "Zd", _COMPLEX),
    )
}

_BY_TYPESTR = {kind.typestr: kind for kind in _TYPES.values()}

_PYTHON_TYPES = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


def dtype(kind: Any) -> DType:
    """The type that a name, a Python type or anything that NumPy understands stands for.

    >>> dtype("float32").itemsize_bytes, dtype(int).name
    (4, 'int64')
    """
    if isinstance(kind, DType):
        return kind
    name = _PYTHON_TYPES.get(kind, kind) if isinstance(kind, type) else kind
    if isinstance(name, str) and name in _TYPES:
        return _TYPES[name]
    typestr = getattr(kind, "str", None) or _numpy_typestr(kind)
    try:
        return _BY_TYPESTR[typestr]
    except KeyError:
        raise TypeError(
            f"elements cannot be of type {kind!r}; the types are {', '.join(_TYPES)}"
        ) from None


def _numpy_typestr(kind: Any) -> str:
    try:
        import numpy
    except ImportError:
        return ""
    try:
        return str(numpy.dtype(kind).str)
    except TypeError:
        return ""
