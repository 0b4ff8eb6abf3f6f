"""Allocations: kinds, alignment, limits, what the driver tells about an address."""

import ctypes
import mmap
from collections.abc import Callable

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.support import Bench, address, copy, finish, view

NOT_FOUND = ze.ZE_RESULT_ERROR_ADDRESS_NOT_FOUND
INVALID = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
KINDS = {
    "host": ze.ZE_MEMORY_TYPE_HOST,
    "local": ze.ZE_MEMORY_TYPE_DEVICE,
    "shared": ze.ZE_MEMORY_TYPE_SHARED,
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def allocator(bench: Bench, kind: str) -> Callable[..., int]:
    function: Callable[..., int] = getattr(bench, kind)
    return function


def try_allocate(bench: Bench, kind: str, size: int, alignment: int = 0) -> int:
    """The result of an allocation that is not expected to come about."""
    pointer = ctypes.c_void_p()
    device = ctypes.byref(ze.ze_device_mem_alloc_desc_t())
    host = ctypes.byref(ze.ze_host_mem_alloc_desc_t())
    function, arguments = {
        "host": ("zeMemAllocHost", (host, size, alignment)),
        "local": ("zeMemAllocDevice", (device, size, alignment, bench.device)),
        "shared": ("zeMemAllocShared", (device, host, size, alignment, bench.device)),
    }[kind]
    result = getattr(ze, function)(bench.context, *arguments, ctypes.byref(pointer))
    assert pointer.value is None
    assert function in last_error()
    return int(result)


def address_range(context: int, pointer: int) -> tuple[int | None, int]:
    base, size = ctypes.c_void_p(), ctypes.c_size_t()
    check(ze.zeMemGetAddressRange(context, pointer, ctypes.byref(base), ctypes.byref(size)))
    return base.value, size.value


def properties(
    context: int, pointer: int
) -> tuple["ze.ze_memory_allocation_properties_t", int | None]:
    answer, device = ze.ze_memory_allocation_properties_t(), ctypes.c_void_p(1)
    check(ze.zeMemGetAllocProperties(context, pointer, ctypes.byref(answer), ctypes.byref(device)))
    return answer, device.value


@pytest.mark.parametrize("size", [1, 17, 4096, 4097, 1 << 20, (64 << 20) + 5])
def test_memory_can_be_written_to_its_last_byte(bench: Bench, kind: str, size: int) -> None:
    memory = view(allocator(bench, kind)(size), size)
    memory[0] = 1
    memory[-1] = 2
    assert memory[-1] == 2


@pytest.mark.parametrize("shift", [0, 3, 6, 12, 16, 21, 26])
def test_alignment(bench: Bench, kind: str, shift: int) -> None:
    for size in (1, 5000, 3 << 20):
        assert allocator(bench, kind)(size, 1 << shift) % (1 << shift) == 0


def test_reused_block_of_large_alignment_is_whole(
    bench: Bench,
) -> None:
    for size in (1, 5000, 3 << 20):
        bench.end(bench.host(size, 1 << 26))
    for size in (4096, 8192, 4 << 20):
        blocks = [view(bench.host(size), size) for _ in range(3)]
        for block in blocks:
            block[:] = 1


def test_default_alignment_suits_any_type(bench: Bench, kind: str) -> None:
    assert allocator(bench, kind)(100) % 64 == 0


def test_allocations_do_not_overlap(bench: Bench) -> None:
    rng = np.random.default_rng(5)
    sizes = [int(size) for size in rng.integers(1, 50_000, 300)]
    blocks = [view(bench.host(size), size) for size in sizes]
    for number, block in enumerate(blocks):
        block[:] = number % 256
    for number, block in enumerate(blocks):
        assert (block == number % 256).all()


def test_allocation_range_and_properties_reported(bench: Bench, kind: str) -> None:
    pointer = allocator(bench, kind)(10_000)
    for inside in (0, 1, 9_999):
        assert address_range(bench.context, pointer + inside) == (pointer, 10_000)
        answer, device = properties(bench.context, pointer + inside)
        assert answer.type == KINDS[kind]
        assert answer.pageSize == mmap.PAGESIZE
        assert device == (None if kind == "host" else bench.device)


def test_each_allocation_has_an_identity(bench: Bench) -> None:
    first, second = bench.host(100), bench.host(100)
    ids = [properties(bench.context, pointer)[0].id for pointer in (first, first + 1, second)]
    assert ids[0] == ids[1] != ids[2]
    bench.end(first)
    bench.end(second)
    again = bench.host(100)
    assert properties(bench.context, again)[0].id not in ids


def test_address_range_outputs_are_optional(bench: Bench) -> None:
    pointer = bench.host(100)
    base, size = ctypes.c_void_p(), ctypes.c_size_t()
    check(ze.zeMemGetAddressRange(bench.context, pointer, ctypes.byref(base), None))
    check(ze.zeMemGetAddressRange(bench.context, pointer, None, ctypes.byref(size)))
    check(ze.zeMemGetAddressRange(bench.context, pointer, None, None))
    assert (base.value, size.value) == (pointer, 100)


def test_other_memory_is_unknown(bench: Bench, driver: int, device: int) -> None:
    ordinary = np.zeros(100, np.uint8)
    other = Bench(driver, device)
    foreign = other.host(100)
    freed = bench.host(100)
    bench.end(freed)
    for pointer in (address(ordinary), foreign, freed, 8, 2**64 - 8):
        base, size = ctypes.c_void_p(), ctypes.c_size_t()
        result = ze.zeMemGetAddressRange(
            bench.context, pointer, ctypes.byref(base), ctypes.byref(size)
        )
        assert result == NOT_FOUND
        assert "zeMemGetAddressRange" in last_error()
        answer, owner = properties(bench.context, pointer)
        assert answer.type == ze.ZE_MEMORY_TYPE_UNKNOWN
        assert owner is None
    other.close()


# --- Limits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1 << 50, 2**63, 2**64 - 1])
def test_more_than_the_machine_has(bench: Bench, kind: str, size: int) -> None:
    assert try_allocate(bench, kind, size) == ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE


@pytest.mark.parametrize("size", [1 << 50, 2**63, 2**64 - 1])
def test_relaxed_limits_do_not_make_memory(bench: Bench, size: int) -> None:
    """The extension lifts the limit on one allocation; then the machine's own is met."""
    pointer = ctypes.c_void_p()
    relaxed = ze.ze_relaxed_allocation_limits_exp_desc_t(
        flags=ze.ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE
    )
    description = ze.ze_device_mem_alloc_desc_t(pNext=ctypes.addressof(relaxed))
    result = ze.zeMemAllocDevice(
        bench.context, ctypes.byref(description), size, 0, bench.device, ctypes.byref(pointer)
    )
    assert result == ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
    assert last_error()


def test_no_bytes(bench: Bench, kind: str) -> None:
    assert try_allocate(bench, kind, 0) == ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE


@pytest.mark.parametrize("alignment", [3, 24, 4097, (1 << 32) + 1, 2**64 - 1])
def test_alignment_that_is_no_power_of_two(bench: Bench, kind: str, alignment: int) -> None:
    result = try_allocate(bench, kind, 100, alignment)
    assert result == ze.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT


@pytest.mark.parametrize("shift", [40, 47, 63])
def test_alignment_beyond_reason(bench: Bench, kind: str, shift: int) -> None:
    result = try_allocate(bench, kind, 100, 1 << shift)
    assert result == ze.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT


def test_memory_that_was_refused_costs_nothing(bench: Bench) -> None:
    """After a hundred refusals, an allocation of half the memory still fits."""
    total = device_memory(bench.device)
    for _ in range(100):
        pointer = ctypes.c_void_p()
        description = ze.ze_device_mem_alloc_desc_t()
        ze.zeMemAllocDevice(
            bench.context,
            ctypes.byref(description),
            total + 4096,
            0,
            bench.device,
            ctypes.byref(pointer),
        )
    bench.local(total // 2)


def device_memory(device: int) -> int:
    answer = ze.ze_device_properties_t()
    check(ze.zeDeviceGetProperties(device, ctypes.byref(answer)))
    return int(answer.maxMemAllocSize)


def test_the_device_has_as_much_memory_as_it_says(bench: Bench) -> None:
    """Together, allocations end where the device's memory ends; freed, they fit again."""
    total = device_memory(bench.device)
    half = bench.local(total // 2)
    bench.local(total // 4)
    pointer = ctypes.c_void_p()
    description = ze.ze_device_mem_alloc_desc_t()
    arguments = (bench.context, ctypes.byref(description), total // 2, 0, bench.device)
    result = ze.zeMemAllocDevice(*arguments, ctypes.byref(pointer))
    assert result == ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
    assert last_error()
    bench.end(half)
    check(ze.zeMemAllocDevice(*arguments, ctypes.byref(pointer)))
    check(ze.zeMemFree(bench.context, pointer))


def test_a_device_outside_the_context_is_refused(driver: int, device: int) -> None:
    """With one device there is none outside; with its own it works."""
    context, pointer = ctypes.c_void_p(), ctypes.c_void_p()
    description = ze.ze_context_desc_t()
    check(
        ze.zeContextCreateEx(
            driver,
            ctypes.byref(description),
            1,
            (ctypes.c_void_p * 1)(device),
            ctypes.byref(context),
        )
    )
    allocation = ze.ze_device_mem_alloc_desc_t()
    check(
        ze.zeMemAllocDevice(context, ctypes.byref(allocation), 64, 0, device, ctypes.byref(pointer))
    )
    check(ze.zeMemFree(context, pointer))
    check(ze.zeContextDestroy(context))


@pytest.mark.parametrize("flags", range(4))
def test_every_flag_of_the_descriptors(bench: Bench, flags: int) -> None:
    pointer = ctypes.c_void_p()
    check(
        ze.zeMemAllocShared(
            bench.context,
            ctypes.byref(ze.ze_device_mem_alloc_desc_t(flags=flags)),
            ctypes.byref(ze.ze_host_mem_alloc_desc_t(flags=flags)),
            4096,
            0,
            bench.device,
            ctypes.byref(pointer),
        )
    )
    check(ze.zeMemFree(bench.context, pointer))


def test_read_only_write_combined_memory_refused(bench: Bench) -> None:
    both = ze.ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY | ze.ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED
    pointer, host = ctypes.c_void_p(), ze.ze_host_mem_alloc_desc_t(flags=both)
    wrong = ze.ZE_RESULT_ERROR_INVALID_ENUMERATION
    result = ze.zeMemAllocHost(bench.context, ctypes.byref(host), 64, 0, ctypes.byref(pointer))
    assert result == wrong
    assert "MEM_READ_ONLY" in last_error()
    device = ctypes.byref(ze.ze_device_mem_alloc_desc_t())
    result = ze.zeMemAllocShared(
        bench.context, device, ctypes.byref(host), 64, 0, bench.device, ctypes.byref(pointer)
    )
    assert result == wrong


def test_shared_memory_without_a_device(bench: Bench) -> None:
    pointer = ctypes.c_void_p()
    check(
        ze.zeMemAllocShared(
            bench.context,
            ctypes.byref(ze.ze_device_mem_alloc_desc_t()),
            ctypes.byref(ze.ze_host_mem_alloc_desc_t()),
            4096,
            0,
            None,
            ctypes.byref(pointer),
        )
    )
    answer, device = properties(bench.context, pointer.value or 0)
    assert answer.type == ze.ZE_MEMORY_TYPE_SHARED
    assert device is None
    check(ze.zeMemFree(bench.context, pointer))


# --- Copies that leave their allocation -----------------------------------------------------------


@pytest.mark.parametrize("which", ["source", "target"])
@pytest.mark.parametrize("size", [mmap.PAGESIZE + 1, 1 << 20, 2**63, 2**64 - 1])
def test_a_copy_that_runs_over_the_end_is_refused(bench: Bench, which: str, size: int) -> None:
    small = bench.bytes(mmap.PAGESIZE, fill=1)
    large = bench.bytes(2 * mmap.PAGESIZE, fill=2)
    commands = bench.immediate()
    to, from_ = (large, small) if which == "source" else (small, large)
    result = ze.zeCommandListAppendMemoryCopy(
        commands, address(to), address(from_), size, None, 0, None
    )
    assert result == ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert "zeCommandListAppendMemoryCopy" in last_error()
    finish(commands)
    assert (small == 1).all()
    assert (large == 2).all()


def test_a_copy_to_the_very_end_is_fine(bench: Bench) -> None:
    source, target = bench.bytes(4096, fill=1), bench.bytes(4096, fill=2)
    commands = bench.immediate()
    copy(commands, address(target, 96), address(source), 4000)
    finish(commands)
    assert (target[96:] == 1).all()


# --- Residency and atomics ------------------------------------------------------------------------


def test_residency(bench: Bench, kind: str) -> None:
    pointer = allocator(bench, kind)(8192)
    check(ze.zeContextMakeMemoryResident(bench.context, bench.device, pointer, 8192))
    check(ze.zeContextEvictMemory(bench.context, bench.device, pointer, 8192))


def test_residency_of_unknown_memory_is_refused(bench: Bench) -> None:
    ordinary = np.zeros(100, np.uint8)
    for name in ("zeContextMakeMemoryResident", "zeContextEvictMemory"):
        result = getattr(ze, name)(bench.context, bench.device, address(ordinary), 100)
        assert result == INVALID
        assert name in last_error()


def test_atomic_attributes_are_told_back(bench: Bench) -> None:
    pointer = bench.shared(4096)
    attribute = ctypes.c_uint32()
    for flags in (
        ze.ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_HOST_ATOMICS,
        ze.ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_NO_HOST_ATOMICS,
        ze.ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_SYSTEM_ATOMICS,
    ):
        check(
            ze.zeMemSetAtomicAccessAttributeExp(bench.context, bench.device, pointer, 4096, flags)
        )
        check(
            ze.zeMemGetAtomicAccessAttributeExp(
                bench.context, bench.device, pointer, 4096, ctypes.byref(attribute)
            )
        )
        assert attribute.value == flags


def test_atomic_attributes_are_for_shared_memory(bench: Bench) -> None:
    flags = ze.ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_HOST_ATOMICS
    for pointer in (bench.host(4096), bench.local(4096)):
        result = ze.zeMemSetAtomicAccessAttributeExp(
            bench.context, bench.device, pointer, 4096, flags
        )
        assert result == INVALID
        assert "zeMemSetAtomicAccessAttributeExp" in last_error()


@pytest.mark.parametrize("width", [1, 63, 64, 1000])
@pytest.mark.parametrize("element", [1, 4, 16])
def test_pitch_holds_image_row_and_is_aligned(bench: Bench, width: int, element: int) -> None:
    pitch = ctypes.c_size_t()
    check(
        ze.zeMemGetPitchFor2dImage(
            bench.context, bench.device, width, 10, element, ctypes.byref(pitch)
        )
    )
    assert pitch.value >= width * element
    assert pitch.value % 16 == 0
