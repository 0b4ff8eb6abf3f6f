"""Many elements become one: pooling, resampling and reduction."""

from __future__ import annotations

import numpy as np

from tests.dnn.reference import facts
from tests.dnn.reference.compare import Rule
from tests.dnn.reference.draw import Draw
from tests.dnn.reference.families.base import FLOATS, NARROW, Family, md, propagation, step
from tests.dnn.reference.numbers import EPSILON
from tests.dnn.reference.problem import Problem, Tensor

# --- Pooling ----------------------------------------------------------------------------------


def window(draw: Draw, size: int, far: bool) -> tuple[int, int, int, int, int, int]:
    """Kernel, stride, dilation, padding on both sides, and the size of the result."""
    while True:
        kernel, stride = draw.integer(1, max(1, min(size + 2, 5))), draw.integer(1, 3)
        dilation = draw.pick([0, 0, 0, 1, 2])
        reach = (kernel - 1) * (dilation + 1) + 1
        most = reach + 7 if far else reach - 1
        left, right = draw.integer(0, most), draw.integer(0, most)
        room = size - reach + left + right
        if size == 0:
            return kernel, stride, 0, 0, 0, 0
        if room >= 0:
            return kernel, stride, dilation, left, right, room // stride + 1


def pooling(draw: Draw) -> Problem:
    backward, name = draw.chance(0.4), draw.pick(list(facts.POOLING))
    src = draw.dims([3, 4, 5], 12, 20_000)
    dtype = draw.dtype(*FLOATS, *(() if backward else NARROW))
    # A window in the padding alone gives the lowest number of the type: f32 has another one.
    far = draw.chance(0.15) and dtype == "f32" and name != "avg_exclude"
    parts = [window(draw, size, far) for size in src[2:]]
    if 0 in src[2:]:
        parts = [(1, 1, 0, 0, 0, size) for size in src[2:]]
    kernel, stride, dilation, left, right, result = (
        list(part) for part in zip(*parts, strict=True)
    )
    dst = (*src[:2], *result)
    layout, mode = draw.layout(src), "training" if backward or draw.chance(0.4) else "inference"
    shape = tuple(("dims", part) for part in (stride, kernel, dilation, left, right))
    tensors = {
        "src": Tensor(src, dtype, layout, draw.whole(src, -8, 20, dtype)),
        "dst": Tensor(dst, dtype, draw.layout(dst, True)),
    }
    forward = step(
        "pooling_forward",
        "engine",
        propagation(mode),
        ("int", facts.POOLING[name]),
        md("src"),
        md("dst"),
        *shape,
        "attr",
        inputs=["src"],
        outputs=["dst"],
    )
    traits = {
        "algorithm": name,
        "backward": backward,
        "kernel": kernel,
        "stride": stride,
        "dilation": dilation,
        "left": left,
        "right": right,
    }
    if not backward:
        kinds = ("eltwise", "binary") if mode == "inference" else ()
        attributes = draw.attributes(draw.post_ops(dst, kinds))
        problem = Problem("pooling", tensors, (forward,), attributes, traits)
        return problem if name == "max" else draw.special(problem, ["src"])
    tensors["diff_dst"] = Tensor(dst, dtype, draw.layout(dst), draw.whole(dst, -8, 8, dtype))
    tensors["diff_src"] = Tensor(src, dtype, draw.layout(src, True))
    back = step(
        "pooling_backward",
        "engine",
        ("int", facts.POOLING[name]),
        md("diff_src"),
        md("diff_dst"),
        *shape,
        "hint",
        "attr",
        inputs=["diff_dst"],
        outputs=["diff_src"],
    )
    return Problem("pooling", tensors, (forward, back), draw.attributes(), traits)


def pooling_rule(problem: Problem, output: str) -> Rule:
    if problem.traits["algorithm"] == "max":
        return Rule(0.0)
    return Rule(10 * EPSILON[problem.tensors[output].dtype])


POOLING = Family("pooling", pooling, pooling_rule)

# --- Resampling -------------------------------------------------------------------------------


def resampling(draw: Draw) -> Problem:
    backward, name = draw.chance(0.4), draw.pick(list(facts.RESAMPLING))
    src = draw.dims([3, 4, 5], 10, 10_000)
    dst = (*src[:2], *(draw.integer(1, 14) if size else 0 for size in src[2:]))
    dtype = draw.dtype(*FLOATS, *(() if backward else NARROW))
    other = dtype if draw.chance(0.7) or backward else draw.dtype(*FLOATS, *NARROW)
    algorithm = ("int", facts.RESAMPLING[name])
    tensors = {
        "src": Tensor(src, dtype, draw.layout(src), draw.whole(src, 0, 16, dtype)),
        "dst": Tensor(dst, other, draw.layout(dst, True), draw.whole(dst, 0, 8, other)),
    }
    forward = step(
        "resampling_forward",
        "engine",
        propagation("training" if backward else "inference"),
        algorithm,
        "null",
        md("src"),
        md("dst"),
        "attr",
        inputs=["src"],
        outputs=["dst"],
        attributes=not backward,
        execute=not backward,
    )
    traits = {"algorithm": name, "backward": backward}
    if not backward:
        attributes = draw.attributes(draw.post_ops(dst, ("eltwise", "binary", "sum")))
        problem = Problem("resampling", tensors, (forward,), attributes, traits)
        return draw.special(problem, ["src"]) if name == "nearest" else problem
    tensors["diff_dst"] = Tensor(dst, dtype, draw.layout(dst), draw.whole(dst, 0, 16, dtype))
    tensors["diff_src"] = Tensor(src, dtype, draw.layout(src, True))
    back = step(
        "resampling_backward",
        "engine",
        algorithm,
        "null",
        md("diff_src"),
        md("diff_dst"),
        "hint",
        "attr",
        inputs=["diff_dst"],
        outputs=["diff_src"],
    )
    return Problem("resampling", tensors, (forward, back), draw.attributes(), traits)


def resampling_rule(problem: Problem, output: str) -> Rule:
    if problem.traits["algorithm"] == "nearest":
        return Rule(0.0)
    names = ("diff_dst", "diff_src") if problem.traits["backward"] else ("src", "dst")
    source, target = (EPSILON[problem.tensors[name].dtype] for name in names)
    return Rule(source if source > target else 7 * target)


RESAMPLING = Family("resampling", resampling, resampling_rule)

# --- Reduction --------------------------------------------------------------------------------


def reduction(draw: Draw) -> Problem:
    name = draw.pick(list(facts.REDUCTION))
    src = draw.dims([1, 2, 3, 4, 5])
    kept = [draw.chance(0.5) for _ in src]
    kept[int(np.argmax(src))] = False
    dst = tuple(n if keep else 1 for n, keep in zip(src, kept, strict=True))
    narrow = () if name.startswith("norm") else NARROW
    first = draw.dtype(*FLOATS, *narrow)
    second = first if draw.chance(0.7) else draw.dtype(*FLOATS, *narrow)
    if narrow and draw.chance(0.08):  # norms are not for f64
        first = second = "f64"
    values = draw.whole(src, -8, 8, first)
    if name == "mul":
        values = draw.of(values, [1.0] * 12 + [2.0]) if first in NARROW else factors(draw, src)
    p = draw.pick([1.0, 2.0, 3.0]) if name.startswith("norm") else 0.0
    epsilon = draw.pick([0.0, 1.0]) if name.startswith("norm") else 0.0
    tensors = {
        "src": Tensor(src, first, draw.layout(src), values),
        "dst": Tensor(dst, second, draw.layout(dst, True), draw.whole(dst, 1, 20, second)),
    }
    only = step(
        "reduction",
        "engine",
        ("int", facts.REDUCTION[name]),
        md("src"),
        md("dst"),
        ("float", p),
        ("float", epsilon),
        "attr",
        inputs=["src"],
        outputs=["dst"],
    )
    attributes = draw.attributes(draw.post_ops(dst, ("eltwise", "binary", "sum")))
    problem = Problem("reduction", tensors, (only,), attributes, {"algorithm": name, "p": p})
    return draw.special(problem, ["src"]) if name in ("sum", "mean") else problem


def factors(draw: Draw, dims: tuple[int, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Powers of two, mostly one: a product of many of them is exact and stays in range."""
    return draw.of(np.zeros(dims), [1.0] * 20 + [2.0, 0.5, -1.0])


def reduction_rule(problem: Problem, output: str) -> Rule:
    scale = 5.0 if str(problem.traits["algorithm"]).startswith("norm") else 1.0
    return Rule(scale * EPSILON[problem.tensors["dst"].dtype])


REDUCTION = Family("reduction", reduction, reduction_rule)
