"""Timestamps of events, in the device's clock and mapped to the host's."""

import ctypes
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.support import (
    FOREVER,
    Bench,
    address,
    barrier,
    close_list,
    copy,
    finish,
    finish_queue,
    global_timestamps,
    handles,
    submit,
)

STAMPED = ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP
MAPPED = ze.ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP


def timestamps(event: int) -> "ze.ze_kernel_timestamp_result_t":
    result = ze.ze_kernel_timestamp_result_t()
    check(ze.zeEventQueryKernelTimestamp(event, ctypes.byref(result)))
    return result


def assert_within(stamps: "ze.ze_kernel_timestamp_result_t", before: int, after: int) -> None:
    for interval in (stamps.global_, stamps.context):
        assert before <= interval.kernelStart <= interval.kernelEnd <= after


def timed_copy(bench: Bench, event: int, size: int, immediate: bool) -> tuple[int, int]:
    """Runs a copy that signals the event; the device's clock before and after."""
    source, target = bench.random_bytes(size), bench.bytes(size)
    queue = bench.queue()
    commands = bench.immediate() if immediate else bench.list()
    _, before = global_timestamps(bench.device)
    copy(commands, address(target), address(source), size, signal=event)
    if not immediate:
        submit(queue, close_list(commands))
    check(ze.zeEventHostSynchronize(event, FOREVER))
    _, after = global_timestamps(bench.device)
    return before, after


@pytest.mark.parametrize("flags", [STAMPED, MAPPED, STAMPED | ze.ZE_EVENT_POOL_FLAG_IPC])
@pytest.mark.parametrize("immediate", [True, False])
@pytest.mark.parametrize("size", [10, 4 << 20])
def test_a_copy_is_timed(bench: Bench, flags: int, immediate: bool, size: int) -> None:
    event = bench.event(flags)
    before, after = timed_copy(bench, event, size, immediate)
    stamps = timestamps(event)
    assert_within(stamps, before, after)
    if size > 1 << 20:
        assert stamps.context.kernelEnd > stamps.context.kernelStart


def test_the_time_spent_waiting_is_not_counted(bench: Bench) -> None:
    event, go = bench.event(STAMPED), bench.event()
    commands = bench.immediate()
    barrier(commands, signal=event, waits=[go])
    _, released = global_timestamps(bench.device)
    check(ze.zeEventHostSignal(go))
    check(ze.zeEventHostSynchronize(event, FOREVER))
    assert timestamps(event).context.kernelStart >= released


def test_consecutive_commands_have_ordered_times(bench: Bench) -> None:
    events = bench.events(5, STAMPED)
    commands = bench.immediate(in_order=True)
    size = 1 << 20
    source, target = bench.random_bytes(size), bench.bytes(size)
    for event in events:
        copy(commands, address(target), address(source), size, signal=event)
    finish(commands)
    stamps = [timestamps(event).global_ for event in events]
    for earlier, later in pairwise(stamps):
        assert earlier.kernelEnd <= later.kernelStart


def test_a_signal_from_the_host_is_timed_too(bench: Bench) -> None:
    event = bench.event(STAMPED)
    _, before = global_timestamps(bench.device)
    check(ze.zeEventHostSignal(event))
    _, after = global_timestamps(bench.device)
    assert_within(timestamps(event), before, after)


def test_timestamps_not_ready_before_signal(bench: Bench) -> None:
    event = bench.event(STAMPED)
    result = ze.ze_kernel_timestamp_result_t()
    answer = ze.zeEventQueryKernelTimestamp(event, ctypes.byref(result))
    assert answer == ze.ZE_RESULT_NOT_READY


def test_an_event_without_timestamps_has_none(bench: Bench) -> None:
    event = bench.event()
    check(ze.zeEventHostSignal(event))
    result = ze.ze_kernel_timestamp_result_t()
    answer = ze.zeEventQueryKernelTimestamp(event, ctypes.byref(result))
    assert answer == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "zeEventQueryKernelTimestamp" in last_error()


def test_host_and_device_clocks_run_together(bench: Bench) -> None:
    """The host's clock does not step back, and the pair is read at nearly one moment."""
    pairs = [global_timestamps(bench.device) for _ in range(1000)]
    for earlier, later in pairwise(pairs):
        assert earlier[0] <= later[0]
        assert earlier[1] <= later[1]


def test_mapped_timestamps_lie_in_the_hosts_time(bench: Bench) -> None:
    event = bench.event(MAPPED)
    host_before, _ = global_timestamps(bench.device)
    timed_copy(bench, event, 1 << 20, immediate=True)
    host_after, _ = global_timestamps(bench.device)
    count = ctypes.c_uint32()
    check(ze.zeEventQueryKernelTimestampsExt(event, bench.device, ctypes.byref(count), None))
    assert count.value == 1
    kernel = (ze.ze_kernel_timestamp_result_t * 1)()
    synchronised = (ze.ze_synchronized_timestamp_result_ext_t * 1)()
    results = ze.ze_event_query_kernel_timestamps_results_ext_properties_t(
        pKernelTimestampsBuffer=ctypes.addressof(kernel),
        pSynchronizedTimestampsBuffer=ctypes.addressof(synchronised),
    )
    check(
        ze.zeEventQueryKernelTimestampsExt(
            event, bench.device, ctypes.byref(count), ctypes.byref(results)
        )
    )
    assert kernel[0].context.kernelStart <= kernel[0].context.kernelEnd
    for interval in (synchronised[0].global_, synchronised[0].context):
        assert host_before <= interval.kernelStart <= interval.kernelEnd <= host_after


def test_timestamps_with_the_count_protocol(bench: Bench) -> None:
    event = bench.event(STAMPED)
    count = ctypes.c_uint32()
    check(ze.zeEventQueryTimestampsExp(event, bench.device, ctypes.byref(count), None))
    assert count.value == 1
    array = (ze.ze_kernel_timestamp_result_t * 4)()
    answer = ze.zeEventQueryTimestampsExp(event, bench.device, ctypes.byref(count), array)
    assert answer == ze.ZE_RESULT_NOT_READY
    before, after = timed_copy(bench, event, 4096, immediate=True)
    count.value = 4
    check(ze.zeEventQueryTimestampsExp(event, bench.device, ctypes.byref(count), array))
    assert count.value == 1
    assert_within(array[0], before, after)
    assert array[1].global_.kernelStart == 0


@pytest.mark.parametrize("function", ["QueryTimestampsExp", "QueryKernelTimestampsExt"])
def test_untimed_event_has_a_count_and_no_stamps(bench: Bench, function: str) -> None:
    name, count, room = f"zeEvent{function}", ctypes.c_uint32(), ctypes.create_string_buffer(256)
    ask, event = getattr(ze, name), bench.event()
    check(ask(event, bench.device, ctypes.byref(count), None))
    assert count.value == 1
    results: Any = room
    if function == "QueryKernelTimestampsExt":
        results = ze.ze_event_query_kernel_timestamps_results_ext_properties_t(
            pKernelTimestampsBuffer=ctypes.addressof(room)
        )
    answer = ask(event, bench.device, ctypes.byref(count), ctypes.addressof(results))
    assert answer == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert name in last_error()
    assert room.raw == bytes(256)


@pytest.mark.parametrize("with_offsets", [False, True])
@pytest.mark.parametrize("immediate", [False, True])
def test_the_device_writes_timestamps_to_memory(
    bench: Bench, with_offsets: bool, immediate: bool
) -> None:
    events = bench.events(3, STAMPED)
    for event in events:
        check(ze.zeEventHostSignal(event))
    queue = bench.queue()
    size = ctypes.sizeof(ze.ze_kernel_timestamp_result_t)
    offsets = [0, size, 2 * size]
    if with_offsets:
        offsets = [3 * size, size, 0]
    target = bench.bytes(5 * size, fill=0)
    commands = bench.immediate() if immediate else bench.list()
    done = bench.event()
    check(
        ze.zeCommandListAppendQueryKernelTimestamps(
            commands,
            3,
            handles(*events),
            address(target),
            (ctypes.c_size_t * 3)(*offsets) if with_offsets else None,
            done,
            0,
            None,
        )
    )
    if not immediate:
        submit(queue, close_list(commands))
    check(ze.zeEventHostSynchronize(done, FOREVER))
    finish_queue(queue)
    for event, offset in zip(events, offsets, strict=True):
        assert target[offset : offset + size].tobytes() == bytes(timestamps(event))
    assert not target[4 * size :].any()


def test_timestamp_append_refuses_untimed_event(bench: Bench) -> None:
    target = bench.bytes(4096, fill=0)
    commands = bench.immediate()
    answer = ze.zeCommandListAppendQueryKernelTimestamps(
        commands, 1, handles(bench.event()), address(target), None, None, 0, None
    )
    assert answer == ze.ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT
    assert "zeCommandListAppendQueryKernelTimestamps" in last_error()


def test_timestamps_fit_their_valid_bits(bench: Bench, device: int) -> None:
    properties = ze.ze_device_properties_t()
    check(ze.zeDeviceGetProperties(device, ctypes.byref(properties)))
    event = bench.event(STAMPED)
    timed_copy(bench, event, 100, immediate=True)
    stamps = timestamps(event)
    assert stamps.context.kernelEnd < 1 << properties.kernelTimestampValidBits
    assert stamps.global_.kernelEnd < 1 << properties.kernelTimestampValidBits
    stamp = bench.bytes(8).view(np.uint64)
    commands = bench.immediate()
    check(ze.zeCommandListAppendWriteGlobalTimestamp(commands, address(stamp), None, 0, None))
    finish(commands)
    assert int(stamp[0]) < 1 << properties.timestampValidBits
