"""Memory that comes in or goes out as a file descriptor, and the program's own pages as memory."""

import ctypes
import fcntl
import mmap
import os
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.support import Bench, address, copy, fill, finish, view

INVALID = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
UNSUPPORTED_TYPE = ze.ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION
OPAQUE_FD = ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD
DMA_BUF = ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF
OF_WINDOWS = [
    ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_WIN32,
    ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_WIN32_KMT,
    ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_D3D11_TEXTURE,
    ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_D3D11_TEXTURE_KMT,
    ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_D3D12_HEAP,
    ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_D3D12_RESOURCE,
]
PAGE = mmap.PAGESIZE
PATTERN = bytes(range(256)) * 32


def allocate(
    bench: Bench, kind: str, chained: ctypes.Structure, size: int, alignment: int = 0
) -> tuple[int, int]:
    """What zeMemAllocDevice, Host or Shared answers, and the pointer or 0."""
    pointer = ctypes.c_void_p()
    device = ze.ze_device_mem_alloc_desc_t(pNext=ctypes.addressof(chained))
    host = ze.ze_host_mem_alloc_desc_t(pNext=ctypes.addressof(chained))
    rest = (size, alignment, ctypes.byref(pointer))
    if kind == "host":
        result = ze.zeMemAllocHost(bench.context, ctypes.byref(host), *rest)
    elif kind == "device":
        arguments = (*rest[:2], bench.device, rest[2])
        result = ze.zeMemAllocDevice(bench.context, ctypes.byref(device), *arguments)
    else:
        arguments = (ctypes.byref(host), *rest[:2], bench.device, rest[2])
        result = ze.zeMemAllocShared(bench.context, ctypes.byref(device), *arguments)
    return int(result), pointer.value or 0


def imported(bench: Bench, fd: int, size: int, kind: str = "device", **more: Any) -> int:
    request = ze.ze_external_memory_import_fd_t(flags=more.pop("flags", OPAQUE_FD), fd=fd)
    result, pointer = allocate(bench, kind, request, size, **more)
    check(result)
    return pointer


def refusal(bench: Bench, fd: int, size: int = 4096, kind: str = "device") -> int:
    """What importing a descriptor answers, if it is not success."""
    request = ze.ze_external_memory_import_fd_t(flags=OPAQUE_FD, fd=fd)
    result, pointer = allocate(bench, kind, request, size)
    assert pointer == 0
    assert f"zeMemAlloc{kind.capitalize()}" in last_error()
    return result


def exported(bench: Bench, pointer: int, flags: int = OPAQUE_FD) -> int:
    request = ze.ze_external_memory_export_fd_t(flags=flags, fd=-1)
    properties = ze.ze_memory_allocation_properties_t(pNext=ctypes.addressof(request))
    check(ze.zeMemGetAllocProperties(bench.context, pointer, ctypes.byref(properties), None))
    return int(request.fd)


@contextmanager
def memory_file(content: bytes = PATTERN) -> Iterator[int]:
    fd = os.memfd_create("a file of somebody else", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, content)
    yield fd
    os.close(fd)


@contextmanager
def dma_buffer() -> Iterator[int]:
    """A real DMA buffer, made of a memory file by the system."""
    with memory_file() as file, open("/dev/udmabuf", "rb+", buffering=0) as maker:
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        request = struct.pack("IIQQ", file, 1, 0, len(PATTERN))
        fd = fcntl.ioctl(maker, 0x40187542, request)  # UDMABUF_CREATE
        yield int(fd)
        os.close(int(fd))


@contextmanager
def plain_file() -> Iterator[int]:
    """A file on disk, without a name any more."""
    with tempfile.TemporaryFile() as file:
        file.write(PATTERN)
        file.flush()
        yield file.fileno()


SOURCES = [memory_file, plain_file, *([dma_buffer] if Path("/dev/udmabuf").exists() else [])]

# --- Import ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kind", ["device", "host"])
@pytest.mark.parametrize("flags", [0, OPAQUE_FD, DMA_BUF])
def test_a_file_becomes_memory(
    bench: Bench, source: Callable[[], Any], kind: str, flags: int
) -> None:
    with source() as fd:
        pointer = imported(bench, fd, 8192, kind, flags=flags)
        target, commands = bench.bytes(8192, fill=0), bench.immediate()
        copy(commands, address(target), pointer, 8192)
        finish(commands)
        assert target.tobytes() == PATTERN
        fill(commands, pointer, b"new", 8190)
        finish(commands)
        check(ze.zeMemFree(bench.context, pointer))
        with mmap.mmap(fd, 8192) as there:
            assert there[:8190] == b"new" * 2730, "the caller's descriptor shows what was written"


def test_import_behaves_as_ordinary_allocation(bench: Bench) -> None:
    with memory_file() as fd:
        position = os.lseek(fd, 100, os.SEEK_SET)
        pointer = imported(bench, fd, 5000)
        assert os.lseek(fd, 0, os.SEEK_CUR) == position, "the file is left as it was"
    base, size, device = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_void_p()
    check(
        ze.zeMemGetAddressRange(
            bench.context, pointer + 4999, ctypes.byref(base), ctypes.byref(size)
        )
    )
    assert (base.value, size.value) == (pointer, 5000)
    properties = ze.ze_memory_allocation_properties_t()
    check(
        ze.zeMemGetAllocProperties(
            bench.context, pointer, ctypes.byref(properties), ctypes.byref(device)
        )
    )
    assert (properties.type, device.value) == (ze.ZE_MEMORY_TYPE_DEVICE, bench.device)
    check(ze.zeMemFree(bench.context, pointer))


@pytest.mark.parametrize("alignment", [1, 4096, 1 << 16, 1 << 21])
def test_an_import_is_aligned_as_asked_for(bench: Bench, alignment: int) -> None:
    with memory_file() as fd:
        pointer = imported(bench, fd, 8192, alignment=alignment)
        assert pointer % alignment == 0
        assert view(pointer, 8192).tobytes() == PATTERN
        check(ze.zeMemFree(bench.context, pointer))


def test_files_that_are_too_small_are_refused(bench: Bench) -> None:
    with memory_file(PATTERN[:4096]) as fd:
        assert refusal(bench, fd, 8192) == ze.ZE_RESULT_ERROR_INVALID_SIZE
        assert "has 4096" in last_error()


@pytest.mark.parametrize("kind", ["device", "host"])
def test_import_of_non_memory_descriptor_refused(bench: Bench, kind: str) -> None:
    closed = os.memfd_create("closed")
    os.close(closed)
    reader, writer = os.pipe()
    ours, theirs = socket.socketpair()
    counter = os.eventfd(0)
    folder = os.open("/", os.O_RDONLY)
    nothing = os.open("/dev/null", os.O_RDWR)
    read_only = os.open(__file__, os.O_RDONLY)
    kept = (reader, writer, counter, folder, nothing, read_only)
    for fd in (closed, -1, -(2**31), 10**6, ours.fileno(), *kept):
        assert refusal(bench, fd, 16, kind) == INVALID, fd
        assert f"file descriptor {fd}" in last_error()
    for fd in kept:
        os.close(fd)
    ours.close()
    theirs.close()


@pytest.mark.parametrize("kind", ["device", "host"])
def test_types_of_windows_are_refused(bench: Bench, kind: str) -> None:
    with memory_file() as fd:
        for flags in OF_WINDOWS:
            wish = ze.ze_external_memory_export_desc_t(flags=flags)
            assert allocate(bench, kind, wish, 4096) == (UNSUPPORTED_TYPE, 0)
            request = ze.ze_external_memory_import_fd_t(flags=flags, fd=fd)
            assert allocate(bench, kind, request, 4096) == (UNSUPPORTED_TYPE, 0)
            handle = ze.ze_external_memory_import_win32_handle_t(flags=flags, handle=1)
            assert allocate(bench, kind, handle, 4096) == (UNSUPPORTED_TYPE, 0)
            assert "Win32" in last_error()


def test_shared_memory_is_not_imported(bench: Bench) -> None:
    with memory_file() as fd:
        request = ze.ze_external_memory_import_fd_t(flags=OPAQUE_FD, fd=fd)
        expected = ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
        assert allocate(bench, "shared", request, 4096) == (expected, 0)


def test_what_the_device_says_it_can(bench: Bench) -> None:
    found = ze.ze_device_external_memory_properties_t()
    check(ze.zeDeviceGetExternalMemoryProperties(bench.device, ctypes.byref(found)))
    both = OPAQUE_FD | DMA_BUF
    assert found.memoryAllocationImportTypes == found.memoryAllocationExportTypes == both
    assert found.imageImportTypes == found.imageExportTypes == both


def test_shrunk_imported_file_loses_its_context(bench: Bench) -> None:
    """Its owner breaks a promise; the program lives on, and other contexts too."""
    other = Bench(bench.driver, bench.device)
    with memory_file() as fd:
        pointer = imported(other, fd, 8192)
        os.ftruncate(fd, 0)
        target, commands = other.bytes(8192, fill=0), other.immediate()
        ze.zeCommandListAppendMemoryCopy(commands, address(target), pointer, 8192, None, 0, None)
        result = ze.zeCommandListHostSynchronize(commands, 2**64 - 1)
        assert ze.ZE_RESULT_ERROR_DEVICE_LOST in (
            result,
            ze.zeContextGetStatus(other.context),
        )
    check(ze.zeContextDestroy(other.context))
    target, commands = bench.bytes(16, fill=0), bench.immediate()
    fill(commands, address(target), b"x", 16)
    finish(commands)


# --- Export ---------------------------------------------------------------------------------------

WITHOUT_DRIVER = """
import mmap, sys
with mmap.mmap(int(sys.argv[1]), 8192) as there:
    assert there[:] == bytes(range(256)) * 32
    there[:5] = b"hello"
assert "groundstate" not in sys.modules
"""


@pytest.mark.parametrize("kind", ["device", "host", "shared"])
@pytest.mark.parametrize("flags", [0, OPAQUE_FD, DMA_BUF])
def test_exported_memory_maps_without_driver(bench: Bench, kind: str, flags: int) -> None:
    wish = ze.ze_external_memory_export_desc_t(flags=flags)
    result, pointer = allocate(bench, kind, wish, 8192)
    check(result)
    memory = view(pointer, 8192)
    memory[:] = np.frombuffer(PATTERN, np.uint8)
    fd = exported(bench, pointer, flags)
    assert memory.tobytes() == PATTERN, "exporting leaves the contents alone"
    subprocess.run([sys.executable, "-I", "-c", WITHOUT_DRIVER, str(fd)], pass_fds=[fd], check=True)
    assert memory[:5].tobytes() == b"hello"
    check(ze.zeMemFree(bench.context, pointer))
    assert os.pread(fd, 5, 0) == b"hello", "the descriptor is the caller's own, and keeps the pages"
    os.close(fd)


def test_what_goes_out_comes_back_in(bench: Bench) -> None:
    memory = bench.bytes(8192, fill=3)
    fd = exported(bench, address(memory), DMA_BUF)
    pointer = imported(bench, fd, 8192, flags=DMA_BUF)
    os.close(fd)
    view(pointer, 8192)[:] = 4
    assert (memory == 4).all()
    again = exported(bench, pointer)
    assert os.pread(again, 1, 0) == b"\4"
    os.close(again)
    check(ze.zeMemFree(bench.context, pointer))


def test_exports_that_are_refused(bench: Bench) -> None:
    memory = bench.local(4096)
    for flags in OF_WINDOWS:
        request = ze.ze_external_memory_export_fd_t(flags=flags, fd=-1)
        assert properties_with(bench, memory, request) == UNSUPPORTED_TYPE
        assert request.fd == -1
    handle = ze.ze_external_memory_export_win32_handle_t()
    assert properties_with(bench, memory, handle) == UNSUPPORTED_TYPE
    assert "Win32" in last_error()


def properties_with(bench: Bench, pointer: int, chained: ctypes.Structure) -> int:
    properties = ze.ze_memory_allocation_properties_t(pNext=ctypes.addressof(chained))
    return int(ze.zeMemGetAllocProperties(bench.context, pointer, ctypes.byref(properties), None))


def test_physical_memory_from_a_file(bench: Bench) -> None:
    pattern = PATTERN * (PAGE // 4096)
    with memory_file(pattern) as fd:
        request = ze.ze_external_memory_import_fd_t(flags=OPAQUE_FD, fd=fd)
        description = ze.ze_physical_mem_desc_t(pNext=ctypes.addressof(request), size=2 * PAGE)
        made, start = ctypes.c_void_p(), ctypes.c_void_p()
        create = (bench.context, bench.device, ctypes.byref(description), ctypes.byref(made))
        check(ze.zePhysicalMemCreate(*create))
        physical = made.value
        check(ze.zeVirtualMemReserve(bench.context, None, 2 * PAGE, ctypes.byref(start)))
        access = ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE
        check(ze.zeVirtualMemMap(bench.context, start, 2 * PAGE, physical, 0, access))
        assert view(start.value or 0, 2 * PAGE).tobytes() == pattern
        check(ze.zeVirtualMemUnmap(bench.context, start, 2 * PAGE))
        check(ze.zeVirtualMemFree(bench.context, start, 2 * PAGE))
        check(ze.zePhysicalMemDestroy(bench.context, physical))
        description.size = 3 * PAGE
        assert ze.zePhysicalMemCreate(*create) == ze.ZE_RESULT_ERROR_INVALID_SIZE
        description.size, request.flags = 2 * PAGE, OF_WINDOWS[0]
        assert ze.zePhysicalMemCreate(*create) == UNSUPPORTED_TYPE
    request.flags = OPAQUE_FD
    assert ze.zePhysicalMemCreate(*create) == INVALID, "it was closed"


# --- The program's own memory ---------------------------------------------------------------------


def adopt(bench: Bench, start: int, size: int, **more: Any) -> tuple[int, int]:
    """What zeMemAllocHost answers to system memory, and the pointer or 0."""
    pointer = ctypes.c_void_p()
    request = ze.ze_external_memmap_sysmem_ext_desc_t(pSystemMemory=start, size=size)
    description = ze.ze_host_mem_alloc_desc_t(
        pNext=ctypes.addressof(request), flags=more.get("flags", 0)
    )
    result = ze.zeMemAllocHost(
        bench.context,
        ctypes.byref(description),
        more.get("asked", size or PAGE),
        more.get("alignment", 0),
        ctypes.byref(pointer),
    )
    return int(result), pointer.value or 0


def heap_pages(count: int) -> tuple[Any, int]:
    """An array of the heap, and the start of that many whole pages in it."""
    array = np.ones((count + 1) * PAGE, np.uint8)
    return array, -(-address(array) // PAGE) * PAGE


@pytest.mark.parametrize("place", ["heap", "mmap", "bss"])
def test_program_memory_becomes_host_allocation(bench: Bench, place: str) -> None:
    keep: Any
    if place == "heap":
        keep, start = heap_pages(2)
    elif place == "mmap":
        keep = mmap.mmap(-1, 2 * PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(keep))
    else:
        keep = (ctypes.c_uint8 * (3 * PAGE))()
        start = -(-ctypes.addressof(keep) // PAGE) * PAGE
    assert adopt(bench, start, 2 * PAGE) == (ze.ZE_RESULT_SUCCESS, start)
    properties = ze.ze_memory_allocation_properties_t()
    check(ze.zeMemGetAllocProperties(bench.context, start + 5000, ctypes.byref(properties), None))
    assert properties.type == ze.ZE_MEMORY_TYPE_HOST_IMPORTED
    commands = bench.immediate()
    fill(commands, start, b"ab", 2 * PAGE)
    finish(commands)
    assert view(start, 2 * PAGE).tobytes() == b"ab" * PAGE
    target = bench.bytes(2 * PAGE, fill=0)
    copy(commands, address(target), start, 2 * PAGE)
    finish(commands)
    assert target.tobytes() == b"ab" * PAGE
    over = ze.zeCommandListAppendMemoryFill(commands, start, b"x", 1, 2 * PAGE + 1, None, 0, None)
    assert over == ze.ZE_RESULT_ERROR_INVALID_SIZE
    check(ze.zeMemFree(bench.context, start))
    view(start, 2 * PAGE)[:] = 1  # it is still the program's


def test_pages_are_adopted_whole_and_once(bench: Bench) -> None:
    array, start = heap_pages(4)
    for wrong, size in (
        (start + 1, PAGE),
        (start, PAGE - 1),
        (start, 0),
        (0, PAGE),
        (start + 64, 64),
    ):
        assert adopt(bench, wrong, size) == (INVALID, 0)
        assert "whole pages" in last_error()
    assert adopt(bench, start + PAGE, 2 * PAGE)[0] == ze.ZE_RESULT_SUCCESS
    for overlapping, size in (
        (start, 2 * PAGE),
        (start + PAGE, PAGE),
        (start + 2 * PAGE, 2 * PAGE),
    ):
        assert adopt(bench, overlapping, size) == (INVALID, 0)
        assert "another allocation" in last_error()
    assert adopt(bench, start, PAGE)[0] == ze.ZE_RESULT_SUCCESS
    check(ze.zeMemFree(bench.context, start))
    check(ze.zeMemFree(bench.context, start + PAGE))
    assert adopt(bench, start, PAGE, asked=2 * PAGE) == (ze.ZE_RESULT_ERROR_INVALID_SIZE, 0)
    misaligned = 1 << 40
    unsupported = ze.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT
    assert adopt(bench, start, PAGE, alignment=misaligned) == (unsupported, 0)
    del array


def test_memory_that_is_not_there_is_not_adopted(bench: Bench) -> None:
    pages = mmap.mmap(-1, 4 * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    libc = ctypes.CDLL(None)
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    libc.mprotect(start + PAGE, PAGE, mmap.PROT_READ)
    libc.mprotect(start + 2 * PAGE, PAGE, 0)
    assert adopt(bench, start, PAGE)[0] == ze.ZE_RESULT_SUCCESS
    check(ze.zeMemFree(bench.context, start))
    nowhere = 1 << 20  # below what a process may map by default, and nobody does
    for wrong, size in (
        (start, 2 * PAGE),
        (start + 2 * PAGE, PAGE),
        (start + 2 * PAGE, 2 * PAGE),
        (nowhere, PAGE),
    ):
        assert adopt(bench, wrong, size) == (INVALID, 0)
        assert "read and written" in last_error()
    assert adopt(bench, 2**64 - PAGE, PAGE)[0] == INVALID
    read_only = ze.ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY
    assert adopt(bench, start + PAGE, PAGE) == (INVALID, 0)
    assert adopt(bench, start + PAGE, PAGE, flags=read_only)[0] == ze.ZE_RESULT_SUCCESS
    target, commands = bench.bytes(PAGE, fill=1), bench.immediate()
    copy(commands, address(target), start + PAGE, PAGE)
    finish(commands)
    assert not target.any()
    check(ze.zeMemFree(bench.context, start + PAGE))
    assert adopt(bench, start + 2 * PAGE, PAGE, flags=read_only) == (INVALID, 0)


def test_program_memory_is_not_shared_further(bench: Bench) -> None:
    array, start = heap_pages(1)
    assert adopt(bench, start, PAGE)[0] == ze.ZE_RESULT_SUCCESS
    handle = ze.ze_ipc_mem_handle_t()
    assert ze.zeMemGetIpcHandle(bench.context, start, ctypes.byref(handle)) == INVALID
    request = ze.ze_external_memory_export_fd_t(flags=OPAQUE_FD, fd=-1)
    assert properties_with(bench, start, request) == INVALID
    assert "application's own" in last_error()
    check(ze.zeMemFree(bench.context, start))
    mapping = ze.ze_external_memmap_sysmem_ext_desc_t(pSystemMemory=start, size=PAGE)
    for kind in ("device", "shared"):
        expected = ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
        assert allocate(bench, kind, mapping, PAGE) == (expected, 0)
    del array
