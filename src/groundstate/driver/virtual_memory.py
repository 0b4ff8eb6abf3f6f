"""Virtual memory: reserved addresses, physical memory, and what is mapped where.

A reservation is a range of inaccessible pages. Physical memory is a memory file. Mapping lays pages
of the file into the reservation; each range of it with one state is a segment.
"""

from __future__ import annotations

import ctypes
import importlib
import mmap
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from types import ModuleType

from groundstate import ze
from groundstate.driver import external_memory, native, platform
from groundstate.driver.api import (
    Failure,
    Handles,
    handler,
    write_pointer,
    write_u32,
    write_u64,
)

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from groundstate.driver.devices.nvidia.virtual_memory import GpuAddresses, GpuPages

_MAP_SHARED, _MAP_PRIVATE, _MAP_FIXED, _MAP_ANONYMOUS = 0x01, 0x02, 0x10, 0x20
_MAP_NORESERVE, _MAP_FIXED_NOREPLACE = 0x4000, 0x100000
_PROTECTION: dict[int, int] = {
    ze.ZE_MEMORY_ACCESS_ATTRIBUTE_NONE: 0,
    ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE: mmap.PROT_READ | mmap.PROT_WRITE,
    ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY: mmap.PROT_READ,
}

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t) + (ctypes.c_int,) * 3 + (ctypes.c_long,)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


class Physical:
    """A physical memory object: pages in a memory file, or of a GPU."""

    __slots__ = ("context", "device", "fd", "identifier", "pages", "size")

    def __init__(
        self, context: int, device: int, size: int, memory: int | GpuPages, identifier: int
    ) -> None:
        self.context = context
        self.device = device
        self.size = size
        self.fd = memory if isinstance(memory, int) else -1
        self.pages = None if isinstance(memory, int) else memory
        self.identifier = identifier

    def file(self) -> int:
        """The descriptor of the memory file, to be shared."""
        if self.pages is not None:
            raise Failure(
                ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                "physical memory of an NVIDIA GPU cannot be shared with other processes",
            )
        return self.fd

    def close(self) -> None:
        """Gives the memory back."""
        if self.pages is not None:
            self.pages.close()
        else:
            os.close(self.fd)


class Segment:
    """Pages of a reservation that share one state."""

    __slots__ = ("access", "end", "offset", "physical", "start")

    def __init__(
        self,
        start: int,
        end: int,
        access: int = ze.ZE_MEMORY_ACCESS_ATTRIBUTE_NONE,
        physical: Physical | None = None,
        offset: int = 0,
    ) -> None:
        self.start = start
        self.end = end
        self.access = access
        self.physical = physical
        self.offset = offset

    def copy(self) -> Segment:
        """The same, to be cut on its own."""
        return Segment(self.start, self.end, self.access, self.physical, self.offset)

    @property
    def pages(self) -> GpuPages | None:
        """The pages, if they are a GPU's."""
        return None if self.physical is None else self.physical.pages

    def continues(self, previous: Segment) -> bool:
        """True if both show neighbouring pages of the same physical memory."""
        distance = previous.end - previous.start
        return self.physical is previous.physical and self.offset == previous.offset + distance


class Reservation:
    """A range of addresses, as segments without gaps."""

    __slots__ = ("addresses", "context", "end", "known", "segments", "start")

    def __init__(
        self, context: int, start: int, end: int, addresses: GpuAddresses | None = None
    ) -> None:
        self.context = context
        self.addresses = addresses
        self.start = start
        self.end = end
        self.segments = [Segment(start, end)]
        self.known: set[tuple[int, int, int]] = set()
        """What native/memory/memory.c was told: start, size and device of each mapped range."""

    def split_at(self, address: int) -> None:
        """Makes sure that a segment starts at an address."""
        for index, each in enumerate(self.segments):
            if each.start < address < each.end:
                offset = each.offset + address - each.start
                rest = Segment(address, each.end, each.access, each.physical, offset)
                each.end = address
                self.segments.insert(index + 1, rest)
                return

    def cut(self, start: int, end: int) -> list[Segment]:
        """The segments that make up exactly a range."""
        self.split_at(start)
        self.split_at(end)
        return [each for each in self.segments if start <= each.start and each.end <= end]

    def change(self, segment: Segment, show: Callable[[], None]) -> None:
        """Replaces what was there and has the pages show it; all is as before if that fails."""
        before = [each.copy() for each in self.segments]
        try:
            self.replace(segment)
            show()
        except BaseException:
            self.segments = before
            with suppress(Failure):  # what is not known now is told with the next change
                self.tell_native()
            raise

    def replace(self, segment: Segment) -> None:
        """Puts one segment in the place of what was there."""
        self.split_at(segment.start)
        self.split_at(segment.end)
        outside = [
            each for each in self.segments if each.end <= segment.start or each.start >= segment.end
        ]
        self.segments = sorted([*outside, segment], key=lambda each: each.start)
        self.tell_native()

    def mapped_ranges(self) -> set[tuple[int, int, int]]:
        """Start, size and device of each range that one piece of physical memory lies behind."""
        ranges: list[list[int]] = []
        previous: Segment | None = None
        for each in self.segments:
            if each.physical is not None:
                if previous is not None and each.continues(previous):
                    ranges[-1][1] += each.end - each.start
                else:
                    ranges.append([each.start, each.end - each.start, each.physical.device])
            previous = each
        return {(start, size, device) for start, size, device in ranges}

    def tell_native(self) -> None:
        """Makes the mapped ranges known as allocations of the context."""
        now = self.mapped_ranges()
        for start, _, _ in self.known - now:
            native.mapping_remove(self.context, start)
        self.known &= now
        for start, size, device in now - self.known:
            native.mapping_add(self.context, device, start, size)
            self.known.add((start, size, device))


_lock = Lock()
_reservations: dict[int, Reservation] = {}
_physicals: Handles[Physical] = Handles("ze_physical_mem_handle_t")
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


def _map(start: int, size: int, protection: int, flags: int, fd: int = -1, offset: int = 0) -> int:
    """mmap; 0 on failure."""
    address = _libc.mmap(start or None, size, protection, flags, fd, offset)
    return 0 if address is None or address == ctypes.c_void_p(-1).value else int(address)


def _uses_host(context: int) -> bool:
    """Whether a context has the CPU among its devices."""
    return any(
        device.gpu is None and native.context_uses_device(context, device.handle)
        for device in platform.current().by_handle.values()
    )


def _map_for_gpu(gpu: int, size: int) -> int:
    """Inaccessible pages that begin where a page of the GPU could; 0 on failure."""
    flags = _MAP_PRIVATE | _MAP_ANONYMOUS | _MAP_NORESERVE
    page: int = _gpu_memory().page_size(gpu)
    whole = _map(0, size + page, 0, flags) if size >= page else 0
    if not whole:
        return _map(0, size, 0, flags)
    start = -(-whole // page) * page
    for first, end in ((whole, start), (start + size, whole + size + page)):
        if end > first:
            _libc.munmap(first, end - first)
    return start


def _map_nothing(segments: Sequence[Segment]) -> None:
    """Makes pages of a reservation inaccessible and gives their memory back."""
    flags = _MAP_PRIVATE | _MAP_ANONYMOUS | _MAP_NORESERVE | _MAP_FIXED
    for each in segments:
        if each.pages is not None:
            each.pages.unmap(each.start, each.end - each.start)
    of_host = [each for each in segments if each.pages is None and each.physical is not None]
    if not all(_map(each.start, each.end - each.start, 0, flags) for each in of_host):
        raise Failure(ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "the system refuses another mapping")


def _map_segment(segment: Segment, physical: Physical) -> None:
    """Has the pages of a segment show its physical memory."""
    size, flags = segment.end - segment.start, _MAP_SHARED | _MAP_FIXED
    if physical.pages is not None:
        physical.pages.map(segment.start, size, segment.offset, segment.access)
        return
    protection = _PROTECTION[segment.access]
    if not _map(segment.start, size, protection, flags, physical.fd, segment.offset):
        raise Failure(ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "the system refuses another mapping")


def _protect(segment: Segment, access: int) -> None:
    size = segment.end - segment.start
    if segment.pages is not None:
        segment.pages.protect(segment.start, size, access)
        return
    if _libc.mprotect(segment.start, size, _PROTECTION[access]) != 0:
        raise Failure(ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "the system refuses another mapping")


def _forget_dead_contexts() -> None:
    """Frees reservations whose context was destroyed without freeing them."""
    for start, each in list(_reservations.items()):
        if not native.is_live(each.context, "ze_context_handle_t"):
            _release(each)
            del _reservations[start]


def forget_context(context: int) -> None:
    """Frees the reservations and the physical memory of a context that was lost."""
    with _lock:
        for start, reservation in list(_reservations.items()):
            if reservation.context == context:
                _release(reservation)
                del _reservations[start]
        for handle, physical in list(_physicals.items()):
            if physical.context == context:
                _end(handle)


def _release(reservation: Reservation) -> None:
    mapped = [each for each in reservation.segments if each.physical is not None]
    reservation.replace(Segment(reservation.start, reservation.end))
    if reservation.addresses is None:
        _libc.munmap(reservation.start, reservation.end - reservation.start)
        return
    with suppress(Failure):  # what the system does not change is gone with the addresses
        _map_nothing(mapped)
    reservation.addresses.close()


# --- Reservations -------------------------------------------------------------------------------


@handler
def zeVirtualMemQueryPageSize(hContext: int, hDevice: int, size: int, pagesize: int) -> None:
    is_gpu = platform.device(hDevice).gpu is not None
    write_u64(pagesize, _gpu_memory().page_size(hDevice) if is_gpu else mmap.PAGESIZE)


@handler
def zeVirtualMemReserve(hContext: int, pStart: int, size: int, pptr: int) -> None:
    _check_pages(pStart, size)
    flags = _MAP_PRIVATE | _MAP_ANONYMOUS | _MAP_NORESERVE
    gpu = native.context_gpu(hContext)
    with _lock:
        _forget_dead_contexts()
        if gpu and not _uses_host(hContext):
            addresses = _gpu_memory().GpuAddresses(gpu, size, pStart)
            start = addresses.start
            _reservations[start] = Reservation(hContext, start, start + size, addresses)
            write_pointer(pptr, start)
            return
        start = _map(pStart, size, 0, flags | _MAP_FIXED_NOREPLACE) if pStart else 0
        start = start or (_map_for_gpu(gpu, size) if gpu else _map(0, size, 0, flags))
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
        _release(reservation)
        del _reservations[ptr]


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
    imported = external_memory.imported_fd(next_struct, size)
    if device and platform.device(device).gpu is not None:
        if imported >= 0:
            external_memory.refuse_gpu(device, external_memory.NO_FILE_ON_GPU)
        pages: GpuPages = _gpu_memory().GpuPages(device, size)
        return pages
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
        physical = _physical(hContext, hPhysicalMemory)
        if any(
            segment.physical is physical
            for reservation in _reservations.values()
            for segment in reservation.segments
        ):
            raise Failure(
                ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
                "the physical memory is still mapped; call zeVirtualMemUnmap first",
            )
        _end(hPhysicalMemory)


def _end(handle: int) -> None:
    """Ends a handle, and gives its memory back."""
    physical = _physicals.take(handle)
    native.object_end(handle)
    physical.close()
    native.device_uncharge(physical.device, physical.size)


@handler
def zePhysicalMemGetProperties(hContext: int, hPhysicalMem: int, pMemProperties: int) -> None:
    properties = ze.ze_physical_mem_properties_t.from_address(pMemProperties)
    with _lock:
        physical = _physical(hContext, hPhysicalMem)
        properties.id, properties.size = physical.identifier, physical.size
        if properties.stype == ze.ZE_STRUCTURE_TYPE_PHYSICAL_MEM_PROPERTIES:
            external_memory.answer_exports(properties.pNext or 0, physical.file)


# --- Mapping ------------------------------------------------------------------------------------


def _check_reach(
    reservation: Reservation, physical: Physical, start: int, size: int, offset: int
) -> None:
    """A GPU maps its own pages at addresses that it has reserved, and nobody else does there."""
    if physical.pages is not None:
        physical.pages.check(start, size, offset)
        if reservation.addresses is None:
            _give_to_gpu(reservation, physical)
    elif reservation.addresses is not None:
        raise Failure(
            ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
            "these addresses are for physical memory of an NVIDIA GPU; reserve others for the host",
        )


def _give_to_gpu(reservation: Reservation, physical: Physical) -> None:
    """Has the GPU reserve addresses in the place of the host, which was there first because the
    context uses both."""
    start, size = reservation.start, reservation.end - reservation.start
    mixed = any(each.physical is not None for each in reservation.segments)
    addresses = None
    if not mixed and physical.pages is not None and size % physical.pages.page == 0:
        _libc.munmap(start, size)
        addresses = _gpu_memory().GpuAddresses(physical.device, size, start)
        if addresses.start != start:
            addresses.close()
            addresses = None
            _map(start, size, 0, _MAP_PRIVATE | _MAP_ANONYMOUS | _MAP_NORESERVE | _MAP_FIXED)
    if addresses is None:
        raise Failure(
            ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
            "NVIDIA's driver does not map memory at these addresses; reserve whole pages of "
            "the GPU for its memory alone, in a context for GPUs only",
        )
    reservation.addresses = addresses


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
        reservation.change(segment, lambda: _map_segment(segment, physical))


@handler
def zeVirtualMemUnmap(hContext: int, ptr: int, size: int) -> None:
    _check_pages(ptr, size)
    with _lock:
        reservation = _reservation(hContext, ptr, size)
        for each in reservation.segments:
            if each.pages is not None and each.start < ptr + size and each.end > ptr:
                each.pages.check(max(ptr, each.start), min(ptr + size, each.end))
        before = [each.copy() for each in reservation.cut(ptr, ptr + size)]
        reservation.change(Segment(ptr, ptr + size), lambda: _map_nothing(before))


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
                _protect(segment, access)
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
