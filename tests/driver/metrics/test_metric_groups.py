"""Metric groups: what there is, activation, and values of raw data."""

import ctypes

import pytest

from groundstate import knobs, ze, zet
from groundstate.driver.metrics import groups
from tests.conftest import check, last_error
from tests.driver.metrics.support import (
    EVENT,
    TIME,
    TRACE,
    Metrics,
    begin,
    calculate,
    data,
    end,
    group_handles,
    group_properties,
    metric_properties,
)
from tests.driver.support import finish, global_timestamps, handles


def test_groups_are_there_for_each_kind_of_sampling(metrics: Metrics) -> None:
    kinds = [group_properties(each).samplingType for each in group_handles(metrics.device)]
    assert set(kinds) == {TIME, EVENT, TRACE}
    assert ("ComputeBasic", TIME) in metrics.groups
    assert ("ComputeBasic", EVENT) in metrics.groups


def test_each_metric_says_what_it_is(metrics: Metrics) -> None:
    for group in group_handles(metrics.device):
        found = metric_properties(group)
        assert len(found) == group_properties(group).metricCount
        assert len({each.name for each in found}) == len(found)
        for each in found:
            assert each.name
            assert each.description
            assert each.component
            assert each.resultType in (zet.ZET_VALUE_TYPE_UINT64, zet.ZET_VALUE_TYPE_FLOAT32)


def test_handles_are_the_same_each_time(metrics: Metrics) -> None:
    assert group_handles(metrics.device) == group_handles(metrics.device)


def test_chained_structs_are_filled(metrics: Metrics) -> None:
    kind = zet.zet_metric_group_type_exp_t(type=0)
    clock = zet.zet_metric_global_timestamps_resolution_exp_t(pNext=ctypes.addressof(kind))
    properties = zet.zet_metric_group_properties_t(pNext=ctypes.addressof(clock))
    group = metrics.groups["ComputeBasic", TIME]
    check(zet.zetMetricGroupGetProperties(group, ctypes.byref(properties)))
    assert clock.timerResolution == 10**9
    assert clock.timestampValidBits == 60
    marked = zet.ZET_METRIC_GROUP_TYPE_EXP_FLAG_MARKER
    assert kind.type == zet.ZET_METRIC_GROUP_TYPE_EXP_FLAG_OTHER | marked


def test_groups_of_one_domain_cannot_be_active_together(metrics: Metrics) -> None:
    both = metrics.groups["ComputeBasic", TIME], metrics.groups["ComputeBasic", EVENT]
    assert metrics.try_to_activate(*both) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "domain" in last_error()


def test_activation_replaces_what_was_active(metrics: Metrics) -> None:
    group = metrics.groups["ComputeBasic", EVENT]
    query = metrics.query(metrics.query_pool(group))
    commands = metrics.immediate()
    metrics.activate(group)
    begin(commands, query)
    metrics.activate(metrics.groups["ComputeBasic", TIME])
    assert zet.zetCommandListAppendMetricQueryBegin(commands, query) == ze.ZE_RESULT_NOT_READY
    assert "zetContextActivateMetricGroups" in last_error()


def test_concurrent_groups_are_those_of_different_domains(metrics: Metrics) -> None:
    listed = group_handles(metrics.device)
    array, sets = handles(*listed), ctypes.c_uint32()
    ask = zet.zetDeviceGetConcurrentMetricGroupsExp
    check(ask(metrics.device, len(listed), array, None, ctypes.byref(sets)))
    counts = (ctypes.c_uint32 * sets.value)()
    check(ask(metrics.device, len(listed), array, counts, ctypes.byref(sets)))
    assert sum(counts) == len(listed)
    assert sorted(each or 0 for each in array) == sorted(listed)
    at = 0
    for count in counts:
        metrics.activate(*[each or 0 for each in array[at : at + count]])
        at += count


def test_timestamps_are_those_of_the_device(metrics: Metrics) -> None:
    group, both = metrics.groups["ComputeBasic", TIME], (ctypes.c_uint64 * 2)()
    before = global_timestamps(metrics.device)
    places = ctypes.byref(both), ctypes.byref(both, 8)
    for is_host in (False, True):
        check(zet.zetMetricGroupGetGlobalTimestampsExp(group, is_host, *places))
        after = global_timestamps(metrics.device)
        assert before[1] <= both[1] <= after[1]
        assert before[not is_host] <= both[0] <= after[not is_host]


def test_metrics_can_be_switched_off_by_the_environment(
    metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZET_ENABLE_METRICS", "0")
    assert not knobs.ENABLE_METRICS.get()
    metrics.active("ComputeBasic")
    disable = zet.zetDeviceDisableMetricsExp
    assert disable(metrics.device) == ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE
    metrics.activate()
    check(disable(metrics.device))
    check(zet.zetDeviceEnableMetricsExp(metrics.device))


def test_groups_of_switched_off_metrics_are_not_listed(
    metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZET_ENABLE_METRICS", "0")
    monkeypatch.setattr(groups, "_of_device", {})
    monkeypatch.setattr(groups, "_switched", {})
    count = ctypes.c_uint32(7)
    result = zet.zetMetricGroupGet(metrics.device, ctypes.byref(count), None)
    assert result == ze.ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE
    assert count.value == 0
    assert "zetDeviceEnableMetricsExp" in last_error()


def query_data(metrics: Metrics) -> tuple[int, bytes]:
    group = metrics.active("ComputeBasic")
    query, commands = metrics.query(metrics.query_pool(group)), metrics.immediate()
    begin(commands, query)
    end(commands, query)
    finish(commands)
    return group, data(query)


def test_values_come_as_far_as_there_is_room(metrics: Metrics) -> None:
    group, raw = query_data(metrics)
    values = (zet.zet_typed_value_t * 5)()
    count = ctypes.c_uint32(4)
    values[4].type = 77
    kind = zet.ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES
    where = (group, kind, len(raw), raw, ctypes.byref(count))
    check(zet.zetMetricGroupCalculateMetricValues(*where, values))
    assert count.value == 4
    assert values[3].type == zet.ZET_VALUE_TYPE_FLOAT32
    assert values[4].type == 77


@pytest.mark.parametrize("size", [0, 1, 100])
def test_raw_data_of_another_size_is_refused(metrics: Metrics, size: int) -> None:
    group, count = metrics.groups["ComputeBasic", EVENT], ctypes.c_uint32()
    kind = zet.ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES
    where = (group, kind, size, bytes(size or 1), ctypes.byref(count), None)
    result = zet.zetMetricGroupCalculateMetricValues(*where)
    assert result == ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert "reports" in last_error()


def test_raw_data_of_strangers_gives_values_and_no_fault(metrics: Metrics) -> None:
    group, raw = query_data(metrics)
    for byte in (0x00, 0x7F, 0x80, 0xFF):
        calculate(group, bytes([byte]) * len(raw))


def test_exported_data_give_the_same_values(metrics: Metrics) -> None:
    group, raw = query_data(metrics)
    raw += raw
    size = ctypes.c_size_t()
    check(zet.zetMetricGroupGetExportDataExp(group, raw, len(raw), ctypes.byref(size), None))
    exported = (ctypes.c_uint8 * size.value)()
    where = (group, raw, len(raw), ctypes.byref(size), exported)
    check(zet.zetMetricGroupGetExportDataExp(*where))
    sets, total, counts = ctypes.c_uint32(), ctypes.c_uint32(), (ctypes.c_uint32 * 1)()
    ask = zet.zetMetricGroupCalculateMetricExportDataExp
    skip = zet.zet_metric_calculate_exp_desc_t(rawReportSkipCount=1)
    kind = zet.ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES
    given = (metrics.driver, kind, size.value, exported, ctypes.byref(skip))
    answers = (ctypes.byref(sets), ctypes.byref(total))
    check(ask(*given, *answers, None, None))
    values = (zet.zet_typed_value_t * total.value)()
    check(ask(*given, *answers, counts, values))
    assert sets.value == 1
    assert counts[0] == total.value == len(metric_properties(group))
    expected = calculate(group, raw)[1]
    assert values[0].value.ui64 == expected["GpuTime"]
    exported[3] ^= 1
    result = ask(*given, *answers, None, None)
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
