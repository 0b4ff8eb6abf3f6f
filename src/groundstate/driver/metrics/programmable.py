"""Programmable metrics: one for each word that is counted, and what a program may make of it.

Its parameters say how the count is put into proportion: in a second, of a worker, in bytes, or as a
share of the workers' time.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from groundstate import ze, zet
from groundstate.driver import native, platform
from groundstate.driver.api import (
    Failure,
    Handles,
    answer_list,
    answer_structs,
    chain,
    handler,
    read_text,
    read_u32,
    read_u64,
    take_count,
    write_pointer,
    write_text,
)
from groundstate.driver.metrics.groups import all_metrics, known_groups
from groundstate.driver.metrics.table import (
    Group,
    Metric,
    Report,
    groups_anywhere,
)
from groundstate.driver.platform import Device

MOST_BYTES = 1 << 32
"""That an event may stand for."""
VALUE_BYTES = 8
_SECOND = 1_000_000_000
_DOUBLE = zet.ZET_VALUE_TYPE_FLOAT64
_FLAG_VALUES = 2


class Parameter(NamedTuple):
    """What a program may choose for a programmable metric."""

    type: int
    name: str
    values: tuple[str, ...]
    """What the values mean, from 0 on; a single one is a range from 1 on."""

    @property
    def is_range(self) -> bool:
        return len(self.values) < _FLAG_VALUES

    @property
    def default(self) -> int:
        return 1 if self.is_range else 0

    def allows(self, value: int) -> bool:
        return 1 <= value <= MOST_BYTES if self.is_range else value < len(self.values)


RATE = Parameter(
    zet.ZET_METRIC_PROGRAMMABLE_PARAM_TYPE_EXP_NORMALIZATION_RATE,
    "Rate",
    ("as counted", "in a second"),
)
AVERAGE = Parameter(
    zet.ZET_METRIC_PROGRAMMABLE_PARAM_TYPE_EXP_NORMALIZATION_AVERAGE,
    "Average",
    ("of all workers together", "of a worker"),
)
BYTES = Parameter(
    zet.ZET_METRIC_PROGRAMMABLE_PARAM_TYPE_EXP_NORMALIZATION_BYTES,
    "Bytes",
    ("how many bytes each event stands for",),
)
SHARE = Parameter(
    zet.ZET_METRIC_PROGRAMMABLE_PARAM_TYPE_EXP_NORMALIZATION_UTILIZATION,
    "Share",
    ("nanoseconds", "percent of the workers' time"),
)


class Programmable(NamedTuple):
    """A count that a program may make metrics of."""

    metric: Metric
    source: int
    sampling: int

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (SHARE,) if self.metric.units == "ns" else (RATE, AVERAGE, BYTES)


class Created(NamedTuple):
    """A metric that a program has made."""

    metric: Metric
    programmable: Programmable
    device: Device
    groups: set[int]
    """Those that it is in."""


def programmables_of(groups: Sequence[Group]) -> Iterator[Programmable]:
    """One for each word of these groups, in their order."""
    found: dict[str, Programmable] = {}
    for group in groups:
        for metric in group.metrics:
            if metric.word:
                before = found.get(metric.word)
                sampling = group.sampling | (before.sampling if before else 0)
                found[metric.word] = Programmable(metric, group.domain, sampling)
    yield from found.values()


@cache
def by_name() -> dict[str, Programmable]:
    """All of them, on whichever machine, for exported data."""
    return {each.metric.name: each for each in programmables_of(groups_anywhere())}


# --- Metrics --------------------------------------------------------------------------------------


def _share(word: str) -> Callable[[Report], float]:
    def value(report: Report) -> float:
        whole = report.workers * report.elapsed
        return 100 * report.counts[word] / whole if whole else 0.0

    return value


def _scaled(word: str, rate: int, average: int, size: int) -> Callable[[Report], float]:
    def value(report: Report) -> float:
        scaled: float = report.counts[word] * size
        if rate:
            scaled = scaled * _SECOND / report.elapsed if report.elapsed else 0.0
        return scaled / report.workers if average and report.workers else scaled

    return value


def made_of(
    programmable: Programmable, values: Sequence[int], name: str, description: str
) -> Metric:
    """The metric that parameters make of a programmable one."""
    base = programmable.metric._replace(
        name=name, description=description, recipe=(programmable.metric.name, tuple(values))
    )
    if programmable.parameters == (SHARE,):
        if not values[0]:
            return base
        ratio = zet.ZET_METRIC_TYPE_RATIO
        return base._replace(value=_share(base.word), units="percent", type=ratio, result=_DOUBLE)
    rate, average, size = values
    units = ("bytes" if size > 1 else base.units) + ("/s" if rate else "")
    return base._replace(
        value=_scaled(base.word, rate, average, size),
        units=units,
        type=zet.ZET_METRIC_TYPE_THROUGHPUT if rate else base.type,
        result=_DOUBLE if rate or average else base.result,
    )


def check_values(programmable: Programmable, values: Sequence[int]) -> None:
    """Fails where a parameter has a value that it cannot have."""
    for parameter, value in zip(programmable.parameters, values, strict=False):
        if not parameter.allows(value):
            allowed = f"1 to {MOST_BYTES}" if parameter.is_range else "0 or 1"
            raise Failure(
                ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
                f"parameter {parameter.name!r} of {programmable.metric.name!r} is {value}; "
                f"it can be {allowed}",
            )


# --- Handles --------------------------------------------------------------------------------------

_lock = threading.Lock()
_of_device: dict[int, tuple[int, ...]] = {}
_programmables: Handles[tuple[Programmable, Device]] = Handles(
    "zet_metric_programmable_exp_handle_t"
)
created_metrics: dict[int, Created] = {}


def _list(device: Device) -> tuple[int, ...]:
    with _lock:
        if device.handle not in _of_device:
            known = list(programmables_of(known_groups(device))) if device.gpu is None else []
            made = {native.object_new("zet_metric_programmable_exp_handle_t"): one for one in known}
            _programmables.update((handle, (one, device)) for handle, one in made.items())
            _of_device[device.handle] = tuple(made)
        return _of_device[device.handle]


@handler
def zetMetricProgrammableGetExp(hDevice: int, pCount: int, phMetricProgrammables: int) -> None:
    answer_list(pCount, phMetricProgrammables, _list(platform.device(hDevice)))


@handler
def zetMetricProgrammableGetPropertiesExp(hMetricProgrammable: int, pProperties: int) -> None:
    programmable, _ = _programmables[hMetricProgrammable]
    properties = zet.zet_metric_programmable_exp_properties_t.from_address(pProperties)
    write_text(properties, "name", programmable.metric.name)
    write_text(properties, "description", programmable.metric.description)
    write_text(properties, "component", programmable.metric.component)
    properties.tierNumber = programmable.metric.tier
    properties.domain = programmable.source
    properties.parameterCount = len(programmable.parameters)
    properties.samplingType = programmable.sampling
    properties.sourceId = programmable.source


def _fill_parameter(
    into: zet.zet_metric_programmable_param_info_exp_t, parameter: Parameter
) -> None:
    into.type = parameter.type
    write_text(into, "name", parameter.name)
    is_range = parameter.is_range
    into.valueInfoType = (
        zet.ZET_VALUE_INFO_TYPE_EXP_UINT64_RANGE if is_range else zet.ZET_VALUE_INFO_TYPE_EXP_UINT32
    )
    into.defaultValue.ui64 = parameter.default
    into.valueInfoCount = len(parameter.values)


@handler
def zetMetricProgrammableGetParamInfoExp(
    hMetricProgrammable: int, pParameterCount: int, pParameterInfo: int
) -> None:
    programmable, _ = _programmables[hMetricProgrammable]
    structure = zet.zet_metric_programmable_param_info_exp_t
    facts = (pParameterCount, pParameterInfo, structure, programmable.parameters)
    answer_structs(*facts, _fill_parameter)


@handler
def zetMetricProgrammableGetParamValueInfoExp(
    hMetricProgrammable: int, parameterOrdinal: int, pValueInfoCount: int, pValueInfo: int
) -> None:
    programmable, _ = _programmables[hMetricProgrammable]
    if parameterOrdinal >= len(programmable.parameters):
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"{programmable.metric.name!r} has "
            f"{len(programmable.parameters)} parameters; there is no number {parameterOrdinal}",
        )
    parameter = programmable.parameters[parameterOrdinal]
    structure = zet.zet_metric_programmable_param_value_info_exp_t
    for number in range(take_count(pValueInfoCount, pValueInfo, len(parameter.values))):
        address = pValueInfo + ctypes.sizeof(structure) * number
        _fill_value(structure.from_address(address), parameter, number)


def _fill_value(
    into: zet.zet_metric_programmable_param_value_info_exp_t, parameter: Parameter, number: int
) -> None:
    if parameter.is_range:
        into.valueInfo.ui64Range.ui64Min = 1
        into.valueInfo.ui64Range.ui64Max = MOST_BYTES
    else:
        into.valueInfo.ui32 = number
    write_text(into, "description", parameter.values[number])
    for stype, at in chain(into.pNext):  # the description may be asked for in a second one
        if stype == zet.ZET_STRUCTURE_TYPE_METRIC_PROGRAMMABLE_PARAM_VALUE_INFO_EXP:
            write_text(type(into).from_address(at), "description", parameter.values[number])


# --- Making metrics -------------------------------------------------------------------------------


def text_of(what: str, address: int, most: int) -> str:
    """A name of the caller's; fails if it does not fit into the properties that tell it."""
    text = read_text(address)
    if len(text.encode()) >= most:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"{what} has {len(text.encode())} bytes; it can have {most - 1}",
        )
    return text


def _values(programmable: Programmable, count: int, address: int) -> list[int]:
    parameters = programmable.parameters
    if count > len(parameters):
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"{count} parameters are set, but {programmable.metric.name!r} has {len(parameters)}",
        )
    if count and not address:
        raise Failure(ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER, "pParameterValues is null")
    values = [
        read_u64(address + VALUE_BYTES * number)
        if parameters[number].is_range
        else read_u32(address + VALUE_BYTES * number)
        for number in range(count)
    ]
    check_values(programmable, values)
    return values + [each.default for each in parameters[count:]]


def _create(
    handle: int, values: tuple[int, int], texts: tuple[int, int], count: int, to: int
) -> None:
    programmable, device = _programmables[handle]
    found = _values(programmable, *values)
    name = text_of("pName", texts[0], zet.ZET_MAX_METRIC_NAME)
    description = text_of("pDescription", texts[1], zet.ZET_MAX_METRIC_DESCRIPTION)
    if take_count(count, to, 1):
        metric = made_of(programmable, found, name, description)
        made = native.object_new("zet_metric_handle_t")
        all_metrics[made] = metric
        created_metrics[made] = Created(metric, programmable, device, set())
        write_pointer(to, made)


@handler
def zetMetricCreateFromProgrammableExp2(
    hMetricProgrammable: int,
    parameterCount: int,
    pParameterValues: int,
    pName: int,
    pDescription: int,
    pMetricHandleCount: int,
    phMetricHandles: int,
) -> None:
    """One metric: what is counted is not told apart any further."""
    values, texts = (parameterCount, pParameterValues), (pName, pDescription)
    _create(hMetricProgrammable, values, texts, pMetricHandleCount, phMetricHandles)


@handler
def zetMetricCreateFromProgrammableExp(
    hMetricProgrammable: int,
    pParameterValues: int,
    parameterCount: int,
    pName: int,
    pDescription: int,
    pMetricHandleCount: int,
    phMetricHandles: int,
) -> None:
    """The same, with two parameters the other way round."""
    values, texts = (parameterCount, pParameterValues), (pName, pDescription)
    _create(hMetricProgrammable, values, texts, pMetricHandleCount, phMetricHandles)


def created_metric(handle: int) -> Created:
    """A metric that a program has made; fails for one of the driver's own groups."""
    metric = all_metrics[handle]
    created = created_metrics.get(handle)
    if created is None:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"metric {metric.name!r} is one of the driver's own; only those of "
            "zetMetricCreateFromProgrammableExp2 can be used here",
        )
    return created


@handler
def zetMetricDestroyExp(hMetric: int) -> None:
    if created_metric(hMetric).groups:
        raise Failure(
            ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
            "the metric is in a group; remove it first "
            "(zetMetricGroupRemoveMetricExp), or destroy the group",
        )
    native.object_end(hMetric)
    created_metrics.pop(hMetric, None)
    all_metrics.pop(hMetric, None)
