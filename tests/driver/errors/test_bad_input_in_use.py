"""Destroying what is still used, and using what was destroyed."""

import ctypes
import mmap
import os
from collections.abc import Callable

import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.support import (
    FOREVER,
    MILLISECOND,
    Bench,
    address,
    barrier,
    close_list,
    fill,
    finish,
    finish_queue,
    handles,
    is_signalled,
    submit,
)

NO_HANDLE = ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE


# --- Destroying what is in use: what was submitted is done all the same ---------------------------


@pytest.mark.parametrize("immediate", [True, False])
def test_destroyed_list_and_queue_finish_their_work(bench: Bench, immediate: bool) -> None:
    go, done = bench.events(2)
    memory = bench.bytes(1, fill=0)
    queue = bench.queue()
    commands = bench.immediate() if immediate else bench.list()
    fill(commands, address(memory), b"\1", 1, signal=done, waits=[go])
    if not immediate:
        submit(queue, close_list(commands))
    bench.end(commands)
    bench.end(queue)
    assert ze.zeCommandListClose(commands) == NO_HANDLE
    assert ze.zeCommandQueueSynchronize(queue, 0) == NO_HANDLE
    assert not is_signalled(done)
    check(ze.zeEventHostSignal(go))
    check(ze.zeEventHostSynchronize(done, FOREVER))
    assert memory[0] == 1


@pytest.mark.parametrize("immediate", [True, False])
def test_destroyed_events_still_order_commands(bench: Bench, immediate: bool) -> None:
    go, other, done = bench.events(3)
    memory = bench.bytes(1, fill=0)
    queue = bench.queue()
    commands = bench.immediate(in_order=True) if immediate else bench.list()
    barrier(commands, signal=done, waits=[go, other])
    fill(commands, address(memory), b"\1", 1, waits=[done])
    if not immediate:
        submit(queue, close_list(commands))
    check(ze.zeEventHostSignal(other))
    for event in (other, done):
        bench.end(event)
        assert ze.zeEventQueryStatus(event) == NO_HANDLE
    assert ze.zeCommandQueueSynchronize(queue, 0) == (
        ze.ZE_RESULT_SUCCESS if immediate else ze.ZE_RESULT_NOT_READY
    )
    check(ze.zeEventHostSignal(go))
    finish(commands) if immediate else finish_queue(queue)
    assert memory[0] == 1


def test_destroyed_context_keeps_waiting_work_and_its_memory(driver: int, device: int) -> None:
    bench = Bench(driver, device)
    go, done = bench.events(2)
    memory, commands = bench.bytes(64, fill=0), bench.immediate()
    fill(commands, address(memory), b"\1", 64, signal=done, waits=[go])
    bench.end(bench.context)
    assert ze.zeContextGetStatus(bench.context) == NO_HANDLE
    check(ze.zeEventHostSignal(go))
    check(ze.zeEventHostSynchronize(done, FOREVER))
    assert memory.tolist() == [1] * 64
    bench._endings = {
        handle: ending for handle, ending in bench._endings.items() if ending != bench._free
    }
    bench.close()


def test_destroyed_physical_memory_stays_mapped(bench: Bench) -> None:
    size = mmap.PAGESIZE
    start, physical = ctypes.c_void_p(), ctypes.c_void_p()
    description = ze.ze_physical_mem_desc_t(size=size)
    files = len(os.listdir("/proc/self/fd"))
    check(ze.zeVirtualMemReserve(bench.context, None, size, ctypes.byref(start)))
    check(
        ze.zePhysicalMemCreate(
            bench.context, bench.device, ctypes.byref(description), ctypes.byref(physical)
        )
    )
    access = ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE
    check(ze.zeVirtualMemMap(bench.context, start, size, physical, 0, access))
    check(ze.zePhysicalMemDestroy(bench.context, physical))
    assert ze.zePhysicalMemDestroy(bench.context, physical) == NO_HANDLE
    assert start.value is not None
    commands = bench.immediate()
    fill(commands, start.value, b"\7", size)
    finish(commands)
    assert ctypes.string_at(start.value, 2) == b"\7\7"
    check(ze.zeVirtualMemUnmap(bench.context, start, size))
    assert len(os.listdir("/proc/self/fd")) == files, "the memory went with its last mapping"
    check(ze.zeVirtualMemFree(bench.context, start, size))


def test_event_may_be_destroyed_after_its_wait(bench: Bench) -> None:
    commands = bench.immediate()
    for _ in range(300):
        event = bench.event()
        barrier(commands, signal=event)
        check(ze.zeEventHostSynchronize(event, FOREVER))
        bench.end(event)


def test_what_an_open_list_refers_to_may_go_first(bench: Bench) -> None:
    """A recorded list that never runs keeps nobody from destroying its events."""
    event = bench.event()
    commands = bench.list()
    barrier(commands, signal=event, waits=[event])
    bench.end(event)
    check(ze.zeCommandListReset(commands))


# --- Use after destroy ----------------------------------------------------------------------------


def test_destroyed_handle_of_each_kind_is_invalid(bench: Bench) -> None:
    queue, commands, pool = bench.queue(), bench.immediate(), bench.pool(1)
    event, fence = bench.event_in(pool), bench.fence(queue)
    value = ctypes.c_uint32()
    uses: dict[int, Callable[[int], int]] = {
        fence: ze.zeFenceQueryStatus,
        event: ze.zeEventQueryStatus,
        pool: lambda pool: ze.zeEventPoolGetFlags(pool, ctypes.byref(value)),
        commands: lambda commands: ze.zeCommandListHostSynchronize(commands, 0),
        queue: lambda queue: ze.zeCommandQueueSynchronize(queue, 0),
    }
    endings = {handle: bench._endings[handle] for handle in uses}
    for handle, use in uses.items():
        assert use(handle) in (ze.ZE_RESULT_SUCCESS, ze.ZE_RESULT_NOT_READY)
        bench.end(handle)
        assert use(handle) == NO_HANDLE
        assert "no live" in last_error()
        assert endings[handle](handle) == NO_HANDLE, "destroyed twice"


def test_destroyed_context_is_refused_everywhere(bench: Bench, driver: int) -> None:
    context, pointer = ctypes.c_void_p(), ctypes.c_void_p()
    description = ze.ze_context_desc_t()
    check(ze.zeContextCreate(driver, ctypes.byref(description), ctypes.byref(context)))
    check(ze.zeContextDestroy(context))
    allocation = ze.ze_host_mem_alloc_desc_t()
    assert ze.zeContextGetStatus(context) == NO_HANDLE
    assert ze.zeContextDestroy(context) == NO_HANDLE
    result = ze.zeMemAllocHost(context, ctypes.byref(allocation), 1, 0, ctypes.byref(pointer))
    assert result == NO_HANDLE


def test_stale_handle_is_not_reused_at_once(bench: Bench) -> None:
    """A slot is not handed out again at once."""
    event = bench.event()
    bench.end(event)
    pool = bench.pool(1)
    for _ in range(500):
        bench.end(bench.event_in(pool))
        assert ze.zeEventQueryStatus(event) == NO_HANDLE


def test_objects_survive_their_destroyed_context(driver: int, device: int) -> None:
    """Destroying the context first is a mistake; what is left of it can still be taken down."""
    bench = Bench(driver, device)
    queue, commands, event = bench.queue(), bench.immediate(), bench.event()
    memory = bench.bytes(64, fill=0)
    bench.end(bench.context)
    fill(commands, address(memory), b"\1", 64)
    finish(commands)
    check(ze.zeEventHostSignal(event))
    assert is_signalled(event)
    finish_queue(queue)
    bench._endings = {
        handle: ending for handle, ending in bench._endings.items() if ending != bench._free
    }
    bench.close()


# --- Wait events that are no events ---------------------------------------------------------------


def test_dead_events_among_wait_events(bench: Bench) -> None:
    commands = bench.immediate()
    good, dead = bench.events(2)
    check(ze.zeEventHostSignal(good))
    bench.end(dead)
    append = ze.zeCommandListAppendBarrier
    wrong = ze.ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT
    for waits in [(good, dead), (dead, good), (good, commands), (good, 12345)]:
        assert append(commands, None, 2, handles(*waits)) == wrong
        assert "zeCommandListAppendBarrier" in last_error()
    assert append(commands, dead, 0, None) == wrong
    assert append(commands, None, 2, handles(good, 0)) == NO_HANDLE


def test_refused_append_leaves_list_unchanged(bench: Bench) -> None:
    memory = bench.bytes(2, fill=0)
    queue, commands = bench.queue(), bench.list()
    fill(commands, address(memory), b"\1", 1)
    bad = handles(12345)
    result = ze.zeCommandListAppendMemoryFill(
        commands, address(memory, 1), b"\1", 1, 1, None, 1, bad
    )
    assert result == ze.ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT
    submit(queue, close_list(commands))
    finish_queue(queue)
    assert memory.tolist() == [1, 0]


def test_blocked_device_reports_not_ready(bench: Bench) -> None:
    go, done = bench.events(2)
    queue, commands, immediate = bench.queue(), bench.list(), bench.immediate()
    fence = bench.fence(queue)
    barrier(commands, signal=done, waits=[go])
    barrier(immediate, waits=[go])
    submit(queue, close_list(commands), fence=fence)
    for timeout in (0, MILLISECOND):
        for wait, subject in [
            (ze.zeCommandQueueSynchronize, queue),
            (ze.zeCommandListHostSynchronize, immediate),
            (ze.zeFenceHostSynchronize, fence),
            (ze.zeEventHostSynchronize, done),
        ]:
            assert wait(subject, timeout) == ze.ZE_RESULT_NOT_READY
    assert ze.zeFenceQueryStatus(fence) == ze.ZE_RESULT_NOT_READY
    assert ze.zeEventQueryStatus(done) == ze.ZE_RESULT_NOT_READY
