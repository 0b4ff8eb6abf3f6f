"""The plans of convolutions: which product is computed, and what becomes of its elements.

A deconvolution is a convolution with source and destination exchanged, so its plans are these, too:
forward it is the gradient of the image, with bias and attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.kernels import convolution, gemm, indexing, products, values, words
from groundstate.dnn.kernels.convolution import Phase, Shape, Tensor
from groundstate.dnn.kernels.gemm import Tile
from groundstate.dnn.kernels.products import Ending
from groundstate.dnn.kernels.text import Kernel
from groundstate.dnn.kernels.words import Word
from groundstate.dnn.plan import Launch, Plan
from groundstate.dnn.types import Arg, DataType


@dataclass(frozen=True)
class Layer:
    """A convolution as a primitive has it: its shape, its tensors, its attributes."""

    shape: Shape
    image: Tensor
    weights: Tensor
    result: Tensor
    tile: Tile
    with_groups: bool
    attributes: Attributes | None = None
    bias: Descriptor | None = None


def word_of(tile: Tile, shape: Shape, image: Tensor, weights: Tensor) -> Word | None:
    """What channels are packed in for the product, if the device multiplies such words."""
    shifts = {"left": image.zero_point, "right": weights.zero_point}
    word = words.chosen(tile.dots, image.descriptor, weights.descriptor, shifts)
    if word is None or (shape.groups > 1 and shape.inputs % word.count):
        return None
    if replace(shape, inputs=convolution.word_count(shape, word)).is_depthwise:
        return None  # a word would be taken for a channel
    if word.is_compensated and image.zero_point is not None:
        # The padding would have to be the zero point.
        return words.chosen(tile.dots - {word.kind}, image.descriptor, weights.descriptor, shifts)
    return word


def forward(layer: Layer) -> Plan:
    """The result, from the image and the weights."""
    plan, shape = Plan(), layer.shape
    number = products.number_of(layer.image.descriptor, layer.weights.descriptor)
    word = word_of(layer.tile, shape, layer.image, layer.weights)
    if word:
        left = convolution.image_words(shape, layer.image, word)
    else:
        left = convolution.image(shape, layer.image, number, layer.tile.lanes)
    right = convolution.weights(
        Phase(shape),
        layer.weights,
        layer.with_groups,
        number,
        layer.tile,
        backward=False,
        word=word,
    )
    inputs = convolution.word_count(shape, word) if word else shape.inputs
    product = convolution.forward(replace(shape, inputs=inputs), left, right, number)
    product = replace(product, word=word)
    rows = (shape.batch, *shape.result)
    ending = _ending(layer, layer.result, rows, shape.outputs, number)
    products.add(plan, product, left, right, ending, layer.tile)
    return plan


def backward_data(layer: Layer) -> Plan:
    """The gradient of the image, from that of the result and the weights."""
    plan = Plan()
    number = products.number_of(layer.result.descriptor, layer.weights.descriptor)
    for phase in convolution.phases(layer.shape):
        shape = phase.shape
        left = convolution.spread_gradient(shape, layer.result, number, layer.tile.lanes)
        right = convolution.weights(
            phase, layer.weights, layer.with_groups, number, layer.tile, backward=True
        )
        product = convolution.backward_data(shape, left, right, number)
        rows = (shape.batch, *shape.image)
        ending = _ending(layer, layer.image, rows, shape.inputs, number, phase)
        products.add(plan, product, left, right, ending, layer.tile)
    return plan


def backward_weights(layer: Layer) -> Plan:
    """The gradient of the weights, from the image and the gradient of the result."""
    plan, shape = Plan(), layer.shape
    number = products.number_of(layer.image.descriptor, layer.result.descriptor)
    left = convolution.image(shape, layer.image, number, layer.tile.lanes)
    right = convolution.gradient_panels(shape, layer.result, number, layer.tile)
    product = convolution.backward_weights(shape, left, right, number)
    products.add(plan, product, left, right, _weights_ending(layer, number), layer.tile)
    return plan


def _ending(
    layer: Layer,
    target: Tensor,
    rows: tuple[int, ...],
    channels: int,
    number: str,
    phase: Phase | None = None,
) -> Ending:
    """Elements of a tensor with channels: rows are its batch and its spatial axes, or a phase."""
    descriptor, shape = target.descriptor, layer.shape
    kind = indexing.index_type(descriptor)
    ndims = descriptor.ndims
    names = ["y0", "p0", "p1", "p2"]
    lines = indexing.coordinates("row", rows, names, kind)
    channel = "column" if shape.is_depthwise else f"batch * {channels} + column"
    lines.append(f"const {kind} y1 = {channel};")
    for dim in range(2, ndims):
        axis = dim - ndims + 3
        place = f"p{axis}"
        if phase is not None and phase.apart[axis] > 1:
            place = f"{place} * {phase.apart[axis]} + {phase.offset[axis]}"
        lines.append(f"const {kind} y{dim} = {place};")
    return Ending(
        target.arg,
        descriptor,
        lines,
        number,
        layer.attributes,
        layer.bias,
        ["y1"],
        _scaled(layer, channels),
        _place(descriptor) if phase is None or max(phase.apart) == 1 else "",
    )


def _place(tensor: Descriptor) -> str:
    """Where an element lies if its row says it: batch and spatial axes follow without gaps."""
    if not tensor.is_plain:
        return ""
    order = (0, *range(2, tensor.ndims))
    nest = gemm.merged([gemm.Axis(tensor.dims[dim], tensor.strides[dim]) for dim in order])
    if len(nest) > 1:
        return ""
    step = nest[0].left if nest else 0
    return f"{tensor.offset} + row * {step} + y1 * {tensor.strides[1]}"


def _scaled(layer: Layer, channels: int) -> list[tuple[int, Sequence[int], Sequence[str]]]:
    """The scales of the source, which is one number, and those of the weights, by output."""
    scales = layer.attributes.scales if layer.attributes is not None else {}
    found: list[tuple[int, Sequence[int], Sequence[str]]] = []
    if Arg.SRC in scales:
        found.append((Arg.SRC, (), ()))
    if Arg.WEIGHTS in scales:
        if scales[Arg.WEIGHTS].mask == 0:
            found.append((Arg.WEIGHTS, (), ()))
        else:
            dims = (layer.shape.groups, channels) if layer.with_groups else (channels,)
            group, output = f"y1 / {channels}", f"y1 % {channels}"
            at = (f"({group})", f"({output})") if layer.with_groups else ("y1",)
            found.append((Arg.WEIGHTS, dims, at))
    return found


def _weights_ending(layer: Layer, number: str) -> Ending:
    """Elements of the gradient of the weights: rows are places in the kernel, and inputs."""
    shape, descriptor = layer.shape, layer.weights.descriptor
    kind = indexing.index_type(descriptor)
    inputs = () if shape.is_depthwise else (shape.inputs,)
    names = ["p0", "p1", "p2", *(["input"] if inputs else [])]
    lines = indexing.coordinates("row", (*shape.kernel, *inputs), names, kind)
    group, output = ("column", "0") if shape.is_depthwise else ("batch", "column")
    wanted = [group, output, "input" if inputs else "0"]
    wanted = wanted if layer.with_groups else wanted[1:]
    spatial = descriptor.ndims - len(wanted)
    wanted += [f"p{3 - spatial + each}" for each in range(spatial)]
    lines += [f"const {kind} y{dim} = {text};" for dim, text in enumerate(wanted)]
    return Ending(layer.weights.arg, descriptor, lines, number)


def bias_gradient(arg: int, bias: Descriptor, tensor: Tensor) -> Launch:
    """The gradient of the bias: for each channel, the sum of a gradient over all else."""
    gradient = tensor.descriptor
    double = gradient.data_type == DataType.f64
    real = values.real(double)
    kernel = Kernel("bias_gradient")
    kernel.input(tensor.arg, gradient.data_type, "gradient")
    kernel.output(arg, bias.data_type, "target")
    kind = indexing.index_type(gradient)
    names = [f"y{dim}" for dim in range(gradient.ndims)]
    others = [dim for dim in range(gradient.ndims) if dim != 1]
    count = gradient.elements // max(1, gradient.dims[1])
    kernel.line(f"const {kind} y1 = get_global_id(0);")
    kernel.line(f"if (y1 >= {gradient.dims[1]}) return;")
    kernel.line(f"{real} sum = 0;")
    kernel.line(f"for ({kind} i = 0; i < {count}; i++) {{")
    dims = [gradient.dims[dim] for dim in others]
    kernel.extend(indexing.coordinates("i", dims, [names[dim] for dim in others], kind))
    place = indexing.offset(gradient, names)
    kernel.line(f"sum += {values.load(gradient.data_type, 'gradient', place, to=real)};")
    kernel.line("}")
    where = indexing.offset(bias, ["y1"])
    kernel.line(values.store(bias.data_type, "target", where, "sum", of=real))
    return kernel.launch(items=gradient.dims[1], group_size=16)
