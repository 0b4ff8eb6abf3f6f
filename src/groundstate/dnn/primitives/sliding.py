"""Kernels that slide over an image: what convolution and deconvolution have in common.

The three classes at the end have the parameters of the API's functions, which are the same for
both.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from groundstate.dnn import quantization
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.checks import BYTES, Sizes, for_axes, forward_kind
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid, require
from groundstate.dnn.kernels import convolution, convolution_plans, products
from groundstate.dnn.kernels.convolution import Shape, Tensor
from groundstate.dnn.kernels.convolution_plans import Layer
from groundstate.dnn.kernels.words import Word
from groundstate.dnn.post_ops import USUAL
from groundstate.dnn.primitive import PrimitiveDescriptor
from groundstate.dnn.primitives.weighted import BackwardData, BackwardWeights, Forward, Weighted
from groundstate.dnn.types import Algorithm, Arg, DataType, PropKind, Query

CHANNELS_LAST = {3: "nwc", 4: "nhwc", 5: "ndhwc"}


class Sliding(Weighted):
    """Convolutions and deconvolutions of any direction.

    `image` is the tensor that the kernel slides over, `result` the one with a place for each
    position of it; for a deconvolution that is the other way around.
    """

    algorithms: ClassVar[frozenset[Algorithm]]

    @abstractmethod
    def roles(self, src: int, weights: int, dst: int) -> tuple[Tensor, Tensor, Tensor]:
        """The image, the kernel and the result of the convolution that these arguments make."""

    def layer(self, src: int, weights: int, dst: int) -> Layer:
        """That convolution, with bias and attributes if there are any."""
        image, kernel, result = self.roles(src, weights, dst)
        shape = self.shape(image.descriptor, kernel.descriptor, result.descriptor)
        bias = self.arguments.get(Arg.BIAS)
        attributes = self.attributes if self.is_forward else None
        return Layer(shape, image, kernel, result, self.tile, self.with_groups, attributes, bias)

    def set_window(self, algorithm: int, strides: Sizes, dilates: Sizes, *padding: Sizes) -> None:
        """Keeps how the kernel slides, as the caller says it."""
        before, after = padding
        if strides is None or before is None:
            invalid("strides and padding are needed")
        require(algorithm in self.algorithms, f"there is no algorithm {algorithm} for this")
        self.algorithm = Algorithm(algorithm)
        self.tile = products.tile_of(self.engine)
        self.said = (strides, dilates, before, before if after is None else after)

    def check_geometry(self, image: Descriptor, weights: Descriptor, result: Descriptor) -> None:
        """Invalid unless the kernel has as many places on the image as there are results."""
        require(image.ndims == result.ndims, "source and destination have as many dimensions")
        require(image.ndims in CHANNELS_LAST, "there are one to three spatial dimensions")
        self.with_groups = weights.ndims == image.ndims + 1
        require(self.with_groups or weights.ndims == image.ndims, "weights are of that many")
        axes = image.ndims - 2
        self.strides, self.dilates, self.before, self.after = (
            (0,) * axes if sizes is None else for_axes(sizes, axes) for sizes in self.said
        )
        self.parameters |= {
            Query.alg_kind: self.algorithm,
            Query.strides: self.strides,
            Query.dilations: self.dilates,
            Query.padding_l: self.before,
            Query.padding_r: self.after,
        }
        for axis in range(axes):
            self._check_axis(
                axis, image.dims[2 + axis], weights.dims[axis - axes], result.dims[2 + axis]
            )

    def _check_axis(self, axis: int, image: int, kernel: int, result: int) -> None:
        stride, step = self.strides[axis], self.dilates[axis] + 1
        require(stride > 0 and step > 0, "strides are positive, dilations not negative")
        require(self.before[axis] >= 0, "padding is not negative")
        require(self.after[axis] + stride > 0, "a negative padding is smaller than the stride")
        room = image - 1 - (kernel - 1) * step + self.before[axis] + self.after[axis]
        places = int(room / stride) + 1  # towards zero, as the API counts
        require(result == places, f"axis {axis} has {places} places for the kernel, not {result}")

    def check_channels(self, src: Descriptor, weights: Descriptor, dst: Descriptor) -> None:
        """Invalid unless batch and channels fit together."""
        groups = weights.dims[0] if self.with_groups else 1
        outputs, inputs = weights.dims[self.with_groups :][:2]
        require(src.dims[0] == dst.dims[0], "source and destination have the same batch")
        require(src.dims[1] == groups * inputs, "channels and weights do not fit together")
        require(dst.dims[1] == groups * outputs, "channels and weights do not fit together")

    def shape(self, image: Descriptor, weights: Descriptor, result: Descriptor) -> Shape:
        """The sizes, for a convolution."""
        first = int(self.with_groups)
        return Shape(
            image.dims[0],
            weights.dims[0] if self.with_groups else 1,
            weights.dims[first + 1],
            weights.dims[first],
            _three(image.dims[2:], 1),
            _three(weights.dims[first + 2 :], 1),
            _three(result.dims[2:], 1),
            _three(self.strides, 1),
            _three([each + 1 for each in self.dilates], 1),
            _three(self.before, 0),
        )

    def settled(self, tensor: Descriptor) -> Descriptor:
        """A layout for an image: channels last."""
        if not tensor.is_any:
            return tensor
        return Descriptor.tagged(tensor.dims, tensor.data_type, CHANNELS_LAST[tensor.ndims])

    def word(self, src: Descriptor, weights: Descriptor) -> Word | None:
        """What channels are packed in; None if they are not."""
        shifts = self.attributes.zero_points
        image = Tensor(Arg.SRC, src, shifts.get(Arg.SRC))
        kernel = Tensor(Arg.WEIGHTS, weights, shifts.get(Arg.WEIGHTS))
        shape = self.shape(src, weights, src)
        return convolution_plans.word_of(self.tile, shape, image, kernel)

    def settled_weights(
        self, weights: Descriptor, *, packed: bool, word: Word | None = None
    ) -> Descriptor:
        """A layout for weights: that in which the product reads them, if it can."""
        if not weights.is_any:
            return weights
        if word and word.packs(weights):
            tag = convolution.packed_tag(
                weights.ndims, self.with_groups, self.tile.lanes, in_words=True
            )
            return word.packed(weights, tag)
        depthwise = self.with_groups and weights.dims[0] > 1 and weights.dims[1:3] == (1, 1)
        packed &= weights.data_type == DataType.f32 and not depthwise and 0 not in weights.dims
        if not packed:
            return weights.dense()
        tag = convolution.packed_tag(weights.ndims, self.with_groups, self.tile.lanes)
        return Descriptor.tagged(weights.dims, weights.data_type, tag)


def _three(sizes: Sequence[int], fill: int) -> tuple[int, int, int]:
    one, two, three = [fill] * (3 - len(sizes)) + list(sizes)
    return one, two, three


class SlidingForward(Sliding, Forward):
    """Forward, with bias and attributes."""

    def __init__(
        self,
        engine: Engine | None,
        prop_kind: int,
        alg_kind: int,
        src_desc: Descriptor | None,
        weights_desc: Descriptor | None,
        bias_desc: Descriptor | None,
        dst_desc: Descriptor | None,
        strides: Sizes,
        dilates: Sizes,
        padding_l: Sizes,
        padding_r: Sizes = None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, forward_kind(prop_kind))
        self.set_window(alg_kind, strides, dilates, padding_l, padding_r)
        self.build(src_desc, weights_desc, bias_desc, dst_desc)

    def check_attributes(self, src: Descriptor, dst: Descriptor) -> None:
        """Quantisation is for integers; post-operations for all."""
        is_whole = src.data_type in BYTES
        args = (Arg.SRC, Arg.WEIGHTS, Arg.DST) if is_whole else ()
        self.attributes.allow(scales=args, zero_points=args, post_ops=USUAL)
        quantization.check_sums(self.attributes, dst, is_whole)
        scales, zero_points = self.attributes.scales, self.attributes.zero_points
        by_output = 3 if self.with_groups else 1
        quantization.check_mask(scales, Arg.SRC, {0}, "scales")
        quantization.check_mask(scales, Arg.WEIGHTS, {0, by_output}, "scales")
        quantization.check_mask(scales, Arg.DST, {0, 2}, "scales")
        quantization.check_mask(zero_points, Arg.SRC, {0, 2}, "zero points")
        quantization.check_mask(zero_points, Arg.WEIGHTS, {0}, "zero points")
        quantization.check_mask(zero_points, Arg.DST, {0, 2}, "zero points")


class SlidingBackwardData(Sliding, BackwardData):
    """The gradient of the source."""

    def __init__(
        self,
        engine: Engine | None,
        alg_kind: int,
        diff_src_desc: Descriptor | None,
        weights_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        strides: Sizes,
        dilates: Sizes,
        padding_l: Sizes,
        padding_r: Sizes = None,
        hint_fwd_pd: PrimitiveDescriptor | None = None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, PropKind.backward_data)
        self.set_window(alg_kind, strides, dilates, padding_l, padding_r)
        self.build(diff_src_desc, weights_desc, diff_dst_desc, hint_fwd_pd)


class SlidingBackwardWeights(Sliding, BackwardWeights):
    """The gradients of weights and bias."""

    def __init__(
        self,
        engine: Engine | None,
        alg_kind: int,
        src_desc: Descriptor | None,
        diff_weights_desc: Descriptor | None,
        diff_bias_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        strides: Sizes,
        dilates: Sizes,
        padding_l: Sizes,
        padding_r: Sizes = None,
        hint_fwd_pd: PrimitiveDescriptor | None = None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, PropKind.backward_weights)
        self.set_window(alg_kind, strides, dilates, padding_l, padding_r)
        self.build(src_desc, diff_weights_desc, diff_bias_desc, diff_dst_desc, hint_fwd_pd)
