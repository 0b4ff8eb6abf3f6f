"""Engines and streams, with and without a caller's Level Zero objects."""

from __future__ import annotations

import ctypes
import json

from groundstate import ze
from groundstate.core.api import Api
from groundstate.core.errors import LevelZeroError
from groundstate.dnn import level_zero
from groundstate.dnn.abi.api import (
    get,
    give,
    handle_of,
    handler,
    need,
    take_back,
    write_int,
    write_long,
    write_pointer,
)
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid, require
from groundstate.dnn.stream import Stream
from groundstate.dnn.types import ProfilingDataKind
from groundstate.version import __version__

# --- Engines --------------------------------------------------------------------------------------


@handler
def dnnl_engine_get_count(kind: int) -> int:
    return Engine.count(kind)


@handler
def dnnl_engine_create(engine: int, kind: int, index: int) -> None:
    need(engine)
    made = Engine.create(kind, index)
    write_pointer(engine, give(made, made.native))


@handler
def dnnl_engine_get_kind(engine: int, kind: int) -> None:
    found = get(engine, Engine)
    need(kind)
    write_int(kind, found.kind)


@handler
def dnnl_engine_destroy(engine: int) -> None:
    take_back(engine, Engine)


@handler
def dnnl_ze_interop_engine_create(engine: int, driver: int, device: int, context: int) -> None:
    need(engine)
    made = Engine.wrap(driver, device, context)
    write_pointer(engine, give(made, made.native))


@handler
def dnnl_ze_interop_engine_get_context(engine: int, context: int) -> None:
    found = get(engine, Engine)
    need(context)
    write_pointer(context, found.context)


@handler
def dnnl_ze_interop_engine_get_device(engine: int, device: int) -> None:
    found = get(engine, Engine)
    need(device)
    write_pointer(device, found.device)


@handler
def dnnl_ze_interop_engine_get_driver(engine: int, driver: int) -> None:
    found = get(engine, Engine)
    need(driver)
    write_pointer(driver, found.driver)


# --- Blobs: an engine compiles nothing, so its blob only says for whom it was made ----------------


def _identity(api: Api, device: int) -> bytes:
    try:
        properties = api.struct(ze.ze_device_properties_t, "zeDeviceGetProperties", device)
        version = api.struct(
            ze.ze_driver_properties_t, "zeDriverGetProperties", api.driver
        ).driverVersion
    except LevelZeroError as problem:
        invalid(f"driver or device cannot be used: {problem}")
    name = properties.name.decode(errors="replace")
    return json.dumps(["groundstate", __version__, name, version]).encode()


def answer_bytes(size: int, data: int, answer: bytes) -> None:
    """Answers bytes: their size if there is no room given, else the bytes."""
    need(size)
    if not data:
        write_long(size, len(answer))
        return
    given = ctypes.c_size_t.from_address(size).value
    require(given == len(answer), f"there is room for {given} bytes instead of {len(answer)}")
    ctypes.memmove(data, answer, len(answer))


@handler
def dnnl_ze_interop_engine_get_cache_blob_id(
    driver: int, device: int, size: int, cache_blob_id: int
) -> None:
    need(driver, device, size)
    api = level_zero.api_of(driver)
    if api is None:
        invalid("no Level Zero library of this process knows that driver")
    answer_bytes(size, cache_blob_id, _identity(api, device))


@handler
def dnnl_ze_interop_engine_get_cache_blob(engine: int, size: int, cache_blob: int) -> None:
    found = get(engine, Engine)
    answer_bytes(size, cache_blob, _identity(found.api, found.device))


@handler
def dnnl_ze_interop_engine_create_from_cache_blob(
    engine: int, driver: int, device: int, context: int, size: int, cache_blob: int
) -> None:
    need(engine, driver, device, context, cache_blob, size)
    made = Engine.wrap(driver, device, context)
    same = ctypes.string_at(cache_blob, size) == _identity(made.api, device)
    require(same, "the blob was made by another version or for another device")
    write_pointer(engine, give(made, made.native))


# --- Streams --------------------------------------------------------------------------------------


@handler
def dnnl_stream_create(stream: int, engine: int, flags: int) -> None:
    need(stream)
    made = Stream(get(engine, Engine), flags)
    write_pointer(stream, give(made, made.native))


@handler
def dnnl_ze_interop_stream_create(
    stream: int, engine: int, list_handle: int, profiling: int
) -> None:
    need(stream, list_handle)
    made = Stream.wrap(get(engine, Engine), list_handle, profiling=bool(profiling))
    write_pointer(stream, give(made, made.native))


@handler
def dnnl_ze_interop_stream_get_list(stream: int, list_handle: int) -> None:
    need(list_handle)
    write_pointer(list_handle, get(stream, Stream).list)


@handler
def dnnl_stream_get_engine(stream: int, engine: int) -> None:
    need(engine)
    write_pointer(engine, handle_of(get(stream, Stream).engine))


@handler
def dnnl_stream_destroy(stream: int) -> None:
    take_back(stream, Stream)


@handler
def dnnl_reset_profiling(stream: int) -> None:
    get(stream, Stream).reset_times()


@handler
def dnnl_query_profiling_data(stream: int, data_kind: int, num_entries: int, data: int) -> None:
    found = get(stream, Stream)
    need(num_entries)
    require(data_kind == ProfilingDataKind.kind_time, "only the time is known")
    times = found.times_ns() if data else [0] * found.count_times()
    if data:
        room = ctypes.c_int.from_address(num_entries).value
        require(room >= len(times), f"there is room for {room} of {len(times)} times")
        ctypes.memmove(data, (ctypes.c_uint64 * len(times))(*times), 8 * len(times))
    write_int(num_entries, len(times))
