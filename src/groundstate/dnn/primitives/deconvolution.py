"""Deconvolution: the convolution whose source and destination are exchanged.

Its destination is the image that the kernel slides over, its source the result. So forward is the
gradient of a convolution's image, the gradient of the source is a convolution, and that of the
weights is one of a convolution's weights. Weights have their first two axes the other way around.
"""

from __future__ import annotations

from groundstate.dnn import quantization
from groundstate.dnn.checks import FLOATS
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.errors import support
from groundstate.dnn.kernels import convolution_plans
from groundstate.dnn.kernels.convolution import Tensor
from groundstate.dnn.plan import Plan
from groundstate.dnn.primitive import creates
from groundstate.dnn.primitives.sliding import (
    Sliding,
    SlidingBackwardData,
    SlidingBackwardWeights,
    SlidingForward,
)
from groundstate.dnn.types import Algorithm, Arg, PrimitiveKind


class _Deconvolution(Sliding):
    kind = PrimitiveKind.deconvolution
    noun = "deconvolution"
    packs = False
    algorithms = frozenset({Algorithm.deconvolution_direct, Algorithm.deconvolution_winograd})

    def check_shapes(self, src: Descriptor, weights: Descriptor, dst: Descriptor) -> None:
        """The kernel slides over the destination."""
        self.check_geometry(dst, weights, src)
        self.check_channels(src, weights, dst)

    def _turned(self, weights: Descriptor) -> Descriptor:
        """The weights as those of the convolution."""
        first = int(self.with_groups)
        order = list(range(weights.ndims))
        order[first], order[first + 1] = order[first + 1], order[first]
        return weights.permuted(order)

    def roles(self, src: int, weights: int, dst: int) -> tuple[Tensor, Tensor, Tensor]:
        """Those of the convolution from the destination to the source."""
        turned = Tensor(weights, self._turned(self.arguments[weights]))
        return self.tensor(dst), turned, self.tensor(src)


@creates("dnnl_deconvolution_forward_primitive_desc_create")
class DeconvolutionForward(_Deconvolution, SlidingForward):
    """`dst` such that a convolution of it has the gradient `src`, plus a bias."""

    def check_types(
        self, src: Descriptor, weights: Descriptor, bias: Descriptor | None, dst: Descriptor
    ) -> None:
        """As for a convolution, but for the bias."""
        super().check_types(src, weights, None, dst)
        floating = bias is None or bias.data_type in FLOATS
        support(floating, "the bias of a deconvolution is of a floating-point type")

    def check_attributes(self, src: Descriptor, dst: Descriptor) -> None:
        """As for a convolution, but with less for integers."""
        super().check_attributes(src, dst)
        support(Arg.WEIGHTS not in self.attributes.zero_points, "zero points of weights")
        quantization.check_mask(self.attributes.scales, Arg.DST, {0}, "scales")

    def product(self, src: int, weights: int, dst: int) -> Plan:
        """The spread source, the turned weights, and the product."""
        return convolution_plans.backward_data(self.layer(src, weights, dst))


@creates("dnnl_deconvolution_backward_data_primitive_desc_create")
class DeconvolutionBackwardData(_Deconvolution, SlidingBackwardData):
    """`diff_src`, from `diff_dst` and the weights."""

    def product(self, src: int, weights: int, dst: int) -> Plan:
        """A convolution."""
        return convolution_plans.forward(self.layer(src, weights, dst))


@creates("dnnl_deconvolution_backward_weights_primitive_desc_create")
class DeconvolutionBackwardWeights(_Deconvolution, SlidingBackwardWeights):
    """`diff_weights` and `diff_bias`, from the source and `diff_dst`."""

    def product(self, src: int, weights: int, dst: int) -> Plan:
        """The gradient of a convolution's weights."""
        return convolution_plans.backward_weights(self.layer(src, weights, dst))
