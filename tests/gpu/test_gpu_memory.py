"""Virtual memory of a GPU, memory of the program that it uses, and strings that it prints."""

from __future__ import annotations

import itertools
import mmap
import os
from collections.abc import Iterator

import numpy as np
import pytest

import groundstate as gs

SOURCE = """
kernel void twice(global uint *data) { data[get_global_id(0)] *= 2; }
kernel void tell(int number) {
    printf("%s has %d\\n", number > 1 ? "the second" : "the first", number);
}
"""


@pytest.fixture
def module(ctx: gs.Context) -> Iterator[gs.Module]:
    with gs.Module(ctx, opencl=SOURCE) as made:
        yield made


def test_pages_lie_anywhere(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    with gs.VirtualMemory(ctx, 1) as probe:
        page = probe.page_bytes
    data = np.arange(2 * page // 4, dtype=np.uint32)
    back = np.zeros_like(data)
    with gs.VirtualMemory(ctx, 5 * page) as space, gs.PhysicalMemory(ctx, 2 * page) as pages:
        space.map(pages, page)
        commands.copy(space.part(page, data.size, "uint32"), data)
        module["twice"].launch(
            space.part(page, data.size, "uint32"), global_size=data.size, on=commands
        )
        commands.synchronize()
        space.unmap(page)
        space.map(pages, 3 * page)
        commands.copy(back, space.part(3 * page, data.size, "uint32"))
        commands.synchronize()
        space.unmap(3 * page)
    assert np.array_equal(back, 2 * data)


def test_access_is_taken_and_given(ctx: gs.Context, commands: gs.CommandList) -> None:
    back = np.zeros(16, np.uint8)
    with gs.VirtualMemory(ctx, 1) as space, gs.PhysicalMemory(ctx, space.page_bytes) as pages:
        space.map(pages)
        commands.fill(space.part(0, 16), 7)
        commands.synchronize()
        space.set_access(gs.Access.NONE, 0, space.page_bytes)
        space.set_access(gs.Access.READWRITE, 0, space.page_bytes)
        commands.copy(back, space.part(0, 16))
        commands.synchronize()
        space.unmap()
    assert (back == 7).all()


def test_mixed_context_maps_memory_of_the_gpu(mixed: gs.Context, gpu: gs.Device) -> None:
    back = np.zeros(16, np.uint8)
    with (
        gs.VirtualMemory(mixed, 4 << 20, device=gpu) as space,
        gs.PhysicalMemory(mixed, space.size_bytes, device=gpu) as pages,
        gs.CommandList.immediate(mixed, device=gpu, in_order=True) as commands,
    ):
        space.map(pages)
        commands.fill(space.part(0, space.size_bytes), 9)
        commands.copy(back, space.part((4 << 20) - 16, 16))
        commands.synchronize()
        space.unmap()
    assert (back == 9).all()


@pytest.mark.parametrize(("to", "source"), [(0, 1), (1, 0), (0, 4096), (63, 0)])
def test_overlapping_copies(
    ctx: gs.Context, commands: gs.CommandList, to: int, source: int
) -> None:
    size = 40_000_000
    data = np.random.default_rng(5).integers(0, 256, size + 4096, np.uint8)
    memory, back = ctx.alloc_device(data.size), np.zeros_like(data)
    commands.copy(memory, data)
    commands.copy(memory[to : to + size], memory[source : source + size])
    commands.copy(back, memory)
    commands.synchronize()
    data[to : to + size] = data[source : source + size].copy()
    assert np.array_equal(back, data)


def test_kernel_uses_pages_of_the_program(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    pages = mmap.mmap(-1, 1 << 20)
    numbers = np.frombuffer(pages, np.uint32)
    numbers[:] = 21
    with ctx.import_host(pages, numbers.size, "uint32") as memory:
        module["twice"].launch(memory, global_size=numbers.size, on=commands)
        commands.synchronize()
    assert (numbers == 42).all()


def test_kernel_uses_a_file(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    fd = os.memfd_create("numbers")
    os.write(fd, np.full(1024, 4, np.uint32).tobytes())
    with ctx.import_fd(fd, 1024, "uint32", host=True) as memory:
        module["twice"].launch(memory, global_size=1024, on=commands)
        commands.synchronize()
    assert os.pread(fd, 4, 4092) == b"\x08\0\0\0"
    os.close(fd)


def test_strings_are_printed(
    module: gs.Module, commands: gs.CommandList, capfd: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2):
        module["tell"](commands, 1, 1, number)
    commands.synchronize()
    assert capfd.readouterr().out == "the first has 1\nthe second has 2\n"


def test_timestamps_of_a_stream_are_in_order(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    memory = ctx.alloc_device(1 << 20, "uint32")
    with gs.EventPool(ctx, 20, timestamps=True) as pool:
        events = [pool.event() for _ in range(20)]
        for event in events:
            module["twice"](commands, 4096, 256, memory, signal=event)
        commands.synchronize()
        stamps = [event.timestamps for event in events]
    for earlier, later in itertools.pairwise(stamps):
        assert earlier.start <= earlier.end <= later.start <= later.end
