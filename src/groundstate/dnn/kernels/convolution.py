"""Convolutions as products, forward and backward, with one to three spatial axes.

The image is laid out with its channels last and with its padding, so that every window is a place
and fixed steps from there: rows of the product are the windows, its sums go over the kernel and the
channels. Its gradient is a convolution again, of the gradient of the result, with the kernel turned
around. With strides it is one for each phase: of every so many elements of the image, and of the
kernel those that meet them. For the gradient of the weights, rows are the places in the kernel and
sums go over the windows.

In a depthwise convolution each channel is on its own: work-items have channels of the image, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from groundstate.dnn.attributes import Quantization
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.kernels import products
from groundstate.dnn.kernels.gemm import Axis, Product, Tile
from groundstate.dnn.kernels.products import Operand
from groundstate.dnn.kernels.words import Word

Triple = tuple[int, int, int]
SPACE = range(3)


@dataclass(frozen=True)
class Shape:
    """The sizes of a convolution, for three spatial axes; those that are missing are of size 1."""

    batch: int
    groups: int
    inputs: int
    """Channels of the image in each group."""
    outputs: int
    image: Triple
    kernel: Triple
    result: Triple
    strides: Triple
    steps: Triple
    """From one element of the kernel to the next: 1 if it is not dilated."""
    padding: Triple

    @property
    def is_depthwise(self) -> bool:
        return self.groups > 1 and self.inputs == self.outputs == 1

    def window(self, axis: int) -> int:
        """How far a kernel reaches along an axis."""
        return (self.kernel[axis] - 1) * self.steps[axis] + 1


MOST_PHASES = 16
WORTH_PHASES = 1 << 20
"""Each phase has kernels to compile, so there have to be this many products at least."""


@dataclass(frozen=True)
class Phase:
    """Elements of an image that meet the same elements of a kernel when it moves by its strides."""

    shape: Shape
    """The convolution that these elements take part in, without strides."""
    offset: Triple = (0, 0, 0)
    """The first of the elements."""
    apart: Triple = (1, 1, 1)
    """How far they, and those of the kernel, are apart."""
    first: Triple = (0, 0, 0)
    """The first element of the kernel that they meet."""


def phases(shape: Shape) -> list[Phase]:
    """The phases of an image; one, with the strides in it, where taking it apart does not pay.

    >>> sizes = (1, 1, 600), (1, 1, 3), (1, 1, 300), (1, 1, 2), (1, 1, 1), (0, 0, 1)
    >>> found = phases(Shape(1, 1, 64, 64, *sizes))
    >>> [(each.shape.kernel[2], each.shape.padding[2], each.first[2]) for each in found]
    [(1, 0, 1), (2, 1, 0)]
    """
    dilated = any(shape.strides[j] > 1 and shape.steps[j] > 1 for j in SPACE)
    channels = shape.groups * shape.inputs * shape.outputs
    count = shape.batch * channels * prod(shape.image) * prod(shape.kernel)
    if dilated or count < WORTH_PHASES or not 1 < prod(shape.strides) <= MOST_PHASES:
        return [Phase(shape)]
    found = (_phase(shape, offset) for offset in product(*(range(n) for n in shape.strides)))
    return [each for each in found if 0 not in each.shape.image]


def _phase(shape: Shape, offset: Sequence[int]) -> Phase:
    strides = shape.strides
    first = [(offset[j] + shape.padding[j]) % strides[j] for j in SPACE]
    kernel = [max(0, -(-(shape.kernel[j] - first[j]) // strides[j])) for j in SPACE]
    inside = [max(0, -(-(shape.image[j] - offset[j]) // strides[j])) for j in SPACE]
    padding = [(offset[j] + shape.padding[j]) // strides[j] for j in SPACE]
    part = replace(
        shape,
        image=_triple(inside),
        kernel=_triple(kernel),
        strides=(1, 1, 1),
        padding=_triple(padding),
    )
    return Phase(part, _triple(offset), strides, _triple(first))


def _triple(sizes: Sequence[int]) -> Triple:
    one, two, three = sizes
    return one, two, three


@dataclass(frozen=True)
class Tensor:
    """A tensor of the convolution: its argument, its descriptor, how it is quantised."""

    arg: int
    descriptor: Descriptor
    zero_point: Quantization | None = None


def image_words(shape: Shape, tensor: Tensor, word: Word) -> Operand:
    """The image with its padding, like `image`, in words of neighbouring channels."""
    spatial = [f"x{j}" for j in SPACE][5 - tensor.descriptor.ndims :]
    if all(_is_inside(shape)):
        names = ["n", "c", *spatial]
        found = products.words_of(tensor.arg, tensor.descriptor, word, names, "c")
        if found is not None:
            return replace(found, steps={"x0": 0, "x1": 0, "x2": 0, **found.steps})
    axes, at, conditions = _padded(shape, shape.groups * shape.inputs)
    indices = ["{n}", "{c}", *_spatial(tensor.descriptor, at)]
    return products.copied_words(
        tensor.arg,
        tensor.descriptor,
        word,
        axes,
        indices,
        conditions,
        zero_point=tensor.zero_point,
    )


def _reach(shape: Shape, axis: int) -> int:
    """How much of an image all windows cover along an axis, with its padding."""
    return (shape.result[axis] - 1) * shape.strides[axis] + shape.window(axis)


def _is_inside(shape: Shape) -> list[bool]:
    """For each spatial axis, whether all windows lie inside the image."""
    return [shape.padding[j] == 0 and _reach(shape, j) <= shape.image[j] for j in SPACE]


def _padded(shape: Shape, channels: int) -> tuple[dict[str, int], list[str], list[str]]:
    """An image with its padding: its axes, the indices in the image, and when they are in it."""
    inside = _is_inside(shape)
    at = [f"{{x{j}}} - {shape.padding[j]}" for j in SPACE]
    conditions = [f"{at[j]} >= 0 && {at[j]} < {shape.image[j]}" for j in SPACE if not inside[j]]
    axes = {"n": shape.batch, **{f"x{j}": _reach(shape, j) for j in SPACE}, "c": channels}
    return axes, at, conditions


def _spatial(tensor: Descriptor, texts: list[str]) -> list[str]:
    """The indices along the spatial axes that a tensor has."""
    missing = 5 - tensor.ndims
    return texts[missing:]


def image(shape: Shape, tensor: Tensor, number: str, lanes: int) -> Operand:
    """The image with its padding: axes `n`, `x0`, `x1`, `x2`, `c`."""
    plain = products.is_usable(tensor.descriptor, number) and tensor.zero_point is None
    channels = shape.groups * shape.inputs
    padded = -(-channels // lanes) * lanes if shape.is_depthwise else channels
    inside = all(_is_inside(shape))
    if plain and inside and padded == channels and not _is_scattered(shape, tensor):
        return _used(tensor)
    axes, at, conditions = _padded(shape, padded)
    if padded > channels:
        conditions.append(f"{{c}} < {channels}")
    return _copy(tensor, axes, at, conditions, number)


def _is_scattered(shape: Shape, tensor: Tensor) -> bool:
    """True if the channels of an image lie so far apart that a copy is faster."""
    if shape.is_depthwise:
        return tensor.descriptor.strides[1] != 1
    return tensor.descriptor.strides[1] != 1 and prod(shape.kernel) > 1


def spread_gradient(shape: Shape, tensor: Tensor, number: str, lanes: int) -> Operand:
    """The gradient of the result as an image: with gaps where strides skipped, and around it."""
    reach = [shape.image[j] - 1 + shape.window(j) for j in SPACE]
    is_plain = all(
        shape.kernel[j] == shape.strides[j] == 1
        and shape.padding[j] == 0
        and shape.image[j] == shape.result[j]
        for j in SPACE
    )
    channels = shape.groups * shape.outputs
    padded = -(-channels // lanes) * lanes if shape.is_depthwise else channels
    usable = products.is_usable(tensor.descriptor, number) and tensor.zero_point is None
    if usable and is_plain and padded == channels and not _is_scattered(shape, tensor):
        return _used(tensor)
    at, conditions = [], []
    for j in SPACE:
        place = f"({{x{j}}} + {shape.padding[j] - shape.window(j) + 1})"
        conditions.append(f"{place} >= 0 && {place} / {shape.strides[j]} < {shape.result[j]}")
        if shape.strides[j] > 1:
            conditions.append(f"{place} % {shape.strides[j]} == 0")
        at.append(f"{place} / {shape.strides[j]}")
    if padded > channels:
        conditions.append(f"{{c}} < {channels}")
    axes = {"n": shape.batch, **{f"x{j}": reach[j] for j in SPACE}, "c": padded}
    return _copy(tensor, axes, at, conditions, number)


def _used(tensor: Tensor) -> Operand:
    spatial = [f"x{j}" for j in SPACE][5 - tensor.descriptor.ndims :]
    found = products.in_place(tensor.arg, tensor.descriptor, ["n", "c", *spatial])
    steps = {"x0": 0, "x1": 0, "x2": 0, **found.steps}
    return Operand(tensor.arg, tensor.descriptor, steps)


def _copy(
    tensor: Tensor, axes: dict[str, int], at: list[str], conditions: list[str], number: str
) -> Operand:
    indices = ["{n}", "{c}", *_spatial(tensor.descriptor, at)]
    return products.copied(
        tensor.arg,
        tensor.descriptor,
        axes,
        indices,
        conditions,
        number=number,
        zero_point=tensor.zero_point,
    )


# --- Weights --------------------------------------------------------------------------------------


def packed_tag(ndims: int, with_groups: bool, lanes: int, *, in_words: bool = False) -> str:
    """The layout of weights that a product can walk along: panels of outputs, inputs inside.

    `{n}` stands for the numbers of a word.
    """
    spatial = "cdefgh"[with_groups : ndims - 2][: ndims - 2 - with_groups]
    if in_words:
        return f"aB{spatial}C{lanes}b{{n}}c" if with_groups else f"A{spatial}B{lanes}a{{n}}b"
    if with_groups:
        return f"aB{spatial}c{lanes}b"
    return f"A{spatial}b{lanes}a"


def weights(
    phase: Phase,
    tensor: Tensor,
    with_groups: bool,
    number: str,
    tile: Tile,
    *,
    backward: bool,
    word: Word | None = None,
) -> Operand:
    """The weights in panels of outputs, or of inputs for the gradient of the image."""
    shape, descriptor = phase.shape, tensor.descriptor
    lanes = tile.lanes
    if word and word.packs(descriptor):
        tag = packed_tag(descriptor.ndims, with_groups, lanes, in_words=True)
        if word.packed(descriptor, tag).same_as(descriptor):
            return _packed(replace(shape, inputs=word_count(shape, word)), tensor, lanes)
    if not word and not backward and not shape.is_depthwise and tensor.zero_point is None:
        packed = Descriptor.tagged(
            descriptor.dims,
            products.NUMBER_TYPES[number],
            packed_tag(descriptor.ndims, with_groups, lanes),
        )
        if packed.same_as(descriptor):
            return _packed(shape, tensor, lanes)
    kernel = {f"k{j}": shape.kernel[j] for j in SPACE}
    at = [f"{{k{j}}}" for j in SPACE]
    if backward:
        last = [phase.first[j] + phase.apart[j] * (shape.kernel[j] - 1) for j in SPACE]
        at = [f"{last[j]} - {phase.apart[j]} * {{k{j}}}" for j in SPACE]
    channels = {"i": shape.inputs, "o": shape.outputs}
    column = "i" if backward else "o"
    other = "o" if backward else "i"
    groups: dict[str, int] = {"g": shape.groups}
    columns, sums = {column: channels[column]}, {**kernel, other: channels[other]}
    names = ["{g}", "{o}", "{i}"]
    if shape.is_depthwise:
        groups, columns, sums, names = {}, {"g": shape.groups}, kernel, ["{g}", "0", "0"]
    spatial = at[5 - (descriptor.ndims - with_groups) :]
    return products.panels(
        tensor.arg,
        descriptor,
        batches=groups,
        sums=sums,
        columns=columns,
        indices=[*(names if with_groups else names[1:]), *spatial],
        number=number,
        tile=tile,
        zero_point=tensor.zero_point,
        word=word,
    )


def word_count(shape: Shape, word: Word) -> int:
    """How many words the inputs of a group take up."""
    return -(-shape.inputs // word.count)


def _packed(shape: Shape, tensor: Tensor, lanes: int) -> Operand:
    steps, step = {"lane": 1, "i": lanes}, shape.inputs * lanes
    for j in reversed(SPACE):
        steps[f"k{j}"] = step
        step *= shape.kernel[j]
    steps["panel"] = step
    steps["g"] = step * -(-shape.outputs // lanes)
    return Operand(tensor.arg, tensor.descriptor, steps)


# --- Products -------------------------------------------------------------------------------------


def forward(shape: Shape, left: Operand, right: Operand, number: str) -> Product:
    """Rows are the windows, columns the outputs."""
    a, b = left.steps, right.steps
    rows = (
        Axis(shape.batch, a["n"]),
        *(Axis(shape.result[j], a[f"x{j}"] * shape.strides[j]) for j in SPACE),
    )
    return _over_kernel(shape, rows, (a, b), ("i", shape.inputs), shape.outputs, number)


def backward_data(shape: Shape, left: Operand, right: Operand, number: str) -> Product:
    """Rows are the elements of the image, columns the inputs."""
    a, b = left.steps, right.steps
    rows = (Axis(shape.batch, a["n"]), *(Axis(shape.image[j], a[f"x{j}"]) for j in SPACE))
    return _over_kernel(shape, rows, (a, b), ("o", shape.outputs), shape.inputs, number)


def _over_kernel(
    shape: Shape,
    rows: tuple[Axis, ...],
    steps: tuple[Mapping[str, int], Mapping[str, int]],
    channels: tuple[str, int],
    columns: int,
    number: str,
) -> Product:
    """A product whose sums go over the kernel and the channels of a group."""
    a, b = steps
    name, count = channels
    sums = tuple(Axis(shape.kernel[j], a[f"x{j}"] * shape.steps[j], b[f"k{j}"]) for j in SPACE)
    if shape.is_depthwise:
        return Product(rows, shape.groups, sums, b["panel"], (), number, is_lanewise=True)
    sums = (*sums, Axis(count, a["c"], b[name]))
    batches = (Axis(shape.groups, a["c"] * count, b["g"]),)
    return Product(rows, columns, sums, b["panel"], batches, number)


def gradient_panels(shape: Shape, tensor: Tensor, number: str, tile: Tile) -> Operand:
    """The gradient of the result in panels of outputs, over all windows."""
    windows = {"n": shape.batch, **{f"x{j}": shape.result[j] for j in SPACE}}
    groups, columns = {"g": shape.groups}, {"o": shape.outputs}
    channel = f"{{g}} * {shape.outputs} + {{o}}"
    if shape.is_depthwise:
        groups, columns, channel = {}, {"g": shape.groups}, "{g}"
    indices = ["{n}", channel, *_spatial(tensor.descriptor, [f"{{x{j}}}" for j in SPACE])]
    return products.panels(
        tensor.arg,
        tensor.descriptor,
        batches=groups,
        sums=windows,
        columns=columns,
        indices=indices,
        number=number,
        tile=tile,
    )


def backward_weights(shape: Shape, left: Operand, right: Operand, number: str) -> Product:
    """Rows are the places in the kernel and the inputs, columns the outputs."""
    a, b = left.steps, right.steps
    rows = tuple(Axis(shape.kernel[j], a[f"x{j}"] * shape.steps[j]) for j in SPACE)
    sums = (
        Axis(shape.batch, a["n"], b["n"]),
        *(Axis(shape.result[j], a[f"x{j}"] * shape.strides[j], b[f"x{j}"]) for j in SPACE),
    )
    if shape.is_depthwise:
        return Product(rows, shape.groups, sums, b["panel"], (), number, is_lanewise=True)
    rows = (*rows, Axis(shape.inputs, a["c"]))
    batches = (Axis(shape.groups, a["c"] * shape.inputs, b["g"]),)
    return Product(rows, shape.outputs, sums, b["panel"], batches, number)
