"""Executions with arguments that are wrong: missing ones, other engines, memory without data."""

from __future__ import annotations

import ctypes

from tests.dnn.reference import facts
from tests.dnn.reference.client import ExecArg
from tests.dnn.reference.misuse import Bench, case, statuses

__all__ = ["statuses"]  # of the cases of this file, too: it has to be imported for them

SRC, DST = facts.ARGUMENTS["src"], facts.ARGUMENTS["dst"]


def relu(bench: Bench) -> ctypes.c_void_p:
    """A primitive that works."""
    descriptor = bench.run.make(
        "dnnl_primitive_desc_destroy",
        "dnnl_eltwise_forward_primitive_desc_create",
        bench.session.engine,
        ctypes.c_int(facts.PROPAGATION["inference"]),
        ctypes.c_int(facts.ELTWISE["relu"]),
        *(bench.md(2, 3), bench.md(2, 3), ctypes.c_float(0), ctypes.c_float(0), None),
    )
    return bench.run.make("dnnl_primitive_destroy", "dnnl_primitive_create", descriptor)


@case
def execute_none(bench: Bench) -> int:
    return bench("primitive_execute", None, bench.session.stream, ctypes.c_int(0), None)


@case
def execute_without_stream(bench: Bench) -> int:
    return bench("primitive_execute", relu(bench), None, ctypes.c_int(0), None)


@case
def execute_with_a_negative_count(bench: Bench) -> int:
    count = ctypes.c_int(-1)
    return bench("primitive_execute", relu(bench), bench.session.stream, count, None)


@case
def execute_without_the_arguments(bench: Bench) -> int:
    return bench("primitive_execute", relu(bench), bench.session.stream, ctypes.c_int(2), None)


@case
def execute_with_no_arguments(bench: Bench) -> int:
    return bench("primitive_execute", relu(bench), bench.session.stream, ctypes.c_int(0), None)


def memory(
    bench: Bench, *dims: int, engine: ctypes.c_void_p | None = None, data: int | None = None
) -> ctypes.c_void_p:
    """Memory of an engine, the session's unless told; it has data of its own unless told."""
    return bench.run.make(
        "dnnl_memory_destroy",
        "dnnl_memory_create",
        bench.md(*dims),
        engine or bench.session.engine,
        ctypes.c_void_p(facts.MEMORY_ALLOCATE if data is None else data),
    )


def other_engine(bench: Bench) -> ctypes.c_void_p:
    """Another engine of the same kind: its objects do not go with those of the session's."""
    return bench.run.make(
        "dnnl_engine_destroy", "dnnl_engine_create", kind(bench), ctypes.c_size_t(0)
    )


def kind(bench: Bench) -> ctypes.c_int:
    """The kind of the session's engine."""
    found = ctypes.c_int()
    bench("engine_get_kind", bench.session.engine, ctypes.byref(found))
    return found


def executed(
    bench: Bench,
    primitive: ctypes.c_void_p,
    *pairs: tuple[int, int | None],
    stream: ctypes.c_void_p | None = None,
) -> int:
    """What executing answers; it has ended then."""
    arguments = (ExecArg * len(pairs))(*pairs)
    stream = stream or bench.session.stream
    answer = bench("primitive_execute", primitive, stream, ctypes.c_int(len(pairs)), arguments)
    bench("stream_wait", stream)
    return answer


@case
def execute(bench: Bench) -> int:
    source, target = memory(bench, 2, 3), memory(bench, 2, 3)
    return executed(bench, relu(bench), (SRC, source.value), (DST, target.value))


@case
def execute_on_a_stream_of_another_engine(bench: Bench) -> int:
    engine = other_engine(bench)
    stream = bench.run.make("dnnl_stream_destroy", "dnnl_stream_create", engine, ctypes.c_uint(1))
    source, target = memory(bench, 2, 3), memory(bench, 2, 3)
    pairs = (SRC, source.value), (DST, target.value)
    return executed(bench, relu(bench), *pairs, stream=stream)


@case
def execute_with_a_null_memory(bench: Bench) -> int:
    return executed(bench, relu(bench), (SRC, None), (DST, memory(bench, 2, 3).value))


@case
def execute_without_a_target(bench: Bench) -> int:
    return executed(bench, relu(bench), (SRC, memory(bench, 2, 3).value))


@case
def execute_with_an_argument_too_many(bench: Bench) -> int:
    source, target = memory(bench, 2, 3), memory(bench, 2, 3)
    bias = facts.ARGUMENTS["bias"], memory(bench, 2).value
    return executed(bench, relu(bench), (SRC, source.value), (DST, target.value), bias)


@case
def memory_without_data_is_mapped(bench: Bench) -> int:
    address = ctypes.c_void_p()
    return bench("memory_map_data", memory(bench, 2, 3, data=0), ctypes.byref(address))


@case
def memory_without_elements_is_mapped(bench: Bench) -> int:
    address = ctypes.c_void_p()
    return bench("memory_map_data", memory(bench, 0, 3), ctypes.byref(address))


@case
def memory_data_handle_to_nowhere(bench: Bench) -> int:
    return bench("memory_get_data_handle", memory(bench, 2, 3), None)


@case
def memory_engine_to_nowhere(bench: Bench) -> int:
    return bench("memory_get_engine", memory(bench, 2, 3), None)


@case
def memory_desc_to_nowhere(bench: Bench) -> int:
    return bench("memory_get_memory_desc", memory(bench, 2, 3), None)


@case
def execute_with_memory_of_another_engine(bench: Bench) -> int:
    source, target = memory(bench, 2, 3, engine=other_engine(bench)), memory(bench, 2, 3)
    return executed(bench, relu(bench), (SRC, source.value), (DST, target.value))


@case
def execute_with_an_argument_twice(bench: Bench) -> int:
    source, target = memory(bench, 2, 3), memory(bench, 2, 3)
    twice = (SRC, source.value), (SRC, source.value)
    return executed(bench, relu(bench), *twice, (DST, target.value))
