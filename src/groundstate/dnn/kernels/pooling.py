"""The maximum or average of a window, and what goes back to each element of the source."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.kernels import indexing, values
from groundstate.dnn.kernels.epilogue import Epilogue
from groundstate.dnn.kernels.grid import Grid
from groundstate.dnn.kernels.loops import Loops
from groundstate.dnn.kernels.text import Kernel
from groundstate.dnn.plan import Launch
from groundstate.dnn.types import Algorithm, Arg


@dataclass(frozen=True)
class Window:
    """A window, for each dimension of space."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    def reach(self, dim: int) -> int:
        """How many elements there are from the first to the last of the window."""
        return (self.kernel[dim] - 1) * (self.dilation[dim] + 1) + 1

    @property
    def count(self) -> int:
        """How many elements are in the window."""
        return math.prod(self.kernel)

    def number(self) -> str:
        """The number of the element `k0, k1, ...` of the window."""
        text = "k0"
        for dim in range(1, len(self.kernel)):
            text = f"({text}) * {self.kernel[dim]} + k{dim}"
        return text

    def loops(self, name: str = "k") -> Loops:
        """Loops over the elements of the window."""
        return Loops([(f"{name}{dim}", size) for dim, size in enumerate(self.kernel)])


def forward(
    algorithm: Algorithm,
    window: Window,
    source: Descriptor,
    target: Descriptor,
    workspace: Descriptor | None,
    attributes: Attributes,
) -> Launch:
    """An element of the target for each work-item."""
    kernel = Kernel("pooling_forward")
    kernel.input(Arg.SRC, source.data_type, "source")
    kernel.output(Arg.DST, target.data_type, "target")
    if workspace is not None:
        kernel.output(Arg.WORKSPACE, workspace.data_type, "workspace")
    epilogue = Epilogue(kernel, attributes, target)
    grid = Grid(kernel, [target, source], dims=target.dims, coordinates=True, along=target)
    is_max = algorithm == Algorithm.pooling_max
    kernel.line(f"float acc = {values.LOWEST[source.data_type] if is_max else '0.0f'};")
    kernel.line("int best = 0;" if is_max else "int count = 0;")
    kernel.extend(window.loops().around(_inside(window, source, grid.names, is_max)))
    if algorithm == Algorithm.pooling_avg_include_padding:
        kernel.line(f"acc /= {float(window.count)}f;")
    elif algorithm == Algorithm.pooling_avg_exclude_padding:
        kernel.line("acc /= (float)count;")
    if workspace is not None:
        kernel.line(f"workspace[{grid.index(workspace)}] = best;")
    kernel.extend(epilogue.lines(grid.names, "target", grid.index(target)))
    return grid.launch()


def _inside(window: Window, source: Descriptor, names: Sequence[str], is_max: bool) -> list[str]:
    """What happens for one element of the window."""
    lines, tests, places = [], [], list(names[:2])
    for dim in range(len(window.kernel)):
        size, step = source.dims[2 + dim], window.dilation[dim] + 1
        place = f"{names[2 + dim]} * {window.strides[dim]} - {window.before[dim]} + k{dim} * {step}"
        lines.append(f"const int s{dim} = {place};")
        tests.append(f"s{dim} < 0 || s{dim} >= {size}")
        places.append(f"s{dim}")
    lines.append(f"if ({' || '.join(tests)}) continue;")
    value = values.load(source.data_type, "source", indexing.offset(source, places))
    lines.append(f"const float s = {value};")
    if is_max:
        lines.append(f"if (s > acc) {{ acc = s; best = {window.number()}; }}")
    else:
        lines += ["acc += s;", "count += 1;"]
    return lines


def backward(
    algorithm: Algorithm,
    window: Window,
    below: Descriptor,
    above: Descriptor,
    workspace: Descriptor | None,
) -> Launch:
    """Each work-item gathers for one element of the source, so that nobody has to wait.

    It goes through the window from its end, which is the result from its beginning: sums come out
    as they do where each element of the result is spread over its window.
    """
    kernel = Kernel("pooling_backward")
    kernel.input(Arg.DIFF_DST, above.data_type, "above")
    kernel.output(Arg.DIFF_SRC, below.data_type, "below")
    if workspace is not None:
        kernel.input(Arg.WORKSPACE, workspace.data_type, "workspace")
    grid = Grid(kernel, [below, above], dims=below.dims, coordinates=True, along=below)
    kernel.line("float acc = 0.0f;")
    lines, places = [], list(grid.names[:2])
    for dim in range(len(window.kernel)):
        step, stride = window.dilation[dim] + 1, window.strides[dim]
        lines.append(f"const int k{dim} = {window.kernel[dim] - 1} - r{dim};")
        ahead = f"{grid.names[2 + dim]} + {window.before[dim]} - k{dim} * {step}"
        lines.append(f"const int t{dim} = {ahead};")
        outside = f"t{dim} < 0 || t{dim} % {stride} != 0 || t{dim} / {stride} >= "
        lines.append(f"if ({outside}{above.dims[2 + dim]}) continue;")
        lines.append(f"const int o{dim} = t{dim} / {stride};")
        places.append(f"o{dim}")
    value = values.load(above.data_type, "above", indexing.offset(above, places))
    if workspace is not None:
        place = indexing.offset(workspace, places)
        lines.append(f"if (workspace[{place}] == {window.number()}) acc += {value};")
    elif algorithm == Algorithm.pooling_avg_include_padding:
        lines.append(f"acc += {value} / {float(window.count)}f;")
    else:
        lines += _counted(window, below)
        lines.append(f"acc += {value} / (float)count;")
    kernel.extend(window.loops("r").around(lines))
    kernel.line(values.store(below.data_type, "below", grid.index(below), "acc"))
    return grid.launch()


def _counted(window: Window, below: Descriptor) -> list[str]:
    """How many elements of the window at `o0, o1, ...` are in the source."""
    lines = []
    for dim, size in enumerate(window.kernel):
        step = window.dilation[dim] + 1
        begin = f"o{dim} * {window.strides[dim]} - {window.before[dim]}"
        lines.append(f"const int b{dim} = {begin};")
        lines.append(f"const int f{dim} = b{dim} < 0 ? (-b{dim} + {step - 1}) / {step} : 0;")
        room = f"({below.dims[2 + dim] - 1} - b{dim}) / {step} + 1"
        lines.append(f"const int c{dim} = min({size}, {room}) - f{dim};")
    product = " * ".join(f"c{dim}" for dim in range(len(window.kernel)))
    return [*lines, f"const int count = {product};"]
