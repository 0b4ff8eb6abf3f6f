"""Operands of products as OpenCL C: copies in the type and the order in which they are summed up.

A copy is dense. Each of its elements is one of the tensor, converted, or zero where the conditions
do not hold: padding, the rest of a panel, the gaps between strided elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.kernels import indexing, values
from groundstate.dnn.kernels.text import Kernel
from groundstate.dnn.plan import Launch

GROUP = 64
"""Work-items of a group, along the last axes of the copy."""
LEAST_RUN = 16
ELEMENTS_OF_GROUP = 8192
"""So that a group is worth starting, and a copy is still shared out evenly."""


@dataclass(frozen=True)
class Copy:
    """A dense copy of a tensor; `i0`, `i1`, ... are the indices in the copy, the slowest first."""

    tensor: Descriptor
    counts: tuple[int, ...]
    indices: tuple[str, ...]
    """For each dimension of the tensor, the index there, as an expression of those of the copy."""
    conditions: tuple[str, ...] = ()
    """When there is such an element."""
    number: str = "float"
    """The type of the copy."""
    fill: int = 0
    """What it has where there is no element."""

    @property
    def elements(self) -> int:
        return prod(self.counts)

    @property
    def run_axes(self) -> int:
        """How many of the last axes work-items of a group lie along: enough to be many."""
        axes = 1
        while axes < len(self.counts) and prod(self.counts[-axes:]) < LEAST_RUN:
            axes += 1
        return axes

    @property
    def run(self) -> int:
        """How many elements lie along them."""
        return prod(self.counts[-self.run_axes :])

    @property
    def group_size(self) -> int:
        return min(GROUP, -(-self.run // 16) * 16)

    @property
    def lines(self) -> int:
        """How many runs there are."""
        return prod(self.counts[: -self.run_axes])

    @property
    def lines_of_group(self) -> int:
        return max(1, min(self.lines, ELEMENTS_OF_GROUP // self.group_size))

    @property
    def index_type(self) -> str:
        far = self.elements > indexing.INT_LIMIT
        return "long" if far else indexing.index_type(self.tensor)


def launch(kernel: Kernel, copy: Copy, written: str = "value") -> Launch:
    """Writes the body of a kernel that has the parameters `tensor` and `copy`, and launches it.

    What is written is an expression of `value` and its indices in the tensor, `x0`, `x1`, ...
    """
    kernel.extend(_lines(copy, written))
    across, down = -(-copy.run // copy.group_size), -(-copy.lines // copy.lines_of_group)
    items = (across * copy.group_size, down, 1)
    return kernel.launch(items=items, group_size=(copy.group_size, 1, 1))


def _lines(copy: Copy, written: str) -> Iterator[str]:
    index = copy.index_type
    yield f"const {index} at = get_global_id(0);"
    yield f"const {index} first = ({index})get_group_id(1) * {copy.lines_of_group};"
    end = f"first + {copy.lines_of_group}"
    if copy.lines % copy.lines_of_group:
        end = f"min({end}, ({index}){copy.lines})"
    if copy.run % copy.group_size:
        yield f"if (at >= {copy.run}) return;"
    names = [f"i{n}" for n in range(len(copy.counts))]
    inner = -copy.run_axes
    yield from indexing.coordinates("at", copy.counts[inner:], names[inner:], index)
    yield f"for ({index} line = first; line < {end}; line++) {{"
    yield from (
        f"    {line}"
        for line in indexing.coordinates("line", copy.counts[:inner], names[:inner], index)
    )
    yield from (f"    {line}" for line in _element(copy, index, written))
    yield "}"


def _element(copy: Copy, index: str, written: str) -> Iterator[str]:
    coordinates = [f"x{dim}" for dim in range(copy.tensor.ndims)]
    for name, text in zip(coordinates, copy.indices, strict=True):
        yield f"const {index} {name} = {text};"
    place = indexing.offset(copy.tensor, coordinates)
    loaded = values.load(copy.tensor.data_type, "tensor", place, to=copy.number)
    target = f"copy[line * {copy.run} + at]"
    if not copy.conditions:
        yield f"const {copy.number} value = {loaded};"
        yield f"{target} = {written};"
        return
    yield f"{copy.number} filled = {copy.fill};"
    yield f"if ({' && '.join(copy.conditions)}) {{"
    yield f"    const {copy.number} value = {loaded};"
    yield f"    filled = {written};"
    yield "}"
    yield f"{target} = filled;"
