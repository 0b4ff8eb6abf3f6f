"""Recurrent cells, backwards: steps in reverse, then the weights, of all steps at once.

The changes lie in scratch memory: those of each step's input and gates, and for each layer and
direction the change of the state that is handed from step to step.
"""

from __future__ import annotations

from dataclasses import dataclass

from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.kernels import values
from groundstate.dnn.kernels.grid import Grid
from groundstate.dnn.kernels.loops import Loops
from groundstate.dnn.kernels.rnn import (
    Cell,
    Room,
    Weights,
    Where,
    begin,
    gate_place,
    load,
    number,
    places,
)
from groundstate.dnn.kernels.text import Kernel
from groundstate.dnn.plan import Launch
from groundstate.dnn.types import Algorithm, Arg


@dataclass(frozen=True)
class Changes:
    """Where changes lie, in floats, and where that is in scratch memory, in bytes."""

    cell: Cell
    scratch: int = 0

    @property
    def row(self) -> int:
        """The states of all sequences of a batch."""
        return self.cell.batch * self.cell.width

    @property
    def lines(self) -> int:
        """Layers in all directions."""
        return self.cell.layers * self.cell.directions

    @property
    def gate_base(self) -> int:
        """Behind the changes of the inputs."""
        return self.lines * self.cell.steps * self.cell.batch * self.cell.inputs

    @property
    def state_base(self) -> int:
        """Behind the changes of the gates."""
        return self.gate_base + self.lines * self.cell.steps * self.cell.gates * self.row

    @property
    def memory_base(self) -> int:
        """The changes of the inner states of an LSTM."""
        return self.state_base + self.lines * self.row

    @property
    def size(self) -> int:
        """All of it."""
        return self.memory_base + (self.lines * self.row if self.cell.kind == "lstm" else 0)

    def _line(self, layer: int, direction: int) -> int:
        return layer * self.cell.directions + direction

    def input(self, layer: int, direction: int, step: int) -> int:
        """The change of what a step read."""
        line = self._line(layer, direction) * self.cell.steps + step
        return line * self.cell.batch * self.cell.inputs

    def gate(self, layer: int, direction: int, step: int) -> int:
        """The change of a step's gates."""
        line = self._line(layer, direction) * self.cell.steps + step
        return self.gate_base + line * self.cell.gates * self.row

    def state(self, layer: int, direction: int) -> int:
        """The change of the state that goes from step to step."""
        return self.state_base + self._line(layer, direction) * self.row

    def memory(self, layer: int, direction: int) -> int:
        """That of the inner state."""
        return self.memory_base + self._line(layer, direction) * self.row

    def declare(self, kernel: Kernel) -> None:
        """Adds the parameter `change`."""
        kernel.scratch(self.scratch, "float", "change")


def begin_states(changes: Changes, source: Descriptor | None, arg: int, base: int) -> Launch:
    """What comes from behind the last step; zero if nothing does."""
    cell = changes.cell
    shape = Descriptor.plain((cell.layers, cell.directions, cell.batch, cell.width))
    kernel = Kernel("rnn_begin_states")
    if source is not None:
        kernel.input(arg, source.data_type, "source")
    changes.declare(kernel)
    number(kernel, "base", base)
    grid = Grid(kernel, [shape], coordinates=True)
    value = "0.0f" if source is None else load(source, "source", grid.names)
    kernel.line(f"change[base + i] = {value};")
    return grid.launch()


def steps(
    where: Where,
    changes: Changes,
    weights: Weights,
    above: Descriptor,
    layer: int,
    direction: int,
    step: int,
) -> list[Launch]:
    """The launches of a step: the gates, then the input and the state before."""
    cell = changes.cell
    numbers = places(where.room, layer, direction, step)
    numbers |= {
        "time": cell.time(direction, step),
        "gate_change": changes.gate(layer, direction, step),
        "state_change": changes.state(layer, direction),
        "input_change": changes.input(layer, direction, step),
        "higher": changes.input(layer + 1, direction, step) if layer + 1 < cell.layers else 0,
        "inner_change": changes.memory(layer, direction) if cell.kind == "lstm" else 0,
        "shift": cell.width if direction == 1 and not cell.summed else 0,
    }
    top = above if layer + 1 == cell.layers else None
    launches = [_gates(where, changes, weights, top, numbers)]
    if cell.kind == "gru":
        launches.append(_gru_reset(where, changes, weights, numbers))
    return [*launches, _inputs(where, changes, weights, numbers)]


def _kernel(name: str, where: Where, changes: Changes, weights: Weights) -> Kernel:
    kernel = Kernel(name)
    weights.declare(kernel)
    where.declare(kernel)
    changes.declare(kernel)
    return kernel


def _gates(
    where: Where,
    changes: Changes,
    weights: Weights,
    top: Descriptor | None,
    numbers: dict[str, int],
) -> Launch:
    """The changes of the gates, and what of the state's change goes around them."""
    cell = changes.cell
    kernel = _kernel("rnn_backward_gates", where, changes, weights)
    if top is not None:
        kernel.input(Arg.DIFF_DST_LAYER, top.data_type, "above")
    begin(kernel, cell, numbers)
    if top is not None:
        higher = load(top, "above", ("time", "n", "(h + shift)"))
    else:
        higher = f"change[higher + n * {cell.inputs} + h]"
    kernel.line(f"const float dh = change[state_change + i] + {higher};")
    for g in range(cell.gates):
        kernel.line(f"const float g{g} = room[gates + {gate_place(cell, g)}];")
    kinds = {"vanilla": _vanilla, "lstm": _lstm, "gru": _gru, "lbr_gru": _lbr_gru}
    results, lines = kinds[cell.kind](cell, weights)
    kernel.extend(lines)
    for g, text in enumerate(results):
        if text:
            kernel.line(f"change[gate_change + {gate_place(cell, g)}] = {text};")
    return kernel.launch(items=changes.row)


Results = tuple[list[str], list[str]]


def _vanilla(cell: Cell, weights: Weights) -> Results:
    slope = {
        Algorithm.eltwise_relu: f"(g0 > 0.0f ? 1.0f : {cell.alpha!r}f)",
        Algorithm.eltwise_tanh: "(1.0f - g0) * (1.0f + g0)",
        Algorithm.eltwise_logistic: "g0 * (1.0f - g0)",
    }[cell.activation]
    return [f"dh * {slope}"], ["change[state_change + i] = 0.0f;"]


def _lstm(cell: Cell, weights: Weights) -> Results:
    seen = f" + do_ * {weights.sight(2)}" if cell.peephole else ""
    before = f" + df * {weights.sight(1)} + di * {weights.sight(0)}" if cell.peephole else ""
    lines = [
        "const float bent = tanh(room[inner_after + i]);",
        "const float do_ = bent * dh * g3 * (1.0f - g3);",
        "const float around = g3 * dh * (1.0f - bent) * (1.0f + bent);",
        f"const float dc = change[inner_change + i] + around{seen};",
        "const float df = room[inner + i] * dc * g1 * (1.0f - g1);",
        "const float di = g2 * dc * g0 * (1.0f - g0);",
        "const float dn = g0 * dc * (1.0f - g2) * (1.0f + g2);",
        f"change[inner_change + i] = g1 * dc{before};",
        "change[state_change + i] = 0.0f;",
    ]
    return ["di", "df", "dn", "do_"], lines


def _gru(cell: Cell, weights: Weights) -> Results:
    lines = [
        "const float du = (room[before + i] - g2) * dh * g0 * (1.0f - g0);",
        "const float dn = (1.0f - g0) * dh * (1.0f - g2) * (1.0f + g2);",
        "change[state_change + i] = dh * g0;",
    ]
    return ["du", "", "dn"], lines


def _lbr_gru(cell: Cell, weights: Weights) -> Results:
    weight = load(weights.iter, "weights_iter", ("l", "d", "k", "2", "h"))
    lines = [
        f"float linear = {weights.bias_of(3)};",
        *Loops([("k", cell.width)]).around(
            [f"linear += room[before + n * {cell.width} + k] * {weight};"]
        ),
        "const float du = (room[before + i] - g2) * dh * g0 * (1.0f - g0);",
        "const float dn = (1.0f - g0) * dh * (1.0f - g2) * (1.0f + g2);",
        "const float dr = linear * dn * g1 * (1.0f - g1);",
        "change[state_change + i] = dh * g0;",
    ]
    return ["du", "dr", "dn"], lines


def _gru_reset(where: Where, changes: Changes, weights: Weights, numbers: dict[str, int]) -> Launch:
    """The change of the reset gate, which the last gate saw the state through."""
    cell = changes.cell
    kernel = _kernel("rnn_backward_reset", where, changes, weights)
    begin(kernel, cell, numbers)
    weight = load(weights.iter, "weights_iter", ("l", "d", "h", "2", "k"))
    given = f"change[gate_change + {gate_place(cell, 2, 'k')}]"
    kernel.line("float sum = 0.0f;")
    kernel.extend(Loops([("k", cell.width)]).around([f"sum += {given} * {weight};"]))
    kernel.line(f"const float r = room[gates + {gate_place(cell, 1)}];")
    kernel.line("change[state_change + i] += sum * r;")
    result = "room[before + i] * sum * r * (1.0f - r)"
    kernel.line(f"change[gate_change + {gate_place(cell, 1)}] = {result};")
    return kernel.launch(items=changes.row)


def _inputs(where: Where, changes: Changes, weights: Weights, numbers: dict[str, int]) -> Launch:
    """The changes of the input and of the state before: what the gates passed on."""
    cell = changes.cell
    kernel = _kernel("rnn_backward_inputs", where, changes, weights)
    for name, value in numbers.items():
        number(kernel, name, value)
    both = cell.inputs + cell.width
    kernel.line("const int i = get_global_id(0);")
    kernel.line(f"if (i >= {cell.batch * both}) return;")
    kernel.line(f"const int n = i / {both};")
    kernel.line("float sum = 0.0f;")
    kernel.line(f"if (i % {both} < {cell.inputs}) {{")
    kernel.line(f"    const int k = i % {both};")
    inside = _passed_on(cell, weights.layer, "weights_layer", list(range(cell.gates)), lbr=False)
    kernel.extend(Loops([("h", cell.width)]).around(inside))
    kernel.line(f"    change[input_change + n * {cell.inputs} + k] = sum;")
    kernel.line("} else {")
    kernel.line(f"    const int k = i % {both} - {cell.inputs};")
    gates = [0, 1] if cell.kind == "gru" else list(range(cell.gates))
    lbr = cell.kind == "lbr_gru"
    inside = _passed_on(cell, weights.iter, "weights_iter", gates, lbr=lbr)
    kernel.extend(Loops([("h", cell.width)]).around(inside))
    kernel.line(f"    change[state_change + n * {cell.width} + k] += sum;")
    kernel.line("}")
    return kernel.launch(items=cell.batch * both)


def _passed_on(
    cell: Cell, weights: Descriptor, pointer: str, gates: list[int], *, lbr: bool
) -> list[str]:
    lines = []
    for g in gates:
        given = f"change[gate_change + {gate_place(cell, g)}]"
        if lbr and g == 2:
            given += f" * room[gates + {gate_place(cell, 1)}]"
        lines.append(f"sum += {given} * {load(weights, pointer, ('l', 'd', 'k', str(g), 'h'))};")
    return lines


# --- Weights ----------------------------------------------------------------------------------


def weights_launch(
    where: Where, changes: Changes, target: Descriptor, arg: int, kind: str, *, add: bool
) -> Launch:
    """The changes of weights or biases: sums over all steps and sequences."""
    cell = changes.cell
    kernel = Kernel(f"rnn_backward_{kind}")
    kernel.output(arg, target.data_type, "target")
    where.declare(kernel)
    changes.declare(kernel)
    grid = Grid(kernel, [target], coordinates=True)
    makers = {"weights_layer": _layer, "weights_iter": _iter, "bias": _bias, "peephole": _peephole}
    kernel.line("float sum = 0.0f;")
    line = f"const int line = {grid.names[0]} * {cell.directions} + {grid.names[1]};"
    kernel.line(line)
    inside = makers[kind](where.room, changes, grid.names)
    kernel.extend(Loops([("t", cell.steps), ("n", cell.batch)]).around(inside))
    if add:
        kernel.line(f"sum += {values.load(target.data_type, 'target', grid.index(target))};")
    kernel.line(values.store(target.data_type, "target", grid.index(target), "sum"))
    return grid.launch()


def _gate(changes: Changes, gate: str, h: str) -> str:
    """The change of a gate at step `t`."""
    cell = changes.cell
    step = f"(line * {cell.steps} + t) * {cell.gates * changes.row}"
    return (
        f"change[{changes.gate_base} + {step} + (n * {cell.gates} + {gate}) * {cell.width} + {h}]"
    )


def _kept(room: Room, gate: int, h: str) -> str:
    """A gate itself at step `t`."""
    cell = room.cell
    step = f"(line * {cell.steps} + t) * {cell.gates * room.row}"
    return f"room[{room.gate_base} + {step} + (n * {cell.gates} + {gate}) * {cell.width} + {h}]"


def _state(room: Room, base: int, k: str, line: str = "line", later: int = 0) -> str:
    """The state before step `t`, or that many steps later."""
    cell = room.cell
    step = f"({line} * {cell.steps + 1} + t + {later}) * {room.row}"
    return f"room[{base} + {step} + n * {cell.width} + {k}]"


def _layer(room: Room, changes: Changes, names: list[str]) -> list[str]:
    layer, direction, k, g, h = names
    cell = room.cell
    back = f"{int(cell.turned)}" if cell.directions == 1 else f"{direction} == 1"
    time = f"(({back}) ? {cell.steps - 1} - t : t)"
    sequence = f"room[({time} * {cell.batch} + n) * {cell.inputs} + {k}]"
    below = _state(room, room.state_base, k, f"(line - {cell.directions})", 1)
    source = sequence if cell.layers == 1 else f"({layer} == 0 ? {sequence} : {below})"
    return [f"sum += {source} * {_gate(changes, g, h)};"]


def _iter(room: Room, changes: Changes, names: list[str]) -> list[str]:
    _, _, k, g, h = names
    value = _state(room, room.state_base, k)
    if room.cell.kind == "gru":
        value += f" * ({g} == 2 ? {_kept(room, 1, k)} : 1.0f)"
    if room.cell.kind == "lbr_gru":
        value += f" * ({g} == 2 ? {_kept(room, 1, h)} : 1.0f)"
    return [f"sum += {value} * {_gate(changes, g, h)};"]


def _bias(room: Room, changes: Changes, names: list[str]) -> list[str]:
    _, _, g, h = names
    if room.cell.kind != "lbr_gru":
        return [f"sum += {_gate(changes, g, h)};"]
    last = f"{_gate(changes, '2', h)} * {_kept(room, 1, h)}"
    return [f"sum += {g} == 3 ? {last} : {_gate(changes, f'min({g}, 2)', h)};"]


def _peephole(room: Room, changes: Changes, names: list[str]) -> list[str]:
    _, _, g, h = names
    early, late = (_state(room, room.memory_base, h, later=later) for later in (0, 1))
    change = _gate(changes, f"({g} == 2 ? 3 : {g})", h)
    return [f"sum += ({g} == 2 ? {late} : {early}) * {change};"]


# --- Out --------------------------------------------------------------------------------------


def copy_source(changes: Changes, target: Descriptor) -> Launch:
    """The change of the sequence; both directions read it."""
    cell = changes.cell
    kernel = Kernel("rnn_backward_source")
    kernel.output(Arg.DIFF_SRC_LAYER, target.data_type, "target")
    changes.declare(kernel)
    grid = Grid(kernel, [target], coordinates=True)
    time, n, k = grid.names
    kernel.line("float sum = 0.0f;")
    for direction in range(cell.directions):
        backwards = cell.turned if cell.directions == 1 else direction == 1
        step = f"({cell.steps - 1} - {time})" if backwards else time
        place = f"({step} * {cell.batch} + {n}) * {cell.inputs} + {k}"
        kernel.line(f"sum += change[{changes.input(0, direction, 0)} + {place}];")
    kernel.line(values.store(target.data_type, "target", grid.index(target), "sum"))
    return grid.launch()


def copy_states(changes: Changes, target: Descriptor, arg: int, base: int) -> Launch:
    """The change of the first states."""
    kernel = Kernel("rnn_backward_states")
    kernel.output(arg, target.data_type, "target")
    changes.declare(kernel)
    number(kernel, "base", base)
    grid = Grid(kernel, [target], coordinates=True)
    kernel.line(values.store(target.data_type, "target", grid.index(target), "change[base + i]"))
    return grid.launch()
