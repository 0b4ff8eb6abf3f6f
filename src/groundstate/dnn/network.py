"""Networks: primitives that follow each other on one stream, with weights laid out once.

Nothing runs while a network is described: a step gets the memory of its results right away, so that
the next one can be described. `prepare` compiles the kernels and brings weights into the layouts
that the primitives want; `run` executes all steps, and `times` says how long each of them took.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from groundstate.dnn.arrays import array_of, fill, memory_of
from groundstate.dnn.descriptor import SIZES, Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid, require
from groundstate.dnn.memory import Memory
from groundstate.dnn.primitive import Primitive, PrimitiveDescriptor, create
from groundstate.dnn.stream import Stream
from groundstate.dnn.types import Arg, PrimitiveKind, StreamFlags

if TYPE_CHECKING:
    import numpy

_PRODUCTS = (PrimitiveKind.convolution, PrimitiveKind.inner_product)


@dataclass
class Step:
    """A primitive of a network, and the memory of its arguments; weights are arrays at first."""

    name: str
    described: PrimitiveDescriptor
    memories: dict[int, Memory]
    weights: dict[int, Any]
    primitive: Primitive | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its result."""
        return self.described.arguments[Arg.DST].dims

    @property
    def operations(self) -> int:
        """Multiplications and additions of a product; 0 for everything else."""
        arguments = self.described.arguments
        result = arguments[Arg.DST]
        if self.described.kind == PrimitiveKind.matmul:
            return 2 * result.elements * arguments[Arg.SRC].dims[-1]
        if self.described.kind in _PRODUCTS:
            return 2 * result.elements * arguments[Arg.WEIGHTS].elements // result.dims[1]
        return 0

    @property
    def size_bytes(self) -> int:
        """What it reads and writes at least."""
        every = self.described.arguments | self.described.attribute_arguments
        return sum(tensor.elements * SIZES[tensor.data_type] for tensor in every.values())


@dataclass(frozen=True)
class Time:
    """How long a step of a network took."""

    step: Step
    elapsed_ns: int


@dataclass
class Weights:
    """Arrays in the layouts that primitives want; networks can share them."""

    made: dict[tuple[int, Descriptor], Memory] = field(default_factory=dict)
    keeps: list[Any] = field(default_factory=list)

    def memory(self, stream: Stream, array: Any, wanted: Descriptor) -> Memory:
        """The memory of an array in a layout, made once for each array and layout."""
        key = (id(array), wanted)
        if key not in self.made:
            self.keeps.append(array)  # or another array could get its number
            self.made[key] = memory_of(stream, array, wanted)
        return self.made[key]


class Steps:
    """Primitives on a stream of their own; `Network` is this with a method for each layer.

    `sharing` is a network whose stream and weights are to be used, too.
    """

    def __init__(self, engine: Engine, *, sharing: Steps | None = None) -> None:
        require(sharing is None or sharing.engine is engine, "networks that share have one engine")
        self.engine: Engine = engine
        self.steps: list[Step] = []
        self.inputs: dict[str, Memory] = {}
        self.stream: Stream = sharing.stream if sharing else _profiled(engine)
        self._weights: Weights = sharing._weights if sharing else Weights()
        self._passed: set[str] = set()
        self._times: list[int] = []

    # --- Describing -------------------------------------------------------------------------------

    def input(self, name: str, dims: tuple[int, ...], data_type: str = "f32") -> Memory:
        """A tensor that is passed to `run` under its name."""
        require(name not in self.inputs, f"there is an input {name!r} already")
        self.inputs[name] = Memory(self.engine, Descriptor.plain(dims, data_type))
        return self.inputs[name]

    def add(self, name: str, described: PrimitiveDescriptor, tensors: Mapping[int, Any]) -> Memory:
        """Appends a primitive; returns the memory of its result.

        Memory among the tensors is that of inputs or other steps, arrays are weights. Both are
        brought into the layout that the primitive wants: memory by a step of its own, weights once.
        """
        known = described.arguments | described.attribute_arguments
        for arg in tensors:
            require(arg in known, f"{name}: {described.kind.name} has no argument {arg}")
        memories, weights = {}, {}
        for arg, thing in tensors.items():
            if isinstance(thing, Memory):
                memories[arg] = self._in_layout(name, thing, known[arg])
            else:
                weights[arg] = thing
        for arg in described.outputs - set(memories):
            memories[arg] = Memory(self.engine, described.arguments[arg])
        self.steps.append(Step(name, described, memories, weights))
        return memories[Arg.DST]

    def _in_layout(self, name: str, memory: Memory, wanted: Descriptor) -> Memory:
        if memory.descriptor.same_as(wanted):
            return memory
        reorder = create("reorder", memory.descriptor, self.engine, wanted, self.engine)
        return self.add(f"{name} reorder", reorder, {Arg.SRC: memory})

    # --- Running ----------------------------------------------------------------------------------

    def prepare(self, progress: Callable[[int], None] | None = None) -> None:
        """Compiles kernels and lays out weights; `progress` is told the number of steps done."""
        for place, step in enumerate(self.steps):
            if step.primitive is None:
                known = step.described.arguments | step.described.attribute_arguments
                for arg, array in step.weights.items():
                    wanted = known[arg]
                    step.memories[arg] = self._weights.memory(self.stream, array, wanted)
                step.primitive = Primitive(step.described)
            if progress is not None:
                progress(place + 1)

    def run(self, **arrays: Any) -> None:
        """Executes all steps and waits for them; inputs that are not passed stay as they are."""
        for name, array in arrays.items():
            self._pass(name, array)
        missing = self.inputs.keys() - self._passed
        require(not missing, f"these inputs were never passed: {', '.join(sorted(missing))}")
        self.prepare()
        self.stream.reset_times()
        for step in self.steps:
            assert step.primitive is not None
            step.primitive.execute(self.stream, step.memories)
        self.stream.wait()
        self._times = self.stream.times_ns()

    def _pass(self, name: str, array: Any) -> None:
        if name not in self.inputs:
            invalid(f"there is no input {name!r}; there are {', '.join(self.inputs) or 'none'}")
        fill(self.inputs[name], self.stream, array)
        self._passed.add(name)

    def array(self, memory: Memory) -> numpy.ndarray[Any, Any]:
        """The elements of a result as a NumPy array."""
        return array_of(self.stream, memory)

    @property
    def times(self) -> list[Time]:
        """How long each step took in the last run."""
        require(bool(self._times), "the network was not run yet")
        return [Time(*each) for each in zip(self.steps, self._times, strict=True)]


def _profiled(engine: Engine) -> Stream:
    return Stream(engine, StreamFlags.profiling)
