"""Memory that comes from elsewhere or goes there: as a file descriptor, or as the caller's pages.

Descriptors of memory are memory files. One that the driver hands out can be mapped by anybody; one
that it is given can be any file that can be mapped for reading and writing, a DMA buffer included.

Those of a GPU's memory are NVIDIA's driver's: CUDA in other processes and other APIs of that driver
can import them.
"""

from __future__ import annotations

import importlib
import mmap
import os
from collections.abc import Callable
from types import ModuleType

from groundstate import ze
from groundstate.driver import ipc, native, platform
from groundstate.driver.api import Failure, find_in_chain, handler, write_pointer
from groundstate.driver.platform import Device
from groundstate.native_layouts import AllocationFacts

TYPES = ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD | ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF
"""The kinds of external memory that there are on Linux."""

GPU_TYPES = ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD
"""Those of them that memory of an NVIDIA GPU can be."""


def types_of(device: Device) -> int:
    """The kinds of external memory that a device's memory can become and come from."""
    if device.gpu is None:
        return int(TYPES)
    return int(GPU_TYPES) if gpus().exports(device.handle) else 0


def gpus() -> ModuleType:
    """The native half of GPUs, which is not imported without one."""
    return importlib.import_module("groundstate.driver.devices.nvidia.native_gpu")


def is_gpu(device: int) -> bool:
    """Whether a handle is that of an NVIDIA GPU."""
    return bool(device) and platform.device(device).gpu is not None


def no_win32() -> Failure:
    """What a request for a Windows handle is answered with."""
    return Failure(
        ze.ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
        "Win32 handles are not memory on this system; share a file descriptor "
        "(ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD or ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF)",
    )


def check_type(flags: int) -> None:
    """Refuses the kinds of external memory of other systems."""
    if flags & ~TYPES:
        raise Failure(
            ze.ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
            "only memory of ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD and "
            "ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF can be shared on this system",
        )


def file_bytes(fd: int) -> int:
    """The size of a file of memory."""
    try:
        size = os.fstat(fd).st_size
    except OSError as error:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"file descriptor {fd} is not memory: {error.strerror}",
        ) from error
    if size == 0:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"file descriptor {fd} is not memory: it is empty"
        )
    return size


def check_descriptor(next_struct: int) -> None:
    """Refuses what new memory cannot be: exported to Windows, or opened over a fabric."""
    found = find_in_chain(next_struct, ze.ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC)
    if found:
        check_type(ze.ze_external_memory_export_desc_t.from_address(found).flags)
    check_handle_type(next_struct)


def check_handle_type(next_struct: int) -> None:
    """Refuses the IPC handles that only a fabric between machines could have."""
    found = find_in_chain(next_struct, ze.ZE_STRUCTURE_TYPE_IPC_MEM_HANDLE_TYPE_EXT_DESC)
    if not found:
        return
    flags = ze.ze_ipc_mem_handle_type_ext_desc_t.from_address(found).typeFlags
    if flags & ~ze.ZE_IPC_MEM_HANDLE_TYPE_FLAG_DEFAULT:
        raise Failure(
            ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
            "no fabric leads to the memory of a CPU; ask for the default IPC handle type",
        )


def _requested(next_struct: int) -> ze.ze_external_memory_import_fd_t | None:
    """The import that a chain of structs asks for."""
    if find_in_chain(next_struct, ze.ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_WIN32):
        raise no_win32()
    found = find_in_chain(next_struct, ze.ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD)
    if not found:
        return None
    request = ze.ze_external_memory_import_fd_t.from_address(found)
    check_type(request.flags)
    return request


def imported_fd(next_struct: int, size: int) -> int:
    """The file that a chain of structs imports, which has at least `size` bytes; or -1."""
    request = _requested(next_struct)
    if request is None:
        return -1
    available = file_bytes(request.fd)
    if size > available:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_SIZE,
            f"{size} bytes asked for, the imported memory has {available}",
        )
    return int(request.fd)


def imported_gpu_fd(device: int, next_struct: int) -> int:
    """The descriptor that a chain of structs imports as memory of a GPU; or -1."""
    request = _requested(next_struct)
    if request is None:
        return -1
    if request.flags & ~types_of(platform.device(device)):
        raise Failure(
            ze.ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
            "memory of an NVIDIA GPU comes from descriptors of NVIDIA's driver only "
            "(ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD), if that has virtual memory for the GPU",
        )
    try:
        os.fstat(request.fd)
    except OSError as error:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"file descriptor {request.fd} is not memory: {error.strerror}",
        ) from error
    return int(request.fd)


# --- Import -------------------------------------------------------------------------------------


@handler
def zeMemAllocDevice(
    hContext: int, device_desc: int, size: int, alignment: int, hDevice: int, pptr: int
) -> None:
    descriptor = ze.ze_device_mem_alloc_desc_t.from_address(device_desc)
    next_struct, of_gpu = descriptor.pNext or 0, is_gpu(hDevice)
    fd = imported_gpu_fd(hDevice, next_struct) if of_gpu else imported_fd(next_struct, size)
    if fd < 0:
        raise Failure(
            ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
            "system memory becomes host memory: pass the descriptor to zeMemAllocHost",
        )
    take = gpus().import_fd if of_gpu else native.allocation_import
    write_pointer(pptr, take(hContext, hDevice, fd, size, alignment))


@handler
def zeMemAllocHost(hContext: int, host_desc: int, size: int, alignment: int, pptr: int) -> None:
    descriptor = ze.ze_host_mem_alloc_desc_t.from_address(host_desc)
    fd = imported_fd(descriptor.pNext or 0, size)
    if fd >= 0:
        write_pointer(pptr, native.allocation_import(hContext, 0, fd, size, alignment))
        return
    stype = ze.ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC
    found = find_in_chain(descriptor.pNext or 0, stype)
    mapping = ze.ze_external_memmap_sysmem_ext_desc_t.from_address(found)
    read_only = bool(descriptor.flags & ze.ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY)
    start = mapping.pSystemMemory or 0
    _check_system_memory(start, mapping.size, read_only)
    if size > mapping.size:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_SIZE,
            f"{size} bytes asked for, the system memory has {mapping.size}",
        )
    if alignment and start % alignment:
        raise Failure(
            ze.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
            f"the system memory stays at {start:#x}, which is no multiple of {alignment}",
        )
    native.allocation_adopt(hContext, start, mapping.size)
    write_pointer(pptr, start)


def _check_system_memory(start: int, size: int, read_only: bool) -> None:
    if start == 0 or start % mmap.PAGESIZE or size == 0 or size % mmap.PAGESIZE:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"system memory is mapped in whole pages of {mmap.PAGESIZE} bytes; {start:#x} with "
            f"{size} bytes is not",
        )
    if not _may_use(start, start + size, "r" if read_only else "rw"):
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"{size} bytes from {start:#x} are not all memory that can be read and written; for "
            "memory that is only read, set ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY",
        )


def _may_use(start: int, end: int, access: str) -> bool:
    """True if the process has all pages of a range mapped with at least this access."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            span, allowed = line.split(maxsplit=2)[:2]
            first, last = (int(bound, 16) for bound in span.split("-"))
            if last <= start:
                continue
            if first > start or not set(access) <= set(allowed):
                return False
            start = last
            if start >= end:
                return True
    return False


# --- Export -------------------------------------------------------------------------------------


def shared_fd(context: int, found: AllocationFacts) -> int:
    """The memory file behind an allocation; it stays the driver's."""
    if found.type == ze.ZE_MEMORY_TYPE_HOST_IMPORTED:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            "this memory cannot be shared: it is the application's own",
        )
    fd = native.allocation_share(context, found.base)
    if fd < 0 and native.allocation(context, found.base) is None:
        raise ipc.freed_meanwhile()
    if fd < 0 and found.of_kind:
        raise Failure(
            ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
            "NVIDIA's driver does not share this memory with other processes",
        )
    if fd < 0:
        raise Failure(
            ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
            f"no memory file, or no room in one, for the {found.size} bytes to be shared",
        )
    return fd


def answer_exports_of(next_struct: int, context: int, found: AllocationFacts) -> None:
    """Answers a chain that may ask for an export of an allocation."""
    of_gpu = found.of_kind and found.type == ze.ZE_MEMORY_TYPE_DEVICE
    types = int(GPU_TYPES if of_gpu else TYPES)
    answer_exports(next_struct, lambda: _export(context, found), types)


def _export(context: int, found: AllocationFacts) -> int:
    if not found.of_kind:
        fd = ipc.duplicate(shared_fd(context, found))
        if not ipc.is_note(fd):
            return fd
        os.close(fd)
    exported: int = gpus().export_fd(context, found.base)
    if exported < 0:
        raise Failure(
            ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
            "there is no descriptor for this memory of a GPU; allocate device or host memory that "
            "is to be exported as ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD",
        )
    return exported


def answer_exports(next_struct: int, export: Callable[[], int], types: int = int(TYPES)) -> None:
    """Answers a chain that may ask for an export, with a descriptor that becomes the caller's."""
    if find_in_chain(next_struct, ze.ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_WIN32):
        raise no_win32()
    found = find_in_chain(next_struct, ze.ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD)
    if found:
        request = ze.ze_external_memory_export_fd_t.from_address(found)
        check_type(request.flags)
        if request.flags & ~types:
            raise Failure(
                ze.ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
                "memory of an NVIDIA GPU is exported as "
                "ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD only",
            )
        request.fd = export()
