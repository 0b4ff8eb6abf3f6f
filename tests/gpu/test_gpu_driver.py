"""Memory and order on a GPU, and what it shares with the CPU."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest

import groundstate as gs
from tests.gpu.test_gpu_kernels import SOURCE


@pytest.fixture
def module(ctx: gs.Context) -> Iterator[gs.Module]:
    with gs.Module(ctx, opencl=SOURCE) as made:
        yield made


def test_properties_are_there(gpu: gs.Device) -> None:
    assert "NVIDIA" in gpu.name
    assert gpu.properties.core_clock_mhz > 0
    assert gpu.memories[0].total_bytes > 1 << 30
    assert len(gpu.uuid.bytes) == 16


@pytest.mark.parametrize("size", [1, 1000, 1 << 20, 100_000_007])
def test_copies(ctx: gs.Context, commands: gs.CommandList, size: int) -> None:
    data = np.random.default_rng(3).integers(0, 256, size, np.uint8)
    there, other, back = ctx.alloc_device(size), ctx.alloc_device(size), np.zeros_like(data)
    commands.copy(there, data)
    commands.copy(other, there)
    commands.copy(back, other)
    commands.synchronize()
    assert np.array_equal(back, data)


def test_regions(ctx: gs.Context, commands: gs.CommandList) -> None:
    data = np.arange(20 * 30 * 40, dtype=np.uint8).reshape(20, 30, 40)
    there, back = ctx.alloc_device(data.shape), np.zeros_like(data)
    commands.copy(there, data)
    commands.copy_region(back, there, gs.Region(5, 6, 7, 20, 10, 5), source_origin=(5, 6, 7))
    commands.synchronize()
    expected = np.zeros_like(data)
    expected[7:12, 6:16, 5:25] = data[7:12, 6:16, 5:25]
    assert np.array_equal(back, expected)


@pytest.mark.parametrize("pattern", [b"\x07", b"ab", b"abcd", b"abcdefgh", b"abc", b"x" * 33])
def test_fills(ctx: gs.Context, commands: gs.CommandList, pattern: bytes) -> None:
    size = 10_000 * len(pattern)
    there, back = ctx.alloc_device(size), np.zeros(size, np.uint8)
    commands.fill(there, pattern)
    commands.copy(back, there)
    commands.synchronize()
    assert back.tobytes() == 10_000 * pattern


def test_host_signal_starts_a_kernel(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    out = ctx.alloc_shared(4, "uint32")
    out.numpy()[:] = 0
    with gs.EventPool(ctx, 2) as pool:
        start, end = pool.event(), pool.event()
        module["look_up"](commands, 1, 4, out, wait=start, signal=end)
        time.sleep(0.01)
        assert not end.is_signaled
        assert not out.numpy().any()
        start.signal()
        end.wait()
        assert out.tolist() == [3, 1, 4, 1]
        commands.synchronize()


def test_timestamps(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    out = ctx.alloc_device(1024, "uint32")
    with gs.EventPool(ctx, 2, timestamps=True) as pool:
        short, long = pool.event(), pool.event()
        module["spin"](commands, 1, 1024, out, 1, signal=short)
        module["spin"](commands, 1, 1024, out, 10_000_000, signal=long)
        commands.synchronize()
        assert long.timestamps.duration_ns > 20 * short.timestamps.duration_ns > 0
        assert short.timestamps.start <= short.timestamps.end <= long.timestamps.end


def test_closed_list_runs_again(ctx: gs.Context, module: gs.Module) -> None:
    x, y = ctx.alloc_shared(1000, "float32"), ctx.alloc_shared(1000, "float32")
    x.numpy()[:], y.numpy()[:] = 1, 0
    with gs.CommandList(ctx, in_order=True) as recorded, gs.CommandQueue(ctx) as queue:
        for _ in range(10):
            module["saxpy"].launch(1.0, x, y, global_size=1000, on=recorded)
        recorded.finish()
        for run in range(1, 4):
            queue.execute(recorded)
            queue.synchronize()
            assert (y.numpy() == 10 * run).all()


def test_launches_in_a_row(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    x, y = ctx.alloc_device(100, "float32"), ctx.alloc_device(100, "float32")
    back = np.zeros(100, np.float32)
    commands.fill(x, np.float32(1).tobytes())
    commands.fill(y, 0)
    for _ in range(5000):
        module["saxpy"](commands, 1, 100, 1.0, x, y)
    commands.copy(back, y)
    commands.synchronize()
    assert (back == 5000).all()


def test_cpu_and_gpu_take_turns(mixed: gs.Context, cpu: gs.Device, gpu: gs.Device) -> None:
    x, y = (mixed.alloc_shared(1000, "float32", device=gpu) for _ in range(2))
    x.numpy()[:], y.numpy()[:] = 1, 0
    with (
        gs.Module(mixed, opencl=SOURCE, device=gpu) as there,
        gs.Module(mixed, opencl=SOURCE, device=cpu) as here,
        gs.EventPool(mixed, 20) as pool,
        gs.CommandList.immediate(mixed, gpu) as first,
        gs.CommandList.immediate(mixed, cpu) as second,
    ):
        events = [pool.event() for _ in range(20)]
        for step in range(0, 20, 2):
            before = events[step - 1] if step else ()
            there["saxpy"].launch(
                1.0, x, y, global_size=1000, on=first, wait=before, signal=events[step]
            )
            here["saxpy"].launch(
                2.0, x, y, global_size=1000, on=second, wait=events[step], signal=events[step + 1]
            )
        events[-1].wait()
        assert (y.numpy() == 30).all()
        first.synchronize()
        second.synchronize()


def test_copies_between_cpu_and_gpu(mixed: gs.Context, cpu: gs.Device, gpu: gs.Device) -> None:
    data = np.arange(1 << 20, dtype=np.int32)
    here = mixed.alloc_device(data.shape, "int32", device=cpu)
    there = mixed.alloc_device(data.shape, "int32", device=gpu)
    for device in (cpu, gpu):
        back = np.zeros_like(data)
        with gs.CommandList.immediate(mixed, device, in_order=True) as commands:
            commands.copy(here, data)
            commands.copy(there, here)
            commands.fill(here, 0)
            commands.copy(here, there)
            commands.copy(back, here)
            commands.synchronize()
        assert np.array_equal(back, data)


def test_allocations_are_pooled(ctx: gs.Context) -> None:
    with ctx.alloc_device(1 << 20) as memory:
        address = memory.address
    with ctx.alloc_device(1 << 20) as memory:
        assert memory.address == address


def test_memory_has_an_end(ctx: gs.Context, gpu: gs.Device) -> None:
    whole = gpu.memories[0].total_bytes
    with ctx.alloc_device(whole // 2), pytest.raises(gs.OutOfDeviceMemory):
        ctx.alloc_device(whole * 3 // 4)
