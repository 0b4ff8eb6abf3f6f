"""The second judge: NumPy in double precision, where the library's own error is too large.

benchdnn compares with plain loops of its own. The reference library is optimised, and some of its
results are further from the truth than the thresholds allow a result to be from the expected one.
"""

from __future__ import annotations

import numpy as np

from tests.dnn.reference.functions import FORWARD, SLOPES
from tests.dnn.reference.numbers import Array
from tests.dnn.reference.problem import Problem


def more_exact(problem: Problem) -> dict[str, Array]:
    """Results that NumPy knows better; empty if the library's are good enough."""
    values = {name: tensor.values for name, tensor in problem.tensors.items()}
    if problem.attributes.post_ops:
        return {}
    if problem.family == "softmax":
        return softmax(problem, values)
    if problem.family == "resampling" and problem.traits["algorithm"] == "linear":
        return resampling(problem, values)
    if problem.family == "lrn":
        return lrn(problem, values)
    if problem.family == "eltwise":
        return eltwise(problem, values)
    return {}


def eltwise(problem: Problem, values: dict[str, Array | None]) -> dict[str, Array]:
    name, backward = problem.traits["algorithm"], problem.traits["backward"]
    function = (SLOPES if backward else FORWARD).get(name)
    if function is None:
        return {}
    source = np.asarray(values["src"], np.float64)
    with np.errstate(all="ignore"):
        alpha, beta = (float(np.float32(problem.traits[each])) for each in ("alpha", "beta"))
        found = function(source, alpha, beta)
        if backward:
            return {"diff_src": np.asarray(values["diff_dst"]) * found}
    return {"dst": found}


def resampling(problem: Problem, values: dict[str, Array | None]) -> dict[str, Array]:
    """Linear interpolation is a product with a matrix for each dimension of space."""
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
