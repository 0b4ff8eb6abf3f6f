"""Events: states, signals from host and device, resets, chains, getters, pools."""

import ctypes

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


def test_an_event_begins_unsignalled(bench: Bench) -> None:
    assert not any(is_signalled(event) for event in bench.events(10))


def test_host_signal_and_reset(bench: Bench) -> None:
    event, other = bench.events(2)
    for _ in range(3):
        check(ze.zeEventHostSignal(event))
        assert is_signalled(event)
        check(ze.zeEventHostSignal(event))
        assert is_signalled(event)
        check(ze.zeEventHostReset(event))
        assert not is_signalled(event)
        check(ze.zeEventHostReset(event))
        assert not is_signalled(event)
    assert not is_signalled(other)


def test_device_signal_and_reset(bench: Bench) -> None:
    event = bench.event()
    commands = bench.immediate()
    check(ze.zeCommandListAppendSignalEvent(commands, event))
    check(ze.zeEventHostSynchronize(event, FOREVER))
    check(ze.zeCommandListAppendEventReset(commands, event))
    finish(commands)
    assert not is_signalled(event)


def test_an_event_stays_signalled_after_a_wait(bench: Bench) -> None:
    event = bench.event()
    commands = bench.immediate()
    check(ze.zeEventHostSignal(event))
    for _ in range(2):
        check(ze.zeCommandListAppendWaitOnEvents(commands, 1, handles(event)))
        finish(commands)
        check(ze.zeEventHostSynchronize(event, FOREVER))
    assert is_signalled(event)


def test_wait_on_events_blocks_later_commands(bench: Bench) -> None:
    memory = bench.bytes(1, fill=0)
    first, second, done = bench.events(3)
    commands = bench.immediate()
    check(ze.zeCommandListAppendWaitOnEvents(commands, 2, handles(first, second)))
    fill(commands, address(memory), b"\1", 1, signal=done)
    check(ze.zeEventHostSignal(second))
    assert ze.zeEventHostSynchronize(done, MILLISECOND) == ze.ZE_RESULT_NOT_READY
    assert memory[0] == 0
    check(ze.zeEventHostSignal(first))
    check(ze.zeEventHostSynchronize(done, FOREVER))
    assert memory[0] == 1


def test_events_hand_over_between_queues(bench: Bench) -> None:
    """A ring of queues, each waiting for the one before; the host starts the first."""
    count = 8
    memory = bench.bytes(count + 1, fill=0)
    memory[0] = 9
    events = bench.events(count + 1)
    lists = [bench.immediate() for _ in range(count)]
    for number in reversed(range(count)):
        check(
            ze.zeCommandListAppendMemoryCopy(
                lists[number],
                address(memory, number + 1),
                address(memory, number),
                1,
                events[number + 1],
                1,
                handles(events[number]),
            )
        )
    assert not any(is_signalled(event) for event in events)
    check(ze.zeEventHostSignal(events[0]))
    check(ze.zeEventHostSynchronize(events[-1], FOREVER))
    assert (memory == 9).all()


def test_a_list_resets_its_event_and_runs_again(bench: Bench) -> None:
    """Within one list: wait, reset, work, signal; the host plays the other side."""
    memory = bench.bytes(1, fill=0)
    ping, pong = bench.events(2)
    queue, commands = bench.queue(), bench.list(in_order=True)
    check(ze.zeCommandListAppendWaitOnEvents(commands, 1, handles(ping)))
    check(ze.zeCommandListAppendEventReset(commands, ping))
    fill(commands, address(memory), b"\1", 1)
    check(ze.zeCommandListAppendSignalEvent(commands, pong))
    close_list(commands)
    for _ in range(50):
        submit(queue, commands)
        check(ze.zeEventHostSignal(ping))
        check(ze.zeEventHostSynchronize(pong, FOREVER))
        assert memory[0] == 1
        assert not is_signalled(ping)
        memory[0] = 0
        check(ze.zeEventHostReset(pong))
        finish_queue(queue)


@pytest.mark.parametrize("immediate", [True, False])
def test_barrier_waits_for_its_events_and_signals(bench: Bench, immediate: bool) -> None:
    go, done = bench.events(2)
    queue = bench.queue()
    commands = bench.immediate() if immediate else bench.list()
    barrier(commands, signal=done, waits=[go])
    if not immediate:
        submit(queue, close_list(commands))
    assert ze.zeEventHostSynchronize(done, MILLISECOND) == ze.ZE_RESULT_NOT_READY
    check(ze.zeEventHostSignal(go))
    check(ze.zeEventHostSynchronize(done, FOREVER))


def test_self_deadlocked_list_blocks_no_others(
    bench: Bench,
) -> None:
    event = bench.event()
    stuck, free = bench.immediate(), bench.immediate()
    barrier(stuck, waits=[event])
    check(ze.zeCommandListAppendSignalEvent(stuck, event))
    barrier(free)
    finish(free)
    assert not is_signalled(event)
    assert ze.zeCommandListHostSynchronize(stuck, MILLISECOND) == ze.ZE_RESULT_NOT_READY
    check(ze.zeEventHostSignal(event))
    finish(stuck)


def test_a_list_waits_for_hundreds_of_events(bench: Bench) -> None:
    events = bench.events(500)
    done = bench.event()
    commands = bench.immediate()
    barrier(commands, signal=done, waits=events)
    for event in events[:-1]:
        check(ze.zeEventHostSignal(event))
    assert ze.zeEventHostSynchronize(done, MILLISECOND) == ze.ZE_RESULT_NOT_READY
    check(ze.zeEventHostSignal(events[-1]))
    check(ze.zeEventHostSynchronize(done, FOREVER))


# --- Pools ----------------------------------------------------------------------------------------


def test_getters(bench: Bench) -> None:
    flags = ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP
    pool = bench.pool(3, flags)
    event = bench.event_in(
        pool, 2, signal=ze.ZE_EVENT_SCOPE_FLAG_HOST, wait=ze.ZE_EVENT_SCOPE_FLAG_DEVICE
    )
    handle, value = ctypes.c_void_p(), ctypes.c_uint32()
    check(ze.zeEventGetEventPool(event, ctypes.byref(handle)))
    assert handle.value == pool
    check(ze.zeEventPoolGetContextHandle(pool, ctypes.byref(handle)))
    assert handle.value == bench.context
    for function, subject, expected in [
        (ze.zeEventPoolGetFlags, pool, flags),
        (ze.zeEventGetSignalScope, event, ze.ZE_EVENT_SCOPE_FLAG_HOST),
        (ze.zeEventGetWaitScope, event, ze.ZE_EVENT_SCOPE_FLAG_DEVICE),
    ]:
        check(function(subject, ctypes.byref(value)))
        assert value.value == expected


def test_an_index_outside_the_pool_is_refused(bench: Bench) -> None:
    pool = bench.pool(4)
    for index in (4, 2**32 - 1):
        event = ctypes.c_void_p()
        description = ze.ze_event_desc_t(index=index)
        result = ze.zeEventCreate(pool, ctypes.byref(description), ctypes.byref(event))
        assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
        assert "zeEventCreate" in last_error()
        assert event.value is None


def test_recreated_event_starts_unsignalled(bench: Bench) -> None:
    pool = bench.pool(1)
    for _ in range(3):
        event = bench.event_in(pool)
        assert not is_signalled(event)
        check(ze.zeEventHostSignal(event))
        bench.end(event)


def test_a_pool_for_named_devices(bench: Bench) -> None:
    pool = ctypes.c_void_p()
    description = ze.ze_event_pool_desc_t(count=1)
    check(
        ze.zeEventPoolCreate(
            bench.context,
            ctypes.byref(description),
            1,
            handles(bench.device),
            ctypes.byref(pool),
        )
    )
    event = bench.event_in(pool.value or 0)
    check(ze.zeEventHostSignal(event))
    assert is_signalled(event)
    bench.end(event)
    check(ze.zeEventPoolDestroy(pool))


def test_both_timestamp_flags_at_once_refused(bench: Bench) -> None:
    both = ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | ze.ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP
    pool = ctypes.c_void_p()
    description = ze.ze_event_pool_desc_t(count=1, flags=both)
    result = ze.zeEventPoolCreate(
        bench.context, ctypes.byref(description), 0, None, ctypes.byref(pool)
    )
    assert result == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION
    assert "zeEventPoolCreate" in last_error()


def test_a_pool_of_very_many_events(bench: Bench) -> None:
    pool = bench.pool(100_000)
    first, last = bench.event_in(pool, 0), bench.event_in(pool, 99_999)
    check(ze.zeEventHostSignal(last))
    assert is_signalled(last)
    assert not is_signalled(first)


def test_huge_event_pool_is_refused_or_works(bench: Bench) -> None:
    """2^32 - 1 events are more than memory: an error, or memory that is only promised."""
    pool = ctypes.c_void_p()
    description = ze.ze_event_pool_desc_t(count=2**32 - 1)
    result = ze.zeEventPoolCreate(
        bench.context, ctypes.byref(description), 0, None, ctypes.byref(pool)
    )
    if result == ze.ZE_RESULT_SUCCESS:
        event = bench.event_in(pool.value or 0, 2**32 - 2)
        check(ze.zeEventHostSignal(event))
        assert is_signalled(event)
        bench.end(event)
        check(ze.zeEventPoolDestroy(pool))
    else:
        assert result == ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
        assert last_error()


def test_event_works_after_its_pool_is_destroyed(bench: Bench) -> None:
    pool = bench.pool(1)
    event = bench.event_in(pool)
    bench.end(pool)
    check(ze.zeEventHostSignal(event))
    assert is_signalled(event)


def test_short_list_that_waits_for_itself_is_done_at_submit(bench: Bench) -> None:
    """PoCL gives each command an event, then waits for it and resets it in the same list."""
    memory = bench.bytes(1, fill=0)
    event = bench.event()
    queue, commands = bench.queue(), bench.list()
    fill(commands, address(memory), b"\1", 1, signal=event)
    barrier(commands, waits=[event])
    check(ze.zeCommandListAppendEventReset(commands, event))
    close_list(commands)
    for _ in range(50):
        submit(queue, commands)
        check(ze.zeCommandQueueSynchronize(queue, 0))
        assert memory[0] == 1
        assert not is_signalled(event)
        memory[0] = 0


@pytest.mark.parametrize("lists", [1, 2])
def test_submit_returns_before_a_wait_for_an_event_reset_by_it(bench: Bench, lists: int) -> None:
    event = bench.event()
    queue = bench.queue()
    check(ze.zeEventHostSignal(event))
    recorded = [bench.list() for _ in range(lists)]
    barrier(recorded[0], signal=event)
    check(ze.zeCommandListAppendEventReset(recorded[0], event))
    barrier(recorded[-1], waits=[event])
    submit(queue, *map(close_list, recorded))
    while is_signalled(event):
        pass
    assert ze.zeCommandQueueSynchronize(queue, MILLISECOND) == ze.ZE_RESULT_NOT_READY
    check(ze.zeEventHostSignal(event))
    finish_queue(queue)
