"""Normalisations: softmax, layer, batch, group and local response."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from tests.dnn.reference import facts
from tests.dnn.reference.compare import Mask, Points, Rule
from tests.dnn.reference.draw import Draw
from tests.dnn.reference.families.base import FLOATS, NARROW, Family, md, propagation, step
from tests.dnn.reference.numbers import DIGITS, EPSILON, Array, representable
from tests.dnn.reference.problem import Attributes, Problem, Step, Tensor

FLAGS = facts.NORMALIZATION_FLAGS

# --- Softmax ----------------------------------------------------------------------------------


def softmax(draw: Draw) -> Problem:
    backward, name = draw.chance(0.4), draw.pick(list(facts.SOFTMAX))
    dims = draw.dims([1, 2, 3, 4, 5], 24)
    axis, dtype = draw.integer(0, len(dims) - 1), draw.dtype(*FLOATS)
    other = draw.pick([dtype, dtype, "f32", *NARROW]) if not backward else dtype
    layout = draw.layout(dims)
    algorithm = ("int", facts.SOFTMAX[name])
    tensors = {
        "src": Tensor(dims, dtype, layout, peaks(draw, dims, axis, dtype)),
        "dst": Tensor(dims, other, draw.layout(dims, True) if not backward else layout),
    }
    forward = step(
        "softmax_forward",
        "engine",
        propagation("training" if backward else draw.pick(["training", "inference"])),
        algorithm,
        md("src"),
        md("dst"),
        ("int", axis),
        "attr",
        inputs=["src"],
        outputs=["dst"],
        attributes=not backward,
        execute=not backward,
    )
    traits = {"algorithm": name, "axis": axis, "backward": backward}
    if not backward:
        attributes = draw.attributes(draw.post_ops(dims, ("binary",)))
        if other in NARROW:
            attributes = replace(attributes, scales=(draw.scale("dst", dims, [0]),))
        return Problem("softmax", tensors, (forward,), attributes, traits)
    # Results and differences of unlike sign do not cancel.
    values = -draw.whole(dims, 1, 8, dtype) if name == "log" else draw.whole(dims, 1, 8, dtype) / 8
    tensors["dst"] = Tensor(dims, dtype, layout, representable(values, dtype))
    tensors["diff_dst"] = Tensor(dims, dtype, layout, -draw.whole(dims, 1, 8, dtype))
    tensors["diff_src"] = Tensor(dims, dtype, layout)
    back = step(
        "softmax_backward",
        "engine",
        algorithm,
        md("diff_src"),
        md("diff_dst"),
        md("dst"),
        ("int", axis),
        "hint",
        "attr",
        inputs=["dst", "diff_dst"],
        outputs=["diff_src"],
    )
    return Problem("softmax", tensors, (forward, back), draw.attributes(), traits)


def peaks(draw: Draw, dims: tuple[int, ...], axis: int, dtype: str) -> Array:
    """Few values share the result, around where the exponential overflows; the rest is lowest."""
    values = np.full(dims, -65504.0 if dtype == "f16" else -3.0e38)
    line = np.moveaxis(values, axis, -1)
    for place in np.ndindex(line.shape[:-1]):
        top = 88.0 if draw.chance(0.5) else -88.0
        count = min(line.shape[-1], draw.integer(8, 14))
        chosen = draw.random.permutation(line.shape[-1])[:count]
        line[place][chosen] = top + draw.random.integers(0, 3, size=count)
    return representable(values, dtype)


def softmax_rule(problem: Problem, output: str) -> Rule:
    dtype, wide = problem.tensors[output].dtype, problem.tensors[output].dtype == "f32"
    factor = 5 if problem.traits["algorithm"] == "log" else 1
    factor *= 4 if problem.traits["backward"] else 1
    return Rule(
        factor * 10 * EPSILON[dtype] if wide else 0.0,
        also=lambda points: np.asarray(points.difference < EPSILON["f32"]),
    )


SOFTMAX = Family("softmax", softmax, softmax_rule)

# --- Layer, batch and group normalisation -----------------------------------------------------


def balanced(draw: Draw, shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> Array:
    """Pairs on both sides of a whole mean, at one distance: mean and variance are exact."""
    count = prod(shape[axis] for axis in axes)
    rest = tuple(n for axis, n in enumerate(shape) if axis not in axes)
    mean = draw.whole((*rest, 1), -2, 2)
    signs = np.where(np.arange(count) % 2 == 0, 1.0, -1.0)
    if count % 2:
        signs[-1:] = 0.0
    step_size = draw.of(np.zeros((*rest, 1)), [1.0, 2.0] if dtype in NARROW else [0.25, 1.0, 2.0])
    lines = mean + step_size * draw.random.permutation(signs)
    values = lines.reshape(*rest, *(shape[axis] for axis in axes))
    order = [axis for axis in range(len(shape)) if axis not in axes] + list(axes)
    return representable(np.transpose(values, np.argsort(order)), dtype)


def scale_and_shift(
    draw: Draw, count: int, flags: int, tensors: dict[str, Tensor], dtype: str = "f32"
) -> list[str]:
    """Adds the tensors that the flags ask for; answers their names."""
    names = [name for name in ("scale", "shift") if flags & FLAGS[name]]
    for name in names:
        values = draw.of(np.zeros(count), [0.25, 0.5, 1.0, 2.0, 4.0])
        tensors[name] = Tensor((count,), dtype, values=values)
    return names


def normalization_rule(limit: float, channel: int) -> Callable[[Problem, str], Rule]:
    """The rule of a normalisation, whose shift may cancel its result."""

    def rule(problem: Problem, output: str) -> Rule:
        backward = bool(problem.traits["backward"])
        dtype = problem.tensors["diff_src" if backward else "dst"].dtype
        factor = float(2 ** max(0, DIGITS["f32"] - DIGITS[dtype]))
        if output in ("diff_scale", "diff_shift"):
            return Rule(factor * 5e-6, whole_tensor=True)
        if output in ("mean", "variance"):
            return Rule(0.0)
        shift = problem.tensors.get("shift")
        threshold = factor * limit
        if backward or shift is None or shift.values is None:
            return Rule(threshold, whole_tensor=backward)
        dims = problem.tensors["dst"].dims
        axis = channel % len(dims)
        beta = shift.values.reshape([n if i == axis else 1 for i, n in enumerate(dims)])
        return Rule(threshold, also=lambda points: cancelled(points, beta, threshold))

    return rule


def cancelled(points: Points, beta: Array, threshold: float) -> Mask:
    """Where the shift takes away most of the result, the error counts before it."""
    before = np.abs(points.expected - beta)
    tiny = np.finfo(np.float32).tiny
    size = np.where(np.abs(points.expected) > tiny, np.abs(points.expected), 1.0)
    close = points.difference / np.where(before > tiny, before, 1.0) <= threshold
    return np.asarray((before / size > 1.0) & close)


def statistics(draw: Draw, shape: tuple[int, ...], tensors: dict[str, Tensor], given: bool) -> None:
    """Mean and variance, with values where the primitive reads them."""
    mean = draw.whole(shape, -2, 2) if given else None
    variance = draw.of(np.zeros(shape), [0.25, 1.0, 4.0]) if given else None
    tensors["mean"] = Tensor(shape, "f32", values=mean)
    tensors["variance"] = Tensor(shape, "f32", values=variance)


def normalization(
    draw: Draw,
    family: str,
    ranks: list[int],
    kind: str,
) -> Problem:
    """A problem of one of the three: they differ in what is averaged, and in their arguments."""
    backward = draw.chance(0.4)
    src = draw.dims(ranks, 12, 20_000)
    groups = draw.pick([n for n in range(1, max(src[1], 1) + 1) if src[1] % n == 0] or [1])
    flags = draw.pick([0, FLAGS["scale"], FLAGS["shift"], FLAGS["scale"] | FLAGS["shift"]])
    flags |= FLAGS["global_stats"] if draw.chance(0.3) else 0
    wide = draw.dtype(*FLOATS)
    dtype = wide if backward or draw.chance(0.85) else draw.pick(NARROW)
    if kind == "batch" and dtype in NARROW:
        flags |= FLAGS["global_stats"]
    if kind == "batch" and not backward and draw.chance(0.2):
        flags |= FLAGS["relu"]
    given = bool(flags & FLAGS["global_stats"]) or backward
    training = backward or draw.chance(0.5)
    other = dtype
    if kind != "batch" and not backward and draw.chance(0.2):
        other = draw.dtype(*FLOATS, *NARROW)
    channels = src[-1] if kind == "layer" else src[1]
    axes, stats = {
        "layer": ((len(src) - 1,), src[:-1]),
        "batch": ((0, *range(2, len(src))), (src[1],)),
        "group": ((), (src[0], groups)),
    }[kind]
    tensors: dict[str, Tensor] = {}
    if kind == "group":
        shaped = (src[0], groups, prod(src[1:]) // groups)
        values = balanced(draw, shaped, (2,), dtype).reshape(src)
    else:
        values = balanced(draw, src, axes, dtype)
    layout = draw.layout(src)
    tensors["src"] = Tensor(src, dtype, layout, values)
    tensors["dst"] = Tensor(src, other, layout if kind == "batch" else draw.layout(src, True))
    statistics(draw, stats, tensors, given)
    extra = scale_and_shift(draw, channels, flags, tensors)
    middle = {
        "layer": (md("mean"), ("float", 0.0), ("flags", flags)),
        "batch": (("float", 0.0), ("flags", flags)),
        "group": (("dim", groups), ("float", 0.0), ("flags", flags)),
    }[kind]
    epsilon = draw.pick([0.0, 2.0**-10]) if draw.chance(0.5) else 1e-3
    middle = tuple(("float", epsilon) if part[0] == "float" else part for part in middle)
    inputs, outputs = ["src", *extra], ["dst"]
    if flags & FLAGS["global_stats"]:
        inputs += ["mean", "variance"]
    elif training:
        outputs += ["mean", "variance"]
    forward = step(
        f"{kind}_normalization_forward",
        "engine",
        propagation("training" if training else "inference"),
        md("src"),
        md("dst"),
        *middle,
        "attr",
        inputs=inputs,
        outputs=outputs,
        attributes=not backward,
        execute=not backward,
    )
    traits = {"flags": flags, "backward": backward, "groups": groups, "epsilon": epsilon}
    if not backward:
        attributes = draw.attributes()
        if kind != "batch" and not training:
            attributes = draw.attributes(draw.post_ops(src, ("eltwise", "binary")))
        if kind != "batch" and other in NARROW:
            attributes = replace(attributes, scales=(draw.scale("dst", src, [0]),))
        return Problem(family, tensors, (forward,), attributes, traits)
    return backward_normalization(draw, kind, middle, forward, tensors, flags, traits, family)


def backward_normalization(
    draw: Draw,
    kind: str,
    middle: tuple[Any, ...],
    forward: Step,
    tensors: dict[str, Tensor],
    flags: int,
    traits: dict[str, Any],
    family: str,
) -> Problem:
    src, dtype = tensors["src"].dims, tensors["src"].dtype
    powers = draw.of(np.zeros(src), [-4.0, -2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 4.0])
    tensors["diff_dst"] = Tensor(src, dtype, tensors["src"].layout, powers)
    tensors["diff_src"] = Tensor(src, dtype, tensors["src"].layout)
    both = flags & (FLAGS["scale"] | FLAGS["shift"])
    prop = "backward" if both or draw.chance(0.5) else "backward_data"
    outputs = ["diff_src"]
    for name in ("scale", "shift"):
        if flags & FLAGS[name] and prop == "backward":
            tensors[f"diff_{name}"] = Tensor(tensors[name].dims, "f32")
            outputs.append(f"diff_{name}")
    inputs = ["src", "diff_dst", "mean", "variance"]
    if flags & FLAGS["scale"]:
        inputs.append("scale")
    back = step(
        f"{kind}_normalization_backward",
        "engine",
        propagation(prop),
        md("diff_src"),
        md("diff_dst"),
        md("src"),
        *middle,
        "hint",
        "attr",
        inputs=inputs,
        outputs=outputs,
    )
    return Problem(family, tensors, (forward, back), draw.attributes(), traits)


LAYER_NORMALIZATION = Family(
    "layer_normalization",
    lambda draw: normalization(draw, "layer_normalization", [2, 3, 4, 5], "layer"),
    normalization_rule(5e-7, -1),
)
BATCH_NORMALIZATION = Family(
    "batch_normalization",
    lambda draw: normalization(draw, "batch_normalization", [2, 3, 4, 5], "batch"),
    normalization_rule(6e-7, 1),
)
GROUP_NORMALIZATION = Family(
    "group_normalization",
    lambda draw: normalization(draw, "group_normalization", [3, 4, 5], "group"),
    normalization_rule(6e-7, 1),
)

# --- Local response normalisation -------------------------------------------------------------


def lrn(draw: Draw) -> Problem:
    backward, name = draw.chance(0.4), draw.pick(list(facts.LRN))
    dims = draw.dims([3, 4, 5] if name == "across" else [4, 5], 10, 10_000)
    dtype, layout, size = draw.dtype(*FLOATS), draw.layout(dims), draw.pick([1, 3, 5, 7])
    alpha, beta, k = (
        # A derivative with a large alpha is the difference of numbers that are nearly equal.
        draw.pick([2.0**-13, 2.0**-8] if backward else [2.0**-13, 0.25, 1.0]),
        draw.pick([0.5, 0.75, 1.0]),
        draw.pick([1.0, 2.0]),
    )
    numbers = (("dim", size), ("float", alpha), ("float", beta), ("float", k))
    algorithm = ("int", facts.LRN[name])
    tensors = {
        "src": Tensor(dims, dtype, layout, draw.whole(dims, -8, 7, dtype)),
        "dst": Tensor(dims, dtype, layout),
    }
    forward = step(
        "lrn_forward",
        "engine",
        propagation("training" if backward else draw.pick(["training", "inference"])),
        algorithm,
        md("src"),
        md("dst"),
        *numbers,
        "attr",
        inputs=["src"],
        outputs=["dst"],
    )
    summands = size if name == "across" else size ** (len(dims) - 2)
    traits = {"algorithm": name, "size": size, "backward": backward, "summands": summands}
    traits |= {"alpha": alpha, "beta": beta, "k": k}
    if not backward:
        return Problem("lrn", tensors, (forward,), draw.attributes(), traits)
    # No zeros: an element's own share is the larger part of its derivative.
    signs = draw.of(np.zeros(dims), [-1.0, 1.0])
    tensors["diff_dst"] = Tensor(dims, dtype, layout, signs * draw.whole(dims, 1, 8, dtype))
    tensors["diff_src"] = Tensor(dims, dtype, layout)
    back = step(
        "lrn_backward",
        "engine",
        algorithm,
        md("diff_src"),
        md("diff_dst"),
        md("src"),
        *numbers,
        "hint",
        "attr",
        inputs=["src", "diff_dst"],
        outputs=["diff_src"],
    )
    return Problem("lrn", tensors, (forward, back), Attributes(), traits)


def lrn_rule(problem: Problem, output: str) -> Rule:
    return Rule(int(problem.traits["summands"]) * 3 * EPSILON[problem.tensors["src"].dtype])


LRN = Family("lrn", lrn, lrn_rule)
