"""Memory that is shared with other processes, and what an allocation tells about itself.

Plain allocations never come here: native/memory/memory.c serves them.
"""

from __future__ import annotations

import os

from groundstate import ze
from groundstate.driver import external_memory, ipc, native, virtual_memory
from groundstate.driver.api import (
    Failure,
    find_in_chain,
    handler,
    read_u32,
    write_pointer,
    write_u32,
    write_u64,
)
from groundstate.native_layouts import AllocationFacts

ROW_ALIGNMENT_BYTES = 64
"""Rows of a pitched image start on a cache line."""


@handler
def zeMemGetAllocProperties(
    hContext: int, ptr: int, pMemAllocProperties: int, phDevice: int
) -> None:
    properties = ze.ze_memory_allocation_properties_t.from_address(pMemAllocProperties)
    found = native.allocation(hContext, ptr)
    if found is None:
        return
    next_struct = properties.pNext or 0
    physical = virtual_memory.physical_at(hContext, found.base)
    if physical is not None:
        external_memory.answer_exports(next_struct, lambda: ipc.duplicate(physical.file()))
    else:
        external_memory.answer_exports_of(next_struct, hContext, found)
    pieces = find_in_chain(next_struct, ze.ZE_STRUCTURE_TYPE_MEMORY_SUB_ALLOCATIONS_EXP_PROPERTIES)
    if pieces:
        _write_sub_allocation(pieces, found)


def _write_sub_allocation(address: int, found: AllocationFacts) -> None:
    """An allocation is one piece here."""
    request = ze.ze_memory_sub_allocations_exp_properties_t.from_address(address)
    if not request.pCount:
        return
    room = read_u32(request.pCount)
    write_u32(request.pCount, 1)
    if request.pSubAllocations and room > 0:
        piece = ze.ze_sub_allocation_t.from_address(request.pSubAllocations)
        piece.base, piece.size = found.base, found.size


# --- IPC ----------------------------------------------------------------------------------------


def _write_ipc_handle(context: int, pointer: int, handle: int) -> None:
    physical = virtual_memory.physical_at(context, pointer)
    if physical is not None:
        on_host = int(physical.device == 0)
        ipc.write_handle(
            handle, ipc.SharedFile(ipc.MEMORY, physical.file(), physical.size, on_host)
        )
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
    shared = ipc.SharedFile(
        ipc.MEMORY, external_memory.shared_fd(context, found), found.size, int(is_host)
    )
    ipc.write_handle(handle, shared)


@handler
def zeMemGetIpcHandle(hContext: int, ptr: int, pIpcHandle: int) -> None:
    _write_ipc_handle(hContext, ptr, pIpcHandle)


@handler
def zeMemGetIpcHandleWithProperties(hContext: int, ptr: int, pNext: int, pIpcHandle: int) -> None:
    external_memory.check_handle_type(pNext)
    _write_ipc_handle(hContext, ptr, pIpcHandle)


@handler
def zeMemPutIpcHandle(hContext: int, handle: int) -> None:
    """The file stays the allocation's, so there is nothing to release."""
    ipc.check_handle(handle, ipc.MEMORY)


@handler
def zeMemOpenIpcHandle(hContext: int, hDevice: int, handle: int, flags: int, pptr: int) -> None:
    if not native.context_uses_device(hContext, hDevice):
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "the context was created without this device"
        )
    shared = ipc.open_handle(handle, ipc.MEMORY)
    try:
        pointer = _open(hContext, hDevice, shared)
    finally:
        os.close(shared.fd)
    write_pointer(pptr, pointer)


def _open(context: int, device: int, shared: ipc.SharedFile) -> int:
    """Maps what a handle leads to: a file, or memory that a note tells of."""
    if ipc.is_note(shared.fd):
        opened: int = external_memory.gpus().open_offer(context, device, shared.fd)
        return opened
    if external_memory.is_gpu(device) and not shared.detail:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            "the handle leads to device memory of a CPU; open it for such a device",
        )
    if shared.size > os.fstat(shared.fd).st_size:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            "the handle was changed: it asks for more than there is",
        )
    return native.allocation_open(context, 0 if shared.detail else device, shared.fd, shared.size)


@handler
def zeMemGetIpcHandleFromFileDescriptorExp(hContext: int, handle: int, pIpcHandle: int) -> None:
    fd = handle if handle < 1 << 31 else -1
    size = external_memory.file_bytes(fd)
    ipc.write_handle(pIpcHandle, ipc.SharedFile(ipc.MEMORY, fd, size))


@handler
def zeMemGetFileDescriptorFromIpcHandleExp(hContext: int, ipcHandle: int, pHandle: int) -> None:
    """The descriptor stays the driver's in the process that made the handle."""
    write_u64(pHandle, ipc.contained_fd(ipcHandle, ipc.MEMORY))


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
