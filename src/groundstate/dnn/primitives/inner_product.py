"""Inner product: every output is a weighted sum of a whole source; forward and its gradients."""

from __future__ import annotations

from groundstate.dnn import quantization
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.checks import BYTES, forward_kind
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import require
from groundstate.dnn.kernels import inner_product, products, words
from groundstate.dnn.kernels.inner_product import Layer
from groundstate.dnn.kernels.words import Word
from groundstate.dnn.plan import Plan
from groundstate.dnn.post_ops import USUAL
from groundstate.dnn.primitive import PrimitiveDescriptor, creates
from groundstate.dnn.primitives.sliding import CHANNELS_LAST
from groundstate.dnn.primitives.weighted import BackwardData, BackwardWeights, Forward, Weighted
from groundstate.dnn.types import Arg, DataType, PrimitiveKind, PropKind


class _InnerProduct(Weighted):
    kind = PrimitiveKind.inner_product
    noun = "inner product"

    def check_shapes(self, src: Descriptor, weights: Descriptor, dst: Descriptor) -> None:
        """There are weights for each element of a source and each output."""
        require(weights.elements > 0, "there are no weights")
        require(2 <= src.ndims <= 5, "the source has two to five dimensions")
        require(dst.ndims == 2, "the destination has two dimensions")
        require(weights.ndims == src.ndims, "weights have as many dimensions as the source")
        require(src.dims[0] == dst.dims[0], "source and destination have the same batch")
        require(src.dims[1:] == weights.dims[1:], "weights have the shape of a source")
        require(dst.dims[1] == weights.dims[0], "there are weights for each output")
        self.tile = products.tile_of(self.engine)

    def settled(self, tensor: Descriptor) -> Descriptor:
        """Channels last, if there are any."""
        if not tensor.is_any:
            return tensor
        tag = CHANNELS_LAST.get(tensor.ndims, "ab")
        return Descriptor.tagged(tensor.dims, tensor.data_type, tag)

    def word(self, src: Descriptor, weights: Descriptor) -> Word | None:
        """What numbers are packed in, along the channels; None if they are not."""
        word = words.chosen(self.tile.dots, src, weights)
        return word if inner_product.word_axis(src) == "c0" else None

    def settled_weights(
        self, weights: Descriptor, *, packed: bool, word: Word | None = None
    ) -> Descriptor:
        """A layout for weights: that in which the product reads them, if it can."""
        if not weights.is_any:
            return weights
        if word and word.packs(weights):
            tag = inner_product.packed_tag(weights.ndims, self.tile.lanes, in_words=True)
            return word.packed(weights, tag)
        if not packed or weights.data_type != DataType.f32:
            return self.settled(weights)
        tag = inner_product.packed_tag(weights.ndims, self.tile.lanes)
        return Descriptor.tagged(weights.dims, weights.data_type, tag)

    def _layer(self, src: int, weights: int, dst: int) -> Layer:
        one, two, three = (self.tensor(arg) for arg in (src, weights, dst))
        attributes = self.attributes if self.is_forward else None
        return Layer(one, two, three, self.tile, attributes, self.arguments.get(Arg.BIAS))


@creates("dnnl_inner_product_forward_primitive_desc_create")
class InnerProductForward(_InnerProduct, Forward):
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
        super().__init__(engine, attr, forward_kind(prop_kind))
        self.build(src_desc, weights_desc, bias_desc, dst_desc)

    def check_attributes(self, src: Descriptor, dst: Descriptor) -> None:
        """Scales are for integers; post-operations for all."""
        is_whole = src.data_type in BYTES
        args = (Arg.SRC, Arg.WEIGHTS, Arg.DST) if is_whole else ()
        self.attributes.allow(scales=args, post_ops=USUAL)
        quantization.check_sums(self.attributes, dst, is_whole)
        for arg, masks in ((Arg.SRC, {0}), (Arg.WEIGHTS, {0, 1}), (Arg.DST, {0})):
            quantization.check_mask(self.attributes.scales, arg, masks, "scales")

    def product(self, src: int, weights: int, dst: int) -> Plan:
        """Copies of what lies badly, and the product."""
        return inner_product.forward(self._layer(src, weights, dst))


@creates("dnnl_inner_product_backward_data_primitive_desc_create")
class InnerProductBackwardData(_InnerProduct, BackwardData):
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
        self.build(diff_src_desc, weights_desc, diff_dst_desc, hint_fwd_pd)

    def product(self, src: int, weights: int, dst: int) -> Plan:
        """The weights in panels of features, and the product."""
        return inner_product.backward_data(self._layer(src, weights, dst))


@creates("dnnl_inner_product_backward_weights_primitive_desc_create")
class InnerProductBackwardWeights(_InnerProduct, BackwardWeights):
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
        self.build(src_desc, diff_weights_desc, diff_bias_desc, diff_dst_desc, hint_fwd_pd)

    def product(self, src: int, weights: int, dst: int) -> Plan:
        """The source in panels of features, and the product."""
        return inner_product.backward_weights(self._layer(src, weights, dst))
