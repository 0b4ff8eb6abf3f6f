"""Kernels that write each element from those at the same place of their sources.

Unlike a `Grid`, which counts the elements of a shape, work-items follow the target's memory,
padding included.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.kernels import indexing, values
from groundstate.dnn.kernels.grid import GROUP_SIZE, zero_padding
from groundstate.dnn.kernels.text import Kernel
from groundstate.dnn.plan import Launch


class Pointwise:
    """The elements of a target, each of which a work-item writes.

    Work-items follow the order of the target in memory, so that neighbours write to neighbouring
    places. If the sources lie just as the target, no coordinates are needed; `coordinates` asks for
    them anyway. A dense target's padding is written, too; `names` are the coordinates.
    """

    def __init__(
        self,
        kernel: Kernel,
        target: Descriptor,
        pointer: str,
        sources: Sequence[Descriptor] = (),
        *,
        coordinates: bool = False,
    ) -> None:
        self.kernel, self.target = kernel, target
        self.names = [f"x{dim}" for dim in range(target.ndims)]
        self.flat = not coordinates and lie_alike(target, sources)
        self.dense = target.is_dense
        self.items = math.prod(target.padded_dims if self.dense else target.dims)
        self.kind = indexing.index_type(target, *sources)
        kernel.line(f"const {self.kind} i = get_global_id(0);")
        if self.items % GROUP_SIZE:
            kernel.line(f"if (i >= {self.items}) return;")
        if self.dense and not self.flat:
            self._find_in_memory(pointer)
        elif not self.flat:
            self._find_by_number()

    def _find_in_memory(self, pointer: str) -> None:
        """Coordinates from the place in memory; what is outside of the tensor becomes zero."""
        kernel, target = self.kernel, self.target
        kernel.extend(places_apart("i", target, self.names, self.kind, self.items))
        outside = [
            f"{name} >= {size}"
            for name, size, padded in zip(self.names, target.dims, target.padded_dims, strict=True)
            if size != padded
        ]
        if outside:
            zero = values.store(target.data_type, pointer, self.index(target), "0.0f")
            kernel.line(f"if ({' || '.join(outside)}) {{ {zero} return; }}")

    def _find_by_number(self) -> None:
        """Coordinates from the number of the element, in the order of the target's strides."""
        order = sorted(range(self.target.ndims), key=lambda dim: -self.target.strides[dim])
        dims = [self.target.dims[dim] for dim in order]
        names = [self.names[dim] for dim in order]
        self.kernel.extend(indexing.coordinates("i", dims, names, self.kind))

    def index(self, tensor: Descriptor, *, broadcast: bool = False) -> str:
        """Where the work-item's element is in a tensor."""
        same_place = tensor is self.target and self.dense
        if not self.flat and not same_place:
            return indexing.offset(tensor, self.names, broadcast=broadcast)
        return f"{tensor.offset} + i" if tensor.offset else "i"

    def launches(self, arg: int) -> list[Launch]:
        """The launch, once the kernel is written, and one for padding that it leaves out."""
        launch = self.kernel.launch(items=self.items, group_size=GROUP_SIZE)
        return [launch, *([] if self.dense else zero_padding(arg, self.target))]


def places_apart(
    place: str, tensor: Descriptor, names: Sequence[str], kind: str, total: int
) -> list[str]:
    """Statements that find the coordinates of a place in a dense tensor.

    >>> places_apart("i", Descriptor.plain((2, 3)), ("x0", "x1"), "int", 6)
    ['const int x0 = i / 3;', 'const int x1 = i % 3;']
    """
    terms: list[list[str]] = [[] for _ in names]
    for dim, (stride, block) in enumerate(zip(tensor.strides, tensor.blocks, strict=True)):
        count = tensor.padded_dims[dim] // block
        if count > 1:
            digit = _digit(place, stride, count, total)
            terms[dim].append(digit if block == 1 else f"({digit}) * {block}")
    step, below = 1, [1] * len(names)
    for size, dim in reversed(tensor.inner_blocks):
        digit = _digit(place, step, size, total)
        terms[dim].append(digit if below[dim] == 1 else f"({digit}) * {below[dim]}")
        step, below[dim] = step * size, below[dim] * size
    return [
        f"const {kind} {name} = {_sum(found)};" for name, found in zip(names, terms, strict=True)
    ]


def _digit(place: str, step: int, count: int, total: int) -> str:
    shifted = place if step == 1 else f"{place} / {step}"
    if step * count >= total:
        return shifted
    return f"{shifted if step == 1 else f'({shifted})'} % {count}"


def _sum(terms: Sequence[str]) -> str:
    if len(terms) == 1:
        return terms[0]
    return " + ".join(f"({term})" for term in terms) or "0"


def lie_alike(target: Descriptor, sources: Sequence[Descriptor]) -> bool:
    """True if elements of all lie at the same places, without holes."""
    return all(
        tensor.is_dense
        and not tensor.is_padded
        and tensor.dims == target.dims
        and tensor.strides == target.strides
        and tensor.inner_blocks == target.inner_blocks
        for tensor in (target, *sources)
    )
