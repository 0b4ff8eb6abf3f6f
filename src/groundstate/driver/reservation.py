"""Ranges of reserved addresses, and what is mapped there.

A reservation is a range of inaccessible pages. Physical memory is a memory file, or pages of a GPU.
Each range of a reservation with one state is a segment.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Callable, Sequence
from contextlib import suppress

from groundstate import ze
from groundstate.driver import native
from groundstate.driver.api import Failure

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


# --- What the pages show --------------------------------------------------------------------------


def _map(start: int, size: int, protection: int, flags: int, fd: int = -1, offset: int = 0) -> int:
    """mmap; 0 on failure."""
    address = _libc.mmap(start or None, size, protection, flags, fd, offset)
    return 0 if address is None or address == ctypes.c_void_p(-1).value else int(address)


def map_nothing(segments: Sequence[Segment]) -> None:
    """Makes pages of a reservation inaccessible and gives their memory back."""
    flags = _MAP_PRIVATE | _MAP_ANONYMOUS | _MAP_NORESERVE | _MAP_FIXED
    for each in segments:
        if each.pages is not None:
            each.pages.unmap(each.start, each.end - each.start)
    of_host = [each for each in segments if each.pages is None and each.physical is not None]
    if not all(_map(each.start, each.end - each.start, 0, flags) for each in of_host):
        raise Failure(ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "the system refuses another mapping")


def map_segment(segment: Segment, physical: Physical) -> None:
    """Has the pages of a segment show its physical memory."""
    size, flags = segment.end - segment.start, _MAP_SHARED | _MAP_FIXED
    if physical.pages is not None:
        physical.pages.map(segment.start, size, segment.offset, segment.access)
        return
    protection = _PROTECTION[segment.access]
    if not _map(segment.start, size, protection, flags, physical.fd, segment.offset):
        raise Failure(ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "the system refuses another mapping")


def protect(segment: Segment, access: int) -> None:
    size = segment.end - segment.start
    if segment.pages is not None:
        segment.pages.protect(segment.start, size, access)
        return
    if _libc.mprotect(segment.start, size, _PROTECTION[access]) != 0:
        raise Failure(ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "the system refuses another mapping")


def reserve(size: int, wish: int) -> int:
    """Inaccessible pages at the address that is wished for, or at others; 0 on failure."""
    flags = _MAP_PRIVATE | _MAP_ANONYMOUS | _MAP_NORESERVE
    start = _map(wish, size, 0, flags | _MAP_FIXED_NOREPLACE) if wish else 0
    return start or _map(0, size, 0, flags)


def release(reservation: Reservation) -> None:
    mapped = [each for each in reservation.segments if each.physical is not None]
    reservation.replace(Segment(reservation.start, reservation.end))
    if reservation.addresses is None:
        _libc.munmap(reservation.start, reservation.end - reservation.start)
        return
    with suppress(Failure):  # what the system does not change is gone with the addresses
        map_nothing(mapped)
    reservation.addresses.close()


def give_to_host(reservation: Reservation) -> None:
    """Has the host reserve the addresses in the place of the GPU, which was there first because
    nobody could know who will use them."""
    start, size = reservation.start, reservation.end - reservation.start
    if any(each.physical is not None for each in reservation.segments):
        raise Failure(
            ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
            "memory of an NVIDIA GPU is mapped at these addresses; reserve others for the host",
        )
    if reservation.addresses is not None:
        reservation.addresses.close()
    reservation.addresses = None
    flags = _MAP_PRIVATE | _MAP_ANONYMOUS | _MAP_NORESERVE | _MAP_FIXED_NOREPLACE
    if _map(start, size, 0, flags) != start:
        raise Failure(ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "the system refuses another mapping")
