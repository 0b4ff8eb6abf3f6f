"""Reductions over any dimensions, in one launch, or in two where one element is made of many."""

from __future__ import annotations

import math
from typing import NamedTuple

from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.elementwise import literal
from groundstate.dnn.kernels import indexing, values
from groundstate.dnn.kernels.epilogue import Epilogue
from groundstate.dnn.kernels.text import Kernel, in_double
from groundstate.dnn.plan import Plan
from groundstate.dnn.types import Algorithm, Arg, DataType

LANES = 16
ITEM_GROUP = 128
FEW_RESULTS = 64
MANY_ELEMENTS = 1 << 15
MOST_PARTS = 64

_NORMS = frozenset(
    {
        Algorithm.reduction_norm_lp_max,
        Algorithm.reduction_norm_lp_sum,
        Algorithm.reduction_norm_lp_power_p_max,
        Algorithm.reduction_norm_lp_power_p_sum,
    }
)


class Fold(NamedTuple):
    """How elements are brought together."""

    algorithm: Algorithm
    p: float
    eps: float
    double: bool
    of_nothing: DataType | None = None
    """The type of the elements that there are none of."""

    @property
    def real(self) -> str:
        """The type that is computed in."""
        return values.real(self.double)

    @property
    def first(self) -> str:
        """What nothing is worth."""
        none = self.of_nothing
        return {
            Algorithm.reduction_max: "-INFINITY" if none is None else values.LOWEST[none],
            Algorithm.reduction_min: "INFINITY" if none is None else values.HIGHEST[none],
            Algorithm.reduction_mul: "1",
        }.get(self.algorithm, "0")

    def element(self, x: str) -> str:
        """What an element counts."""
        if self.algorithm not in _NORMS:
            return x
        if self.p == 1:
            return f"fabs({x})"
        return f"pow(fabs({x}), {literal(self.p, self.double)})"

    def join(self, x: str) -> str:
        """The statement that takes one more into `acc`."""
        return {
            Algorithm.reduction_max: f"acc = fmax(acc, {x});",
            Algorithm.reduction_min: f"acc = fmin(acc, {x});",
            Algorithm.reduction_mul: f"acc *= {x};",
        }.get(self.algorithm, f"acc += {x};")

    @property
    def across_lanes(self) -> str:
        """The name of the sub-group's operation; empty if there is none."""
        return {
            Algorithm.reduction_max: "max",
            Algorithm.reduction_min: "min",
            Algorithm.reduction_mul: "",
        }.get(self.algorithm, "add")

    def finish(self, count: int) -> str:
        """The statement that makes the result of `acc`; nothing for most."""
        eps, root = (
            literal(self.eps, self.double),
            literal(1 / self.p if self.p else 1, self.double),
        )
        return {
            Algorithm.reduction_mean: f"acc /= {literal(count, self.double)};",
            Algorithm.reduction_norm_lp_max: f"acc = pow(fmax(acc, {eps}), {root});",
            Algorithm.reduction_norm_lp_sum: f"acc = pow(acc + {eps}, {root});",
            Algorithm.reduction_norm_lp_power_p_max: f"acc = fmax(acc, {eps});",
            Algorithm.reduction_norm_lp_power_p_sum: f"acc = acc + {eps};",
        }.get(self.algorithm, "")


class Work:
    """Which dimensions are walked, by whom, and in how many parts."""

    def __init__(self, source: Descriptor, target: Descriptor, fold: Fold) -> None:
        self.source, self.target, self.fold = source, target, fold
        self.reduced = [
            dim for dim in range(source.ndims) if target.dims[dim] == 1 and source.dims[dim] != 1
        ]
        self.count = math.prod(source.dims[dim] for dim in self.reduced)
        self.results = target.elements
        inner = min(self.reduced, key=lambda dim: (source.strides[dim], -source.dims[dim]))
        self.lanes_dim = inner if self._can_share(inner) else -1
        self.split, self.parts = self._parts()
        self.kind = indexing.index_type(source, target)
        self.names = [f"x{dim}" for dim in range(source.ndims)]

    def _can_share(self, dim: int) -> bool:
        source = self.source
        in_one_piece = source.strides[dim] == 1 and source.blocks[dim] == 1
        return in_one_piece and source.dims[dim] >= LANES and bool(self.fold.across_lanes)

    def _parts(self) -> tuple[int, int]:
        """The dimension that is cut into parts, and into how many; one if that is not needed."""
        if self.results >= FEW_RESULTS or self.count < MANY_ELEMENTS:
            return -1, 1
        dim = max(self.reduced, key=lambda each: self.source.dims[each])
        size = self.source.dims[dim] // (LANES if dim == self.lanes_dim else 1)
        return dim, max(1, min(MOST_PARTS, size))

    def write(self, kernel: Kernel) -> None:
        """The lines that find `acc` for a result, or for a part of one."""
        number = "get_global_id(0)" if self.lanes_dim < 0 else "get_group_id(0)"
        kernel.line(f"const {self.kind} result = {number};")
        if self.lanes_dim < 0:
            kernel.line(f"if (result >= {self.results}) return;")
        kept = [dim for dim in range(self.source.ndims) if dim not in self.reduced]
        kept.sort(key=lambda dim: -self.target.strides[dim])
        sizes, names = [self.source.dims[dim] for dim in kept], [self.names[dim] for dim in kept]
        kernel.extend(indexing.coordinates("result", sizes, names, self.kind))
        real = self.fold.real
        kernel.line(f"{real} acc = {self.fold.first};")
        if self.count == 0:
            return
        loops = [self._loop(dim) for dim in self._order()]
        place = indexing.offset(self.source, self.names)
        x = values.load(self.source.data_type, "source", place, to=real)
        inside = f"{{ const {real} x = {x}; {self.fold.join(self.fold.element('x'))} }}"
        kernel.extend([*loops, f"    {inside}"])
        if self.lanes_dim >= 0:
            kernel.line(f"acc = sub_group_reduce_{self.fold.across_lanes}(acc);")

    def _order(self) -> list[int]:
        """The reduced dimensions from the outermost loop to the innermost."""
        rest = [dim for dim in self.reduced if dim != self.lanes_dim]
        rest.sort(key=lambda dim: -self.source.strides[dim])
        return rest + ([self.lanes_dim] if self.lanes_dim >= 0 else [])

    def _loop(self, dim: int) -> str:
        name, size = self.names[dim], self.source.dims[dim]
        step = LANES if dim == self.lanes_dim else 1
        first, end = "0", str(size)
        if dim == self.split:
            chunk = -(-size // self.parts // step) * step
            part = "(int)get_group_id(1)"
            first, end = f"{part} * {chunk}", f"min(({part} + 1) * {chunk}, {size})"
        if dim == self.lanes_dim:
            first += " + get_local_id(0)"
        return f"for ({self.kind} {name} = {first}; {name} < {end}; {name} += {step})"

    def grid(self) -> tuple[tuple[int, int, int], tuple[int, int, int], int]:
        """Work-items, the size of groups and of sub-groups."""
        if self.lanes_dim >= 0:
            return (self.results * LANES, self.parts, 1), (LANES, 1, 1), LANES
        return (self.results, self.parts, 1), (ITEM_GROUP, 1, 1), 0


def reduce(
    algorithm: Algorithm,
    p: float,
    eps: float,
    source: Descriptor,
    target: Descriptor,
    attributes: Attributes,
) -> Plan:
    """The launches of a reduction."""
    double = in_double(source.data_type, target.data_type)
    fold = Fold(algorithm, p, eps, double, None if source.elements else source.data_type)
    work = Work(source, target, fold)
    plan = Plan()
    kernel = Kernel("reduction")
    if work.count:
        kernel.input(Arg.SRC, source.data_type, "source")
    finish = kernel
    if work.parts > 1:
        size = work.results * work.parts * (8 if fold.double else 4)
        place = plan.scratch(size)
        kernel.scratch(place, fold.real, "partial")
        work.write(kernel)
        lane = "if (get_local_id(0) == 0) " if work.lanes_dim >= 0 else ""
        kernel.line(f"{lane}partial[result * {work.parts} + get_group_id(1)] = acc;")
        _launch(plan, kernel, work)
        finish = Kernel("reduction_of_parts")
        finish.scratch(place, fold.real, "partial")
    finish.output(Arg.DST, target.data_type, "target")
    epilogue = Epilogue(finish, attributes, target, double=fold.double)
    if work.parts == 1:
        work.write(finish)
    else:
        _gather(finish, work)
    finish.line(fold.finish(work.count))
    if work.parts == 1 and work.lanes_dim >= 0:
        finish.line("if (get_local_id(0) != 0) return;")
    named = ["0" if dim in work.reduced else name for dim, name in enumerate(work.names)]
    finish.extend(epilogue.lines(named, "target", indexing.offset(target, named)))
    if work.parts == 1:
        _launch(plan, finish, work)
    else:
        plan.launches.append(finish.launch(items=work.results, group_size=ITEM_GROUP))
    return plan


def _launch(plan: Plan, kernel: Kernel, work: Work) -> None:
    items, group, sub_group = work.grid()
    plan.launches.append(kernel.launch(items=items, group_size=group, sub_group=sub_group))


def _gather(kernel: Kernel, work: Work) -> None:
    """The lines that bring the parts of a result together."""
    kernel.line(f"const {work.kind} result = get_global_id(0);")
    kernel.line(f"if (result >= {work.results}) return;")
    kept = [dim for dim in range(work.source.ndims) if dim not in work.reduced]
    kept.sort(key=lambda dim: -work.target.strides[dim])
    sizes, names = [work.source.dims[dim] for dim in kept], [work.names[dim] for dim in kept]
    kernel.extend(indexing.coordinates("result", sizes, names, work.kind))
    kernel.line(f"{work.fold.real} acc = {work.fold.first};")
    joined = work.fold.join(f"partial[result * {work.parts} + part]")
    kernel.line(f"for (int part = 0; part < {work.parts}; ++part) {joined}")
