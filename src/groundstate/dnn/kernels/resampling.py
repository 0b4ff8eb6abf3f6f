"""Images of another size: by the nearest element, or by linear interpolation."""

from __future__ import annotations

from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.kernels import indexing, values
from groundstate.dnn.kernels.epilogue import Epilogue
from groundstate.dnn.kernels.grid import Grid
from groundstate.dnn.kernels.loops import Loops
from groundstate.dnn.kernels.text import Kernel
from groundstate.dnn.plan import Launch
from groundstate.dnn.types import Algorithm, Arg


def forward(
    algorithm: Algorithm, source: Descriptor, target: Descriptor, attributes: Attributes
) -> Launch:
    """An element of the target for each work-item."""
    kernel = Kernel("resampling_forward")
    kernel.input(Arg.SRC, source.data_type, "source")
    kernel.output(Arg.DST, target.data_type, "target")
    epilogue = Epilogue(kernel, attributes, target)
    grid = Grid(kernel, [target, source], dims=target.dims, coordinates=True, along=target)
    space = range(len(target.dims) - 2)
    linear = algorithm == Algorithm.resampling_linear
    for dim in space:
        name, sizes = grid.names[2 + dim], (source.dims[2 + dim], target.dims[2 + dim])
        kernel.extend(_between(dim, name, *sizes) if linear else [_nearest(dim, name, *sizes)])
    places = [*grid.names[:2], *(f"n{dim}" for dim in space)]
    value = values.load(source.data_type, "source", indexing.offset(source, places))
    if linear:
        kernel.line("float acc = 0.0f;")
        inside = [f"const int n{dim} = j{dim} ? right{dim} : left{dim};" for dim in space]
        weights = " * ".join(f"(j{dim} ? weight{dim} : 1.0f - weight{dim})" for dim in space)
        loops = Loops([(f"j{dim}", 2) for dim in space])
        kernel.extend(loops.around([*inside, f"acc += {value} * ({weights});"]))
    else:
        kernel.line(f"float acc = {value};")
    kernel.extend(epilogue.lines(grid.names, "target", grid.index(target)))
    return grid.launch()


def _nearest(dim: int, name: str, size: int, to: int) -> str:
    """Which element is the nearest: whole numbers, so that nothing is rounded."""
    return f"const int n{dim} = (2 * {name} + 1) * {size} / {2 * to};"


def _between(dim: int, name: str, size: int, to: int) -> list[str]:
    """The elements on both sides, and the weight of the right one: a quotient of whole numbers."""
    whole = 2 * to
    return [
        f"const int m{dim} = max((2 * {name} + 1) * {size} - {to}, 0);",
        f"const int left{dim} = m{dim} / {whole}, rest{dim} = m{dim} % {whole};",
        f"const int right{dim} = min(left{dim} + (rest{dim} != 0), {size - 1});",
        f"const float weight{dim} = rest{dim} / {whole}.0f;",
    ]


def backward(algorithm: Algorithm, below: Descriptor, above: Descriptor) -> Launch:
    """Each work-item gathers what one element of the source contributed to."""
    kernel = Kernel("resampling_backward")
    kernel.input(Arg.DIFF_DST, above.data_type, "above")
    kernel.output(Arg.DIFF_SRC, below.data_type, "below")
    grid = Grid(kernel, [below, above], dims=below.dims, coordinates=True, along=below)
    kernel.line("float acc = 0.0f;")
    space = range(len(below.dims) - 2)
    linear = algorithm == Algorithm.resampling_linear
    ranges, inside, weights = [], [], []
    for dim in space:
        name, size, to = grid.names[2 + dim], below.dims[2 + dim], above.dims[2 + dim]
        # A little more than the elements in question: those that do not count are told apart.
        begin = f"max(0, (2 * {name} - 1) * {to} / {2 * size} - 1)"
        end = f"min({to}, (2 * {name} + 3) * {to} / {2 * size} + 2)"
        ranges.append((f"o{dim}", begin, end))
        if linear:
            inside += _between(dim, f"o{dim}", size, to)
            left = f"(left{dim} == {name} ? 1.0f - weight{dim} : 0.0f)"
            weights.append(f"({left} + (right{dim} == {name} ? weight{dim} : 0.0f))")
        else:
            inside += [_nearest(dim, f"o{dim}", size, to), f"if (n{dim} != {name}) continue;"]
    places = [*grid.names[:2], *(f"o{dim}" for dim in space)]
    value = values.load(above.data_type, "above", indexing.offset(above, places))
    inside.append(f"acc += {' * '.join([value, *weights])};")
    kernel.extend(Loops(ranges).around(inside))
    kernel.line(values.store(below.data_type, "below", grid.index(below), "acc"))
    return grid.launch()
