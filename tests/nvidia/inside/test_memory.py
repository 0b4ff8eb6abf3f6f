"""Memory of a GPU, and copies to, from and between all kinds of it."""

from __future__ import annotations

import itertools
import mmap
import os

import numpy as np
import pytest

import groundstate as gs

KINDS = ("alloc_device", "alloc_host", "alloc_shared")


def test_device_memory_is_the_gpus(ctx: gs.Context, gpu: gs.Device) -> None:
    with ctx.alloc_device(1000) as memory:
        assert memory.allocation_properties().device is gpu
        assert memory.allocation_properties().type == gs.MemoryType.DEVICE


@pytest.mark.parametrize(("to", "source"), list(itertools.product(KINDS, KINDS)))
def test_copies_between_kinds(
    ctx: gs.Context, commands: gs.CommandList, to: str, source: str
) -> None:
    data = np.arange(100_000, dtype=np.int32)
    first, second = getattr(ctx, source)(data.shape, "int32"), getattr(ctx, to)(data.shape, "int32")
    back = np.zeros_like(data)
    commands.copy(first, data)
    commands.copy(second, first)
    commands.copy(back, second)
    commands.synchronize()
    assert np.array_equal(back, data)


def test_regions_are_copied(ctx: gs.Context, commands: gs.CommandList) -> None:
    data = np.arange(4 * 6 * 8, dtype=np.uint8).reshape(4, 6, 8)
    memory, back = ctx.alloc_device(data.shape), np.zeros_like(data)
    commands.copy(memory, data)
    region = gs.Region(2, 1, 1, 3, 4, 2)
    commands.copy_region(back, memory, region, source_origin=(2, 1, 1))
    commands.synchronize()
    expected = np.zeros_like(data)
    expected[1:3, 1:5, 2:5] = data[1:3, 1:5, 2:5]
    assert np.array_equal(back, expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "pattern", [b"\x07", b"ab", b"abcd", b"abab", b"abcdefgh", b"abc", b"x" * 33]
)
def test_fills_with_any_pattern(
    ctx: gs.Context, commands: gs.CommandList, kind: str, pattern: bytes
) -> None:
    size = 1000 * len(pattern)
    memory, back = getattr(ctx, kind)(size + 7), np.zeros(size + 7, np.uint8)
    commands.fill(memory, 0)
    commands.fill(memory[1 : size + 1], pattern)
    commands.copy(back, memory)
    commands.synchronize()
    assert back.tobytes() == b"\0" + 1000 * pattern + b"\0" * 6


def test_freed_memory_is_used_again(ctx: gs.Context) -> None:
    with ctx.alloc_device(5 << 20) as memory:
        address = memory.address
    with ctx.alloc_device(5 << 20) as memory:
        assert memory.address == address


def test_memory_is_not_overcommitted(ctx: gs.Context) -> None:
    with ctx.alloc_device(600 << 20):
        for allocate in (ctx.alloc_shared, ctx.alloc_device):
            with pytest.raises(gs.OutOfDeviceMemory):
                allocate(600 << 20)
    ctx.alloc_shared(600 << 20).close()


def test_cpu_copies_memory_of_a_gpu(mixed: gs.Context, cpu: gs.Device, gpu: gs.Device) -> None:
    data = np.arange(5000, dtype=np.int64)
    there, here = mixed.alloc_device(5000, "int64", device=gpu), np.zeros_like(data)
    with gs.CommandList.immediate(mixed, cpu, in_order=True) as commands:
        commands.copy(there, data)
        commands.fill(there[10:20], 3)
        commands.copy(here, there)
        commands.synchronize()
    data[10:20] = 3
    assert np.array_equal(here, data)


def test_memory_of_the_cpu_goes_to_a_gpu(mixed: gs.Context, cpu: gs.Device, gpu: gs.Device) -> None:
    data = np.arange(5000, dtype=np.int64)
    first = mixed.alloc_device(5000, "int64", device=cpu)
    second = mixed.alloc_device(5000, "int64", device=gpu)
    back = np.zeros_like(data)
    with gs.CommandList.immediate(mixed, gpu, in_order=True) as commands:
        commands.copy(first, data)
        commands.copy(second, first)
        commands.copy(back, second)
        commands.synchronize()
    assert np.array_equal(back, data)


def test_shared_memory_is_both(mixed: gs.Context, gpu: gs.Device) -> None:
    memory = mixed.alloc_shared(100, "int32", device=gpu)
    memory.numpy()[:] = np.arange(100)
    with gs.CommandList.immediate(mixed, gpu) as commands:
        commands.prefetch(memory)
        commands.fill(memory[:50], 9)
        commands.synchronize()
    assert memory.tolist() == [9] * 50 + list(range(50, 100))


@pytest.mark.parametrize(
    ("kind", "size", "to", "source"),
    [
        *((kind, 5000, *places) for kind in KINDS for places in ((0, 1), (1, 0), (63, 4000))),
        ("alloc_device", 20_000_000, 0, 63),
        ("alloc_device", 20_000_000, 63, 0),
    ],
)
def test_overlapping_copy_is_as_if_buffered(
    ctx: gs.Context, commands: gs.CommandList, kind: str, size: int, to: int, source: int
) -> None:
    data = np.random.default_rng(5).integers(0, 256, size + max(to, source), np.uint8)
    memory, back = getattr(ctx, kind)(data.size), np.zeros_like(data)
    commands.copy(memory, data)
    commands.copy(memory[to : to + size], memory[source : source + size])
    commands.copy(back, memory)
    commands.synchronize()
    data[to : to + size] = data[source : source + size].copy()
    assert np.array_equal(back, data)


def test_kernel_uses_imported_pages(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    pages = mmap.mmap(-1, mmap.PAGESIZE)
    numbers = np.frombuffer(pages, np.uint32)
    with ctx.import_host(pages, 1024, "uint32") as memory:
        module["increase"](commands, 1, 1, memory)
        commands.synchronize()
        assert numbers[0] == 1
        commands.fill(memory, np.uint32(3))
        commands.synchronize()
    assert (numbers == 3).all()


def test_file_becomes_host_memory_of_the_gpu(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    fd = os.memfd_create("pages")
    os.ftruncate(fd, mmap.PAGESIZE)
    with ctx.import_fd(fd, 4, "uint32", host=True) as memory:
        module["increase"](commands, 1, 1, memory)
        commands.synchronize()
    assert os.pread(fd, 4, 0) == b"\1\0\0\0"
    os.close(fd)
