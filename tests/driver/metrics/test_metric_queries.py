"""Metric queries: exact counts of what one queue does between two commands."""

import ctypes

import pytest

from groundstate import ze, zet
from tests.conftest import check, last_error
from tests.driver.kernels import KernelBench, launch
from tests.driver.metrics.support import EVENT, TIME, Metrics, begin, calculate, data, end
from tests.driver.support import close_list, copy, fill, finish, finish_queue, submit


def query(metrics: Metrics) -> tuple[int, int]:
    group = metrics.active("ComputeBasic")
    return group, metrics.query(metrics.query_pool(group))


def test_query_counts_what_is_between_begin_and_end(metrics: Metrics, kernels: KernelBench) -> None:
    group, own = query(metrics)
    visits, other = kernels.array(7 * 32, "uint8"), kernels.array(1000, "uint8")
    kernel = kernels.kernel("visit", visits, size=(32, 1, 1))
    commands = kernels.immediate(in_order=True)
    launch(commands, kernel, 7)
    begin(commands, own)
    launch(commands, kernel, 7)
    launch(commands, kernel, 3)
    copy(commands, other.ctypes.data, visits.ctypes.data, 200)
    fill(commands, other.ctypes.data, b"\1", 777)
    end(commands, own)
    launch(commands, kernel, 5)
    finish(commands)
    (values,) = calculate(group, data(own))
    assert values["Kernels"] == 2
    assert values["WorkGroups"] == 10
    assert values["WorkItems"] == 320
    assert values["Copies"] == 2
    assert values["CopiedBytes"] == 200
    assert values["FilledBytes"] == 777
    assert values["WorkerBusyTime"] > 0
    assert values["KernelTime"] + values["CopyTime"] <= values["GpuTime"]
    assert 0 < values["XVE_ACTIVE"] <= 100
    assert values["XVE_ACTIVE"] + values["XVE_STALL"] == pytest.approx(100)


def test_other_queues_do_not_count(metrics: Metrics) -> None:
    group, own = query(metrics)
    here, there = metrics.immediate(in_order=True), metrics.immediate(in_order=True)
    memory = metrics.shared(100)
    begin(here, own)
    finish(here)
    fill(there, memory, b"\1", 50)
    finish(there)
    fill(here, memory, b"\2", 10)
    end(here, own)
    finish(here)
    (values,) = calculate(group, data(own))
    assert values["FilledBytes"] == 10


def test_closed_list_counts_in_each_run(metrics: Metrics) -> None:
    group, own = query(metrics)
    commands, queue = metrics.list(), metrics.queue()
    begin(commands, own)
    fill(commands, metrics.shared(100), b"\1", 100)
    end(commands, own)
    close_list(commands)
    for _ in range(2):
        submit(queue, commands)
        finish_queue(queue)
        (values,) = calculate(group, data(own))
        assert values["FilledBytes"] == 100


def test_waiting_for_an_event_is_told(metrics: Metrics) -> None:
    group, own = query(metrics)
    commands, event = metrics.immediate(in_order=True), metrics.event()
    begin(commands, own)
    fill(commands, metrics.shared(8), b"\1", 8, waits=[event])
    end(commands, own)
    check(ze.zeEventHostSignal(event))
    finish(commands)
    (values,) = calculate(group, data(own))
    assert values["QueueWaitTime"] <= values["GpuTime"]
    assert values["FilledBytes"] == 8


def test_end_signals_its_event(metrics: Metrics) -> None:
    _, own = query(metrics)
    commands, event = metrics.immediate(), metrics.event()
    begin(commands, own)
    end(commands, own, event)
    check(ze.zeEventHostSynchronize(event, 2**64 - 1))
    assert data(own)


def test_data_are_not_ready_before_the_end(metrics: Metrics) -> None:
    _, own = query(metrics)
    size = ctypes.c_size_t()
    assert zet.zetMetricQueryGetData(own, ctypes.byref(size), None) == ze.ZE_RESULT_NOT_READY
    commands = metrics.immediate()
    begin(commands, own)
    end(commands, own)
    finish(commands)
    assert data(own)
    check(zet.zetMetricQueryReset(own))
    assert zet.zetMetricQueryGetData(own, ctypes.byref(size), None) == ze.ZE_RESULT_NOT_READY


def test_data_that_do_not_fit_are_left_out(metrics: Metrics) -> None:
    _, own = query(metrics)
    commands = metrics.immediate()
    begin(commands, own)
    end(commands, own)
    finish(commands)
    size, raw = ctypes.c_size_t(8), (ctypes.c_uint8 * 8)(*[7] * 8)
    check(zet.zetMetricQueryGetData(own, ctypes.byref(size), raw))
    assert size.value == 0
    assert bytes(raw) == bytes([7] * 8)


def test_query_that_ran_without_an_active_group_has_no_data(metrics: Metrics) -> None:
    _, own = query(metrics)
    commands, queue = metrics.list(), metrics.queue()
    begin(commands, own)
    end(commands, own)
    close_list(commands)
    metrics.activate()
    submit(queue, commands)
    finish_queue(queue)
    size = ctypes.c_size_t()
    result = zet.zetMetricQueryGetData(own, ctypes.byref(size), None)
    assert result == ze.ZE_RESULT_ERROR_NOT_AVAILABLE


def test_query_may_be_destroyed_before_its_list(metrics: Metrics) -> None:
    _, own = query(metrics)
    commands, queue = metrics.list(), metrics.queue()
    begin(commands, own)
    end(commands, own)
    close_list(commands)
    metrics.end(own)
    submit(queue, commands)
    finish_queue(queue)


def test_pool_with_queries_is_in_use(metrics: Metrics) -> None:
    pool = metrics.query_pool(metrics.groups["ComputeBasic", EVENT], 2)
    metrics.query(pool, 1)
    destroyed = zet.zetMetricQueryPoolDestroy(pool)
    assert destroyed == ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE
    handle = ctypes.c_void_p()
    result = zet.zetMetricQueryCreate(pool, 2, ctypes.byref(handle))
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("sampling", "count", "kind", "result"),
    [
        (TIME, 1, zet.ZET_METRIC_QUERY_POOL_TYPE_PERFORMANCE, "INVALID_ARGUMENT"),
        (EVENT, 0, zet.ZET_METRIC_QUERY_POOL_TYPE_PERFORMANCE, "INVALID_SIZE"),
        (EVENT, 1, zet.ZET_METRIC_QUERY_POOL_TYPE_EXECUTION, "UNSUPPORTED_FEATURE"),
    ],
)
def test_pool_that_cannot_be_is_refused(
    metrics: Metrics, sampling: int, count: int, kind: int, result: str
) -> None:
    description = zet.zet_metric_query_pool_desc_t(count=count, type=kind)
    group, handle = metrics.groups["ComputeBasic", sampling], ctypes.c_void_p()
    where = (metrics.context, metrics.device, group, ctypes.byref(description))
    made = zet.zetMetricQueryPoolCreate(*where, ctypes.byref(handle))
    assert ze.ze_result_t(made).name == f"ZE_RESULT_ERROR_{result}"
    assert last_error()


def test_memory_barrier_can_be_appended(metrics: Metrics) -> None:
    group, own = query(metrics)
    commands = metrics.immediate()
    begin(commands, own)
    check(zet.zetCommandListAppendMetricMemoryBarrier(commands))
    end(commands, own)
    finish(commands)
    assert calculate(group, data(own))[0]["Kernels"] == 0
