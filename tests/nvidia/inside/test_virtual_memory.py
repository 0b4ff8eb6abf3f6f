"""Virtual memory of a GPU: pages of 2 MiB, which lie anywhere."""

from __future__ import annotations

import numpy as np
import pytest

import groundstate as gs

PAGE = 2 << 20


def contents(commands: gs.CommandList, space: gs.VirtualMemory, page: int, pages: int = 1) -> bytes:
    """The first byte of each page."""
    back = np.zeros(pages * PAGE, np.uint8)
    commands.copy(back, space.part(page * PAGE, pages * PAGE))
    commands.synchronize()
    return back[::PAGE].tobytes()


def test_pages_of_the_gpu_are_large(ctx: gs.Context) -> None:
    with gs.VirtualMemory(ctx, 1) as space:
        assert (space.page_bytes, space.size_bytes) == (PAGE, PAGE)
        assert space.address % PAGE == 0
    with gs.PhysicalMemory(ctx, PAGE + 1) as physical:
        assert physical.size_bytes == 2 * PAGE


def test_pages_keep_what_they_hold(ctx: gs.Context, commands: gs.CommandList) -> None:
    with gs.VirtualMemory(ctx, 4 * PAGE) as space, gs.PhysicalMemory(ctx, 2 * PAGE) as pages:
        space.map(pages)
        commands.fill(space.part(0, PAGE), 1)
        commands.fill(space.part(PAGE, PAGE), 2)
        assert contents(commands, space, 0, 2) == b"\1\2"
        space.unmap()
        space.map(pages, 2 * PAGE)
        assert contents(commands, space, 2, 2) == b"\1\2"
        space.unmap(2 * PAGE)


def test_one_page_at_two_addresses(ctx: gs.Context, commands: gs.CommandList) -> None:
    with (
        gs.VirtualMemory(ctx, PAGE) as one,
        gs.VirtualMemory(ctx, PAGE) as other,
        gs.PhysicalMemory(ctx, PAGE) as pages,
    ):
        one.map(pages)
        other.map(pages)
        commands.fill(one.part(0, PAGE), 9)
        assert contents(commands, other, 0) == b"\t"
        one.unmap()
        other.unmap()


def test_kernel_uses_mapped_memory(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    with gs.VirtualMemory(ctx, PAGE) as space, gs.PhysicalMemory(ctx, PAGE) as pages:
        space.map(pages)
        part, back = space.part(16, 4, "uint32"), np.zeros(4, np.uint32)
        commands.fill(part, np.uint32(7))
        module["increase"](commands, 1, 1, part)
        commands.copy(back, part)
        commands.synchronize()
        assert back.tolist() == [8, 7, 7, 7]
        space.unmap()


def test_access_is_for_the_gpu(ctx: gs.Context, commands: gs.CommandList) -> None:
    with gs.VirtualMemory(ctx, PAGE) as space, gs.PhysicalMemory(ctx, PAGE) as pages:
        space.map(pages)
        commands.fill(space.part(0, PAGE), 3)
        commands.synchronize()
        space.set_access(gs.Access.READONLY, 0, PAGE)
        assert contents(commands, space, 0) == b"\3"
        space.set_access(gs.Access.READWRITE, 0, PAGE)
        space.unmap()


def test_addresses_are_for_the_gpu_or_the_host(ctx: gs.Context, commands: gs.CommandList) -> None:
    """For whom is known when something is mapped for the first time."""
    with (
        gs.VirtualMemory(ctx, 2 * PAGE) as space,
        gs.PhysicalMemory(ctx, PAGE) as pages,
        gs.PhysicalMemory(ctx, PAGE, on_host=True) as of_host,
    ):
        with pytest.raises(gs.LevelZeroError, match="no multiple of 2097152"):
            space.map(pages, 4096)
        space.map(pages)
        with pytest.raises(gs.UnsupportedFeature, match="reserve others for the host"):
            space.map(of_host, PAGE)
        space.unmap()
        space.map(of_host, PAGE)
        commands.fill(space.part(PAGE, 4), 6)
        commands.synchronize()
        assert space.part(PAGE, 4).tobytes() == b"\6" * 4
        with pytest.raises(gs.UnsupportedFeature, match="reserve others for its memory"):
            space.map(pages)
        space.unmap(PAGE)


def test_more_than_the_gpu_has_is_refused(ctx: gs.Context) -> None:
    with pytest.raises(gs.OutOfDeviceMemory):
        gs.PhysicalMemory(ctx, 1 << 40)


def test_mixed_context_has_pages_of_both(mixed: gs.Context, cpu: gs.Device, gpu: gs.Device) -> None:
    with (
        gs.VirtualMemory(mixed, PAGE, device=cpu) as here,
        gs.PhysicalMemory(mixed, here.page_bytes, device=cpu, on_host=True) as pages,
    ):
        here.map(pages)
        here.part(0, 4).buffer()[:] = b"here"
        here.unmap()
    with (
        gs.VirtualMemory(mixed, PAGE, device=gpu) as there,
        gs.PhysicalMemory(mixed, PAGE, device=gpu) as pages,
        gs.CommandList.immediate(mixed, device=gpu, in_order=True) as commands,
    ):
        there.map(pages)
        commands.fill(there.part(0, PAGE), 5)
        assert contents(commands, there, 0) == b"\5"
        there.unmap()
