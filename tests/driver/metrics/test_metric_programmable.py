"""Programmable metrics, and groups that a program makes of them."""

import ctypes
from collections.abc import Iterator

import pytest

from groundstate import ze, zet
from tests.conftest import check, last_error
from tests.driver.kernels import KernelBench, launch
from tests.driver.metrics.support import (
    EVENT,
    TIME,
    Metrics,
    begin,
    calculate,
    data,
    end,
    group_handles,
    group_properties,
    metrics_of,
    programmable_handles,
    read,
)
from tests.driver.support import fill, finish, handles

Programmables = dict[str, int]


class Maker:
    """Metrics and groups that go with the test."""

    def __init__(self, metrics: Metrics, programmables: Programmables) -> None:
        self.metrics = metrics
        self.programmables = programmables
        self.made: list[int] = []
        self.groups: list[int] = []

    def close(self) -> None:
        self.metrics.close()
        for group in self.groups:
            check(zet.zetMetricGroupDestroyExp(group))
        for metric in self.made:
            check(zet.zetMetricDestroyExp(metric))

    def try_metric(self, of: str, values: list[int], name: str | None = None) -> tuple[int, int]:
        handle = ctypes.c_void_p()
        count = ctypes.c_uint32(1)
        array = (zet.zet_metric_programmable_param_value_exp_t * max(len(values), 1))()
        for place, value in zip(array, values, strict=False):
            place.value.ui64 = value
        result = zet.zetMetricCreateFromProgrammableExp2(
            self.programmables[of],
            len(values),
            array if values else None,
            (name or of).encode(),
            b"made by a test",
            ctypes.byref(count),
            ctypes.byref(handle),
        )
        if result == ze.ZE_RESULT_SUCCESS:
            self.made.append(handle.value or 0)
        return int(result), handle.value or 0

    def metric(self, of: str, *values: int, name: str | None = None) -> int:
        result, handle = self.try_metric(of, list(values), name)
        check(result)
        return handle

    def group(self, sampling: int, *metrics: int) -> int:
        """A group that is made step by step."""
        handle = ctypes.c_void_p()
        device, create = self.metrics.device, zet.zetMetricGroupCreateExp
        check(create(device, b"Own", b"of a test", sampling, ctypes.byref(handle)))
        self.groups.append(handle.value or 0)
        for metric in metrics:
            check(zet.zetMetricGroupAddMetricExp(handle, metric, None, None))
        if metrics:
            check(zet.zetMetricGroupCloseExp(handle))
        return self.groups[-1]

    def groups_of(self, *metrics: int) -> list[int]:
        """As few groups as metrics need."""
        count, create = ctypes.c_uint32(), zet.zetDeviceCreateMetricGroupsFromMetricsExp
        given = (self.metrics.device, len(metrics), handles(*metrics), b"Test", b"of a test")
        check(create(*given, ctypes.byref(count), None))
        array = (ctypes.c_void_p * count.value)()
        check(create(*given, ctypes.byref(count), array))
        self.groups += [each or 0 for each in array]
        return [each or 0 for each in array]


def properties_of(handle: int) -> zet.zet_metric_programmable_exp_properties_t:
    properties = zet.zet_metric_programmable_exp_properties_t()
    check(zet.zetMetricProgrammableGetPropertiesExp(handle, ctypes.byref(properties)))
    return properties


def parameters_of(handle: int) -> list[zet.zet_metric_programmable_param_info_exp_t]:
    count = ctypes.c_uint32(properties_of(handle).parameterCount)
    array = (zet.zet_metric_programmable_param_info_exp_t * count.value)()
    check(zet.zetMetricProgrammableGetParamInfoExp(handle, ctypes.byref(count), array))
    return list(array)


@pytest.fixture
def maker(
    driver: int, device: int, groups_of_device: dict[tuple[str, int], int]
) -> Iterator[Maker]:
    metrics = Metrics(driver, device, groups_of_device)
    listed = programmable_handles(metrics.device)
    made = Maker(metrics, {properties_of(each).name.decode(): each for each in listed})
    yield made
    made.close()


def query_of(maker: Maker, group: int) -> int:
    maker.metrics.activate(group)
    return maker.metrics.query(maker.metrics.query_pool(group))


def test_each_count_is_programmable_and_says_what_it_is(maker: Maker) -> None:
    assert {"Kernels", "WorkerBusyTime", "Flops", "GlobalBytesLoaded"} <= set(maker.programmables)
    for handle in maker.programmables.values():
        found = properties_of(handle)
        assert found.description
        assert found.component
        assert found.samplingType in (TIME, TIME | EVENT)
        parameters = parameters_of(handle)
        assert len(parameters) == found.parameterCount > 0
        assert len({each.type for each in parameters}) == len(parameters)
    assert properties_of(maker.programmables["CompileTime"]).samplingType == TIME


def test_parameter_values_have_meanings(maker: Maker) -> None:
    structure = zet.zet_metric_programmable_param_value_info_exp_t
    handle = maker.programmables["Kernels"]
    for number, parameter in enumerate(parameters_of(handle)):
        count = ctypes.c_uint32(9)
        array, second = (structure * 9)(), structure()
        array[0].pNext = ctypes.addressof(second)
        ask = zet.zetMetricProgrammableGetParamValueInfoExp
        check(ask(handle, number, ctypes.byref(count), array))
        assert count.value == parameter.valueInfoCount
        assert all(each.description for each in array[: count.value])
        assert second.description == array[0].description
        if parameter.valueInfoType == zet.ZET_VALUE_INFO_TYPE_EXP_UINT64_RANGE:
            limits = array[0].valueInfo.ui64Range
            assert limits.ui64Min <= parameter.defaultValue.ui64 <= limits.ui64Max
    result = ask(handle, 3, ctypes.byref(count), array)
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "3 parameters" in last_error()


def test_made_metrics_follow_from_their_parameters(maker: Maker, kernels: KernelBench) -> None:
    group = maker.group(
        EVENT,
        maker.metric("WorkItems", name="Items"),
        maker.metric("WorkItems", 1, name="Rate"),
        maker.metric("WorkItems", 0, 0, 12, name="Bytes"),
        maker.metric("WorkItems", 1, 1, 12, name="BytesOfWorker"),
        maker.metric("WorkerBusyTime", name="Busy"),
        maker.metric("WorkerBusyTime", 1, name="BusyShare"),
    )
    own, commands = query_of(maker, group), kernels.immediate(in_order=True)
    visits = kernels.array(7 * 32, "uint8")
    begin(commands, own)
    launch(commands, kernels.kernel("visit", visits, size=(32, 1, 1)), 7)
    end(commands, own)
    finish(commands)
    raw = data(own)
    workers = int.from_bytes(raw[24:32], "little")
    (values,) = calculate(group, raw)
    elapsed = values["GpuTime"]
    assert values["Items"] == 224
    assert values["Bytes"] == 224 * 12
    assert values["Rate"] == pytest.approx(224e9 / elapsed)
    assert values["BytesOfWorker"] == pytest.approx(224e9 * 12 / elapsed / workers)
    assert values["BusyShare"] == pytest.approx(100 * values["Busy"] / elapsed / workers)


def test_group_of_a_program_says_so(maker: Maker) -> None:
    group = maker.group(TIME | EVENT, maker.metric("Kernels", 1, 0, 1, name="KernelRate"))
    kind = zet.zet_metric_group_type_exp_t(type=0)
    properties = zet.zet_metric_group_properties_t(pNext=ctypes.addressof(kind))
    check(zet.zetMetricGroupGetProperties(group, ctypes.byref(properties)))
    assert kind.type & zet.ZET_METRIC_GROUP_TYPE_EXP_FLAG_USER_CREATED
    assert (properties.name, properties.description) == (b"Own", b"of a test")
    assert properties.samplingType == TIME | EVENT
    listed = metrics_of(group)
    assert properties.metricCount == len(listed)
    last = zet.zet_metric_properties_t()
    check(zet.zetMetricGetProperties(listed[-1], ctypes.byref(last)))
    assert (last.name, last.resultUnits) == (b"KernelRate", b"events/s")
    assert last.metricType == zet.ZET_METRIC_TYPE_THROUGHPUT
    assert group not in group_handles(maker.metrics.device)


def test_group_for_both_serves_queries_and_streamers(maker: Maker) -> None:
    group = maker.group(TIME | EVENT, maker.metric("FilledBytes", name="Filled"))
    own, commands = query_of(maker, group), maker.metrics.immediate(in_order=True)
    streamer = maker.metrics.streamer(group, 1_000_000)
    begin(commands, own)
    fill(commands, maker.metrics.shared(100), b"\1", 100)
    check(zet.zetCommandListAppendMetricStreamerMarker(commands, streamer, 5))
    end(commands, own)
    finish(commands)
    assert calculate(group, data(own))[0]["Filled"] == 100
    rows = calculate(group, read(streamer)[1])
    assert sum(row["Filled"] for row in rows) == 100
    assert [row["StreamMarker"] for row in rows if row["StreamMarker"]] == [5]


def test_metrics_are_grouped_by_what_counts_them(maker: Maker) -> None:
    groups = maker.groups_of(maker.metric("Kernels"), maker.metric("Flops"), maker.metric("Copies"))
    assert len(groups) == 2
    assert [group_properties(each).name for each in groups] == [b"Test_0", b"Test_1"]
    maker.metrics.activate(*groups)
    count = ctypes.c_uint32(1)
    metrics = handles(*maker.made)
    result = zet.zetDeviceCreateMetricGroupsFromMetricsExp(
        maker.metrics.device, 3, metrics, b"", b"", ctypes.byref(count), (ctypes.c_void_p * 1)()
    )
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert count.value == 2


def test_metric_of_another_source_is_refused_with_the_reason(maker: Maker) -> None:
    group = maker.group(EVENT, maker.metric("Kernels"))
    flops, size = maker.metric("Flops"), ctypes.c_size_t()
    add = zet.zetMetricGroupAddMetricExp
    assert add(group, flops, ctypes.byref(size), None) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    text = ctypes.create_string_buffer(size.value)
    assert add(group, flops, ctypes.byref(size), text) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "sourceId" in text.value.decode()
    time = maker.metric("CompileTime")
    assert add(group, time, None, None) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "time-based" in last_error()
    maker.metrics.activate(group)


def test_changed_group_is_closed_before_it_is_active(maker: Maker) -> None:
    kernels = maker.metric("Kernels")
    group = maker.group(EVENT)
    assert zet.zetMetricGroupCloseExp(group) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    check(zet.zetMetricGroupAddMetricExp(group, kernels, None, None))
    check(zet.zetMetricGroupAddMetricExp(group, kernels, None, None))
    assert maker.metrics.try_to_activate(group) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "zetMetricGroupCloseExp" in last_error()
    assert metrics_of(group).count(kernels) == 1
    check(zet.zetMetricGroupCloseExp(group))
    maker.metrics.activate(group)


def test_used_group_does_not_change(maker: Maker) -> None:
    kernels, copies = maker.metric("Kernels"), maker.metric("Copies")
    group = maker.group(EVENT, kernels)
    in_use = ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE
    maker.metrics.activate(group)
    assert zet.zetMetricGroupAddMetricExp(group, copies, None, None) == in_use
    assert zet.zetMetricGroupRemoveMetricExp(group, kernels) == in_use
    assert zet.zetMetricGroupDestroyExp(group) == in_use
    assert zet.zetMetricDestroyExp(kernels) == in_use
    pool = maker.metrics.query_pool(group)
    maker.metrics.activate()
    assert zet.zetMetricGroupDestroyExp(group) == in_use
    assert "query pools" in last_error()
    maker.metrics.end(pool)
    check(zet.zetMetricGroupRemoveMetricExp(group, kernels))
    not_there = zet.zetMetricGroupRemoveMetricExp(group, kernels)
    assert not_there == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


def test_groups_of_the_driver_stay_as_they_are(maker: Maker) -> None:
    group, refused = (
        maker.metrics.groups["ComputeBasic", EVENT],
        ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
    )
    metric = metrics_of(group)[0]
    own = maker.metric("Kernels")
    assert zet.zetMetricGroupAddMetricExp(group, own, None, None) == refused
    assert zet.zetMetricGroupRemoveMetricExp(group, metric) == refused
    assert zet.zetMetricGroupCloseExp(group) == refused
    assert zet.zetMetricGroupDestroyExp(group) == refused
    assert zet.zetMetricDestroyExp(metric) == refused
    mine = maker.group(EVENT, own)
    assert zet.zetMetricGroupAddMetricExp(mine, metric, None, None) == refused
    assert "zetMetricCreateFromProgrammableExp2" in last_error()


@pytest.mark.parametrize(
    ("of", "values", "says"),
    [
        ("Kernels", [2], "'Rate'"),
        ("Kernels", [0, 0, 0], "'Bytes'"),
        ("Kernels", [0, 0, 1, 0], "4 parameters"),
        ("KernelTime", [2], "'Share'"),
    ],
)
def test_impossible_parameters_are_refused(
    maker: Maker, of: str, values: list[int], says: str
) -> None:
    assert maker.try_metric(of, values)[0] == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert says in last_error()


def test_long_name_is_refused(maker: Maker) -> None:
    name = "x" * zet.ZET_MAX_METRIC_NAME
    assert maker.try_metric("Kernels", [], name)[0] == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "255" in last_error()


def test_exported_data_of_a_made_group_give_the_same_values(maker: Maker) -> None:
    group = maker.group(EVENT, maker.metric("FilledBytes", 0, 0, 3, name="Thrice"))
    own, commands = query_of(maker, group), maker.metrics.immediate(in_order=True)
    begin(commands, own)
    fill(commands, maker.metrics.shared(100), b"\1", 100)
    end(commands, own)
    finish(commands)
    raw, size = data(own), ctypes.c_size_t()
    export = zet.zetMetricGroupGetExportDataExp
    check(export(group, raw, len(raw), ctypes.byref(size), None))
    exported = (ctypes.c_uint8 * size.value)()
    check(export(group, raw, len(raw), ctypes.byref(size), exported))
    head = bytes(exported).partition(b"\n")[0]
    assert thrice(maker, bytes(exported)) == 300
    for old, new in ((b'"domain": 0', b'"domain": 1'), (b'"FilledBytes"', b'"Flops"')):
        assert old in head
        assert thrice(maker, bytes(exported).replace(old, new)) is None


def thrice(maker: Maker, exported: bytes) -> int | None:
    """The last value of exported data; None if they are refused."""
    sets, total = ctypes.c_uint32(), ctypes.c_uint32(100)
    values = (zet.zet_typed_value_t * 100)()
    result = zet.zetMetricGroupCalculateMetricExportDataExp(
        maker.metrics.driver,
        zet.ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES,
        len(exported),
        exported,
        ctypes.byref(zet.zet_metric_calculate_exp_desc_t()),
        ctypes.byref(sets),
        ctypes.byref(total),
        None,
        values,
    )
    if result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT:
        return None
    check(result)
    return int(values[total.value - 1].value.ui64)
