"""Inner products as products of matrices: everything but the batch is summed up, forward.

The axes are `n`, the batch, `o`, the outputs, and `c0`, `c1`, ..., channels and spatial axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.kernels import convolution, indexing, products, words
from groundstate.dnn.kernels.convolution import Tensor
from groundstate.dnn.kernels.gemm import Axis, Product, Tile
from groundstate.dnn.kernels.products import Ending, Operand
from groundstate.dnn.kernels.words import Word
from groundstate.dnn.plan import Plan
from groundstate.dnn.types import Arg


@dataclass(frozen=True)
class Layer:
    """An inner product as a primitive has it."""

    src: Tensor
    weights: Tensor
    dst: Tensor
    tile: Tile
    attributes: Attributes | None = None
    bias: Descriptor | None = None

    @property
    def features(self) -> dict[str, int]:
        """The axes of the source besides the batch."""
        dims = self.src.descriptor.dims
        return {f"c{place}": size for place, size in enumerate(dims[1:])}

    @property
    def batch(self) -> int:
        return self.src.descriptor.dims[0]

    @property
    def outputs(self) -> int:
        return self.weights.descriptor.dims[0]


def packed_tag(ndims: int, lanes: int, *, in_words: bool = False) -> str:
    """The layout of weights that a product can walk along."""
    if ndims > 2:
        return convolution.packed_tag(ndims, False, lanes, in_words=in_words)
    return f"AB16b{lanes}a" + ("{n}b" if in_words else "")


def word_axis(src: Descriptor) -> str:
    """The axis of the source that words lie along: its numbers are neighbours, or channels."""
    near = (dim for dim in range(1, src.ndims) if src.is_plain and src.strides[dim] == 1)
    return f"c{next(near, 1) - 1}"


def forward(layer: Layer) -> Plan:
    """The destination, from the source and the weights."""
    plan, tile = Plan(), layer.tile
    number = products.number_of(layer.src.descriptor, layer.weights.descriptor)
    word = words.chosen(tile.dots, layer.src.descriptor, layer.weights.descriptor)
    if word is None and _is_turned(layer, number):
        return _turned(layer, number)
    left = _row_words(layer, word) if word else _rows(layer.src, "n", layer.features, number)
    axis = word_axis(layer.src.descriptor) if word else ""
    order = sorted(layer.features, key=lambda name: (name == axis, -left.steps[name]))
    features = {name: layer.features[name] for name in order}
    right = _packed(layer, number, word) or _panels(
        layer.weights, {"o": layer.outputs}, features, ("o", *layer.features), number, tile, word
    )
    a, b = left.steps, right.steps
    if word:
        features |= {axis: -(-features[axis] // word.count)}
    sums = tuple(Axis(count, a[name], b[name]) for name, count in features.items())
    product = Product(
        (Axis(layer.batch, a["n"]),), layer.outputs, sums, b["panel"], (), number, word=word
    )
    products.add(plan, product, left, right, _forward_ending(layer, number), tile)
    return plan


def _is_turned(layer: Layer, number: str) -> bool:
    """True if the batch is so small that weights are better read as they are, once, as rows."""
    descriptor = layer.weights.descriptor
    near = descriptor.is_plain and min(descriptor.strides[1:]) == 1
    return near and layer.batch <= layer.tile.lanes and products.is_usable(descriptor, number)


def _turned(layer: Layer, number: str) -> Plan:
    """The product with its sides exchanged: rows are the outputs, columns the batch."""
    plan, tile = Plan(), layer.tile
    left = _rows(layer.weights, "o", layer.features, number)
    order = sorted(layer.features, key=lambda name: -left.steps[name])
    features = {name: layer.features[name] for name in order}
    columns = {"n": layer.batch}
    right = _panels(layer.src, columns, features, ("n", *layer.features), number, tile)
    a, b = left.steps, right.steps
    sums = tuple(Axis(count, a[name], b[name]) for name, count in features.items())
    product = Product((Axis(layer.outputs, a["o"]),), layer.batch, sums, b["panel"], (), number)
    ending = _forward_ending(layer, number, batch="column", output="row")
    products.add(plan, product, left, right, ending, tile)
    return plan


def backward_data(layer: Layer) -> Plan:
    """The gradient of the source: the outputs are summed up."""
    plan, tile = Plan(), layer.tile
    number = products.number_of(layer.dst.descriptor, layer.weights.descriptor)
    left = _rows(layer.dst, "n", {"o": layer.outputs}, number)
    names = ("o", *layer.features)
    right = _panels(layer.weights, layer.features, {"o": layer.outputs}, names, number, tile)
    a, b = left.steps, right.steps
    sums = (Axis(layer.outputs, a["o"], b["o"]),)
    columns = prod(layer.features.values())
    product = Product((Axis(layer.batch, a["n"]),), columns, sums, b["panel"], (), number)
    products.add(plan, product, left, right, _ending(layer, layer.src, number), tile)
    return plan


def backward_weights(layer: Layer) -> Plan:
    """The gradient of the weights: the batch is summed up."""
    plan, tile = Plan(), layer.tile
    number = products.number_of(layer.src.descriptor, layer.dst.descriptor)
    gradient = layer.dst
    left = products.copied(
        gradient.arg,
        gradient.descriptor,
        {"o": layer.outputs, "n": layer.batch},
        ["{n}", "{o}"],
        number=number,
    )
    names = ("n", *layer.features)
    right = _panels(layer.src, layer.features, {"n": layer.batch}, names, number, tile)
    a, b = left.steps, right.steps
    sums = (Axis(layer.batch, a["n"], b["n"]),)
    columns = prod(layer.features.values())
    product = Product((Axis(layer.outputs, a["o"]),), columns, sums, b["panel"], (), number)
    products.add(plan, product, left, right, _ending(layer, layer.weights, number), tile)
    return plan


def _rows(tensor: Tensor, row: str, rest: Mapping[str, int], number: str) -> Operand:
    """A left operand: used where it lies if that is possible."""
    descriptor = tensor.descriptor
    names = [row, *rest]
    if products.is_usable(descriptor, number):
        return products.in_place(tensor.arg, descriptor, names)
    axes = {row: descriptor.dims[0], **rest}
    indices = [f"{{{name}}}" for name in names]
    return products.copied(tensor.arg, descriptor, axes, indices, number=number)


def _row_words(layer: Layer, word: Word) -> Operand:
    """The source in words, where it lies if that is possible."""
    tensor, axis = layer.src, word_axis(layer.src.descriptor)
    names = ["n", *layer.features]
    found = products.words_of(tensor.arg, tensor.descriptor, word, names, axis)
    if found is not None:
        return found
    axes = {"n": layer.batch, **layer.features}
    axes[axis] = axes.pop(axis)
    return products.copied_words(
        tensor.arg, tensor.descriptor, word, axes, [f"{{{name}}}" for name in names]
    )


def _panels(
    tensor: Tensor,
    columns: Mapping[str, int],
    sums: Mapping[str, int],
    names: tuple[str, ...],
    number: str,
    tile: Tile,
    word: Word | None = None,
) -> Operand:
    """A right operand; `names` are the axes of the tensor's dimensions."""
    return products.panels(
        tensor.arg,
        tensor.descriptor,
        batches={},
        sums=sums,
        columns=columns,
        indices=[f"{{{name}}}" for name in names],
        number=number,
        tile=tile,
        word=word,
    )


def _packed_words(layer: Layer, word: Word) -> Operand | None:
    """The weights where they lie, if that is in panels of words along the channels."""
    descriptor, lanes = layer.weights.descriptor, layer.tile.lanes
    if not word.packs(descriptor) or word_axis(layer.src.descriptor) != "c0":
        return None
    tag = packed_tag(descriptor.ndims, lanes, in_words=True)
    if not word.packed(descriptor, tag).same_as(descriptor):
        return None
    strides = zip(("panel", *layer.features), descriptor.strides, strict=True)
    steps = {name: step // word.count for name, step in strides}
    return Operand(layer.weights.arg, descriptor, {**steps, "c0": lanes, "lane": 1})


def _packed(layer: Layer, number: str, word: Word | None) -> Operand | None:
    """The weights where they lie, if that is in panels."""
    if word:
        return _packed_words(layer, word)
    descriptor, lanes = layer.weights.descriptor, layer.tile.lanes
    packed = Descriptor.tagged(
        descriptor.dims, products.NUMBER_TYPES[number], packed_tag(descriptor.ndims, lanes)
    )
    if not packed.same_as(descriptor):
        return None
    steps = {name: descriptor.strides[1 + place] for place, name in enumerate(layer.features)}
    if descriptor.ndims == 2:
        steps["c0"] = lanes
    return Operand(
        layer.weights.arg, descriptor, {**steps, "panel": descriptor.strides[0], "lane": 1}
    )


def _forward_ending(
    layer: Layer, number: str, *, batch: str = "row", output: str = "column"
) -> Ending:
    kind = indexing.index_type(layer.dst.descriptor)
    lines = [f"const {kind} y0 = {batch};", f"const {kind} y1 = {output};"]
    scales = layer.attributes.scales if layer.attributes is not None else {}
    scaled = []
    for arg in (Arg.SRC, Arg.WEIGHTS):
        if arg in scales:
            by_output = scales[arg].mask != 0
            dims = (layer.outputs,) if by_output else ()
            scaled.append((int(arg), dims, ["y1"] if by_output else []))
    return Ending(
        layer.dst.arg,
        layer.dst.descriptor,
        lines,
        number,
        layer.attributes,
        layer.bias,
        ["y1"],
        scaled,
    )


def _ending(layer: Layer, target: Tensor, number: str) -> Ending:
    """A gradient: the first dimension is the row, the others make up the column."""
    kind = indexing.index_type(target.descriptor)
    names = [f"y{1 + place}" for place in range(len(layer.features))]
    lines = [f"const {kind} y0 = row;"]
    lines += indexing.coordinates("column", list(layer.features.values()), names, kind)
    return Ending(target.arg, target.descriptor, lines, number)
