"""The second judge: NumPy in double precision, where the library's own error is too large.

benchdnn compares with plain loops of its own. The reference library is optimised, and some of its
results are further from the truth than the thresholds allow a result to be from the expected one.
"""

from __future__ import annotations

import numpy as np

from tests.dnn.reference.numbers import Array
from tests.dnn.reference.problem import Problem


def more_exact(problem: Problem) -> dict[str, Array]:
    """Results that NumPy knows better; empty if the library's are good enough."""
    values = {name: tensor.values for name, tensor in problem.tensors.items()}
    if problem.attributes.post_ops:
        return {}
    if problem.family == "softmax":
        return softmax(problem, values)
    return {}


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
