"""Arrays of NumPy in the memory of an engine, in any layout."""

from __future__ import annotations

import numpy as np

from groundstate import dnn
from groundstate.dnn import Descriptor

TYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "s32": np.int32,
    "s8": np.int8,
    "u8": np.uint8,
}


def described(dims: tuple[int, ...], kind: str = "f32", tag: str = "") -> Descriptor:
    """A descriptor by the name of its layout; dense without one."""
    return Descriptor.tagged(dims, kind, tag) if tag else Descriptor.plain(dims, kind)


def numbers(dims: tuple[int, ...], kind: str = "f32", seed: int = 1) -> np.ndarray:
    """Numbers to compute with: small, so that nothing overflows."""
    generator = np.random.default_rng(seed)
    if kind in ("s8", "u8", "s32"):
        return generator.integers(0 if kind == "u8" else -9, 10, dims).astype(TYPES[kind])
    return generator.uniform(-1, 1, dims).astype(TYPES[kind])


def places(descriptor: Descriptor) -> np.ndarray:
    """Where each element lies, in C order of the elements."""
    indices = np.indices(descriptor.dims).reshape(descriptor.ndims, -1)
    found = np.full(indices.shape[1], descriptor.offset)
    for dim, block in enumerate(descriptor.blocks):
        found += indices[dim] // block * descriptor.strides[dim]
    step, below = 1, [1] * descriptor.ndims
    for size, dim in reversed(descriptor.inner_blocks):
        found += indices[dim] // below[dim] % size * step
        below[dim] *= size
        step *= size
    return found


def to_memory(stream: dnn.Stream, descriptor: Descriptor, values: np.ndarray) -> dnn.Memory:
    """Memory that holds an array in a layout."""
    data = np.zeros(descriptor.size_bytes() // values.itemsize, values.dtype)
    data[places(descriptor)] = values.reshape(-1)
    memory = dnn.Memory(stream.engine, descriptor)
    memory.write(stream, data.tobytes())
    return memory


def to_array(stream: dnn.Stream, memory: dnn.Memory) -> np.ndarray:
    """The elements of memory, whatever their layout."""
    descriptor = memory.descriptor
    data = np.frombuffer(memory.read(stream), TYPES[descriptor.data_type.name])
    return data[places(descriptor)].reshape(descriptor.dims)


def run(
    stream: dnn.Stream, descriptor: dnn.PrimitiveDescriptor, inputs: dict[int, np.ndarray]
) -> dict[int, np.ndarray]:
    """Executes a primitive; the arrays of what it writes."""
    known = descriptor.arguments | descriptor.attribute_arguments
    memories = {
        arg: to_memory(
            stream, known.get(arg) or Descriptor.plain(values.shape, _kind(values)), values
        )
        for arg, values in inputs.items()
    }
    for arg in descriptor.outputs - set(memories):
        memories[arg] = dnn.Memory(stream.engine, descriptor.arguments[arg])
    dnn.Primitive(descriptor).execute(stream, memories)
    stream.wait()
    return {arg: to_array(stream, memories[arg]) for arg in descriptor.outputs}


def _kind(values: np.ndarray) -> str:
    return next(name for name, kind in TYPES.items() if values.dtype == kind)
