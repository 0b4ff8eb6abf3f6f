"""Local response normalisation, forwards and backwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.elementwise import literal
from groundstate.dnn.kernels import indexing, values
from groundstate.dnn.kernels.grid import Grid
from groundstate.dnn.kernels.loops import Loops
from groundstate.dnn.kernels.text import Kernel
from groundstate.dnn.plan import Launch
from groundstate.dnn.types import Arg


@dataclass(frozen=True)
class Response:
    """What a normalisation is made of."""

    across: bool
    """Neighbours are other channels; otherwise they are around it in its own channel."""
    size: int
    alpha: float
    beta: float
    k: float

    def dimensions(self, ndims: int) -> list[int]:
        """The dimensions in which there are neighbours."""
        return [1] if self.across else list(range(2, ndims))

    def summands(self, ndims: int) -> int:
        """By how many the sum is divided."""
        return self.size if self.across else int(self.size ** (ndims - 2))

    def neighbours(self, dims: Sequence[int], names: Sequence[str]) -> tuple[Loops, list[str]]:
        """Loops over the neighbours of an element, and the names of their coordinates."""
        half = (self.size - 1) // 2
        ranges, places = [], list(names)
        for dim in self.dimensions(len(dims)):
            begin, end = f"max({names[dim]} - {half}, 0)", f"{names[dim]} + {half + 1}"
            ranges.append((f"y{dim}", begin, f"min({end}, {dims[dim]})"))
            places[dim] = f"y{dim}"
        return Loops(ranges), places

    def sum_lines(self, source: Descriptor, names: Sequence[str]) -> list[str]:
        """Lines that compute `omega`, what an element is divided by a power of."""
        loops, places = self.neighbours(source.dims, names)
        value = values.load(source.data_type, "source", indexing.offset(source, places))
        factor = f"{literal(self.alpha)} * sum / {float(self.summands(source.ndims))}f"
        return [
            "float sum = 0.0f;",
            *loops.around([f"const float v = {value};", "sum += v * v;"]),
            f"const float omega = {literal(self.k)} + {factor};",
        ]

    def power(self, omega: str) -> str:
        """`omega ** -beta`; the usual powers are made of roots, which are exact."""
        known = {
            1.0: f"1.0f / {omega}",
            0.5: f"1.0f / sqrt({omega})",
            0.75: f"1.0f / sqrt({omega} * sqrt({omega}))",
        }
        return known.get(self.beta, f"pow({omega}, {literal(-self.beta)})")


def forward(response: Response, source: Descriptor, target: Descriptor) -> Launch:
    """An element for each work-item."""
    kernel = Kernel("lrn_forward")
    kernel.input(Arg.SRC, source.data_type, "source")
    kernel.output(Arg.DST, target.data_type, "target")
    grid = Grid(kernel, [source, target], coordinates=True)
    kernel.extend(response.sum_lines(source, grid.names))
    value = values.load(source.data_type, "source", grid.index(source))
    kernel.line(f"const float r = {value} * ({response.power('omega')});")
    kernel.line(values.store(target.data_type, "target", grid.index(target), "r"))
    return grid.launch()


def sums(response: Response, source: Descriptor, offset: int) -> Launch:
    """The sum of each element, to scratch memory."""
    kernel = Kernel("lrn_sums")
    kernel.input(Arg.SRC, source.data_type, "source")
    kernel.scratch(offset, "float", "omegas")
    grid = Grid(kernel, [source], coordinates=True)
    kernel.extend(response.sum_lines(source, grid.names))
    kernel.line(f"omegas[{indexing.offset(source.dense(), grid.names)}] = omega;")
    return grid.launch()


def backward(
    response: Response, source: Descriptor, above: Descriptor, below: Descriptor, offset: int
) -> Launch:
    """An element's own part, less what it does to its neighbours."""
    kernel = Kernel("lrn_backward")
    kernel.input(Arg.SRC, source.data_type, "source")
    kernel.input(Arg.DIFF_DST, above.data_type, "above")
    kernel.scratch(offset, "float", "omegas")
    kernel.output(Arg.DIFF_SRC, below.data_type, "below")
    grid = Grid(kernel, [source, above, below], coordinates=True)
    loops, places = response.neighbours(source.dims, grid.names)
    dense = source.dense()
    inside = [
        f"const float o = omegas[{indexing.offset(dense, places)}];",
        f"const float v = {values.load(source.data_type, 'source', _at(source, places))};",
        f"const float d = {values.load(above.data_type, 'above', _at(above, places))};",
        f"others += v * ({response.power('o')}) * d / o;",
    ]
    kernel.line("float others = 0.0f;")
    kernel.extend(loops.around(inside))
    kernel.line(f"const float omega = omegas[{indexing.offset(dense, grid.names)}];")
    s = values.load(source.data_type, "source", grid.index(source))
    d = values.load(above.data_type, "above", grid.index(above))
    factor = literal(2 * response.alpha * response.beta / response.summands(source.ndims))
    kernel.line(f"const float own = ({response.power('omega')}) * {d};")
    kernel.line(f"const float r = own - {factor} * {s} * others;")
    kernel.line(values.store(below.data_type, "below", grid.index(below), "r"))
    return grid.launch()


def _at(tensor: Descriptor, places: Sequence[str]) -> str:
    return indexing.offset(tensor, places)
