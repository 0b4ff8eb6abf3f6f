"""Convolution with one to three spatial axes: forward, and the gradients of image and weights."""

from __future__ import annotations

from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.errors import require
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
from groundstate.dnn.types import Algorithm, PrimitiveKind


class _Convolution(Sliding):
    kind = PrimitiveKind.convolution
    noun = "convolution"
    algorithms = frozenset(
        {
            Algorithm.convolution_direct,
            Algorithm.convolution_winograd,
            Algorithm.convolution_auto,
        }
    )

    def check_shapes(self, src: Descriptor, weights: Descriptor, dst: Descriptor) -> None:
        """The kernel slides over the source."""
        require(weights.elements > 0, "there are no weights")
        self.check_geometry(src, weights, dst)
        self.check_channels(src, weights, dst)

    def roles(self, src: int, weights: int, dst: int) -> tuple[Tensor, Tensor, Tensor]:
        """The arguments as they are."""
        return self.tensor(src), self.tensor(weights), self.tensor(dst)


@creates("dnnl_convolution_forward_primitive_desc_create")
class ConvolutionForward(_Convolution, SlidingForward):
    """`dst = src * weights + bias`."""

    def product(self, src: int, weights: int, dst: int) -> Plan:
        """The padded image, the packed weights, and the product."""
        return convolution_plans.forward(self.layer(src, weights, dst))


@creates("dnnl_convolution_backward_data_primitive_desc_create")
class ConvolutionBackwardData(_Convolution, SlidingBackwardData):
    """`diff_src`, from `diff_dst` and the weights."""

    def product(self, src: int, weights: int, dst: int) -> Plan:
        """The spread gradient, the turned weights, and the product."""
        return convolution_plans.backward_data(self.layer(src, weights, dst))


@creates("dnnl_convolution_backward_weights_primitive_desc_create")
class ConvolutionBackwardWeights(_Convolution, SlidingBackwardWeights):
    """`diff_weights` and `diff_bias`, from the source and `diff_dst`."""

    def product(self, src: int, weights: int, dst: int) -> Plan:
        """The padded image, the gradient in panels, and the product."""
        return convolution_plans.backward_weights(self.layer(src, weights, dst))
