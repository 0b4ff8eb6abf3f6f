"""Other descriptors of the same elements: a part, another shape, other axes; and stride checks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from groundstate.dnn.errors import invalid, require, support
from groundstate.dnn.types import DataType, FormatKind

if TYPE_CHECKING:
    from groundstate.dnn.descriptor import Descriptor

_RUNTIME = -(1 << 63)
_LARGEST = (1 << 63) - 1


def check_strides(made: Descriptor) -> None:
    """Refuses strides with which two elements would lie at one place, or too far away.

    A stride of 0 is a broadcast and allowed; that of a dimension of 1 does not matter.
    """
    if not made.is_blocked or 0 in made.padded_dims or made.has_runtime:
        return
    inner = math.prod(size for size, _ in made.inner_blocks)
    blocked = {dim for _, dim in made.inner_blocks}
    counts = [p // b for p, b in zip(made.padded_dims, made.blocks, strict=True)]

    def rank(dim: int) -> tuple[int, bool, int, int]:
        return (made.strides[dim], dim not in blocked, counts[dim], dim)

    least = inner
    for dim in sorted(range(made.ndims), key=rank):
        stride = made.strides[dim]
        if stride == 0 or made.padded_dims[dim] == 1:
            continue
        require(stride >= least, f"the stride {stride} of dimension {dim} makes elements overlap")
        require(stride * counts[dim] * inner <= _LARGEST, f"stride {stride} is too large")
        if made.data_type in (DataType.s4, DataType.u4, DataType.f4_e2m1):
            require(stride == 1 or stride % 2 == 0, "strides of four-bit types are even")
        least = stride * counts[dim]


def part(parent: Descriptor, dims: tuple[int, ...], offsets: tuple[int, ...]) -> Descriptor:
    """The part of a tensor that begins at `offsets`; it has to respect blocks."""
    support(not parent.has_runtime, "a part of a tensor needs dimensions that are known")
    ndims = parent.ndims
    require(len(dims) >= ndims and len(offsets) >= ndims, "a number for each dimension, please")
    support(_RUNTIME not in dims[:ndims] + offsets[:ndims], "a part needs numbers that are known")
    for size, offset, whole in zip(dims, offsets, parent.dims, strict=False):
        inside = size >= 0 and offset >= 0 and offset + size <= whole
        require(inside, f"{offset} to {offset + size} is not inside of a dimension of {whole}")
    support(parent.kind == FormatKind.blocked, "only a part of a known layout can be described")
    padded, begin = [], parent.offset
    for dim in range(ndims):
        size, offset, block = dims[dim], offsets[dim], parent.blocks[dim]
        at_end = offset + size == parent.dims[dim]
        whole_blocks = offset % block == 0 and (at_end or size % block == 0 or size < block)
        support(whole_blocks, f"the part cuts blocks of dimension {dim}")
        padded.append(parent.padded_dims[dim] - offset if at_end else size)
        begin += offset // block * parent.strides[dim]
    return replace(parent, dims=dims[:ndims], padded_dims=tuple(padded), offset=begin)


def permute(tensor: Descriptor, permutation: tuple[int, ...]) -> Descriptor:
    """Dimension `d` becomes dimension `permutation[d]`."""
    _need_layout(tensor)
    order = permutation[: tensor.ndims]
    require(sorted(order) == list(range(tensor.ndims)), f"{permutation} is not a permutation")
    source = [order.index(dim) for dim in range(tensor.ndims)]

    def moved(values: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(values[dim] for dim in source) if values else ()

    return replace(
        tensor,
        dims=moved(tensor.dims),
        padded_dims=moved(tensor.padded_dims),
        padded_offsets=moved(tensor.padded_offsets),
        strides=moved(tensor.strides),
        inner_blocks=tuple((size, order[dim]) for size, dim in tensor.inner_blocks),
    )


def _need_layout(tensor: Descriptor) -> None:
    known = tensor.kind in (FormatKind.any, FormatKind.blocked)
    require(known and not tensor.is_zero, "only tensors with dimensions have other views")
    require(not tensor.has_runtime, "dimensions that are not known cannot be rearranged")


def reshape(tensor: Descriptor, dims: tuple[int, ...]) -> Descriptor:
    """The same elements under another shape, where the layout allows it without a copy."""
    from groundstate.dnn.descriptor import Descriptor

    _need_layout(tensor)
    require(len(dims) > 0, "a tensor has at least one dimension")
    require(all(size >= 0 for size in dims), f"a dimension of {dims} is negative")
    before, after = (math.prod(max(1, size) for size in each) for each in (tensor.dims, dims))
    require(before == after, f"{tensor.dims} and {dims} do not have as many elements")
    if tensor.kind == FormatKind.any:
        return Descriptor.tagged(dims, tensor.data_type, "any")
    if tensor.dims == dims:
        return tensor
    ndims = len(dims)
    made = _Reshaped([1] * ndims, [0] * ndims, [0] * ndims, {})
    begin_in, begin_out = tensor.ndims, ndims
    while begin_in or begin_out:
        end_in, end_out = begin_in, begin_out
        begin_in, begin_out = _group(tensor, dims, end_in, end_out)
        _fill(made, tensor, dims, (begin_in, end_in), (begin_out, end_out))
    return replace(
        tensor,
        dims=dims,
        padded_dims=tuple(made.padded),
        padded_offsets=tuple(made.offsets),
        strides=tuple(made.strides),
        inner_blocks=tuple((size, made.moved[dim]) for size, dim in tensor.inner_blocks),
    )


class _Reshaped:
    """What is known so far of the new shape."""

    def __init__(
        self, padded: list[int], offsets: list[int], strides: list[int], moved: dict[int, int]
    ) -> None:
        self.padded, self.offsets, self.strides, self.moved = padded, offsets, strides, moved


def _group(tensor: Descriptor, dims: tuple[int, ...], end_in: int, end_out: int) -> tuple[int, int]:
    """Where the smallest groups of dimensions begin, before these ends, that hold as much."""
    if end_in and tensor.dims[end_in - 1] == 1:
        if tensor.padded_dims[end_in - 1] == 1:
            return end_in - 1, end_out
        require(end_out > 0 and dims[end_out - 1] == 1, "a padded dimension cannot be removed")
        return end_in - 1, end_out - 1
    if end_out and dims[end_out - 1] == 1:
        return end_in, end_out - 1
    if not end_in or not end_out:
        invalid(f"{tensor.dims} cannot be seen as {dims}")
    at_in, at_out = end_in - 1, end_out - 1
    volume_in, volume_out = tensor.dims[at_in], dims[at_out]
    while volume_in != volume_out:
        if volume_in < volume_out:
            require(at_in > 0, f"{tensor.dims} cannot be seen as {dims}")
            at_in -= 1
            volume_in *= tensor.dims[at_in]
        else:
            require(at_out > 0, f"{tensor.dims} cannot be seen as {dims}")
            at_out -= 1
            volume_out *= dims[at_out]
        require(volume_in != 0 and volume_out != 0, "a dimension of 0 is in the way")
    return at_in, at_out


def _fill(
    made: _Reshaped,
    tensor: Descriptor,
    dims: tuple[int, ...],
    group_in: tuple[int, int],
    group_out: tuple[int, int],
) -> None:
    """Describes the dimensions of one group."""
    (begin_in, end_in), (begin_out, end_out) = group_in, group_out
    if begin_out == end_out:
        return
    if begin_in == end_in:
        made.strides[begin_out] = _stride_of_one(tensor, begin_in)
    elif end_in - begin_in == 1 and end_out - begin_out == 1:
        made.padded[begin_out] = tensor.padded_dims[begin_in]
        made.offsets[begin_out] = tensor.padded_offsets[begin_in]
        made.strides[begin_out] = tensor.strides[begin_in]
        made.moved[begin_in] = begin_out
    else:
        _check_dense(tensor, begin_in, end_in)
        step = tensor.strides[end_in - 1]
        for dim in range(end_out - 1, begin_out - 1, -1):
            made.padded[dim], made.strides[dim] = dims[dim], step
            step *= dims[dim]


def _stride_of_one(tensor: Descriptor, before: int) -> int:
    """The stride of a dimension of 1 that is put in."""
    if before == tensor.ndims:
        return math.prod(size for size, _ in tensor.inner_blocks)
    return tensor.strides[before] * tensor.dims[before] // tensor.blocks[before]


def _check_dense(tensor: Descriptor, begin: int, end: int) -> None:
    for dim in range(end - 1, begin, -1):
        dense = tensor.dims[dim] * tensor.strides[dim] == tensor.strides[dim - 1]
        require(dense, "dimensions that are joined or cut must be dense and in order")
    plain = all(tensor.blocks[dim] == 1 for dim in range(begin, end))
    require(plain and tensor.padded_dims[begin] == tensor.dims[begin], "blocks are in the way")
