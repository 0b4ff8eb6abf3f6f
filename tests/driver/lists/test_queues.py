"""Command queues: order, independence, modes, waiting, and what runs on them."""

import ctypes
import threading
import time

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.support import (
    COPY_ORDINAL,
    FOREVER,
    MILLISECOND,
    Bench,
    address,
    barrier,
    close_list,
    copy,
    fill,
    finish,
    finish_queue,
    global_timestamps,
    handles,
    in_another_thread,
    submit,
)

HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def blocked_list(bench: Bench, go: int) -> int:
    """A closed list that waits for an event."""
    commands = bench.list()
    barrier(commands, waits=[go])
    return close_list(commands)


def test_getters(bench: Bench) -> None:
    mode, priority = (
        ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS,
        ze.ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH,
    )
    flags = ze.ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY
    queue = bench.queue(ordinal=COPY_ORDINAL, flags=flags, mode=mode, priority=priority)
    value = ctypes.c_uint32()
    for name, expected in {
        "Ordinal": COPY_ORDINAL,
        "Index": 0,
        "Flags": flags,
        "Mode": mode,
        "Priority": priority,
    }.items():
        check(getattr(ze, f"zeCommandQueueGet{name}")(queue, ctypes.byref(value)))
        assert value.value == expected, name


def test_every_index_of_every_group_gives_a_queue(bench: Bench) -> None:
    count = ctypes.c_uint32()
    check(ze.zeDeviceGetCommandQueueGroupProperties(bench.device, ctypes.byref(count), None))
    groups = ze.ze_command_queue_group_properties_t.array(count.value)
    check(ze.zeDeviceGetCommandQueueGroupProperties(bench.device, ctypes.byref(count), groups))
    for ordinal, group in enumerate(groups):
        for index in {0, group.numQueues - 1}:
            bench.queue(ordinal=ordinal, index=index)
            bench.immediate(ordinal=ordinal, index=index)
        result = try_queue(bench, ordinal=ordinal, index=group.numQueues)
        assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert try_queue(bench, ordinal=count.value) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "zeCommandQueueCreate" in last_error()


def try_queue(bench: Bench, **fields: int) -> int:
    queue = ctypes.c_void_p()
    description = ze.ze_command_queue_desc_t(**fields)
    return int(
        ze.zeCommandQueueCreate(
            bench.context, bench.device, ctypes.byref(description), ctypes.byref(queue)
        )
    )


def test_a_blocked_queue_blocks_no_other(bench: Bench) -> None:
    """Sixteen queues stand still, and the seventeenth runs."""
    memory = bench.bytes(17, fill=0)
    go = bench.event()
    blocked = []
    for number in range(16):
        commands, queue = bench.list(), bench.queue()
        fill(commands, address(memory, number), b"\1", 1, waits=[go])
        submit(queue, close_list(commands))
        blocked.append(queue)
    free = bench.immediate()
    fill(free, address(memory, 16), b"\1", 1)
    finish(free)
    assert memory.tolist() == [0] * 16 + [1]
    check(ze.zeEventHostSignal(go))
    for queue in blocked:
        finish_queue(queue)
    assert memory.all()


def test_submissions_to_one_queue_keep_order(bench: Bench) -> None:
    memory = bench.bytes(1, fill=0)
    go = bench.event()
    queue = bench.queue()
    submit(queue, blocked_list(bench, go))
    for number in range(1, 11):
        commands = bench.list()
        fill(commands, address(memory), bytes([number]), 1)
        submit(queue, close_list(commands))
    assert memory[0] == 0
    check(ze.zeEventHostSignal(go))
    finish_queue(queue)
    assert memory[0] == 10


def test_short_list_is_done_when_submit_returns(bench: Bench) -> None:
    memory = bench.bytes(2, fill=0)
    queue, commands = bench.queue(), bench.list()
    fence, event = bench.fence(queue), bench.event()
    fill(commands, address(memory), b"\1", 1, signal=event)
    fill(commands, address(memory, 1), b"\2", 1)
    submit(queue, close_list(commands), fence=fence)
    check(ze.zeFenceQueryStatus(fence))
    check(ze.zeEventQueryStatus(event))
    assert memory.tolist() == [1, 2]


def test_short_list_with_met_waits_runs_at_submit(bench: Bench) -> None:
    memory, over = bench.bytes(1, fill=0), bench.event()
    queue, commands = bench.queue(), bench.list()
    fill(commands, address(memory), b"\1", 1, waits=[over])
    check(ze.zeEventHostSignal(over))
    submit(queue, close_list(commands))
    assert memory.tolist() == [1]


def test_list_resetting_own_wait_blocks_nobody(bench: Bench) -> None:
    memory, event = bench.bytes(1, fill=0), bench.event()
    queue, commands = bench.queue(), bench.list()
    check(ze.zeCommandListAppendEventReset(commands, event))
    fill(commands, address(memory), b"\1", 1, waits=[event])
    check(ze.zeEventHostSignal(event))
    submit(queue, close_list(commands))
    while ze.zeEventQueryStatus(event) == ze.ZE_RESULT_SUCCESS:
        time.sleep(0.001)
    assert memory.tolist() == [0]
    check(ze.zeEventHostSignal(event))
    finish_queue(queue)
    assert memory.tolist() == [1]


def test_a_short_list_that_waits_holds_up_nobody(bench: Bench) -> None:
    memory, go = bench.bytes(2, fill=0), bench.event()
    queue, waiting, free = bench.queue(), bench.list(), bench.list()
    fill(waiting, address(memory), b"\1", 1, waits=[go])
    fill(free, address(memory, 1), b"\2", 1)
    submit(queue, close_list(waiting))
    submit(queue, close_list(free))
    assert memory.tolist() == [0, 0]
    check(ze.zeEventHostSignal(go))
    finish_queue(queue)
    assert memory.tolist() == [1, 2]


def test_synchronise_honours_its_timeout(bench: Bench) -> None:
    go = bench.event()
    queue = bench.queue()
    check(ze.zeCommandQueueSynchronize(queue, 0))
    submit(queue, blocked_list(bench, go))
    assert ze.zeCommandQueueSynchronize(queue, 0) == ze.ZE_RESULT_NOT_READY
    assert ze.zeCommandQueueSynchronize(queue, MILLISECOND) == ze.ZE_RESULT_NOT_READY
    with in_another_thread(lambda: check(ze.zeEventHostSignal(go))):
        check(ze.zeCommandQueueSynchronize(queue, FOREVER))
    check(ze.zeCommandQueueSynchronize(queue, 0))


def test_synchronous_queue_returns_when_lists_ran(bench: Bench) -> None:
    size = 8 << 20
    source, target = bench.random_bytes(size), bench.bytes(size, fill=0)
    queue = bench.queue(mode=ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
    commands = bench.list()
    copy(commands, address(target), address(source), size)
    submit(queue, close_list(commands))
    assert np.array_equal(target, source)


def test_device_synchronise_covers_every_context(bench: Bench, driver: int, device: int) -> None:
    other = Bench(driver, device)
    size = 4 << 20
    pairs = []
    for owner in (bench, other):
        source, target = owner.random_bytes(size), owner.bytes(size, fill=0)
        go = owner.event()
        commands = owner.immediate()
        copy(commands, address(target), address(source), size, waits=[go])
        pairs.append((go, source, target))

    def release() -> None:
        for go, _, _ in pairs:
            check(ze.zeEventHostSignal(go))

    with in_another_thread(release):
        check(ze.zeDeviceSynchronize(device))
    for _, source, target in pairs:
        assert np.array_equal(source, target)
    other.close()


def test_device_synchronise_of_an_idle_device(device: int) -> None:
    check(ze.zeDeviceSynchronize(device))


# --- Wrong combinations ---------------------------------------------------------------------------


def execute(queue: int, commands: int, fence: int | None = None) -> int:
    result = ze.zeCommandQueueExecuteCommandLists(queue, 1, handles(commands), fence)
    if result != ze.ZE_RESULT_SUCCESS:
        assert "zeCommandQueueExecuteCommandLists" in last_error()
    return int(result)


def test_lists_of_the_wrong_type_are_refused(bench: Bench) -> None:
    queue = bench.queue()
    wrong = ze.ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE
    assert execute(queue, bench.immediate()) == wrong
    assert execute(queue, close_list(bench.list(ordinal=COPY_ORDINAL))) == wrong


def test_queues_take_lists_with_and_without_explicit_only(bench: Bench) -> None:
    """The flag is deprecated, and SYCL's runtime sets it on queues and on no list."""
    for queue_flags in (0, ze.ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY):
        queue = bench.queue(flags=queue_flags)
        for flags in (0, ze.ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY):
            assert execute(queue, close_list(bench.list(flags=flags))) == ze.ZE_RESULT_SUCCESS
        finish_queue(queue)


def test_explicit_only_immediate_takes_plain_list(bench: Bench) -> None:
    now = bench.immediate(flags=ze.ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY)
    plain = handles(close_list(bench.list()))
    check(ze.zeCommandListImmediateAppendCommandListsExp(now, 1, plain, None, 0, None))
    finish(now)


def test_explicit_only_clone_runs_on_such_queue(bench: Bench) -> None:
    flags = ze.ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY | ze.ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE
    original, clone = close_list(bench.list(flags=flags)), ctypes.c_void_p()
    check(ze.zeCommandListCreateCloneExp(original, ctypes.byref(clone)))
    queue = bench.queue(flags=ze.ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY)
    assert clone.value is not None
    assert execute(queue, clone.value) == ze.ZE_RESULT_SUCCESS
    finish_queue(queue)
    check(ze.zeCommandListDestroy(clone.value))


def test_list_of_another_context_is_refused(driver: int, device: int, bench: Bench) -> None:
    elsewhere = Bench(driver, device)
    try:
        commands = close_list(elsewhere.list())
        assert execute(bench.queue(), commands) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
        assert "context" in last_error()
    finally:
        elsewhere.close()


def test_in_order_list_refuses_relaxed_ordering(bench: Bench) -> None:
    flags = ze.ZE_COMMAND_LIST_FLAG_IN_ORDER | ze.ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING
    description, handle = ze.ze_command_list_desc_t(flags=flags), ctypes.c_void_p()
    result = ze.zeCommandListCreate(
        bench.context, bench.device, ctypes.byref(description), ctypes.byref(handle)
    )
    assert result == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION
    assert "RELAXED_ORDERING" in last_error()


def test_one_wrong_list_keeps_all_from_running(bench: Bench) -> None:
    memory = bench.bytes(1, fill=0)
    queue, good = bench.queue(), bench.list()
    fill(good, address(memory), b"\1", 1)
    close_list(good)
    result = ze.zeCommandQueueExecuteCommandLists(queue, 2, handles(good, bench.list()), None)
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    finish_queue(queue)
    assert memory[0] == 0


# --- Host functions and timestamps ----------------------------------------------------------------


@pytest.mark.parametrize("immediate", [True, False])
def test_device_runs_host_function_between_events(bench: Bench, immediate: bool) -> None:
    calls: list[tuple[int | None, int]] = []

    def note(argument: int | None) -> None:
        calls.append((argument, threading.get_native_id()))

    callback = HOST_FUNCTION(note)

    go, done = bench.events(2)
    queue = bench.queue()
    commands = bench.immediate() if immediate else bench.list()
    check(ze.zeCommandListAppendHostFunction(commands, callback, 1234, None, done, 1, handles(go)))
    if not immediate:
        submit(queue, close_list(commands))
    assert ze.zeEventHostSynchronize(done, MILLISECOND) == ze.ZE_RESULT_NOT_READY
    assert calls == []
    check(ze.zeEventHostSignal(go))
    check(ze.zeEventHostSynchronize(done, FOREVER))
    assert calls[0][0] == 1234
    assert calls[0][1] != threading.get_native_id()
    assert len(calls) == 1


def test_host_function_sees_the_copies_before_it(bench: Bench) -> None:
    size = 4 << 20
    source, target = bench.random_bytes(size), bench.bytes(size, fill=0)
    seen: list[bool] = []

    def look(_: int | None) -> None:
        seen.append(np.array_equal(source, target))

    callback = HOST_FUNCTION(look)

    commands = bench.immediate(in_order=True)
    copy(commands, address(target), address(source), size)
    check(ze.zeCommandListAppendHostFunction(commands, callback, None, None, None, 0, None))
    finish(commands)
    assert seen == [True]


def test_device_timestamps_rise_within_host_times(bench: Bench) -> None:
    stamps = bench.bytes(10 * 8, fill=0).view(np.uint64)
    commands = bench.immediate(in_order=True)
    _, before = global_timestamps(bench.device)
    for index in range(10):
        check(
            ze.zeCommandListAppendWriteGlobalTimestamp(
                commands, address(stamps, 8 * index), None, 0, None
            )
        )
    finish(commands)
    _, after = global_timestamps(bench.device)
    assert before <= stamps[0]
    assert (stamps[:-1] <= stamps[1:]).all()
    assert stamps[-1] <= after


def test_timestamp_is_written_when_command_runs(bench: Bench) -> None:
    stamp = bench.bytes(8, fill=0).view(np.uint64)
    go = bench.event()
    commands = bench.immediate()
    check(
        ze.zeCommandListAppendWriteGlobalTimestamp(commands, address(stamp), None, 1, handles(go))
    )
    _, before = global_timestamps(bench.device)
    check(ze.zeEventHostSignal(go))
    finish(commands)
    assert stamp[0] >= before


@pytest.mark.parametrize("ranges", [0, 3])
def test_memory_ranges_barrier_waits_and_signals(bench: Bench, ranges: int) -> None:
    memory = bench.bytes(4096, fill=0)
    sizes = (ctypes.c_size_t * 3)(16, 1, 4000)
    starts = handles(address(memory), address(memory, 1), address(memory, 90))
    go, done = bench.events(2)
    commands = bench.immediate()
    check(
        ze.zeCommandListAppendMemoryRangesBarrier(
            commands, ranges, sizes, starts, done, 1, handles(go)
        )
    )
    assert ze.zeEventHostSynchronize(done, MILLISECOND) == ze.ZE_RESULT_NOT_READY
    check(ze.zeEventHostSignal(go))
    check(ze.zeEventHostSynchronize(done, FOREVER))


def test_system_barrier(bench: Bench) -> None:
    check(ze.zeContextSystemBarrier(bench.context, bench.device))
