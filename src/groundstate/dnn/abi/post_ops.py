"""Post-operations behind their handles."""

from __future__ import annotations

from typing import TypeVar

from groundstate.dnn.abi.api import (
    get,
    get_optional,
    give,
    handler,
    lend,
    need,
    take_back,
    write_float,
    write_int,
    write_long,
    write_pointer,
)
from groundstate.dnn.descriptor import ZERO, Descriptor
from groundstate.dnn.errors import invalid
from groundstate.dnn.post_ops import Binary, Depthwise, Eltwise, PostOps, Prelu, Sum
from groundstate.dnn.types import PrimitiveKind

Kind = TypeVar("Kind", Sum, Eltwise, Binary, Prelu, Depthwise)


@handler
def dnnl_post_ops_create(post_ops: int) -> None:
    need(post_ops)
    write_pointer(post_ops, give(PostOps()))


@handler
def dnnl_post_ops_clone(post_ops: int, existing_post_ops: int) -> None:
    need(post_ops)
    write_pointer(post_ops, give(PostOps(list(get(existing_post_ops, PostOps).steps))))


@handler
def dnnl_post_ops_destroy(post_ops: int) -> None:
    take_back(post_ops, PostOps)


@handler
def dnnl_post_ops_len(post_ops: int) -> int:
    return len(get_optional(post_ops, PostOps) or ())


@handler
def dnnl_post_ops_get_kind(post_ops: int, index: int) -> int:
    steps = get(post_ops, PostOps).steps
    inside = 0 <= index < len(steps)
    return steps[index].kind if inside else PrimitiveKind.undefined_primitive


def _step(post_ops: int, index: int, kind: type[Kind]) -> Kind:
    steps = get(post_ops, PostOps).steps
    if not 0 <= index < len(steps):
        invalid(f"there are {len(steps)} post-operations, no number {index}")
    step = steps[index]
    if not isinstance(step, kind):
        invalid(f"post-operation {index} is of kind {step.kind.name}")
    return step


@handler
def dnnl_post_ops_append_sum(post_ops: int, scale: float, zero_point: int, data_type: int) -> None:
    get(post_ops, PostOps).append_sum(scale, zero_point, data_type)


@handler
def dnnl_post_ops_get_params_sum(
    post_ops: int, index: int, scale: int, zero_point: int, data_type: int
) -> None:
    step = _step(post_ops, index, Sum)
    if scale:
        write_float(scale, step.scale)
    if zero_point:
        write_int(zero_point, step.zero_point)
    if data_type:
        write_int(data_type, step.data_type)


@handler
def dnnl_post_ops_append_eltwise(post_ops: int, alg_kind: int, alpha: float, beta: float) -> None:
    get(post_ops, PostOps).append_eltwise(alg_kind, alpha, beta)


@handler
def dnnl_post_ops_get_params_eltwise(
    post_ops: int, index: int, alg_kind: int, alpha: int, beta: int
) -> None:
    step = _step(post_ops, index, Eltwise)
    need(alg_kind, alpha, beta)
    write_int(alg_kind, step.algorithm)
    write_float(alpha, step.alpha)
    write_float(beta, step.beta)


@handler
def dnnl_post_ops_append_dw(
    post_ops: int,
    weights_data_type: int,
    bias_data_type: int,
    dst_data_type: int,
    kernel_size: int,
    stride_size: int,
    padding_l_size: int,
) -> None:
    types = (weights_data_type, bias_data_type, dst_data_type)
    sizes = (kernel_size, stride_size, padding_l_size)
    get(post_ops, PostOps).append_depthwise(*types, *sizes)


@handler
def dnnl_post_ops_get_params_dw(
    post_ops: int,
    index: int,
    weights_data_type: int,
    bias_data_type: int,
    dst_data_type: int,
    kernel_size: int,
    stride_size: int,
    padding_l_size: int,
) -> None:
    step = _step(post_ops, index, Depthwise)
    for address, number in (
        (weights_data_type, step.weights_type),
        (bias_data_type, step.bias_type),
        (dst_data_type, step.dst_type),
    ):
        if address:
            write_int(address, number)
    for address, size in (
        (kernel_size, step.kernel),
        (stride_size, step.stride),
        (padding_l_size, step.padding),
    ):
        if address:
            write_long(address, size)


@handler
def dnnl_post_ops_append_binary(post_ops: int, alg_kind: int, src1_desc: int) -> None:
    get(post_ops, PostOps).append_binary(alg_kind, get(src1_desc, Descriptor))


@handler
def dnnl_post_ops_append_binary_v2(
    post_ops: int, alg_kind: int, src1_desc: int, src2_desc: int
) -> None:
    condition = get_optional(src2_desc, Descriptor)
    get(post_ops, PostOps).append_binary(alg_kind, get(src1_desc, Descriptor), condition)


@handler
def dnnl_post_ops_get_params_binary(
    post_ops: int, index: int, alg_kind: int, src1_desc: int
) -> None:
    step = _step(post_ops, index, Binary)
    if alg_kind:
        write_int(alg_kind, step.algorithm)
    if src1_desc:
        write_pointer(src1_desc, lend(post_ops, (index, step.source), step.source))


@handler
def dnnl_post_ops_get_params_binary_v2(
    post_ops: int, index: int, alg_kind: int, src1_desc: int, src2_desc: int
) -> None:
    dnnl_post_ops_get_params_binary(post_ops, index, alg_kind, src1_desc)
    step = _step(post_ops, index, Binary)
    if src2_desc:
        condition = step.condition or ZERO
        write_pointer(src2_desc, lend(post_ops, (index, "condition", condition), condition))


@handler
def dnnl_post_ops_append_prelu(post_ops: int, mask: int) -> None:
    get(post_ops, PostOps).append_prelu(mask)


@handler
def dnnl_post_ops_get_params_prelu(post_ops: int, index: int, mask: int) -> None:
    step = _step(post_ops, index, Prelu)
    if mask:
        write_int(mask, step.mask)
