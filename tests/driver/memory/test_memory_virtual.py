"""Virtual memory: reservations, physical memory, mapping, access, what the device sees of it."""

import ctypes
import mmap
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.support import Bench, address, copy, fill, finish, view
from tests.imports import IMPORT_PATH

NONE = ze.ZE_MEMORY_ACCESS_ATTRIBUTE_NONE
READ_WRITE = ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE
READ_ONLY = ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY
INVALID = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
MISALIGNED = ze.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT
ODD_SIZE = ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE


class Space:
    """Virtual and physical memory of one context, taken down at the end."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.context = bench, bench.context
        self.page = self.page_size(1)

    def page_size(self, size: int) -> int:
        page = ctypes.c_size_t()
        check(
            ze.zeVirtualMemQueryPageSize(self.context, self.bench.device, size, ctypes.byref(page))
        )
        return page.value

    def reserve(self, pages: int, at: int | None = None) -> int:
        size = pages * self.page
        return self.bench._made(
            lambda start: int(ze.zeVirtualMemFree(self.context, start, size)),
            ze.zeVirtualMemReserve,
            self.context,
            at,
            size,
        )

    def physical(self, pages: int, flags: int = 0) -> int:
        description = ze.ze_physical_mem_desc_t(size=pages * self.page, flags=flags)
        return self.bench._made(
            lambda handle: int(ze.zePhysicalMemDestroy(self.context, handle)),
            ze.zePhysicalMemCreate,
            self.context,
            self.bench.device,
            ctypes.byref(description),
        )

    def map(
        self, start: int, pages: int, physical: int, offset: int = 0, access: int = READ_WRITE
    ) -> int:
        return int(
            ze.zeVirtualMemMap(
                self.context, start, pages * self.page, physical, offset * self.page, access
            )
        )

    def unmap(self, start: int, pages: int) -> int:
        return int(ze.zeVirtualMemUnmap(self.context, start, pages * self.page))

    def access(self, start: int, pages: int) -> tuple[int, int]:
        """The attribute at an address, and for how many pages it holds."""
        attribute, size = ctypes.c_uint32(), ctypes.c_size_t()
        check(
            ze.zeVirtualMemGetAccessAttribute(
                self.context,
                start,
                pages * self.page,
                ctypes.byref(attribute),
                ctypes.byref(size),
            )
        )
        return attribute.value, size.value // self.page


@pytest.fixture
def space(bench: Bench) -> Space:
    return Space(bench)


def test_page_sizes(space: Space) -> None:
    for size in (1, 4096, 1 << 21, 1 << 30):
        page = space.page_size(size)
        assert page == mmap.PAGESIZE


def test_mapped_memory_works_for_host_and_device(bench: Bench, space: Space) -> None:
    start, physical = space.reserve(4), space.physical(4)
    check(space.map(start, 4, physical))
    size = 4 * space.page
    memory, source = view(start, size), bench.random_bytes(size)
    commands = bench.immediate()
    copy(commands, start, address(source), size)
    finish(commands)
    assert np.array_equal(memory, source)
    memory[:] = 5
    copy(commands, address(source), start, size)
    finish(commands)
    assert (source == 5).all()
    check(space.unmap(start, 4))


def test_unmapped_physical_memory_keeps_contents(space: Space) -> None:
    first, second, physical = space.reserve(2), space.reserve(2), space.physical(2)
    check(space.map(first, 2, physical))
    view(first, 2 * space.page)[:] = 9
    check(space.unmap(first, 2))
    check(space.map(second, 2, physical))
    assert (view(second, 2 * space.page) == 9).all()
    check(space.unmap(second, 2))


def test_one_physical_memory_at_two_addresses(space: Space) -> None:
    first, second, physical = space.reserve(1), space.reserve(1), space.physical(1)
    check(space.map(first, 1, physical))
    check(space.map(second, 1, physical))
    view(first, 10)[:] = 4
    assert (view(second, 10) == 4).all()
    check(space.unmap(first, 1))
    check(space.unmap(second, 1))


def test_a_sparse_reservation(bench: Bench, space: Space) -> None:
    """Pages of several physical memories, in any order, with holes between."""
    start, a, b = space.reserve(10), space.physical(2), space.physical(3)
    check(space.map(start, 1, b, offset=2))
    check(space.map(start + 3 * space.page, 2, a))
    check(space.map(start + 9 * space.page, 1, b))
    commands = bench.immediate(in_order=True)
    for page in (0, 3, 4, 9):
        fill(commands, start + page * space.page, bytes([page + 1]), space.page)
    finish(commands)
    for page in (0, 3, 4, 9):
        assert (view(start + page * space.page, space.page) == page + 1).all()
    for page, count in ((0, 1), (3, 2), (9, 1)):
        check(space.unmap(start + page * space.page, count))


def test_a_mapping_grows_page_by_page(space: Space) -> None:
    """A vector that grows without moving: the point of virtual memory."""
    start = space.reserve(8)
    for count in range(8):
        physical = space.physical(1)
        check(space.map(start + count * space.page, 1, physical))
        view(start, (count + 1) * space.page)[:] = count
    check(space.unmap(start, 8))


def test_reservation_grows_at_following_address(space: Space) -> None:
    """The second reservation asks for the place behind the first, and may get it."""
    first = space.reserve(1)
    second = space.reserve(1, at=first + space.page)
    physical = space.physical(2)
    check(space.map(first, 1, physical))
    check(space.map(second, 1, physical, offset=1))
    view(first, 1)[:] = 1
    view(second, 1)[:] = 2
    check(space.unmap(first, 1))
    check(space.unmap(second, 1))


def test_reserving_taken_address_gives_another(space: Space) -> None:
    first = space.reserve(4)
    assert space.reserve(4, at=first) != first


@pytest.mark.parametrize("flags", [0, 1, 2])
def test_physical_memory_tells_its_size(space: Space, flags: int) -> None:
    first, second = space.physical(3, flags), space.physical(1, flags)
    properties = [ze.ze_physical_mem_properties_t() for _ in range(2)]
    for handle, answer in zip((first, second), properties, strict=True):
        check(ze.zePhysicalMemGetProperties(space.context, handle, ctypes.byref(answer)))
    assert [answer.size for answer in properties] == [3 * space.page, space.page]
    assert properties[0].id != properties[1].id


def test_access_attributes(space: Space) -> None:
    start, physical = space.reserve(6), space.physical(4)
    check(space.map(start, 4, physical))
    assert space.access(start, 6) == (READ_WRITE, 4)
    check(
        ze.zeVirtualMemSetAccessAttribute(
            space.context, start + space.page, 2 * space.page, READ_ONLY
        )
    )
    assert space.access(start, 6) == (READ_WRITE, 1)
    assert space.access(start + space.page, 5) == (READ_ONLY, 2)
    assert space.access(start + 3 * space.page, 1) == (READ_WRITE, 1)
    assert space.access(start + 4 * space.page, 2) == (NONE, 2)
    check(space.unmap(start, 4))
    assert space.access(start, 6) == (NONE, 6)


@pytest.mark.parametrize("attribute", ["NONE", "READONLY"])
def test_access_is_enforced(attribute: str) -> None:
    """A write to a page that may not be written is a fault, as it is on any CPU."""
    program = f"""
import ctypes, sys
sys.path[:0] = {IMPORT_PATH!r}
from groundstate import ze
from tests.conftest import check, first_driver
from tests.driver.support import Bench, view
from tests.driver.memory.test_memory_virtual import Space
check(ze.zeInit(0))
device = ctypes.c_void_p()
check(ze.zeDeviceGet(first_driver(), ctypes.byref(ctypes.c_uint32(1)), ctypes.byref(device)))
space = Space(Bench(first_driver(), device.value))
start, physical = space.reserve(1), space.physical(1)
check(space.map(start, 1, physical))
view(start, 1)[0] = 7
check(ze.zeVirtualMemSetAccessAttribute(
    space.context, start, space.page, ze.ZE_MEMORY_ACCESS_ATTRIBUTE_{attribute}))
print("writing", flush=True)
view(start, 1)[0] = 8
print("written", flush=True)
"""
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert child.stdout == b"writing\n", child.stderr
    assert child.returncode < 0


# --- Refusals -------------------------------------------------------------------------------------


def refused(result: int, expected: int, function: str) -> bool:
    return result == expected and function in last_error()


def test_pages_must_be_whole(bench: Bench, space: Space) -> None:
    start, physical, page = space.reserve(4), space.physical(2), space.page
    pointer, attribute, size = ctypes.c_void_p(), ctypes.c_uint32(), ctypes.c_size_t()
    context = space.context
    plans: dict[str, Callable[[int, int], int]] = {
        "zeVirtualMemMap": lambda at, bytes: ze.zeVirtualMemMap(
            context, at, bytes, physical, 0, READ_WRITE
        ),
        "zeVirtualMemUnmap": lambda at, bytes: ze.zeVirtualMemUnmap(context, at, bytes),
        "zeVirtualMemSetAccessAttribute": lambda at, bytes: ze.zeVirtualMemSetAccessAttribute(
            context, at, bytes, READ_ONLY
        ),
        "zeVirtualMemGetAccessAttribute": lambda at, bytes: ze.zeVirtualMemGetAccessAttribute(
            context, at, bytes, ctypes.byref(attribute), ctypes.byref(size)
        ),
        "zeVirtualMemFree": lambda at, bytes: ze.zeVirtualMemFree(context, at, bytes),
    }
    for name, call in plans.items():
        assert refused(call(start + 8, page), MISALIGNED, name)
        assert refused(call(start, page + 1), ODD_SIZE, name)
    reserve = ze.zeVirtualMemReserve(context, None, page + 1, ctypes.byref(pointer))
    assert refused(reserve, ODD_SIZE, "zeVirtualMemReserve")
    description = ze.ze_physical_mem_desc_t(size=page + 1)
    create = ze.zePhysicalMemCreate(
        context, bench.device, ctypes.byref(description), ctypes.byref(pointer)
    )
    assert refused(create, MISALIGNED, "zePhysicalMemCreate")
    offset = ze.zeVirtualMemMap(context, start, page, physical, 100, READ_WRITE)
    assert refused(offset, MISALIGNED, "zeVirtualMemMap")


def test_mapping_outside_a_reservation_is_refused(bench: Bench, space: Space) -> None:
    start, physical = space.reserve(2), space.physical(4)
    beside = bench.host(4 * space.page)
    assert refused(space.map(start, 4, physical), INVALID, "zeVirtualMemMap")
    assert refused(space.map(start - space.page, 1, physical), INVALID, "zeVirtualMemMap")
    assert refused(space.map(beside, 1, physical), INVALID, "zeVirtualMemMap")
    assert refused(space.map(2**64 - space.page, 1, physical), INVALID, "zeVirtualMemMap")
    view(beside, 4 * space.page)[:] = 1


def test_mapping_beyond_physical_memory_refused(space: Space) -> None:
    start, physical = space.reserve(8), space.physical(2)
    wrong = ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert refused(space.map(start, 3, physical), wrong, "zeVirtualMemMap")
    assert refused(space.map(start, 1, physical, offset=2), wrong, "zeVirtualMemMap")
    assert refused(
        space.map(start, 1, physical, offset=2**63 // space.page), wrong, "zeVirtualMemMap"
    )


def test_mapping_what_is_mapped_is_refused(space: Space) -> None:
    start, first, second = space.reserve(4), space.physical(2), space.physical(2)
    check(space.map(start + space.page, 2, first))
    for offset in (0, 1, 2):
        at = start + offset * space.page
        assert refused(space.map(at, 2, second), INVALID, "zeVirtualMemMap")
    view(start + space.page, 2 * space.page)[:] = 1
    check(space.unmap(start + space.page, 2))


def test_a_reservation_is_freed_as_a_whole(space: Space) -> None:
    start = space.reserve(4)
    page, context = space.page, space.context
    free = ze.zeVirtualMemFree
    for at, size in ((start, page), (start + page, 3 * page), (start, 8 * page), (page, page)):
        assert refused(free(context, at, size), INVALID, "zeVirtualMemFree")


def test_freed_addresses_are_gone(space: Space) -> None:
    start, physical = space.reserve(1), space.physical(1)
    space.bench.end(start)
    assert refused(space.map(start, 1, physical), INVALID, "zeVirtualMemMap")
    again = ze.zeVirtualMemFree(space.context, start, space.page)
    assert refused(again, INVALID, "zeVirtualMemFree")


def test_mem_free_of_mapped_memory_is_refused(space: Space) -> None:
    start, physical = space.reserve(1), space.physical(1)
    check(space.map(start, 1, physical))
    assert refused(ze.zeMemFree(space.context, start), INVALID, "zeMemFree")
    view(start, space.page)[:] = 3
    check(space.unmap(start, 1))


def test_another_contexts_memory_is_refused(
    bench: Bench, space: Space, driver: int, device: int
) -> None:
    other = Bench(driver, device)
    foreign = Space(other)
    start, physical = space.reserve(1), foreign.physical(1)
    assert refused(space.map(start, 1, physical), INVALID, "zeVirtualMemMap")
    destroyed = ze.zePhysicalMemDestroy(space.context, physical)
    assert refused(destroyed, INVALID, "zePhysicalMemDestroy")
    other.close()


@pytest.mark.parametrize("size", [1 << 50, 2**63, 2**64 - mmap.PAGESIZE])
def test_more_than_the_machine_has(bench: Bench, space: Space, size: int) -> None:
    made = ctypes.c_void_p()
    description = ze.ze_physical_mem_desc_t(size=size)
    result = ze.zePhysicalMemCreate(
        bench.context, bench.device, ctypes.byref(description), ctypes.byref(made)
    )
    assert refused(result, ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "zePhysicalMemCreate")
    result = ze.zeVirtualMemReserve(bench.context, None, size, ctypes.byref(made))
    assert refused(result, ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "zeVirtualMemReserve")
    assert made.value is None


def test_copies_stop_at_the_end_of_what_is_mapped(bench: Bench, space: Space) -> None:
    start, physical = space.reserve(4), space.physical(2)
    check(space.map(start, 2, physical))
    source = bench.bytes(4 * space.page, fill=1)
    commands = bench.immediate()
    result = ze.zeCommandListAppendMemoryCopy(
        commands, start, address(source), 3 * space.page, None, 0, None
    )
    assert refused(result, ze.ZE_RESULT_ERROR_INVALID_SIZE, "zeCommandListAppendMemoryCopy")
    check(space.unmap(start, 2))


def test_mapped_memory_is_known_by_address(space: Space) -> None:
    start, physical = space.reserve(4), space.physical(2)
    check(space.map(start + space.page, 2, physical))
    base, size = ctypes.c_void_p(), ctypes.c_size_t()
    inside = start + space.page + 100
    check(ze.zeMemGetAddressRange(space.context, inside, ctypes.byref(base), ctypes.byref(size)))
    assert (base.value, size.value) == (start + space.page, 2 * space.page)
    check(space.unmap(start + space.page, 2))
    result = ze.zeMemGetAddressRange(space.context, inside, None, None)
    assert result == ze.ZE_RESULT_ERROR_ADDRESS_NOT_FOUND
