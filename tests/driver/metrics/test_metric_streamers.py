"""Metric streamers: reports at regular times, notification, markers."""

import ctypes
import time

import pytest

from groundstate import ze, zet
from tests.conftest import check, last_error
from tests.driver.kernels import KernelBench, launch
from tests.driver.metrics.support import EVENT, TIME, Metrics, Values, calculate, read
from tests.driver.support import fill, finish, global_timestamps

SECOND = 10**9
HOST_VISIBLE = ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE


def marker(commands: int, streamer: int, value: int) -> None:
    check(zet.zetCommandListAppendMetricStreamerMarker(commands, streamer, value))


def test_reports_between_markers_count_exactly(metrics: Metrics, kernels: KernelBench) -> None:
    group = metrics.active("ComputeBasic", TIME)
    streamer = metrics.streamer(group, SECOND)
    commands = kernels.immediate(in_order=True)
    kernel = kernels.kernel("visit", kernels.array(64, "uint8"), size=(16, 1, 1))
    marker(commands, streamer, 1)
    launch(commands, kernel, 4)
    launch(commands, kernel, 2)
    marker(commands, streamer, 2)
    fill(commands, metrics.shared(100), b"\1", 100)
    marker(commands, streamer, 3)
    finish(commands)
    _, raw = read(streamer)
    found = calculate(group, raw)
    seen = {each["StreamMarker"]: index for index, each in enumerate(found)}
    between = found[seen[1] + 1 : seen[2] + 1]
    assert sum(each["Kernels"] for each in between) == 2
    assert sum(each["WorkItems"] for each in between) == 96
    between = found[seen[2] + 1 : seen[3] + 1]
    assert sum(each["FilledBytes"] for each in between) == 100
    assert sum(each["Kernels"] for each in between) == 0


def test_reports_follow_each_other_in_the_device_s_time(metrics: Metrics) -> None:
    before = global_timestamps(metrics.device)[1]
    group = metrics.active("ComputeBasic", TIME)
    streamer = metrics.streamer(group, 1_000_000)
    found: list[Values] = []
    while len(found) < 5:
        time.sleep(0.001)
        found += calculate(group, raw) if (raw := read(streamer, 2)[1]) else []
    after = global_timestamps(metrics.device)[1]
    ends = [each["ReportTime"] for each in found]
    for one, end in zip(found[1:], ends, strict=False):
        assert one["QueryBeginTime"] == end == one["ReportTime"] - one["GpuTime"]
    assert before <= ends[0] - found[0]["GpuTime"]
    assert ends[-1] <= after


def test_each_period_has_a_report_however_late_the_thread_is(metrics: Metrics) -> None:
    group, period = metrics.active("ComputeBasic", TIME), 100_000
    streamer = metrics.streamer(group, period)
    memory, commands = metrics.shared(1 << 20), metrics.immediate(in_order=True)
    for _ in range(200):
        fill(commands, memory, b"\1", 1 << 20)
    marker(commands, streamer, 1)
    finish(commands)
    found = calculate(group, read(streamer)[1])
    last = [each["StreamMarker"] for each in found].index(1)
    assert all(each["GpuTime"] < 2 * period for each in found[:last])
    assert sum(each["FilledBytes"] for each in found[: last + 1]) == 200 << 20


def test_event_is_signalled_after_so_many_reports(metrics: Metrics) -> None:
    group = metrics.active("ComputeBasic", TIME)
    event = metrics.event(HOST_VISIBLE)
    streamer = metrics.streamer(group, 100_000, notify=20, event=event)
    check(ze.zeEventHostSynchronize(event, 60 * SECOND))
    assert len(calculate(group, read(streamer)[1])) >= 20


def test_what_cannot_be_is_approximated_and_told(metrics: Metrics) -> None:
    group = metrics.active("ComputeBasic", TIME)
    description = zet.zet_metric_streamer_desc_t(notifyEveryNReports=0xFFFFFFFF, samplingPeriod=1)
    handle = ctypes.c_void_p()
    where = (metrics.context, metrics.device, group, ctypes.byref(description), None)
    check(zet.zetMetricStreamerOpen(*where, ctypes.byref(handle)))
    assert description.samplingPeriod > 1
    assert 0 < description.notifyEveryNReports < 0xFFFFFFFF
    check(zet.zetMetricStreamerClose(handle))


def test_read_takes_what_fits_and_no_more(metrics: Metrics) -> None:
    group = metrics.active("ComputeBasic", TIME)
    streamer, commands = metrics.streamer(group, SECOND), metrics.immediate(in_order=True)
    for value in range(1, 6):
        marker(commands, streamer, value)
    finish(commands)
    size = ctypes.c_size_t()
    check(zet.zetMetricStreamerReadData(streamer, 1, ctypes.byref(size), None))
    one = size.value
    raw = (ctypes.c_uint8 * (3 * one - 1))()
    size.value = len(raw)
    check(zet.zetMetricStreamerReadData(streamer, 100, ctypes.byref(size), raw))
    assert size.value == 2 * one
    markers = [each["StreamMarker"] for each in calculate(group, read(streamer)[1])]
    assert [each for each in markers if each][-1] == 5


def test_reports_that_nobody_reads_are_dropped_and_told(metrics: Metrics) -> None:
    group = metrics.active("ComputeBasic", TIME)
    streamer, commands = metrics.streamer(group, SECOND), metrics.immediate(in_order=True)
    size = ctypes.c_size_t()
    check(zet.zetMetricStreamerReadData(streamer, 1, ctypes.byref(size), None))
    one = size.value
    check(zet.zetMetricStreamerReadData(streamer, 0xFFFFFFFF, ctypes.byref(size), None))
    most = size.value // one
    for value in range(1, most + 6):
        marker(commands, streamer, value)
    finish(commands)
    result, raw = read(streamer)
    assert result == ze.ZE_RESULT_WARNING_DROPPED_DATA
    assert len(raw) == most * one
    assert read(streamer)[0] == ze.ZE_RESULT_SUCCESS


def test_workers_are_seen_at_work(metrics: Metrics) -> None:
    group = metrics.active("ComputeBasic", TIME)
    streamer, commands = metrics.streamer(group, 1_000_000), metrics.immediate(in_order=True)
    memory, busy = metrics.shared(1 << 22), 0.0
    while busy == 0:
        fill(commands, memory, b"\1", 1 << 22)
        finish(commands)
        found = calculate(group, raw) if (raw := read(streamer)[1]) else []
        busy += sum(each["WorkerBusyTime"] for each in found)
        assert all(0 <= each["XVE_ACTIVE"] <= 100 for each in found)


def test_streamer_keeps_metrics_in_use(metrics: Metrics, monkeypatch: pytest.MonkeyPatch) -> None:
    group = metrics.active("ComputeBasic", TIME)
    streamer = metrics.streamer(group, SECOND)
    metrics.activate()
    disable = zet.zetDeviceDisableMetricsExp
    assert disable(metrics.device) == ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE
    metrics.end(streamer)
    check(disable(metrics.device))


def test_streamer_needs_an_active_time_based_group(metrics: Metrics) -> None:
    description, handle = zet.zet_metric_streamer_desc_t(), ctypes.c_void_p()

    def open_for(group: int, event: int | None = None) -> int:
        where = (metrics.context, metrics.device, group, ctypes.byref(description), event)
        return int(zet.zetMetricStreamerOpen(*where, ctypes.byref(handle)))

    assert open_for(metrics.groups["ComputeBasic", TIME]) == ze.ZE_RESULT_NOT_READY
    assert "active" in last_error()
    group = metrics.active("ComputeBasic", EVENT)
    assert open_for(group) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    group = metrics.active("ComputeBasic", TIME)
    result = open_for(group, metrics.event())
    assert result == ze.ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT


def test_notification_after_as_many_reports_as_profilers_want(metrics: Metrics) -> None:
    group = metrics.active("ComputeBasic", TIME)
    description, handle = zet.zet_metric_streamer_desc_t(), ctypes.c_void_p()
    where = (metrics.context, metrics.device, group, ctypes.byref(description), None)
    for asked, given in ((32768, 32768), (1 << 20, 32768), (0, 1)):
        description.notifyEveryNReports = asked
        description.samplingPeriod = SECOND
        check(zet.zetMetricStreamerOpen(*where, ctypes.byref(handle)))
        assert description.notifyEveryNReports == given
        check(zet.zetMetricStreamerClose(handle))
