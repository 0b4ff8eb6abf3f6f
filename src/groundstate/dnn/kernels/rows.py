"""Kernels that go along rows: one sub-group for each row, or one work-item.

Where a row lies in one piece, the lanes of a sub-group share it and read neighbouring elements.
Elsewhere each work-item has a row of its own, and neighbours read the same place of neighbouring
rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.kernels import indexing
from groundstate.dnn.kernels.loops import shared_loop
from groundstate.dnn.kernels.text import Kernel
from groundstate.dnn.plan import Launch

LANES = 16
ITEM_GROUP = 128


class Rows:
    """The rows of a shape along one axis; `index` finds the element `k` of the row in a tensor."""

    def __init__(
        self, kernel: Kernel, dims: Sequence[int], axis: int, *tensors: Descriptor
    ) -> None:
        self.kernel, self.dims, self.axis = kernel, tuple(dims), axis
        self.length = self.dims[axis]
        self.count = math.prod(size for dim, size in enumerate(self.dims) if dim != axis)
        self.shared = self.length >= LANES and all(
            tensor.strides[axis] == 1 and tensor.blocks[axis] == 1 for tensor in tensors
        )
        self.kind = indexing.index_type(*tensors)
        self.names = [f"x{dim}" for dim in range(len(self.dims))]
        self.names[axis] = "k"
        self._find(tensors[-1])

    def _find(self, target: Descriptor) -> None:
        """Coordinates of the row, in the order of the target."""
        number = "get_group_id(0)" if self.shared else "get_global_id(0)"
        self.kernel.line(f"const {self.kind} row = {number};")
        if self.shared:
            self.kernel.line(f"const {self.kind} lane = get_local_id(0);")
        else:
            self.kernel.line(f"if (row >= {self.count}) return;")
        order = sorted(
            (dim for dim in range(len(self.dims)) if dim != self.axis),
            key=lambda dim: -target.strides[dim],
        )
        sizes, names = [self.dims[dim] for dim in order], [self.names[dim] for dim in order]
        self.kernel.extend(indexing.coordinates("row", sizes, names, self.kind))

    def along(self, *lines: str) -> None:
        """Adds a loop along the row; the lines in it find its place in `k`."""
        if self.shared:
            self.kernel.extend(shared_loop(lines, "k", self.length, LANES, self.kind))
            return
        self.kernel.line(f"for ({self.kind} k = 0; k < {self.length}; k++) {{")
        self.kernel.extend(f"    {line}" for line in lines)
        self.kernel.line("}")

    def combine(self, operation: str, variable: str) -> str:
        """The statement that makes what the lanes have found one: "add", "max" or "min"."""
        if not self.shared:
            return ""
        return f"{variable} = sub_group_reduce_{operation}({variable});"

    def index(self, tensor: Descriptor) -> str:
        """Where element `k` of the row is."""
        return indexing.offset(tensor, self.names)

    def launch(self) -> Launch:
        """The launch, once the kernel is written."""
        if self.shared:
            items = self.count * LANES
            return self.kernel.launch(items=items, group_size=LANES, sub_group=LANES)
        return self.kernel.launch(items=self.count, group_size=ITEM_GROUP)
