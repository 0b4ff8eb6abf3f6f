"""Memory: its kinds, its parts, and how NumPy and others see it without a copy."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import groundstate as gs
from groundstate import ze
from groundstate.core import dlpack
from groundstate.core.dtype import _TYPES, dtype

DTYPES = [name for name in _TYPES if name != "bfloat16"]  # which NumPy does not have
HOST_KINDS = ["alloc_host", "alloc_shared"]


def is_allocated(context: gs.Context, address: int) -> bool:
    """Asks the driver whether it knows memory at an address."""
    properties = ze.ze_memory_allocation_properties_t()
    context.api.call(
        "zeMemGetAllocProperties", context.handle, address, ctypes.byref(properties), None
    )
    return bool(properties.type != ze.ZE_MEMORY_TYPE_UNKNOWN)


def test_the_driver_knows_what_was_allocated(ctx: gs.Context, gpu: gs.Device) -> None:
    host, local, shared = ctx.alloc_host(100), ctx.alloc_device(100), ctx.alloc_shared(100)
    assert host.allocation_properties().type == gs.MemoryType.HOST
    assert local.allocation_properties().type == gs.MemoryType.DEVICE
    assert shared.allocation_properties().type == gs.MemoryType.SHARED
    assert local.allocation_properties().device is gpu
    ids = {memory.allocation_properties().id for memory in (host, local, shared)}
    assert len(ids) == 3


def test_alignment_is_honoured(ctx: gs.Context) -> None:
    for alignment in (1, 64, 4096, 65536):
        assert ctx.alloc_host(10, alignment_bytes=alignment).address % alignment == 0


@pytest.mark.parametrize("cached", [True, False])
def test_caching_can_be_asked_for(ctx: gs.Context, cached: bool) -> None:
    assert ctx.alloc_host(10, cached=cached).size_bytes == 10
    assert ctx.alloc_device(10, cached=cached).size_bytes == 10
    assert ctx.alloc_shared(10, cached=cached).size_bytes == 10


@pytest.mark.parametrize("kind", HOST_KINDS)
def test_numpy_sees_the_memory_itself(ctx: gs.Context, kind: str) -> None:
    for name in DTYPES:
        memory: gs.Memory = getattr(ctx, kind)((3, 5), name)
        array = memory.numpy()
        assert array.dtype == np.dtype(name)
        assert array.shape == (3, 5)
        assert array.ctypes.data == memory.address
        array[:] = 1
        array[2, 4] = 0
        assert memory.tobytes() == array.tobytes()
        assert memory.tolist() == array.tolist()


@pytest.mark.parametrize("kind", ["float32", np.float32, np.dtype("float32")])
def test_types_can_be_named_in_many_ways(kind: Any) -> None:
    assert dtype(kind).name == "float32"


def test_unsupported_dtype_or_shape_is_refused(ctx: gs.Context) -> None:
    with pytest.raises(TypeError, match="elements cannot be of type 'U4'"):
        ctx.alloc_host(3, "U4")
    with pytest.raises(ValueError, match="no negative lengths"):
        ctx.alloc_host((3, -1))


def test_asarray_shares_and_array_copies(ctx: gs.Context) -> None:
    memory = ctx.alloc_host(4, "int32")
    memory.numpy()[:] = np.arange(4)
    shared, copied = np.asarray(memory), np.array(memory)
    memory.buffer()[0] = 9
    assert shared.tolist() == [9, 1, 2, 3]
    assert copied.tolist() == [0, 1, 2, 3]
    assert np.asarray(memory, dtype="float64").tolist() == [9.0, 1.0, 2.0, 3.0]


WAYS_TO_SEE: dict[str, Callable[[gs.Memory], Any]] = {
    "numpy": lambda memory: memory.numpy(),
    "asarray": np.asarray,
    "buffer": lambda memory: memory.buffer(),
    "from_dlpack": np.from_dlpack,
    "part": lambda memory: memory[:],
    "view": lambda memory: memory.view("uint8"),
}


@pytest.mark.parametrize("see", WAYS_TO_SEE.values(), ids=WAYS_TO_SEE)
def test_memory_lives_as_long_as_somebody_sees_it(
    ctx: gs.Context, see: Callable[[gs.Memory], Any]
) -> None:
    memory = ctx.alloc_shared(1000, "uint8")
    address = memory.address
    memory.buffer()[:] = bytes(range(250)) * 4
    seen = see(memory)
    memory.close()
    del memory
    gc.collect()
    assert is_allocated(ctx, address)
    assert bytes(seen.tolist()) == bytes(range(250)) * 4
    del seen
    gc.collect()
    assert not is_allocated(ctx, address)


def test_the_host_cannot_see_device_memory(ctx: gs.Context) -> None:
    memory = ctx.alloc_device(16)
    for look in (memory.numpy, memory.buffer, memory.tobytes, memory.tolist):
        with pytest.raises(TypeError, match="the host cannot read device memory"):
            look()


def test_parts_share_the_memory(ctx: gs.Context) -> None:
    memory = ctx.alloc_host((4, 3), "int16")
    memory.numpy()[:] = np.arange(12).reshape(4, 3)
    assert memory[1].tolist() == [3, 4, 5]
    assert memory[-1].tolist() == [9, 10, 11]
    assert memory[1:3].tolist() == [[3, 4, 5], [6, 7, 8]]
    assert memory[1:3][1].address == memory.address + 2 * 3 * 2
    assert memory[5:].shape == (0, 3)
    assert len(memory) == 4
    assert memory.row_bytes == 6
    with pytest.raises(IndexError):
        memory[4]
    with pytest.raises(ValueError, match="no step"):
        memory[::2]


def test_a_view_has_the_same_bytes(ctx: gs.Context) -> None:
    memory = ctx.alloc_host(8)
    memory.buffer()[:] = bytes(range(8))
    assert memory.view("uint16").tolist() == [0x0100, 0x0302, 0x0504, 0x0706]
    assert memory.view("uint8", (2, 4)).shape == (2, 4)
    with pytest.raises(ValueError, match="8 bytes are not"):
        memory.view("uint8", 9)
    with pytest.raises(ValueError, match="7 bytes are not"):
        ctx.alloc_host(7).view("uint16")


def test_memory_of_no_dimensions_has_one_element(ctx: gs.Context) -> None:
    memory = ctx.alloc_host((), "float64")
    memory.numpy()[()] = 2.5
    assert memory.size_bytes == 8
    assert memory.tobytes() == np.float64(2.5).tobytes()
    with pytest.raises(TypeError, match="no length"):
        len(memory)
    with pytest.raises(IndexError, match="no parts"):
        memory[0]


class Producer:
    """Hands out memory in one of the two layouts of DLPack, whatever the consumer asks for."""

    def __init__(self, memory: gs.Memory, version: tuple[int, int] | None) -> None:
        self.memory = memory
        self.version = version

    def __dlpack__(self, **options: Any) -> Any:
        return self.memory.__dlpack__(max_version=self.version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.memory.__dlpack_device__()


TAKES_VERSIONED = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
VERSIONED = pytest.param(
    (1, 0), marks=pytest.mark.skipif(not TAKES_VERSIONED, reason="DLPack 1.0 needs NumPy 2.1")
)


@pytest.mark.parametrize("version", [None, VERSIONED])
def test_dlpack_hands_out_the_memory_itself(
    ctx: gs.Context, version: tuple[int, int] | None
) -> None:
    for name in DTYPES:
        memory = ctx.alloc_shared((2, 3, 4), name)
        memory.numpy()[:] = 1
        array = np.from_dlpack(Producer(memory, version))
        assert array.ctypes.data == memory.address
        assert array.shape == (2, 3, 4)
        assert array.dtype == np.dtype(name)
        assert array.strides == memory.numpy().strides
        assert array.all()


def test_unconsumed_dlpack_capsule_frees_memory(ctx: gs.Context) -> None:
    for version in (None, (1, 0)):
        memory = ctx.alloc_host(64)
        address = memory.address
        capsule = memory.__dlpack__(max_version=version)
        memory.close()
        del memory
        gc.collect()
        assert is_allocated(ctx, address)
        del capsule
        gc.collect()
        assert not is_allocated(ctx, address)
    assert dlpack._handed_out == {}


def test_dlpack_refuses_what_would_need_a_copy(ctx: gs.Context, gpu: gs.Device) -> None:
    memory = ctx.alloc_host(64)
    with pytest.raises(BufferError, match="without a copy"):
        memory.__dlpack__(copy=True)
    with pytest.raises(BufferError, match="where it is"):
        memory.__dlpack__(dl_device=(2, 0))
    assert memory.__dlpack_device__() == (dlpack.CPU, 0)
    assert ctx.alloc_device(64).__dlpack_device__() == (dlpack.ONE_API, 0)


@pytest.mark.parametrize("version", [None, VERSIONED])
def test_dlpack_consumer_refusal_raises_own_error(
    ctx: gs.Context, version: tuple[int, int] | None
) -> None:
    """NumPy has no memory of a oneAPI device; the capsule ends while its exception is set."""
    memory = ctx.alloc_device(64)
    for _ in range(3):
        with pytest.raises((RuntimeError, BufferError), match="Unsupported device"):
            np.from_dlpack(Producer(memory, version))
    assert dlpack._handed_out == {}


def test_dlpack_capsule_may_end_during_exception(ctx: gs.Context) -> None:
    memory = ctx.alloc_host(64)

    def fail() -> None:
        capsule = memory.__dlpack__()  # noqa: F841  it ends with the function
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail()
    assert dlpack._handed_out == {}


def test_a_shape_is_of_whole_numbers(ctx: gs.Context) -> None:
    assert ctx.alloc_host(np.int64(4)).shape == (4,)
    assert ctx.alloc_host(np.array([2, 3])).shape == (2, 3)  # type: ignore[arg-type]
    for wrong in ("abc", 1.5, None, (2, 1.5), ("2",)):
        with pytest.raises(TypeError, match="a shape is a whole number or several of them, not"):
            ctx.alloc_host(wrong)  # type: ignore[arg-type]


def test_memory_can_be_referred_to_weakly(ctx: gs.Context) -> None:
    memory = ctx.alloc_host(8)
    reference = weakref.ref(memory)
    del memory
    gc.collect()
    assert reference() is None


def test_alloc_device_needs_device_if_several(
    ctx: gs.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ctx, "devices", ctx.devices * 2)
    with pytest.raises(ValueError, match="this context has 2 devices: say which one"):
        ctx.alloc_device(8)
    assert ctx.alloc_device(8, device=ctx.devices[0]).device is ctx.devices[0]
