"""The C functions under their C names: objects through handles, questions, refusals."""

from __future__ import annotations

import ctypes
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from groundstate import dnnl
from groundstate.dnn.abi.api import count_handles

Handle = ctypes.c_void_p


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    before = count_handles()
    yield
    assert count_handles() == before


def made(function: str, *arguments: object) -> ctypes.c_void_p:
    """What a function makes; it must succeed."""
    handle = Handle()
    status = getattr(dnnl, function)(ctypes.byref(handle), *arguments)
    assert status == dnnl.dnnl_success, dnnl.groundstate_dnnl_last_error()
    return handle


@pytest.fixture
def engine() -> Iterator[ctypes.c_void_p]:
    handle = made("dnnl_engine_create", dnnl.dnnl_gpu, 0)
    yield handle
    assert dnnl.dnnl_engine_destroy(handle) == dnnl.dnnl_success


@pytest.fixture
def shape() -> Iterator[ctypes.c_void_p]:
    dims = dnnl.dnnl_dims_t(2, 3, 4)
    handle = made("dnnl_memory_desc_create_with_tag", 3, dims, dnnl.dnnl_f32, dnnl.dnnl_abc)
    yield handle
    assert dnnl.dnnl_memory_desc_destroy(handle) == dnnl.dnnl_success


def test_every_function_is_exported() -> None:
    for name in dir(dnnl):
        if name.startswith("dnnl_") and callable(getattr(dnnl, name)):
            assert getattr(dnnl, name) is not None


def test_memory_is_mapped_and_executed(engine: Handle, shape: Handle) -> None:
    stream = made("dnnl_stream_create", engine, dnnl.dnnl_stream_in_order)
    description = made(
        "dnnl_eltwise_forward_primitive_desc_create",
        *(engine, dnnl.dnnl_forward_inference, dnnl.dnnl_eltwise_square, shape, shape, 0, 0, None),
    )
    primitive = made("dnnl_primitive_create", description)
    memories = [
        made("dnnl_memory_create", shape, engine, dnnl.DNNL_MEMORY_ALLOCATE) for _ in range(2)
    ]
    values = np.arange(24, dtype=np.float32)
    mapped = Handle()
    assert dnnl.dnnl_memory_map_data(memories[0], ctypes.byref(mapped)) == 0
    ctypes.memmove(mapped.value or 0, values.ctypes.data, values.nbytes)
    assert dnnl.dnnl_memory_unmap_data(memories[0], mapped) == 0
    pairs = ((dnnl.DNNL_ARG_SRC, memories[0].value), (dnnl.DNNL_ARG_DST, memories[1].value))
    arguments = (dnnl.dnnl_exec_arg_t * 2)(*pairs)
    assert dnnl.dnnl_primitive_execute(primitive, stream, 2, arguments) == 0
    assert dnnl.dnnl_stream_wait(stream) == 0
    assert dnnl.dnnl_memory_map_data(memories[1], ctypes.byref(mapped)) == 0
    result = np.frombuffer(ctypes.string_at(mapped.value or 0, values.nbytes), np.float32)
    np.testing.assert_array_equal(result, values**2)
    assert dnnl.dnnl_memory_unmap_data(memories[1], mapped) == 0
    missing = dnnl.dnnl_primitive_execute(primitive, stream, 1, arguments)
    assert missing == dnnl.dnnl_invalid_arguments
    assert b"argument 17 is missing" in dnnl.groundstate_dnnl_last_error()
    for memory in memories:
        assert dnnl.dnnl_memory_destroy(memory) == 0
    assert dnnl.dnnl_primitive_destroy(primitive) == 0
    assert dnnl.dnnl_primitive_desc_destroy(description) == 0
    assert dnnl.dnnl_stream_destroy(stream) == 0


def test_descriptors_are_asked(shape: Handle) -> None:
    ndims, dims = ctypes.c_int32(), ctypes.POINTER(ctypes.c_int64)()
    assert dnnl.dnnl_memory_desc_query(shape, dnnl.dnnl_query_ndims_s32, ctypes.byref(ndims)) == 0
    assert ndims.value == 3
    assert dnnl.dnnl_memory_desc_query(shape, dnnl.dnnl_query_strides, ctypes.byref(dims)) == 0
    assert dims[:3] == [12, 4, 1]
    assert dnnl.dnnl_memory_desc_get_size(shape) == 96
    blob_size = ctypes.c_size_t()
    assert dnnl.dnnl_memory_desc_get_blob(None, ctypes.byref(blob_size), shape) == 0
    blob = ctypes.create_string_buffer(blob_size.value)
    assert dnnl.dnnl_memory_desc_get_blob(blob, ctypes.byref(blob_size), shape) == 0
    again = made("dnnl_memory_desc_create_with_blob", blob)
    assert dnnl.dnnl_memory_desc_equal(shape, again) == 1
    assert dnnl.dnnl_memory_desc_destroy(again) == 0


def test_attributes_are_what_was_set() -> None:
    attributes, steps = made("dnnl_primitive_attr_create"), made("dnnl_post_ops_create")
    assert dnnl.dnnl_post_ops_append_sum(steps, 0.5, 0, dnnl.dnnl_data_type_undef) == 0
    assert dnnl.dnnl_post_ops_append_eltwise(steps, dnnl.dnnl_eltwise_clip, 2, 1) == 2
    assert dnnl.dnnl_primitive_attr_set_post_ops(attributes, steps) == 0
    lent = Handle()
    assert dnnl.dnnl_primitive_attr_get_post_ops(attributes, ctypes.byref(lent)) == 0
    assert dnnl.dnnl_post_ops_len(lent) == 1
    scale = ctypes.c_float()
    assert dnnl.dnnl_post_ops_get_params_sum(lent, 0, ctypes.byref(scale), None, None) == 0
    assert scale.value == 0.5
    assert dnnl.dnnl_primitive_attr_set_scales_mask(attributes, dnnl.DNNL_ARG_SRC, -1) == 2
    assert dnnl.dnnl_primitive_attr_set_fpmath_mode(attributes, 77) == 2
    assert dnnl.dnnl_post_ops_destroy(steps) == 0
    assert dnnl.dnnl_primitive_attr_destroy(attributes) == 0


def test_dead_and_foreign_handles_are_refused(engine: Handle, shape: Handle) -> None:
    stream = made("dnnl_stream_create", engine, dnnl.dnnl_stream_in_order)
    assert dnnl.dnnl_stream_destroy(stream) == 0
    assert dnnl.dnnl_stream_wait(stream) == dnnl.dnnl_invalid_arguments
    assert dnnl.dnnl_stream_destroy(stream) == dnnl.dnnl_invalid_arguments
    assert dnnl.dnnl_stream_destroy(None) == dnnl.dnnl_success
    handle = Handle()
    wrong = dnnl.dnnl_stream_create(ctypes.byref(handle), shape, 1)
    assert wrong == dnnl.dnnl_invalid_arguments
    assert dnnl.dnnl_memory_create(ctypes.byref(handle), shape, Handle(0x1234), None) == 2


def test_engines_that_are_not_there() -> None:
    handle = Handle()
    count = dnnl.dnnl_engine_get_count(dnnl.dnnl_gpu)
    assert count >= 1
    assert dnnl.dnnl_engine_create(ctypes.byref(handle), dnnl.dnnl_gpu, count) == 2
    assert dnnl.dnnl_engine_create(ctypes.byref(handle), dnnl.dnnl_cpu, 0) == 2
    assert dnnl.dnnl_engine_get_count(dnnl.dnnl_cpu) == 0


def test_the_header_is_installed_with_the_package() -> None:
    folder = Path(dnnl.include_folder())
    assert (folder / "groundstate" / "dnnl.h").exists()
    root = Path(__file__).parents[2]
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    collected = settings["tool"]["setuptools"]["package-data"]["groundstate"]
    assert f"{folder.name}/groundstate/*.h" in collected


def test_names() -> None:
    assert dnnl.dnnl_status2str(dnnl.dnnl_unimplemented) == b"unimplemented"
    assert dnnl.dnnl_fmt_tag2str(dnnl.dnnl_nhwc) == b"acdb"
    assert dnnl.dnnl_dt2str(dnnl.dnnl_bf16) == b"bf16"


def test_primitives_from_blobs(engine: Handle, shape: Handle) -> None:
    def described(algorithm: int) -> ctypes.c_void_p:
        forward = (engine, dnnl.dnnl_forward_inference, algorithm, shape, shape, 0, 0, None)
        return made("dnnl_eltwise_forward_primitive_desc_create", *forward)

    square, root = described(dnnl.dnnl_eltwise_square), described(dnnl.dnnl_eltwise_sqrt)
    primitive = made("dnnl_primitive_create", square)
    size = ctypes.c_size_t()
    assert dnnl.dnnl_primitive_get_cache_blob(primitive, ctypes.byref(size), None) == 0
    blob = ctypes.create_string_buffer(size.value)
    assert dnnl.dnnl_primitive_get_cache_blob(primitive, ctypes.byref(size), blob) == 0
    again = made("dnnl_primitive_create_from_cache_blob", square, size, blob)
    other = Handle()
    create = dnnl.dnnl_primitive_create_from_cache_blob
    assert create(ctypes.byref(other), root, size, blob) == dnnl.dnnl_invalid_arguments
    assert b"another primitive" in dnnl.groundstate_dnnl_last_error()
    assert create(ctypes.byref(other), square, size.value - 1, blob) == 2
    for each in (primitive, again):
        assert dnnl.dnnl_primitive_destroy(each) == 0
    for each in (square, root):
        assert dnnl.dnnl_primitive_desc_destroy(each) == 0


def test_primitives_are_asked(engine: Handle, shape: Handle) -> None:
    description = made(
        "dnnl_eltwise_forward_primitive_desc_create",
        *(engine, dnnl.dnnl_forward_training, dnnl.dnnl_eltwise_elu, shape, shape, 0.5, 0, None),
    )
    query = dnnl.dnnl_primitive_desc_query
    number, value, text = ctypes.c_int32(), ctypes.c_float(), ctypes.c_char_p()
    assert query(description, dnnl.dnnl_query_alg_kind, 0, ctypes.byref(number)) == 0
    assert number.value == dnnl.dnnl_eltwise_elu
    assert query(description, dnnl.dnnl_query_alpha_f32, 0, ctypes.byref(value)) == 0
    assert value.value == 0.5
    assert query(description, dnnl.dnnl_query_impl_info_str, 0, ctypes.byref(text)) == 0
    assert text.value == b"groundstate:opencl"
    assert query(description, dnnl.dnnl_query_epsilon_f32, 0, ctypes.byref(value)) == 3
    found = Handle()
    assert query(description, dnnl.dnnl_query_engine, 0, ctypes.byref(found)) == 0
    assert found.value == engine.value
    inputs = dnnl.dnnl_primitive_desc_query_s32(description, dnnl.dnnl_query_num_of_inputs_s32, 0)
    assert inputs == 1
    target = dnnl.dnnl_primitive_desc_query_md(description, dnnl.dnnl_query_dst_md, 0)
    assert dnnl.dnnl_memory_desc_equal(target, shape) == 1
    assert dnnl.dnnl_primitive_desc_next_impl(description) == dnnl.dnnl_last_impl_reached
    assert dnnl.dnnl_primitive_desc_destroy(description) == 0
