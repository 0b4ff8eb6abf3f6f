"""Metric tracers: a record each time that something begins or ends, and what it says."""

import ctypes
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from groundstate import ze, zet
from tests.conftest import check, last_error
from tests.driver.kernels import KernelBench, launch
from tests.driver.metrics.support import EVENT, TIME, TRACE, Metrics, calculate, read
from tests.driver.support import copy, fill, finish, global_timestamps, handles, is_signalled

RECORD = 32
"""Bytes of one."""
ROOM = 1 << 16


class Entry(NamedTuple):
    metric: str
    value: int
    time: int
    subdevice: int | None


class Tracing(Metrics):
    """A bench that ends with no tracer."""

    def tracer(
        self, *names: str, notify: int = 0, event: int | None = None, enabled: bool = True
    ) -> tuple[int, zet.zet_metric_tracer_exp_desc_t]:
        result, handle, description = self.try_tracer(*names, notify=notify, event=event)
        check(result)
        if enabled:
            check(zet.zetMetricTracerEnableExp(handle, True))
        return handle, description

    def try_tracer(
        self, *names: str, notify: int = 0, event: int | None = None
    ) -> tuple[int, int, zet.zet_metric_tracer_exp_desc_t]:
        groups = [self.groups[name, TRACE] for name in names]
        description = zet.zet_metric_tracer_exp_desc_t(notifyEveryNBytes=notify)
        handle = ctypes.c_void_p()
        result = zet.zetMetricTracerCreateExp(
            self.context,
            self.device,
            len(groups),
            handles(*groups),
            ctypes.byref(description),
            event,
            ctypes.byref(handle),
        )
        if result == ze.ZE_RESULT_SUCCESS:
            self.adopt(handle.value or 0, stop)
        return int(result), handle.value or 0, description

    def decoder(self, tracer: int) -> int:
        destroy = zet.zetMetricDecoderDestroyExp
        return self._made(destroy, zet.zetMetricDecoderCreateExp, tracer)


def stop(tracer: int) -> int:
    """Ends a tracer, whatever state it is in."""
    check(zet.zetMetricTracerDisableExp(tracer, True))
    return int(zet.zetMetricTracerDestroyExp(tracer))


@pytest.fixture
def tracing(
    driver: int, device: int, groups_of_device: dict[tuple[str, int], int]
) -> Iterator[Tracing]:
    bench = Tracing(driver, device, groups_of_device)
    bench.activate(bench.groups["Commands", TRACE], bench.groups["Workers", TRACE])
    yield bench
    bench.close()


def read_records(tracer: int, room: int = ROOM) -> tuple[int, bytes]:
    size, raw = ctypes.c_size_t(room), (ctypes.c_uint8 * room)()
    result = zet.zetMetricTracerReadDataExp(tracer, ctypes.byref(size), raw)
    return int(result), bytes(raw[: size.value])


def decodable(decoder: int) -> dict[int, str]:
    """The names of a decoder's metrics, by their handles."""
    count = ctypes.c_uint32()
    check(zet.zetMetricDecoderGetDecodableMetricsExp(decoder, ctypes.byref(count), None))
    array = (ctypes.c_void_p * count.value)()
    check(zet.zetMetricDecoderGetDecodableMetricsExp(decoder, ctypes.byref(count), array))
    found = {}
    for each in array:
        properties = zet.zet_metric_properties_t()
        check(zet.zetMetricGetProperties(each, ctypes.byref(properties)))
        found[each or 0] = properties.name.decode()
    return found


def decode(
    decoder: int, raw: bytes, only: str | None = None, most: int = 10_000
) -> tuple[list[Entry], int]:
    """The entries of raw data, and how many bytes they are."""
    names = {
        each: name for each, name in decodable(decoder).items() if only is None or name == only
    }
    size, sets, count = ctypes.c_size_t(len(raw)), ctypes.c_uint32(1), ctypes.c_uint32(most)
    in_set, entries = ctypes.c_uint32(), (zet.zet_metric_entry_exp_t * most)()
    buffer = (ctypes.c_uint8 * max(len(raw), 1)).from_buffer_copy(raw or b"\0")
    check(
        zet.zetMetricTracerDecodeExp(
            decoder,
            ctypes.byref(size),
            buffer,
            len(names),
            handles(*names),
            ctypes.byref(sets),
            ctypes.byref(in_set),
            ctypes.byref(count),
            entries,
        )
    )
    assert sets.value == 1
    assert in_set.value == count.value
    listed = list(names.values())
    found = [
        Entry(
            listed[each.metricIndex],
            each.value.ui64,
            each.timeStamp,
            each.subdeviceId if each.onSubdevice else None,
        )
        for each in entries[: count.value]
    ]
    return found, size.value


def test_commands_are_told_as_they_begin_and_end(tracing: Tracing, kernels: KernelBench) -> None:
    tracer, _ = tracing.tracer("Commands")
    decoder = tracing.decoder(tracer)
    visits, other = kernels.array(7 * 32, "uint8"), kernels.array(1000, "uint8")
    kernel = kernels.kernel("visit", visits, size=(32, 1, 1))
    before = global_timestamps(tracing.device)[1]
    commands = kernels.immediate(in_order=True)
    launch(commands, kernel, 7)
    copy(commands, other.ctypes.data, visits.ctypes.data, 200)
    fill(commands, other.ctypes.data, b"\1", 777)
    check(zet.zetCommandListAppendMarkerExp(commands, tracing.groups["Commands", TRACE], 42))
    finish(commands)
    after = global_timestamps(tracing.device)[1]
    result, raw = read_records(tracer)
    check(result)
    entries, size = decode(decoder, raw)
    assert size == len(raw) == RECORD * len(entries)
    first, second, third = (entries[each].value for each in (1, 4, 7))
    assert [entry[:2] for entry in entries] == [
        ("TraceBegin", 0),
        ("KernelBegin", first),
        ("KernelItems", 7 * 32),
        ("KernelEnd", first),
        ("CopyBegin", second),
        ("CopyBytes", 200),
        ("CopyEnd", second),
        ("FillBegin", third),
        ("FillBytes", 777),
        ("FillEnd", third),
        ("Marker", 42),
    ]
    assert first < second < third
    times = [entry.time for entry in entries]
    assert times == sorted(times)
    assert before <= times[1]
    assert times[-1] <= after
    assert all(entry.subdevice is None for entry in entries)


def test_workers_are_told_as_they_begin_and_end(tracing: Tracing) -> None:
    tracer, _ = tracing.tracer("Workers")
    decoder, commands = tracing.decoder(tracer), tracing.immediate(in_order=True)
    fill(commands, tracing.shared(1 << 20), b"\1", 1 << 20)
    finish(commands)
    entries, _ = decode(decoder, read_records(tracer)[1])
    ends = {"TraceBegin", "TraceEnd"}
    assert set(decodable(decoder).values()) == {"WorkerBegin", "WorkerEnd", *ends}
    begun = [entry.value for entry in entries if entry.metric == "WorkerBegin"]
    assert begun
    assert sorted(begun) == sorted(each.value for each in entries if each.metric == "WorkerEnd")


def test_waiting_for_an_event_is_told(tracing: Tracing) -> None:
    tracer, _ = tracing.tracer("Commands", "Workers")
    commands, event = tracing.immediate(in_order=True), tracing.event()
    decoder = tracing.decoder(tracer)
    fill(commands, tracing.shared(8), b"\1", 8, waits=[event])
    raw = b""
    while not decode(decoder, raw, "WaitBegin")[0]:
        raw += read_records(tracer)[1]
    check(ze.zeEventHostSignal(event))
    finish(commands)
    raw += read_records(tracer)[1]
    (begins,), (ends,) = (decode(decoder, raw, name)[0] for name in ("WaitBegin", "WaitEnd"))
    assert begins.value == ends.value
    assert begins.time <= ends.time


def test_notification_comes_with_data(tracing: Tracing) -> None:
    event = tracing.event(ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE)
    tracer, description = tracing.tracer("Commands", notify=1 << 20, event=event)
    assert description.notifyEveryNBytes == 2 * RECORD
    commands = tracing.immediate(in_order=True)
    assert not is_signalled(event)
    fill(commands, tracing.shared(8), b"\1", 8)
    check(ze.zeEventHostSynchronize(event, 2**64 - 1))
    assert len(read_records(tracer)[1]) >= description.notifyEveryNBytes
    stop_and_forget(tracing, tracer)
    assert tracing.tracer("Commands", notify=0)[1].notifyEveryNBytes == RECORD


def stop_and_forget(tracing: Tracing, tracer: int) -> None:
    check(zet.zetMetricTracerDisableExp(tracer, True))
    tracing.end(tracer)


def test_tracer_that_is_not_enabled_hears_nothing(tracing: Tracing) -> None:
    tracer, _ = tracing.tracer("Commands", enabled=False)
    commands, memory = tracing.immediate(in_order=True), tracing.shared(8)
    fill(commands, memory, b"\1", 8)
    finish(commands)
    assert read_records(tracer) == (ze.ZE_RESULT_NOT_READY, b"")
    check(zet.zetMetricTracerEnableExp(tracer, False))
    assert len(read_records(tracer)[1]) == RECORD
    assert read_records(tracer) == (ze.ZE_RESULT_SUCCESS, b"")
    fill(commands, memory, b"\1", 8)
    finish(commands)
    check(zet.zetMetricTracerDisableExp(tracer, False))
    fill(commands, memory, b"\1", 8)
    finish(commands)
    assert len(read_records(tracer, RECORD)[1]) == RECORD
    assert len(read_records(tracer)[1]) == 3 * RECORD
    assert read_records(tracer) == (ze.ZE_RESULT_NOT_READY, b"")


def test_unread_records_are_dropped_and_said_to_be(tracing: Tracing) -> None:
    tracer, _ = tracing.tracer("Commands")
    commands, memory = tracing.list(in_order=True), tracing.shared(8)
    for _ in range(1000):
        fill(commands, memory, b"\1", 8)
    check(ze.zeCommandListClose(commands))
    queue = tracing.queue()
    for _ in range(22):
        check(ze.zeCommandQueueExecuteCommandLists(queue, 1, handles(commands), None))
    check(ze.zeCommandQueueSynchronize(queue, 2**64 - 1))
    result, raw = read_records(tracer, 1 << 22)
    assert result == ze.ZE_RESULT_WARNING_DROPPED_DATA
    assert len(raw) == (1 << 16) * RECORD
    assert read_records(tracer)[0] == ze.ZE_RESULT_SUCCESS


def test_device_has_one_tracer(tracing: Tracing) -> None:
    first, _ = tracing.tracer("Commands")
    in_use = ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE
    assert tracing.try_tracer("Workers")[0] == in_use
    assert zet.zetMetricTracerDestroyExp(first) == in_use
    assert "zetMetricTracerDisableExp" in last_error()
    stop_and_forget(tracing, first)
    tracing.tracer("Workers")


def test_groups_of_tracers_are_for_nothing_else(tracing: Tracing) -> None:
    group = tracing.groups["Commands", TRACE]
    pool, description = ctypes.c_void_p(), zet.zet_metric_query_pool_desc_t(count=1)
    where = (tracing.context, tracing.device, group, ctypes.byref(description))
    result = zet.zetMetricQueryPoolCreate(*where, ctypes.byref(pool))
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    count = ctypes.c_uint32()
    kind = zet.ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES
    given = (group, kind, 32, bytes(32), ctypes.byref(count), None)
    result = zet.zetMetricGroupCalculateMetricValues(*given)
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "zetMetricTracerDecodeExp" in last_error()
    tracing.activate()
    assert tracing.try_tracer("Commands")[0] == ze.ZE_RESULT_NOT_READY


def test_decoder_outlives_its_tracer(tracing: Tracing) -> None:
    tracer, _ = tracing.tracer("Commands")
    decoder, commands = tracing.decoder(tracer), tracing.immediate(in_order=True)
    fill(commands, tracing.shared(8), b"\1", 8)
    finish(commands)
    raw = read_records(tracer)[1]
    stop_and_forget(tracing, tracer)
    assert [entry.metric for entry in decode(decoder, raw)[0]] == [
        "TraceBegin",
        "FillBegin",
        "FillBytes",
        "FillEnd",
    ]


def test_decoding_goes_on_where_it_stopped(tracing: Tracing) -> None:
    tracer, _ = tracing.tracer("Commands")
    decoder, commands = tracing.decoder(tracer), tracing.immediate(in_order=True)
    for size in (10, 20, 30):
        fill(commands, tracing.shared(30), b"\1", size)
    finish(commands)
    raw = read_records(tracer)[1]
    assert len(raw) == 10 * RECORD
    first, used = decode(decoder, raw, "FillBytes", most=2)
    assert used == 6 * RECORD
    rest, used = decode(decoder, raw[used:], "FillBytes", most=2)
    assert [entry.value for entry in first + rest] == [10, 20, 30]
    assert used == 4 * RECORD


def test_records_of_strangers_decode_to_nothing(tracing: Tracing) -> None:
    tracer, _ = tracing.tracer("Commands", "Workers")
    decoder = tracing.decoder(tracer)
    assert decode(decoder, b"\xff" * 100) == ([], 96)
    assert decode(decoder, b"") == ([], 0)
    metrics, size, sets = handles(tracer), ctypes.c_size_t(), ctypes.c_uint32()
    places = (ctypes.byref(sets), None, None, None)
    result = zet.zetMetricTracerDecodeExp(decoder, ctypes.byref(size), None, 1, metrics, *places)
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "the metric at index 0" in last_error()
    check(zet.zetMetricTracerDecodeExp(decoder, ctypes.byref(size), None, 0, metrics, *places))
    assert sets.value == 1


def test_markers_of_a_group_end_reports_of_its_streamers(metrics: Metrics) -> None:
    group = metrics.active("ComputeBasic", TIME)
    streamer, commands = metrics.streamer(group, 1 << 30), metrics.immediate(in_order=True)
    other = metrics.streamer(group, 1 << 30)
    fill(commands, metrics.shared(50), b"\1", 50)
    check(zet.zetCommandListAppendMarkerExp(commands, group, 9))
    finish(commands)
    for each in (streamer, other):
        (row,) = (row for row in calculate(group, read(each)[1]) if row["StreamMarker"])
        assert (row["StreamMarker"], row["FilledBytes"]) == (9, 50)


def test_group_without_markers_takes_none(metrics: Metrics) -> None:
    commands = metrics.immediate(in_order=True)
    for name, sampling in (("ComputeBasic", EVENT), ("Workers", TRACE)):
        group = metrics.groups[name, sampling]
        result = zet.zetCommandListAppendMarkerExp(commands, group, 9)
        assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
        assert "ZET_METRIC_GROUP_TYPE_EXP_FLAG_MARKER" in last_error()
