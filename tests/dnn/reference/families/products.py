"""Sums of products: matmul, inner product, convolution and deconvolution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.dnn.reference import facts
from tests.dnn.reference.compare import Rule
from tests.dnn.reference.draw import Draw
from tests.dnn.reference.families.base import NARROW, Family, md, propagation, step
from tests.dnn.reference.problem import ANY, Attributes, Layout, Problem, Step, Tensor

POST_OPS = ("eltwise", "binary", "sum", "prelu")
# Source, weights, results that go with them.
FORWARD_TYPES = (
    ("f32", "f32", ("f32",)),
    ("f32", "f32", ("f32",)),
    ("f16", "f16", ("f16", "f32")),
    ("bf16", "bf16", ("bf16", "f32")),
    ("u8", "s8", ("s32", "f32", "s8", "u8")),
    ("s8", "s8", ("s32", "f32", "s8", "u8")),
)
BACKWARD_TYPES = FORWARD_TYPES[:4]


def exact(problem: Problem, output: str) -> Rule:
    """Whole numbers: whatever the order of the sum, there is one result."""
    return Rule(0.0)


def quantization(
    draw: Draw, problem: Problem, attributes: Attributes, weights_masks: list[int]
) -> Attributes:
    """Scales and zero points, for problems of small integers."""
    if problem.tensors["src"].dtype not in NARROW or draw.chance(0.4):
        return attributes
    scales = [draw.scale("src", problem.tensors["src"].dims, [0])]
    if draw.chance(0.7):
        scales.append(draw.scale("weights", problem.tensors["weights"].dims, weights_masks))
    if problem.tensors["dst"].dtype in NARROW:
        scales.append(draw.scale("dst", problem.tensors["dst"].dims, [0]))
    if problem.family == "inner_product":  # it has no zero points
        return replace(attributes, scales=tuple(scales))
    points = [draw.zero_point("src", ())] if draw.chance(0.5) else []
    if problem.tensors["dst"].dtype in NARROW and draw.chance(0.5):
        points.append(draw.zero_point("dst", ()))
    return replace(attributes, scales=tuple(scales), zero_points=tuple(points))


# --- Matmul -----------------------------------------------------------------------------------


MATMUL_TYPES = (*FORWARD_TYPES, ("f64", "f64", ("f64",)))


def matmul(draw: Draw) -> Problem:
    rank = draw.pick([2, 2, 3, 4])
    batch = tuple(draw.integer(1, 4) for _ in range(rank - 2))
    m, k, n = (draw.size(48) for _ in range(3))
    if draw.edge == "zero":
        m, k, n = draw.pick([(0, k, n), (m, 0, n), (m, k, 0)])
    first, second, results = draw.pick(MATMUL_TYPES)
    result = draw.pick(results)
    shapes = {
        "src": (*(1 if draw.chance(0.2) else b for b in batch), m, k),
        "weights": (*(1 if draw.chance(0.2) else b for b in batch), k, n),
    }
    whole = tuple(max(a, b) for a, b in zip(shapes["src"], shapes["weights"], strict=True))
    dst = (*whole[:-2], m, n)
    tensors = {
        "src": Tensor(
            shapes["src"], first, matrix(draw, rank), draw.whole(shapes["src"], -4, 4, first)
        ),
        "weights": Tensor(
            shapes["weights"],
            second,
            matrix(draw, rank),
            draw.whole(shapes["weights"], -4, 4, second),
        ),
        "dst": Tensor(dst, result, matrix(draw, rank), draw.whole(dst, -8, 8, result)),
    }
    has_bias = draw.chance(0.4)
    if has_bias:
        shape = draw.pick([(*([1] * (rank - 1)), n), dst, (1,) * rank])
        kind = "f64" if first == "f64" else "f32"
        tensors["bias"] = Tensor(shape, kind, values=draw.whole(shape, -8, 8))
    only = step(
        "matmul",
        "engine",
        md("src"),
        md("weights"),
        md("bias") if has_bias else "null",
        md("dst"),
        "attr",
        inputs=["src", "weights", *(["bias"] if has_bias else [])],
        outputs=["dst"],
    )
    attributes = draw.attributes(draw.post_ops(dst, POST_OPS))
    if first == "f32" and draw.chance(0.2):
        attributes = replace(attributes, fpmath=draw.pick(["bf16", "f16", "tf32", "any"]))
    problem = Problem("matmul", tensors, (only,), attributes)
    attributes = quantization(draw, problem, attributes, [0, 1 << (rank - 1)])
    return draw.special(replace(problem, attributes=attributes), ["src"])


def matrix(draw: Draw, rank: int) -> Layout:
    """Rows or columns one after the other, with or without a gap, or the library's choice."""
    swapped = (*range(rank - 2), rank - 1, rank - 2)
    return draw.pick(
        [
            Layout(),
            Layout(),
            Layout("permuted", order=swapped),
            Layout("permuted", gap=3),
            Layout("permuted", order=swapped, gap=1),
            ANY,
        ]
    )


MATMUL = Family("matmul", matmul, exact)

# --- Inner product ----------------------------------------------------------------------------


def inner_product(draw: Draw) -> Problem:
    kind = draw.pick(["forward", "forward", "backward_data", "backward_weights"])
    n, oc = draw.size(16), draw.size(40)
    inner = draw.pick([(draw.size(64),), (draw.size(16), draw.integer(1, 5), draw.integer(1, 5))])
    if draw.edge == "zero":
        n = 0
    first, second, results = draw.pick(FORWARD_TYPES if kind == "forward" else BACKWARD_TYPES)
    result = draw.pick(results)
    shapes = {"src": (n, *inner), "weights": (oc, *inner), "dst": (n, oc), "bias": (oc,)}
    return linear(draw, "inner_product", kind, shapes, (first, second, result), ((), ()), [0, 1])


# --- Convolution and deconvolution ------------------------------------------------------------


def convolution(draw: Draw) -> Problem:
    return sliding(draw, "convolution")


def deconvolution(draw: Draw) -> Problem:
    return sliding(draw, "deconvolution")


def sliding(draw: Draw, family: str) -> Problem:
    kind = draw.pick(["forward", "forward", "backward_data", "backward_weights"])
    spatial = draw.pick([1, 2, 2, 2, 3])
    groups, ic, oc = channels(draw)
    n = 0 if draw.edge == "zero" else draw.integer(1, 3)
    far = draw.chance(0.1)
    parts = [reach(draw, family, far) for _ in range(spatial)]
    size, kernel, stride, dilation, left, right, result = (
        list(part) for part in zip(*parts, strict=True)
    )
    weights = (oc // groups, ic // groups, *kernel)
    if groups > 1 or draw.chance(0.1):
        weights = (groups, *weights)
    first, second, results = draw.pick(FORWARD_TYPES if kind == "forward" else BACKWARD_TYPES)
    shapes = {
        "src": (n, ic, *size),
        "weights": weights,
        "bias": (oc,),
        "dst": (n, oc, *result),
    }
    number = facts.CONVOLUTION_DIRECT if family == "convolution" else facts.DECONVOLUTION_DIRECT
    dims = tuple(("dims", part) for part in (stride, dilation, left, right))
    masks = [0, 3 if len(weights) > len(shapes["src"]) else 1]
    types = (first, second, draw.pick(results))
    return linear(draw, family, kind, shapes, types, ((("int", number),), dims), masks)


def channels(draw: Draw) -> tuple[int, int, int]:
    """Groups, input and output channels: plain, grouped, or one group for each channel."""
    how = draw.pick(["plain", "plain", "grouped", "depthwise"])
    if how == "plain":
        return 1, draw.size(24), draw.size(24)
    groups = draw.pick([2, 3, 4, 8, 16])
    if how == "depthwise":
        return groups, groups, groups
    return groups, groups * draw.integer(1, 4), groups * draw.integer(1, 4)


def reach(draw: Draw, family: str, far: bool) -> tuple[int, int, int, int, int, int, int]:
    """Size, kernel, stride, dilation, padding and resulting size of one dimension."""
    while True:
        size, kernel, stride = draw.integer(1, 14), draw.integer(1, 5), draw.integer(1, 3)
        dilation = draw.pick([0, 0, 0, 1, 2])
        width = (kernel - 1) * (dilation + 1) + 1
        most = width + 6 if far and family == "convolution" else width - 1
        left, right = draw.integer(0, most), draw.integer(0, most)
        if family == "convolution":
            room = size - width + left + right
            result = room // stride + 1 if room >= 0 else 0
        else:
            result = (size - 1) * stride + width - left - right
        if result > 0:
            return size, kernel, stride, dilation, left, right, result


def linear(
    draw: Draw,
    family: str,
    kind: str,
    shapes: dict[str, tuple[int, ...]],
    types: tuple[str, str, str],
    extra: tuple[tuple[Any, ...], tuple[Any, ...]],
    weights_masks: list[int],
) -> Problem:
    """A problem with source, weights, perhaps bias, and a result; forward or backward."""
    has_bias = draw.chance(0.5) and kind != "backward_data"
    names = ["src", "weights", *(["bias"] if has_bias else []), "dst"]
    dtypes = dict(zip(("src", "weights", "dst"), types, strict=True)) | {"bias": "f32"}
    if kind != "forward":
        dtypes = dict.fromkeys(dtypes, types[0])
    tensors = {}
    for name in names:
        values = draw.whole(shapes[name], -4, 4, dtypes[name])
        layout = Layout() if name == "bias" else draw.layout(shapes[name], True)
        if name == "weights" and layout.kind == "tag":
            layout = ANY
        tensors[name] = Tensor(shapes[name], dtypes[name], layout, values)
    algorithm, dims = extra
    bias = md("bias") if has_bias else "null"
    mode = "training" if kind != "forward" else draw.pick(["training", "inference"])
    forward = step(
        f"{family}_forward",
        "engine",
        propagation(mode),
        *algorithm,
        md("src"),
        md("weights"),
        bias,
        md("dst"),
        *dims,
        "attr",
        inputs=[name for name in names if name != "dst"],
        outputs=["dst"],
        attributes=kind == "forward",
        execute=kind == "forward",
    )
    traits = {"kind": kind} | {
        name: part[1] for name, part in zip(("s", "d", "pl", "pr"), dims, strict=False)
    }
    if kind != "forward":
        back = backward(kind, family, tensors, algorithm, dims, has_bias)
        return Problem(family, tensors, (forward, back), draw.attributes(), traits)
    attributes = draw.attributes(draw.post_ops(shapes["dst"], POST_OPS))
    problem = Problem(family, tensors, (forward,), attributes, traits)
    attributes = quantization(draw, problem, attributes, weights_masks)
    return replace(problem, attributes=attributes)


def backward(
    kind: str,
    family: str,
    tensors: dict[str, Tensor],
    algorithm: tuple[Any, ...],
    dims: tuple[Any, ...],
    has_bias: bool,
) -> Step:
    """The step that gives the differences of the source, or of weights and bias."""
    tensors["diff_dst"] = replace(tensors["dst"])
    if kind == "backward_data":
        tensors["diff_src"] = replace(tensors["src"], values=None)
        return step(
            f"{family}_backward_data",
            "engine",
            *algorithm,
            md("diff_src"),
            md("weights"),
            md("diff_dst"),
            *dims,
            "hint",
            "attr",
            inputs=["weights", "diff_dst"],
            outputs=["diff_src"],
        )
    tensors["diff_weights"] = replace(tensors["weights"], values=None)
    if has_bias:
        tensors["diff_bias"] = replace(tensors["bias"], values=None)
    return step(
        f"{family}_backward_weights",
        "engine",
        *algorithm,
        md("src"),
        md("diff_weights"),
        md("diff_bias") if has_bias else "null",
        md("diff_dst"),
        *dims,
        "hint",
        "attr",
        inputs=["src", "diff_dst"],
        outputs=["diff_weights", *(["diff_bias"] if has_bias else [])],
    )


INNER_PRODUCT = Family("inner_product", inner_product, exact)
CONVOLUTION = Family("convolution", convolution, exact)
DECONVOLUTION = Family("deconvolution", deconvolution, exact)
