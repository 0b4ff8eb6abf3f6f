"""Recurrent layers: vanilla, LSTM, GRU and GRU with linear before reset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groundstate.dnn.checks import FLOATS, usable
from groundstate.dnn.descriptor import ZERO, Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid, require, support
from groundstate.dnn.kernels import grid, rnn, rnn_backward
from groundstate.dnn.kernels.indexing import INT_LIMIT
from groundstate.dnn.kernels.rnn import Cell, Room, Weights, Where
from groundstate.dnn.kernels.rnn_backward import Changes
from groundstate.dnn.plan import Plan
from groundstate.dnn.primitive import PrimitiveDescriptor, creates
from groundstate.dnn.types import (
    Algorithm,
    Arg,
    DataType,
    PrimitiveKind,
    PropKind,
    Query,
    RnnDirection,
    RnnFlags,
)

Tensors = dict[int, Descriptor]
"""The tensors of a primitive by argument; what was not passed is not there."""

CELL_KINDS = {
    "vanilla": Algorithm.vanilla_rnn,
    "lstm": Algorithm.vanilla_lstm,
    "gru": Algorithm.vanilla_gru,
    "lbr_gru": Algorithm.lbr_gru,
}
NEEDED = (Arg.SRC_LAYER, Arg.WEIGHTS_LAYER, Arg.WEIGHTS_ITER, Arg.DST_LAYER)
OPTIONAL = (
    Arg.SRC_ITER,
    Arg.SRC_ITER_C,
    Arg.WEIGHTS_PEEPHOLE,
    Arg.WEIGHTS_PROJECTION,
    Arg.BIAS,
    Arg.DST_ITER,
    Arg.DST_ITER_C,
)
OUTPUTS = (Arg.DST_LAYER, Arg.DST_ITER, Arg.DST_ITER_C)
CHANGE = Arg.DIFF_SRC_LAYER - Arg.SRC_LAYER
"""From the number of an argument to that of its derivative."""


def present(passed: Mapping[int, Descriptor | None]) -> Tensors:
    """The tensors that were passed."""
    return {
        arg: tensor for arg, tensor in passed.items() if tensor is not None and not tensor.is_zero
    }


class _Recurrent(PrimitiveDescriptor):
    kind = PrimitiveKind.rnn

    def _check(
        self, cell: str, direction: int, tensors: Tensors, activation: int, alpha: float
    ) -> None:
        """What both directions have in common: types first, then shapes."""
        require(all(arg in tensors for arg in NEEDED), "sequence, weights and result are needed")
        require(direction in set(RnnDirection) - {0}, f"there is no direction {direction}")
        if cell == "vanilla":
            known = (
                Algorithm.eltwise_relu,
                Algorithm.eltwise_tanh,
                Algorithm.eltwise_logistic,
            )
            require(activation in known, f"{activation} is not an activation of a recurrent layer")
        if cell == "lstm":
            for one, two in ((Arg.SRC_ITER, Arg.SRC_ITER_C), (Arg.DST_ITER, Arg.DST_ITER_C)):
                require((one in tensors) == (two in tensors), "both states are passed or none")
        usable(*tensors.values())
        self._check_types(cell, tensors)
        self.cell = self._cell(cell, direction, tensors, activation, alpha)
        self._check_shapes(tensors)
        size = max(Room(self.cell).size, Changes(self.cell).size)
        support(size <= INT_LIMIT, "the states of all steps are too many")
        self.attributes.allow()
        self.parameters |= {
            Query.cell_kind: CELL_KINDS[cell],
            Query.direction: direction,
            Query.activation_kind: activation,
            Query.alpha_f32: alpha,
        }

    @staticmethod
    def _check_types(cell: str, tensors: Tensors) -> None:
        main = tensors[Arg.SRC_LAYER].data_type
        same = (*NEEDED, Arg.SRC_ITER, Arg.DST_ITER, Arg.WEIGHTS_PROJECTION)
        fits = main in FLOATS and all(
            tensors[arg].data_type == main for arg in same if arg in tensors
        )
        fits &= tensors.get(Arg.BIAS, ZERO).data_type in (main, DataType.f32, 0)
        fits &= tensors.get(Arg.WEIGHTS_PEEPHOLE, ZERO).data_type in (DataType.f32, 0)
        for arg in (Arg.SRC_ITER_C, Arg.DST_ITER_C):
            fits &= arg not in tensors or tensors[arg].data_type in FLOATS
        names = ", ".join(sorted({tensor.data_type.name for tensor in tensors.values()}))
        support(fits, f"a recurrent layer of the types {names}")

    @staticmethod
    def _cell(kind: str, direction: int, tensors: Tensors, activation: int, alpha: float) -> Cell:
        source, weights = tensors[Arg.SRC_LAYER], tensors[Arg.WEIGHTS_LAYER]
        require(source.ndims == 3 and weights.ndims == 5, "sequences have 3 dimensions, weights 5")
        steps, batch, inputs = source.dims
        projection = tensors.get(Arg.WEIGHTS_PROJECTION)
        require(projection is None or projection.ndims == 4, "a projection has 4 dimensions")
        one_way = (RnnDirection.unidirectional_left2right, RnnDirection.unidirectional_right2left)
        return Cell(
            kind,
            weights.dims[0],
            1 if direction in one_way else 2,
            steps,
            batch,
            inputs,
            weights.dims[4],
            turned=direction == RnnDirection.unidirectional_right2left,
            summed=direction == RnnDirection.bidirectional_sum,
            activation=Algorithm(activation) if kind == "vanilla" else Algorithm.eltwise_tanh,
            alpha=alpha,
            peephole=Arg.WEIGHTS_PEEPHOLE in tensors,
            projected=None if projection is None else projection.dims[3],
        )

    def _shapes(self, tensors: Tensors, side_by_side: bool) -> dict[int, tuple[int, ...]]:
        cell = self.cell
        lines = (cell.layers, cell.directions)
        iter_dims = tensors[Arg.WEIGHTS_ITER].dims
        inner = iter_dims[2] if len(iter_dims) == 5 else cell.states
        result = cell.states * (2 if side_by_side else 1)
        memory = (*lines, cell.batch, cell.width)
        return {
            Arg.SRC_LAYER: (cell.steps, cell.batch, cell.inputs),
            Arg.SRC_ITER: (*lines, cell.batch, inner),
            Arg.SRC_ITER_C: memory,
            Arg.WEIGHTS_LAYER: (*lines, cell.inputs, cell.gates, cell.width),
            Arg.WEIGHTS_ITER: (*lines, inner, cell.gates, cell.width),
            Arg.WEIGHTS_PEEPHOLE: (*lines, 3, cell.width),
            Arg.WEIGHTS_PROJECTION: (*lines, cell.width, cell.states),
            Arg.BIAS: (*lines, cell.biases, cell.width),
            Arg.DST_LAYER: (cell.steps, cell.batch, result),
            Arg.DST_ITER: (*lines, cell.batch, cell.states),
            Arg.DST_ITER_C: memory,
        }

    def _check_shapes(self, tensors: Tensors) -> None:
        cell = self.cell
        side_by_side = cell.directions == 2 and not cell.summed
        shapes = self._shapes(tensors, side_by_side)
        for arg, shape in shapes.items():
            if arg in tensors:
                found = tensors[arg].dims
                require(found == shape, f"argument {arg} is {shape}, not {found}")
        stacked = cell.layers == 1 or cell.inputs == cell.states
        require(stacked, "layers that lie upon each other are as wide as the input")
        inner = tensors[Arg.WEIGHTS_ITER].dims[2]
        same = inner == cell.states
        require(same or (cell.steps == 1 and "gru" not in cell.kind), "states have one width")
        support(same, "states that change their width are not supported")
        self.shapes = shapes

    def _settle(self, tensors: Tensors) -> Tensors:
        """The tensors, those whose layout was left open densely."""
        return {arg: t.dense() if t.is_any else t for arg, t in tensors.items()}

    @property
    def _weights(self) -> Weights:
        return Weights(
            self.arguments[Arg.WEIGHTS_LAYER],
            self.arguments[Arg.WEIGHTS_ITER],
            self.arguments.get(Arg.BIAS),
            self.arguments.get(Arg.WEIGHTS_PEEPHOLE),
            self.arguments.get(Arg.WEIGHTS_PROJECTION),
        )

    @property
    def is_empty(self) -> bool:
        """Nothing is to be computed."""
        return any(0 in tensor.dims for tensor in self.arguments.values())


class _Forward(_Recurrent):
    def _build(
        self,
        cell: str,
        direction: int,
        passed: Mapping[int, Descriptor | None],
        activation: int = 0,
        alpha: float = 0.0,
    ) -> None:
        tensors = present(passed)
        self._check(cell, direction, tensors, activation, alpha)
        for arg, tensor in self._settle(tensors).items():
            (self.add_output if arg in OUTPUTS else self.add_input)(arg, tensor)
        if self.prop_kind == PropKind.forward_training:
            self.add_output(Arg.WORKSPACE, Descriptor.plain((Room(self.cell).size,)))

    def make_plan(self) -> Plan:
        """The states in, all steps, the results out."""
        plan = Plan()
        if self.is_empty:
            return plan
        cell, room = self.cell, Room(self.cell)
        kept = Arg.WORKSPACE in self.arguments
        where = Where(room, None if kept else plan.scratch(4 * room.size))
        given = self.arguments
        plan.launches.append(rnn.copy_input(where, given[Arg.SRC_LAYER]))
        states = [(Arg.SRC_ITER, Arg.DST_ITER, room.state_base, cell.states)]
        if cell.kind == "lstm":
            states.append((Arg.SRC_ITER_C, Arg.DST_ITER_C, room.memory_base, cell.width))
        for arg, _, base, width in states:
            plan.launches.append(rnn.copy_states(where, given.get(arg), arg, base, width))
        for layer in range(cell.layers):
            for direction in range(cell.directions):
                for step in range(cell.steps):
                    plan.launches += rnn.steps(where, self._weights, layer, direction, step)
        plan.launches.append(rnn.copy_output(where, given[Arg.DST_LAYER]))
        for _, arg, base, _ in states:
            if arg in given:
                plan.launches.append(rnn.copy_last_states(where, given[arg], arg, base))
        for arg in OUTPUTS:
            if arg in given:
                plan.launches += grid.zero_padding(arg, given[arg])
        return plan


class _Backward(_Recurrent):
    def _build(
        self,
        cell: str,
        direction: int,
        passed: Mapping[int, Descriptor | None],
        changed: Mapping[int, Descriptor | None],
        flags: int,
        hint: PrimitiveDescriptor | None,
        activation: int = 0,
        alpha: float = 0.0,
    ) -> None:
        tensors, changes = present(passed), present(changed)
        require(all(arg in tensors for arg in NEEDED), "sequence, weights and result are needed")
        require(all(arg in changes for arg in NEEDED), "their derivatives are needed")
        for arg in OPTIONAL:
            both = (arg in tensors) == (arg in changes)
            require(both, "a tensor and its derivative are passed both or neither")
        self._check(cell, direction, tensors, activation, alpha)
        support(self.cell.projected is None, "the derivative of a projection is not supported")
        usable(*changes.values())
        support(
            all(tensor.data_type == DataType.f32 for tensor in changes.values()),
            "the derivatives of a recurrent layer are f32",
        )
        for arg, tensor in changes.items():
            if arg in self.shapes:
                require(tensor.dims == self.shapes[arg], "a derivative has the shape of its tensor")
        self.overwrite = bool(flags & RnnFlags.diff_weights_overwrite)
        self.hint = hint
        for arg, tensor in self._settle(tensors).items():
            self.add_input(arg, tensor)
        for arg, tensor in self._settle(changes).items():
            (self.add_input if arg in OUTPUTS else self.add_output)(arg + CHANGE, tensor)
        self.add_input(Arg.WORKSPACE, Descriptor.plain((Room(self.cell).size,)))

    def make_plan(self) -> Plan:
        """All steps from the last to the first, then the weights."""
        plan = Plan()
        if self.is_empty:
            return plan
        cell, given, where = self.cell, self.arguments, Where(Room(self.cell))
        changes = Changes(cell, plan.scratch(4 * Changes(cell).size))
        states = [(Arg.SRC_ITER, Arg.DST_ITER, changes.state_base)]
        if cell.kind == "lstm":
            states.append((Arg.SRC_ITER_C, Arg.DST_ITER_C, changes.memory_base))
        for _, result, base in states:
            arg = result + CHANGE
            plan.launches.append(rnn_backward.begin_states(changes, given.get(arg), arg, base))
        above = given[Arg.DIFF_DST_LAYER]
        for layer in reversed(range(cell.layers)):
            for direction in range(cell.directions):
                for step in reversed(range(cell.steps)):
                    plan.launches += rnn_backward.steps(
                        where, changes, self._weights, above, layer, direction, step
                    )
        self._add_weights(plan, where, changes)
        plan.launches.append(rnn_backward.copy_source(changes, given[Arg.DIFF_SRC_LAYER]))
        for source, _, base in states:
            arg = source + CHANGE
            if arg in given:
                plan.launches.append(rnn_backward.copy_states(changes, given[arg], arg, base))
        return plan

    def _add_weights(self, plan: Plan, where: Where, changes: Changes) -> None:
        for kind, arg in (
            ("weights_layer", Arg.DIFF_WEIGHTS_LAYER),
            ("weights_iter", Arg.DIFF_WEIGHTS_ITER),
            ("peephole", Arg.DIFF_WEIGHTS_PEEPHOLE),
            ("bias", Arg.DIFF_BIAS),
        ):
            if arg in self.arguments:
                target, add = self.arguments[arg], not self.overwrite
                plan.launches.append(
                    rnn_backward.weights_launch(where, changes, target, arg, kind, add=add)
                )


# --- The functions of the API -----------------------------------------------------------------

_PLAIN = (
    Arg.SRC_LAYER,
    Arg.SRC_ITER,
    Arg.WEIGHTS_LAYER,
    Arg.WEIGHTS_ITER,
    Arg.BIAS,
    Arg.DST_LAYER,
    Arg.DST_ITER,
)
_LSTM = (
    Arg.SRC_LAYER,
    Arg.SRC_ITER,
    Arg.SRC_ITER_C,
    Arg.WEIGHTS_LAYER,
    Arg.WEIGHTS_ITER,
    Arg.WEIGHTS_PEEPHOLE,
    Arg.WEIGHTS_PROJECTION,
    Arg.BIAS,
    Arg.DST_LAYER,
    Arg.DST_ITER,
    Arg.DST_ITER_C,
)


def _forward_kind(value: int) -> PropKind:
    if value not in (PropKind.forward_training, PropKind.forward_inference):
        invalid("a forward operation is for training or for inference")
    return PropKind(value)


def _backward_kind(value: int) -> PropKind:
    require(value == PropKind.backward, "the derivatives of a recurrent layer come all at once")
    return PropKind.backward


def _forward(
    cell: str, engine: Engine | None, prop_kind: int, direction: int, rest: tuple[Any, ...]
) -> _Forward:
    """Descriptors in the order of the API, flags and attributes."""
    order = _LSTM if cell == "lstm" else _PLAIN
    made = _Forward(engine, rest[-1], _forward_kind(prop_kind))
    made._build(cell, direction, dict(zip(order, rest, strict=False)))
    return made


def _backward(
    cell: str, engine: Engine | None, prop_kind: int, direction: int, rest: tuple[Any, ...]
) -> _Backward:
    """Descriptors and those of derivatives in the order of the API, flags, hint and attributes."""
    order = _LSTM if cell == "lstm" else _PLAIN
    count = len(order)
    made = _Backward(engine, rest[-1], _backward_kind(prop_kind))
    passed = dict(zip(order, rest[:count], strict=True))
    changed = dict(zip(order, rest[count : 2 * count], strict=True))
    made._build(cell, direction, passed, changed, rest[2 * count], rest[2 * count + 1])
    return made


@creates("dnnl_vanilla_rnn_forward_primitive_desc_create")
def vanilla_rnn_forward(
    engine: Engine | None, prop_kind: int, activation: int, direction: int, *rest: Any
) -> PrimitiveDescriptor:
    """A recurrent layer with one gate; behind the flags come alpha, beta and attributes."""
    made = _Forward(engine, rest[-1], _forward_kind(prop_kind))
    passed = dict(zip(_PLAIN, rest, strict=False))
    made._build("vanilla", direction, passed, activation, rest[len(_PLAIN) + 1])
    return made


@creates("dnnl_vanilla_rnn_backward_primitive_desc_create")
def vanilla_rnn_backward(
    engine: Engine | None, prop_kind: int, activation: int, direction: int, *rest: Any
) -> PrimitiveDescriptor:
    """Its derivatives; behind the flags come alpha, beta, the forward one and attributes."""
    count = len(_PLAIN)
    made = _Backward(engine, rest[-1], _backward_kind(prop_kind))
    passed = dict(zip(_PLAIN, rest[:count], strict=True))
    changed = dict(zip(_PLAIN, rest[count : 2 * count], strict=True))
    flags, alpha, _, hint = rest[2 * count : 2 * count + 4]
    made._build("vanilla", direction, passed, changed, flags, hint, activation, alpha)
    return made


@creates("dnnl_lstm_forward_primitive_desc_create")
def lstm_forward(
    engine: Engine | None, prop_kind: int, direction: int, *rest: Any
) -> PrimitiveDescriptor:
    """Long short-term memory."""
    return _forward("lstm", engine, prop_kind, direction, rest)


@creates("dnnl_lstm_backward_primitive_desc_create")
def lstm_backward(
    engine: Engine | None, prop_kind: int, direction: int, *rest: Any
) -> PrimitiveDescriptor:
    """Its derivatives."""
    return _backward("lstm", engine, prop_kind, direction, rest)


@creates("dnnl_gru_forward_primitive_desc_create")
def gru_forward(
    engine: Engine | None, prop_kind: int, direction: int, *rest: Any
) -> PrimitiveDescriptor:
    """Gated recurrent units."""
    return _forward("gru", engine, prop_kind, direction, rest)


@creates("dnnl_gru_backward_primitive_desc_create")
def gru_backward(
    engine: Engine | None, prop_kind: int, direction: int, *rest: Any
) -> PrimitiveDescriptor:
    """Their derivatives."""
    return _backward("gru", engine, prop_kind, direction, rest)


@creates("dnnl_lbr_gru_forward_primitive_desc_create")
def lbr_gru_forward(
    engine: Engine | None, prop_kind: int, direction: int, *rest: Any
) -> PrimitiveDescriptor:
    """Gated recurrent units that are linear before the reset."""
    return _forward("lbr_gru", engine, prop_kind, direction, rest)


@creates("dnnl_lbr_gru_backward_primitive_desc_create")
def lbr_gru_backward(
    engine: Engine | None, prop_kind: int, direction: int, *rest: Any
) -> PrimitiveDescriptor:
    """Their derivatives."""
    return _backward("lbr_gru", engine, prop_kind, direction, rest)
