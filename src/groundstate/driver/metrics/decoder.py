"""What the raw data of tracers say: one entry for each record (native/metrics/tracer.c)."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from typing import NamedTuple

from groundstate import ze
from groundstate.driver import native, platform
from groundstate.driver.api import (
    Failure,
    Handles,
    answer_list,
    handler,
    read_pointer,
    read_u32,
    read_u64,
    write_pointer,
    write_u32,
    write_u64,
)
from groundstate.driver.metrics.groups import all_metrics
from groundstate.driver.metrics.traces import KINDS, TRACES
from groundstate.native_layouts import TraceRecord

_RECORD = struct.Struct("=4Q")
_ENTRY = struct.Struct("=QQIB3xI4x")
"""A `zet_metric_entry_exp_t`."""
assert _RECORD.size == ctypes.sizeof(TraceRecord)


class Decoder(NamedTuple):
    """The metrics of a tracer's records, and the sub-devices that those may come from."""

    kinds: dict[int, int]
    """Of the records, by the handles of the metrics."""
    subdevices: dict[int, int]
    """Their numbers, by their handles."""


_decoders: Handles[Decoder] = Handles("zet_metric_decoder_exp_handle_t")


@handler
def zetMetricDecoderCreateExp(hMetricTracer: int, phMetricDecoder: int) -> None:
    sources, device = native.metric_tracer_sources(hMetricTracer)
    groups = [group for number, group in enumerate(TRACES) if sources >> number & 1]
    kinds: dict[int, int] = {}
    for metric in dict.fromkeys(metric for group in groups for metric in group.metrics):
        handle = native.object_new("zet_metric_handle_t")
        all_metrics[handle] = metric
        kinds[handle] = KINDS[metric.name]
    parts = platform.device(device).subdevices
    subdevices = {part.handle: number for number, part in enumerate(parts)}
    decoder = native.object_new("zet_metric_decoder_exp_handle_t")
    _decoders[decoder] = Decoder(kinds, subdevices)
    write_pointer(phMetricDecoder, decoder)


@handler
def zetMetricDecoderDestroyExp(phMetricDecoder: int) -> None:
    for metric in _decoders.take(phMetricDecoder).kinds:
        native.object_end(metric)
        all_metrics.pop(metric, None)
    native.object_end(phMetricDecoder)


@handler
def zetMetricDecoderGetDecodableMetricsExp(
    hMetricDecoder: int, pCount: int, phMetrics: int
) -> None:
    answer_list(pCount, phMetrics, list(_decoders[hMetricDecoder].kinds))


def _wanted(decoder: Decoder, count: int, metrics: int) -> dict[int, int]:
    """The places of metrics in the caller's array, by the kinds of their records."""
    wanted: dict[int, int] = {}
    for place in range(count):  # up to the first that is none: there may be no more
        handle = read_pointer(metrics + 8 * place)
        if handle not in decoder.kinds:
            raise Failure(
                ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
                f"the metric at index {place} is none of this decoder "
                "(zetMetricDecoderGetDecodableMetricsExp)",
            )
        wanted.setdefault(decoder.kinds[handle], place)
    return wanted


def _entries(decoder: Decoder, wanted: dict[int, int], raw: bytes) -> Iterator[tuple[int, bytes]]:
    """How many bytes of the data are read with each entry, and the entry."""
    for number, (time, value, device, kind) in enumerate(_RECORD.iter_unpack(raw), 1):
        if kind in wanted:
            part = decoder.subdevices.get(device)
            facts = (value, time, wanted[kind], part is not None, part or 0)
            yield number * _RECORD.size, _ENTRY.pack(*facts)


@handler
def zetMetricTracerDecodeExp(
    phMetricDecoder: int,
    pRawDataSize: int,
    pRawData: int,
    metricsCount: int,
    phMetrics: int,
    pSetCount: int,
    pMetricEntriesCountPerSet: int,
    pMetricEntriesCount: int,
    pMetricEntries: int,
) -> None:
    """One set: an entry says which sub-device it is of, if it is of one."""
    decoder = _decoders[phMetricDecoder]
    wanted = _wanted(decoder, metricsCount, phMetrics)
    size = read_u64(pRawDataSize) // _RECORD.size * _RECORD.size if pRawData else 0
    sets = read_u32(pSetCount)
    write_u32(pSetCount, 1)
    if not pMetricEntriesCount:
        return
    found = list(_entries(decoder, wanted, ctypes.string_at(pRawData, size) if size else b""))
    room = read_u32(pMetricEntriesCount)
    written = min(room, len(found)) if room else len(found)
    write_u32(pMetricEntriesCount, written)
    if sets and pMetricEntriesCountPerSet:
        write_u32(pMetricEntriesCountPerSet, written)
    if room == 0 or not pMetricEntries:
        return
    write_u64(pRawDataSize, found[written - 1][0] if written < len(found) else size)
    packed = b"".join(entry for _, entry in found[:written])
    ctypes.memmove(pMetricEntries, packed, len(packed))
