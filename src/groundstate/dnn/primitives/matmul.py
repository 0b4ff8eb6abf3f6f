"""Matmul: products of matrices, one by one or in batches, with bias and attributes."""

from __future__ import annotations

from collections.abc import Mapping

from groundstate.dnn import quantization
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.checks import BYTES, FLOATS, WHOLE
from groundstate.dnn.descriptor import RUNTIME_DIM, Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid, require, support
from groundstate.dnn.kernels import grid, matmul, products
from groundstate.dnn.plan import Plan
from groundstate.dnn.post_ops import USUAL
from groundstate.dnn.primitive import PrimitiveDescriptor, creates
from groundstate.dnn.types import Arg, DataType, PrimitiveKind

_BIASES = {
    DataType.f32: {DataType.f32},
    DataType.f16: {DataType.f32, DataType.f16},
    DataType.bf16: {DataType.f32, DataType.bf16},
    DataType.f64: {DataType.f64},
}
"""Of which type a bias may be, by the type of the weights; integers take any."""


@creates("dnnl_matmul_primitive_desc_create")
class Matmul(PrimitiveDescriptor):
    """`dst = src @ weights + bias`, for each matrix of a batch."""

    kind = PrimitiveKind.matmul

    def __init__(
        self,
        engine: Engine | None,
        src_desc: Descriptor | None,
        weights_desc: Descriptor | None,
        bias_desc: Descriptor | None,
        dst_desc: Descriptor | None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr)
        if src_desc is None or weights_desc is None or dst_desc is None:
            invalid("source, weights and destination are needed")
        bias = bias_desc if bias_desc is not None and not bias_desc.is_zero else None
        _check_shapes(src_desc, weights_desc, bias, dst_desc)
        quantization.check_accumulates(src_desc, weights_desc, dst_desc)
        quantization.check_dense("matmul", src_desc, weights_desc, dst_desc)
        self._check_types(src_desc, weights_desc, bias, dst_desc)
        self._check_attributes(src_desc, dst_desc)
        self.tile = products.tile_of(self.engine)
        dst = dst_desc.dense() if dst_desc.is_any else dst_desc
        self.settle_post_ops(dst)
        self.add_input(Arg.SRC, src_desc.dense() if src_desc.is_any else src_desc)
        self.add_input(Arg.WEIGHTS, self._settled_weights(src_desc, weights_desc, dst))
        self.add_input(Arg.BIAS, bias.dense() if bias is not None and bias.is_any else bias)
        self.add_output(Arg.DST, dst)

    def _settled_weights(self, src: Descriptor, weights: Descriptor, dst: Descriptor) -> Descriptor:
        if not weights.is_any:
            return weights
        word = matmul.Matmul(src, weights, None, dst, self.attributes, self.tile).word
        in_words = matmul.packed_tag(weights.ndims, self.tile.lanes, in_words=True)
        if word and in_words and word.packs(weights) and not weights.has_runtime:
            return word.packed(weights, in_words)
        tag = matmul.packed_tag(weights.ndims, self.tile.lanes)
        if not tag or weights.data_type != DataType.f32 or 0 in weights.dims:
            return weights.dense()
        return Descriptor.tagged(weights.dims, weights.data_type, tag)

    def _check_types(
        self, src: Descriptor, weights: Descriptor, bias: Descriptor | None, dst: Descriptor
    ) -> None:
        one, two, three = src.data_type, weights.data_type, dst.data_type
        if one in BYTES:
            known = two in BYTES and three in FLOATS | WHOLE
        elif one == DataType.f64:
            known = two == three == DataType.f64
        else:
            known = one in FLOATS and (two == one or two in {DataType.f16, DataType.bf16})
            known |= one in FLOATS and two in BYTES and self.attributes.apply_to_int
            known &= three in FLOATS | BYTES
            known &= one != DataType.f16 or three != DataType.bf16
        support(known, f"matmul of {one.name} and {two.name} to {three.name}")
        if bias is not None:
            allowed = FLOATS | WHOLE if one in BYTES else _BIASES.get(two, FLOATS)
            support(bias.data_type in allowed, f"a bias of type {bias.data_type.name}")

    def _check_attributes(self, src: Descriptor, dst: Descriptor) -> None:
        is_whole = src.data_type in BYTES
        args = (Arg.SRC, Arg.WEIGHTS, Arg.DST)
        shifted = args if is_whole else (Arg.WEIGHTS,)
        self.attributes.allow(scales=args, zero_points=shifted, post_ops=USUAL)
        quantization.check_sums(self.attributes, dst, is_whole)
        every = (1 << dst.ndims) - 1
        last, before = 1 << (dst.ndims - 1), 1 << (dst.ndims - 2)
        masks = {0, last, before, last | before, every}
        for arg in (Arg.SRC, Arg.DST):
            quantization.check_mask(self.attributes.scales, arg, masks, "scales")
        zero_points = self.attributes.zero_points
        masks = {0, last, last | before, every}
        quantization.check_mask(zero_points, Arg.SRC, masks, "zero points")
        masks = {0, 2} if dst.ndims == 2 else {0}
        quantization.check_mask(zero_points, Arg.DST, masks, "zero points")

    def with_sizes(self, tensors: Mapping[int, Descriptor]) -> Matmul:
        """The product of tensors whose sizes were open."""
        one, two, bias, dst = map(tensors.get, (Arg.SRC, Arg.WEIGHTS, Arg.BIAS, Arg.DST))
        return Matmul(self.engine, one, two, bias, dst, self.attributes_with_sizes)

    def make_plan(self) -> Plan:
        """Copies of what lies badly, and the product."""
        dst = self.arguments[Arg.DST]
        if any(0 in tensor.dims for tensor in self.arguments.values()):
            return Plan()
        work = matmul.Matmul(
            self.arguments[Arg.SRC],
            self.arguments[Arg.WEIGHTS],
            self.arguments.get(Arg.BIAS),
            dst,
            self.attributes,
            self.tile,
        )
        plan = work.plan()
        plan.launches += grid.zero_padding(Arg.DST, dst)
        return plan


def _check_shapes(
    src: Descriptor, weights: Descriptor, bias: Descriptor | None, dst: Descriptor
) -> None:
    ndims = dst.ndims
    require(ndims >= 2, "the destination has at least two dimensions")
    require(src.ndims == weights.ndims == ndims, "all tensors have as many dimensions")
    require(src.dims[-2] == dst.dims[-2], "source and destination have as many rows")
    require(weights.dims[-1] == dst.dims[-1], "weights and destination have as many columns")
    require(
        src.dims[-1] == weights.dims[-2], "a row of the source is as long as a column of weights"
    )
    for dim in range(ndims - 2):
        one, two, three = src.dims[dim], weights.dims[dim], dst.dims[dim]
        if RUNTIME_DIM in (one, two, three):
            require(one == two == three, f"dimension {dim} of the batch is open for all or none")
        require(
            (one == two or 1 in (one, two)) and three == (two if one == 1 else one),
            f"dimension {dim} of the batch cannot be broadcast: {one} and {two} to {three}",
        )
    if bias is not None:
        fits = bias.ndims == ndims and all(
            size in (1, whole) for size, whole in zip(bias.dims, dst.dims, strict=True)
        )
        require(fits, f"a bias of {bias.dims} cannot be broadcast to {dst.dims}")
