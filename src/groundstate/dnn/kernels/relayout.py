"""Copies from one layout to another, along axes that are plain steps in both.

Blocks cut a dimension into digits, and so does the other layout's. With all cuts of both, each
digit is an axis with a fixed step in the source and in the target. Work-items lie along the axis
whose elements are neighbours in the target, and their rows along the one whose elements are
neighbours in the source: what is read of a line of the cache is used while it is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from groundstate.dnn.descriptor import SIZES, Descriptor
from groundstate.dnn.kernels import indexing, values
from groundstate.dnn.kernels.text import Kernel
from groundstate.dnn.plan import Launch
from groundstate.dnn.types import DataType

LANES = 16
FEW = 8
"""Along an axis with fewer elements than that, most lanes would be idle."""
ROWS = 32
"""Rows of work-items in a group. They take the place of a loop, in which a compiler could not tell
that an element is written once."""


@dataclass(frozen=True)
class Digit:
    """An axis of both layouts: what one step along it means."""

    dim: int
    weight: int
    """How far in the dimension."""
    count: int
    source: int
    """How far in the source, in elements."""
    target: int


def _cuts(tensor: Descriptor, dim: int) -> list[int]:
    """The products of the blocks of a dimension, from the innermost on, with 1 before them."""
    found = [1]
    for size, each in reversed(tensor.inner_blocks):
        if each == dim:
            found.append(found[-1] * size)
    return found


def _step(tensor: Descriptor, dim: int, weight: int) -> int:
    """How far apart elements are that differ by a weight in a dimension, which is inside a cut."""
    inner, below = 1, 1
    for size, each in reversed(tensor.inner_blocks):
        if each == dim:
            if weight < below * size:
                return inner * (weight // below)
            below *= size
        inner *= size
    return tensor.strides[dim] * (weight // below)


def digits(source: Descriptor, target: Descriptor) -> list[Digit] | None:
    """The axes of both layouts; None if their blocks do not go into each other."""
    found = []
    for dim in range(target.ndims):
        cuts = sorted({*_cuts(source, dim), *_cuts(target, dim)})
        if any(large % small for small, large in pairwise(cuts)):
            return None
        sizes = [large // small for small, large in pairwise(cuts)]
        sizes.append(-(-target.padded_dims[dim] // cuts[-1]))
        for weight, count in zip(cuts, sizes, strict=True):
            if count > 1 or weight == 1:
                steps = (_step(each, dim, weight) for each in (source, target))
                found.append(Digit(dim, weight, count, *steps))
    return found


def _merged(found: Sequence[Digit], bounded: set[int]) -> list[Digit]:
    """As few axes as possible, in the order of the target; the fastest is the last.

    Those of a dimension that a condition looks at stay as they are.
    """
    ordered = sorted(found, key=lambda each: (-each.target, -each.count))
    nest: list[Digit] = []
    for digit in ordered:
        if digit.count == 1 and digit.dim not in bounded:
            continue
        outer = nest[-1] if nest else None
        steps = (digit.count * digit.source, digit.count * digit.target)
        free = outer is not None and not {outer.dim, digit.dim} & bounded
        if outer is not None and free and (outer.source, outer.target) == steps:
            nest[-1] = replace(digit, count=outer.count * digit.count)
        else:
            nest.append(digit)
    return nest


class Relayout:
    """A kernel that copies every element; what to do with it is the caller's."""

    def __init__(self, kernel: Kernel, source: Descriptor, target: Descriptor) -> None:
        self.kernel, self.source, self.target = kernel, source, target
        found = digits(source, target)
        assert found is not None
        covered = [
            prod(each.count for each in found if each.dim == dim) for dim in range(target.ndims)
        ]
        self.ragged = {dim for dim in range(target.ndims) if covered[dim] > target.dims[dim]}
        self.outside = {dim for dim in self.ragged if covered[dim] > target.padded_dims[dim]}
        self.nest = _merged(found, self.ragged) or found[:1]
        self.kind = "long"  # an index that may wrap would hide that addresses are at fixed steps
        self.lane_axis, self.row_axis = self._axes()
        self.rest = [
            place for place in range(len(self.nest)) if place not in (self.lane_axis, self.row_axis)
        ]

    def _axes(self) -> tuple[int, int]:
        """The axis that lanes lie along, and that of their rows; -1 if there is none."""
        places = range(len(self.nest))
        wide = [place for place in places if self.nest[place].count >= FEW] or list(places)
        lanes = min(wide, key=lambda place: self.nest[place].target)
        others = [place for place in places if place != lanes]
        if not others:
            return lanes, -1
        return lanes, min(others, key=lambda place: (self.nest[place].source, place))

    @property
    def row_count(self) -> int:
        return self.nest[self.row_axis].count if self.row_axis >= 0 else 1

    @property
    def goes_in_fours(self) -> bool:
        """True if four neighbours in the source are read at once."""
        if self.row_axis < 0 or self.ragged:
            return False
        digit = self.nest[self.row_axis]
        return digit.source == 1 and digit.count % 4 == 0

    def write(self, lines: Sequence[str], padding: str, step: int = 1) -> Launch:
        """The launch. The lines copy from `source[from]` to `target[to]`.

        `padding` is the statement for a place behind the elements of the target. With a `step` they
        copy as many elements along the axis of the rows.
        """
        kernel, nest, kind = self.kernel, self.nest, self.kind
        names = [f"i{place}" for place in range(len(nest))]
        lanes, rows = nest[self.lane_axis].count, self.row_count // step
        height = min(ROWS, rows)
        kernel.line(f"const {kind} {names[self.lane_axis]} = get_global_id(0);")
        outside = [f"{names[self.lane_axis]} >= {lanes}"] if lanes % LANES else []
        if self.row_axis >= 0:
            kernel.line(f"const {kind} {names[self.row_axis]} = get_global_id(1) * {step};")
            outside += [f"{names[self.row_axis]} >= {self.row_count}"] if rows % height else []
        if outside:
            kernel.line(f"if ({' || '.join(outside)}) return;")
        sizes, rest = [nest[place].count for place in self.rest], [names[p] for p in self.rest]
        kernel.extend(indexing.coordinates(f"({kind})get_group_id(2)", sizes, rest, kind))
        self._places(names)
        kernel.extend(self._guarded(names, lines, padding))
        return kernel.launch(items=(lanes, rows, prod(sizes)), group_size=(LANES, height, 1))

    def _places(self, names: list[str]) -> None:
        """Where the element is in the source and in the target."""
        for text, base in (("from", self.source.offset), ("to", self.target.offset)):
            terms = [str(base)] if base else []
            for name, digit in zip(names, self.nest, strict=True):
                step = digit.source if text == "from" else digit.target
                terms += [f"{name} * {step}"] if step and digit.count > 1 else []
            self.kernel.line(f"const {self.kind} {text} = {' + '.join(terms) or '0'};")

    def _guarded(self, names: list[str], lines: Sequence[str], padding: str) -> list[str]:
        """The lines for elements; zeros behind them, and nothing behind the padding."""
        if not self.ragged:
            return list(lines)
        places = {}
        for dim in self.ragged:
            terms = (
                f"{name} * {digit.weight}"
                for name, digit in zip(names, self.nest, strict=True)
                if digit.dim == dim
            )
            places[dim] = f"({' + '.join(terms)})"
        inside = " && ".join(f"{places[dim]} < {self.target.dims[dim]}" for dim in self.ragged)
        text = [f"if ({inside}) {{", *(f"    {line}" for line in lines)]
        if not self.target.is_padded:
            return [*text, "}"]
        bounds = [f"{places[dim]} < {self.target.padded_dims[dim]}" for dim in self.outside]
        otherwise = f"else if ({' && '.join(bounds)})" if bounds else "else"
        return [*text, f"}} {otherwise} {padding}"]


def copy(kernel: Kernel, source: Descriptor, target: Descriptor, real: str) -> Launch:
    """A launch that copies, from `source` to `target`, which the kernel has as parameters."""
    relayout = Relayout(kernel, source, target)
    around = values.exceeds_cache(target)
    zero = values.store(target.data_type, "target", "to", f"({real})0", of=real)
    if source.data_type != target.data_type:
        loaded = values.load(source.data_type, "source", "from", to=real)
        stored = values.store(target.data_type, "target", "to", loaded, of=real, around=around)
        return relayout.write([stored], zero)
    if SIZES[source.data_type] == 4 and relayout.goes_in_fours:
        return relayout.write(_four(relayout, source.data_type, around), zero, 4)
    kind = values.c_type(source.data_type)
    stored = values.store(source.data_type, "target", "to", "source[from]", of=kind, around=around)
    return relayout.write([stored], zero)


def _four(relayout: Relayout, data_type: DataType, around: bool) -> list[str]:
    """Four neighbours of the source, each to its place."""
    step, kind = relayout.nest[relayout.row_axis].target, values.c_type(data_type)
    stores = [
        values.store(
            data_type, "target", f"to + {place * step}", f"four.{name}", of=kind, around=around
        )
        for place, name in enumerate("xyzw")
    ]
    return [f"const {kind}4 four = vload4(0, source + from);", *stores]
