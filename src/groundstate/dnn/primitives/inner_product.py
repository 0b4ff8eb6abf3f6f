"""Inner product: every output is a weighted sum of a whole source; forward and its gradients."""

from __future__ import annotations

from groundstate.dnn import quantization
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid, require
from groundstate.dnn.kernels import convolution_plans, grid, inner_product, products
from groundstate.dnn.kernels.convolution import Tensor
from groundstate.dnn.kernels.inner_product import Layer
from groundstate.dnn.plan import Plan
from groundstate.dnn.post_ops import USUAL
from groundstate.dnn.primitive import PrimitiveDescriptor, creates
from groundstate.dnn.primitives.convolution import (
    CHANNELS_LAST,
    checked_bias,
    checked_forward_types,
    checked_gradient_types,
)
from groundstate.dnn.quantization import BYTES, check_gradient
from groundstate.dnn.types import Arg, DataType, PrimitiveKind, PropKind


class _InnerProduct(PrimitiveDescriptor):
    kind = PrimitiveKind.inner_product

    def _check(self, src: Descriptor, weights: Descriptor, dst: Descriptor) -> None:
        quantization.check_known("inner product", src, weights, dst)
        require(weights.elements > 0, "there are no weights")
        require(2 <= src.ndims <= 5, "the source has two to five dimensions")
        require(dst.ndims == 2, "the destination has two dimensions")
        require(weights.ndims == src.ndims, "weights have as many dimensions as the source")
        require(src.dims[0] == dst.dims[0], "source and destination have the same batch")
        require(src.dims[1:] == weights.dims[1:], "weights have the shape of a source")
        require(dst.dims[1] == weights.dims[0], "there are weights for each output")
        self.tile = products.tile_of(self.engine)

    def _settled(self, tensor: Descriptor) -> Descriptor:
        if not tensor.is_any:
            return tensor
        tag = CHANNELS_LAST.get(tensor.ndims, "ab")
        return Descriptor.tagged(tensor.dims, tensor.data_type, tag)

    def _settled_weights(self, weights: Descriptor, *, packed: bool) -> Descriptor:
        if not weights.is_any:
            return weights
        if not packed or weights.data_type != DataType.f32:
            return self._settled(weights)
        tag = inner_product.packed_tag(weights.ndims, self.tile.lanes)
        return Descriptor.tagged(weights.dims, weights.data_type, tag)

    def _layer(self, src: int, weights: int, dst: int) -> Layer:
        one, two, three = (Tensor(arg, self.arguments[arg]) for arg in (src, weights, dst))
        attributes = self.attributes if self.is_forward else None
        return Layer(one, two, three, self.tile, attributes, self.arguments.get(Arg.BIAS))

    def _is_empty(self) -> bool:
        return any(0 in tensor.dims for tensor in self.arguments.values())

    def _finished(self, plan: Plan) -> Plan:
        for arg in sorted(self.outputs):
            plan.launches += grid.zero_padding(arg, self.arguments[arg])
        return plan


@creates("dnnl_inner_product_forward_primitive_desc_create")
class InnerProductForward(_InnerProduct):
    """`dst = src . weights + bias`."""

    def __init__(
        self,
        engine: Engine | None,
        prop_kind: int,
        src_desc: Descriptor | None,
        weights_desc: Descriptor | None,
        bias_desc: Descriptor | None,
        dst_desc: Descriptor | None,
        attr: Attributes | None = None,
    ) -> None:
        if prop_kind not in (PropKind.forward_training, PropKind.forward_inference):
            invalid("a forward operation is for training or for inference")
        super().__init__(engine, attr, PropKind(prop_kind))
        if src_desc is None or weights_desc is None or dst_desc is None:
            invalid("source, weights and destination are needed")
        quantization.check_accumulates(src_desc, weights_desc, dst_desc)
        self._check(src_desc, weights_desc, dst_desc)
        bias = checked_bias(bias_desc, dst_desc.dims[1])
        checked_forward_types(src_desc, weights_desc, bias, dst_desc, "inner product")
        self._check_attributes(src_desc, dst_desc)
        dst = self._settled(dst_desc)
        self.settle_post_ops(dst)
        self.add_input(Arg.SRC, self._settled(src_desc))
        self.add_input(Arg.WEIGHTS, self._settled_weights(weights_desc, packed=True))
        self.add_input(Arg.BIAS, bias)
        self.add_output(Arg.DST, dst)

    def _check_attributes(self, src: Descriptor, dst: Descriptor) -> None:
        is_whole = src.data_type in BYTES
        args = (Arg.SRC, Arg.WEIGHTS, Arg.DST) if is_whole else ()
        self.attributes.allow(scales=args, post_ops=USUAL)
        quantization.check_sums(self.attributes, dst, is_whole)
        for arg, masks in ((Arg.SRC, {0}), (Arg.WEIGHTS, {0, 1}), (Arg.DST, {0})):
            quantization.check_mask(self.attributes.scales, arg, masks, "scales")

    def make_plan(self) -> Plan:
        """Copies of what lies badly, and the product."""
        if self._is_empty():
            return Plan()
        layer = self._layer(Arg.SRC, Arg.WEIGHTS, Arg.DST)
        return self._finished(inner_product.forward(layer))


@creates("dnnl_inner_product_backward_data_primitive_desc_create")
class InnerProductBackwardData(_InnerProduct):
    """`diff_src`, from `diff_dst` and the weights."""

    def __init__(
        self,
        engine: Engine | None,
        diff_src_desc: Descriptor | None,
        weights_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        hint_fwd_pd: PrimitiveDescriptor | None = None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, PropKind.backward_data)
        if diff_src_desc is None or weights_desc is None or diff_dst_desc is None:
            invalid("both derivatives and the weights are needed")
        self._check(diff_src_desc, weights_desc, diff_dst_desc)
        check_gradient(diff_src_desc, weights_desc, diff_dst_desc, of_data=True)
        checked_gradient_types(diff_dst_desc, weights_desc, diff_src_desc, "an inner product")
        self.attributes.allow()
        self.hint = hint_fwd_pd
        self.add_input(Arg.DIFF_DST, self._settled(diff_dst_desc))
        self.add_input(Arg.WEIGHTS, self._settled_weights(weights_desc, packed=False))
        self.add_output(Arg.DIFF_SRC, self._settled(diff_src_desc))

    def make_plan(self) -> Plan:
        """The weights in panels of features, and the product."""
        if self._is_empty():
            return Plan()
        layer = self._layer(Arg.DIFF_SRC, Arg.WEIGHTS, Arg.DIFF_DST)
        return self._finished(inner_product.backward_data(layer))


@creates("dnnl_inner_product_backward_weights_primitive_desc_create")
class InnerProductBackwardWeights(_InnerProduct):
    """`diff_weights` and `diff_bias`, from the source and `diff_dst`."""

    def __init__(
        self,
        engine: Engine | None,
        src_desc: Descriptor | None,
        diff_weights_desc: Descriptor | None,
        diff_bias_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        hint_fwd_pd: PrimitiveDescriptor | None = None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, PropKind.backward_weights)
        if src_desc is None or diff_weights_desc is None or diff_dst_desc is None:
            invalid("the source and both derivatives are needed")
        self._check(src_desc, diff_weights_desc, diff_dst_desc)
        bias = checked_bias(diff_bias_desc, diff_dst_desc.dims[1])
        check_gradient(src_desc, diff_weights_desc, diff_dst_desc, of_data=False)
        checked_gradient_types(src_desc, diff_dst_desc, diff_weights_desc, "an inner product")
        self.attributes.allow()
        self.hint = hint_fwd_pd
        self.add_input(Arg.SRC, self._settled(src_desc))
        self.add_input(Arg.DIFF_DST, self._settled(diff_dst_desc))
        self.add_output(Arg.DIFF_WEIGHTS, self._settled_weights(diff_weights_desc, packed=False))
        self.add_output(Arg.DIFF_BIAS, bias)

    def make_plan(self) -> Plan:
        """The source in panels of features, the product, and the sums for the bias."""
        if 0 in self.arguments[Arg.DIFF_WEIGHTS].dims:
            return Plan()
        layer = self._layer(Arg.SRC, Arg.DIFF_WEIGHTS, Arg.DIFF_DST)
        plan = inner_product.backward_weights(layer)
        if Arg.DIFF_BIAS in self.arguments:
            bias = self.arguments[Arg.DIFF_BIAS]
            plan.launches.append(convolution_plans.bias_gradient(Arg.DIFF_BIAS, bias, layer.dst))
        return self._finished(plan)
