"""One work-item for each element of a shape, and where that element lies in each tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence

from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.kernels import indexing, values
from groundstate.dnn.kernels.text import Kernel
from groundstate.dnn.plan import Launch

GROUP_SIZE = 256
SHORTEST_ROW, LONGEST_ROW = 16, 64
"""How long a row of work-items has to be, and how much of it a group treats at once."""


class Grid:
    """The elements of a shape, each of which a work-item treats.

    If all tensors lie alike and without holes, elements are numbered as they lie in memory, and no
    coordinates are needed. `coordinates` asks for them anyway, for what is broadcast. `along` is a
    tensor in whose memory neighbours are to lie beside each other; if its rows are long enough, a
    row of work-items shares all coordinates but the last, and with them branches and bounds.
    """

    def __init__(
        self,
        kernel: Kernel,
        tensors: Sequence[Descriptor],
        *,
        dims: Sequence[int] | None = None,
        coordinates: bool = False,
        along: Descriptor | None = None,
    ) -> None:
        self.kernel = kernel
        self.dims = tuple(tensors[0].dims if dims is None else dims)
        self.names = [f"x{dim}" for dim in range(len(self.dims))]
        self.flat = not coordinates and _lie_alike(tensors, self.dims)
        kind = indexing.index_type(*tensors)
        order = list(range(len(self.dims))) if along is None else _order(along)
        self.row = 0
        """How many work-items share all coordinates but one; 0 if none do."""
        if along is not None and self.dims[order[-1]] >= SHORTEST_ROW:
            last = order.pop()
            self.row = self.dims[last]
            kernel.line(f"const {kind} {self.names[last]} = get_global_id(0);")
            kernel.line(f"if ({self.names[last]} >= {self.row}) return;")
        self.items = math.prod(self.dims[dim] for dim in order)
        kernel.line(f"const {kind} i = get_global_id({1 if self.row else 0});")
        kernel.line(f"if (i >= {self.items}) return;")
        if not self.flat:
            sizes, names = [self.dims[dim] for dim in order], [self.names[dim] for dim in order]
            kernel.extend(indexing.coordinates("i", sizes, names, kind))

    def index(self, tensor: Descriptor, *, broadcast: bool = False) -> str:
        """Where the work-item's element is in a tensor."""
        if not self.flat:
            return indexing.offset(tensor, self.names, broadcast=broadcast)
        return f"{tensor.offset} + i" if tensor.offset else "i"

    def launch(self) -> Launch:
        """The launch, once the kernel is written."""
        if not self.row:
            return self.kernel.launch(items=self.items, group_size=GROUP_SIZE)
        across = min(LONGEST_ROW, 1 << (self.row - 1).bit_length())
        size = (across, GROUP_SIZE // across, 1)
        return self.kernel.launch(items=(self.row, self.items, 1), group_size=size)


def _order(tensor: Descriptor) -> list[int]:
    """The dimensions from those whose neighbours are far apart to the one in which they touch."""
    inside = {dim: place for place, (_, dim) in enumerate(tensor.inner_blocks)}
    return sorted(
        range(tensor.ndims), key=lambda dim: (inside.get(dim, -1), -tensor.strides[dim], dim)
    )


def _lie_alike(tensors: Sequence[Descriptor], dims: tuple[int, ...]) -> bool:
    first = tensors[0]
    return all(
        tensor.is_dense
        and not tensor.is_padded
        and tensor.dims == dims
        and tensor.strides == first.strides
        and tensor.inner_blocks == first.inner_blocks
        for tensor in tensors
    )


def zero_padding(arg: int, tensor: Descriptor) -> list[Launch]:
    """What writes zeros where blocks reach beyond the tensor; nothing if they do not."""
    if not tensor.is_padded or 0 in tensor.dims:
        return []
    kernel = Kernel("zero_padding")
    kernel.output(arg, tensor.data_type, "target")
    grid = Grid(kernel, [tensor], dims=tensor.padded_dims, coordinates=True)
    outside = [
        f"{name} >= {size}"
        for name, size, padded in zip(grid.names, tensor.dims, tensor.padded_dims, strict=True)
        if size != padded
    ]
    zero = values.store(tensor.data_type, "target", grid.index(tensor), "0.0f")
    kernel.line(f"if ({' || '.join(outside)}) {zero}")
    return [grid.launch()]


def zeros(arg: int, tensor: Descriptor) -> Launch:
    """What writes zeros to all of a tensor."""
    kernel = Kernel("zeros")
    kernel.output(arg, tensor.data_type, "target")
    grid = Grid(kernel, [tensor])
    kernel.line(values.store(tensor.data_type, "target", grid.index(tensor), "0.0f"))
    return grid.launch()
