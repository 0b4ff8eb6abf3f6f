"""Memory that is shared with other processes and APIs, and what an allocation tells about itself.

Plain allocations never come here: native/memory.c serves them.
"""

from __future__ import annotations

import os

from groundstate import ze
from groundstate.driver import ipc, native, virtual_memory
from groundstate.driver.api import (
    Failure,
    chain,
    find_in_chain,
    handler,
    read_u32,
    write_pointer,
    write_u32,
    write_u64,
)

EXPORTABLE = ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD | ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF
PAGE_BYTES = 4096
ROW_ALIGNMENT_BYTES = 64
"""Rows of a pitched image start on a cache line."""


# --- External memory ----------------------------------------------------------------------------


@handler
def zeMemAllocDevice(
    hContext: int, device_desc: int, size: int, alignment: int, hDevice: int, pptr: int
) -> None:
    descriptor = ze.ze_device_mem_alloc_desc_t.from_address(device_desc)
    write_pointer(pptr, _import(hContext, hDevice, descriptor.pNext, size))


@handler
def zeMemAllocHost(hContext: int, host_desc: int, size: int, alignment: int, pptr: int) -> None:
    descriptor = ze.ze_host_mem_alloc_desc_t.from_address(host_desc)
    mapping = find_in_chain(descriptor.pNext, ze.ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC)
    if mapping:
        write_pointer(pptr, _adopt(hContext, mapping))
    else:
        write_pointer(pptr, _import(hContext, 0, descriptor.pNext, size))


def _import(context: int, device: int, next_struct: int | None, size: int) -> int:
    """Maps memory that came in as a file descriptor."""
    found = find_in_chain(next_struct or 0, ze.ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD)
    if not found:
        raise Failure(
            ze.ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
            "Win32 handles are not memory on this system; import a file descriptor",
        )
    request = ze.ze_external_memory_import_fd_t.from_address(found)
    _check_type(request.flags)
    try:
        available = os.lseek(request.fd, 0, os.SEEK_END)
    except OSError as error:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"file descriptor {request.fd} is not memory: {error.strerror}",
        ) from error
    if size > available:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_SIZE,
            f"{size} bytes asked for, the imported memory has {available}",
        )
    return native.allocation_import(context, device, request.fd, size, from_ipc=False)


def _check_type(flags: int) -> None:
    if flags & ~EXPORTABLE:
        raise Failure(
            ze.ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
            "only OPAQUE_FD and DMA_BUF memory can be shared on this system",
        )


def _adopt(context: int, address: int) -> int:
    """Makes memory of the application a host allocation, at its own address."""
    mapping = ze.ze_external_memmap_sysmem_ext_desc_t.from_address(address)
    start, size = mapping.pSystemMemory or 0, mapping.size
    if start == 0 or start % PAGE_BYTES or size == 0 or size % PAGE_BYTES:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"system memory is mapped in whole pages of {PAGE_BYTES} bytes; {start:#x} with "
            f"{size} bytes is not",
        )
    native.allocation_adopt(context, start, size)
    return start


@handler
def zeMemGetAllocProperties(
    hContext: int, ptr: int, pMemAllocProperties: int, phDevice: int
) -> None:
    properties = ze.ze_memory_allocation_properties_t.from_address(pMemAllocProperties)
    found = native.allocation(hContext, ptr)
    for stype, address in chain(properties.pNext or 0):
        if stype == ze.ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD and found is not None:
            _export_fd(hContext, found, address)
        elif stype == ze.ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_WIN32:
            _check_type(ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_WIN32)
        elif stype == ze.ZE_STRUCTURE_TYPE_MEMORY_SUB_ALLOCATIONS_EXP_PROPERTIES:
            _write_sub_allocation(address, found)


def _export_fd(context: int, found: native.Allocation, address: int) -> None:
    """Gives the caller a descriptor of its own for the allocation's pages."""
    request = ze.ze_external_memory_export_fd_t.from_address(address)
    _check_type(request.flags)
    physical = virtual_memory.physical_at(context, found.base)
    request.fd = os.dup(physical.fd if physical else _shared_fd(context, found))


def _write_sub_allocation(address: int, found: native.Allocation | None) -> None:
    """An allocation is one piece here."""
    request = ze.ze_memory_sub_allocations_exp_properties_t.from_address(address)
    if found is None or not request.pCount:
        return
    room = read_u32(request.pCount)
    write_u32(request.pCount, 1)
    if request.pSubAllocations and room > 0:
        piece = ze.ze_sub_allocation_t.from_address(request.pSubAllocations)
        piece.base, piece.size = found.base, found.size


# --- IPC ----------------------------------------------------------------------------------------


def _shared_fd(context: int, found: native.Allocation) -> int:
    fd = native.allocation_share(context, found.base)
    if fd < 0:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            "this memory cannot be shared: it is the application's own",
        )
    return fd


def _write_ipc_handle(context: int, pointer: int, handle: int) -> None:
    physical = virtual_memory.physical_at(context, pointer)
    if physical is not None:
        ipc.write_handle(handle, ipc.SharedFile(ipc.MEMORY, physical.fd, physical.size))
        return
    found = native.allocation(context, pointer)
    if found is None or found.base != pointer:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"{pointer:#x} is not the start of an allocation of this context",
        )
    if found.type == ze.ZE_MEMORY_TYPE_SHARED:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            "shared allocations have no IPC handle; allocate device or host memory",
        )
    is_host = found.type == ze.ZE_MEMORY_TYPE_HOST
    shared = ipc.SharedFile(ipc.MEMORY, _shared_fd(context, found), found.size, int(is_host))
    ipc.write_handle(handle, shared)


@handler
def zeMemGetIpcHandle(hContext: int, ptr: int, pIpcHandle: int) -> None:
    _write_ipc_handle(hContext, ptr, pIpcHandle)


@handler
def zeMemGetIpcHandleWithProperties(hContext: int, ptr: int, pNext: int, pIpcHandle: int) -> None:
    wanted = find_in_chain(pNext, ze.ZE_STRUCTURE_TYPE_IPC_MEM_HANDLE_TYPE_EXT_DESC)
    if wanted:
        flags = ze.ze_ipc_mem_handle_type_ext_desc_t.from_address(wanted).typeFlags
        if flags & ze.ZE_IPC_MEM_HANDLE_TYPE_FLAG_FABRIC_ACCESSIBLE:
            raise Failure(
                ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                "no fabric leads to the memory of a CPU; ask for the default handle type",
            )
    _write_ipc_handle(hContext, ptr, pIpcHandle)


@handler
def zeMemPutIpcHandle(hContext: int, handle: int) -> None:
    os.close(
        ipc.open_handle(handle, ipc.MEMORY).fd
    )  # says if it is none; the file stays the allocation's


@handler
def zeMemOpenIpcHandle(hContext: int, hDevice: int, handle: int, flags: int, pptr: int) -> None:
    if not native.context_uses_device(hContext, hDevice):
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "the context was created without this device"
        )
    shared = ipc.open_handle(handle, ipc.MEMORY)
    try:
        if shared.size > os.fstat(shared.fd).st_size:
            raise Failure(
                ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
                "the handle was changed: it asks for more than there is",
            )
        device = 0 if shared.detail else hDevice
        pointer = native.allocation_import(hContext, device, shared.fd, shared.size, from_ipc=True)
    finally:
        os.close(shared.fd)
    write_pointer(pptr, pointer)


@handler
def zeMemGetIpcHandleFromFileDescriptorExp(hContext: int, handle: int, pIpcHandle: int) -> None:
    try:
        size = os.lseek(handle, 0, os.SEEK_END)
    except (OSError, OverflowError) as error:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"{handle} is no file descriptor of memory"
        ) from error
    ipc.write_handle(pIpcHandle, ipc.SharedFile(ipc.MEMORY, handle, size))


@handler
def zeMemGetFileDescriptorFromIpcHandleExp(hContext: int, ipcHandle: int, pHandle: int) -> None:
    shared = ipc.open_handle(ipcHandle, ipc.MEMORY)
    write_u64(pHandle, shared.fd)


# --- Layout -------------------------------------------------------------------------------------


@handler
def zeMemGetPitchFor2dImage(
    hContext: int,
    hDevice: int,
    imageWidth: int,
    imageHeight: int,
    elementSizeInBytes: int,
    rowPitch: int,
) -> None:
    if imageWidth == 0 or imageHeight == 0 or elementSizeInBytes == 0:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_SIZE, "an image has a width, a height and an element size"
        )
    row = imageWidth * elementSizeInBytes
    write_u64(rowPitch, -(-row // ROW_ALIGNMENT_BYTES) * ROW_ALIGNMENT_BYTES)
