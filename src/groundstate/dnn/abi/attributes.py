"""Attributes behind their handles."""

from __future__ import annotations

import ctypes

from groundstate.dnn.abi.api import (
    dims_at,
    floats_at,
    get,
    get_optional,
    give,
    handler,
    keep,
    lend,
    need,
    take_back,
    write_float,
    write_int,
    write_long,
    write_pointer,
)
from groundstate.dnn.attributes import Attributes, Dropout
from groundstate.dnn.descriptor import ZERO, Descriptor, type_of
from groundstate.dnn.errors import invalid, require
from groundstate.dnn.post_ops import PostOps
from groundstate.dnn.types import DataType, FpmathMode, QuantizationMode, RoundingMode


@handler
def dnnl_primitive_attr_create(attr: int) -> None:
    need(attr)
    made = Attributes()
    made.set_fpmath(_default_fpmath[0])
    write_pointer(attr, give(made))


@handler
def dnnl_primitive_attr_clone(attr: int, existing_attr: int) -> None:
    need(attr)
    write_pointer(attr, give(get(existing_attr, Attributes).clone()))


@handler
def dnnl_primitive_attr_destroy(attr: int) -> None:
    take_back(attr, Attributes)


# --- Modes ----------------------------------------------------------------------------------------

_default_fpmath = [int(FpmathMode.strict)]


@handler
def dnnl_get_default_fpmath_mode(mode: int) -> None:
    need(mode)
    write_int(mode, _default_fpmath[0])


@handler
def dnnl_set_default_fpmath_mode(mode: int) -> None:
    Attributes().set_fpmath(mode)
    _default_fpmath[0] = mode


@handler
def dnnl_primitive_attr_get_fpmath_mode(attr: int, mode: int) -> None:
    need(mode)
    write_int(mode, get(attr, Attributes).fpmath)


@handler
def dnnl_primitive_attr_set_fpmath_mode(attr: int, mode: int) -> None:
    get(attr, Attributes).set_fpmath(mode)


@handler
def dnnl_primitive_attr_get_fpmath_mode_v2(attr: int, mode: int, apply_to_int: int) -> None:
    found = get(attr, Attributes)
    if mode:
        write_int(mode, found.fpmath)
    if apply_to_int:
        write_int(apply_to_int, found.apply_to_int)


@handler
def dnnl_primitive_attr_set_fpmath_mode_v2(attr: int, mode: int, apply_to_int: int) -> None:
    get(attr, Attributes).set_fpmath(mode, bool(apply_to_int))


@handler
def dnnl_primitive_attr_get_deterministic(attr: int, value: int) -> None:
    need(value)
    write_int(value, get(attr, Attributes).deterministic)


@handler
def dnnl_primitive_attr_set_deterministic(attr: int, value: int) -> None:
    get(attr, Attributes).deterministic = bool(value)


@handler
def dnnl_primitive_attr_get_accumulation_mode(attr: int, mode: int) -> None:
    need(mode)
    write_int(mode, get(attr, Attributes).accumulation)


@handler
def dnnl_primitive_attr_set_accumulation_mode(attr: int, mode: int) -> None:
    get(attr, Attributes).set_accumulation(mode)


@handler
def dnnl_primitive_attr_get_scratchpad_mode(attr: int, mode: int) -> None:
    need(mode)
    write_int(mode, get(attr, Attributes).scratchpad)


@handler
def dnnl_primitive_attr_set_scratchpad_mode(attr: int, mode: int) -> None:
    get(attr, Attributes).set_scratchpad(mode)


@handler
def dnnl_primitive_attr_get_rounding(attr: int, arg: int, mode: int) -> None:
    need(mode)
    write_int(mode, get(attr, Attributes).rounding.get(arg, RoundingMode.environment))


@handler
def dnnl_primitive_attr_set_rounding(attr: int, arg: int, mode: int) -> None:
    get(attr, Attributes).set_rounding(arg, mode)


# --- Scales and zero points -----------------------------------------------------------------------


def _groups(ndims: int, dims: int) -> list[int]:
    require(ndims in (0, 2), "there are groups in the last two dimensions or none")
    found = dims_at(dims)
    if ndims and found is None:
        invalid("the sizes of groups are missing")
    return found[:ndims] if found is not None else []


@handler
def dnnl_primitive_attr_set_scales_mask(attr: int, arg: int, mask: int) -> None:
    get(attr, Attributes).set_scales(arg, mask)


@handler
def dnnl_primitive_attr_set_scales(
    attr: int, arg: int, mask: int, group_ndims: int, group_dims: int, data_type: int
) -> None:
    get(attr, Attributes).set_scales(arg, mask, _groups(group_ndims, group_dims), data_type)


@handler
def dnnl_primitive_attr_set_scales_v2(
    attr: int, arg: int, mask: int, ndims: int, group_dims: int, data_type: int, is_on_host: int
) -> None:
    groups = _groups(ndims, group_dims)
    get(attr, Attributes).set_scales(arg, mask, groups, data_type, on_host=bool(is_on_host))


@handler
def dnnl_primitive_attr_set_scales_v3(
    attr: int,
    arg: int,
    mask: int,
    ndims: int,
    group_dims: int,
    data_type: int,
    is_on_host: int,
    qmode: int,
) -> None:
    groups = _groups(ndims, group_dims)
    known = qmode in set(QuantizationMode)
    require(known, f"there is no quantisation mode {qmode}")
    found = get(attr, Attributes)
    found.set_scales(arg, mask, groups, data_type, on_host=bool(is_on_host), mode=qmode)


@handler
def dnnl_primitive_attr_set_zero_points_mask(attr: int, arg: int, mask: int) -> None:
    get(attr, Attributes).set_zero_points(arg, mask)


@handler
def dnnl_primitive_attr_set_zero_points(
    attr: int, arg: int, mask: int, group_ndims: int, group_dims: int, data_type: int
) -> None:
    groups = _groups(group_ndims, group_dims)
    get(attr, Attributes).set_zero_points(arg, mask, groups, data_type)


@handler
def dnnl_primitive_attr_set_zero_points_v2(
    attr: int, arg: int, mask: int, ndims: int, group_dims: int, data_type: int, is_on_host: int
) -> None:
    groups = _groups(ndims, group_dims)
    get(attr, Attributes).set_zero_points(arg, mask, groups, data_type, on_host=bool(is_on_host))


@handler
def dnnl_primitive_attr_set_precomputed_reductions(
    attr: int, arg: int, mask: int, group_ndims: int, group_dims: int, data_type: int
) -> None:
    groups = _groups(group_ndims, group_dims)
    get(attr, Attributes).set_precomputed_reductions(arg, mask, groups, data_type)


# --- Post-operations, dropout, quantised recurrent layers -----------------------------------------


@handler
def dnnl_primitive_attr_get_post_ops(attr: int, post_ops: int) -> None:
    need(post_ops)
    found = get(attr, Attributes)
    write_pointer(post_ops, lend(attr, id(found.post_ops), found.post_ops))


@handler
def dnnl_primitive_attr_set_post_ops(attr: int, post_ops: int) -> None:
    found = get(attr, Attributes)
    found.post_ops = PostOps(list(get(post_ops, PostOps).steps))


@handler
def dnnl_primitive_attr_get_dropout(attr: int, mask_desc: int) -> None:
    need(mask_desc)
    dropout = get(attr, Attributes).dropout
    mask = ZERO if dropout is None else dropout.mask
    write_pointer(mask_desc, lend(attr, ("dropout", mask), mask))


@handler
def dnnl_primitive_attr_set_dropout(attr: int, mask_desc: int) -> None:
    dnnl_primitive_attr_set_dropout_v2(attr, mask_desc, DataType.s32, 0, 0)


@handler
def dnnl_primitive_attr_get_dropout_v2(
    attr: int, mask_desc: int, seed_dt: int, use_offset: int, use_host_scalars: int
) -> None:
    dnnl_primitive_attr_get_dropout(attr, mask_desc)
    dropout = get(attr, Attributes).dropout
    for address, value in (
        (seed_dt, DataType.s32 if dropout is None else dropout.seed_type),
        (use_offset, dropout is not None and dropout.use_offset),
        (use_host_scalars, dropout is not None and dropout.use_host_scalars),
    ):
        if address:
            write_int(address, value)


@handler
def dnnl_primitive_attr_set_dropout_v2(
    attr: int, mask_desc: int, seed_dt: int, use_offset: int, use_host_scalars: int
) -> None:
    found = get(attr, Attributes)
    mask = get_optional(mask_desc, Descriptor)
    seed = type_of(seed_dt)
    require(seed in (DataType.s32, DataType.s64), "the seed is an s32 or an s64")
    if mask is None:
        found.dropout = None
    else:
        found.dropout = Dropout(mask, seed, bool(use_offset), bool(use_host_scalars))


@handler
def dnnl_primitive_attr_set_rnn_data_qparams(attr: int, scale: float, shift: float) -> None:
    get(attr, Attributes).rnn_data = (scale, shift)


@handler
def dnnl_primitive_attr_get_rnn_data_qparams(attr: int, scale: int, shift: int) -> None:
    found = get(attr, Attributes)
    for address, value in zip((scale, shift), found.rnn_data, strict=True):
        if address:
            write_float(address, value)


def _scales(count: int, mask: int, scales: int) -> tuple[int, tuple[float, ...]]:
    found = floats_at(scales)
    if found is None or count <= 0 or mask < 0:
        invalid("there is at least one scale, and the mask is not negative")
    return mask, tuple(found[:count])


def _answer_scales(
    attr: int, values: tuple[int, tuple[float, ...]], count: int, mask: int, scales: int
) -> None:
    if count:
        write_long(count, len(values[1]))
    if mask:
        write_int(mask, values[0])
    if scales:
        kept = (ctypes.c_float * len(values[1]))(*values[1])
        write_pointer(scales, keep(attr, values, kept))


@handler
def dnnl_primitive_attr_set_rnn_weights_qparams(
    attr: int, count: int, mask: int, scales: int
) -> None:
    get(attr, Attributes).rnn_weights = _scales(count, mask, scales)


@handler
def dnnl_primitive_attr_get_rnn_weights_qparams(
    attr: int, count: int, mask: int, scales: int
) -> None:
    _answer_scales(attr, get(attr, Attributes).rnn_weights, count, mask, scales)


@handler
def dnnl_primitive_attr_set_rnn_weights_projection_qparams(
    attr: int, count: int, mask: int, scales: int
) -> None:
    get(attr, Attributes).rnn_projection = _scales(count, mask, scales)


@handler
def dnnl_primitive_attr_get_rnn_weights_projection_qparams(
    attr: int, count: int, mask: int, scales: int
) -> None:
    _answer_scales(attr, get(attr, Attributes).rnn_projection, count, mask, scales)
