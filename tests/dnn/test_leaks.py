"""Nothing is left: neither handles of the library nor objects of the driver, if something fails."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from groundstate import dnn, dnnl
from groundstate.dnn import Algorithm, Arg, Attributes, Descriptor, DnnError
from groundstate.dnn.abi.api import count_handles
from tests.conftest import what_there_is


def _made(function: str, *arguments: object) -> ctypes.c_void_p:
    handle = ctypes.c_void_p()
    status = getattr(dnnl, function)(ctypes.byref(handle), *arguments)
    assert status == dnnl.dnnl_success, dnnl.groundstate_dnnl_last_error()
    return handle


def _everything() -> None:
    """Makes one of each object through the C functions, uses it and destroys it."""
    engine = _made("dnnl_engine_create", dnnl.dnnl_gpu, 0)
    flags = dnnl.dnnl_stream_in_order | dnnl.dnnl_stream_profiling
    stream = _made("dnnl_stream_create", engine, flags)
    dims = dnnl.dnnl_dims_t(256, 300)
    one = dnnl.dnnl_dims_t(1, 1)
    source = _made("dnnl_memory_desc_create_with_tag", 2, dims, dnnl.dnnl_f32, dnnl.dnnl_ab)
    target = _made("dnnl_memory_desc_create_with_tag", 2, one, dnnl.dnnl_f32, dnnl.dnnl_ab)
    attributes = _made("dnnl_primitive_attr_create")
    described = _made(
        "dnnl_reduction_primitive_desc_create",
        *(engine, dnnl.dnnl_reduction_sum, source, target, 0.0, 0.0, attributes),
    )
    assert dnnl.dnnl_primitive_desc_query_md(described, dnnl.dnnl_query_dst_md, 0)
    primitive = _made("dnnl_primitive_create", described)
    memories = [
        _made("dnnl_memory_create", shape, engine, dnnl.DNNL_MEMORY_ALLOCATE)
        for shape in (source, target)
    ]
    pairs = ((Arg.SRC, memories[0].value), (Arg.DST, memories[1].value))
    arguments = (dnnl.dnnl_exec_arg_t * 2)(*pairs)
    assert dnnl.dnnl_primitive_execute(primitive, stream, 2, arguments) == 0
    assert dnnl.dnnl_stream_wait(stream) == 0
    for memory in memories:
        assert dnnl.dnnl_memory_destroy(memory) == 0
    for function, handle in (
        ("primitive", primitive),
        ("primitive_desc", described),
        ("primitive_attr", attributes),
        ("memory_desc", source),
        ("memory_desc", target),
        ("engine", engine),  # before its stream, which holds it
        ("stream", stream),
    ):
        assert getattr(dnnl, f"dnnl_{function}_destroy")(handle) == 0


def test_a_life_leaves_nothing() -> None:
    _everything()
    before, handles = what_there_is(), count_handles()
    _everything()
    assert what_there_is() == before
    assert count_handles() == handles


def test_failures_leave_nothing() -> None:
    engine = dnn.Engine.create()
    shape = Descriptor.plain((4, 4))
    before, handles = what_there_is(), count_handles()
    with pytest.raises(DnnError):
        dnn.create("binary", engine, 7, shape, shape, shape)
    with pytest.raises(DnnError):
        dnn.Memory(engine, Descriptor.plain((1 << 40, 1 << 16)))
    with pytest.raises(DnnError):
        dnn.Memory(engine, Descriptor.tagged((4, 4), "f32", "any"))
    attributes = Attributes()
    attributes.set_scales(Arg.WEIGHTS, 0)
    with pytest.raises(DnnError, match="scales of argument"):
        dnn.create("sum", engine, None, 1, (1.0,), (shape,), attributes)
    made = dnn.create("binary", engine, Algorithm.binary_add, shape, shape, shape)
    with dnn.Stream(engine) as stream, pytest.raises(DnnError, match="is missing"):
        dnn.Primitive(made).execute(stream, {})
    del made, stream
    engine.programs.close()
    assert what_there_is() == before
    assert count_handles() == handles


CYCLE = """
import gc
import groundstate.dnn as dnn

for _ in range(20):
    engine = dnn.Engine.create()
    stream = dnn.Stream(engine)
    memory = dnn.Memory(engine, dnn.Descriptor.plain((64, 4)))
    cycle = [engine, stream, memory]
    cycle.append(cycle)
    del engine, stream, memory, cycle
    gc.collect()
print("ended")
"""


def test_collected_cycle_ends_engine_last() -> None:
    """The collector ends the engine first, since it was made first; freed memory is overwritten."""
    done = subprocess.run(
        [sys.executable, "-c", CYCLE],
        env={**os.environ, "MALLOC_PERTURB_": "165"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr
