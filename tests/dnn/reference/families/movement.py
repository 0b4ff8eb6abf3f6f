"""Elements on the move: reorder, concat, sum and shuffle."""

from __future__ import annotations

from dataclasses import replace

from tests.dnn.reference.compare import Rule
from tests.dnn.reference.draw import Draw
from tests.dnn.reference.families.base import FLOATS, NARROW, Family, md, propagation, step
from tests.dnn.reference.numbers import EPSILON
from tests.dnn.reference.problem import Problem, Step, Tensor

ALL = (*FLOATS, *NARROW, "s32")


def exact(problem: Problem, output: str) -> Rule:
    return Rule(0.0)


def reorder(draw: Draw) -> Problem:
    dims = draw.dims([1, 2, 3, 4, 5])
    first, second = draw.dtype(*ALL), draw.dtype(*ALL)
    tensors = {
        "src": Tensor(dims, first, draw.layout(dims), draw.whole(dims, -100, 200, first)),
        "dst": Tensor(dims, second, draw.layout(dims), draw.whole(dims, -8, 8, second)),
    }
    kinds = ("sum",) if draw.chance(0.3) else ()
    attributes = draw.attributes(draw.post_ops(dims, kinds))
    masks = [0, 1] if len(dims) == 1 else [0, 1, 2]
    if draw.chance(0.3):
        scales = [draw.scale("src", dims, masks)] if draw.chance(0.7) else []
        if draw.chance(0.5):
            scales.append(draw.scale("dst", dims, masks))
        attributes = replace(attributes, scales=tuple(scales))
    if draw.chance(0.2):
        points = [draw.zero_point(argument, dims) for argument in ("src", "dst")]
        usable = [p for p in points if tensors[p.argument].dtype in NARROW]
        attributes = replace(attributes, zero_points=tuple(usable))
    only = Step(
        "dnnl_reorder_primitive_desc_create",
        (md("src"), "engine", md("dst"), "engine", "attr"),
        {"src": "src"},
        {"dst": "dst"},
    )
    problem = Problem("reorder", tensors, (only,), attributes)
    return problem if second in (*NARROW, "s32") else draw.special(problem, ["src"])


REORDER = Family("reorder", reorder, exact)


def concat(draw: Draw) -> Problem:
    dims = draw.dims([1, 2, 3, 4, 5])
    axis, dtype = draw.integer(0, len(dims) - 1), draw.dtype(*ALL)
    count = draw.integer(1, 4)
    tensors = {}
    for index in range(count):
        size = dims[axis] if draw.chance(0.5) else draw.integer(0 if index else 1, 12)
        shape = (*dims[:axis], size, *dims[axis + 1 :])
        values = draw.whole(shape, -50, 50, dtype)
        tensors[f"multiple_{index}"] = Tensor(shape, dtype, draw.layout(shape), values)
    total = sum(tensor.dims[axis] for tensor in tensors.values())
    names = list(tensors)
    whole = (*dims[:axis], total, *dims[axis + 1 :])
    tensors["dst"] = Tensor(whole, dtype, draw.layout(whole))
    only = step(
        "concat",
        "engine",
        md("dst"),
        ("int", count),
        ("int", axis),
        ("mds", names),
        "attr",
        inputs=names,
        outputs=["dst"],
    )
    problem = Problem("concat", tensors, (only,), draw.attributes(), {"axis": axis})
    return draw.special(problem, ["multiple_0"])


CONCAT = Family("concat", concat, exact)


def addition(draw: Draw) -> Problem:
    dims = draw.dims([1, 2, 3, 4, 5])
    dtype, count = draw.dtype(*FLOATS, *NARROW), draw.integer(1, 5)
    tensors = {
        f"multiple_{index}": Tensor(dims, dtype, draw.layout(dims), draw.whole(dims, -8, 8, dtype))
        for index in range(count)
    }
    names = list(tensors)
    tensors["dst"] = Tensor(dims, dtype, draw.layout(dims))
    scales = [draw.pick([1.0, 2.0, 0.25, -1.0]) for _ in names]
    only = step(
        "sum",
        "engine",
        md("dst"),
        ("int", count),
        ("floats", scales),
        ("mds", names),
        "attr",
        inputs=names,
        outputs=["dst"],
    )
    problem = Problem("sum", tensors, (only,), draw.attributes(), {"scales": scales})
    return draw.special(problem, ["multiple_0"])


def addition_rule(problem: Problem, output: str) -> Rule:
    return Rule(EPSILON[problem.tensors["dst"].dtype] * (len(problem.tensors) - 1))


SUM = Family("sum", addition, addition_rule)


def shuffle(draw: Draw) -> Problem:
    backward = draw.chance(0.4)
    dims = draw.dims([1, 2, 3, 4, 5])
    axis, dtype = draw.integer(0, len(dims) - 1), draw.dtype(*FLOATS, *(() if backward else NARROW))
    groups = [n for n in range(1, dims[axis] + 1) if dims[axis] % n == 0] or [1]
    group, layout = draw.pick(groups), draw.layout(dims)
    end = (("int", axis), ("dim", group))
    tensors = {
        "src": Tensor(dims, dtype, layout, draw.whole(dims, -50, 50, dtype)),
        "dst": Tensor(dims, dtype, layout),
    }
    forward = step(
        "shuffle_forward",
        "engine",
        propagation("training" if backward else "inference"),
        md("src"),
        md("dst"),
        *end,
        "attr",
        inputs=["src"],
        outputs=["dst"],
        execute=not backward,
    )
    traits = {"axis": axis, "group": group, "backward": backward}
    if not backward:
        problem = Problem("shuffle", tensors, (forward,), draw.attributes(), traits)
        return draw.special(problem, ["src"])
    tensors["diff_dst"] = Tensor(dims, dtype, layout, draw.whole(dims, -50, 50, dtype))
    tensors["diff_src"] = Tensor(dims, dtype, layout)
    back = step(
        "shuffle_backward",
        "engine",
        md("diff_src"),
        md("diff_dst"),
        *end,
        "hint",
        "attr",
        inputs=["diff_dst"],
        outputs=["diff_src"],
    )
    return Problem("shuffle", tensors, (forward, back), draw.attributes(), traits)


SHUFFLE = Family("shuffle", shuffle, exact)
