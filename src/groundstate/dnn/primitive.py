"""Primitives: an operation for exact shapes, types and attributes, ready to be executed.

A family is a file in `primitives/` whose classes describe the operation: they check what they are
given, settle layouts that were left open, and make a plan. `@creates` ties a class to the C
function that makes it; `docs/howto/dnn.md` says how to add one.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import Any, ClassVar, TypeVar

from groundstate.dnn import native
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.checks import settled
from groundstate.dnn.descriptor import RUNTIME_DIM, ZERO, Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid, require, support
from groundstate.dnn.execution import Memories, Prepared
from groundstate.dnn.memory import Memory
from groundstate.dnn.plan import Plan
from groundstate.dnn.post_ops import Binary, Prelu
from groundstate.dnn.stream import Stream
from groundstate.dnn.types import (
    Arg,
    DataType,
    FormatKind,
    PrimitiveKind,
    PropKind,
    Query,
    ScratchpadMode,
)

Creator = TypeVar("Creator", bound=Callable[..., "PrimitiveDescriptor"])

CREATORS: dict[str, Callable[..., PrimitiveDescriptor]] = {}
"""What makes the descriptor of a primitive, by the name of its C function."""


def creates(*functions: str) -> Callable[[Creator], Creator]:
    """Ties a class, or a function that returns an object of one, to C functions.

    It is called with their parameters after the first one: `engine`, descriptors (None where C
    passes NULL), attributes (never None), numbers, and sequences for arrays.
    """

    def register(creator: Creator) -> Creator:
        for function in functions:
            CREATORS[function] = creator
        return creator

    return register


@cache
def creators() -> Mapping[str, Callable[..., PrimitiveDescriptor]]:
    """All of them; importing the families is what fills the table."""
    from groundstate.dnn import primitives

    for module in pkgutil.iter_modules(primitives.__path__):
        importlib.import_module(f"{primitives.__name__}.{module.name}")
    return CREATORS


def create(operation: str, *arguments: Any, **named: Any) -> PrimitiveDescriptor:
    """The descriptor of an operation, by its name in C: "eltwise_forward", "matmul"."""
    creator = creators().get(f"dnnl_{operation}_primitive_desc_create")
    if creator is None:
        known = (name.removeprefix("dnnl_").partition("_primitive")[0] for name in creators())
        invalid(f"there is no primitive {operation!r}; there are {', '.join(sorted(set(known)))}")
    return creator(*arguments, **named)


class PrimitiveDescriptor:
    """An operation with its shapes, types, layouts and attributes.

    A family fills `arguments` with the descriptor of each tensor and says which are written.
    """

    kind: ClassVar[PrimitiveKind]
    implementation: str = "groundstate:opencl"

    def __init__(
        self,
        engine: Engine | None,
        attributes: Attributes | None,
        prop_kind: PropKind = PropKind.prop_kind_undef,
    ) -> None:
        if engine is None:
            invalid("an engine is needed")
        self.engine = engine
        self.attributes = Attributes() if attributes is None else attributes.clone()
        self.prop_kind = prop_kind
        self.arguments: dict[int, Descriptor] = {}
        """What is passed at execution, by `Arg`; without the attributes' own tensors."""
        self.outputs: set[int] = set()
        """Which of the arguments are written."""
        self.parameters: dict[Query, object] = {}
        """What else can be asked for: epsilon, strides, the algorithm..."""
        self.hint: PrimitiveDescriptor | None = None

    # --- What a family defines --------------------------------------------------------------------

    def make_plan(self) -> Plan:
        """The launches that do the work."""
        raise TypeError(f"{type(self).__name__} does not say how it is executed")

    # --- What it can use --------------------------------------------------------------------------

    def with_sizes(self, tensors: Mapping[int, Descriptor]) -> PrimitiveDescriptor:
        """The same operation for tensors without open sizes; by families that allow them."""
        raise TypeError(f"{type(self).__name__} does not say what it becomes with other tensors")

    @property
    def is_open(self) -> bool:
        """True if sizes or strides of its tensors are known only at execution."""
        return any(tensor.has_runtime for tensor in self.arguments.values())

    @cached_property
    def plan(self) -> Plan:
        """The launches, made when they are first needed; none while sizes are open."""
        return Plan() if self.is_open else self.make_plan()

    @property
    def attributes_with_sizes(self) -> Attributes:
        """The attributes, for `with_sizes`: nobody can bring a scratchpad of unknown size."""
        attributes = self.attributes.clone()
        attributes.set_scratchpad(ScratchpadMode.library)
        return attributes

    @property
    def is_forward(self) -> bool:
        """True unless this is a derivative."""
        return self.prop_kind in (
            PropKind.forward_training,
            PropKind.forward_inference,
        )

    def add_input(self, arg: int, descriptor: Descriptor | None) -> None:
        """Declares a tensor that is read; nothing if there is none."""
        if descriptor is not None and not descriptor.is_zero:
            self.arguments[arg] = descriptor

    def add_output(self, arg: int, descriptor: Descriptor | None) -> None:
        """Declares a tensor that is written; nothing if there is none."""
        if descriptor is not None and not descriptor.is_zero:
            self.arguments[arg] = descriptor
            self.outputs.add(arg)

    def add_gradient(
        self, arg: int, data: Descriptor, above: Descriptor, below: Descriptor
    ) -> Descriptor:
        """Declares what a derivative is made of and the derivative; layouts left open are alike.

        Returns the data, in their layout.
        """
        data = settled(data, above)
        self.add_input(arg, data)
        self.add_input(Arg.DIFF_DST, settled(above, data))
        self.add_output(Arg.DIFF_SRC, settled(below, data))
        return data

    def settle_post_ops(self, target: Descriptor) -> None:
        """Checks the tensors of post-operations, and gives those in `any` layout one."""
        steps = self.attributes.post_ops.steps
        for place, step in enumerate(steps):
            if isinstance(step, Binary):
                require(
                    step.source.ndims == target.ndims
                    and all(
                        size in (1, whole) or whole == RUNTIME_DIM
                        for size, whole in zip(step.source.dims, target.dims, strict=True)
                    ),
                    f"a tensor of {step.source.dims} cannot be broadcast to {target.dims}",
                )
                steps[place] = replace(step, source=_settled(step.source, target))

    @cached_property
    def attribute_arguments(self) -> dict[int, Descriptor]:
        """The tensors that attributes bring with them."""
        found = _quantization_arguments(self)
        target = self._target
        for place, step in enumerate(self.attributes.post_ops):
            base = Arg.ATTR_MULTIPLE_POST_OP_BASE * (place + 1)
            if isinstance(step, Binary):
                found[base | Arg.SRC_1] = step.source
                if step.condition is not None:
                    found[base | Arg.SRC_2] = step.condition
            elif isinstance(step, Prelu):
                found[base | Arg.WEIGHTS] = prelu_weights(target, step.mask)
        return found

    def quantized(self, arg: int) -> Descriptor:
        """The tensor that the scales or zero points of an argument are for."""
        return self.arguments.get(arg, ZERO)

    @property
    def _target(self) -> Descriptor:
        return self.arguments.get(Arg.DST, ZERO)

    @cached_property
    def scratchpad(self) -> Descriptor:
        """The memory that a caller who brings it has to pass."""
        size = self.plan.scratchpad_bytes
        if size == 0 or self.attributes.scratchpad != ScratchpadMode.user:
            return ZERO
        return Descriptor.plain((size,), DataType.u8)

    # --- Questions --------------------------------------------------------------------------------

    def descriptor(self, what: int, index: int = 0) -> Descriptor | None:
        """The descriptor of a tensor, by the query for it; None if it has none."""
        if what == Query.exec_arg_md:
            if index == Arg.SCRATCHPAD:
                return self.scratchpad
            return self.arguments.get(index) or self.attribute_arguments.get(index) or ZERO
        if what == Query.scratchpad_md:
            return self.scratchpad if index == 0 else None
        first = _FIRST_ARGUMENT.get(what)
        if first is None or index < 0:
            return None
        if what == Query.weights_md or what == Query.diff_weights_md:
            return self.weights(first, index)
        return self.arguments.get(first + index, ZERO)

    def weights(self, first: int, index: int) -> Descriptor:
        """The weights of a number; after the weights themselves comes the bias."""
        ordinary = [arg for arg in range(first, first + 4) if arg in self.arguments]
        bias = Arg.BIAS if first == Arg.WEIGHTS else Arg.DIFF_BIAS
        if index < len(ordinary):
            return self.arguments[ordinary[index]]
        if index == len(ordinary) and bias in self.arguments:
            return self.arguments[bias]
        return ZERO

    def count(self, outputs: bool) -> int:
        """How many tensors are written, or read."""
        used = sum((arg in self.outputs) == outputs for arg in self.arguments)
        return used + (0 if outputs else len(self.attribute_arguments))


_FIRST_ARGUMENT: dict[int, int] = {
    Query.src_md: Arg.SRC,
    Query.diff_src_md: Arg.DIFF_SRC,
    Query.weights_md: Arg.WEIGHTS,
    Query.diff_weights_md: Arg.DIFF_WEIGHTS,
    Query.dst_md: Arg.DST,
    Query.diff_dst_md: Arg.DIFF_DST,
    Query.workspace_md: Arg.WORKSPACE,
}


def _quantization_arguments(described: PrimitiveDescriptor) -> dict[int, Descriptor]:
    """The scales and zero points: the shape of their tensor, where the mask says so, in groups."""
    found: dict[int, Descriptor] = {}
    for base, used in (
        (Arg.ATTR_SCALES, described.attributes.scales),
        (Arg.ATTR_ZERO_POINTS, described.attributes.zero_points),
    ):
        for arg, values in used.items():
            if values.on_host:
                found[base | arg] = Descriptor.host_scalar(values.data_type)
                continue
            tensor = described.quantized(arg)
            groups = (*(1,) * (tensor.ndims - len(values.groups)), *values.groups)
            dims = [
                -(-size // group) if values.mask >> dim & 1 else 1
                for dim, (size, group) in enumerate(zip(tensor.dims, groups, strict=True))
            ]
            found[base | arg] = Descriptor.plain(dims or (1,), values.data_type)
    return found


def _settled(tensor: Descriptor, target: Descriptor) -> Descriptor:
    if tensor.kind != FormatKind.any:
        return tensor
    alone = sum(size != 1 for size in tensor.dims) <= 1
    return tensor.dense() if alone else tensor.like(target)


def prelu_weights(target: Descriptor, mask: int) -> Descriptor:
    """The weights of a PReLU after another operation: dense, channels innermost."""
    dims = [size if mask >> dim & 1 else 1 for dim, size in enumerate(target.dims)]
    tags = ("a", "ab", "acb", "acdb", "acdeb")
    support(len(dims) <= len(tags), "PReLU is for at most 5 dimensions")
    return Descriptor.tagged(dims, DataType.f32, tags[len(dims) - 1])


class Primitive:
    """An operation that is ready to be executed."""

    def __init__(self, descriptor: PrimitiveDescriptor) -> None:
        self.descriptor = descriptor
        self.engine = descriptor.engine
        plan = descriptor.plan
        scratchpad = None
        if plan.scratchpad_bytes and descriptor.attributes.scratchpad == ScratchpadMode.library:
            room = Descriptor.plain((plan.scratchpad_bytes,), DataType.u8)
            scratchpad = Memory(self.engine, room)
        passed = list(descriptor.arguments) + list(descriptor.attribute_arguments)
        self.prepared = Prepared(self.engine, plan, passed, scratchpad)
        self._of_sizes: dict[tuple[Descriptor, ...], Primitive] = {}
        """What was made for sizes that were open; lists may refer to it as long as this lives."""
        if descriptor.is_open:
            native.library().gs_primitive_leave_open(self.prepared.native)

    def execute(
        self,
        stream: Stream,
        memories: Memories,
        *,
        wait_for: Sequence[int] = (),
        want_event: bool = False,
    ) -> int:
        """Executes it on a stream, with the memory of each argument.

        `wait_for` are handles of events. With `want_event` the handle of an event is returned that
        is signalled at the end and lives as long as the stream; 0 if the stream is in order.
        """
        require(stream.engine is self.engine, "the stream is one of another engine")
        if self.descriptor.is_open:
            known = self._with_sizes_of(memories)
            return known.execute(stream, memories, wait_for=wait_for, want_event=want_event)
        return self.prepared.execute(stream, memories, wait_for, want_event)

    def _with_sizes_of(self, memories: Memories) -> Primitive:
        """The primitive for the sizes of the tensors that are passed."""
        tensors: dict[int, Descriptor] = {}
        for arg, declared in self.descriptor.arguments.items():
            memory = memories.get(arg)
            if memory is None:
                invalid(f"argument {arg} is missing")
            fits = memory.descriptor.fits(declared)
            require(fits, f"argument {arg} is not one that the primitive was made for")
            tensors[arg] = memory.descriptor
        key = tuple(tensors.values())
        if key not in self._of_sizes:
            self._of_sizes[key] = Primitive(self.descriptor.with_sizes(tensors))
        return self._of_sizes[key]

    def close(self) -> None:
        """Lets go of the kernels and of the memory for intermediate results."""
        for made in self._of_sizes.values():
            made.close()
        self.prepared.close()
        if self.prepared.scratchpad is not None:
            self.prepared.scratchpad.close()


def checked_types(
    known: Collection[DataType], *tensors: Descriptor, may_be_open: bool = False
) -> None:
    """Unimplemented if the elements of a tensor are of a type that a family does not know."""
    for tensor in tensors:
        is_sized = may_be_open or not tensor.has_runtime
        support(
            tensor.data_type in known and is_sized and tensor.sparse is None,
            f"this primitive is not for {tensor.data_type.name} tensors of kind {tensor.kind.name}",
        )
