"""What products allow of attributes: which types go together, which scales and zero points."""

from __future__ import annotations

from collections.abc import Collection

from groundstate.dnn.attributes import Attributes, Quantization
from groundstate.dnn.checks import BYTES, FLOATS, WHOLE
from groundstate.dnn.descriptor import SIZES, Descriptor
from groundstate.dnn.errors import require, support
from groundstate.dnn.post_ops import Sum
from groundstate.dnn.types import DataType


def check_known(what: str, *tensors: Descriptor) -> None:
    """Most products need tensors whose sizes are known; and none that are sparse."""
    check_dense(what, *tensors)
    for tensor in tensors:
        support(not tensor.has_runtime, f"{what} needs sizes that are known")


def check_dense(what: str, *tensors: Descriptor) -> None:
    """Products need tensors that are not sparse."""
    for tensor in tensors:
        support(tensor.sparse is None, f"{what} is not for sparse tensors")


def check_sums(attributes: Attributes, target: Descriptor, is_whole: bool) -> None:
    """What was in the destination can be added if it is read as elements of the same size."""
    for step in attributes.post_ops:
        if not isinstance(step, Sum):
            continue
        kind = step.data_type or target.data_type
        same = SIZES.get(DataType(kind)) == SIZES.get(target.data_type)
        support(same, "the destination is added as elements of another size")
        shifted = step.zero_point != 0
        support(not shifted or (is_whole and kind in WHOLE), "only integers have zero points")


def check_mask(used: dict[int, Quantization], arg: int, masks: Collection[int], what: str) -> None:
    """Unimplemented unless the mask is one of those that are known."""
    if arg in used:
        support(used[arg].mask in masks, f"{what} with the mask {used[arg].mask} are not known")


def accumulates(left: DataType, right: DataType, target: DataType) -> bool:
    """True if there is a type that products of these types are summed up in."""
    if left in BYTES:
        return right in BYTES or not FLOATS.isdisjoint({right, target} - {DataType.f32})
    if left == right and left in (DataType.f32, DataType.f64):
        return True
    if left in FLOATS and right in BYTES:
        return True
    return not {DataType.f16, DataType.bf16}.isdisjoint({left, right, target})


def check_accumulates(left: Descriptor, right: Descriptor, target: Descriptor) -> None:
    """Invalid if there is no type to sum up in."""
    types = (left.data_type, right.data_type, target.data_type)
    names = ", ".join(each.name for each in types)
    require(accumulates(*types), f"nothing sums up products of these types: {names}")


def check_gradient(src: Descriptor, weights: Descriptor, dst: Descriptor, *, of_data: bool) -> None:
    """Invalid if nothing sums up a gradient of these types: of the data, or of the weights."""
    one, two, three = src.data_type, weights.data_type, dst.data_type
    known = one == two and one in (DataType.f32, DataType.f64)
    known |= not {DataType.f16, DataType.bf16}.isdisjoint({one, two, three})
    if of_data:
        known |= two == DataType.s8 and three in WHOLE and one in WHOLE | {DataType.f32}
        known |= two == three == DataType.f32 and one in BYTES
    names = ", ".join(each.name for each in (one, two, three))
    require(known, f"nothing sums up a gradient of these types: {names}")
