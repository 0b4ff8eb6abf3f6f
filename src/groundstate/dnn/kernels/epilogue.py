"""What attributes do to a result before it is written: scales, post-operations, zero points.

A kernel computes `acc`, then asks here for the lines that follow: the scales of the sources, the
post-operations in their order, the scale and the zero point of the destination, and the store.
"""

from __future__ import annotations

from collections.abc import Sequence

from groundstate.dnn import elementwise
from groundstate.dnn.attributes import Attributes, Quantization
from groundstate.dnn.descriptor import Descriptor, dense_strides
from groundstate.dnn.elementwise import literal
from groundstate.dnn.errors import unimplemented
from groundstate.dnn.kernels import indexing, values
from groundstate.dnn.kernels.text import Kernel
from groundstate.dnn.post_ops import Binary, Eltwise, PostOp, Prelu, Sum
from groundstate.dnn.types import Algorithm, Arg, DataType

OPERATORS = {
    Algorithm.binary_add: "({x} + {y})",
    Algorithm.binary_mul: "({x} * {y})",
    Algorithm.binary_max: "({x} > {y} ? {x} : {y})",
    Algorithm.binary_min: "({x} < {y} ? {x} : {y})",
    Algorithm.binary_div: "({x} / {y})",
    Algorithm.binary_sub: "({x} - {y})",
    Algorithm.binary_ge: "({x} >= {y} ? {one} : {zero})",
    Algorithm.binary_gt: "({x} > {y} ? {one} : {zero})",
    Algorithm.binary_le: "({x} <= {y} ? {one} : {zero})",
    Algorithm.binary_lt: "({x} < {y} ? {one} : {zero})",
    Algorithm.binary_eq: "({x} == {y} ? {one} : {zero})",
    Algorithm.binary_ne: "({x} != {y} ? {one} : {zero})",
    Algorithm.binary_select: "({c} ? {x} : {y})",
}


def binary_text(algorithm: Algorithm, x: str, y: str, c: str = "", *, double: bool = False) -> str:
    """An operation on two variables as an expression."""
    one, zero = literal(1, double), literal(0, double)
    return OPERATORS[algorithm].format(x=x, y=y, c=c, one=one, zero=zero)


class Quantized:
    """The scales or zero points of one argument, as a kernel reads them."""

    def __init__(
        self, kernel: Kernel, arg: int, used: Quantization, dims: Sequence[int], base: int
    ) -> None:
        self.used, self.dims = used, tuple(dims)
        prefix = "scale" if base == Arg.ATTR_SCALES else "zero_point"
        self.name = f"{prefix}_{arg}"
        if used.on_host:
            kernel.host_scalar(base | arg, used.data_type, self.name)
        else:
            kernel.input(base | arg, used.data_type, self.name)

    def at(self, names: Sequence[str], to: str) -> str:
        """The value for the element at these coordinates."""
        if self.used.on_host:
            return _host_value(self.used.data_type, self.name, to)
        return values.load(self.used.data_type, self.name, self._index(names), to=to)

    def _index(self, names: Sequence[str]) -> str:
        kept = [dim for dim in range(len(self.dims)) if self.used.mask >> dim & 1]
        groups = self._groups()
        sizes = [-(-self.dims[dim] // groups[dim]) for dim in kept]
        terms = [
            (names[dim] if groups[dim] == 1 else f"({names[dim]} / {groups[dim]})", stride)
            for dim, stride in zip(kept, dense_strides(sizes), strict=True)
        ]
        return " + ".join(t if s == 1 else f"{t} * {s}" for t, s in terms) or "0"

    def _groups(self) -> list[int]:
        """How many indices share a value, for each dimension."""
        groups = [1] * len(self.dims)
        for place, size in enumerate(reversed(self.used.groups)):
            groups[len(self.dims) - 1 - place] = size
        return groups


def _host_value(data_type: DataType, name: str, to: str) -> str:
    if data_type == DataType.bf16:
        return f"gs_from_bf16({name})"
    if data_type == DataType.f16:
        unimplemented("scales of type f16 from the host")
    return f"({to}){name}"


class Epilogue:
    """The end of a kernel that computes one element of the destination at a time.

    `scaled` are the sources whose scales multiply the result, with the shape that each scale's mask
    refers to and the names of the coordinates in it. `cached` says that the kernel has written to
    the destination before, so that it is in a cache.
    """

    def __init__(
        self,
        kernel: Kernel,
        attributes: Attributes,
        target: Descriptor,
        *,
        target_arg: int = Arg.DST,
        double: bool = False,
        cached: bool = False,
    ) -> None:
        self.kernel, self.attributes, self.target = kernel, attributes, target
        self.around = not cached and values.exceeds_cache(target)
        self.target_arg, self.double = target_arg, double
        self.real = values.real(double)
        self.scale = self._quantized(target_arg, attributes.scales, Arg.ATTR_SCALES)
        self.zero_point = self._quantized(target_arg, attributes.zero_points, Arg.ATTR_ZERO_POINTS)
        for place, step in enumerate(attributes.post_ops):
            self._declare(place, step)

    def _quantized(self, arg: int, used: dict[int, Quantization], base: int) -> Quantized | None:
        if arg not in used:
            return None
        return Quantized(self.kernel, arg, used[arg], self.target.dims, base)

    def _declare(self, place: int, step: PostOp) -> None:
        base = Arg.ATTR_MULTIPLE_POST_OP_BASE * (place + 1)
        if isinstance(step, Binary):
            self.kernel.input(base | Arg.SRC_1, step.source.data_type, f"post_{place}")
            if step.condition is not None:
                self.kernel.input(base | Arg.SRC_2, step.condition.data_type, f"choice_{place}")
        elif isinstance(step, Prelu):
            self.kernel.input(base | Arg.WEIGHTS, DataType.f32, f"post_{place}")

    def lines(self, names: Sequence[str], pointer: str, index: str, acc: str = "acc") -> list[str]:
        """The lines that finish the variable `acc` and write it to `pointer[index]`."""
        return [
            *self.post_op_lines(names, pointer, index, acc),
            *self.store_lines(names, pointer, index, acc),
        ]

    def post_op_lines(
        self, names: Sequence[str], pointer: str, index: str, acc: str = "acc"
    ) -> list[str]:
        """The lines of the post-operations."""
        lines = []
        for place, step in enumerate(self.attributes.post_ops):
            lines.append(f"{acc} = {self._post_op(place, step, names, pointer, index, acc)};")
        return lines

    def store_lines(
        self, names: Sequence[str], pointer: str, index: str, acc: str = "acc"
    ) -> list[str]:
        """The lines that quantise and write."""
        lines = []
        if self.scale is not None:
            lines.append(f"{acc} /= {self.scale.at(names, self.real)};")
        if self.zero_point is not None:
            lines.append(f"{acc} += {self.zero_point.at(names, self.real)};")
        kind, around = self.target.data_type, self.around
        return [*lines, values.store(kind, pointer, index, acc, of=self.real, around=around)]

    def _post_op(
        self,
        place: int,
        step: PostOp,
        names: Sequence[str],
        pointer: str,
        index: str,
        acc: str,
    ) -> str:
        if isinstance(step, Eltwise):
            return elementwise.forward_text(
                step.algorithm, acc, step.alpha, step.beta, double=self.double
            )
        if isinstance(step, Sum):
            return f"{acc} + {self._before(step, pointer, index)}"
        if isinstance(step, Prelu):
            weight = f"post_{place}[{prelu_index(self.target, step.mask, names)}]"
            return f"{acc} > 0 ? {acc} : {acc} * {weight}"
        if isinstance(step, Binary):
            y = self._other(step.source, f"post_{place}", names, self.real)
            choice = ""
            if step.condition is not None:
                choice = self._other(step.condition, f"choice_{place}", names, "int")
            return binary_text(step.algorithm, acc, y, choice, double=self.double)
        return unimplemented(f"a post-operation of kind {step.kind.name}")

    def _before(self, step: Sum, pointer: str, index: str) -> str:
        """What was in the destination, scaled."""
        kind = step.data_type or self.target.data_type
        source = pointer
        if kind != self.target.data_type:
            source = f"((global const {values.c_type(DataType(kind))} *){pointer})"
        text = values.load(DataType(kind), source, index, to=self.real)
        if step.zero_point:
            text = f"({text} - {literal(step.zero_point, self.double)})"
        return text if step.scale == 1 else f"{literal(step.scale, self.double)} * {text}"

    def _other(self, tensor: Descriptor, name: str, names: Sequence[str], to: str) -> str:
        place = indexing.offset(tensor, names, broadcast=True)
        return values.load(tensor.data_type, name, place, to=to)


def prelu_index(target: Descriptor, mask: int, names: Sequence[str]) -> str:
    """Where the weight of an element lies: dense, with the second dimension innermost."""
    dims = [size if mask >> dim & 1 else 1 for dim, size in enumerate(target.dims)]
    order = [0, *range(2, len(dims)), 1] if len(dims) > 1 else [0]
    terms, step = [], 1
    for dim in reversed(order):
        if dims[dim] != 1:
            terms.append(names[dim] if step == 1 else f"{names[dim]} * {step}")
        step *= dims[dim]
    return " + ".join(terms) or "0"
