"""The second judge: NumPy in double precision, where the library's own error is too large.

benchdnn compares with plain loops of its own. The reference library is optimised, and some of its
results are further from the truth than the thresholds allow a result to be from the expected one.
Where shares cancel each other, these are benchdnn's loops: in single precision and in their order.
"""

from __future__ import annotations

from math import prod

import numpy as np

from tests.dnn.reference.cells import CELLS, one_step
from tests.dnn.reference.facts import NORMALIZATION_FLAGS
from tests.dnn.reference.functions import APPROXIMATED, BINARY, FORWARD, SLOPES
from tests.dnn.reference.numbers import HIGHEST, LOWEST, Array
from tests.dnn.reference.problem import PostOp, Problem


def more_exact(problem: Problem, plain: Problem) -> dict[str, Array]:
    """Results that NumPy knows better; empty if the library's are good enough.

    `plain` is the problem as the library gets it.
    """
    post_ops = plain.attributes.post_ops
    values = {name: tensor.values for name, tensor in plain.tensors.items()}
    found = results(problem, values)
    if post_ops and "dst" in found:
        found["dst"] = after(post_ops, found["dst"], values["dst"])
    return {
        name: each if problem.tensors[name].dtype == "f64" else np.asarray(each, np.float32)
        for name, each in found.items()
    }


def results(problem: Problem, values: dict[str, Array | None]) -> dict[str, Array]:
    """What there is before post-operations."""
    solvers = {
        "softmax": softmax,
        "resampling": resampling,
        "lrn": lrn,
        "eltwise": eltwise,
        "pooling": pooling,
        "reduction": reduction,
        "layer_normalization": normalization,
        "batch_normalization": normalization,
        "group_normalization": normalization,
        **dict.fromkeys(CELLS, one_step),
    }
    solve = solvers.get(problem.family)
    return solve(problem, values) if solve is not None else {}


def after(post_ops: tuple[PostOp, ...], result: Array, old: Array | None) -> Array:
    """What post-operations make of a result."""
    result = np.asarray(result, np.float64)
    for each in post_ops:
        other = None if each.tensor is None else each.tensor.values
        if each.kind == "sum":
            result = result + each.alpha * np.asarray(old)
        elif each.kind == "eltwise":
            result = FORWARD[each.algorithm](result, each.alpha, each.beta)
        elif each.kind == "prelu":
            result = np.where(result > 0, result, result * np.asarray(other))
        else:
            result = BINARY[each.algorithm](result, np.asarray(other))
    return result


def eltwise(problem: Problem, values: dict[str, Array | None]) -> dict[str, Array]:
    name, backward = problem.traits["algorithm"], problem.traits["backward"]
    if name not in APPROXIMATED[backward]:
        return {}
    function = (SLOPES if backward else FORWARD)[name]
    source = np.asarray(values["src"], np.float64)
    with np.errstate(all="ignore"):
        alpha, beta = (float(np.float32(problem.traits[each])) for each in ("alpha", "beta"))
        found = function(source, alpha, beta)
        if backward:
            return {"diff_src": np.asarray(values["diff_dst"]) * found}
    return {"dst": found}


def resampling(problem: Problem, values: dict[str, Array | None]) -> dict[str, Array]:
    """Linear interpolation is a product with a matrix for each dimension of space."""
    if problem.traits["algorithm"] != "linear":
        return {}
    backward = bool(problem.traits["backward"])
    sizes, results = problem.tensors["src"].dims, problem.tensors["dst"].dims
    given = np.asarray(values["diff_dst" if backward else "src"])
    for axis in range(2, len(sizes)):
        matrix = between(sizes[axis], results[axis])
        matrix = matrix.T if backward else matrix
        given = np.moveaxis(np.tensordot(matrix, given, axes=(1, axis)), 0, axis)
    return {"diff_src" if backward else "dst": given}


def between(size: int, result: int) -> Array:
    """How much of each element of a line there is in each element of a longer or shorter one."""
    matrix = np.zeros((result, size))
    for place in range(result):
        at = min(max((place + 0.5) * size / result - 0.5, 0.0), size - 1.0)
        left = int(at)
        matrix[place, left] += 1 - (at - left)
        matrix[place, min(left + 1, size - 1)] += at - left
    return matrix


def lrn(problem: Problem, values: dict[str, Array | None]) -> dict[str, Array]:
    source = np.asarray(values["src"])
    traits, axes = problem.traits, (1,)
    if traits["algorithm"] == "within":
        axes = tuple(range(2, source.ndim))
    alpha, beta, k = traits["alpha"], traits["beta"], traits["k"]
    omega = k + alpha * neighbours(source**2, axes, traits["size"]) / traits["summands"]
    results = {"dst": source * omega**-beta}
    if traits["backward"]:
        given = np.asarray(values["diff_dst"])
        shares = neighbours(source * given * omega ** (-beta - 1), axes, traits["size"])
        own = given * omega**-beta
        results["diff_src"] = own - 2 * alpha * beta * source * shares / traits["summands"]
    return results


def neighbours(values: Array, axes: tuple[int, ...], size: int) -> Array:
    """The sum of each element and those around it, along some axes."""
    half = (size - 1) // 2
    for axis in axes:
        padded = np.pad(values, [(half, half) if a == axis else (0, 0) for a in range(values.ndim)])
        parts = [np.roll(padded, shift, axis) for shift in range(-half, half + 1)]
        keep = slice(half, half + values.shape[axis])
        values = np.moveaxis(np.moveaxis(sum(parts), axis, 0)[keep], 0, axis)
    return values


def softmax(problem: Problem, values: dict[str, Array | None]) -> dict[str, Array]:
    axis, logarithm = int(problem.traits["axis"]), problem.traits["algorithm"] == "log"
    if problem.traits["backward"]:
        given, result = np.asarray(values["diff_dst"]), np.asarray(values["dst"])
        if logarithm:
            total = given.sum(axis=axis, keepdims=True)
            return {"diff_src": given - np.exp(result) * total}
        total = (given * result).sum(axis=axis, keepdims=True)
        return {"diff_src": result * (given - total)}
    source = np.asarray(values["src"])
    if not source.size:
        return {}
    shifted = source - source.max(axis=axis, keepdims=True)
    total = np.exp(shifted).sum(axis=axis, keepdims=True)
    return {"dst": shifted - np.log(total) if logarithm else np.exp(shifted) / total}


def normalization(problem: Problem, values: dict[str, Array | None]) -> dict[str, Array]:
    """The derivatives, which are sums of shares of unlike sign."""
    flags, backward = int(problem.traits["flags"]), bool(problem.traits["backward"])
    if not backward or not np.size(values["src"]):
        return {}
    source, above = (np.asarray(values[each], np.float64) for each in ("src", "diff_dst"))
    kind, groups = problem.family.split("_")[0], int(problem.traits["groups"])
    channel = source.ndim - 1 if kind == "layer" else 1
    rows, shape = rows_of(kind, source.shape, groups)
    mean, variance = (np.asarray(values[each], np.float64) for each in ("mean", "variance"))
    inverse = 1 / np.sqrt(variance.reshape(rows) + np.float32(problem.traits["epsilon"]))
    centred = source.reshape(shape) - mean.reshape(rows)
    others = tuple(axis for axis in range(source.ndim) if axis != channel)
    normal = (centred * inverse).reshape(source.shape)
    found = {"diff_scale": (above * normal).sum(axis=others), "diff_shift": above.sum(axis=others)}
    if (scale := values.get("scale")) is not None:
        sizes = [size if axis == channel else 1 for axis, size in enumerate(source.shape)]
        above = above * np.asarray(scale).reshape(sizes)
    given = above.reshape(shape)
    if not flags & NORMALIZATION_FLAGS["global_stats"]:
        shared = tuple(axis for axis, size in enumerate(rows) if size == 1)
        moment = (given * centred).mean(axis=shared, keepdims=True) * inverse**2
        given = given - given.mean(axis=shared, keepdims=True) - centred * moment
    found["diff_src"] = (given * inverse).reshape(source.shape)
    return {name: each for name, each in found.items() if name in problem.tensors}


def rows_of(
    kind: str, dims: tuple[int, ...], groups: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of statistics beside a tensor, and one of the tensor that fits it."""
    if kind == "layer":
        return (*dims[:-1], 1), dims
    if kind == "batch":
        return (1, dims[1], *(1 for _ in dims[2:])), dims
    return (dims[0], groups, 1), (dims[0], groups, prod(dims[1:]) // groups)


def pooling(problem: Problem, values: dict[str, Array | None]) -> dict[str, Array]:
    """The derivative of averages: each element gets its shares of the windows that it is in.

    Windows come in their order, and each share is rounded, as in benchdnn: shares of unlike sign
    may leave little of each other, and then the rest depends on both.
    """
    traits = problem.traits
    if not traits["backward"] or traits["algorithm"] == "max":
        return {}
    sizes, results = problem.tensors["src"].dims, problem.tensors["dst"].dims
    given = np.asarray(values["diff_dst"], np.float32)
    with np.errstate(all="ignore"):
        shares = given / np.asarray(summands(problem), np.float32)
    found = np.zeros(sizes, np.float32)
    for place in reversed(list(np.ndindex(*traits["kernel"]))):
        inside: list[slice] = [slice(None)] * 2
        windows: list[slice] = [slice(None)] * 2
        for dim, k in enumerate(place):
            stride = traits["stride"][dim]
            ahead = traits["left"][dim] - k * (traits["dilation"][dim] + 1)
            first = max(0, -(-ahead // stride))
            end = max(first, min(results[2 + dim], (sizes[2 + dim] - 1 + ahead) // stride + 1))
            windows.append(slice(first, end))
            begin = first * stride - ahead
            inside.append(slice(begin, begin + (end - first) * stride, stride))
        found[tuple(inside)] += shares[tuple(windows)]
    return {"diff_src": found}


def summands(problem: Problem) -> Array:
    """How many elements each window is the average of."""
    traits, sizes = problem.traits, problem.tensors["src"].dims[2:]
    if traits["algorithm"] == "avg_include":
        return np.asarray(float(np.prod(traits["kernel"])))
    counts = np.ones((1, 1))
    for dim, result in enumerate(problem.tensors["dst"].dims[2:]):
        window = np.arange(traits["kernel"][dim]) * (traits["dilation"][dim] + 1)
        starts = np.arange(result) * traits["stride"][dim] - traits["left"][dim]
        places = starts[:, None] + window
        counts = counts[..., None] * ((places >= 0) & (places < sizes[dim])).sum(axis=1)
    return counts


def reduction(problem: Problem, values: dict[str, Array | None]) -> dict[str, Array]:
    """In double precision, which the reference does not have; or of nothing, which has a type."""
    name, source = problem.traits["algorithm"], np.asarray(values["src"], np.float64)
    kept, dtype = problem.tensors["dst"].dims, problem.tensors["src"].dtype
    axes = tuple(axis for axis, size in enumerate(source.shape) if kept[axis] != size)
    if not source.size and name in ("max", "min"):
        limit = LOWEST[dtype] if name == "max" else HIGHEST[dtype]
        return {"dst": np.full(kept, limit)}
    if dtype != "f64" or not source.size:
        return {}
    fold = {"max": np.max, "min": np.min, "sum": np.sum, "mul": np.prod, "mean": np.mean}[name]
    return {"dst": fold(source, axis=axes, keepdims=True)}
