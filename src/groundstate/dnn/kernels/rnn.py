"""Recurrent cells, forwards: one launch for each step of each layer, with states in f32.

All that a step reads and leaves lies in one place, the room: the input, the states before and
after each step, and the gates. It is the workspace when a derivative will need it, otherwise
scratch memory. A step gets the places as numbers, so all steps share a program.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from groundstate.dnn import elementwise
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.kernels import indexing, values
from groundstate.dnn.kernels.grid import Grid
from groundstate.dnn.kernels.loops import Loops
from groundstate.dnn.kernels.text import Kernel
from groundstate.dnn.plan import Launch, Value
from groundstate.dnn.types import Algorithm, Arg, DataType

GATES = {"vanilla": 1, "lstm": 4, "gru": 3, "lbr_gru": 3}
LOGISTIC = "(1.0f / (1.0f + exp(-({}))))"


@dataclass(frozen=True)
class Cell:
    """The shape of a recurrent primitive."""

    kind: str
    layers: int
    directions: int
    steps: int
    batch: int
    inputs: int
    width: int
    turned: bool
    """A single direction goes from the last step to the first."""
    summed: bool
    """The results of both directions are added; otherwise they lie side by side."""
    activation: Algorithm = Algorithm.eltwise_tanh
    alpha: float = 0.0
    peephole: bool = False
    """The gates of an LSTM see the state of its cell."""
    projected: int | None = None
    """The width that the results of an LSTM are brought to; None if they stay as they are."""

    @property
    def states(self) -> int:
        """The width of what goes from step to step and from layer to layer."""
        return self.width if self.projected is None else self.projected

    @property
    def gates(self) -> int:
        """How many gates there are."""
        return GATES[self.kind]

    @property
    def biases(self) -> int:
        """How many biases there are for an element."""
        return self.gates + (self.kind == "lbr_gru")

    def time(self, direction: int, step: int) -> int:
        """Which element of a sequence a step treats."""
        backwards = self.turned if self.directions == 1 else direction == 1
        return self.steps - 1 - step if backwards else step


@dataclass(frozen=True)
class Room:
    """Where things lie, in floats."""

    cell: Cell

    @property
    def row(self) -> int:
        """An element of each gate, for all sequences of a batch."""
        return self.cell.batch * self.cell.width

    @property
    def state_row(self) -> int:
        """The states of all sequences of a batch."""
        return self.cell.batch * self.cell.states

    @property
    def state_base(self) -> int:
        """Behind the input."""
        return self.cell.steps * self.cell.batch * self.cell.inputs

    @property
    def _rows(self) -> int:
        """How many states there are: before each step, and after the last."""
        return self.cell.layers * self.cell.directions * (self.cell.steps + 1)

    @property
    def memory_base(self) -> int:
        """The inner states of an LSTM."""
        return self.state_base + self._rows * self.state_row

    @property
    def gate_base(self) -> int:
        """The gates."""
        return self.memory_base + (self._rows * self.row if self.cell.kind == "lstm" else 0)

    @property
    def spare(self) -> int:
        """A row for what is needed within a step."""
        cell = self.cell
        return self.gate_base + cell.layers * cell.directions * cell.steps * cell.gates * self.row

    @property
    def size(self) -> int:
        """All of it."""
        return self.spare + self.row

    def input(self, layer: int, direction: int, step: int) -> int:
        """What a step reads: the sequence, or what the layer below left."""
        if layer == 0:
            time = self.cell.time(direction, step)
            return time * self.cell.batch * self.cell.inputs
        return self.state(layer - 1, direction, step + 1)

    def state(self, layer: int, direction: int, step: int) -> int:
        """The state before a step; that after the last one is of the number of steps."""
        line = self._line(layer, direction, self.cell.steps + 1, step)
        return self.state_base + line * self.state_row

    def memory(self, layer: int, direction: int, step: int) -> int:
        """The inner state of an LSTM before a step."""
        line = self._line(layer, direction, self.cell.steps + 1, step)
        return self.memory_base + line * self.row

    def gate(self, layer: int, direction: int, step: int) -> int:
        """The gates of a step."""
        line = self._line(layer, direction, self.cell.steps, step)
        return self.gate_base + line * self.cell.gates * self.row

    def _line(self, layer: int, direction: int, steps: int, step: int) -> int:
        return (layer * self.cell.directions + direction) * steps + step


@dataclass(frozen=True)
class Where:
    """Where the room is: in the workspace that the caller passes, or in scratch memory."""

    room: Room
    scratch: int | None = None

    def declare(self, kernel: Kernel) -> None:
        """Adds the parameter `room`."""
        if self.scratch is None:
            kernel.output(Arg.WORKSPACE, DataType.f32, "room")
        else:
            kernel.scratch(self.scratch, "float", "room")


def number(kernel: Kernel, name: str, value: int) -> None:
    """Adds a whole number as a parameter, so that programs do not differ by it."""
    kernel.parameter(f"int {name}", Value(struct.pack("<i", value)))


def load(tensor: Descriptor, pointer: str, names: Sequence[str]) -> str:
    """An element of a tensor as a float."""
    return values.load(tensor.data_type, pointer, indexing.offset(tensor, names))


# --- In and out -------------------------------------------------------------------------------


def copy_input(where: Where, source: Descriptor) -> Launch:
    """The sequence, densely, to the room."""
    kernel = Kernel("rnn_copy_input")
    kernel.input(Arg.SRC_LAYER, source.data_type, "source")
    where.declare(kernel)
    grid = Grid(kernel, [source], coordinates=True)
    place = indexing.offset(Descriptor.plain(source.dims), grid.names)
    kernel.line(f"room[{place}] = {load(source, 'source', grid.names)};")
    return grid.launch()


def copy_states(where: Where, source: Descriptor | None, arg: int, base: int, width: int) -> Launch:
    """The first states to the room; zeros if there are none."""
    cell = where.room.cell
    shape = Descriptor.plain((cell.layers, cell.directions, cell.batch, width))
    kernel = Kernel("rnn_copy_states")
    if source is not None:
        kernel.input(arg, source.data_type, "source")
    where.declare(kernel)
    number(kernel, "base", base)
    grid = Grid(kernel, [shape], coordinates=True)
    value = "0.0f" if source is None else load(source, "source", grid.names)
    kernel.line(f"room[base + {state_place(cell, grid.names, '0', width)}] = {value};")
    return grid.launch()


def state_place(cell: Cell, names: Sequence[str], step: str, width: int) -> str:
    """Where a state lies behind the first one: layer, direction, step, batch, channel."""
    layer, direction, n, h = names
    line = f"(({layer} * {cell.directions} + {direction}) * {cell.steps + 1} + {step})"
    return f"({line} * {cell.batch} + {n}) * {width} + {h}"


def copy_last_states(where: Where, target: Descriptor, arg: int, base: int) -> Launch:
    """The states after the last step."""
    cell = where.room.cell
    kernel = Kernel("rnn_copy_last_states")
    kernel.output(arg, target.data_type, "target")
    where.declare(kernel)
    number(kernel, "base", base)
    grid = Grid(kernel, [target], coordinates=True)
    place = state_place(cell, grid.names, str(cell.steps), target.dims[3])
    value = f"room[base + {place}]"
    kernel.line(values.store(target.data_type, "target", grid.index(target), value))
    return grid.launch()


def copy_output(where: Where, target: Descriptor) -> Launch:
    """What the last layer left at each step."""
    cell, room = where.room.cell, where.room
    kernel = Kernel("rnn_copy_output")
    kernel.output(Arg.DST_LAYER, target.data_type, "target")
    where.declare(kernel)
    grid = Grid(kernel, [target], coordinates=True)
    time, n, channel = grid.names
    top = cell.layers - 1

    def state(direction: int, h: str) -> str:
        forwards = cell.time(direction, 0) == 0 and (cell.steps == 1 or cell.time(direction, 1))
        step = f"{time} + 1" if forwards else f"{cell.steps} - {time}"
        base = room.state(top, direction, 0)
        return f"room[{base} + (({step}) * {cell.batch} + {n}) * {cell.states} + {h}]"

    if cell.directions == 1:
        text = state(0, channel)
    elif cell.summed:
        text = f"{state(0, channel)} + {state(1, channel)}"
    else:
        right = state(1, f"{channel} - {cell.states}")
        text = f"{channel} < {cell.states} ? {state(0, channel)} : {right}"
    kernel.line(f"const float r = {text};")
    kernel.line(values.store(target.data_type, "target", grid.index(target), "r"))
    return grid.launch()


# --- A step -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Weights:
    """The weights of a recurrent primitive."""

    layer: Descriptor
    iter: Descriptor
    bias: Descriptor | None
    peephole: Descriptor | None = None
    projection: Descriptor | None = None

    def declare(self, kernel: Kernel) -> None:
        """Adds them as parameters."""
        kernel.input(Arg.WEIGHTS_LAYER, self.layer.data_type, "weights_layer")
        kernel.input(Arg.WEIGHTS_ITER, self.iter.data_type, "weights_iter")
        if self.bias is not None:
            kernel.input(Arg.BIAS, self.bias.data_type, "bias")
        if self.peephole is not None:
            kernel.input(Arg.WEIGHTS_PEEPHOLE, self.peephole.data_type, "peephole")

    def bias_of(self, gate: int, h: str = "h") -> str:
        """The bias of a gate."""
        if self.bias is None:
            return "0.0f"
        return load(self.bias, "bias", ("l", "d", str(gate), h))

    def sight(self, gate: int) -> str:
        """How much a gate sees of the inner state."""
        assert self.peephole is not None
        return load(self.peephole, "peephole", ("l", "d", str(gate), "h"))


def begin(kernel: Kernel, cell: Cell, numbers: dict[str, int], *, width: int | None = None) -> None:
    """A work-item for each element of a gate, or of something as wide: `n` and `h`."""
    width = cell.width if width is None else width
    for name, value in numbers.items():
        number(kernel, name, value)
    kernel.line("const int i = get_global_id(0);")
    kernel.line(f"if (i >= {cell.batch * width}) return;")
    kernel.line(f"const int n = i / {width}, h = i % {width};")


def places(room: Room, layer: int, direction: int, step: int) -> dict[str, int]:
    """The numbers that a step gets."""
    found = {
        "l": layer,
        "d": direction,
        "from": room.input(layer, direction, step),
        "before": room.state(layer, direction, step),
        "after": room.state(layer, direction, step + 1),
        "gates": room.gate(layer, direction, step),
    }
    if room.cell.kind == "lstm":
        found["inner"] = room.memory(layer, direction, step)
        found["inner_after"] = room.memory(layer, direction, step + 1)
    return found


def steps(where: Where, weights: Weights, layer: int, direction: int, step: int) -> list[Launch]:
    """The launches of a step."""
    cell = where.room.cell
    numbers = places(where.room, layer, direction, step)
    if cell.kind == "gru":
        return [_gru_reset(where, weights, numbers), _gru_result(where, weights, numbers)]
    if weights.projection is None:
        return [_step(where, weights, numbers)]
    whole = _step(where, weights, numbers | {"after": where.room.spare})
    return [whole, _projected(where, weights.projection, numbers)]


def _step(where: Where, weights: Weights, numbers: dict[str, int]) -> Launch:
    """All gates, and the state after the step."""
    cell = where.room.cell
    kernel = Kernel("rnn_step")
    weights.declare(kernel)
    where.declare(kernel)
    begin(kernel, cell, numbers)
    kernel.extend(_sums(cell, weights, range(cell.gates), apart=cell.kind == "lbr_gru"))
    kernel.extend(
        {"vanilla": _vanilla, "lstm": _lstm, "lbr_gru": _lbr_gru}[cell.kind](cell, weights)
    )
    return kernel.launch(items=cell.batch * cell.width)


def _projected(where: Where, weights: Descriptor, numbers: dict[str, int]) -> Launch:
    """The state after the step, made of the result that the gates left."""
    cell, room = where.room.cell, where.room
    kernel = Kernel("rnn_projection")
    kernel.input(Arg.WEIGHTS_PROJECTION, weights.data_type, "weights")
    where.declare(kernel)
    wanted = {name: numbers[name] for name in ("l", "d", "after")}
    begin(kernel, cell, wanted, width=cell.states)
    kernel.line("float sum = 0.0f;")
    weight = load(weights, "weights", ("l", "d", "k", "h"))
    inside = f"sum += room[{room.spare} + n * {cell.width} + k] * {weight};"
    kernel.extend(Loops([("k", cell.width)]).around([inside]))
    kernel.line("room[after + i] = sum;")
    return kernel.launch(items=room.state_row)


def _sums(cell: Cell, weights: Weights, gates: Sequence[int], *, apart: bool = False) -> list[str]:
    """What gates get of the input, as `a0, a1, ...`, and of the states (apart as `b0, b1, ...`)."""
    target = "b" if apart else "a"
    names = [*(f"a{g}" for g in gates), *(f"b{g}" for g in gates if apart)]
    lines = [f"float {', '.join(f'{name} = 0.0f' for name in names)};"]
    inputs = [f"const float v = room[from + n * {cell.inputs} + k];"]
    states = [f"const float v = room[before + n * {cell.states} + k];"]
    for g in gates:
        place = ("l", "d", "k", str(g), "h")
        inputs.append(f"a{g} += v * {load(weights.layer, 'weights_layer', place)};")
        states.append(f"{target}{g} += v * {load(weights.iter, 'weights_iter', place)};")
    lines += Loops([("k", cell.inputs)]).around(inputs)
    return lines + Loops([("k", cell.states)]).around(states)


def gate_place(cell: Cell, gate: int, h: str = "h") -> str:
    """Where a gate lies among those of a step."""
    return f"(n * {cell.gates} + {gate}) * {cell.width} + {h}"


def _keep(cell: Cell, names: Sequence[str]) -> list[str]:
    """Leaves the gates for a derivative."""
    return [f"room[gates + {gate_place(cell, g)}] = {name};" for g, name in enumerate(names)]


def _vanilla(cell: Cell, weights: Weights) -> list[str]:
    text = elementwise.forward_text(cell.activation, "v", cell.alpha, 0.0)
    return [
        f"const float v = a0 + {weights.bias_of(0)};",
        f"const float r = {text};",
        "room[after + i] = r;",
        *_keep(cell, ["r"]),
    ]


def _lstm(cell: Cell, weights: Weights) -> list[str]:
    sums = [f"a{g} + {weights.bias_of(g)}" for g in range(4)]
    if cell.peephole:
        sums[0] += f" + {weights.sight(0)} * c"
        sums[1] += f" + {weights.sight(1)} * c"
        sums[3] += f" + {weights.sight(2)} * inside"
    return [
        "const float c = room[inner + i];",
        f"const float in = {LOGISTIC.format(sums[0])};",
        f"const float forget = {LOGISTIC.format(sums[1])};",
        f"const float fresh = tanh({sums[2]});",
        "const float inside = forget * c + in * fresh;",
        f"const float out = {LOGISTIC.format(sums[3])};",
        "room[inner_after + i] = inside;",
        "room[after + i] = out * tanh(inside);",
        *_keep(cell, ["in", "forget", "fresh", "out"]),
    ]


def _lbr_gru(cell: Cell, weights: Weights) -> list[str]:
    return [
        f"const float u = {LOGISTIC.format(f'a0 + b0 + {weights.bias_of(0)}')};",
        f"const float r = {LOGISTIC.format(f'a1 + b1 + {weights.bias_of(1)}')};",
        f"const float o = tanh(a2 + r * (b2 + {weights.bias_of(3)}) + {weights.bias_of(2)});",
        "room[after + i] = u * room[before + i] + (1.0f - u) * o;",
        *_keep(cell, ["u", "r", "o"]),
    ]


def _gru_reset(where: Where, weights: Weights, numbers: dict[str, int]) -> Launch:
    """The first two gates, and the state as far as it is kept."""
    cell = where.room.cell
    kernel = Kernel("rnn_gru_reset")
    weights.declare(kernel)
    where.declare(kernel)
    begin(kernel, cell, numbers)
    kernel.extend(_sums(cell, weights, range(2)))
    kernel.line(f"const float u = {LOGISTIC.format(f'a0 + {weights.bias_of(0)}')};")
    kernel.line(f"const float r = {LOGISTIC.format(f'a1 + {weights.bias_of(1)}')};")
    kernel.extend(_keep(cell, ["u", "r"]))
    kernel.line(f"room[{where.room.spare} + i] = r * room[before + i];")
    return kernel.launch(items=cell.batch * cell.width)


def _gru_result(where: Where, weights: Weights, numbers: dict[str, int]) -> Launch:
    """The last gate, which sees only what was kept of the state, and the result."""
    cell = where.room.cell
    kernel = Kernel("rnn_gru_result")
    weights.declare(kernel)
    where.declare(kernel)
    begin(kernel, cell, numbers)
    place = ("l", "d", "k", "2", "h")
    kernel.line("float sum = 0.0f;")
    inputs = f"room[from + n * {cell.inputs} + k] * {load(weights.layer, 'weights_layer', place)}"
    kept = f"room[{where.room.spare} + n * {cell.width} + k]"
    states = f"{kept} * {load(weights.iter, 'weights_iter', place)}"
    kernel.extend(Loops([("k", cell.inputs)]).around([f"sum += {inputs};"]))
    kernel.extend(Loops([("k", cell.width)]).around([f"sum += {states};"]))
    kernel.line(f"const float u = room[gates + {gate_place(cell, 0)}];")
    kernel.line(f"const float o = tanh(sum + {weights.bias_of(2)});")
    kernel.line(f"room[gates + {gate_place(cell, 2)}] = o;")
    kernel.line("room[after + i] = u * room[before + i] + (1.0f - u) * o;")
    return kernel.launch(items=cell.batch * cell.width)
