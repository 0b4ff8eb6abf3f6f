"""Matmul as a product: rows of the source, columns of the weights, for each matrix of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from groundstate.dnn.attributes import Attributes, Quantization
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.kernels import indexing, products, words
from groundstate.dnn.kernels.gemm import Axis, Product, Tile
from groundstate.dnn.kernels.products import Ending, Operand
from groundstate.dnn.kernels.words import Word
from groundstate.dnn.plan import Plan
from groundstate.dnn.types import Arg

FEWEST_ROWS = 2
"""With no more rows than that, all that counts is to read the weights in the order of memory."""
FEW_ROWS = 24
"""With no more rows than that, packing the weights takes longer than reading them as they are."""

VECTOR_BLOCK = 8
"""Rows of weights that are read side by side if they are not used again, each in one piece."""


@dataclass(frozen=True)
class Matmul:
    """A matmul with all layouts known."""

    src: Descriptor
    weights: Descriptor
    bias: Descriptor | None
    dst: Descriptor
    attributes: Attributes
    tile: Tile

    @property
    def batch(self) -> tuple[int, ...]:
        return self.dst.dims[:-2]

    @property
    def number(self) -> str:
        """The type of the sums."""
        if self._scale_of_terms(Arg.SRC) or self._scale_of_terms(Arg.WEIGHTS):
            return "float"
        return products.number_of(self.src, self.weights)

    @cached_property
    def word(self) -> Word | None:
        """What the numbers of both sides are packed in, if the device multiplies such words."""
        if self._scale_of_terms(Arg.SRC) or self._scale_of_terms(Arg.WEIGHTS):
            return None
        shifts = self.attributes.zero_points
        sides = {"left": shifts.get(Arg.SRC), "right": shifts.get(Arg.WEIGHTS)}
        return words.chosen(self.tile.dots, self.src, self.weights, sides)

    def _scale_of_terms(self, arg: int) -> Quantization | None:
        """Scales that differ along what is summed up: they have to be applied before."""
        used = self.attributes.scales.get(arg)
        axis = self.dst.ndims - (1 if arg == Arg.SRC else 2)
        return used if used is not None and used.mask >> axis & 1 else None

    @property
    def is_shared(self) -> bool:
        """True if all matrices of the batch are multiplied with the same weights."""
        return all(size == 1 for size in self.weights.dims[:-2])

    def plan(self) -> Plan:
        """The launches."""
        if self._is_vector():
            return self._vector_plan()
        plan = Plan()
        left, right = self._left(), self._right()
        a, b = left.steps, right.steps
        batch = tuple(
            Axis(size, _step(a, self.src, dim), _step(b, self.weights, dim))
            for dim, size in enumerate(self.batch)
        )
        rows: tuple[Axis, ...] = (Axis(self.dst.dims[-2], a["m"]),)
        if self.is_shared:
            rows, batch = (*batch, *rows), ()
        depth = -(-self.src.dims[-1] // (self.word.count if self.word else 1))
        sums = (Axis(depth, a["k"], b["k"]),)
        columns = self.dst.dims[-1]
        product = Product(rows, columns, sums, b["panel"], batch, self.number, word=self.word)
        products.add(plan, product, left, right, self._ending(), self.tile)
        return plan

    def _is_vector(self) -> bool:
        """True if there are so few rows that weights are not used again."""
        weights = self.weights
        if self._scale_of_terms(Arg.WEIGHTS) or Arg.WEIGHTS in self.attributes.zero_points:
            return False
        usable = products.is_usable(weights, self.number) and weights.strides[-1] == 1
        fits = usable and weights.dims[-1] % self.tile.lanes == 0
        return fits and self.is_shared and prod(self.dst.dims[:-1]) <= FEWEST_ROWS

    def _vector_plan(self) -> Plan:
        """Rows of the product are pieces of a row of the weights, and work-items lie along them."""
        plan, lanes = Plan(), self.tile.lanes
        left, right = Operand(Arg.WEIGHTS, self.weights, {}), self._left()
        b, depth = right.steps, self.src.dims[-1]
        batch = tuple(Axis(size, 0, _step(b, self.src, dim)) for dim, size in enumerate(self.batch))
        product = Product(
            (Axis(self.dst.dims[-1] // lanes, lanes),),
            lanes,
            (Axis(depth, self.weights.strides[-2], b["k"]),),
            0,
            (*batch, Axis(self.dst.dims[-2], 0, b["m"])),
            self.number,
            is_lanewise=True,
            is_shared=True,
            block=VECTOR_BLOCK,
        )
        # Fewer groups than usual, so that each reads longer pieces.
        tile = self.tile._replace(groups=self.tile.groups // 2)
        products.add(plan, product, left, right, self._ending(is_vector=True), tile)
        return plan

    def _axes(self) -> list[str]:
        return [f"b{dim}" for dim in range(len(self.batch))]

    def _left(self) -> Operand:
        zero_point = self.attributes.zero_points.get(Arg.SRC)
        scale = self._scale_of_terms(Arg.SRC)
        if self.word:
            return self._left_words(self.word, zero_point)
        plain = products.is_usable(self.src, self.number) and zero_point is scale is None
        is_near = self.src.strides[-1:] == (1,) or self.src.dims[-2] <= self.tile.rows
        if plain and is_near:
            return products.in_place(Arg.SRC, self.src, [*self._axes(), "m", "k"])
        names = [*self._axes(), "m", "k"]
        return products.copied(
            Arg.SRC,
            self.src,
            dict(zip(names, self.src.dims, strict=True)),
            [f"{{{name}}}" for name in names],
            number=self.number,
            zero_point=zero_point,
            scale=scale,
        )

    def _left_words(self, word: Word, zero_point: Quantization | None) -> Operand:
        names = [*self._axes(), "m", "k"]
        found = products.words_of(Arg.SRC, self.src, word, names, "k")
        if found is None:
            axes = dict(zip(names, self.src.dims, strict=True))
            indices = [f"{{{name}}}" for name in names]
            found = products.copied_words(
                Arg.SRC, self.src, word, axes, indices, zero_point=zero_point
            )
        return replace(found, compensated=zero_point) if word.is_compensated else found

    def _right(self) -> Operand:
        zero_point = self.attributes.zero_points.get(Arg.WEIGHTS)
        scale = self._scale_of_terms(Arg.WEIGHTS)
        if zero_point is scale is None:
            found = self._panels_in_place()
            if found is not None:
                return found
        *batch, depth, columns = self.weights.dims
        return products.panels(
            Arg.WEIGHTS,
            self.weights,
            batches=dict(zip(self._axes(), batch, strict=True)),
            sums={"k": depth},
            columns={"n": columns},
            indices=[*(f"{{{name}}}" for name in self._axes()), "{k}", "{n}"],
            number=self.number,
            tile=self.tile,
            zero_point=zero_point,
            scale=scale,
            word=self.word,
        )

    def _words_in_place(self, word: Word) -> Operand | None:
        """Weights that lie in panels of words already."""
        lanes, weights = self.tile.lanes, self.weights
        tag = packed_tag(weights.ndims, lanes, in_words=True)
        if not tag or not word.packs(weights) or not weights.is_blocked:
            return None
        if not word.packed(weights, tag).same_as(weights):
            return None
        steps = dict(zip((*self._axes(), "", "panel"), weights.strides, strict=True))
        steps = {name: step // word.count for name, step in steps.items()}
        return Operand(Arg.WEIGHTS, weights, {**steps, "k": lanes})

    def _panels_in_place(self) -> Operand | None:
        """Weights that lie in panels already, or nearly so."""
        lanes, weights = self.tile.lanes, self.weights
        if self.word:
            return self._words_in_place(self.word)
        if weights.data_type != products.NUMBER_TYPES[self.number] or not weights.is_blocked:
            return None
        steps = dict(zip(self._axes(), weights.strides, strict=False))
        tag = packed_tag(weights.ndims, lanes)
        if tag and Descriptor.tagged(weights.dims, weights.data_type, tag).same_as(weights):
            return Operand(
                Arg.WEIGHTS, weights, {**steps, "k": lanes, "panel": weights.strides[-1]}
            )
        rows = self.dst.elements // self.dst.dims[-1]
        fits = weights.is_plain and weights.strides[-1] == 1 and weights.dims[-1] % lanes == 0
        if fits and rows <= FEW_ROWS:
            return Operand(
                Arg.WEIGHTS, weights, {**steps, "k": weights.strides[-2], "panel": lanes}
            )
        return None

    def _ending(self, *, is_vector: bool = False) -> Ending:
        names = [f"y{dim}" for dim in range(self.dst.ndims)]
        kind = indexing.index_type(self.dst)
        where, inner = ("row", self.dst.dims[:-1]) if self.is_shared else ("batch", self.batch)
        where = "batch" if is_vector else where
        lines = indexing.coordinates(where, inner, names[: len(inner)], kind)
        if not self.is_shared:
            lines.append(f"const {kind} {names[-2]} = row;")
        column = f"row * {self.tile.lanes} + column" if is_vector else "column"
        lines.append(f"const {kind} {names[-1]} = {column};")
        scaled = []
        for arg, tensor in ((Arg.SRC, self.src), (Arg.WEIGHTS, self.weights)):
            if arg in self.attributes.scales and not self._scale_of_terms(arg):
                at = [
                    name if size > 1 else "0" for name, size in zip(names, tensor.dims, strict=True)
                ]
                at[-1 if arg == Arg.SRC else -2] = "0"
                scaled.append((int(arg), tensor.dims, at))
        return Ending(
            Arg.DST, self.dst, lines, self.number, self.attributes, self.bias, names, scaled
        )


def _step(steps: Mapping[str, int], tensor: Descriptor, dim: int) -> int:
    """From one matrix of a batch to the next; all are the same one if there is only one."""
    return 0 if tensor.dims[dim] == 1 else steps[f"b{dim}"]


def packed_tag(ndims: int, lanes: int, *, in_words: bool = False) -> str:
    """The layout of weights that lie in panels; none for batches of more than one axis.

    `{n}` stands for the numbers of a word.
    """
    plain = {2: f"BA16a{lanes}b", 3: f"aCB16b{lanes}c"}.get(ndims, "")
    inside = {2: "{n}a", 3: "{n}b"}.get(ndims, "")
    return plain + inside if in_words else plain
