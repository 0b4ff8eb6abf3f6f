"""Deconvolution: the convolution whose source and destination are exchanged.

Its destination is the image that the kernel slides over, its source the result. So forward is the
gradient of a convolution's image, the gradient of the source is a convolution, and that of the
weights is one of a convolution's weights. Weights have their first two axes the other way around.
"""

from __future__ import annotations

from collections.abc import Sequence

from groundstate.dnn import quantization
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid, support
from groundstate.dnn.kernels import convolution_plans
from groundstate.dnn.kernels.convolution import Tensor
from groundstate.dnn.kernels.convolution_plans import Layer
from groundstate.dnn.plan import Plan
from groundstate.dnn.primitive import PrimitiveDescriptor, creates
from groundstate.dnn.primitives.convolution import (
    Sliding,
    checked_bias,
    checked_forward_types,
    checked_gradient_types,
)
from groundstate.dnn.quantization import FLOATS, check_gradient
from groundstate.dnn.types import Algorithm, Arg, PrimitiveKind, PropKind

Sizes = tuple[Sequence[int], Sequence[int] | None, Sequence[int], Sequence[int] | None]


class _Deconvolution(Sliding):
    kind = PrimitiveKind.deconvolution
    algorithms = frozenset({Algorithm.deconvolution_direct, Algorithm.deconvolution_winograd})

    def _check(
        self, algorithm: int, src: Descriptor, weights: Descriptor, dst: Descriptor, sizes: Sizes
    ) -> None:
        quantization.check_known("deconvolution", src, weights, dst)
        self._set_geometry(algorithm, dst, weights, src, sizes)
        groups = weights.dims[0] if self.with_groups else 1
        outputs, inputs = weights.dims[self.with_groups :][:2]
        self._check_counts(dst, src, (groups, inputs, outputs))

    def _turned(self, weights: Descriptor) -> Descriptor:
        """The weights as those of the convolution."""
        first = int(self.with_groups)
        order = list(range(weights.ndims))
        order[first], order[first + 1] = order[first + 1], order[first]
        return weights.permuted(order)

    def _layer(self, src: int, weights: int, dst: int) -> Layer:
        image, result = self.tensor(dst), self.tensor(src)
        turned = Tensor(weights, self._turned(self.arguments[weights]))
        shape = self.shape(image.descriptor, turned.descriptor, result.descriptor)
        attributes = self.attributes if self.is_forward else None
        bias = self.arguments.get(Arg.BIAS)
        return Layer(shape, image, turned, result, self.tile, self.with_groups, attributes, bias)


def _sizes(
    strides: Sequence[int] | None,
    dilates: Sequence[int] | None,
    before: Sequence[int] | None,
    after: Sequence[int] | None,
) -> Sizes:
    if strides is None or before is None:
        invalid("strides and padding are needed")
    return strides, dilates, before, after


@creates("dnnl_deconvolution_forward_primitive_desc_create")
class DeconvolutionForward(_Deconvolution):
    """`dst` such that a convolution of it has the gradient `src`, plus a bias."""

    def __init__(
        self,
        engine: Engine | None,
        prop_kind: int,
        alg_kind: int,
        src_desc: Descriptor | None,
        weights_desc: Descriptor | None,
        bias_desc: Descriptor | None,
        dst_desc: Descriptor | None,
        strides: Sequence[int] | None,
        dilates: Sequence[int] | None,
        padding_l: Sequence[int] | None,
        padding_r: Sequence[int] | None = None,
        attr: Attributes | None = None,
    ) -> None:
        if prop_kind not in (PropKind.forward_training, PropKind.forward_inference):
            invalid("a forward operation is for training or for inference")
        super().__init__(engine, attr, PropKind(prop_kind))
        if src_desc is None or weights_desc is None or dst_desc is None:
            invalid("source, weights and destination are needed")
        sizes = _sizes(strides, dilates, padding_l, padding_r)
        quantization.check_accumulates(src_desc, weights_desc, dst_desc)
        self._check(alg_kind, src_desc, weights_desc, dst_desc, sizes)
        bias = checked_bias(bias_desc, dst_desc.dims[1])
        checked_forward_types(src_desc, weights_desc, None, dst_desc, "deconvolution")
        floating = bias is None or bias.data_type in FLOATS
        support(floating, "the bias of a deconvolution is of a floating-point type")
        self.allow_forward_attributes(src_desc, weights_desc, dst_desc)
        support(Arg.WEIGHTS not in self.attributes.zero_points, "zero points of weights")
        quantization.check_mask(self.attributes.scales, Arg.DST, {0}, "scales")
        dst = self.settled(dst_desc)
        self.settle_post_ops(dst)
        self.add_input(Arg.SRC, self.settled(src_desc))
        self.add_input(Arg.WEIGHTS, self.settled_weights(weights_desc, packed=False))
        self.add_input(Arg.BIAS, bias)
        self.add_output(Arg.DST, dst)

    def make_plan(self) -> Plan:
        """The spread source, the turned weights, and the product."""
        if self.is_empty():
            return Plan()
        layer = self._layer(Arg.SRC, Arg.WEIGHTS, Arg.DST)
        return self.finished(convolution_plans.backward_data(layer))


@creates("dnnl_deconvolution_backward_data_primitive_desc_create")
class DeconvolutionBackwardData(_Deconvolution):
    """`diff_src`, from `diff_dst` and the weights."""

    def __init__(
        self,
        engine: Engine | None,
        alg_kind: int,
        diff_src_desc: Descriptor | None,
        weights_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        strides: Sequence[int] | None,
        dilates: Sequence[int] | None,
        padding_l: Sequence[int] | None,
        padding_r: Sequence[int] | None = None,
        hint_fwd_pd: PrimitiveDescriptor | None = None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, PropKind.backward_data)
        if diff_src_desc is None or weights_desc is None or diff_dst_desc is None:
            invalid("both derivatives and the weights are needed")
        sizes = _sizes(strides, dilates, padding_l, padding_r)
        self._check(alg_kind, diff_src_desc, weights_desc, diff_dst_desc, sizes)
        check_gradient(diff_src_desc, weights_desc, diff_dst_desc, of_data=True)
        checked_gradient_types(diff_dst_desc, weights_desc, diff_src_desc, "a deconvolution")
        self.attributes.allow()
        self.hint = hint_fwd_pd
        self.add_input(Arg.DIFF_DST, self.settled(diff_dst_desc))
        self.add_input(Arg.WEIGHTS, self.settled_weights(weights_desc, packed=False))
        self.add_output(Arg.DIFF_SRC, self.settled(diff_src_desc))

    def make_plan(self) -> Plan:
        """A convolution."""
        if self.is_empty():
            return Plan()
        layer = self._layer(Arg.DIFF_SRC, Arg.WEIGHTS, Arg.DIFF_DST)
        return self.finished(convolution_plans.forward(layer))


@creates("dnnl_deconvolution_backward_weights_primitive_desc_create")
class DeconvolutionBackwardWeights(_Deconvolution):
    """`diff_weights` and `diff_bias`, from the source and `diff_dst`."""

    def __init__(
        self,
        engine: Engine | None,
        alg_kind: int,
        src_desc: Descriptor | None,
        diff_weights_desc: Descriptor | None,
        diff_bias_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        strides: Sequence[int] | None,
        dilates: Sequence[int] | None,
        padding_l: Sequence[int] | None,
        padding_r: Sequence[int] | None = None,
        hint_fwd_pd: PrimitiveDescriptor | None = None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, PropKind.backward_weights)
        if src_desc is None or diff_weights_desc is None or diff_dst_desc is None:
            invalid("the source and both derivatives are needed")
        sizes = _sizes(strides, dilates, padding_l, padding_r)
        self._check(alg_kind, src_desc, diff_weights_desc, diff_dst_desc, sizes)
        bias = checked_bias(diff_bias_desc, diff_dst_desc.dims[1])
        check_gradient(src_desc, diff_weights_desc, diff_dst_desc, of_data=False)
        checked_gradient_types(src_desc, diff_dst_desc, diff_weights_desc, "a deconvolution")
        self.attributes.allow()
        self.hint = hint_fwd_pd
        self.add_input(Arg.SRC, self.settled(src_desc))
        self.add_input(Arg.DIFF_DST, self.settled(diff_dst_desc))
        self.add_output(Arg.DIFF_WEIGHTS, self.settled_weights(diff_weights_desc, packed=False))
        self.add_output(Arg.DIFF_BIAS, bias)

    def make_plan(self) -> Plan:
        """The gradient of a convolution's weights, and the sums for the bias."""
        if 0 in self.arguments[Arg.DIFF_WEIGHTS].dims:
            return Plan()
        layer = self._layer(Arg.SRC, Arg.DIFF_WEIGHTS, Arg.DIFF_DST)
        plan = convolution_plans.backward_weights(layer)
        if Arg.DIFF_BIAS in self.arguments:
            bias = self.arguments[Arg.DIFF_BIAS]
            launch = convolution_plans.bias_gradient(Arg.DIFF_BIAS, bias, layer.image)
            plan.launches.append(launch)
        return self.finished(plan)
