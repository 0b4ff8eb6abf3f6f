"""Convolution with one to three spatial axes: forward, and the gradients of image and weights."""

from __future__ import annotations

from collections.abc import Sequence

from groundstate.dnn import quantization
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid, require, support
from groundstate.dnn.kernels import convolution, convolution_plans, grid, products
from groundstate.dnn.kernels.convolution import Shape, Tensor
from groundstate.dnn.kernels.convolution_plans import Layer
from groundstate.dnn.plan import Plan
from groundstate.dnn.post_ops import USUAL
from groundstate.dnn.primitive import PrimitiveDescriptor, creates
from groundstate.dnn.quantization import BYTES, FLOATS, WHOLE, check_gradient
from groundstate.dnn.types import Algorithm, Arg, DataType, PrimitiveKind, PropKind, Query

CHANNELS_LAST = {3: "nwc", 4: "nhwc", 5: "ndhwc"}
ALGORITHMS = {
    Algorithm.convolution_direct,
    Algorithm.convolution_winograd,
    Algorithm.convolution_auto,
}


class Sliding(PrimitiveDescriptor):
    """What convolutions and deconvolutions of any direction have in common.

    `image` is the tensor that the kernel slides over, `result` the one with a place for each
    position of it; for a deconvolution that is the other way around.
    """

    algorithms: frozenset[Algorithm]

    def _set_geometry(
        self,
        algorithm: int,
        image: Descriptor,
        weights: Descriptor,
        result: Descriptor,
        sizes: tuple[Sequence[int], Sequence[int] | None, Sequence[int], Sequence[int] | None],
    ) -> None:
        strides, dilates, before, after = sizes
        require(algorithm in self.algorithms, f"there is no algorithm {algorithm} for this")
        require(image.ndims == result.ndims, "source and destination have as many dimensions")
        require(image.ndims in CHANNELS_LAST, "there are one to three spatial dimensions")
        self.with_groups = weights.ndims == image.ndims + 1
        require(self.with_groups or weights.ndims == image.ndims, "weights are of that many")
        axes = image.ndims - 2
        self.strides = tuple(strides[:axes])
        self.dilates = (0,) * axes if dilates is None else tuple(dilates[:axes])
        self.before = tuple(before[:axes])
        self.after = self.before if after is None else tuple(after[:axes])
        self.algorithm = Algorithm(algorithm)
        self.tile = products.tile_of(self.engine)
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

    def _check_channels(self, image: Descriptor, weights: Descriptor, result: Descriptor) -> None:
        """Checks channels in the order of a convolution: outputs first in the weights."""
        groups = weights.dims[0] if self.with_groups else 1
        outputs, inputs = weights.dims[self.with_groups :][:2]
        self._check_counts(image, result, (groups, outputs, inputs))

    def _check_counts(
        self, image: Descriptor, result: Descriptor, counts: tuple[int, int, int]
    ) -> None:
        groups, outputs, inputs = counts
        require(image.dims[0] == result.dims[0], "source and destination have the same batch")
        require(image.dims[1] == groups * inputs, "channels and weights do not fit together")
        require(result.dims[1] == groups * outputs, "channels and weights do not fit together")

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

    def tensor(self, arg: int) -> Tensor:
        """An argument, and how it is quantised."""
        return Tensor(arg, self.arguments[arg], self.attributes.zero_points.get(arg))

    def settled(self, tensor: Descriptor) -> Descriptor:
        """A layout for an image: channels last."""
        if not tensor.is_any:
            return tensor
        return Descriptor.tagged(tensor.dims, tensor.data_type, CHANNELS_LAST[tensor.ndims])

    def settled_weights(self, weights: Descriptor, *, packed: bool) -> Descriptor:
        """A layout for weights: that in which the product reads them, if it can."""
        if not weights.is_any:
            return weights
        if not packed or weights.data_type != DataType.f32 or 0 in weights.dims:
            return weights.dense()
        tag = convolution.packed_tag(weights.ndims, self.with_groups, self.tile.lanes)
        return Descriptor.tagged(weights.dims, weights.data_type, tag)

    def allow_forward_attributes(
        self, src: Descriptor, weights: Descriptor, dst: Descriptor
    ) -> None:
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

    def is_empty(self) -> bool:
        """True if there is nothing to do."""
        return any(0 in tensor.dims for tensor in self.arguments.values())

    def finished(self, plan: Plan) -> Plan:
        """The plan, and zeros where blocks reach beyond what is written."""
        for arg in sorted(self.outputs):
            plan.launches += grid.zero_padding(arg, self.arguments[arg])
        return plan


def _three(sizes: Sequence[int], fill: int) -> tuple[int, int, int]:
    one, two, three = [fill] * (3 - len(sizes)) + list(sizes)
    return one, two, three


def checked_bias(bias: Descriptor | None, channels: int) -> Descriptor | None:
    """A bias, if there is one: it has a number for each output."""
    if bias is None or bias.is_zero:
        return None
    require(bias.dims == (channels,), f"a bias has {channels} elements")
    return bias.dense() if bias.is_any else bias


def checked_forward_types(
    src: Descriptor, weights: Descriptor, bias: Descriptor | None, dst: Descriptor, what: str
) -> None:
    """Unimplemented unless these types go together."""
    one, two, three = src.data_type, weights.data_type, dst.data_type
    kind = bias.data_type if bias is not None else DataType.f32
    if one in BYTES:
        known = two == DataType.s8 and three in FLOATS | WHOLE and kind in FLOATS | WHOLE
    else:
        known = one in FLOATS and three in {one, DataType.f32} | BYTES
        known &= two == one or (one == DataType.f32 and two in FLOATS)
        known &= kind in (one, DataType.f32)
    support(known, f"{what} of {one.name} and {two.name} to {three.name}")


@creates("dnnl_convolution_forward_primitive_desc_create")
class ConvolutionForward(Sliding):
    """`dst = src * weights + bias`."""

    kind = PrimitiveKind.convolution
    algorithms = frozenset(ALGORITHMS)

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
        if strides is None or padding_l is None:
            invalid("strides and padding are needed")
        quantization.check_known("convolution", src_desc, weights_desc, dst_desc)
        quantization.check_accumulates(src_desc, weights_desc, dst_desc)
        require(weights_desc.elements > 0, "there are no weights")
        sizes = (strides, dilates, padding_l, padding_r)
        self._set_geometry(alg_kind, src_desc, weights_desc, dst_desc, sizes)
        self._check_channels(src_desc, weights_desc, dst_desc)
        bias = checked_bias(bias_desc, dst_desc.dims[1])
        checked_forward_types(src_desc, weights_desc, bias, dst_desc, "convolution")
        self.allow_forward_attributes(src_desc, weights_desc, dst_desc)
        dst = self.settled(dst_desc)
        self.settle_post_ops(dst)
        packed = not self.shape(src_desc, weights_desc, dst_desc).is_depthwise
        self.add_input(Arg.SRC, self.settled(src_desc))
        self.add_input(Arg.WEIGHTS, self.settled_weights(weights_desc, packed=packed))
        self.add_input(Arg.BIAS, bias)
        self.add_output(Arg.DST, dst)

    def make_plan(self) -> Plan:
        """The padded image, the packed weights, and the product."""
        if self.is_empty():
            return Plan()
        image, weights, result = (self.tensor(arg) for arg in (Arg.SRC, Arg.WEIGHTS, Arg.DST))
        layer = Layer(
            self.shape(image.descriptor, weights.descriptor, result.descriptor),
            image,
            weights,
            result,
            self.tile,
            self.with_groups,
            self.attributes,
            self.arguments.get(Arg.BIAS),
        )
        return self.finished(convolution_plans.forward(layer))


@creates("dnnl_convolution_backward_data_primitive_desc_create")
class ConvolutionBackwardData(Sliding):
    """`diff_src`, from `diff_dst` and the weights."""

    kind = PrimitiveKind.convolution
    algorithms = frozenset(ALGORITHMS)

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
        if strides is None or padding_l is None:
            invalid("strides and padding are needed")
        quantization.check_known("convolution", diff_src_desc, weights_desc, diff_dst_desc)
        require(weights_desc.elements > 0, "there are no weights")
        sizes = (strides, dilates, padding_l, padding_r)
        self._set_geometry(alg_kind, diff_src_desc, weights_desc, diff_dst_desc, sizes)
        self._check_channels(diff_src_desc, weights_desc, diff_dst_desc)
        check_gradient(diff_src_desc, weights_desc, diff_dst_desc, of_data=True)
        checked_gradient_types(diff_dst_desc, weights_desc, diff_src_desc, "convolution")
        self.attributes.allow()
        self.hint = hint_fwd_pd
        self.add_input(Arg.DIFF_DST, self.settled(diff_dst_desc))
        self.add_input(Arg.WEIGHTS, self.settled_weights(weights_desc, packed=False))
        self.add_output(Arg.DIFF_SRC, self.settled(diff_src_desc))

    def make_plan(self) -> Plan:
        """The spread gradient, the turned weights, and the product."""
        if self.is_empty():
            return Plan()
        image, weights, result = (
            self.tensor(arg) for arg in (Arg.DIFF_SRC, Arg.WEIGHTS, Arg.DIFF_DST)
        )
        shape = self.shape(image.descriptor, weights.descriptor, result.descriptor)
        layer = Layer(shape, image, weights, result, self.tile, self.with_groups)
        return self.finished(convolution_plans.backward_data(layer))


@creates("dnnl_convolution_backward_weights_primitive_desc_create")
class ConvolutionBackwardWeights(Sliding):
    """`diff_weights` and `diff_bias`, from the source and `diff_dst`."""

    kind = PrimitiveKind.convolution
    algorithms = frozenset(ALGORITHMS)

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
        if strides is None or padding_l is None:
            invalid("strides and padding are needed")
        quantization.check_known("convolution", src_desc, diff_weights_desc, diff_dst_desc)
        require(diff_weights_desc.elements > 0, "there are no weights")
        sizes = (strides, dilates, padding_l, padding_r)
        self._set_geometry(alg_kind, src_desc, diff_weights_desc, diff_dst_desc, sizes)
        self._check_channels(src_desc, diff_weights_desc, diff_dst_desc)
        bias = checked_bias(diff_bias_desc, diff_dst_desc.dims[1])
        check_gradient(src_desc, diff_weights_desc, diff_dst_desc, of_data=False)
        checked_gradient_types(src_desc, diff_dst_desc, diff_weights_desc, "convolution")
        self.attributes.allow()
        self.hint = hint_fwd_pd
        self.add_input(Arg.SRC, self.settled(src_desc))
        self.add_input(Arg.DIFF_DST, self.settled(diff_dst_desc))
        self.add_output(Arg.DIFF_WEIGHTS, self.settled_weights(diff_weights_desc, packed=False))
        self.add_output(Arg.DIFF_BIAS, bias)

    def make_plan(self) -> Plan:
        """The padded image, the gradient in panels, the product, and the sums for the bias."""
        if 0 in self.arguments[Arg.DIFF_WEIGHTS].dims:
            return Plan()
        image, weights, result = (
            self.tensor(arg) for arg in (Arg.SRC, Arg.DIFF_WEIGHTS, Arg.DIFF_DST)
        )
        shape = self.shape(image.descriptor, weights.descriptor, result.descriptor)
        layer = Layer(shape, image, weights, result, self.tile, self.with_groups)
        plan = convolution_plans.backward_weights(layer)
        if Arg.DIFF_BIAS in self.arguments:
            bias = self.arguments[Arg.DIFF_BIAS]
            plan.launches.append(convolution_plans.bias_gradient(Arg.DIFF_BIAS, bias, result))
        return self.finished(plan)


def checked_gradient_types(one: Descriptor, two: Descriptor, target: Descriptor, what: str) -> None:
    """Unimplemented unless a gradient of this type can be made of tensors of these."""
    known = one.data_type in FLOATS and two.data_type == one.data_type
    known &= target.data_type in (one.data_type, DataType.f32)
    names = f"{one.data_type.name}, {two.data_type.name} and {target.data_type.name}"
    support(known, f"a gradient of {what} with {names}")
