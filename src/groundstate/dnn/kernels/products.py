"""A product as launches: the copies of its operands, as far as they are needed, and the product.

An operand is described by its axes, by name. Where it lies in memory in a way that the product can
walk along, it is used as it is; else it is copied, axis by axis in the order of the names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from groundstate.dnn.attributes import Attributes, Quantization
from groundstate.dnn.descriptor import Descriptor, dense_strides
from groundstate.dnn.engine import Engine
from groundstate.dnn.kernels import gemm, indexing, operands, tiles, values, words
from groundstate.dnn.kernels.epilogue import Epilogue, Quantized
from groundstate.dnn.kernels.gemm import Product, Tile
from groundstate.dnn.kernels.operands import Copy
from groundstate.dnn.kernels.text import Kernel
from groundstate.dnn.kernels.words import Word
from groundstate.dnn.plan import Plan
from groundstate.dnn.types import Arg, DataType

NUMBERS = {DataType.f64: "double", DataType.s8: "int", DataType.u8: "int", DataType.s32: "int"}
"""What is summed up in; everything else in single precision."""
NUMBER_BYTES = {"float": 4, "int": 4, "double": 8, "short": 2, "ushort": 2, "uchar": 1, "char": 1}
GROUPS_OF_CORE = 8
"""So that all cores are busy until nearly the end."""
LARGEST = {DataType.s8: 128, DataType.u8: 255}
EXACT_FLOATS = 1 << 24
"""Up to here single precision holds every integer."""
NUMBER_TYPES = {"float": DataType.f32, "int": DataType.s32, "double": DataType.f64}


@dataclass(frozen=True)
class Operand:
    """One side of a product: where its elements are along each of its axes."""

    arg: int
    tensor: Descriptor
    steps: Mapping[str, int]
    """Elements from one index to the next, for each axis."""
    copy: Copy | None = None
    zero_point: Quantization | None = None
    scale: Quantization | None = None
    """Applied to the copy, because it differs between the terms of a sum."""
    compensated: Quantization | None = None
    """A zero point that is subtracted from the sums."""


def number_of(left: Descriptor, right: Descriptor) -> str:
    """The type of the sums of products of two tensors."""
    number = NUMBERS.get(left.data_type, "float")
    whole = number == "int" and NUMBERS.get(right.data_type, "float") == "int"
    return "float" if number == "int" and not whole else number


def is_usable(tensor: Descriptor, number: str) -> bool:
    """True if a product can read a tensor where it lies."""
    return tensor.is_plain and tensor.data_type == NUMBER_TYPES[number]


def words_of(
    tensor_arg: int, tensor: Descriptor, word: Word, axes: Sequence[str], axis: str
) -> Operand | None:
    """A left operand whose words are read where they lie, if they can be."""
    if not words.is_usable(word, tensor, axes.index(axis)):
        return None
    found = in_place(tensor_arg, tensor, axes)
    return replace(found, steps=words.in_words(word, found.steps, axis))


def copied_words(
    arg: int,
    tensor: Descriptor,
    word: Word,
    axes: Mapping[str, int],
    indices: Sequence[str],
    conditions: Sequence[str] = (),
    *,
    zero_point: Quantization | None = None,
) -> Operand:
    """A dense copy of a left operand; its words lie along the last of its axes."""
    *_, axis = axes
    count = axes[axis]
    padded = -(-count // word.count) * word.count
    if padded > count:
        conditions = [*conditions, f"{{{axis}}} < {count}"]
    found = copied(
        arg,
        tensor,
        {**axes, axis: padded},
        indices,
        conditions,
        number=word.left,
        zero_point=None if word.is_compensated else zero_point,
    )
    assert found.copy is not None
    copy = replace(found.copy, fill=word.moved)
    return replace(found, steps=words.in_words(word, found.steps, axis), copy=copy)


def in_place(arg: int, tensor: Descriptor, axes: Sequence[str]) -> Operand:
    """A tensor that is used as it is; its dimensions are axes."""
    return Operand(arg, tensor, dict(zip(axes, tensor.strides, strict=True)))


def copied(
    arg: int,
    tensor: Descriptor,
    axes: Mapping[str, int],
    indices: Sequence[str],
    conditions: Sequence[str] = (),
    *,
    number: str,
    zero_point: Quantization | None = None,
    scale: Quantization | None = None,
) -> Operand:
    """A dense copy with the given axes; `{name}` in an index stands for that along an axis."""
    places = {name: f"i{number}" for number, name in enumerate(axes)}
    copy = Copy(
        tensor,
        tuple(axes.values()),
        tuple(text.format(**places) for text in indices),
        tuple(text.format(**places) for text in conditions),
        number,
    )
    steps = dict(zip(axes, dense_strides(copy.counts), strict=True))
    return Operand(arg, tensor, steps, copy, zero_point, scale)


def column_texts(columns: Mapping[str, int], lanes: int) -> tuple[dict[str, str], list[str]]:
    """The indices along the axes that make up the columns of panels, and when there are any."""
    column = f"({{panel}} * {lanes} + {{lane}})"
    texts, step = {}, 1
    for position, (name, count) in enumerate(reversed(list(columns.items()))):
        quotient = column if step == 1 else f"({column} / {step})"
        is_slowest = position == len(columns) - 1
        texts[name] = quotient if is_slowest else f"({quotient} % {count})"
        step *= count
    return texts, [f"{column} < {step}"] if step % lanes else []


def panels(
    arg: int,
    tensor: Descriptor,
    *,
    batches: Mapping[str, int],
    sums: Mapping[str, int],
    columns: Mapping[str, int],
    indices: Sequence[str],
    number: str,
    tile: Tile,
    zero_point: Quantization | None = None,
    scale: Quantization | None = None,
    word: Word | None = None,
) -> Operand:
    """The right operand of a product, in panels as wide as a group.

    The words of a panel lie along the last axis of the sums.
    """
    texts, conditions = column_texts(columns, tile.lanes)
    count = -(-prod(columns.values()) // tile.lanes)
    axes = {**batches, "panel": count, **sums, "lane": tile.lanes}
    *_, axis = sums
    if word:
        texts[axis] = f"({{{axis}}} * {word.count} + {{in_word}})"
        if sums[axis] % word.count:
            conditions.append(f"{texts[axis]} < {sums[axis]}")
        axes |= {axis: -(-sums[axis] // word.count), "in_word": word.count}
        number = word.right
    names = {name: texts.get(name, f"{{{name}}}") for name in (*axes, *columns)}
    chosen = [text.format(**names) for text in indices]
    found = copied(
        arg, tensor, axes, chosen, conditions, number=number, zero_point=zero_point, scale=scale
    )
    if word is None:
        return found
    return replace(found, steps={name: step // word.count for name, step in found.steps.items()})


def add(
    plan: Plan,
    product: Product,
    left: Operand,
    right: Operand,
    finish: Callable[[Kernel], Sequence[str]],
    tile: Tile,
) -> None:
    """Adds the launches of a product to a plan. `finish` declares what its lines need."""
    if _fits_floats(product, left, right, tile):
        left, right = _as_floats(left), _as_floats(right)
        product = replace(product, number="float", total="int")
    kernel, word = Kernel("product"), product.word
    moved = word.moved if word else 0
    for side, operand in (("left", left), ("right", right)):
        name = f"{side}_numbers" if word else side
        if operand.copy is None:
            kernel.input(operand.arg, operand.tensor.data_type, name)
            if operand.tensor.offset:
                kernel.line(f"{name} += {operand.tensor.offset};")
        else:
            place = _add_copy(plan, operand, f"copy_{side}", moved if side == "left" else 0)
            kernel.scratch(place, f"const {operand.copy.number}", name)
        if word:
            kernel.line(f"global const gs_word *{side} = (global const gs_word *){name};")
    if word:
        kernel.functions += [words.TYPE, word.declaration]
        product = replace(product, shift=_shift(kernel, left, moved))
    lines, cut = finish(kernel), tiles.tiling(product, tile)
    if cut is not None:
        plan.launches.append(tiles.launch(kernel, product, lines, tile, cut))
    else:
        plan.launches.append(gemm.launch(kernel, product, lines, tile))


def _shift(kernel: Kernel, left: Operand, moved: int) -> str:
    """By how much the numbers of a left operand in words are too large; empty if they are not."""
    shift = str(moved) if moved else ""
    if left.compensated is None:
        return shift
    used = Quantized(kernel, left.arg, left.compensated, left.tensor.dims, Arg.ATTR_ZERO_POINTS)
    return f"({shift or '0'} + {used.at([], 'int')})"


def _fits_floats(product: Product, left: Operand, right: Operand, tile: Tile) -> bool:
    """True if the sums of a block are integers that single precision holds exactly.

    Machines multiply and add such numbers several times as fast as integers of 32 bits.
    """
    if product.number != "int" or product.word:
        return False
    largest = _largest(left) * _largest(right) * gemm.longest_block(product, tile)
    return 0 < largest <= EXACT_FLOATS


def _largest(operand: Operand) -> int:
    """How large an integer of an operand gets, whatever its sign; 0 if nobody knows."""
    zero_point = operand.zero_point
    if operand.copy is None or operand.scale is not None:
        return 0
    if zero_point is not None and zero_point.data_type not in LARGEST:
        return 0
    return LARGEST.get(operand.tensor.data_type, 0) if zero_point is None else 255


def _as_floats(operand: Operand) -> Operand:
    assert operand.copy is not None
    return replace(operand, copy=replace(operand.copy, number="float"))


def _add_copy(plan: Plan, operand: Operand, name: str, moved: int) -> int:
    """Adds the launch that copies an operand; returns where in the scratchpad the copy is."""
    copy = operand.copy
    assert copy is not None
    place = plan.scratch(copy.elements * NUMBER_BYTES[copy.number])
    if copy.elements == 0:
        return place
    kernel = Kernel(name)
    kernel.input(operand.arg, operand.tensor.data_type, "tensor")
    kernel.scratch(place, copy.number, "copy")
    names = [f"x{dim}" for dim in range(operand.tensor.ndims)]
    value, dims = "value", operand.tensor.dims
    if operand.zero_point is not None:
        used = Quantized(kernel, operand.arg, operand.zero_point, dims, Arg.ATTR_ZERO_POINTS)
        value = f"({value} - {used.at(names, copy.number)})"
    if operand.scale is not None:
        used = Quantized(kernel, operand.arg, operand.scale, dims, Arg.ATTR_SCALES)
        value = f"({value} * {used.at(names, copy.number)})"
    if moved:
        value = f"({value} ^ {moved})"
    plan.launches.append(operands.launch(kernel, copy, value))
    return place


@dataclass(frozen=True)
class Ending:
    """How the sums of a product become the elements of a tensor."""

    arg: int
    tensor: Descriptor
    coordinates: Sequence[str]
    """Statements that say where in the tensor: `y0`, `y1`, ..."""
    number: str
    attributes: Attributes | None = None
    bias: Descriptor | None = None
    bias_at: Sequence[str] = ()
    scaled: Sequence[tuple[int, Sequence[int], Sequence[str]]] = ()
    """Arguments whose scales multiply the sum: their dimensions, and the coordinates there."""
    place: str = ""
    """Where the element lies, if there is a shorter way to say so than by its coordinates."""

    def __call__(self, kernel: Kernel) -> list[str]:
        """Declares the parameters and returns the lines."""
        names = [f"y{dim}" for dim in range(self.tensor.ndims)]
        index = indexing.index_type(self.tensor)
        place = self.place or indexing.offset(self.tensor, names)
        kernel.output(self.arg, self.tensor.data_type, "target")
        lines = [*self.coordinates, f"const {index} place = {place};"]
        double = self.number == "double"
        attributes = self.attributes or Attributes()
        if self._is_exact(attributes):
            return [*lines, "target[place] = acc;"]
        real = values.real(double)
        lines.append(f"{real} sum = ({real})acc;")
        for arg, dims, at in self.scaled:
            used = Quantized(kernel, arg, attributes.scales[arg], dims, Arg.ATTR_SCALES)
            lines.append(f"sum *= {used.at(at, real)};")
        if self.bias is not None:
            kernel.input(Arg.BIAS, self.bias.data_type, "bias")
            where = indexing.offset(self.bias, self.bias_at, broadcast=True)
            lines.append(f"sum += {values.load(self.bias.data_type, 'bias', where, to=real)};")
        end = Epilogue(kernel, attributes, self.tensor, target_arg=self.arg, double=double)
        return [*lines, *end.lines(names, "target", "place", "sum")]

    def _is_exact(self, attributes: Attributes) -> bool:
        """True if a sum is written as it is, without a detour through floating point."""
        if self.number != "int" or self.tensor.data_type != DataType.s32:
            return False
        quantised = attributes.scales or attributes.zero_points or len(attributes.post_ops)
        return self.bias is None and not quantised


def tile_of(engine: Engine) -> Tile:
    """The tile that fills the vector registers of a device: 16 of 8 numbers, or 32 of 16."""
    about = engine.properties
    cores = about.numSlices * about.numSubslicesPerSlice * about.numEUsPerSubslice
    groups = GROUPS_OF_CORE * max(1, cores)
    wide = about.physicalEUSimdWidth >= 16
    return Tile(32 if wide else 16, 12 if wide else 6, groups, engine.dots)
