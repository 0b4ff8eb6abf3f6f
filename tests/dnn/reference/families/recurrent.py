"""Recurrent cells: vanilla, LSTM, GRU and linear-before-reset GRU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, log2
from typing import Any

from tests.dnn.reference import facts
from tests.dnn.reference.compare import Rule
from tests.dnn.reference.draw import Draw
from tests.dnn.reference.families.base import FLOATS, Family, md, propagation, step
from tests.dnn.reference.numbers import EPSILON
from tests.dnn.reference.problem import Layout, Problem, Step, Tensor

GATES = {"vanilla_rnn": 1, "lstm": 4, "gru": 3, "lbr_gru": 3}
# The weights of a backward pass have the input channels last: the reference insists on it.
INPUTS_LAST = Layout("permuted", order=(0, 1, 3, 4, 2), fixed=True)
# A few sizes on both sides of a vector: problems that have one in common share programs.
BATCHES, WIDTHS = (1, 2, 5), (1, 3, 8, 17, 20)


def cell(name: str) -> Callable[[Draw], Problem]:
    """Draws problems of a cell."""
    return lambda draw: recurrent(draw, name)


def shapes(draw: Draw, name: str, direction: str, projected: bool) -> dict[str, tuple[int, ...]]:
    """The sizes of all tensors of a problem, by the names of their arguments."""
    layers = draw.pick([1, 1, 1, 2, 3])
    steps, batch, width = draw.pick([1, 1, 2, 5]), draw.pick(BATCHES), draw.pick(WIDTHS)
    directions = 2 if direction in ("concat", "sum") else 1
    states = draw.pick(WIDTHS) if projected else width
    inputs = states if layers > 1 else draw.pick(WIDTHS)
    gates = GATES[name]
    result = states * (2 if direction == "concat" else 1)
    state, inner = ((layers, directions, batch, each) for each in (states, width))
    return {
        "src": (steps, batch, inputs),
        "src_1": state,
        "src_2": inner,
        "weights": (layers, directions, inputs, gates, width),
        "weights_1": (layers, directions, states, gates, width),
        "weights_2": (layers, directions, 3, width),
        "weights_3": (layers, directions, width, states),
        "bias": (layers, directions, gates + (name == "lbr_gru"), width),
        "dst": (steps, batch, result),
        "dst_1": state,
        "dst_2": inner,
    }


def left_out(draw: Draw, name: str, backward: bool, projected: bool) -> set[str]:
    """The arguments that a problem does without."""
    absent = {"src_2", "dst_2"} if name != "lstm" else set()
    if name != "lstm" or draw.chance(0.7):
        absent.add("weights_2")
    if not projected:
        absent.add("weights_3")
    if draw.chance(0.3) and not backward:
        absent |= {"src_1", "src_2"}
    if draw.chance(0.3) and not backward:
        absent |= {"dst_1", "dst_2"}
    return absent


def argument_order(name: str) -> list[str]:
    """The tensors as the functions for a cell take them."""
    inner, more = (["src_2"], ["weights_2", "weights_3"]) if name == "lstm" else ([], [])
    order = ["src", "src_1", *inner, "weights", "weights_1", *more, "bias", "dst", "dst_1"]
    return [*order, "dst_2"] if name == "lstm" else order


def parameters(name: str, direction: str, activation: str) -> tuple[list[Any], list[Any]]:
    """What these functions take before the tensors, and after them."""
    start: list[Any] = [("int", facts.DIRECTIONS[direction])]
    end: list[Any] = [("flags", 0)]
    if name == "vanilla_rnn":
        start.insert(0, ("int", facts.ELTWISE[activation]))
        end += [("float", 0.5 if activation == "relu" else 0.0), ("float", 0.0)]
    return start, end


def recurrent(draw: Draw, name: str) -> Problem:
    backward = draw.chance(0.4)
    direction = draw.pick(["left2right", "right2left", "concat", "sum"])
    projected = name == "lstm" and not backward and draw.chance(0.25)
    sizes, dtype = shapes(draw, name, direction, projected), draw.dtype(*FLOATS)
    absent = left_out(draw, name, backward, projected)
    # Each number counts if there is one step alone: then sums have no parts that cancel.
    lowest = 0.05 if sizes["src"][0] == sizes["weights"][0] == 1 else -0.5
    tensors = {
        argument: tensor(draw, argument, dims, dtype, lowest)
        for argument, dims in sizes.items()
        if argument not in absent
    }
    activation = draw.pick(["relu", "tanh", "logistic"])
    start, end = parameters(name, direction, activation)
    mode = "training" if backward else draw.pick(["training", "inference"])
    forward = step(
        f"{name}_forward",
        "engine",
        propagation(mode),
        *start,
        *descriptors(argument_order(name), tensors),
        *end,
        "attr",
        inputs=[n for n in tensors if not n.startswith("dst")],
        outputs=[n for n in tensors if n.startswith("dst")],
    )
    traits = {"direction": direction, "backward": backward, "cell": name, "activation": activation}
    if not backward:
        return Problem(name, tensors, (forward,), draw.attributes(), traits)
    differences = {f"diff_{n}": difference(draw, n, tensors[n]) for n in tensors}
    back, turned = backward_step(name, tensors, differences, start, end)
    whole = tensors | turned | differences
    return Problem(name, whole, (forward, back), draw.attributes(), traits)


def backward_step(
    name: str,
    tensors: dict[str, Tensor],
    differences: dict[str, Tensor],
    start: list[Any],
    end: list[Any],
) -> tuple[Step, dict[str, Tensor]]:
    """The derivative, and the weights in the layout that it wants."""
    renamed = {n: f"{n}_back" if n in ("weights", "weights_1") else n for n in tensors}
    turned = {renamed[n]: replace(tensors[n], layout=INPUTS_LAST) for n in ("weights", "weights_1")}
    order = argument_order(name)
    back = step(
        f"{name}_backward",
        "engine",
        propagation("backward"),
        *start,
        *descriptors([renamed.get(n, n) for n in order], tensors | turned),
        *descriptors([f"diff_{n}" for n in order], differences),
        *end,
        "hint",
        "attr",
        inputs=renamed | {n: n for n in differences if n.startswith("diff_dst")},
        outputs=[n for n in differences if not n.startswith("diff_dst")],
    )
    return back, turned


def descriptors(order: list[str], tensors: dict[str, Tensor]) -> list[Any]:
    return [md(name) if name in tensors else "null" for name in order]


def tensor(draw: Draw, name: str, dims: tuple[int, ...], dtype: str, lowest: float) -> Tensor:
    """A tensor of a forward pass."""
    kind = "f32" if name in ("bias", "weights_2", "src_2", "dst_2") else dtype
    values = None if name.startswith("dst") else draw.real(dims, lowest, 0.5, kind)
    return Tensor(dims, kind, values=values)


def difference(draw: Draw, name: str, of: Tensor) -> Tensor:
    """Its difference: given for results, wanted for the rest. All of them are f32."""
    values = draw.real(of.dims, -0.5, 0.5) if name.startswith("dst") else None
    if values is None and name.startswith(("weights", "bias")):
        values = of.values * 0 if of.values is not None else None
    return Tensor(of.dims, "f32", values=values)


def rule(problem: Problem, output: str) -> Rule:
    backward = bool(problem.traits["backward"])
    weights = problem.tensors["weights"].dims
    steps, batch = problem.tensors["src"].dims[:2]
    chain = 2 * weights[3] + 1
    if problem.traits["cell"] == "gru":
        chain *= weights[4]
    if backward:
        chain *= max(weights[3] * weights[4], batch)
    factor = 4 * (1 + backward) * (2 if problem.traits["direction"] == "sum" else 1)
    epsilon = EPSILON[problem.tensors["src"].dtype]
    threshold = factor * ceil(log2(chain * steps)) * epsilon
    alone = weights[0] == 1 and steps == 1
    return Rule(
        threshold,
        whole_tensor=not alone,
        also=(lambda points: points.difference < threshold) if backward else None,
    )


VANILLA_RNN = Family("vanilla_rnn", cell("vanilla_rnn"), rule)
LSTM = Family("lstm", cell("lstm"), rule)
GRU = Family("gru", cell("gru"), rule)
LBR_GRU = Family("lbr_gru", cell("lbr_gru"), rule)
