"""PReLU forwards and backwards."""

from __future__ import annotations

from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.kernels import indexing, values
from groundstate.dnn.kernels.grid import Grid
from groundstate.dnn.kernels.loops import Loops
from groundstate.dnn.kernels.text import Kernel
from groundstate.dnn.plan import Launch
from groundstate.dnn.types import Arg


def forward(source: Descriptor, weights: Descriptor, target: Descriptor) -> Launch:
    """`target = source > 0 ? source : source * weights`."""
    kernel = Kernel("prelu_forward")
    kernel.input(Arg.SRC, source.data_type, "source")
    kernel.input(Arg.WEIGHTS, weights.data_type, "weights")
    kernel.output(Arg.DST, target.data_type, "target")
    grid = Grid(kernel, [source, target], coordinates=True)
    weight = values.load(weights.data_type, "weights", grid.index(weights, broadcast=True))
    kernel.line(f"const float s = {values.load(source.data_type, 'source', grid.index(source))};")
    kernel.line(f"const float r = s > 0.0f ? s : s * {weight};")
    kernel.line(values.store(target.data_type, "target", grid.index(target), "r"))
    return grid.launch()


def backward_source(
    source: Descriptor, weights: Descriptor, above: Descriptor, below: Descriptor
) -> Launch:
    """`below = source > 0 ? above : above * weights`."""
    kernel = Kernel("prelu_backward_source")
    kernel.input(Arg.SRC, source.data_type, "source")
    kernel.input(Arg.WEIGHTS, weights.data_type, "weights")
    kernel.output(Arg.DIFF_DST, above.data_type, "above")
    kernel.output(Arg.DIFF_SRC, below.data_type, "below")
    grid = Grid(kernel, [source, above, below], coordinates=True)
    weight = values.load(weights.data_type, "weights", grid.index(weights, broadcast=True))
    kernel.line(f"const float s = {values.load(source.data_type, 'source', grid.index(source))};")
    kernel.line(f"const float d = {values.load(above.data_type, 'above', grid.index(above))};")
    kernel.line(f"const float r = s > 0.0f ? d : d * {weight};")
    kernel.line(values.store(below.data_type, "below", grid.index(below), "r"))
    return grid.launch()


def backward_weights(source: Descriptor, above: Descriptor, change: Descriptor) -> Launch:
    """The derivative of each weight: the sum over all elements that share it."""
    kernel = Kernel("prelu_backward_weights")
    kernel.input(Arg.SRC, source.data_type, "source")
    kernel.input(Arg.DIFF_DST, above.data_type, "above")
    kernel.output(Arg.DIFF_WEIGHTS, change.data_type, "change")
    grid = Grid(kernel, [change], coordinates=True)
    kernel.line("float acc = 0.0f;")
    shared = [dim for dim, size in enumerate(change.dims) if size == 1 != source.dims[dim]]
    names = [f"y{dim}" if dim in shared else name for dim, name in enumerate(grid.names)]
    loops = Loops([(names[dim], source.dims[dim]) for dim in shared])
    s = values.load(source.data_type, "source", indexing.offset(source, names))
    d = values.load(above.data_type, "above", indexing.offset(above, names))
    kernel.extend(loops.around([f"const float s = {s};", f"acc += s > 0.0f ? 0.0f : s * {d};"]))
    kernel.line(values.store(change.data_type, "change", grid.index(change), "acc"))
    return grid.launch()
