"""Primitives and their descriptors behind handles, and what can be asked of them."""

from __future__ import annotations

import ctypes
import hashlib
import re
from collections.abc import Callable
from typing import Any

from groundstate.dnn import declarations, native
from groundstate.dnn.abi.api import (
    HANDLERS,
    descriptors_at,
    dims_array,
    dims_at,
    floats_at,
    get,
    get_optional,
    give,
    handle_of,
    handler,
    keep,
    lend,
    need,
    take_back,
    write_float,
    write_int,
    write_long,
    write_pointer,
)
from groundstate.dnn.abi.engines import answer_bytes
from groundstate.dnn.abi.memories import memory_at
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.blobs import pack_programs, unpack_programs
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import DnnError, require, unimplemented
from groundstate.dnn.memory import HostScalar, Memory
from groundstate.dnn.primitive import Primitive, PrimitiveDescriptor, creators
from groundstate.dnn.stream import Stream
from groundstate.dnn.types import Query, Status

# --- Making descriptors ---------------------------------------------------------------------------

_CONVERSIONS: dict[str, Callable[[int], Any]] = {
    "dnnl_engine_t": lambda value: get_optional(value, Engine),
    "const_dnnl_memory_desc_t": lambda value: get_optional(value, Descriptor),
    "const_dnnl_primitive_attr_t": lambda value: get_optional(value, Attributes),
    "const_dnnl_primitive_desc_t": lambda value: get_optional(value, PrimitiveDescriptor),
    "const dnnl_dims_t": dims_at,
    "const float *": floats_at,
    "const_dnnl_memory_desc_t const *": descriptors_at,
}
"""How a parameter becomes what a family takes; numbers stay what they are."""


def _conversion(parameter: str) -> Callable[[Any], Any] | None:
    match = re.fullmatch(r"(.+?) ?\b\w+", parameter)
    return _CONVERSIONS.get(match[1]) if match else None


def _creating(function: str, declaration: str) -> Callable[..., None]:
    """The handler of a function that makes the descriptor of a primitive."""
    parameters = declaration.partition(" -> ")[0].split(", ")[1:]
    conversions = [_conversion(parameter) for parameter in parameters]

    def create(primitive_desc: int, *values: Any) -> None:
        need(primitive_desc)
        creator = creators().get(function)
        if creator is None:
            unimplemented("nobody has written this primitive")
        arguments = [
            value if convert is None else convert(value)
            for convert, value in zip(conversions, values, strict=True)
        ]
        write_pointer(primitive_desc, give(creator(*arguments)))

    return create


for _name, _declaration in declarations.FUNCTIONS.items():
    if re.search(r"_primitive_desc_create(_v\d)?$", _name):
        HANDLERS[_name] = _creating(_name, _declaration)


@handler
def dnnl_primitive_desc_clone(primitive_desc: int, existing_primitive_desc: int) -> None:
    need(primitive_desc)
    write_pointer(primitive_desc, give(get(existing_primitive_desc, PrimitiveDescriptor)))


@handler
def dnnl_primitive_desc_destroy(primitive_desc: int) -> None:
    take_back(primitive_desc, PrimitiveDescriptor)


@handler
def dnnl_primitive_desc_next_impl(primitive_desc: int) -> None:
    get(primitive_desc, PrimitiveDescriptor)
    raise DnnError(Status.last_impl_reached, "there is one implementation of each primitive")


@handler
def dnnl_primitive_desc_get_attr(primitive_desc: int, attr: int) -> None:
    need(attr)
    found = get(primitive_desc, PrimitiveDescriptor)
    write_pointer(attr, lend(primitive_desc, "attributes", found.attributes))


# --- Questions ------------------------------------------------------------------------------------


def _is_for_descriptor(what: int) -> bool:
    return what == Query.exec_arg_md or Query.some_md < what <= Query.scratchpad_md


def _cache_id(found: PrimitiveDescriptor) -> bytes:
    digest = hashlib.sha256()
    for launch in found.plan.launches:
        digest.update(repr((launch.source, launch.options)).encode())
    return digest.digest()


@handler
def dnnl_primitive_desc_query(primitive_desc: int, what: int, index: int, result: int) -> None:
    found = get(primitive_desc, PrimitiveDescriptor)
    need(result)
    if _is_for_descriptor(what):
        write_pointer(result, _lend_descriptor(primitive_desc, found, what, index))
    elif what in _ANSWERS:
        _ANSWERS[what](found, result)
    elif what == Query.impl_info_str:
        text = ctypes.create_string_buffer(found.implementation.encode())
        write_pointer(result, keep(primitive_desc, what, text))
    elif what == Query.cache_blob_id:
        blob = ctypes.create_string_buffer(_cache_id(found), 32)
        write_pointer(result, keep(primitive_desc, what, blob))
    else:
        _answer_parameter(primitive_desc, found, what, result)


_ANSWERS: dict[int, Callable[[PrimitiveDescriptor, int], None]] = {
    Query.engine: lambda found, to: write_pointer(to, handle_of(found.engine)),
    Query.scratchpad_engine: lambda found, to: write_pointer(to, handle_of(found.engine)),
    Query.reorder_src_engine: lambda found, to: write_pointer(to, handle_of(found.engine)),
    Query.reorder_dst_engine: lambda found, to: write_pointer(to, handle_of(found.engine)),
    Query.primitive_kind: lambda found, to: write_int(to, found.kind),
    Query.prop_kind: lambda found, to: write_int(to, found.prop_kind),
    Query.num_of_inputs_s32: lambda found, to: write_int(to, found.count(outputs=False)),
    Query.num_of_outputs_s32: lambda found, to: write_int(to, found.count(outputs=True)),
    Query.memory_consumption_s64: lambda found, to: write_long(to, found.plan.scratchpad_bytes),
    Query.cache_blob_id_size_s64: lambda found, to: write_long(to, len(_cache_id(found))),
}


def _answer_parameter(owner: int, found: PrimitiveDescriptor, what: int, result: int) -> None:
    value: Any = next((each for key, each in found.parameters.items() if key == what), None)
    if value is None:
        unimplemented(f"this primitive has no answer to query {what}")
    name = Query(what).name
    if name.endswith("_f32") and not isinstance(value, (list, tuple)):
        write_float(result, value)
    elif name.endswith("_s64"):
        write_long(result, value)
    elif isinstance(value, (list, tuple)):
        floats = any(isinstance(each, float) for each in value)
        array = (ctypes.c_float * 12)(*value) if floats else dims_array(value)
        write_pointer(result, keep(owner, what, array))
    else:
        write_int(result, value)


def _lend_descriptor(owner: int, found: PrimitiveDescriptor, what: int, index: int) -> int:
    described = found.descriptor(what, index)
    if described is None:
        raise DnnError(Status.not_required, f"there is no tensor {index} of that kind")
    return lend(owner, (what, index), described)


@handler
def dnnl_primitive_desc_query_md(primitive_desc: int, what: int, index: int) -> int:
    found = get(primitive_desc, PrimitiveDescriptor)
    return _lend_descriptor(primitive_desc, found, what, index)


@handler
def dnnl_primitive_desc_query_s32(primitive_desc: int, what: int, index: int) -> int:
    answer = ctypes.c_int32()
    dnnl_primitive_desc_query(primitive_desc, what, index, ctypes.addressof(answer))
    return answer.value


# --- Primitives -----------------------------------------------------------------------------------


@handler
def dnnl_primitive_create(primitive: int, primitive_desc: int) -> None:
    need(primitive)
    made = Primitive(get(primitive_desc, PrimitiveDescriptor))
    write_pointer(primitive, give(made, made.prepared.native))


@handler
def dnnl_primitive_create_from_cache_blob(
    primitive: int, primitive_desc: int, size: int, cache_blob: int
) -> None:
    need(primitive, cache_blob, size)
    described = get(primitive_desc, PrimitiveDescriptor)
    unpack_programs(ctypes.string_at(cache_blob, size), described.plan)
    made = Primitive(described)
    write_pointer(primitive, give(made, made.prepared.native))


@handler
def dnnl_primitive_get_cache_blob(primitive: int, size: int, cache_blob: int) -> None:
    answer_bytes(size, cache_blob, pack_programs(get(primitive, Primitive).descriptor.plan))


@handler
def dnnl_primitive_get_primitive_desc(primitive: int, primitive_desc: int) -> None:
    need(primitive_desc)
    found = get(primitive, Primitive)
    write_pointer(primitive_desc, lend(primitive, "descriptor", found.descriptor))


@handler
def dnnl_ze_interop_primitive_execute(
    primitive: int, stream: int, nargs: int, args: int, ndeps: int, deps: int, return_event: int
) -> None:
    """Comes here only if sizes were left open; native/dnnl/execute.c does the rest."""
    memories: dict[int, Memory | HostScalar] = {}
    for each in (native.Passed * nargs).from_address(args) if nargs else ():
        require(each.argument not in memories, f"argument {each.argument} is passed twice")
        if each.memory:
            memories[each.argument] = memory_at(each.memory)
    events = (ctypes.c_void_p * ndeps).from_address(deps) if ndeps else ()
    event = get(primitive, Primitive).execute(
        get(stream, Stream),
        memories,
        wait_for=[each or 0 for each in events],
        want_event=bool(return_event),
    )
    if return_event:
        write_pointer(return_event, event)


@handler
def dnnl_primitive_destroy(primitive: int) -> None:
    take_back(primitive, Primitive)


_capacity = [1024]


@handler
def dnnl_get_primitive_cache_capacity(capacity: int) -> None:
    need(capacity)
    write_int(capacity, _capacity[0])


@handler
def dnnl_set_primitive_cache_capacity(capacity: int) -> None:
    from groundstate.dnn.programs import Programs

    if capacity < 0:
        raise DnnError(Status.invalid_arguments, "a cache has room for no or more programs")
    _capacity[0] = Programs.most = capacity
