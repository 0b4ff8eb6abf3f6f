"""Sharing through the object layer: other processes, files, pages of the host, semaphores."""

from __future__ import annotations

import ctypes
import mmap
import os
import select
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import groundstate as gs

DOUBLE = "kernel void twice(global uint *numbers) { numbers[get_global_id(0)] *= 2; }"


def in_another_process(program: str, *handles: bytes) -> None:
    """Runs a program that finds a context, and the handles as `handles`."""
    start = (
        "import sys, groundstate as gs\n"
        "handles = [bytes.fromhex(word) for word in sys.argv[1:]]\n"
        "context = gs.Context(gs.devices()[0])\n"
    )
    words = [handle.hex() for handle in handles]
    done = subprocess.run(
        [sys.executable, "-c", start + program, *words], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def double(commands: gs.CommandList, numbers: gs.Memory) -> None:
    """Doubles 1024 numbers with a kernel, and waits."""
    twice = gs.Module(commands.context, opencl=DOUBLE).kernel("twice")
    twice(commands, 16, 64, numbers)
    commands.synchronize()


@pytest.fixture
def file() -> Iterator[int]:
    """A memory file with the numbers up to 1023."""
    fd = os.memfd_create("numbers", os.MFD_CLOEXEC)
    os.write(fd, np.arange(1024, dtype=np.uint32).tobytes())
    yield fd
    os.close(fd)


def test_memory_and_events_of_another_process(ctx: gs.Context) -> None:
    memory = ctx.alloc_device((4, 256), "uint32")
    host = ctx.alloc_host((4, 256), "uint32")
    pool = gs.EventPool(ctx, 2, ipc=True)
    counting = gs.Event.counter_based(ctx, ipc=True)
    with gs.CommandList.immediate(ctx, in_order=True) as commands:
        commands.fill(memory, 3, signal=counting)
    in_another_process(
        f"""
memory = context.open_ipc(handles[0], (4, 256), "uint32")
pool = gs.EventPool.open_ipc(context, handles[1], 2)
gs.Event.open_ipc(context, handles[2]).wait(timeout=60)
twice = gs.Module(context, opencl={DOUBLE!r}).kernel("twice")
with gs.CommandList.immediate(context) as commands:
    twice(commands, 16, 64, memory, signal=pool.event(1))
assert memory.type == gs.MemoryType.DEVICE
""",
        memory.ipc_handle(),
        pool.ipc_handle(),
        counting.ipc_handle(),
    )
    assert pool.event(1).is_signaled
    with gs.CommandList.immediate(ctx) as commands:
        commands.copy(host, memory)
    assert (host.numpy() == 6).all()


def test_opened_ipc_memory_keeps_size_and_type(ctx: gs.Context) -> None:
    memory = ctx.alloc_host(100, "float32")
    handle = memory.ipc_handle()
    with ctx.open_ipc(handle) as opened:
        assert (opened.shape, opened.type) == ((400,), gs.MemoryType.HOST)
        assert opened.device is None
    assert ctx.open_ipc(handle, dtype="float32").shape == (100,)
    with pytest.raises(ValueError, match="more than the 400 bytes"):
        ctx.open_ipc(handle, 101, "float32")
    ctx.return_ipc(handle)


def test_handles_that_are_wrong(ctx: gs.Context) -> None:
    with pytest.raises(ValueError, match="64 bytes, not 3"):
        ctx.open_ipc(b"abc")
    with pytest.raises(gs.errors.InvalidArgument, match="no IPC handle"):
        ctx.open_ipc(bytes(64))
    with pytest.raises(gs.errors.InvalidArgument, match="no IPC handle"):
        gs.EventPool.open_ipc(ctx, bytes(64), 1)
    with pytest.raises(gs.errors.InvalidSynchronizationObject, match=r"EventPool\(..., ipc=True\)"):
        gs.EventPool(ctx, 1).ipc_handle()
    with pytest.raises(gs.errors.InvalidArgument, match=r"counter_based\(..., ipc=True\)"):
        gs.Event.counter_based(ctx).ipc_handle()
    with pytest.raises(gs.errors.InvalidArgument, match="start of an allocation"):
        ctx.alloc_host(8192)[4096:].ipc_handle()


@pytest.mark.parametrize("host", [False, True])
@pytest.mark.parametrize("type_", [gs.ExternalMemoryType.OPAQUE_FD, gs.ExternalMemoryType.DMA_BUF])
def test_a_kernel_works_on_a_file(
    ctx: gs.Context,
    commands: gs.CommandList,
    file: int,
    host: bool,
    type_: gs.ExternalMemoryType,
) -> None:
    memory = ctx.import_fd(file, 1024, "uint32", type=type_, host=host)
    assert memory.is_host_accessible == host
    double(commands, memory)
    found = np.frombuffer(os.pread(file, 4096, 0), np.uint32)
    assert np.array_equal(found, 2 * np.arange(1024))


def test_exported_memory_outlives_the_allocation(ctx: gs.Context, commands: gs.CommandList) -> None:
    memory = ctx.alloc_device(1024, "uint32")
    commands.fill(memory, 9)
    commands.synchronize()
    fd = memory.export_fd()
    memory.close()
    with mmap.mmap(fd, 4096) as there:
        assert np.frombuffer(bytes(there), np.uint32).tolist() == [9] * 1024
    os.close(fd)


def test_a_kernel_works_on_pages_of_the_program(ctx: gs.Context, commands: gs.CommandList) -> None:
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    numbers = np.frombuffer(pages, np.uint32)
    numbers[:] = 21
    memory = ctx.import_host(pages, 1024, "uint32")
    assert memory.type == gs.MemoryType.HOST_IMPORTED
    assert memory.address == ctypes.addressof(ctypes.c_char.from_buffer(pages))
    double(commands, memory)
    assert (numbers[:1024] == 42).all()
    assert (numbers[1024:] == 21).all()
    with pytest.raises(gs.errors.InvalidArgument, match="whole pages"):
        ctx.import_host(bytearray(100))


def test_an_image_goes_out_and_comes_in(ctx: gs.Context) -> None:
    texels = np.random.default_rng(3).integers(0, 256, (20, 30, 4), np.uint8)
    with gs.Image(ctx, (20, 30), "rgba8uint") as image:
        image.upload(texels)
        fd = image.export_fd()
    assert os.pread(fd, texels.size, 0) == texels.tobytes()
    again = gs.Image.import_fd(ctx, fd, (20, 30), "rgba8uint")
    assert np.array_equal(again.download(), texels)
    rows = gs.Image.import_fd(ctx, fd, (10, 30), "rgba8uint", row_pitch_bytes=240)
    assert np.array_equal(rows.download(), texels[::2])
    os.close(fd)


def test_eventfd_semaphore_syncs_device_and_host(ctx: gs.Context, commands: gs.CommandList) -> None:
    counter = os.eventfd(0, os.EFD_SEMAPHORE)
    semaphore = gs.ExternalSemaphore(ctx.devices[0], counter)
    memory = ctx.alloc_host(16)
    commands.wait_semaphores(semaphore)
    commands.fill(memory, 4)
    commands.signal_semaphores(semaphore, semaphore)
    assert not commands.is_idle
    os.eventfd_write(counter, 1)
    commands.synchronize()
    assert memory.tolist() == [4] * 16
    assert [os.eventfd_read(counter) for _ in range(2)] == [1, 1]
    assert not select.select([counter], [], [], 0)[0]
    semaphore.close()
    with pytest.raises(gs.errors.InvalidArgument, match="immediate"):
        gs.CommandList(ctx).wait_semaphores(gs.ExternalSemaphore(ctx.devices[0], counter))
    os.close(counter)
    with pytest.raises(gs.errors.InvalidArgument, match="eventfd"):
        gs.ExternalSemaphore(ctx.devices[0], counter)


def test_memory_says_as_what_it_will_be_exported(ctx: gs.Context) -> None:
    kind = gs.ExternalMemoryType.DMA_BUF
    memory = ctx.alloc_device(1024, "uint32", export=kind)
    fd = memory.export_fd(kind)
    with gs.CommandList.immediate(ctx) as commands:
        commands.fill(memory, 11)
    assert os.pread(fd, 4, 0) == b"\x0b\0\0\0"
    os.close(fd)
    with pytest.raises(gs.errors.UnsupportedEnumeration):
        ctx.alloc_device(1024, export=gs.ExternalMemoryType.D3D12_HEAP)
