"""Random problems are drawn from here: sizes, types, layouts, numbers, attributes. Seeded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TypeVar

import numpy as np

from tests.dnn.reference.numbers import INTEGERS, Array, representable
from tests.dnn.reference.problem import (
    ANY,
    PLAIN,
    Attributes,
    Layout,
    PostOp,
    Problem,
    Quantization,
    Tensor,
)

T = TypeVar("T")
EXACT_ELTWISE = ("relu", "linear", "clip", "abs", "square")
SMOOTH_ELTWISE = ("tanh", "logistic", "gelu_erf", "swish", "hardswish")


class Draw:
    """A source of chances for one problem."""

    def __init__(self, family: str, seed: int, index: int) -> None:
        words = [seed, index, *family.encode()]
        self.random = np.random.default_rng(words)
        # Some problems are at the edge: no elements, a size of one, NaN and infinity.
        self.edge = self.pick(["", "", "", "", "", "", "", "zero", "one", "special"])

    # --- Choices ------------------------------------------------------------------------------

    def pick(self, among: Sequence[T]) -> T:
        return among[int(self.random.integers(len(among)))]

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def integer(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return int(self.random.integers(low, high + 1))

    def size(self, high: int) -> int:
        """A size: often small, sometimes a power of two, sometimes up to the limit."""
        how = self.random.random()
        if how < 0.15:
            return 1
        if how < 0.4:
            return min(high, self.pick([2, 4, 8, 16, 32, 64]))
        return self.integer(1, high)

    def dims(self, ranks: Sequence[int], high: int = 20, limit: int = 40_000) -> tuple[int, ...]:
        """The sizes of a tensor, at the edge when this problem is."""
        rank = self.pick(ranks)
        while True:
            dims = [self.size(high) for _ in range(rank)]
            if prod(dims) <= limit:
                break
        if self.edge == "one":
            dims[self.integer(0, rank - 1)] = 1
        if self.edge == "zero":
            dims[self.integer(0, rank - 1)] = 0
        return tuple(dims)

    def dtype(self, *also: str) -> str:
        """A data type: half of the problems are f32, the others of the types given."""
        return "f32" if self.chance(0.4) or not also else self.pick(also)

    # --- Layouts ------------------------------------------------------------------------------

    def layout(self, dims: Sequence[int], any_allowed: bool = False) -> Layout:
        """Plain, permuted, with gaps, with blocks, or the library's choice."""
        how = self.random.random()
        if any_allowed and how < 0.25:
            return ANY
        if how < 0.5 or len(dims) < 2:
            return PLAIN if self.chance(0.9) else Layout("permuted", gap=self.integer(1, 3))
        if how < 0.7 and len(dims) >= 3:
            last = (0, *range(2, len(dims)), 1)
            return Layout("permuted", order=last)
        if how < 0.85 and len(dims) in (3, 4, 5):
            block = self.pick([4, 8, 16])
            letters = "aB" + "cde"[: len(dims) - 2]
            return Layout("tag", tag=f"{letters}{block}b")
        order = tuple(int(i) for i in self.random.permutation(len(dims)))
        return Layout("permuted", order=order, gap=self.pick([0, 0, 1, 5]))

    # --- Numbers ------------------------------------------------------------------------------

    def whole(self, dims: Sequence[int], low: int, high: int, dtype: str = "f32") -> Array:
        """Whole numbers: sums of products of them are exact."""
        if dtype == "u8":
            low = max(low, 0)
        values = self.random.integers(low, high + 1, size=tuple(dims)).astype(np.float64)
        return representable(values, dtype)

    def real(self, dims: Sequence[int], low: float, high: float, dtype: str = "f32") -> Array:
        """Numbers of the type between two."""
        if dtype in INTEGERS:
            return self.whole(dims, int(low), int(high), dtype)
        return representable(self.random.uniform(low, high, size=tuple(dims)), dtype)

    def of(self, values: Array, choices: Sequence[float]) -> Array:
        """Numbers out of a few, in the shape of others."""
        return np.asarray(self.random.choice(np.asarray(choices, dtype=float), size=values.shape))

    def special(self, problem: Problem, names: Sequence[str]) -> Problem:
        """The problem with NaN and infinities among its inputs, if it is one at the edge."""
        if self.edge != "special":
            return problem
        tensors = dict(problem.tensors)
        for name in names:
            tensor = tensors[name]
            if tensor.values is None or tensor.dtype in INTEGERS or not tensor.values.size:
                continue
            values = tensor.values.copy()
            places = self.random.integers(values.size, size=3)
            values.reshape(-1)[places] = [np.nan, np.inf, -np.inf]
            tensors[name] = replace(tensor, values=values)
        return replace(problem, tensors=tensors, traits={**problem.traits, "special": True})

    # --- Attributes ---------------------------------------------------------------------------

    def post_ops(
        self, dims: tuple[int, ...], kinds: Sequence[str], smooth: bool = True
    ) -> tuple[PostOp, ...]:
        """None, one or two post-ops for a result of these sizes."""
        if self.chance(0.6) or not kinds:
            return ()
        return tuple(
            self.post_op(kind, dims, smooth)
            for kind in dict.fromkeys(self.pick(kinds) for _ in range(self.integer(1, 2)))
        )

    def post_op(self, kind: str, dims: tuple[int, ...], smooth: bool) -> PostOp:
        if kind == "sum":
            return PostOp("sum", alpha=self.pick([1.0, 0.5, 2.0]))
        if kind == "eltwise":
            name = self.pick(EXACT_ELTWISE + (SMOOTH_ELTWISE if smooth else ()))
            alpha, beta = {"clip": (-2.0, 3.0), "linear": (2.0, 1.0), "swish": (1.0, 0.0)}.get(
                name, (self.pick([0.0, 0.5]), 0.0)
            )
            if name == "hardswish":
                alpha, beta = 1.0 / 6.0, 0.5
            return PostOp("eltwise", name, alpha, beta)
        if kind == "prelu":
            mask = self.pick([0, 2]) if len(dims) > 1 else 0
            shape = tuple(n if mask >> i & 1 else 1 for i, n in enumerate(dims))
            weights = self.of(np.zeros(shape), [-1.0, 0.25, 0.5, 2.0])
            return PostOp("prelu", mask=mask, tensor=Tensor(shape, "f32", values=weights))
        name = self.pick(["add", "mul", "max", "min", "sub"])
        shape = self.pick([dims, tuple(1 if i != 1 else n for i, n in enumerate(dims))])
        if self.chance(0.3):
            shape = (1,) * len(dims)
        values = self.of(np.zeros(shape), [1.0, 2.0, 4.0, 8.0])
        return PostOp("binary", name, tensor=Tensor(shape, "f32", values=values))

    def scale(self, argument: str, dims: tuple[int, ...], masks: Sequence[int]) -> Quantization:
        """Scales that are powers of two, so that products with them are exact."""
        usual = [0.25, 0.5, 1.0, 2.0, 4.0]
        extreme = [2.0**-12, 2.0**12]
        choices = extreme if self.chance(0.05) else usual
        return Quantization(argument, *self._values(dims, masks, choices))

    def zero_point(self, argument: str, dims: tuple[int, ...]) -> Quantization:
        return Quantization(argument, *self._values(dims, [0], [-2.0, -1.0, 1.0, 3.0]))

    def _values(
        self, dims: tuple[int, ...], masks: Sequence[int], choices: list[float]
    ) -> tuple[int, Array]:
        mask = self.pick(masks)
        count = prod(n for i, n in enumerate(dims) if mask >> i & 1)
        return mask, self.of(np.zeros(max(count, 1)), choices)

    def attributes(self, post_ops: tuple[PostOp, ...] = ()) -> Attributes:
        """Attributes with these post-ops, now and then with the caller's scratchpad."""
        return Attributes(
            post_ops=post_ops,
            user_scratchpad=self.chance(0.1),
            deterministic=self.chance(0.1),
        )
