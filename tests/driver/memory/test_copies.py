"""Plain copies: every size, every kind of memory, overlaps, order, copies between contexts."""

import ctypes
import mmap

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check
from tests.driver.support import (
    COPY_ORDINAL,
    FOREVER,
    Bench,
    address,
    close_list,
    copy,
    finish,
    finish_queue,
    handles,
    submit,
    view,
)

SIZES = [0, 1, 17, 4095, (16 << 10) + 1, (1 << 20) + 3, 64 << 20]


@pytest.mark.parametrize("size", SIZES)
def test_copy_of_each_size_is_exact_and_in_bounds(bench: Bench, size: int) -> None:
    guard = 64
    source = bench.random_bytes(size + 2 * guard)
    target = bench.bytes(size + 2 * guard, fill=0xA5)
    commands = bench.immediate()
    copy(commands, address(target, guard), address(source, guard), size)
    finish(commands)
    assert np.array_equal(target[guard : guard + size], source[guard : guard + size])
    assert (target[:guard] == 0xA5).all()
    assert (target[guard + size :] == 0xA5).all()


@pytest.mark.parametrize("ordinal", [0, COPY_ORDINAL])
@pytest.mark.parametrize("size", [17, (1 << 20) + 3])
def test_copy_through_every_kind_of_memory(bench: Bench, size: int, ordinal: int) -> None:
    """Ordinary memory, host, device, shared, device again, and back, in order."""
    rng = np.random.default_rng(size)
    source = rng.integers(0, 256, size, np.uint8)
    target = np.zeros(size, np.uint8)
    steps = [bench.host(size), bench.local(size), bench.shared(size), bench.local(size)]
    commands = bench.immediate(in_order=True, ordinal=ordinal)
    at = address(source)
    for step in [*steps, address(target)]:
        copy(commands, step, at, size)
        at = step
    finish(commands)
    assert np.array_equal(target, source)


@pytest.mark.parametrize("size", [100, 5000, 300_000, 3 << 20, 40 << 20])
@pytest.mark.parametrize("distance", [1, 63, 4096])
def test_overlapping_copy_acts_as_if_buffered(bench: Bench, size: int, distance: int) -> None:
    memory = bench.random_bytes(size + distance)
    commands = bench.immediate()
    before = memory.copy()
    copy(commands, address(memory, distance), address(memory), size)
    finish(commands)
    assert np.array_equal(memory[distance:], before[:size])
    before = memory.copy()
    copy(commands, address(memory), address(memory, distance), size)
    finish(commands)
    assert np.array_equal(memory[:size], before[distance:])


def test_copies_of_random_sizes_and_offsets(bench: Bench) -> None:
    rng = np.random.default_rng(7)
    source, target = bench.random_bytes(1 << 21), bench.bytes(1 << 21, fill=0)
    expected = target.copy()
    commands = bench.immediate(in_order=True)
    for _ in range(200):
        size = int(rng.integers(0, rng.choice([64, 5000, 1 << 20])))
        to, from_ = (int(rng.integers(0, len(source) - size)) for _ in range(2))
        copy(commands, address(target, to), address(source, from_), size)
        expected[to : to + size] = source[from_ : from_ + size]
    finish(commands)
    assert np.array_equal(target, expected)


def test_copy_with_parameters(bench: Bench) -> None:
    source, target = bench.random_bytes(1000), bench.bytes(1000, fill=0)
    commands = bench.immediate()
    check(
        ze.zeCommandListAppendMemoryCopyWithParameters(
            commands, address(target), address(source), 1000, None, None, 0, None
        )
    )
    finish(commands)
    assert np.array_equal(target, source)


def test_copy_from_another_context(bench: Bench, driver: int, device: int) -> None:
    other = Bench(driver, device)
    source, target = other.random_bytes(9999), bench.bytes(9999, fill=0)
    commands = bench.immediate()
    check(
        ze.zeCommandListAppendMemoryCopyFromContext(
            commands, address(target), other.context, address(source), 9999, None, 0, None
        )
    )
    finish(commands)
    assert np.array_equal(target, source)
    other.close()


def test_copy_reads_source_when_run_not_at_append(bench: Bench) -> None:
    source, target = bench.bytes(16, fill=1), bench.bytes(16, fill=0)
    go = bench.event()
    commands = bench.immediate()
    copy(commands, address(target), address(source), 16, waits=[go])
    source[:] = 2
    check(ze.zeEventHostSignal(go))
    finish(commands)
    assert (target == 2).all()


def test_regular_list_copies_on_each_execution(bench: Bench) -> None:
    source, target = bench.bytes(100_000, fill=0), bench.bytes(100_000, fill=0xFF)
    queue, commands = bench.queue(), bench.list()
    copy(commands, address(target), address(source), len(source))
    close_list(commands)
    assert (target == 0xFF).all()
    for value in range(5):
        source[:] = value
        submit(queue, commands)
        finish_queue(queue)
        assert (target == value).all()


def test_prefetch_and_advice_keep_contents(bench: Bench) -> None:
    size = 1 << 20
    memory = view(bench.shared(size), size)
    memory[:] = np.random.default_rng(3).integers(0, 256, size, np.uint8)
    before = memory.copy()
    commands = bench.immediate()
    check(ze.zeCommandListAppendMemoryPrefetch(commands, address(memory, 100), size - 100))
    for advice in ze.ze_memory_advice_t:
        check(
            ze.zeCommandListAppendMemAdvise(commands, bench.device, address(memory), size, advice)
        )
    finish(commands)
    assert np.array_equal(memory, before)


def test_advice_may_be_cleared_on_closed_list(bench: Bench) -> None:
    memory, commands = view(bench.shared(4096), 4096), bench.list()
    check(ze.zeCommandListClose(commands))
    advice = ze.ZE_MEMORY_ADVICE_CLEAR_SYSTEM_MEMORY_PREFERRED_LOCATION
    check(ze.zeCommandListAppendMemAdvise(commands, bench.device, address(memory), 4096, advice))


def test_advice_may_be_for_more_than_the_allocation(bench: Bench) -> None:
    """PoCL gives the size of a whole buffer with the address of a sub-buffer."""
    size = 4096
    memory, commands = view(bench.shared(size), size), bench.immediate()
    advice = ze.ZE_MEMORY_ADVICE_SET_READ_MOSTLY
    part = address(memory, size // 2)
    check(ze.zeCommandListAppendMemAdvise(commands, bench.device, part, size, advice))


def test_prefetch_brings_in_untouched_pages(bench: Bench) -> None:
    size = 8 << 20
    memory = bench.shared(size)
    before = resident_pages(memory, size)
    commands = bench.immediate()
    check(ze.zeCommandListAppendMemoryPrefetch(commands, memory, size))
    finish(commands)
    assert resident_pages(memory, size) == size // mmap.PAGESIZE >= before


def resident_pages(start: int, size: int) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    present = (ctypes.c_uint8 * (size // mmap.PAGESIZE))()
    assert library.mincore(ctypes.c_void_p(start), ctypes.c_size_t(size), present) == 0
    return sum(page & 1 for page in present)


def test_copy_waits_for_all_events_then_signals(bench: Bench) -> None:
    source, target = bench.bytes(64, fill=3), bench.bytes(64, fill=0)
    *waits, done = bench.events(4)
    commands = bench.immediate()
    copy(commands, address(target), address(source), 64, signal=done, waits=waits)
    for event in waits:
        assert ze.zeEventHostSynchronize(done, 1_000_000) == ze.ZE_RESULT_NOT_READY
        assert not target.any()
        check(ze.zeEventHostSignal(event))
    check(ze.zeEventHostSynchronize(done, FOREVER))
    assert (target == 3).all()


def test_waiting_twice_for_one_event_equals_once(bench: Bench) -> None:
    go = bench.event()
    source, target = bench.bytes(8, fill=9), bench.bytes(8, fill=0)
    commands = bench.immediate()
    check(
        ze.zeCommandListAppendMemoryCopy(
            commands, address(target), address(source), 8, None, 2, handles(go, go)
        )
    )
    check(ze.zeEventHostSignal(go))
    finish(commands)
    assert (target == 9).all()
