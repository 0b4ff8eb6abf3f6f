"""The books of a device's memory: what counts, what does not fit, and what residency changes."""

from tests.driver.devices.topology import run

MEGABYTES = """
M = 1 << 20
before = {device: left(device) for device in everywhere}

def used(device):
    return before[device] - left(device)
"""


def test_properties_agree_on_how_much_there_is() -> None:
    run("""
        for device in everywhere:
            size = (512 if device in devices else 256) << 20
            properties = asked(ze.zeDeviceGetProperties, ze.ze_device_properties_t, device)
            assert properties.maxMemAllocSize == size == left(device)
            count = ctypes.c_uint32()
            check(ze.zeDeviceGetMemoryProperties(device, ctypes.byref(count), None))
            assert count.value == 1
            memory = ze.ze_device_memory_properties_t()
            check(ze.zeDeviceGetMemoryProperties(
                device, ctypes.byref(count), ctypes.byref(memory)))
            assert memory.totalSize == size
    """)


def test_every_byte_is_counted_and_given_back() -> None:
    run(
        MEGABYTES
        + """
context = context_of(*devices)
for size in (1, 4095, 3 * M + 7, 100 * M):
    result, pointer = allocate(context, subs[0], size)
    check(result)
    assert [used(each) for each in everywhere] == [size, size, 0, 0, 0, 0]
    check(ze.zeMemFree(context, pointer))
    result, pointer = allocate(context, second, size)
    check(result)
    assert [used(each) for each in everywhere] == [0, 0, 0, size, 0, 0]
    check(ze.zeMemFree(context, pointer))
assert not any(map(used, everywhere))
_, kept = allocate(context, subs[1], 5 * M)
check(ze.zeContextDestroy(context))  # takes its memory with it
assert not any(map(used, everywhere))
"""
    )


def test_what_does_not_fit_takes_nothing() -> None:
    run(
        MEGABYTES
        + """
context = context_of(first)
_, large = allocate(context, subs[0], 200 * M)
assert allocate(context, subs[0], 56 * M + 1) == (OUT, None)
assert str(56 * M + 1) in last_error() and "GROUNDSTATE_MEMORY" in last_error()
assert [used(each) for each in everywhere[:3]] == [200 * M, 200 * M, 0]
result, rest = allocate(context, subs[0], 56 * M)  # exactly what is left
check(result)
assert left(subs[0]) == 0
result, elsewhere = allocate(context, first, 100 * M)  # the guide: retry with the parent
check(result)
assert allocate(context, subs[1], 200 * M) == (OUT, None)  # the parent has not so much left
assert used(subs[1]) == 0 and used(first) == 356 * M
for pointer in (large, rest, elsewhere):
    check(ze.zeMemFree(context, pointer))
assert not any(map(used, everywhere))
assert allocate(context, first, 512 * M + 1)[0] == ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE
relaxed = ze.ze_relaxed_allocation_limits_exp_desc_t(
    flags=ze.ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE)
assert allocate(context, first, 512 * M + 1, relaxed)[0] == OUT
result, pointer = allocate_shared(context, first, 512 * M + 1, relaxed)  # counts for the host
check(result)
assert not any(map(used, everywhere))
check(ze.zeMemFree(context, pointer))
check(ze.zeContextDestroy(context))
"""
    )


def test_images_and_physical_memory_count() -> None:
    run(
        MEGABYTES
        + """
from tests.driver.images.images import create, describe, format_of
bench = Bench(driver, subs[0])
image = create(bench, describe("2D", (1024, 1024), format_of("8_8_8_8", "UINT")))
assert used(subs[0]) == used(first) == 4 * M
bench.end(image)
physical = ctypes.c_void_p()
description = ze.ze_physical_mem_desc_t(size=8 * M)
check(ze.zePhysicalMemCreate(
    bench.context, subs[0], ctypes.byref(description), ctypes.byref(physical)))
assert used(subs[0]) == used(first) == 8 * M
check(ze.zePhysicalMemDestroy(bench.context, physical))
assert not any(map(used, everywhere))
bench.close()
"""
    )


RESIDENCY = (
    MEGABYTES
    + """
def resident(context, device, pointer, size):
    return ze.zeContextMakeMemoryResident(context, device, pointer, size)

def evict(context, device, pointer, size):
    return ze.zeContextEvictMemory(context, device, pointer, size)
"""
)


def test_shared_memory_counts_where_resident() -> None:
    run(
        RESIDENCY
        + """
context = context_of(*devices)
_, shared = allocate_shared(context, first, 64 * M)
assert used(first) == 0
steps = [
    (resident, 0, 64, 64),  # all
    (resident, 0, 64, 64),  # again: nothing more
    (evict, 16, 16, 48),    # a hole
    (evict, 16, 16, 48),
    (resident, 8, 16, 56),  # half of the hole
    (evict, 0, 4, 52),
    (evict, 60, 4, 48),
    (resident, 0, 64, 64),
    (evict, 10, 54, 10),
    (evict, 0, 64, 0),
    (evict, 0, 64, 0),
]
for change, start, size, expected in steps:
    check(change(context, subs[1], shared + start * M, size * M))
    assert used(subs[1]) == used(first) == expected * M, (start, size)
    assert used(subs[0]) == used(second) == 0
check(resident(context, subs[0], shared, 10 * M))
check(resident(context, second, shared + M, 20 * M))
assert [used(each) // M for each in everywhere] == [10, 10, 0, 20, 0, 0]
check(ze.zeMemFree(context, shared))  # evicts it everywhere
assert not any(map(used, everywhere))
check(ze.zeContextDestroy(context))
"""
    )


def test_overcommit_is_refused_without_change() -> None:
    run(
        RESIDENCY
        + """
context = context_of(*devices)
_, local = allocate(context, subs[0], 100 * M)
_, shared = allocate_shared(context, first, 200 * M)
check(resident(context, subs[0], shared, 100 * M))
assert resident(context, subs[0], shared, 200 * M) == OUT
assert "GROUNDSTATE_MEMORY" in last_error()
assert used(subs[0]) == 200 * M
assert allocate(context, subs[0], 57 * M)[0] == OUT
check(evict(context, subs[0], shared, 200 * M))
check(resident(context, subs[0], shared, 156 * M))
assert left(subs[0]) == 0
check(ze.zeMemFree(context, local))
check(resident(context, subs[0], shared, 200 * M))
check(ze.zeContextDestroy(context))
assert not any(map(used, everywhere))
"""
    )


def test_only_memory_that_moves_counts() -> None:
    run(
        RESIDENCY
        + """
bench, other = Bench(driver, first), Bench(driver, second)
local, host = bench.local(5 * M), bench.host(5 * M)
assert used(first) == 5 * M
for device in everywhere:
    for pointer in (local, host):
        check(resident(bench.context, device, pointer, 5 * M))
        check(evict(bench.context, device, pointer, 5 * M))
assert [used(each) // M for each in everywhere] == [5, 0, 0, 0, 0, 0]
bench.close(), other.close()
"""
    )
    run(
        RESIDENCY
        + """
context = context_of(*devices)
_, shared = allocate_shared(context, first, 8 * M)
assert used(first) == 8 * M
for device in (first, *subs):  # it is there already
    check(resident(context, device, shared, 8 * M))
check(resident(context, second, shared, 8 * M))
assert [used(each) // M for each in everywhere] == [8, 0, 0, 8, 0, 0]
check(ze.zeContextDestroy(context))
""",
        ZE_SHARED_FORCE_DEVICE_ALLOC="1",
    )


def test_images_are_as_resident_as_their_texels() -> None:
    run(
        RESIDENCY
        + """
from tests.driver.images.images import create, describe, format_of
bench = Bench(driver, first)
form = format_of("32", "UINT")
own = create(bench, describe("2D", (512, 512), form))
shared = bench.shared(4 * M)
pitched = ze.ze_image_pitched_exp_desc_t(ptr=shared)
borrowed = create(bench, describe("2D", (512, 512), form, pitched))
start = used(first)
for image, bytes_there in ((own, 0), (borrowed, M)):
    check(ze.zeContextMakeImageResident(bench.context, second, image))
    assert used(second) == bytes_there
    check(ze.zeContextEvictImage(bench.context, second, image))
    assert used(second) == 0
assert used(first) == start
other = Bench(driver, second)
for function in (ze.zeContextMakeImageResident, ze.zeContextEvictImage):
    assert function(other.context, second, own) == INVALID
    assert "another context" in last_error()
    for wrong in (None, driver, 0x1230):
        null = ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
        assert function(bench.context, first, wrong) == null
        assert function(bench.context, wrong, own) == null
        assert function(wrong, first, own) == null
bench.close(), other.close()
"""
    )


def test_residency_of_non_allocation_is_refused() -> None:
    run(
        RESIDENCY
        + """
bench, other = Bench(driver, first), Bench(driver, second)
shared = bench.shared(M)
own = ctypes.create_string_buffer(100)
null_handle = ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
for change in (resident, evict):
    assert change(bench.context, first, None, 1) == ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER
    assert change(bench.context, first, ctypes.addressof(own), 1) == INVALID
    assert "no allocation of this context" in last_error()
    assert change(other.context, first, shared, M) == INVALID
    assert change(bench.context, first, shared, M + 4096) == INVALID
    assert change(bench.context, first, shared + 10, 2**64 - 1) == INVALID
    for wrong in (None, driver, 0x1230):
        assert change(wrong, first, shared, M) == null_handle
        assert change(bench.context, wrong, shared, M) == null_handle
    bench.end(shared)
    assert change(bench.context, first, shared, M) == INVALID  # freed
    shared = bench.shared(M)
assert used(first) == 0
bench.close(), other.close()
"""
    )


def test_residency_spans_mapped_virtual_pieces() -> None:
    run(
        RESIDENCY
        + """
bench, reserved = Bench(driver, first), ctypes.c_void_p()
page = ctypes.c_size_t()
check(ze.zeVirtualMemQueryPageSize(bench.context, first, 1, ctypes.byref(page)))
size = page.value
check(ze.zeVirtualMemReserve(bench.context, None, 3 * size, ctypes.byref(reserved)))
start, pages = reserved.value, []
for place in (0, 1):
    physical = ctypes.c_void_p()
    check(ze.zePhysicalMemCreate(
        bench.context, first, ctypes.byref(ze.ze_physical_mem_desc_t(size=size)),
        ctypes.byref(physical)))
    check(ze.zeVirtualMemMap(bench.context, start + place * size, size, physical, 0,
                             ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE))
    pages.append(physical)
for change in (resident, evict):
    for device in everywhere:
        check(change(bench.context, device, start, 2 * size))
        check(change(bench.context, device, start + size, size))
        assert change(bench.context, device, start, 3 * size) == INVALID  # a piece is missing
assert [used(each) for each in everywhere] == [2 * size, 0, 0, 0, 0, 0]
for place, physical in enumerate(pages):
    check(ze.zeVirtualMemUnmap(bench.context, start + place * size, size))
    check(ze.zePhysicalMemDestroy(bench.context, physical))
check(ze.zeVirtualMemFree(bench.context, start, 3 * size))
assert not any(map(used, everywhere))
bench.close()
"""
    )


def test_evicted_memory_can_be_used() -> None:
    run(
        RESIDENCY
        + """
bench = Bench(driver, subs[0])
memory, source = bench.shared(M), bench.random_bytes(M)
check(resident(bench.context, subs[0], memory, M))
check(evict(bench.context, subs[0], memory, M))
commands = bench.immediate()
copy(commands, memory, address(source), M)
finish(commands)
assert (view(memory, M) == source).all()
check(resident(bench.context, subs[0], memory, M))
assert (view(memory, M) == source).all()
bench.close()
"""
    )


def test_many_threads_change_what_is_resident() -> None:
    run(
        RESIDENCY
        + """
import random
from concurrent.futures import ThreadPoolExecutor
context = context_of(*devices)
_, shared = allocate_shared(context, first, 64 * M)

def work(seed):
    chance = random.Random(seed)
    for _ in range(300):
        start, size = chance.randrange(63 * M), chance.randrange(1, M)
        device = chance.choice(everywhere)
        check(chance.choice((resident, evict))(context, device, shared + start, size))

with ThreadPoolExecutor(4) as threads:
    list(threads.map(work, range(4)))
for device in everywhere:
    check(evict(context, device, shared, 64 * M))
assert not any(map(used, everywhere))
check(ze.zeContextDestroy(context))
"""
    )
