"""Counter-based events without a pool: flags, timestamps, counters, words of the application."""

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt
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
    copy,
    fill,
    finish,
    finish_queue,
    global_timestamps,
    in_another_thread,
    is_signalled,
    submit,
    view,
)

INVALID = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
IMMEDIATE = ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE
REGULAR = ze.ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE
DEVICE_TIME = ze.ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP
HOST_TIME = ze.ZE_EVENT_COUNTER_BASED_FLAG_HOST_TIMESTAMP


def try_event(bench: Bench, flags: int = 0, chained: Any = None) -> int:
    """The result of creating an event that is not expected to come about."""
    event = ctypes.c_void_p()
    description = ze.ze_event_counter_based_desc_t(
        flags=flags, pNext=ctypes.addressof(chained) if chained else None
    )
    result = ze.zeEventCounterBasedCreate(
        bench.context, bench.device, ctypes.byref(description), ctypes.byref(event)
    )
    assert event.value is None
    assert "zeEventCounterBasedCreate" in last_error()
    return int(result)


def flags_of(event: int) -> int:
    flags = ctypes.c_uint32()
    check(ze.zeEventGetCounterBasedFlags(event, ctypes.byref(flags)))
    return flags.value


# --- Flags ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "flags",
    [
        IMMEDIATE,
        REGULAR,
        IMMEDIATE | REGULAR,
        IMMEDIATE | ze.ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE,
        REGULAR | DEVICE_TIME,
        IMMEDIATE | HOST_TIME,
        IMMEDIATE | ze.ZE_EVENT_COUNTER_BASED_FLAG_IPC,
    ],
)
def test_flags_are_told_back(bench: Bench, flags: int) -> None:
    assert flags_of(bench.counter_event(flags)) == flags


def test_event_defaults_to_immediate_lists(bench: Bench) -> None:
    event = bench.counter_event()
    barrier(bench.immediate(in_order=True), signal=event)
    result = ze.zeCommandListAppendSignalEvent(bench.list(in_order=True), event)
    assert result == INVALID
    assert flags_of(event) in (0, IMMEDIATE)


def test_an_event_of_a_pool_has_no_such_flags(bench: Bench) -> None:
    assert flags_of(bench.event()) == 0


def test_scopes_are_told_back(bench: Bench) -> None:
    event, scope = ctypes.c_void_p(), ctypes.c_uint32()
    description = ze.ze_event_counter_based_desc_t(
        signal=ze.ZE_EVENT_SCOPE_FLAG_HOST, wait=ze.ZE_EVENT_SCOPE_FLAG_SUBDEVICE
    )
    check(
        ze.zeEventCounterBasedCreate(
            bench.context, bench.device, ctypes.byref(description), ctypes.byref(event)
        )
    )
    check(ze.zeEventGetSignalScope(event, ctypes.byref(scope)))
    assert scope.value == ze.ZE_EVENT_SCOPE_FLAG_HOST
    check(ze.zeEventGetWaitScope(event, ctypes.byref(scope)))
    assert scope.value == ze.ZE_EVENT_SCOPE_FLAG_SUBDEVICE
    check(ze.zeEventDestroy(event))


def test_there_is_no_pool_to_ask_for(bench: Bench) -> None:
    pool = ctypes.c_void_p()
    assert ze.zeEventGetEventPool(bench.counter_event(), ctypes.byref(pool)) == INVALID
    assert "zeEventGetEventPool" in last_error()


# --- Timestamps -----------------------------------------------------------------------------------


@pytest.mark.parametrize("flag", [DEVICE_TIME, HOST_TIME])
@pytest.mark.parametrize("immediate", [True, False])
def test_timestamps(bench: Bench, flag: int, immediate: bool) -> None:
    event = bench.counter_event(flag | IMMEDIATE | REGULAR)
    source, target = bench.random_bytes(1 << 20), bench.bytes(1 << 20)
    queue = bench.queue()
    for _ in range(3):
        commands = bench.immediate(in_order=True) if immediate else bench.list(in_order=True)
        before = global_timestamps(bench.device)
        copy(commands, address(target), address(source), 1 << 20, signal=event)
        if not immediate:
            submit(queue, close_list(commands))
        check(ze.zeEventHostSynchronize(event, FOREVER))
        after = global_timestamps(bench.device)
        result = ze.ze_kernel_timestamp_result_t()
        check(ze.zeEventQueryKernelTimestamp(event, ctypes.byref(result)))
        clock = 0 if flag == HOST_TIME else 1
        for interval in (result.global_, result.context):
            assert before[clock] <= interval.kernelStart < interval.kernelEnd <= after[clock]


def test_both_kinds_of_timestamps_are_refused(bench: Bench) -> None:
    result = try_event(bench, DEVICE_TIME | HOST_TIME)
    assert result == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION


def test_without_the_flag_there_are_no_timestamps(bench: Bench) -> None:
    event = bench.counter_event()
    commands = bench.immediate(in_order=True)
    barrier(commands, signal=event)
    finish(commands)
    result = ze.ze_kernel_timestamp_result_t()
    assert ze.zeEventQueryKernelTimestamp(event, ctypes.byref(result)) == INVALID


# --- The counter's address ------------------------------------------------------------------------


def device_address(event: int) -> tuple[int, int]:
    value, where = ctypes.c_uint64(), ctypes.c_uint64()
    check(ze.zeEventCounterBasedGetDeviceAddress(event, ctypes.byref(value), ctypes.byref(where)))
    return value.value, where.value


def read(where: int) -> int:
    return ctypes.c_uint64.from_address(where).value


def test_counter_hits_completion_value_on_signal(
    bench: Bench,
) -> None:
    event, go = bench.counter_event(IMMEDIATE), bench.event()
    commands = bench.immediate(in_order=True)
    for _ in range(5):
        barrier(commands, signal=event, waits=[go])
        value, where = device_address(event)
        assert read(where) < value
        check(ze.zeEventHostSignal(go))
        check(ze.zeEventHostSynchronize(event, FOREVER))
        assert read(where) >= value
        check(ze.zeEventHostReset(go))


def test_completion_value_follows_each_list_run(bench: Bench) -> None:
    event, go = bench.counter_event(REGULAR), bench.event()
    queue, commands = bench.queue(), bench.list(in_order=True)
    barrier(commands, signal=event, waits=[go])
    close_list(commands)
    for _ in range(4):
        submit(queue, commands)
        value, where = device_address(event)
        assert read(where) < value
        check(ze.zeEventHostSignal(go))
        finish_queue(queue)
        assert read(where) >= value
        check(ze.zeEventHostReset(go))


def test_unused_event_has_no_device_address(bench: Bench) -> None:
    value, where = ctypes.c_uint64(), ctypes.c_uint64()
    get = ze.zeEventCounterBasedGetDeviceAddress
    for event in (bench.counter_event(), bench.event()):
        assert get(event, ctypes.byref(value), ctypes.byref(where)) == INVALID
        assert "zeEventCounterBasedGetDeviceAddress" in last_error()


# --- Words of the application ---------------------------------------------------------------------


def word_of(bench: Bench, value: int = 0) -> npt.NDArray[np.uint64]:
    word = view(bench.shared(8), 8).view(np.uint64)
    word[0] = value
    return word


def sync_allocation(word: npt.NDArray[np.uint64], completion: int) -> Any:
    return ze.ze_event_counter_based_external_sync_allocation_desc_t(
        deviceAddress=address(word), hostAddress=address(word), completionValue=completion
    )


def aggregate_storage(word: npt.NDArray[np.uint64], increment: int, completion: int) -> Any:
    return ze.ze_event_counter_based_external_aggregate_storage_desc_t(
        deviceAddress=address(word), incrementValue=increment, completionValue=completion
    )


def test_external_event_completes_by_host_write(bench: Bench) -> None:
    word, memory = word_of(bench), bench.bytes(1, fill=0)
    event = bench.counter_event(chained=sync_allocation(word, 10))
    commands = bench.immediate(in_order=True)
    fill(commands, address(memory), b"\1", 1, waits=[event])
    for value in (0, 1, 9):
        word[0] = value
        assert not is_signalled(event)
    assert ze.zeEventHostSynchronize(event, MILLISECOND) == ze.ZE_RESULT_NOT_READY
    assert memory[0] == 0
    word[0] = 10
    assert is_signalled(event)
    finish(commands)
    assert memory[0] == 1
    word[0] = 11
    check(ze.zeEventHostSynchronize(event, 0))
    assert device_address(event) == (10, address(word))


def test_host_wait_sees_write_of_another_thread(bench: Bench) -> None:
    word = word_of(bench)
    event = bench.counter_event(chained=sync_allocation(word, 3))

    def write() -> None:
        word[0] = 3

    with in_another_thread(write):
        check(ze.zeEventHostSynchronize(event, FOREVER))


def test_the_device_may_write_the_word(bench: Bench) -> None:
    """A copy on another list is what completes the event."""
    word, value = word_of(bench), word_of(bench, 7)
    event, go = bench.counter_event(chained=sync_allocation(word, 7)), bench.event()
    writing, waiting = bench.immediate(), bench.immediate()
    copy(writing, address(word), address(value), 8, waits=[go])
    barrier(waiting, waits=[event])
    assert ze.zeCommandListHostSynchronize(waiting, MILLISECOND) == ze.ZE_RESULT_NOT_READY
    check(ze.zeEventHostSignal(go))
    finish(waiting)


def test_signalling_replaces_the_external_word(bench: Bench) -> None:
    """The event then stands for the command, and the application's word is left alone."""
    word = word_of(bench)
    event, go = bench.counter_event(chained=sync_allocation(word, 5)), bench.event()
    commands = bench.immediate(in_order=True)
    barrier(commands, signal=event, waits=[go])
    word[0] = 5
    assert not is_signalled(event)
    word[0] = 1
    check(ze.zeEventHostSignal(go))
    check(ze.zeEventHostSynchronize(event, FOREVER))
    assert word[0] == 1


def test_each_signal_adds_to_an_aggregate(bench: Bench) -> None:
    word = word_of(bench, 100)
    event = bench.counter_event(chained=aggregate_storage(word, 7, 121))
    lists = [bench.immediate(in_order=True) for _ in range(3)]
    for count, commands in enumerate(lists, 1):
        assert not is_signalled(event)
        barrier(commands, signal=event)
        finish(commands)
        assert word[0] == 100 + 7 * count
    check(ze.zeEventHostSynchronize(event, FOREVER))
    assert device_address(event) == (121, address(word))


def test_aggregate_event_blocks_until_all_signal(bench: Bench) -> None:
    word, memory = word_of(bench), bench.bytes(1, fill=0)
    event, go = bench.counter_event(chained=aggregate_storage(word, 1, 8)), bench.event()
    waiting = bench.immediate()
    fill(waiting, address(memory), b"\1", 1, waits=[event])
    lists = [bench.immediate(in_order=True) for _ in range(8)]
    for commands in lists[:7]:
        barrier(commands, signal=event)
        finish(commands)
    barrier(lists[7], signal=event, waits=[go])
    assert ze.zeCommandListHostSynchronize(waiting, MILLISECOND) == ze.ZE_RESULT_NOT_READY
    assert memory[0] == 0
    check(ze.zeEventHostSignal(go))
    finish(waiting)
    assert (memory[0], word[0]) == (1, 8)


def test_an_aggregate_is_added_to_atomically(bench: Bench) -> None:
    word = word_of(bench)
    event = bench.counter_event(IMMEDIATE | REGULAR, chained=aggregate_storage(word, 1, 4 * 500))
    queues = []
    for _ in range(4):
        queue, commands = bench.queue(), bench.list(in_order=True)
        for _ in range(50):
            barrier(commands, signal=event)
        close_list(commands)
        queues.append((queue, commands))
    for _ in range(10):
        for queue, commands in queues:
            submit(queue, commands)
    check(ze.zeEventHostSynchronize(event, FOREVER))
    assert word[0] == 4 * 500


def max_value(device: int) -> int:
    value = ctypes.c_uint64()
    check(ze.zeDeviceGetCounterBasedEventMaxValue(device, ctypes.byref(value)))
    return value.value


def test_completion_value_beyond_limit_is_refused(bench: Bench) -> None:
    word = word_of(bench)
    largest = max_value(bench.device)
    event = bench.counter_event(chained=sync_allocation(word, largest))
    word[0] = largest
    assert is_signalled(event)
    assert try_event(bench, chained=sync_allocation(word, largest + 1)) == INVALID
    assert try_event(bench, chained=aggregate_storage(word, 1, largest + 1)) == INVALID


def test_null_or_unaligned_counter_is_refused(bench: Bench) -> None:
    word = word_of(bench)
    null, odd = sync_allocation(word, 1), sync_allocation(word, 1)
    null.hostAddress = None
    odd.hostAddress = address(word) + 1
    assert try_event(bench, chained=null) == INVALID
    assert try_event(bench, chained=odd) == INVALID
    no_storage, odd_storage = aggregate_storage(word, 1, 1), aggregate_storage(word, 1, 1)
    no_storage.deviceAddress = None
    odd_storage.deviceAddress = address(word) + 4
    assert try_event(bench, chained=no_storage) == INVALID
    assert try_event(bench, chained=odd_storage) == INVALID


def test_external_word_with_aggregate_is_refused(bench: Bench) -> None:
    word = word_of(bench)
    storage = aggregate_storage(word, 1, 1)
    both = sync_allocation(word, 1)
    both.pNext = ctypes.addressof(storage)
    assert try_event(bench, chained=both) == INVALID


def test_copy_offload_increment(bench: Bench) -> None:
    """One copy signals once, however many cores take part."""
    value = ctypes.c_uint32()
    check(ze.zeDeviceGetAggregatedCopyOffloadIncrementValue(bench.device, ctypes.byref(value)))
    word = word_of(bench)
    event = bench.counter_event(chained=aggregate_storage(word, value.value, value.value))
    source, target = bench.random_bytes(4 << 20), bench.bytes(4 << 20)
    commands = bench.immediate(in_order=True, flags=ze.ZE_COMMAND_QUEUE_FLAG_COPY_OFFLOAD_HINT)
    copy(commands, address(target), address(source), 4 << 20, signal=event)
    check(ze.zeEventHostSynchronize(event, FOREVER))
    assert word[0] == value.value
    assert np.array_equal(source, target)
