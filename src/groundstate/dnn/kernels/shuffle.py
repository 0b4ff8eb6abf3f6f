"""Elements along an axis, dealt out to groups: a transposition of rows and columns."""

from __future__ import annotations

from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.kernels import indexing
from groundstate.dnn.kernels.grid import Grid
from groundstate.dnn.kernels.text import Kernel
from groundstate.dnn.plan import Launch


def shuffle(
    source: Descriptor, target: Descriptor, axis: int, rows: int, args: tuple[int, int]
) -> Launch:
    """Element `j * columns + i` of the target is element `i * rows + j` of the source."""
    columns = target.dims[axis] // rows
    kernel = Kernel("shuffle")
    kernel.input(args[0], source.data_type, "source")
    kernel.output(args[1], target.data_type, "target")
    grid = Grid(kernel, [target, source], coordinates=True)
    place = grid.names[axis]
    kernel.line(f"const int from = {place} % {columns} * {rows} + {place} / {columns};")
    names = [*grid.names[:axis], "from", *grid.names[axis + 1 :]]
    kernel.line(f"target[{grid.index(target)}] = source[{indexing.offset(source, names)}];")
    return grid.launch()
