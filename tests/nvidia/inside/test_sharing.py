"""Memory of a GPU that other processes and other APIs use, and that comes from them."""

from __future__ import annotations

import ctypes
import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import groundstate as gs
from groundstate import ze
from tests.conftest import STANDIN_MEMORY
from tests.nvidia.inside.conftest import SOURCE

PAGE = 2 << 20
OPAQUE_FD = gs.ExternalMemoryType.OPAQUE_FD


def start(program: str, *handles: bytes, pass_fds: tuple[int, ...] = ()) -> subprocess.Popen[str]:
    """Starts a program that has a context of the GPU, and the handles as `handles`."""
    before = (
        "import sys, groundstate as gs\n"
        "from tests.nvidia import ptx_double\n"
        "ptx_double.install()\n"
        "handles = [bytes.fromhex(word) for word in sys.argv[1:]]\n"
        "context = gs.Context(gs.devices()[-1])\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", before + program, *(handle.hex() for handle in handles)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=pass_fds,
    )


def run(program: str, *handles: bytes, pass_fds: tuple[int, ...] = ()) -> str:
    child = start(program, *handles, pass_fds=pass_fds)
    output, errors = child.communicate(timeout=60)
    assert child.returncode == 0, errors
    return output


def contents(commands: gs.CommandList, memory: gs.Memory) -> bytes:
    back = np.zeros(memory.size_bytes, np.uint8)
    commands.copy(back, memory)
    commands.synchronize()
    return back.tobytes()


INCREASE = f"""
SOURCE = {SOURCE!r}
for handle in handles:
    with context.open_ipc(handle, dtype="uint32") as memory:
        assert memory.type == gs.MemoryType.DEVICE
        with gs.CommandList.immediate(context, in_order=True) as commands:
            gs.Module(context, opencl=SOURCE)["increase"](commands, 1, 1, memory)
            commands.synchronize()
        print(memory.size_bytes)
"""


def test_another_process_works_on_gpu_memory(ctx: gs.Context, commands: gs.CommandList) -> None:
    sizes = [100, 4096, 1 << 20, 5_000_000]
    memories = [ctx.alloc_device(size) for size in sizes]
    for number, memory in enumerate(memories):
        commands.fill(memory, number + 1)
    commands.synchronize()
    said = run(INCREASE, *(memory.ipc_handle() for memory in memories))
    assert [int(word) for word in said.split()] == sizes
    for number, memory in enumerate(memories):
        value = bytes([number + 1])
        assert contents(commands, memory) == bytes([number + 2]) + value * (memory.size_bytes - 1)


def test_handle_opens_in_process_that_made_it(ctx: gs.Context, commands: gs.CommandList) -> None:
    with ctx.alloc_device(1000) as memory:
        handle = memory.ipc_handle()
        assert memory.ipc_handle() == handle
        with ctx.open_ipc(handle) as first, ctx.open_ipc(handle) as second:
            assert len({memory.address, first.address, second.address}) == 3
            commands.fill(first, 7)
            assert contents(commands, second) == contents(commands, memory) == b"\7" * 1000
            assert first.allocation_properties().device is ctx.devices[0]
        ctx.return_ipc(handle)


def test_opened_memory_is_shared_on(ctx: gs.Context, commands: gs.CommandList) -> None:
    memory = ctx.alloc_device(64)
    with ctx.open_ipc(memory.ipc_handle()) as opened:
        commands.fill(memory, 1)
        commands.synchronize()
        memory.close()
        run(INCREASE, opened.ipc_handle())
        assert contents(commands, opened)[:2] == b"\2\1"


def test_handle_to_freed_memory_is_refused(ctx: gs.Context) -> None:
    with ctx.alloc_device(100) as memory:
        handle = memory.ipc_handle()
    with pytest.raises(gs.errors.InvalidArgument, match="no longer has"):
        ctx.open_ipc(handle)


def test_note_of_freed_memory_leads_nowhere(ctx: gs.Context) -> None:
    """Who had opened the file that a handle leads to is told all the same."""
    with ctx.alloc_device(100) as memory:
        handle = memory.ipc_handle()
        kept = os.dup(int.from_bytes(handle[:4], "little"))
    bare = kept.to_bytes(4, "little") + bytes(60)
    with pytest.raises(gs.errors.InvalidArgument, match="does not hand it out"):
        ctx.open_ipc(bare)
    os.close(kept)


def test_freed_pages_are_not_handed_out_again(ctx: gs.Context, commands: gs.CommandList) -> None:
    memory = ctx.alloc_device(3 * PAGE)
    commands.fill(memory, 5)
    opened = ctx.open_ipc(memory.ipc_handle())
    commands.synchronize()
    memory.close()
    with ctx.alloc_device(3 * PAGE) as other:
        commands.fill(other, 6)
        commands.synchronize()
        assert contents(commands, opened) == b"\5" * (3 * PAGE)
    opened.close()


def test_handle_of_ended_process_is_refused(ctx: gs.Context) -> None:
    said = run("print(context.alloc_device(100).ipc_handle().hex())")
    with pytest.raises(gs.errors.InvalidArgument, match="no longer has"):
        ctx.open_ipc(bytes.fromhex(said))


def test_memory_outlives_the_process_that_had_it(ctx: gs.Context, commands: gs.CommandList) -> None:
    child = start(
        "memory = context.alloc_device(100)\n"
        "with gs.CommandList.immediate(context) as commands:\n"
        "    commands.fill(memory, 9)\n"
        "    commands.synchronize()\n"
        "print(memory.ipc_handle().hex(), flush=True)\n"
        "input()\n"
    )
    assert child.stdout is not None
    with ctx.open_ipc(bytes.fromhex(child.stdout.readline())) as opened:
        child.communicate("\n", timeout=60)
        assert contents(commands, opened) == b"\t" * 100


def test_changed_handle_never_crashes(ctx: gs.Context) -> None:
    with ctx.alloc_device(100) as memory:
        handle = memory.ipc_handle()
        for position in range(64):
            changed = bytearray(handle)
            changed[position] ^= 0x40
            try:
                opened = ctx.open_ipc(bytes(changed))
            except gs.errors.LevelZeroError:
                continue
            assert opened.size_bytes == 100, "the note says how much there is"
            opened.close()


def test_forged_note_opens_nothing(ctx: gs.Context) -> None:
    """A file of the name and seals of a note, with other contents."""
    with ctx.alloc_device(100) as memory:
        true = memory.ipc_handle()
        note = os.pread(int.from_bytes(true[:4], "little"), 4096, 0)
        for place in (0, 16, 32, 48, 64, *range(96, len(note), 8)):
            forged = bytearray(note)
            forged[place + 7] ^= 0x40
            fd = os.memfd_create("groundstate-" + "00" * 16, os.MFD_ALLOW_SEALING)
            os.write(fd, forged)
            seal(fd)
            with pytest.raises(gs.errors.LevelZeroError):
                ctx.open_ipc(fd.to_bytes(4, "little") + bytes(60))
            os.close(fd)


def seal(fd: int) -> None:
    every = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, every)


def test_handle_goes_to_the_device_it_is_of(
    mixed: gs.Context, cpu: gs.Device, gpu: gs.Device
) -> None:
    here, there = mixed.alloc_device(100, device=cpu), mixed.alloc_device(100, device=gpu)
    for memory, wrong in ((here, gpu), (there, cpu)):
        with pytest.raises(gs.errors.InvalidArgument, match="open it for"):
            mixed.open_ipc(memory.ipc_handle(), device=wrong)


def test_host_memory_of_another_context_is_the_gpus(
    ctx: gs.Context, cpu: gs.Device, module: gs.Module, commands: gs.CommandList
) -> None:
    with gs.Context(cpu) as plain, plain.alloc_host(4, "uint32") as memory:
        memory.numpy()[:] = 1
        with ctx.open_ipc(memory.ipc_handle(), dtype="uint32") as opened:
            module["increase"](commands, 1, 1, opened)
            commands.synchronize()
        assert memory.tolist() == [2, 1, 1, 1]


@pytest.mark.parametrize("size", [4, 5000, 1 << 20, 5_000_000])
def test_host_memory_of_a_gpu_is_shared(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList, size: int
) -> None:
    before, memory = ctx.alloc_host(4096), ctx.alloc_host(size)
    before.numpy()[:], memory.numpy()[:] = 1, 2
    run(
        "with context.open_ipc(handles[0]) as memory:\n"
        f"    assert (memory.type, memory.size_bytes) == (gs.MemoryType.HOST, {size})\n"
        "    assert (memory.numpy() == 2).all()\n"
        "    memory.numpy()[:] = 3\n",
        memory.ipc_handle(),
    )
    assert (memory.numpy() == 3).all()
    assert (before.numpy() == 1).all()
    with ctx.open_ipc(memory.ipc_handle(), dtype="uint32") as opened:
        module["increase"](commands, 1, 1, opened)
        commands.synchronize()
        again = ctx.open_ipc(opened.ipc_handle())
        again.close()
    assert memory.tolist()[:4] == [4, 3, 3, 3]


def test_freed_host_memory_is_not_handed_out_again(ctx: gs.Context) -> None:
    memory = ctx.alloc_host(2 << 20)
    memory.numpy()[:] = 1
    opened = ctx.open_ipc(memory.ipc_handle())
    memory.close()
    with ctx.alloc_host(2 << 20) as other:
        other.numpy()[:] = 2
        assert (opened.numpy() == 1).all()
    opened.close()


def test_host_memory_is_exported_as_a_file(ctx: gs.Context) -> None:
    for kind in (OPAQUE_FD, gs.ExternalMemoryType.DMA_BUF):
        with ctx.alloc_host(100, export=kind) as memory:
            memory.numpy()[:] = 7
            fd = memory.export_fd(kind)
        assert os.pread(fd, 100, 0) == b"\7" * 100
        with ctx.import_fd(fd, 100, host=True) as again:
            assert again.tolist() == [7] * 100
        os.close(fd)
    with (
        ctx.alloc_host(100) as memory,
        pytest.raises(gs.UnsupportedFeature, match="to be exported"),
    ):
        memory.export_fd()


def test_much_host_memory_leaves_descriptors(ctx: gs.Context) -> None:
    held = [ctx.alloc_host(2 << 20) for _ in range(250)]
    assert len(list(Path("/proc/self/fd").iterdir())) < 300
    with pytest.raises(gs.UnsupportedFeature, match="does not share"):
        held[-1].ipc_handle()
    held[0].ipc_handle()
    for memory in held:
        memory.close()


# --- File descriptors -----------------------------------------------------------------------------


def test_gpu_tells_of_descriptors(gpu: gs.Device) -> None:
    found = gpu.external_memory
    assert found.memory_import_types == OPAQUE_FD
    assert found.memory_export_types == OPAQUE_FD
    assert found.image_import_types == found.image_export_types == OPAQUE_FD


@pytest.mark.parametrize("size", [100, 3 * PAGE])
def test_exported_memory_is_imported(ctx: gs.Context, commands: gs.CommandList, size: int) -> None:
    memory = ctx.alloc_device(size, export=OPAQUE_FD)
    commands.fill(memory, 3)
    commands.synchronize()
    fd = memory.export_fd()
    memory.close()
    with ctx.import_fd(fd, size) as again:
        os.close(fd)
        assert contents(commands, again) == b"\3" * size


def test_another_process_imports_a_descriptor(ctx: gs.Context, commands: gs.CommandList) -> None:
    with ctx.alloc_device(64, export=OPAQUE_FD) as memory:
        fd = memory.export_fd()
        run(
            f"with gs.CommandList.immediate(context) as commands:\n"
            f"    commands.fill(context.import_fd({fd}, 64), 4)\n"
            f"    commands.synchronize()\n",
            pass_fds=(fd,),
        )
        os.close(fd)
        assert contents(commands, memory) == b"\4" * 64


def test_small_memory_shares_its_pages(ctx: gs.Context) -> None:
    with (
        ctx.alloc_device(100) as memory,
        pytest.raises(gs.UnsupportedFeature, match="to be exported"),
    ):
        memory.export_fd()


def test_exported_pages_are_not_handed_out_again(ctx: gs.Context, commands: gs.CommandList) -> None:
    memory = ctx.alloc_device(2 * PAGE)
    fd = memory.export_fd()
    commands.fill(memory, 5)
    commands.synchronize()
    memory.close()
    with ctx.alloc_device(2 * PAGE) as other, ctx.import_fd(fd, 2 * PAGE) as again:
        commands.fill(other, 6)
        commands.synchronize()
        assert contents(commands, again) == b"\5" * (2 * PAGE)
    os.close(fd)


def test_other_apis_memory_is_imported(ctx: gs.Context, commands: gs.CommandList) -> None:
    fd = os.memfd_create("standin-vulkan")
    os.ftruncate(fd, 5000)
    with ctx.import_fd(fd, 5000) as memory:
        commands.fill(memory, 8)
        commands.synchronize()
    assert os.pread(fd, 5001, 0) == b"\x08" * 5000
    os.close(fd)


@pytest.mark.parametrize("size", [PAGE - 1, PAGE + 1])
def test_import_of_another_size(ctx: gs.Context, size: int) -> None:
    """The driver maps memory as a whole. What was asked for before that is whole pages."""
    with ctx.alloc_device(100, export=OPAQUE_FD) as memory:
        fd = memory.export_fd()
        if size > PAGE:
            with pytest.raises(gs.errors.InvalidArgument):
                ctx.import_fd(fd, size)
        else:
            ctx.import_fd(fd, size).close()
        os.close(fd)


def test_descriptors_that_are_no_gpu_memory_are_refused(ctx: gs.Context) -> None:
    fd = os.memfd_create("plain")
    os.ftruncate(fd, PAGE)
    for wrong in (fd, -1, 10**6):
        with pytest.raises(gs.errors.InvalidArgument):
            ctx.import_fd(wrong, PAGE)
    os.close(fd)


def test_dma_buffers_are_refused(ctx: gs.Context) -> None:
    kind = gs.ExternalMemoryType.DMA_BUF
    with pytest.raises(gs.errors.UnsupportedEnumeration):
        ctx.alloc_device(100, export=kind)
    with ctx.alloc_device(100, export=OPAQUE_FD) as memory:
        with pytest.raises(gs.errors.UnsupportedEnumeration):
            memory.export_fd(kind)
        fd = memory.export_fd()
        with pytest.raises(gs.errors.UnsupportedEnumeration):
            ctx.import_fd(fd, 100, type=kind)
        os.close(fd)


def test_aligned_export(ctx: gs.Context) -> None:
    description = ze.ze_device_mem_alloc_desc_t()
    wish = ze.ze_external_memory_export_desc_t(flags=ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD)
    description.pNext = ctypes.addressof(wish)
    pointer = ctypes.c_void_p()
    result = ze.zeMemAllocDevice(
        ctx.handle,
        ctypes.byref(description),
        100,
        1 << 25,
        ctx.devices[0].handle,
        ctypes.byref(pointer),
    )
    assert result == ze.ZE_RESULT_SUCCESS
    assert (pointer.value or 1) % (1 << 25) == 0
    assert ze.zeMemFree(ctx.handle, pointer) == ze.ZE_RESULT_SUCCESS


def test_image_goes_out_and_comes_in(ctx: gs.Context) -> None:
    texels = np.random.default_rng(3).integers(0, 256, (600, 900, 4), np.uint8)
    with gs.Image(ctx, (600, 900), "rgba8uint") as image:
        image.upload(texels)
        fd = image.export_fd()
    with gs.Image.import_fd(ctx, fd, (600, 900), "rgba8uint") as again:
        os.close(fd)
        assert np.array_equal(again.download(), texels)


def test_shared_memory_goes_when_it_is_closed(ctx: gs.Context) -> None:
    def held() -> int:
        links = [os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.exists()]
        return sum(STANDIN_MEMORY in link for link in links)

    ctx.alloc_device(100).close()
    before = held()
    memory = ctx.alloc_device(11 * PAGE)
    opened = ctx.open_ipc(memory.ipc_handle())
    fd = memory.export_fd()
    assert held() > before
    os.close(fd)
    opened.close()
    memory.close()
    until = time.monotonic() + 10
    while held() > before and time.monotonic() < until:
        time.sleep(0.001)  # the thread that hands descriptors out closes its own a little later
    assert held() == before
