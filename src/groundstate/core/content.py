"""What new memory is filled with: an array, numbers in a list, or bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from groundstate.core.dtype import DType, dtype
from groundstate.core.memory import Memory
from groundstate.core.operand import element_of

if TYPE_CHECKING:
    import numpy


class Content:
    """Elements that are to be copied to memory: of which type, in which shape."""

    def __init__(self, data: Any, kind: Any) -> None:
        wanted = None if kind is None else dtype(kind)
        self._array = _array(data, wanted)
        self._packed = b""
        if self._array is not None:
            self.shape: tuple[int, ...] = self._array.shape
            self.dtype = wanted or dtype(self._array.dtype)
        else:
            values, self.dtype = _numbers(data, wanted)
            self.shape = (len(values),)
            self._packed = b"".join(map(self.dtype.pack, values))
        if 0 in self.shape:
            raise ValueError(f"there is no memory of no elements: the shape is {self.shape}")

    def write(self, memory: Memory) -> None:
        """Copies the elements to memory of their type and shape."""
        if self._array is not None:
            memory.numpy()[...] = self._array
        else:
            memory.buffer().cast("B")[:] = self._packed


def _array(data: Any, wanted: DType | None) -> numpy.ndarray[Any, numpy.dtype[Any]] | None:
    """The data as an array of NumPy; None if there is no NumPy."""
    try:
        import numpy
    except ImportError:
        return None
    if isinstance(data, bytes | bytearray | memoryview):
        data = numpy.asarray(memoryview(data))
    elif isinstance(data, range):
        data = list(data)
    array = numpy.asarray(data)
    if array.dtype.kind in "US" and not isinstance(data, numpy.ndarray):
        raise TypeError(f"an array is made of numbers, not of {data!r:.60}")
    if wanted is None:
        return array
    return numpy.asarray(data, wanted.numpy_type())


def _numbers(data: Any, wanted: DType | None) -> tuple[list[Any], DType]:
    """Numbers in a row, and their type."""
    wanted = wanted or element_of(data)
    if not isinstance(data, Iterable) or isinstance(data, str):
        raise TypeError(f"an array is made of numbers in a row, not of {data!r:.60}")
    values = list(data)
    if any(isinstance(each, list | tuple) for each in values):
        raise TypeError("lists in lists need NumPy: pip install numpy")
    has_fractions = any(isinstance(each, float) for each in values)
    return values, wanted or dtype("float64" if has_fractions else "int64")
