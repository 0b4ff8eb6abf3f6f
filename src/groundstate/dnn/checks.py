"""Checks and choices that many families share: what must be there, which layout an `any` gets."""

from __future__ import annotations

from collections.abc import Sequence

from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.errors import invalid, require, support
from groundstate.dnn.kernels.indexing import INT_LIMIT
from groundstate.dnn.types import DataType, PropKind

FLOATS = frozenset({DataType.f32, DataType.f16, DataType.bf16})
BYTES = frozenset({DataType.s8, DataType.u8})
WHOLE = BYTES | {DataType.s32}

Sizes = Sequence[int] | None
"""An array of the API: a number for each spatial axis, and perhaps more."""


def forward_kind(value: int) -> PropKind:
    """The kind of a forward propagation; invalid if it is another one."""
    if value not in (PropKind.forward_training, PropKind.forward_inference):
        invalid("a forward operation is for training or for inference")
    return PropKind(value)


def needed(descriptor: Descriptor | None, what: str) -> Descriptor:
    """A descriptor that must have been passed."""
    if descriptor is None:
        invalid(f"the descriptor of {what} is needed")
    return descriptor


def endpoints(src: Descriptor | None, dst: Descriptor | None) -> tuple[Descriptor, Descriptor]:
    """Source and destination, which must have been passed; the layout of the first is known."""
    source, target = needed(src, "the source"), needed(dst, "the destination")
    known_layout(source, "the source")
    return source, target


def derivatives(
    diff_src: Descriptor | None, diff_dst: Descriptor | None
) -> tuple[Descriptor, Descriptor]:
    """The derivatives of source and destination, which must have been passed."""
    below = needed(diff_src, "the derivative of the source")
    return below, needed(diff_dst, "the derivative of the destination")


def for_axes(sizes: Sequence[int], axes: int) -> tuple[int, ...]:
    """A number for each spatial axis; invalid if there are fewer."""
    require(len(sizes) >= axes, f"strides, padding and so on need {axes} numbers, not {len(sizes)}")
    return tuple(sizes[:axes])


def known_layout(descriptor: Descriptor, what: str) -> None:
    """Invalid if the layout of a tensor was left open."""
    require(not descriptor.is_any, f"the layout of {what} must be known")


def same_shape(one: Descriptor, two: Descriptor, what: str) -> None:
    """Invalid unless two tensors have one shape."""
    require(one.dims == two.dims, f"{what} have one shape, not {one.dims} and {two.dims}")


def same_shapes(below: Descriptor, above: Descriptor, data: Descriptor) -> None:
    """Invalid unless both derivatives have the shape of the data that they are for."""
    same_shape(data, above, "the data and the derivative of the destination")
    same_shape(below, above, "both derivatives")


def settled(descriptor: Descriptor, model: Descriptor) -> Descriptor:
    """The descriptor; if its layout was left open, in that of another tensor."""
    return descriptor.like(model) if descriptor.is_any else descriptor


def usable(*descriptors: Descriptor) -> None:
    """Unimplemented for sizes that are known only later, sparse tensors, and very large ones."""
    for descriptor in descriptors:
        support(not descriptor.has_runtime, "all sizes must be known")
        support(descriptor.sparse is None, "sparse tensors are not supported here")
        # The kernels of these families count with int.
        small = max(descriptor.elements, descriptor.size_bytes()) <= INT_LIMIT
        support(small, "tensors of 2 GiB and more are not supported here")
