"""Layers with weights: convolution, deconvolution and inner product, and their gradients.

They are checked in one order, have the same tensors and end alike. A family says which shapes and
attributes it knows, chooses layouts, and has a product for each direction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from groundstate.dnn import quantization
from groundstate.dnn.checks import BYTES, FLOATS, WHOLE
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.errors import invalid, require, support
from groundstate.dnn.kernels import convolution_plans, grid
from groundstate.dnn.kernels.convolution import Tensor
from groundstate.dnn.kernels.words import Word
from groundstate.dnn.plan import Plan
from groundstate.dnn.primitive import PrimitiveDescriptor
from groundstate.dnn.types import Arg, DataType


class Weighted(PrimitiveDescriptor, ABC):
    """What the families have in common in every direction."""

    noun: ClassVar[str]
    """What sentences call it."""
    packs: ClassVar[bool] = True
    """True if weights whose layout is left open are packed as the product reads them."""

    @abstractmethod
    def check_shapes(self, src: Descriptor, weights: Descriptor, dst: Descriptor) -> None:
        """Invalid unless these fit together; sets what the rest needs to know."""

    @abstractmethod
    def settled(self, tensor: Descriptor) -> Descriptor:
        """A source or destination in the layout that it gets if it was left open."""

    @abstractmethod
    def settled_weights(
        self, weights: Descriptor, *, packed: bool, word: Word | None = None
    ) -> Descriptor:
        """The weights in the layout that they get if it was left open."""

    @abstractmethod
    def word(self, src: Descriptor, weights: Descriptor) -> Word | None:
        """What numbers are packed in for the product, forward; None if they are not."""

    @abstractmethod
    def product(self, src: int, weights: int, dst: int) -> Plan:
        """The plan of the direction, for the arguments that take these places in it."""

    def known(
        self, *descriptors: Descriptor | None, names: str
    ) -> tuple[Descriptor, Descriptor, Descriptor]:
        """Source, weights and destination, which must be there and of sizes that are known."""
        src, weights, dst = descriptors
        if src is None or weights is None or dst is None:
            invalid(f"{names} are needed")
        quantization.check_known(self.noun, src, weights, dst)
        return src, weights, dst

    def tensor(self, arg: int) -> Tensor:
        """An argument, and how it is quantised."""
        return Tensor(arg, self.arguments[arg], self.attributes.zero_points.get(arg))

    def planned(self, src: int, weights: int, dst: int) -> Plan:
        """The product, and zeros where blocks reach beyond what it writes."""
        plan = self.product(src, weights, dst)
        for arg in sorted(self.outputs):
            plan.launches += grid.zero_padding(arg, self.arguments[arg])
        return plan

    def is_empty(self) -> bool:
        """True if there is nothing to do."""
        return any(0 in tensor.dims for tensor in self.arguments.values())

    def _check_gradient_types(self, one: Descriptor, two: Descriptor, target: Descriptor) -> None:
        """Unimplemented unless a gradient of this type can be made of tensors of these."""
        known = one.data_type in FLOATS and two.data_type == one.data_type
        known &= target.data_type in (one.data_type, DataType.f32)
        names = f"{one.data_type.name}, {two.data_type.name} and {target.data_type.name}"
        support(known, f"a gradient of {self.noun} with {names}")


def _checked_bias(bias: Descriptor | None, channels: int) -> Descriptor | None:
    """A bias, if there is one: it has a number for each output."""
    if bias is None or bias.is_zero:
        return None
    require(bias.dims == (channels,), f"a bias has {channels} elements")
    return bias.dense() if bias.is_any else bias


class Forward(Weighted):
    """The destination, from the source, the weights and perhaps a bias."""

    @abstractmethod
    def check_attributes(self, src: Descriptor, dst: Descriptor) -> None:
        """Refuses attributes that the family does not know."""

    def check_types(
        self, src: Descriptor, weights: Descriptor, bias: Descriptor | None, dst: Descriptor
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
        support(known, f"{self.noun} of {one.name} and {two.name} to {three.name}")

    def build(
        self,
        src_desc: Descriptor | None,
        weights_desc: Descriptor | None,
        bias_desc: Descriptor | None,
        dst_desc: Descriptor | None,
    ) -> None:
        """Checks everything and settles layouts."""
        src, weights, dst = self.known(
            src_desc, weights_desc, dst_desc, names="source, weights and destination"
        )
        quantization.check_accumulates(src, weights, dst)
        self.check_shapes(src, weights, dst)
        bias = _checked_bias(bias_desc, dst.dims[1])
        self.check_types(src, weights, bias, dst)
        self.check_attributes(src, dst)
        dst = self.settled(dst)
        self.settle_post_ops(dst)
        self.add_input(Arg.SRC, self.settled(src))
        word = self.word(self.arguments[Arg.SRC], weights) if self.packs else None
        self.add_input(Arg.WEIGHTS, self.settled_weights(weights, packed=self.packs, word=word))
        self.add_input(Arg.BIAS, bias)
        self.add_output(Arg.DST, dst)

    def make_plan(self) -> Plan:
        """Copies of what lies badly, and the product."""
        return Plan() if self.is_empty() else self.planned(Arg.SRC, Arg.WEIGHTS, Arg.DST)


class BackwardData(Weighted):
    """The gradient of the source, from that of the destination and the weights."""

    def build(
        self,
        diff_src_desc: Descriptor | None,
        weights_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        hint: PrimitiveDescriptor | None,
    ) -> None:
        """Checks everything and settles layouts."""
        below, weights, above = self.known(
            diff_src_desc, weights_desc, diff_dst_desc, names="both derivatives and the weights"
        )
        self.check_shapes(below, weights, above)
        quantization.check_gradient(below, weights, above, of_data=True)
        self._check_gradient_types(above, weights, below)
        self.attributes.allow()
        self.hint = hint
        self.add_input(Arg.DIFF_DST, self.settled(above))
        self.add_input(Arg.WEIGHTS, self.settled_weights(weights, packed=False))
        self.add_output(Arg.DIFF_SRC, self.settled(below))

    def make_plan(self) -> Plan:
        """Copies of what lies badly, and the product."""
        return Plan() if self.is_empty() else self.planned(Arg.DIFF_SRC, Arg.WEIGHTS, Arg.DIFF_DST)


class BackwardWeights(Weighted):
    """The gradients of weights and bias, from the source and the gradient of the destination."""

    def build(
        self,
        src_desc: Descriptor | None,
        diff_weights_desc: Descriptor | None,
        diff_bias_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        hint: PrimitiveDescriptor | None,
    ) -> None:
        """Checks everything and settles layouts."""
        src, change, above = self.known(
            src_desc, diff_weights_desc, diff_dst_desc, names="the source and both derivatives"
        )
        self.check_shapes(src, change, above)
        bias = _checked_bias(diff_bias_desc, above.dims[1])
        quantization.check_gradient(src, change, above, of_data=False)
        self._check_gradient_types(src, above, change)
        self.attributes.allow()
        self.hint = hint
        self.add_input(Arg.SRC, self.settled(src))
        self.add_input(Arg.DIFF_DST, self.settled(above))
        self.add_output(Arg.DIFF_WEIGHTS, self.settled_weights(change, packed=False))
        self.add_output(Arg.DIFF_BIAS, bias)

    def make_plan(self) -> Plan:
        """Copies of what lies badly, the product, and the sums for the bias."""
        if 0 in self.arguments[Arg.DIFF_WEIGHTS].dims:
            return Plan()
        plan = self.planned(Arg.SRC, Arg.DIFF_WEIGHTS, Arg.DIFF_DST)
        if Arg.DIFF_BIAS in self.arguments:
            bias, above = self.arguments[Arg.DIFF_BIAS], self.tensor(Arg.DIFF_DST)
            plan.launches.append(convolution_plans.bias_gradient(Arg.DIFF_BIAS, bias, above))
        return plan
