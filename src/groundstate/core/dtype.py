"""The types that elements of memory can have.

NumPy's names and objects are understood, but NumPy is needed only for what is not in the table:
records, which NumPy calls structured types.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True, eq=False)
class DType:
    """The type of an element. There is one object for each."""

    name: str
    typestr: str
    """The type as NumPy's array interface writes it."""
    itemsize_bytes: int
    format: str
    """The type as the struct module and memoryview write it; empty for those they do not have."""
    dlpack_code: int | None
    """Its class in DLPack: 0 signed, 1 unsigned, 2 float, 4 bfloat, 5 complex, 6 bool, or None."""
    record: Any = None
    """NumPy's object for the type of a record; None for numbers."""

    @cached_property
    def is_number(self) -> bool:
        """Whether an element is a number that the struct module writes."""
        return self.dlpack_code in (_SIGNED, _UNSIGNED, _FLOAT)

    @cached_property
    def packer(self) -> Callable[[float], bytes]:
        """Writes an element that is such a number; raises struct.error or OverflowError."""
        return struct.Struct(f"={self.format}").pack

    def pack(self, value: Any) -> bytes:
        """One element as bytes; TypeError or OverflowError if it is not one of this type.

        >>> dtype("int16").pack(258)
        b'\\x02\\x01'
        >>> dtype("bfloat16").pack(1.5)
        b'\\xc0?'
        """
        try:
            return self._pack(value)
        except OverflowError:
            raise OverflowError(f"{value!r} does not fit in {self.name}") from None
        except (TypeError, ValueError, struct.error):
            raise TypeError(f"an element of {self.name} cannot be {value!r:.60}") from None

    def _pack(self, value: Any) -> bytes:
        if self.record is not None:
            import numpy

            return numpy.array(value, self.record).tobytes()
        if isinstance(value, str | bytes):
            raise TypeError
        if self.dlpack_code == _COMPLEX:
            number, half = complex(value), self.format[1:]
            return struct.pack(f"={half}{half}", number.real, number.imag)
        if self.dlpack_code == _BFLOAT:
            return pack_bfloat16(float(value))
        if self.dlpack_code == _FLOAT:
            return struct.pack(f"={self.format}", float(value))
        return self._pack_integer(int(value) if _is_truth(value) else operator.index(value))

    def _pack_integer(self, value: int) -> bytes:
        if self.dlpack_code == _BOOL and value not in (0, 1):
            raise OverflowError
        return value.to_bytes(self.itemsize_bytes, "little", signed=self.dlpack_code == _SIGNED)

    def numpy_type(self) -> Any:
        """The type as NumPy has it; that of bfloat16 is in the package ml_dtypes."""
        import numpy

        if self.record is not None:
            return self.record
        if self.dlpack_code != _BFLOAT:
            return numpy.dtype(self.typestr)
        try:
            import ml_dtypes
        except ImportError:
            raise ImportError(
                'NumPy has no bfloat16 of its own: pip install ml_dtypes, or use .view("uint16")'
            ) from None
        return numpy.dtype(ml_dtypes.bfloat16)


_SIGNED, _UNSIGNED, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6

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
        DType("bfloat16", "<V2", 2, "", _BFLOAT),
        DType("float32", "<f4", 4, "f", _FLOAT),
        DType("float64", "<f8", 8, "d", _FLOAT),
        DType("complex64", "<c8", 8, "Zf", _COMPLEX),
        DType("complex128", "<c16", 16, "Zd", _COMPLEX),
    )
}

BYTES = _TYPES["uint8"]
"""Memory of this type is of any: plain bytes."""

_BY_TYPESTR = {kind.typestr: kind for kind in _TYPES.values() if kind.name != "bfloat16"}

_PYTHON_TYPES = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}

_records: dict[Any, DType] = {}
"""The types of records that were asked for, by NumPy's objects."""


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
    known = kind if hasattr(kind, "isnative") else _numpy_dtype(kind)
    if known is not None:
        require_byte_order(known)
        found = _BY_TYPESTR.get(known.str) or _TYPES.get(known.name) or _record(known)
        if found is not None:
            return found
    raise TypeError(
        f"elements cannot be of type {kind!r}; the types are {', '.join(_TYPES)}, and records"
    )


def require_byte_order(known: Any) -> None:
    """Raises TypeError for a type of NumPy whose bytes are in the other order than the device's."""
    if getattr(known, "isnative", True):
        return
    is_record = known.names is not None
    wanted = 'array.dtype.newbyteorder("<")' if is_record else repr(known.newbyteorder("<").str)
    raise TypeError(
        f"the elements are big-endian ({'records' if is_record else known.str}), and the device is "
        f"little-endian; convert them, with array.astype({wanted})"
    )


def _record(known: Any) -> DType | None:
    """The type of a record of numbers."""
    if known.names is None or known.hasobject:
        return None
    if known not in _records:
        fields = ", ".join(f"{name} {known[name]}" for name in known.names)
        name = f"record({fields})"
        _records[known] = DType(name, known.str, known.itemsize, "", None, known)
    return _records[known]


def _numpy_dtype(kind: Any) -> Any:
    try:
        import numpy
    except ImportError:
        return None
    try:
        return numpy.dtype(kind)
    except TypeError:
        return None


def _is_truth(value: Any) -> bool:
    """Whether a value is True or False, which NumPy's do not pass for 1 and 0."""
    return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")


def pack_bfloat16(value: float) -> bytes:
    """The upper half of a float, rounded to the nearest, ties to even."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    if value == value:
        bits += 0x7FFF + (bits >> 16 & 1)
    return struct.pack("<H", bits >> 16)
