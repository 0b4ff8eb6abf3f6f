"""Virtual memory: reserved addresses, physical memory, and what is mapped where.

driver/reservation.py has the objects behind these functions.
"""

from __future__ import annotations

import importlib
import mmap
import os
from _thread import allocate_lock
from types import ModuleType

from groundstate import ze
from groundstate.driver import external_memory, ipc, native, platform
from groundstate.driver.api import (
    Failure,
    Handles,
    handler,
    write_pointer,
    write_u32,
    write_u64,
)
from groundstate.driver.reservation import (
    Physical,
    Reservation,
    Segment,
    give_to_host,
    map_nothing,
    map_segment,
    protect,
    release,
    reserve,
)

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from groundstate.driver.devices.nvidia.virtual_memory import GpuPages

_lock = allocate_lock()
_reservations: dict[int, Reservation] = {}
_physicals: Handles[Physical] = Handles("ze_physical_mem_handle_t")
_destroyed: list[Physical] = []
"""Physical memory without a handle, while it is mapped."""
_next_identifier = iter(range(1, 1 << 62))


def physical_at(context: int, pointer: int) -> Physical | None:
    """The physical memory that a handle cast to a pointer, or a mapped address, stands for."""
    with _lock:
        named = _physicals.get(pointer)
        if named is not None:
            return named if named.context == context else None
        reservation = _containing(context, pointer, 1)
        if reservation is None:
            return None
        segments = [each for each in reservation.segments if each.start <= pointer < each.end]
        return segments[0].physical


def _containing(context: int, start: int, size: int) -> Reservation | None:
    for each in _reservations.values():
        if each.context == context and each.start <= start and start + size <= each.end:
            return each
    return None


def _reservation(context: int, start: int, size: int) -> Reservation:
    found = _containing(context, start, size)
    if found is None:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"{size} bytes from {start:#x} are not in a reservation of this context",
        )
    return found


def _check_pages(start: int, size: int) -> None:
    if start % mmap.PAGESIZE:
        raise Failure(
            ze.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
            f"{start:#x} does not start a page of {mmap.PAGESIZE} bytes",
        )
    _check_size(size)


def _check_size(size: int) -> None:
    if size % mmap.PAGESIZE:
        raise Failure(
            ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
            f"{size} bytes are not whole pages of {mmap.PAGESIZE} bytes",
        )


def _forget_dead_contexts() -> None:
    """Frees reservations whose context was destroyed without freeing them."""
    for start, each in list(_reservations.items()):
        if not native.is_live(each.context, "ze_context_handle_t"):
            release(each)
            del _reservations[start]
    _free_unmapped()


def forget_context(context: int) -> None:
    """Frees the reservations and the physical memory of a context that was lost."""
    with _lock:
        for start, reservation in list(_reservations.items()):
            if reservation.context == context:
                release(reservation)
                del _reservations[start]
        for handle, physical in list(_physicals.items()):
            if physical.context == context:
                _end(handle)


# --- Reservations -------------------------------------------------------------------------------


@handler
def zeVirtualMemQueryPageSize(hContext: int, hDevice: int, size: int, pagesize: int) -> None:
    is_gpu = platform.device(hDevice).gpu is not None
    write_u64(pagesize, _gpu_memory().page_size(hDevice) if is_gpu else mmap.PAGESIZE)


@handler
def zeVirtualMemReserve(hContext: int, pStart: int, size: int, pptr: int) -> None:
    _check_pages(pStart, size)
    gpu = native.context_gpu(hContext)
    with _lock:
        _forget_dead_contexts()
        if gpu and size % _gpu_memory().page_size(gpu) == 0:
            addresses = _gpu_memory().GpuAddresses(gpu, size, pStart)
            start = addresses.start
            _reservations[start] = Reservation(hContext, start, start + size, addresses)
            write_pointer(pptr, start)
            return
        start = reserve(size, pStart)
        if not start:
            raise Failure(
                ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                f"no {size} bytes of addresses are free in a row",
            )
        end = start + size
        _reservations[start] = Reservation(hContext, start, end)
    write_pointer(pptr, start)


@handler
def zeVirtualMemFree(hContext: int, ptr: int, size: int) -> None:
    _check_pages(ptr, size)
    with _lock:
        reservation = _reservations.get(ptr)
        if reservation is None or reservation.context != hContext:
            reservation = _reservation(hContext, ptr, size)
        if (reservation.start, reservation.end) != (ptr, ptr + size):
            raise Failure(
                ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
                f"a reservation is freed as a whole: {reservation.start:#x} with "
                f"{reservation.end - reservation.start} bytes",
            )
        release(reservation)
        del _reservations[ptr]
        _free_unmapped()


# --- Physical memory ----------------------------------------------------------------------------


@handler
def zePhysicalMemCreate(hContext: int, hDevice: int, desc: int, phPhysicalMemory: int) -> None:
    descriptor = ze.ze_physical_mem_desc_t.from_address(desc)
    on_host = bool(descriptor.flags & ze.ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST)
    if on_host and descriptor.flags & ze.ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ENUMERATION, "physical memory is on the host or on a device"
        )
    if not on_host and not hDevice:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "device memory needs the device it lies on"
        )
    if hDevice and not native.context_uses_device(hContext, hDevice):
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "the context was created without this device"
        )
    if descriptor.size % mmap.PAGESIZE:
        raise Failure(
            ze.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
            f"{descriptor.size} bytes are not whole pages of {mmap.PAGESIZE} bytes",
        )
    external_memory.check_descriptor(descriptor.pNext or 0)
    device = 0 if on_host else hDevice
    native.device_charge(device, descriptor.size)
    try:
        memory = _new_memory(device, descriptor.size, descriptor.pNext or 0)
    except BaseException:
        native.device_uncharge(device, descriptor.size)
        raise
    try:
        handle = native.object_new("ze_physical_mem_handle_t")
    except BaseException:
        if isinstance(memory, int):
            os.close(memory)
        else:
            memory.close()
        native.device_uncharge(device, descriptor.size)
        raise
    with _lock:
        identifier = next(_next_identifier)
        _physicals[handle] = Physical(hContext, device, descriptor.size, memory, identifier)
    write_pointer(phPhysicalMemory, handle)


def _gpu_memory() -> ModuleType:
    """What there is for GPUs, which is not imported without one."""
    return importlib.import_module("groundstate.driver.devices.nvidia.virtual_memory")


def _new_memory(device: int, size: int, next_struct: int) -> int | GpuPages:
    """Pages of a GPU; or a file of that size: a new one, or the one that the descriptor imports."""
    if external_memory.is_gpu(device):
        if external_memory.imported_gpu_fd(device, next_struct) >= 0:
            raise Failure(
                ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                "physical memory of an NVIDIA GPU comes from no file descriptor; device memory "
                "that is allocated may",
            )
        pages: GpuPages = _gpu_memory().GpuPages(device, size)
        return pages
    imported = external_memory.imported_fd(next_struct, size)
    try:
        if imported >= 0:
            return os.dup(imported)
        return native.memory_file(size)
    except OSError as error:
        raise Failure(
            ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
            f"no physical memory of {size} bytes: {error.strerror}",
        ) from error


def _physical(context: int, handle: int) -> Physical:
    found = _physicals[handle]
    if found.context != context:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "the physical memory is of another context"
        )
    return found


@handler
def zePhysicalMemDestroy(hContext: int, hPhysicalMemory: int) -> None:
    with _lock:
        _physical(hContext, hPhysicalMemory)
        _end(hPhysicalMemory)


def _end(handle: int) -> None:
    """Ends a handle. The memory goes when it is no longer mapped."""
    _destroyed.append(_physicals.take(handle))
    native.object_end(handle)
    _free_unmapped()


def _free_unmapped() -> None:
    """Gives the memory back that has no handle and is mapped nowhere."""
    if not _destroyed:
        return
    mapped = {
        segment.physical
        for reservation in _reservations.values()
        for segment in reservation.segments
    }
    for physical in [each for each in _destroyed if each not in mapped]:
        _destroyed.remove(physical)
        physical.close()
        native.device_uncharge(physical.device, physical.size)


@handler
def zePhysicalMemGetProperties(hContext: int, hPhysicalMem: int, pMemProperties: int) -> None:
    properties = ze.ze_physical_mem_properties_t.from_address(pMemProperties)
    with _lock:
        physical = _physical(hContext, hPhysicalMem)
        properties.id, properties.size = physical.identifier, physical.size
        if properties.stype == ze.ZE_STRUCTURE_TYPE_PHYSICAL_MEM_PROPERTIES:
            external_memory.answer_exports(
                properties.pNext or 0, lambda: ipc.duplicate(physical.file())
            )


# --- Mapping ------------------------------------------------------------------------------------


def _check_reach(
    reservation: Reservation, physical: Physical, start: int, size: int, offset: int
) -> None:
    """A GPU maps its own pages at addresses that it has reserved, and the host at others."""
    if physical.pages is not None:
        physical.pages.check(start, size, offset)
        if reservation.addresses is None:
            raise Failure(
                ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                "the host uses these addresses, or they are not whole pages of the GPU; reserve "
                "others for its memory",
            )
    elif reservation.addresses is not None:
        give_to_host(reservation)


@handler
def zeVirtualMemMap(
    hContext: int, ptr: int, size: int, hPhysicalMemory: int, offset: int, access: int
) -> None:
    _check_pages(ptr, size)
    _check_pages(offset, size)
    with _lock:
        reservation = _reservation(hContext, ptr, size)
        physical = _physical(hContext, hPhysicalMemory)
        if offset + size > physical.size:
            raise Failure(
                ze.ZE_RESULT_ERROR_INVALID_SIZE,
                f"the physical memory has {physical.size} bytes, not {offset} + {size}",
            )
        _check_reach(reservation, physical, ptr, size, offset)
        if any(each.physical for each in reservation.cut(ptr, ptr + size)):
            raise Failure(
                ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
                "part of the range is mapped already; call zeVirtualMemUnmap first",
            )
        segment = Segment(ptr, ptr + size, access, physical, offset)
        reservation.change(segment, lambda: map_segment(segment, physical))


@handler
def zeVirtualMemUnmap(hContext: int, ptr: int, size: int) -> None:
    _check_pages(ptr, size)
    with _lock:
        reservation = _reservation(hContext, ptr, size)
        for each in reservation.segments:
            if each.pages is not None and each.start < ptr + size and each.end > ptr:
                each.pages.check(max(ptr, each.start), min(ptr + size, each.end))
        before = [each.copy() for each in reservation.cut(ptr, ptr + size)]
        reservation.change(Segment(ptr, ptr + size), lambda: map_nothing(before))
        _free_unmapped()


@handler
def zeVirtualMemSetAccessAttribute(hContext: int, ptr: int, size: int, access: int) -> None:
    _check_pages(ptr, size)
    with _lock:
        reservation = _reservation(hContext, ptr, size)
        for each in reservation.segments:
            if each.pages is not None and each.start < ptr + size and each.end > ptr:
                each.pages.check(max(ptr, each.start), min(ptr + size, each.end))
        for segment in reservation.cut(ptr, ptr + size):
            if segment.physical is not None:
                protect(segment, access)
            segment.access = access


@handler
def zeVirtualMemGetAccessAttribute(
    hContext: int, ptr: int, size: int, access: int, outSize: int
) -> None:
    _check_pages(ptr, size)
    with _lock:
        segments = [each for each in _reservation(hContext, ptr, size).segments if each.end > ptr]
    end = ptr
    for segment in segments:
        if segment.access != segments[0].access:
            break
        end = segment.end
    write_u32(access, segments[0].access)
    write_u64(outSize, min(end - ptr, size))
