"""A problem: tensors, attributes and the calls that make one or two primitives of them.

A problem is plain data, so that it can be sent to another process, printed, and changed: the
reference library gets it with plain layouts and in f32, ours as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tests.dnn.reference.numbers import Array


@dataclass(frozen=True)
class Layout:
    """Where elements lie: `plain`, `any`, `permuted` (with gaps between), or a tag with blocks."""

    kind: str = "plain"
    order: tuple[int, ...] = ()  # (0, 2, 3, 1) puts the channels last
    gap: int = 0  # elements left free after each line of the innermost dimension
    tag: str = ""
    fixed: bool = False  # the reference gets this layout, too

    def strides(self, dims: tuple[int, ...]) -> list[int]:
        """The distance between neighbours, in elements, for each dimension."""
        order = self.order or tuple(range(len(dims)))
        strides, step = [0] * len(dims), 1
        for position, index in enumerate(reversed(order)):
            strides[index] = step
            step *= max(dims[index], 1)
            if position == 0:
                step += self.gap
        return strides


PLAIN = Layout()
ANY = Layout("any")


@dataclass(frozen=True)
class Tensor:
    """A tensor, with its values when the primitive reads them (or adds to them)."""

    dims: tuple[int, ...]
    dtype: str
    layout: Layout = PLAIN
    values: Array | None = None
    open: frozenset[int] = frozenset()  # dimensions that are known only at execution

    def __repr__(self) -> str:
        where = self.layout.tag or self.layout.kind
        if self.layout.order:
            where += "".join("abcdef"[index] for index in self.layout.order)
        if self.layout.gap:
            where += f"+{self.layout.gap}"
        return f"{self.dtype}:{where}:{'x'.join(map(str, self.dims))}"


@dataclass(frozen=True)
class PostOp:
    """One post-op: `sum`, `eltwise`, `binary` (with a tensor) or `prelu` (with its weights)."""

    kind: str
    algorithm: str = ""
    alpha: float = 1.0
    beta: float = 0.0
    zero_point: int = 0
    dtype: str = "undef"
    mask: int = 0
    tensor: Tensor | None = None


@dataclass(frozen=True)
class Quantization:
    """Scales or zero points of one argument; the mask says which dimensions have their own."""

    argument: str
    mask: int
    values: Array

    def __repr__(self) -> str:
        return f"{self.argument}:{self.mask}"


@dataclass(frozen=True)
class Attributes:
    """What is attached to a primitive."""

    scales: tuple[Quantization, ...] = ()
    zero_points: tuple[Quantization, ...] = ()
    post_ops: tuple[PostOp, ...] = ()
    fpmath: str = "strict"
    user_scratchpad: bool = False
    deterministic: bool = False

    @property
    def is_default(self) -> bool:
        return self == Attributes()


@dataclass(frozen=True)
class Step:
    """One primitive: the call that makes its descriptor, and the arguments to execute it with.

    An argument of the call is `("md", name)`, `("mds", names)`, `("int", n)`, `("flags", n)`,
    `("dim", n)`, `("float", x)`, `("floats", xs)`, `("dims", ns)`, `("type", dtype)`, or one of
    "engine", "attr", "hint" (the descriptor of the first step) and "null".
    """

    call: str
    arguments: tuple[Any, ...]
    inputs: dict[str, str]  # argument -> tensor
    outputs: dict[str, str]
    takes_attributes: bool = True
    execute: bool = True
    in_place: dict[str, str] = field(
        default_factory=dict
    )  # output -> the input it shares memory of


@dataclass(frozen=True)
class Problem:
    """All of it. `traits` is what the thresholds of the family ask for."""

    family: str
    tensors: dict[str, Tensor]
    steps: tuple[Step, ...]
    attributes: Attributes = field(default_factory=Attributes)
    traits: dict[str, Any] = field(default_factory=dict)

    def results(self) -> set[str]:
        """The tensors that it computes."""
        executed = (step for step in self.steps if step.execute)
        return {tensor for step in executed for tensor in step.outputs.values()}

    def __str__(self) -> str:
        tensors = " ".join(f"{name}={tensor!r}" for name, tensor in self.tensors.items())
        attributes = "" if self.attributes.is_default else f" {describe(self.attributes)}"
        traits = " ".join(f"{name}={value}" for name, value in self.traits.items())
        return f"{self.family} {traits} {tensors}{attributes}"


def describe(attributes: Attributes) -> str:
    """The attributes in one line."""
    parts = [f"scales={attributes.scales}"] if attributes.scales else []
    if attributes.zero_points:
        parts.append(f"zero_points={attributes.zero_points}")
    for post_op in attributes.post_ops:
        parts.append(f"+{post_op.kind}:{post_op.algorithm}:{post_op.alpha}:{post_op.beta}")
        if post_op.tensor is not None:
            parts.append(repr(post_op.tensor))
    if attributes.fpmath != "strict":
        parts.append(f"fpmath={attributes.fpmath}")
    return " ".join(parts)


def in_single_precision(problem: Problem) -> Problem:
    """The same problem for the reference: f32, plain layouts, quantised inputs as real numbers."""
    attributes = problem.attributes
    scales = {q.argument: q for q in attributes.scales}
    zero_points = {q.argument: q for q in attributes.zero_points}
    names = {tensor: argument for step in problem.steps for argument, tensor in step.inputs.items()}
    tensors = {}
    for name, tensor in problem.tensors.items():
        argument = names.get(name, name)
        values = tensor.values
        if values is not None and argument != "dst":
            values = dequantised(values, scales.get(argument), zero_points.get(argument))
        layout = tensor.layout if tensor.layout.fixed else PLAIN
        tensors[name] = replace(tensor, dtype="f32", layout=layout, values=values)
    shift = next((p.zero_point for p in attributes.post_ops if p.kind == "sum"), 0)
    dst = tensors.get("dst")
    if shift and dst is not None and dst.values is not None:
        tensors["dst"] = replace(dst, values=dst.values - shift)
    return replace(
        problem,
        tensors=tensors,
        attributes=Attributes(post_ops=tuple(plain_post_op(p) for p in attributes.post_ops)),
        steps=tuple(replace(step, arguments=plain_types(step.arguments)) for step in problem.steps),
    )


def plain_types(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a call with f32 wherever a data type is named."""
    return tuple(
        ("type", "f32") if isinstance(argument, tuple) and argument[0] == "type" else argument
        for argument in arguments
    )


def plain_post_op(post_op: PostOp) -> PostOp:
    """The post-op with its tensor in f32, and nothing left to subtract."""
    tensor = post_op.tensor
    if tensor is not None:
        tensor = replace(tensor, dtype="f32", layout=PLAIN)
    return replace(post_op, tensor=tensor, dtype="undef", zero_point=0)


def dequantised(
    values: Array, scale: Quantization | None, zero_point: Quantization | None
) -> Array:
    """The real numbers that stored ones stand for."""
    if zero_point is not None:
        values = values - along(zero_point, values.shape)
    if scale is not None:
        values = values * along(scale, values.shape)
    return values


def quantised(values: Array, scale: Quantization | None, zero_point: Quantization | None) -> Array:
    """The numbers to store for real ones, before they are rounded."""
    if scale is not None:
        values = values / along(scale, values.shape)
    if zero_point is not None:
        values = values + along(zero_point, values.shape)
    return values


def along(quantization: Quantization, dims: tuple[int, ...]) -> Array:
    """The values of a quantisation in the shape that goes with a tensor of these sizes."""
    shape = [n if quantization.mask >> index & 1 else 1 for index, n in enumerate(dims)]
    return quantization.values.reshape(shape) if 0 not in shape else np.ones(shape)
