"""Arrays of other libraries as memory of an engine, and memory as NumPy arrays.

NumPy arrays, whatever speaks DLPack, and memory of `groundstate` itself are used where they are if
the device can, and copied if it cannot. Where a primitive wants another layout or type, a reorder
makes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from groundstate import core
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.errors import invalid, require
from groundstate.dnn.memory import HostScalar, Memory
from groundstate.dnn.primitive import Primitive, PrimitiveDescriptor
from groundstate.dnn.types import Arg, DataType, FormatKind

if TYPE_CHECKING:
    import numpy

    from groundstate.dnn.stream import Stream

TYPES = {
    "float32": DataType.f32,
    "float64": DataType.f64,
    "float16": DataType.f16,
    "bfloat16": DataType.bf16,
    "int32": DataType.s32,
    "int8": DataType.s8,
    "uint8": DataType.u8,
    "int64": DataType.s64,
}
"""Types of elements, by their names in NumPy."""

_NAMES = {kind: name for name, kind in TYPES.items()}


def descriptor_of(thing: Any) -> Descriptor:
    """The descriptor of an array, of `groundstate` memory or of memory of an engine.

    >>> import numpy
    >>> descriptor_of(numpy.zeros((2, 3), "float32")).strides
    (3, 1)
    """
    if isinstance(thing, Memory):
        return thing.descriptor
    if isinstance(thing, core.Memory):
        return Descriptor.plain(thing.shape or (1,), _type_named(thing.dtype.name))
    array = _as_array(thing)
    kind = _type_named(str(array.dtype))
    strides = tuple(step // array.itemsize for step in array.strides)
    usable = array.size and all(step >= 0 for step in array.strides)
    if not usable or any(step % array.itemsize for step in array.strides):
        return Descriptor.plain(array.shape or (1,), kind)
    return Descriptor.plain(array.shape or (1,), kind, strides or (1,))


def _type_named(name: str) -> DataType:
    if name not in TYPES:
        invalid(f"tensors cannot have elements of type {name}; there are {', '.join(TYPES)}")
    return TYPES[name]


def _as_array(thing: Any) -> numpy.ndarray[Any, Any]:
    import numpy

    if isinstance(thing, numpy.ndarray):
        return thing
    if hasattr(thing, "__dlpack__"):
        return numpy.from_dlpack(thing)
    return numpy.asarray(thing)


def memory_of(stream: Stream, thing: Any, wanted: Descriptor | None = None) -> Memory:
    """Memory with the elements of an array, in the layout that is wanted.

    Memory that is used where it is stays the caller's and is kept alive by the result.
    """
    found = thing if isinstance(thing, Memory) else _in_place(stream, thing)
    require(found.engine is stream.engine, "the memory is one of another engine")
    if wanted is None or wanted.is_any or found.descriptor.same_as(wanted):
        return found
    if found.descriptor.dims != wanted.dims:
        require(
            found.descriptor.elements == wanted.elements,
            f"an array of {found.descriptor.dims} is passed for a tensor of {wanted.dims}",
        )
        found = Memory.view(found, found.descriptor.reshaped(wanted.dims))
    return reordered(stream, found, wanted)


def _in_place(stream: Stream, thing: Any) -> Memory:
    engine, described = stream.engine, descriptor_of(thing)
    if isinstance(thing, core.Memory):
        return Memory(engine, described, [thing.address], keeps=thing)
    array = _as_array(thing)
    lies_so = described.elements == 0 or all(
        step == stride * array.itemsize
        for step, stride, size in zip(array.strides, described.strides, array.shape, strict=False)
        if size > 1
    )
    if engine.uses_system_memory and array.size and lies_so:
        return Memory(engine, described, [array.ctypes.data], keeps=array)
    memory = Memory(engine, described.dense())
    memory.write(stream, array.tobytes())
    return memory


def reordered(stream: Stream, source: Memory, wanted: Descriptor) -> Memory:
    """New memory with the same elements in another layout or type."""
    from groundstate.dnn.primitives.reorder import Reorder

    target = Memory(stream.engine, wanted)
    described = Reorder(source.descriptor, stream.engine, wanted, stream.engine)
    Primitive(described).execute(stream, {Arg.SRC: source, Arg.DST: target})
    stream.wait()
    return target


def array_of(stream: Stream, memory: Memory) -> numpy.ndarray[Any, Any]:
    """The elements as a NumPy array; bfloat16 becomes float32, which NumPy knows."""
    import numpy

    described = memory.descriptor
    kind = DataType.f32 if described.data_type == DataType.bf16 else described.data_type
    plain = Descriptor.plain(described.dims, kind)
    stream.wait()
    if not described.same_as(plain):
        memory = reordered(stream, memory, plain)
    data = numpy.frombuffer(memory.read(stream), _NAMES[kind])
    return data[: described.elements].reshape(described.dims)


def scalar_of(value: Any, described: Descriptor) -> HostScalar:
    """A number as a value of the host."""
    import numpy

    number = numpy.array(value, _NAMES[described.data_type])
    return HostScalar(described, number.tobytes())


def run(
    described: PrimitiveDescriptor, stream: Stream, arrays: Mapping[int, Any]
) -> dict[int, numpy.ndarray[Any, Any]]:
    """Executes an operation on arrays; returns those that it writes, by their `Arg`.

    >>> import numpy, groundstate.dnn as dnn
    >>> engine = dnn.Engine.create()
    >>> ones = numpy.ones((2, 3), "float32")
    >>> shape = dnn.descriptor_of(ones)
    >>> added = dnn.create("binary", engine, dnn.Algorithm.binary_add, shape, shape, shape)
    >>> with dnn.Stream(engine) as stream:
    ...     found = dnn.run(added, stream, {dnn.Arg.SRC_0: ones, dnn.Arg.SRC_1: ones})
    >>> found[dnn.Arg.DST].tolist()
    [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]
    """
    known = described.arguments | described.attribute_arguments
    memories: dict[int, Memory | HostScalar] = {}
    for arg, thing in arrays.items():
        wanted = known.get(arg)
        if wanted is not None and wanted.kind == FormatKind.host_scalar:
            memories[arg] = scalar_of(thing, wanted)
        else:
            memories[arg] = memory_of(stream, thing, wanted)
    for arg in described.outputs - set(memories):
        memories[arg] = Memory(stream.engine, described.arguments[arg])
    Primitive(described).execute(stream, memories)
    outputs = {arg: memories[arg] for arg in sorted(described.outputs)}
    return {
        arg: array_of(stream, memory)
        for arg, memory in outputs.items()
        if isinstance(memory, Memory)
    }


def fill(memory: Memory, stream: Stream, thing: Any) -> None:
    """Copies the elements of an array to memory, in its layout."""
    from groundstate.dnn.primitives.reorder import Reorder

    source = memory_of(stream, thing)
    target = memory.descriptor
    if target.is_dense and target.elements and source.descriptor.same_as(target):
        stream.copy(memory.get_handle(), source.get_handle(), target.size_bytes())
        stream.wait()
        return
    described = Reorder(source.descriptor, stream.engine, target, stream.engine)
    Primitive(described).execute(stream, {Arg.SRC: source, Arg.DST: memory})
    stream.wait()
