"""Memory descriptors: the logical shape of a tensor, its element type and where elements lie.

A blocked descriptor says for each dimension how many blocks it has and how far apart they are
(`strides`), and how elements lie inside a block (`inner_blocks`); without blocks it is a plain
strided tensor. `any` leaves the layout to the primitive. A sparse one has several buffers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from groundstate.dnn import layout, reshaping
from groundstate.dnn.errors import invalid, require, support, unimplemented
from groundstate.dnn.types import DataType, FormatKind, SparseEncoding

MAX_NDIMS = 12
RUNTIME_DIM = -(1 << 63)
"""A dimension or stride that is known only when a primitive runs."""
LARGEST = (1 << 63) - 1

SIZES = {
    DataType.f16: 2,
    DataType.bf16: 2,
    DataType.f32: 4,
    DataType.s32: 4,
    DataType.s8: 1,
    DataType.u8: 1,
    DataType.f64: 8,
    DataType.boolean: 1,
    DataType.f8_e5m2: 1,
    DataType.f8_e4m3: 1,
    DataType.s4: 1,
    DataType.u4: 1,
    DataType.e8m0: 1,
    DataType.f4_e2m1: 1,
    DataType.f4_e3m0: 1,
    DataType.s64: 8,
}
"""Bytes of an element; two of the four-bit types share a byte."""

HALF_BYTE = frozenset({DataType.s4, DataType.u4, DataType.f4_e2m1, DataType.f4_e3m0})

_TENSOR_TYPES = frozenset(SIZES) - {DataType.boolean, DataType.f4_e3m0}


@dataclass(frozen=True)
class Sparse:
    """How a sparse tensor is encoded."""

    encoding: SparseEncoding
    nonzeros: int
    metadata_types: tuple[DataType, ...] = ()


@dataclass(frozen=True)
class Descriptor:
    """A memory descriptor.

    >>> Descriptor.plain((2, 3)).strides
    (3, 1)
    >>> Descriptor.tagged((1, 20, 5, 5), "f32", "nChw16c").padded_dims
    (1, 32, 5, 5)
    """

    dims: tuple[int, ...] = ()
    data_type: DataType = DataType.data_type_undef
    kind: FormatKind = FormatKind.undef
    padded_dims: tuple[int, ...] = ()
    padded_offsets: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    inner_blocks: tuple[tuple[int, int], ...] = ()
    """Size and dimension of each block inside, from the outermost to the innermost."""
    offset: int = 0
    """Where the tensor begins, in elements."""
    sparse: Sparse | None = None

    # --- Making -----------------------------------------------------------------------------------

    @classmethod
    def tagged(
        cls, dims: Sequence[int], data_type: DataType | str | int, tag: int | str
    ) -> Descriptor:
        """A tensor in a layout that has a name, such as "nchw", or "any"."""
        value = layout.tag_value(tag) if isinstance(tag, str) else tag
        if value is None or (value and not layout.tag_name(value)):
            invalid(f"there is no format tag {tag!r}")
        if len(dims) == 0 or value == layout.UNDEF:
            return ZERO
        kind = FormatKind.any if value == layout.ANY else FormatKind.blocked
        made = cls._checked(dims, data_type, kind)
        if value == layout.ANY:
            return made
        return made.in_layout(layout.layout_of(value))

    @classmethod
    def plain(
        cls,
        dims: Sequence[int],
        data_type: DataType | str | int = DataType.f32,
        strides: Sequence[int] | None = None,
    ) -> Descriptor:
        """A tensor with the given strides, in elements; without them it is dense in C order."""
        if len(dims) == 0:
            return ZERO
        made = cls._checked(dims, data_type, FormatKind.blocked)
        chosen = dense_strides(made.dims) if strides is None else tuple(strides)
        require(len(chosen) == made.ndims, "there must be as many strides as dimensions")
        made = replace(made, strides=chosen)
        reshaping.check_strides(made)
        return made

    @classmethod
    def encoded(
        cls, dims: Sequence[int], data_type: DataType | str | int, sparse: Sparse
    ) -> Descriptor:
        """A sparse tensor."""
        if len(dims) == 0:
            return ZERO
        packed = sparse.encoding == SparseEncoding.packed
        support(packed or len(dims) <= 2, "sparse tensors have at most 2 dimensions")
        require(sparse.nonzeros >= 0, "the number of non-zeros is negative")
        return replace(cls._checked(dims, data_type, FormatKind.sparse), sparse=sparse)

    @classmethod
    def host_scalar(cls, data_type: DataType | str | int) -> Descriptor:
        """One value that the host passes when a primitive is executed."""
        return cls._checked((1,), data_type, FormatKind.host_scalar)

    @classmethod
    def _checked(
        cls, dims: Sequence[int], data_type: DataType | str | int, kind: FormatKind
    ) -> Descriptor:
        require(0 < len(dims) <= MAX_NDIMS, f"a tensor has 1 to {MAX_NDIMS} dimensions")
        element = type_of(data_type)
        require(element in _TENSOR_TYPES, f"a tensor cannot have elements of type {element.name}")
        known = [size for size in dims if size != RUNTIME_DIM]
        require(all(size >= 0 for size in known), f"a dimension of {tuple(dims)} is negative")
        volume = math.prod(size for size in known if size > 0)
        require(volume <= LARGEST, f"a tensor of {tuple(dims)} elements is too large")
        runtime = len(known) != len(dims)
        require(not (runtime and kind == FormatKind.any), "`any` needs to know every dimension")
        shape = tuple(dims)
        return cls(shape, element, kind, shape, (0,) * len(shape))

    def in_layout(self, chosen: layout.Layout) -> Descriptor:
        """The same tensor in another layout."""
        require(
            len(chosen.order) == self.ndims,
            f"the format tag is for {len(chosen.order)} dimensions, the tensor has {self.ndims}",
        )
        runtime = RUNTIME_DIM in self.dims
        support(not (runtime and chosen.blocks), "blocks need dimensions that are known")
        blocks = block_sizes(self.ndims, chosen.blocks)
        padded = tuple(
            size if size == RUNTIME_DIM else -(-size // block) * block
            for size, block in zip(self.dims, blocks, strict=True)
        )
        strides = [0] * self.ndims
        step = math.prod(size for size, _ in chosen.blocks)
        for dim in reversed(chosen.order):
            strides[dim] = step if padded[dim] else 1
            if RUNTIME_DIM in (step, padded[dim]):
                step = RUNTIME_DIM
            else:
                step *= max(1, padded[dim] // blocks[dim])
        made = replace(
            self,
            kind=FormatKind.blocked,
            padded_dims=padded,
            strides=tuple(strides),
            inner_blocks=chosen.blocks,
            offset=0,
        )
        reshaping.check_strides(made)
        return made

    def dense(self) -> Descriptor:
        """The same tensor, densely in C order."""
        return Descriptor.plain(self.dims, self.data_type)

    def like(self, other: Descriptor) -> Descriptor:
        """The same tensor with its elements in the order of another of the same shape."""
        if other.kind != FormatKind.blocked:
            return self.dense()
        rank = sorted(range(self.ndims), key=lambda dim: (-other.strides[dim], dim))
        return self.in_layout(layout.Layout(tuple(rank), other.inner_blocks))

    def with_type(self, data_type: DataType) -> Descriptor:
        """The same tensor with other elements."""
        return replace(self, data_type=data_type)

    # --- Asking -----------------------------------------------------------------------------------

    @property
    def ndims(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @property
    def is_zero(self) -> bool:
        """True for the descriptor of nothing."""
        return self.ndims == 0

    @property
    def is_any(self) -> bool:
        """True if the layout is left to the primitive."""
        return self.kind == FormatKind.any

    @property
    def is_blocked(self) -> bool:
        """True if the layout is known; a plain one has no blocks, but is of this kind too."""
        return self.kind == FormatKind.blocked

    @property
    def is_plain(self) -> bool:
        """True if elements lie at strides, without blocks."""
        return self.is_blocked and not self.inner_blocks

    @property
    def has_runtime(self) -> bool:
        """True if a dimension or a stride is known only at execution."""
        return RUNTIME_DIM in self.dims or RUNTIME_DIM in self.strides

    def fits(self, declared: Descriptor) -> bool:
        """True if this tensor is one of those that a descriptor with open sizes stands for."""
        mine, theirs = (
            (each.ndims, each.data_type, each.inner_blocks) for each in (self, declared)
        )
        if mine != theirs:
            return False
        sizes = zip(self.dims, declared.dims, self.strides, declared.strides, strict=True)
        return all(
            wanted in (size, RUNTIME_DIM) and (size < 2 or step in (stride, RUNTIME_DIM))
            for size, wanted, stride, step in sizes
        )

    @cached_property
    def elements(self) -> int:
        """How many elements there are, without padding."""
        return math.prod(self.dims) if self.dims else 0

    @property
    def is_padded(self) -> bool:
        """True if blocks reach beyond the tensor; there must be zeros there."""
        return self.padded_dims != self.dims

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        """The size of all blocks of each dimension together."""
        return block_sizes(self.ndims, self.inner_blocks)

    @property
    def is_dense(self) -> bool:
        """True if there are no holes, counting the padding of blocks as elements."""
        return self.is_blocked and self._span == math.prod(self.padded_dims)

    @cached_property
    def _span(self) -> int:
        """The elements from the first to behind the last, as far as strides say."""
        if 0 in self.dims:
            return 0
        inner = math.prod(size for size, _ in self.inner_blocks)
        ends = (
            padded // block * stride
            for padded, block, stride in zip(
                self.padded_dims, self.blocks, self.strides, strict=True
            )
        )
        return max(inner, *ends)

    def size_bytes(self, index: int = 0) -> int:
        """The bytes of a buffer of the tensor, from where it begins."""
        if self.is_zero or 0 in self.dims or self.is_any:
            return 0
        if self.sparse is not None:
            return self._sparse_size(index)
        if index > 0:
            return 0
        if self.has_runtime:
            return 1 << 63
        if self.kind == FormatKind.host_scalar:
            return SIZES[self.data_type]
        if self.data_type in HALF_BYTE:
            return -(-self._span // 2)
        return self._span * SIZES[self.data_type]

    def _sparse_size(self, index: int) -> int:
        assert self.sparse is not None
        count, types = self.sparse.nonzeros, self.sparse.metadata_types
        if index == 0:
            return count * SIZES[self.data_type]
        if self.sparse.encoding == SparseEncoding.csr and index == 2:
            return (self.dims[0] + 1) * SIZES[types[1]]
        if types and index < self.handles:
            return count * SIZES[types[0]]
        return 0

    @property
    def handles(self) -> int:
        """How many buffers the tensor needs."""
        if self.sparse is None:
            return 1
        return 3 if self.sparse.encoding == SparseEncoding.packed else self.ndims + 1

    def same_as(self, other: Descriptor) -> bool:
        """True if every element lies at the same place, whatever the strides of ones are."""
        if replace(self, strides=()) != replace(other, strides=()):
            return False
        return all(
            one == two
            for size, one, two in zip(self.padded_dims, self.strides, other.strides, strict=False)
            if size != 1
        )

    # --- Other views of the same elements ---------------------------------------------------------

    def part(self, dims: Sequence[int], offsets: Sequence[int]) -> Descriptor:
        """The descriptor of a part of the tensor."""
        return reshaping.part(self, tuple(dims), tuple(offsets))

    def reshaped(self, dims: Sequence[int]) -> Descriptor:
        """The same elements as a tensor of another shape."""
        require(len(dims) <= MAX_NDIMS, f"a tensor has at most {MAX_NDIMS} dimensions")
        return reshaping.reshape(self, tuple(dims))

    def permuted(self, permutation: Sequence[int]) -> Descriptor:
        """The same elements with dimension `d` moved to place `permutation[d]`."""
        return reshaping.permute(self, tuple(permutation))


ZERO = Descriptor()
"""The descriptor of nothing: no dimensions."""


def type_of(data_type: DataType | str | int) -> DataType:
    """A data type by its name or number."""
    try:
        return DataType[data_type] if isinstance(data_type, str) else DataType(data_type)
    except (KeyError, ValueError):
        invalid(f"there is no data type {data_type!r}")


def dense_strides(dims: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor that is dense in C order."""
    strides = [1] * len(dims)
    for dim in range(len(dims) - 2, -1, -1):
        known = RUNTIME_DIM not in (strides[dim + 1], dims[dim + 1])
        strides[dim] = strides[dim + 1] * dims[dim + 1] if known else RUNTIME_DIM
    return tuple(strides)


def block_sizes(ndims: int, blocks: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The size of all blocks of each dimension together."""
    sizes = [1] * ndims
    for size, dim in blocks:
        sizes[dim] *= size
    return tuple(sizes)


def data_type_size(data_type: int) -> int:
    """The bytes of an element; 0 for no type."""
    if data_type == DataType.data_type_undef:
        return 0
    try:
        return SIZES[DataType(data_type)]
    except (KeyError, ValueError):
        unimplemented(f"there is no data type {data_type}")
