"""What tests of metrics share: activation, queries, and values by name."""

from __future__ import annotations

import ctypes

from groundstate import ze, zet
from tests.conftest import check
from tests.driver.kernels import KernelBench
from tests.driver.support import handles

EVENT = zet.ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EVENT_BASED
TIME = zet.ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_TIME_BASED
TRACE = zet.ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EXP_TRACER_BASED
Values = dict[str, float]


def group_handles(device: int) -> list[int]:
    count = ctypes.c_uint32()
    check(zet.zetMetricGroupGet(device, ctypes.byref(count), None))
    array = (ctypes.c_void_p * count.value)()
    check(zet.zetMetricGroupGet(device, ctypes.byref(count), array))
    return [each or 0 for each in array]


def group_properties(group: int) -> zet.zet_metric_group_properties_t:
    properties = zet.zet_metric_group_properties_t()
    check(zet.zetMetricGroupGetProperties(group, ctypes.byref(properties)))
    return properties


def metrics_of(group: int) -> list[int]:
    """The handles of a group's metrics."""
    count = ctypes.c_uint32()
    check(zet.zetMetricGet(group, ctypes.byref(count), None))
    array = (ctypes.c_void_p * count.value)()
    check(zet.zetMetricGet(group, ctypes.byref(count), array))
    return [each or 0 for each in array]


def programmable_handles(device: int) -> list[int]:
    count = ctypes.c_uint32()
    check(zet.zetMetricProgrammableGetExp(device, ctypes.byref(count), None))
    array = (ctypes.c_void_p * count.value)()
    check(zet.zetMetricProgrammableGetExp(device, ctypes.byref(count), array))
    return [each or 0 for each in array]


def metric_properties(group: int) -> list[zet.zet_metric_properties_t]:
    found = []
    for metric in metrics_of(group):
        found.append(zet.zet_metric_properties_t())
        check(zet.zetMetricGetProperties(metric, ctypes.byref(found[-1])))
    return found


def number(value: zet.zet_typed_value_t) -> float:
    if value.type == zet.ZET_VALUE_TYPE_FLOAT32:
        return float(value.value.fp32)
    if value.type == zet.ZET_VALUE_TYPE_FLOAT64:
        return float(value.value.fp64)
    assert value.type == zet.ZET_VALUE_TYPE_UINT64
    return int(value.value.ui64)


def by_name(group: int, values: list[float]) -> list[Values]:
    """The values of each report, by the names of metrics."""
    names = [each.name.decode() for each in metric_properties(group)]
    assert len(values) % len(names) == 0
    rows = [values[at : at + len(names)] for at in range(0, len(values), len(names))]
    return [dict(zip(names, row, strict=True)) for row in rows]


def calculate(group: int, raw: bytes) -> list[Values]:
    kind = zet.ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES
    count = ctypes.c_uint32()
    where = (group, kind, len(raw), raw, ctypes.byref(count))
    check(zet.zetMetricGroupCalculateMetricValues(*where, None))
    values = (zet.zet_typed_value_t * count.value)()
    check(zet.zetMetricGroupCalculateMetricValues(*where, values))
    return by_name(group, [number(each) for each in values])


class Metrics(KernelBench):
    """A bench that ends with no group active."""

    def __init__(self, driver: int, device: int, groups: dict[tuple[str, int], int]) -> None:
        super().__init__(driver, device)
        self.groups = groups

    @staticmethod
    def find(device: int) -> dict[tuple[str, int], int]:
        found = {}
        programmable_handles(device)
        for handle in group_handles(device):
            metric_properties(handle)
            properties = group_properties(handle)
            found[properties.name.decode(), properties.samplingType] = handle
        return found

    def close(self) -> None:
        self.activate()
        super().close()

    def activate(self, *groups: int) -> None:
        """Activates these groups and no others."""
        check(self.try_to_activate(*groups))

    def try_to_activate(self, *groups: int) -> int:
        array = handles(*groups) if groups else None
        return int(
            zet.zetContextActivateMetricGroups(self.context, self.device, len(groups), array)
        )

    def active(self, name: str, sampling: int = EVENT) -> int:
        """The group of a name, activated alone."""
        group = self.groups[name, sampling]
        self.activate(group)
        return group

    def query_pool(self, group: int, count: int = 1) -> int:
        description = zet.zet_metric_query_pool_desc_t(count=count)
        return self._made(
            zet.zetMetricQueryPoolDestroy,
            zet.zetMetricQueryPoolCreate,
            self.context,
            self.device,
            group,
            ctypes.byref(description),
        )

    def query(self, pool: int, index: int = 0) -> int:
        return self._made(zet.zetMetricQueryDestroy, zet.zetMetricQueryCreate, pool, index)

    def streamer(self, group: int, period: int, notify: int = 1, event: int | None = None) -> int:
        description = zet.zet_metric_streamer_desc_t(
            notifyEveryNReports=notify, samplingPeriod=period
        )
        return self._made(
            zet.zetMetricStreamerClose,
            zet.zetMetricStreamerOpen,
            self.context,
            self.device,
            group,
            ctypes.byref(description),
            event,
        )


def begin(commands: int, query: int) -> None:
    check(zet.zetCommandListAppendMetricQueryBegin(commands, query))


def end(commands: int, query: int, signal: int | None = None) -> None:
    check(zet.zetCommandListAppendMetricQueryEnd(commands, query, signal, 0, None))


def data(query: int) -> bytes:
    """The raw data of a query that has ended."""
    size = ctypes.c_size_t()
    check(zet.zetMetricQueryGetData(query, ctypes.byref(size), None))
    raw = (ctypes.c_uint8 * size.value)()
    check(zet.zetMetricQueryGetData(query, ctypes.byref(size), raw))
    assert size.value == len(raw)
    return bytes(raw)


def read(streamer: int, most: int = 0xFFFFFFFF) -> tuple[int, bytes]:
    """What there is to read of a streamer, and whether some was dropped."""
    size = ctypes.c_size_t()
    check(zet.zetMetricStreamerReadData(streamer, most, ctypes.byref(size), None))
    raw = (ctypes.c_uint8 * size.value)()
    result = zet.zetMetricStreamerReadData(streamer, most, ctypes.byref(size), raw)
    assert result in (ze.ZE_RESULT_SUCCESS, ze.ZE_RESULT_WARNING_DROPPED_DATA)
    return int(result), bytes(raw[: size.value])
