"""Memory objects behind their handles."""

from __future__ import annotations

import ctypes

from groundstate.dnn.abi.api import (
    get,
    get_optional,
    give,
    handle_of,
    handler,
    lend,
    need,
    take_back,
    write_pointer,
)
from groundstate.dnn.descriptor import SIZES, ZERO, Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid, require
from groundstate.dnn.memory import MOST_HANDLES, HostScalar, Memory
from groundstate.dnn.stream import Stream

MemoryObject = (Memory, HostScalar)


def _create(memory: int, memory_desc: int, engine: int, handles: list[int]) -> None:
    described = get_optional(memory_desc, Descriptor) or ZERO
    made = Memory(get(engine, Engine), described, handles)
    write_pointer(memory, give(made, made.native))


def _handles(count: int, address: int) -> list[int]:
    require(0 < count <= MOST_HANDLES, f"there are 1 to {MOST_HANDLES} handles")
    need(address)
    return [each or 0 for each in (ctypes.c_void_p * count).from_address(address)]


@handler
def dnnl_memory_create(memory: int, memory_desc: int, engine: int, handle: int) -> None:
    need(memory, memory_desc)
    _create(memory, memory_desc, engine, [handle])


@handler
def dnnl_memory_create_v2(
    memory: int, memory_desc: int, engine: int, nhandles: int, handles: int
) -> None:
    need(memory, memory_desc)
    _create(memory, memory_desc, engine, _handles(nhandles, handles))


@handler
def dnnl_ze_interop_memory_create(
    memory: int, memory_desc: int, engine: int, nhandles: int, handles: int
) -> None:
    need(memory, memory_desc)
    _create(memory, memory_desc, engine, _handles(nhandles, handles))


@handler
def dnnl_memory_create_host_scalar(memory: int, memory_desc: int, scalar_ptr: int) -> None:
    need(memory, memory_desc, scalar_ptr)
    described = get(memory_desc, Descriptor)
    size = SIZES.get(described.data_type, 0)
    made = HostScalar(described, ctypes.string_at(scalar_ptr, size))
    write_pointer(memory, give(made, made.native))


@handler
def dnnl_memory_get_memory_desc(memory: int, memory_desc: int) -> None:
    need(memory_desc)
    found = memory_at(memory)
    write_pointer(memory_desc, lend(memory, "descriptor", found.descriptor))


@handler
def dnnl_memory_get_engine(memory: int, engine: int) -> None:
    need(engine)
    found = memory_at(memory)
    write_pointer(engine, handle_of(found.engine) if isinstance(found, Memory) else 0)


@handler
def dnnl_memory_map_data(memory: int, mapped_ptr: int) -> None:
    dnnl_memory_map_data_v2(memory, mapped_ptr, 0)


@handler
def dnnl_memory_map_data_v2(memory: int, mapped_ptr: int, index: int) -> None:
    need(mapped_ptr)
    found = get(memory, Memory)
    with Stream(found.engine) as stream:
        write_pointer(mapped_ptr, found.map(stream, index))


@handler
def dnnl_memory_unmap_data(memory: int, mapped_ptr: int) -> None:
    dnnl_memory_unmap_data_v2(memory, mapped_ptr, 0)


@handler
def dnnl_memory_unmap_data_v2(memory: int, mapped_ptr: int, index: int) -> None:
    found = get(memory, Memory)
    with Stream(found.engine) as stream:
        found.unmap(stream, mapped_ptr, index)


@handler
def dnnl_memory_get_host_scalar_value(memory: int, value: int) -> None:
    need(value)
    data = get(memory, HostScalar).value
    ctypes.memmove(value, data, len(data))


@handler
def dnnl_memory_set_host_scalar_value(memory: int, value: int) -> None:
    need(value)
    scalar = get(memory, HostScalar)
    scalar.value = ctypes.string_at(value, SIZES[scalar.descriptor.data_type])


@handler
def dnnl_memory_destroy(memory: int) -> None:
    if memory:
        take_back(memory, type(memory_at(memory)))


def memory_at(handle: int) -> Memory | HostScalar:
    """The memory behind a handle, that of a tensor or of a value of the host."""
    found = get(handle, object)
    if not isinstance(found, MemoryObject):
        invalid("a memory object is needed")
    return found
