"""One step of a recurrent cell in double precision.

A result of a single step is compared element by element. The reference library approximates its
functions with an error that counts where little comes in; benchdnn's own loops do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.dnn.reference.functions import FORWARD, logistic
from tests.dnn.reference.numbers import Array
from tests.dnn.reference.problem import Problem

CELLS = ("vanilla_rnn", "lstm", "gru", "lbr_gru")
Values = dict[str, Array | None]


def one_step(problem: Problem, values: Values) -> dict[str, Array]:
    """The results of a cell that goes one step forwards; empty if it goes more."""
    layers, directions = problem.tensors["weights"].dims[:2]
    if layers > 1 or problem.tensors["src"].dims[0] > 1:
        return {}
    states = [step(problem, values, direction) for direction in range(directions)]
    shown = [state for state, _ in states]
    joined = sum(shown) if problem.traits["direction"] == "sum" else np.concatenate(shown, axis=1)
    results = {
        "dst": np.asarray(joined)[None],
        "dst_1": np.stack(shown)[None],
        "dst_2": np.stack([inner for _, inner in states])[None],
    }
    return {name: result for name, result in results.items() if name in problem.tensors}


def step(problem: Problem, values: Values, direction: int) -> tuple[Array, Array]:
    """The state after the step, and the inner state of an LSTM."""

    def part(name: str) -> Array | None:
        found = values.get(name)
        return None if found is None else np.asarray(found, np.float64)[0, direction]

    batch, width = problem.tensors["src"].dims[1], problem.tensors["weights"].dims[4]
    nothing = np.zeros((batch, width))
    states = problem.tensors["weights_1"].dims[2]
    given, inner = part("src_1"), part("src_2")
    before = np.zeros((batch, states)) if given is None else given
    source = np.asarray(values["src"], np.float64)[0]
    # From here on everything has the gate first.
    of_input = np.einsum("nk,kgh->gnh", source, np.asarray(part("weights")))
    of_state = np.asarray(part("weights_1"))
    bias = np.asarray(part("bias"))[:, None]
    if problem.family == "lstm":
        sums = of_input + np.einsum("nk,kgh->gnh", before, of_state) + bias
        state, after = lstm(sums, nothing if inner is None else inner, part("weights_2"))
        projection = part("weights_3")
        return state if projection is None else state @ projection, after
    if problem.family == "vanilla_rnn":
        total = (of_input + np.einsum("nk,kgh->gnh", before, of_state) + bias)[0]
        return activated(problem.traits, total), nothing
    return gru(problem.family, of_input, of_state, bias, before), nothing


def activated(traits: dict[str, Any], total: Array) -> Array:
    """What the function of a vanilla cell makes of a sum."""
    alpha = 0.5 if traits["activation"] == "relu" else 0.0
    return FORWARD[traits["activation"]](total, alpha, 0.0)


def lstm(sums: Array, inner: Array, sight: Array | None) -> tuple[Array, Array]:
    """Gates of input, of what is kept, of what is new, and of the result."""
    seen = np.zeros((3, 1)) if sight is None else sight
    keep = logistic(sums[1] + seen[1] * inner)
    after = keep * inner + logistic(sums[0] + seen[0] * inner) * np.tanh(sums[2])
    return logistic(sums[3] + seen[2] * after) * np.tanh(after), after


def gru(family: str, of_input: Array, of_state: Array, bias: Array, before: Array) -> Array:
    """How much is kept, how much of the state the new one sees, and the new one."""
    kept = np.einsum("nk,kgh->gnh", before, of_state)
    update, reset = (logistic(of_input[g] + kept[g] + bias[g]) for g in range(2))
    if family == "lbr_gru":
        new = np.tanh(of_input[2] + reset * (kept[2] + bias[3]) + bias[2])
    else:
        new = np.tanh(of_input[2] + (reset * before) @ of_state[:, 2] + bias[2])
    return update * before + (1 - update) * new
