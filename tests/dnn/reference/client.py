"""A client of oneDNN's C functions, whoever offers them: a shared library or a Python module."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.dnn.reference import facts
from tests.dnn.reference.layouts import Dims, Place, ask
from tests.dnn.reference.numbers import Array
from tests.dnn.reference.problem import Attributes, PostOp, Problem, Quantization, Step, Tensor

POINTERS = ("dnnl_primitive_desc_query_md",)
SIZES = ("dnnl_memory_desc_get_size", "dnnl_engine_get_count", "dnnl_data_type_size")
LAST_ERROR = "groundstate_dnnl_last_error"  # ours alone has it


class ExecArg(ctypes.Structure):
    """`dnnl_exec_arg_t`."""

    _fields_ = [("arg", ctypes.c_int), ("memory", ctypes.c_void_p)]


def shared_library(path: str) -> Any:
    """The functions of a shared library."""
    functions = ctypes.CDLL(path)
    for name in POINTERS:
        getattr(functions, name).restype = ctypes.c_void_p
    for name in SIZES:
        getattr(functions, name).restype = ctypes.c_size_t
    if hasattr(functions, LAST_ERROR):
        getattr(functions, LAST_ERROR).restype = ctypes.c_char_p
    return functions


class Refused(Exception):  # noqa: N818 - an answer of the library, not an error of ours
    """A call answered something else than success."""

    def __init__(self, status: int, call: str) -> None:
        super().__init__(f"{call}: {facts.STATUS_NAMES.get(status, status)}")
        self.status = status
        self.call = call


@dataclass
class Outcome:
    """What became of a problem."""

    status: int = facts.SUCCESS
    call: str = ""
    reason: str = ""
    outputs: dict[str, Array] = field(default_factory=dict)
    outside: tuple[str, ...] = ()  # tensors between whose elements something was written


class Session:
    """An engine and a stream of a library, and what is done with them."""

    def __init__(self, functions: Any, kind: str) -> None:
        self.functions = functions
        self.engine = self.create(
            "dnnl_engine_create", ctypes.c_int(facts.ENGINE_KINDS[kind]), ctypes.c_size_t(0)
        )
        self.stream = self.create("dnnl_stream_create", self.engine, ctypes.c_uint(1))

    def close(self) -> None:
        self.functions.dnnl_stream_destroy(self.stream)
        self.functions.dnnl_engine_destroy(self.engine)

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function that answers a status."""
        status = getattr(self.functions, name)(*arguments)
        if status != facts.SUCCESS:
            raise Refused(int(status), name)

    def create(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        """Calls a function whose first argument is where a new handle goes."""
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle

    def run(self, problem: Problem) -> Outcome:
        """Solves a problem, as far as the library does."""
        run = Run(self, problem)
        try:
            return run.all_steps()
        except Refused as refusal:
            return Outcome(refusal.status, refusal.call, self.last_error())
        finally:
            run.close()

    def last_error(self) -> str:
        """The library's sentence about the last failure, if it has a call for that."""
        ask_for_it = getattr(self.functions, LAST_ERROR, None)
        if ask_for_it is None:
            return ""
        text = ask_for_it()
        return text.decode() if isinstance(text, bytes) else str(text or "")


@dataclass
class Kept:
    """A memory object with what is in it."""

    handle: ctypes.c_void_p
    place: Place | None
    size: int


class Run:
    """One problem on the way: what was made for it is destroyed at the end."""

    def __init__(self, session: Session, problem: Problem) -> None:
        self.session = session
        self.functions = session.functions
        self.problem = problem
        self.made: list[tuple[str, ctypes.c_void_p]] = []
        self.values: dict[str, Array] = {}
        self.first: ctypes.c_void_p | None = None
        self.workspace: Kept | None = None
        self.outside: list[str] = []

    def close(self) -> None:
        for destroy, handle in reversed(self.made):
            getattr(self.functions, destroy)(handle)

    def make(self, destroy: str, create: str, *arguments: Any) -> ctypes.c_void_p:
        handle = self.session.create(create, *arguments)
        self.made.append((destroy, handle))
        return handle

    def all_steps(self) -> Outcome:
        outputs: dict[str, Array] = {}
        for step in self.problem.steps:
            attributes = self.attributes() if step.takes_attributes else None
            descriptor = self.make(
                "dnnl_primitive_desc_destroy", step.call, *self.arguments(step, attributes)
            )
            self.first = self.first or descriptor
            if step.execute:
                results = self.execute(step, descriptor)
                self.values.update(results)
                outputs.update(results)
        return Outcome(outputs=outputs, outside=tuple(self.outside))

    # --- What a call gets ---------------------------------------------------------------------

    def arguments(self, step: Step, attributes: ctypes.c_void_p | None) -> list[Any]:
        return [self.argument(argument, attributes) for argument in step.arguments]

    def argument(self, argument: Any, attributes: ctypes.c_void_p | None) -> Any:
        named: dict[str, Any] = {
            "engine": self.session.engine,
            "attr": attributes,
            "hint": self.first,
            "null": None,
        }
        if isinstance(argument, str):
            return named[argument]
        kind, value = argument
        makers: dict[str, Callable[[Any], Any]] = {
            "md": lambda name: self.descriptor(self.problem.tensors[name]),
            "mds": self.descriptors,
            "int": ctypes.c_int,
            "flags": ctypes.c_uint,
            "dim": ctypes.c_int64,
            "float": ctypes.c_float,
            "floats": lambda values: (ctypes.c_float * len(values))(*values),
            "dims": lambda values: Dims(*values),
            "type": lambda dtype: ctypes.c_int(facts.DATA_TYPES[dtype]),
        }
        return makers[kind](value)

    def descriptors(self, names: list[str]) -> Any:
        handles = [self.descriptor(self.problem.tensors[name]) for name in names]
        return (ctypes.c_void_p * len(handles))(*[handle.value for handle in handles])

    def descriptor(self, tensor: Tensor, executed: bool = False) -> ctypes.c_void_p:
        """The descriptor of a tensor; sizes may be open until it is executed."""
        hidden = frozenset() if executed else tensor.open
        dims = [facts.RUNTIME_DIM if at in hidden else n for at, n in enumerate(tensor.dims)]
        start = (
            ctypes.c_int(len(tensor.dims)),
            Dims(*dims),
            ctypes.c_int(facts.DATA_TYPES[tensor.dtype]),
        )
        destroy, layout = "dnnl_memory_desc_destroy", tensor.layout
        if layout.kind in ("any", "tag"):
            tag = facts.TAG_ANY if layout.kind == "any" else facts.BLOCKED_TAGS[layout.tag]
            create = "dnnl_memory_desc_create_with_tag"
            return self.make(destroy, create, *start, ctypes.c_int(tag))
        steps = layout.strides(tensor.dims)
        strides = Dims(*(facts.RUNTIME_DIM if hidden and step > 1 else step for step in steps))
        return self.make(destroy, "dnnl_memory_desc_create_with_strides", *start, strides)

    def attributes(self) -> ctypes.c_void_p | None:
        wanted = self.problem.attributes
        if wanted.is_default:
            return None
        handle = self.make("dnnl_primitive_attr_destroy", "dnnl_primitive_attr_create")
        setters = (("scales", wanted.scales), ("zero_points", wanted.zero_points))
        for name, quantizations in setters:
            for one in quantizations:
                number = ctypes.c_int(facts.argument(one.argument))
                call = f"dnnl_primitive_attr_set_{name}_mask"
                self.session.call(call, handle, number, ctypes.c_int(one.mask))
        self.modes(handle, wanted)
        if wanted.post_ops:
            post_ops = self.post_ops(wanted.post_ops)
            self.session.call("dnnl_primitive_attr_set_post_ops", handle, post_ops)
        return handle

    def modes(self, handle: ctypes.c_void_p, wanted: Attributes) -> None:
        prefix = "dnnl_primitive_attr_set_"
        if wanted.fpmath != "strict":
            mode = ctypes.c_int(facts.FPMATH[wanted.fpmath])
            self.session.call(prefix + "fpmath_mode", handle, mode)
        if wanted.user_scratchpad:
            mode = ctypes.c_int(facts.SCRATCHPAD_USER)
            self.session.call(prefix + "scratchpad_mode", handle, mode)
        if wanted.deterministic:
            self.session.call(prefix + "deterministic", handle, ctypes.c_int(1))

    def post_ops(self, wanted: tuple[PostOp, ...]) -> ctypes.c_void_p:
        handle = self.make("dnnl_post_ops_destroy", "dnnl_post_ops_create")
        for one in wanted:
            self.session.call(
                f"dnnl_post_ops_append_{one.kind}", handle, *self.post_op_arguments(one)
            )
        return handle

    def post_op_arguments(self, one: PostOp) -> tuple[Any, ...]:
        if one.kind == "sum":
            dtype = ctypes.c_int(facts.DATA_TYPES[one.dtype])
            return ctypes.c_float(one.alpha), ctypes.c_int32(one.zero_point), dtype
        if one.kind == "eltwise":
            number = ctypes.c_int(facts.ELTWISE[one.algorithm])
            return number, ctypes.c_float(one.alpha), ctypes.c_float(one.beta)
        if one.kind == "prelu":
            return (ctypes.c_int(one.mask),)
        assert one.tensor is not None
        return ctypes.c_int(facts.BINARY[one.algorithm]), self.descriptor(one.tensor)

    # --- Memory -------------------------------------------------------------------------------

    def memory(self, descriptor: int | None, values: Array | None = None) -> Kept:
        """A memory object of a descriptor, holding these values."""
        place = ask(self.functions, descriptor) if descriptor else None
        size = int(self.functions.dnnl_memory_desc_get_size(ctypes.c_void_p(descriptor)))
        where = ctypes.c_void_p(facts.MEMORY_ALLOCATE)
        handle = self.make(
            "dnnl_memory_destroy",
            "dnnl_memory_create",
            ctypes.c_void_p(descriptor),
            self.session.engine,
            where,
        )
        kept = Kept(handle, place, size)
        if place is not None and size:
            self.write(kept, place.pack(values))
        return kept

    def write(self, kept: Kept, raw: Any) -> None:
        address = ctypes.c_void_p()
        self.session.call("dnnl_memory_map_data", kept.handle, ctypes.byref(address))
        ctypes.memmove(address.value or 0, raw.ctypes.data, kept.size)
        self.session.call("dnnl_memory_unmap_data", kept.handle, address)

    def read(self, kept: Kept) -> Any:
        raw = np.zeros(kept.size, dtype=np.uint8)
        if kept.size:
            address = ctypes.c_void_p()
            self.session.call("dnnl_memory_map_data", kept.handle, ctypes.byref(address))
            ctypes.memmove(raw.ctypes.data, address.value or 0, kept.size)
            self.session.call("dnnl_memory_unmap_data", kept.handle, address)
        return raw

    # --- Execution ----------------------------------------------------------------------------

    def execute(self, step: Step, descriptor: ctypes.c_void_p) -> dict[str, Array]:
        primitive = self.make("dnnl_primitive_destroy", "dnnl_primitive_create", descriptor)
        memories: dict[int, Kept] = {}
        for name, tensor in {**step.outputs, **step.inputs}.items():
            number = facts.argument(name)
            values = self.values.get(tensor, self.problem.tensors[tensor].values)
            wanted = self.query(descriptor, facts.QUERY_EXEC_ARG_MD, number)
            if not wanted or self.problem.tensors[tensor].open:
                wanted = self.descriptor(self.problem.tensors[tensor], executed=True).value
            memories[number] = self.memory(wanted, values)
        for output, source in step.in_place.items():
            memories[facts.argument(output)] = memories[facts.argument(source)]
        memories.update(self.extras(step, descriptor))
        pairs = (ExecArg * len(memories))(
            *[(number, kept.handle.value) for number, kept in memories.items()]
        )
        count = ctypes.c_int(len(memories))
        self.session.call("dnnl_primitive_execute", primitive, self.session.stream, count, pairs)
        self.session.call("dnnl_stream_wait", self.session.stream)
        return {
            tensor: self.result(tensor, memories[facts.argument(name)])
            for name, tensor in step.outputs.items()
        }

    def result(self, name: str, kept: Kept) -> Array:
        raw = self.read(kept)
        assert kept.place is not None, f"{name} has a layout that nobody else can read"
        if kept.place.wrote_outside(raw):
            self.outside.append(name)
        return kept.place.unpack(raw)

    def query(self, descriptor: ctypes.c_void_p, what: int, index: int = 0) -> int | None:
        answer = self.functions.dnnl_primitive_desc_query_md(
            descriptor, ctypes.c_int(what), ctypes.c_int(index)
        )
        value = getattr(answer, "value", answer)
        if not value:
            return None
        ndims = ctypes.c_int()
        self.functions.dnnl_memory_desc_query(
            ctypes.c_void_p(value), ctypes.c_int(facts.QUERY_NDIMS), ctypes.byref(ndims)
        )
        return int(value) if ndims.value else None

    def extras(self, step: Step, descriptor: ctypes.c_void_p) -> dict[int, Kept]:
        """Scratchpad, workspace, scales, zero points and the tensors of post-ops."""
        memories = {}
        attributes = self.problem.attributes if step.takes_attributes else Attributes()
        if attributes.user_scratchpad:
            scratchpad = self.query(descriptor, facts.QUERY_SCRATCHPAD_MD)
            if scratchpad:
                memories[facts.ARGUMENTS["scratchpad"]] = self.memory(scratchpad)
        workspace = self.query(descriptor, facts.QUERY_WORKSPACE_MD)
        if workspace:
            self.workspace = self.workspace or self.memory(workspace)
            memories[facts.ARGUMENTS["workspace"]] = self.workspace
        for base, dtype, quantizations in (
            (facts.ATTR_SCALES, "f32", attributes.scales),
            (facts.ATTR_ZERO_POINTS, "s32", attributes.zero_points),
        ):
            for one in quantizations:
                memories[base + facts.argument(one.argument)] = self.flat(one, dtype)
        for index, post_op in enumerate(attributes.post_ops):
            if post_op.tensor is not None:
                number = facts.ATTR_POST_OP * (index + 1)
                role = "weights" if post_op.kind == "prelu" else "src_1"
                made = self.descriptor(post_op.tensor).value
                memories[number + facts.ARGUMENTS[role]] = self.memory(made, post_op.tensor.values)
        return memories

    def flat(self, quantization: Quantization, dtype: str) -> Kept:
        values = quantization.values.reshape(-1)
        return self.memory(self.descriptor(Tensor(values.shape, dtype)).value, values)
