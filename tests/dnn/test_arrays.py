"""Arrays of NumPy, DLPack and `groundstate` as memory of an engine."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import groundstate as gs
from groundstate import dnn
from groundstate.dnn import Algorithm, Arg, Descriptor, DnnError, PropKind


@pytest.fixture
def context() -> Iterator[gs.Context]:
    with gs.Context(gs.devices()[0]) as made:
        yield made


@pytest.fixture
def stream(context: gs.Context) -> Iterator[dnn.Stream]:
    with dnn.Stream(dnn.Engine.of(context)) as made:
        yield made


class Capsule:
    """Something that speaks DLPack and nothing else."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __dlpack__(self, **options: object) -> object:
        return self._array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def _squared(stream: dnn.Stream, shape: Descriptor, thing: object) -> np.ndarray:
    forward, square = PropKind.forward_inference, Algorithm.eltwise_square
    made = dnn.create("eltwise_forward", stream.engine, forward, square, shape, shape)
    return dnn.run(made, stream, {Arg.SRC: thing})[Arg.DST]


def test_arrays_of_every_kind(stream: dnn.Stream, context: gs.Context) -> None:
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    memory = context.alloc_shared(values.shape, "float32")
    memory.numpy()[:] = values
    shape = Descriptor.plain(values.shape)
    for thing in (values, values[:, ::-1, :][:, ::-1, :], Capsule(values), memory, values.tolist()):
        source = np.asarray(thing, np.float32) if isinstance(thing, list) else thing
        np.testing.assert_array_equal(_squared(stream, shape, source), values**2)


def test_strided_arrays_are_used_as_they_lie(stream: dnn.Stream) -> None:
    values = np.arange(48, dtype=np.float32).reshape(4, 12)[:, ::2].T
    described = dnn.descriptor_of(values)
    assert described.strides == (2, 12)
    np.testing.assert_array_equal(_squared(stream, described, values), values**2)


def test_other_layouts_and_types_are_made(stream: dnn.Stream) -> None:
    values = np.arange(2 * 20 * 9, dtype=np.float32).reshape(2, 20, 3, 3) / 8
    blocked = Descriptor.tagged(values.shape, "f32", "nChw16c")
    np.testing.assert_array_equal(_squared(stream, blocked, values), values**2)
    narrow = Descriptor.plain(values.shape, "bf16")
    memory = dnn.memory_of(stream, values, narrow)
    assert memory.descriptor.data_type == dnn.DataType.bf16
    found = dnn.array_of(stream, memory)
    np.testing.assert_allclose(found, values, rtol=2**-8)


def test_what_does_not_fit_is_refused(stream: dnn.Stream) -> None:
    with pytest.raises(DnnError, match="is passed for a tensor of"):
        _squared(stream, Descriptor.plain((5,)), np.zeros(4, np.float32))
    with pytest.raises(DnnError, match="complex64"):
        dnn.descriptor_of(np.zeros(4, np.complex64))


def test_closed_objects_say_so(stream: dnn.Stream) -> None:
    shape = Descriptor.plain((4,))
    memory = dnn.Memory(stream.engine, shape)
    with memory:
        assert memory.get_handle()
    other = dnn.Stream(stream.engine)
    primitive = dnn.Primitive(
        dnn.create("binary", stream.engine, Algorithm.binary_add, shape, shape, shape)
    )
    for thing in (memory, other, primitive):
        thing.close()
        thing.close()
    for use in (
        memory.get_handle,
        other.wait,
        lambda: primitive.execute(stream, {}),
        lambda: memory.read(stream),
    ):
        with pytest.raises(gs.errors.ClosedError):
            use()
