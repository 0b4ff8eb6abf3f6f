"""Element by element: eltwise, binary and PReLU."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tests.dnn.reference import facts
from tests.dnn.reference.compare import Mask, Points, Rule
from tests.dnn.reference.draw import Draw
from tests.dnn.reference.families.base import FLOATS, NARROW, Family, md, propagation, step
from tests.dnn.reference.numbers import EPSILON, Array, representable
from tests.dnn.reference.problem import Attributes, Problem, Tensor

# --- Eltwise ----------------------------------------------------------------------------------

PARAMETERS = {
    "relu": (0.25, 0.0),
    "relu_dst": (0.25, 0.0),
    "elu": (0.5, 0.0),
    "elu_dst": (0.5, 0.0),
    "linear": (2.0, -1.0),
    "soft_relu": (1.0, 0.0),
    "hardsigmoid": (0.25, 0.5),
    "swish": (0.5, 0.0),
    "clip": (-1.0, 2.0),
    "clip_v2": (-1.0, 2.0),
    "clip_v2_dst": (-1.0, 2.0),
    "pow": (0.5, 2.0),
    "hardswish": (1.0 / 6.0, 0.5),
}
RESULTS = {  # between which numbers the result of an algorithm lies
    "tanh_dst": (-0.99, 0.99),
    "elu_dst": (-0.49, 10.0),
    "sqrt_dst": (0.1, 10.0),
    "logistic_dst": (0.01, 0.99),
    "exp_dst": (0.01, 50.0),
}
UNORDERED = ("max", "min", "ge", "gt", "le", "lt")
"""What oneDNN's own implementations answer differently for NaN."""
HIGHER = ("gelu_tanh", "elu", "swish", "tanh", "soft_relu", "mish", "log")


def eltwise(draw: Draw) -> Problem:
    backward = draw.chance(0.4)
    names = [n for n in facts.ELTWISE if backward or not n.endswith("_dst")]
    name = draw.pick([n for n in names if not backward or n != "round"])
    dims = draw.dims([1, 2, 3, 4, 5])
    dtype = "f32" if name == "round" else draw.dtype(*FLOATS)
    if name != "round" and draw.chance(0.08):
        dtype = "f64"
    if not backward and draw.chance(0.1) and name in ("relu", "linear", "clip"):
        dtype = draw.pick(["s8", "u8", "s32"])
    alpha, beta = PARAMETERS.get(name, (0.0, 0.0))
    layout = draw.layout(dims)
    low, high = RESULTS.get(name, (0.0, 10.0) if name in ("log", "sqrt", "pow") else (-10.0, 10.0))
    values = spread(draw, dims, low, high, dtype)
    traits = {"algorithm": name, "backward": backward, "alpha": alpha, "beta": beta}
    algorithm, numbers = ("int", facts.ELTWISE[name]), (("float", alpha), ("float", beta))
    tensors = {
        "src": Tensor(dims, dtype, layout, values),
        "dst": Tensor(dims, dtype, layout),
    }
    forward = step(
        "eltwise_forward",
        "engine",
        propagation("training" if backward else draw.pick(["training", "inference"])),
        algorithm,
        md("src"),
        md("dst"),
        *numbers,
        "attr",
        inputs=["src"],
        outputs=["dst"],
        attributes=not backward,
        execute=not backward,
    )
    if not backward:
        kinds = ("binary",) if dtype not in ("s8", "u8", "s32") else ()
        post_ops = draw.post_ops(dims, kinds)
        attributes = draw.attributes(post_ops)
        problem = Problem("eltwise", tensors, (forward,), attributes, traits)
        return draw.special(problem, ["src"])
    data = "dst" if name.endswith("_dst") else "src"
    tensors["diff_dst"] = Tensor(dims, dtype, layout, draw.whole(dims, -2, 2, dtype))
    tensors["diff_src"] = Tensor(dims, dtype, layout)
    if data == "dst":
        tensors["dst"] = replace(tensors["dst"], values=values)
    back = step(
        "eltwise_backward",
        "engine",
        algorithm,
        md("diff_src"),
        md("diff_dst"),
        md(data),
        *numbers,
        "hint",
        "attr",
        inputs=[data, "diff_dst"],
        outputs=["diff_src"],
    )
    return Problem("eltwise", tensors, (forward, back), Attributes(), traits)


def spread(draw: Draw, dims: tuple[int, ...], low: float, high: float, dtype: str) -> Array:
    """Large, small and whole numbers within the range."""
    real = draw.real(dims, low, high, dtype)
    small = draw.real(dims, max(low, -0.09), 0.09 if low <= 0 else high, dtype)
    how = draw.random.integers(3, size=dims)
    whole = np.clip(np.rint(real), np.ceil(low), np.floor(high)) if high - low > 2 else real
    return representable(np.choose(how, [real, small, whole]), dtype)


def eltwise_rule(problem: Problem, output: str) -> Rule:
    dtype, name = problem.tensors[output].dtype, str(problem.traits["algorithm"])
    wide = dtype in ("f32", "f64")
    threshold = 4e-6 if wide else EPSILON[dtype]
    if wide and name in HIGHER:
        threshold = 4e-5
    source = problem.tensors["dst" if name.endswith("_dst") else "src"].values
    assert source is not None
    cancels = cancellation(name, bool(problem.traits["backward"]), problem.traits["alpha"], source)
    limit = 2 * EPSILON["f32"] / threshold if threshold else 0.0
    return Rule(
        threshold,
        also=lambda points: cancels(limit) & (points.difference <= EPSILON[dtype]),
    )


def cancellation(name: str, backward: bool, alpha: float, s: Array) -> Callable[[float], Mask]:
    """Where an algorithm subtracts numbers that are nearly equal: by how much, given a limit."""

    def mask(limit: float) -> Mask:
        with np.errstate(all="ignore"):
            return cancelled(name, backward, alpha, s, limit)

    return mask


def cancelled(name: str, backward: bool, alpha: float, s: Array, limit: float) -> Mask:
    none = np.zeros(s.shape, dtype=bool)
    if name in ("elu", "elu_dst"):
        return none if backward else (s < 0) & (np.abs(np.expm1(s)) <= limit)
    if name == "gelu_tanh":
        inner = 0.797884 * (1 + 3 * 0.044715 * s * s)
        v = np.tanh(0.797884 * s * (1 + 0.044715 * s * s))
        near = np.abs(1 + v) <= limit
        return near | (
            (s < 0) & (np.abs(1 + s * (1 - v) * inner) <= 4 * limit) if backward else none
        )
    if name == "gelu_erf":
        v = s * np.sqrt(0.5)
        one = 1 + erf(v)
        if not backward:
            return np.asarray(np.abs(one) <= limit)
        return np.asarray(np.abs(one + v * 1.1283791671 * np.exp(-v * v)) <= 2 * limit)
    if name == "tanh" and backward:
        return np.asarray(1 - np.tanh(np.abs(s)) <= limit)
    if name == "tanh_dst" and backward:
        return np.asarray(1 - s * s <= limit)
    if name == "soft_relu" and not backward:
        return (alpha * s < 0) & (np.log1p(np.exp(alpha * s)) <= 10 * limit)
    if name == "mish" and not backward:
        return (s < 0) & (s * np.tanh(np.log1p(np.exp(s))) <= 10 * limit)
    if name == "logistic" and backward:
        return (s >= 0) & (1 / (1 + np.exp(s)) <= limit)
    if name == "logistic_dst" and backward:
        return (1 - s <= limit) | (s <= limit)
    if name == "swish" and backward:
        return np.asarray(alpha * s * (1 - 1 / (1 + np.exp(-alpha * s))) <= limit)
    return none


def erf(x: Array) -> Array:
    """The error function of every element."""
    return np.array([math.erf(value) for value in x.reshape(-1)]).reshape(x.shape)


ELTWISE = Family("eltwise", eltwise, eltwise_rule)

# --- Binary -----------------------------------------------------------------------------------


def binary(draw: Draw) -> Problem:
    name = draw.pick([n for n in facts.BINARY if n != "select"])
    dims = draw.dims([1, 2, 3, 4, 5])
    other = tuple(1 if draw.chance(0.3) else n for n in dims) if draw.chance(0.6) else dims
    first, second = (
        draw.dtype(*FLOATS, *NARROW),
        draw.dtype(*FLOATS, *NARROW),
    )
    result = first if draw.chance(0.7) else draw.dtype(*FLOATS, *NARROW)
    values = draw.whole(other, 1 if name == "div" else -8, 8, second)
    tensors = {
        "src": Tensor(dims, first, draw.layout(dims), draw.whole(dims, -8, 8, first)),
        "src_1": Tensor(other, second, draw.layout(other), values),
        "dst": Tensor(dims, result, draw.layout(dims, True), draw.whole(dims, -4, 4, result)),
    }
    only = step(
        "binary",
        "engine",
        ("int", facts.BINARY[name]),
        md("src"),
        md("src_1"),
        md("dst"),
        "attr",
        inputs=["src", "src_1"],
        outputs=["dst"],
    )
    attributes = draw.attributes(draw.post_ops(dims, ("eltwise", "binary", "sum")))
    if draw.chance(0.2):
        scales = tuple(draw.scale(arg, dims, [0]) for arg in ("src", "src_1"))
        attributes = replace(attributes, scales=scales)
    problem = Problem("binary", tensors, (only,), attributes, {"algorithm": name})
    # Which operand max and min give when one is NaN is not said.
    return problem if name in UNORDERED else draw.special(problem, ["src"])


def binary_rule(problem: Problem, output: str) -> Rule:
    dtype = problem.tensors[output].dtype

    def division(points: Points) -> Mask:
        return np.asarray(points.difference < EPSILON[dtype])

    return Rule(EPSILON[dtype], also=division if problem.traits["algorithm"] == "div" else None)


BINARY = Family("binary", binary, binary_rule)

# --- PReLU ------------------------------------------------------------------------------------


def prelu(draw: Draw) -> Problem:
    backward = draw.chance(0.4)
    dims = draw.dims([1, 2, 3, 4, 5])
    how = draw.pick(["all", "one", "channel", "some"])
    shapes = {
        "all": dims,
        "one": (1,) * len(dims),
        "channel": tuple(n if i == min(1, len(dims) - 1) else 1 for i, n in enumerate(dims)),
        "some": tuple(1 if draw.chance(0.5) else n for n in dims),
    }
    shape, dtype = shapes[how], draw.dtype(*FLOATS)
    layout = draw.layout(dims)
    tensors = {
        "src": Tensor(dims, dtype, layout, draw.whole(dims, -8, 8, dtype)),
        "weights": Tensor(
            shape,
            dtype,
            draw.layout(shape, True),
            draw.of(np.zeros(shape), [-2.0, -0.5, 0.25, 0.5, 1.0, 2.0]),
        ),
        "dst": Tensor(dims, dtype, layout),
    }
    forward = step(
        "prelu_forward",
        "engine",
        propagation("training" if backward else draw.pick(["training", "inference"])),
        md("src"),
        md("weights"),
        md("dst"),
        "attr",
        inputs=["src", "weights"],
        outputs=["dst"],
        execute=not backward,
    )
    traits = {"backward": backward, "weights": how}
    if not backward:
        problem = Problem("prelu", tensors, (forward,), draw.attributes(), traits)
        return draw.special(problem, ["src"])
    tensors["diff_dst"] = Tensor(dims, dtype, layout, draw.whole(dims, -4, 4, dtype))
    tensors["diff_src"] = Tensor(dims, dtype, layout)
    tensors["diff_weights"] = Tensor(shape, dtype, tensors["weights"].layout)
    back = step(
        "prelu_backward",
        "engine",
        *(md(n) for n in ("src", "weights", "diff_src", "diff_weights", "diff_dst")),
        "hint",
        "attr",
        inputs=["src", "weights", "diff_dst"],
        outputs=["diff_src", "diff_weights"],
    )
    return Problem("prelu", tensors, (forward, back), draw.attributes(), traits)


def prelu_rule(problem: Problem, output: str) -> Rule:
    tensor = "weights" if output == "diff_weights" else "src"
    return Rule(2 * EPSILON[problem.tensors[tensor].dtype])


PRELU = Family("prelu", prelu, prelu_rule)
