"""Where elements lie: any memory descriptor with strides and inner blocks, by asking for them."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.dnn.reference import facts
from tests.dnn.reference.numbers import STORAGE, Array, decode, encode

TYPE_NAMES = {number: name for name, number in facts.DATA_TYPES.items()}
Dims = ctypes.c_int64 * facts.MAX_NDIMS
GAP = 0xFF  # a NaN in every floating-point type: who reads between the elements shows it


@dataclass(frozen=True)
class Place:
    """What a library says of a memory descriptor."""

    dims: tuple[int, ...]
    padded: tuple[int, ...]
    strides: tuple[int, ...]
    blocks: tuple[tuple[int, int], ...]  # (dimension, size), the innermost last
    offset: int
    dtype: str
    size: int

    @property
    def is_padded(self) -> bool:
        return self.dims != self.padded

    def offsets(self) -> NDArray[np.int64]:
        """The place of every element, counted in elements."""
        total = np.full((1,) * len(self.dims), self.offset, dtype=np.int64)
        for index, count in enumerate(self.dims):
            shape = [1] * len(self.dims)
            shape[index] = count
            total = total + self._part(index, count).reshape(shape)
        return total

    def _part(self, index: int, count: int) -> NDArray[np.int64]:
        left = np.arange(count, dtype=np.int64)
        part, step = np.zeros(count, dtype=np.int64), 1
        for dimension, block in reversed(self.blocks):
            if dimension == index:
                part += left % block * step
                left = left // block
            step *= block
        return part + left * self.strides[index]

    def pack(self, values: Array | None) -> NDArray[np.uint8]:
        """The bytes of a tensor: padding is zero, gaps are NaN, and so is what has no value yet."""
        raw = np.full(self.size, 0 if self.is_padded else GAP, dtype=np.uint8)
        elements = raw[: self.size - self.size % STORAGE[self.dtype].itemsize]
        if values is not None and values.size:
            elements.view(STORAGE[self.dtype])[self.offsets()] = encode(values, self.dtype)
        return raw

    def unpack(self, raw: NDArray[np.uint8]) -> Array:
        """The values of a tensor of which these are the bytes."""
        if 0 in self.dims:
            return np.zeros(self.dims)
        whole = raw[: self.size - self.size % STORAGE[self.dtype].itemsize]
        return decode(whole.view(STORAGE[self.dtype])[self.offsets()], self.dtype)

    def wrote_outside(self, raw: NDArray[np.uint8]) -> bool:
        """Whether bytes between the elements are no longer what `pack` left there."""
        if self.is_padded or 0 in self.dims:
            return False
        elements = raw[: self.size - self.size % STORAGE[self.dtype].itemsize]
        mine = np.zeros(elements.view(STORAGE[self.dtype]).size, dtype=bool)
        mine[self.offsets()] = True
        rest = elements.reshape(-1, STORAGE[self.dtype].itemsize)[~mine]
        return bool((rest != GAP).any())


def ask(functions: Any, descriptor: int) -> Place | None:
    """Reads a memory descriptor; None if its layout is the library's own secret."""

    def number(what: int, kind: Any = ctypes.c_int) -> int:
        result = kind()
        status = functions.dnnl_memory_desc_query(
            ctypes.c_void_p(descriptor), ctypes.c_int(what), ctypes.byref(result)
        )
        return int(result.value) if status == facts.SUCCESS else 0

    def numbers(what: int, count: int) -> tuple[int, ...]:
        result = ctypes.POINTER(ctypes.c_int64)()
        functions.dnnl_memory_desc_query(
            ctypes.c_void_p(descriptor), ctypes.c_int(what), ctypes.byref(result)
        )
        return tuple(result[index] for index in range(count))

    if number(facts.QUERY_FORMAT_KIND) != facts.FORMAT_BLOCKED:
        return None
    ndims = number(facts.QUERY_NDIMS)
    inner = number(facts.QUERY_INNER_COUNT)
    blocks = numbers(facts.QUERY_INNER_BLOCKS, inner) if inner else ()
    indices = numbers(facts.QUERY_INNER_INDICES, inner) if inner else ()
    return Place(
        dims=numbers(facts.QUERY_DIMS, ndims),
        padded=numbers(facts.QUERY_PADDED_DIMS, ndims),
        strides=numbers(facts.QUERY_STRIDES, ndims),
        blocks=tuple(zip(indices, blocks, strict=True)),
        offset=number(facts.QUERY_OFFSET, ctypes.c_int64),
        dtype=TYPE_NAMES.get(number(facts.QUERY_DATA_TYPE), "undef"),
        size=int(functions.dnnl_memory_desc_get_size(ctypes.c_void_p(descriptor))),
    )
