"""Modules and kernels as Python objects: building, launching, and arguments that are checked."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator

import numpy as np
import pytest

import groundstate as gs

SOURCE = """
kernel void saxpy(float a, global const float *x, global float *y) {
    size_t i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}

kernel void set(global int *out, char c, uint u, long l, double d) {
    out[0] = c; out[1] = u; out[2] = (int)(l >> 32); out[3] = (int)d;
}

kernel void vectors(global float *out, float4 v, int3 w) {
    out[0] = v.x + v.y + v.z + v.w;
    out[1] = w.x + 10 * w.y + 100 * w.z;
}

typedef struct { int a; float b[2]; } pair;
kernel void structure(global float *out, pair p) { out[0] = p.a + p.b[0] * p.b[1]; }

kernel void reverse(global int *data, local int *copy) {
    size_t i = get_local_id(0), n = get_local_size(0);
    copy[i] = data[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[get_global_id(0)] = copy[n - 1 - i];
}

kernel __attribute__((reqd_work_group_size(8, 2, 1))) void tiled(global int *out) {
    out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = get_global_id(0);
}

kernel void nothing(void) {}
"""


@pytest.fixture
def module(ctx: gs.Context) -> Iterator[gs.Module]:
    with gs.Module(ctx, opencl=SOURCE) as made:
        yield made


def test_a_module_has_kernels_by_name(module: gs.Module) -> None:
    assert set(module.kernel_names) == {
        "saxpy", "set", "vectors", "structure", "reverse", "tiled", "nothing",
    }  # fmt: skip
    assert module["saxpy"] is module["saxpy"]
    assert module.kernel("saxpy") is not module["saxpy"]
    assert "saxpy" in repr(module["saxpy"])
    assert not module.has_imports


def test_a_launch_on_a_list(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    x, y = ctx.alloc_shared(1000, "float32"), ctx.alloc_shared(1000, "float32")
    x.numpy()[:] = np.arange(1000)
    y.numpy()[:] = 1
    module["saxpy"](commands, 10, 100, 2.0, x, y)
    commands.synchronize()
    assert (y.numpy() == 2 * np.arange(1000) + 1).all()


def test_a_launch_on_a_queue(ctx: gs.Context, module: gs.Module) -> None:
    x, y = ctx.alloc_shared(64, "float32"), ctx.alloc_shared(64, "float32")
    x.numpy()[:] = 3
    y.numpy()[:] = 0
    with gs.CommandQueue(ctx) as queue:
        for _ in range(5):
            module["saxpy"](queue, 4, 16, np.float32(2), x, y)
    assert (y.numpy() == 30).all()


def test_numpy_arrays_are_memory_too(module: gs.Module, commands: gs.CommandList) -> None:
    x, y = np.ones(32, "float32"), np.ones(32, "float32")
    module["saxpy"](commands, 2, 16, 4, x, y)
    commands.synchronize()
    assert (y == 5).all()


def test_a_recorded_launch_keeps_what_it_uses(ctx: gs.Context, module: gs.Module) -> None:
    y = ctx.alloc_shared(16, "float32")
    y.numpy()[:] = 0
    recorded = gs.CommandList(ctx)

    def record() -> None:
        x = ctx.alloc_shared(16, "float32")
        x.numpy()[:] = 7
        kernel = module.kernel("saxpy")
        kernel(recorded, 1, 16, 1.0, x, y)
        kernel.close()

    record()
    gc.collect()
    with gs.CommandQueue(ctx) as queue:
        queue.execute(recorded)
    assert (y.numpy() == 7).all()


def test_scalars_of_all_kinds_arrive(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    out = ctx.alloc_shared(4, "int32")
    for values in (
        (-3, 0xFFFFFFFF, 5 << 32, 2.5),
        (np.int8(-3), np.uint32(0xFFFFFFFF), np.int64(5 << 32), np.float64(2.5)),
        (ctypes.c_int8(-3), ctypes.c_uint32(0xFFFFFFFF), ctypes.c_int64(5 << 32), 2.5),
    ):
        module["set"](commands, 1, 1, out, *values)
        commands.synchronize()
        assert out.tolist() == [-3, -1, 5, 2]


def test_vectors_and_structures_arrive(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    out = ctx.alloc_shared(2, "float32")
    module["vectors"](commands, 1, 1, out, (1, 2, 3, 4.5), np.array([1, 2, 3], "int32"))
    commands.synchronize()
    assert out.tolist() == [10.5, 321.0]
    pair = np.array([(2, (3, 4))], "i4, (2,)f4")
    module["structure"](commands, 1, 1, out, pair)
    commands.synchronize()
    assert out.tolist()[0] == 14


def test_local_memory_is_given_by_size(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    data = ctx.alloc_shared(64, "int32")
    data.numpy()[:] = np.arange(64)
    module["reverse"](commands, 4, 16, data, gs.Local(16, "int32"))
    commands.synchronize()
    assert (data.numpy() == np.arange(64).reshape(4, 16)[:, ::-1].ravel()).all()


def test_the_global_offset_moves_the_work_items(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    x, y = ctx.alloc_shared(32, "float32"), ctx.alloc_shared(32, "float32")
    x.numpy()[:] = 1
    y.numpy()[:] = 0
    module["saxpy"](commands, 1, 8, 1.0, x, y, offset=16)
    commands.synchronize()
    assert y.tolist() == [0.0] * 16 + [1.0] * 8 + [0.0] * 8


# --- Checks ---------------------------------------------------------------------------------------


def test_the_number_of_arguments_is_checked(module: gs.Module, commands: gs.CommandList) -> None:
    with pytest.raises(TypeError, match=r"takes 3 arguments \(float a, .*float\* x.*\), not 1"):
        module["saxpy"](commands, 1, 1, 2.0)


@pytest.mark.parametrize(
    ("index", "value", "message"),
    [
        (0, "two", "a number, not 'two'"),
        (0, np.float64(2), "a number of type float, not float64"),
        (0, None, "a number, not None"),
        (1, 2.5, "memory, not 2.5"),
        (1, np.zeros(4, "float64"), "memory of float, not ndarray of float64"),
        (1, np.zeros(4, "int32"), "memory of float, not ndarray of int32"),
        (1, gs.Local(16), "no local memory"),
        (2, "text", "memory, not 'text'"),
    ],
)
def test_a_wrong_argument_is_named_with_its_type(
    ctx: gs.Context,
    module: gs.Module,
    commands: gs.CommandList,
    index: int,
    value: object,
    message: str,
) -> None:
    memory = ctx.alloc_shared(4, "float32")
    arguments: list[object] = [1.0, memory, memory]
    arguments[index] = value
    with pytest.raises(TypeError, match=message) as problem:
        module["saxpy"](commands, 1, 1, *arguments)
    assert f"argument {index} (" in str(problem.value)
    assert "kernel 'saxpy'" in str(problem.value)


def test_integers_must_fit(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    out = ctx.alloc_shared(4, "int32")
    with pytest.raises(OverflowError, match="8 bits, not 300"):
        module["set"](commands, 1, 1, out, 300, 0, 0, 0.0)
    with pytest.raises(TypeError, match=r"an integer, not 1\.5"):
        module["set"](commands, 1, 1, out, 1.5, 0, 0, 0.0)


def test_local_memory_is_not_given_as_anything_else(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    data = ctx.alloc_shared(16, "int32")
    with pytest.raises(TypeError, match=r"takes groundstate\.Local"):
        module["reverse"](commands, 1, 16, data, 64)


def test_an_unknown_kernel_is_an_error(module: gs.Module) -> None:
    with pytest.raises(gs.InvalidKernelName, match="saxpy"):
        module["daxpy"]


def test_a_group_that_is_too_large_is_an_error(module: gs.Module, commands: gs.CommandList) -> None:
    with pytest.raises(gs.InvalidGroupSizeDimension):
        module["nothing"](commands, 1, (64, 64))
    with pytest.raises(ValueError, match="one to three numbers"):
        module["nothing"](commands, (1, 1, 1, 1), 1)


def test_a_closed_kernel_cannot_be_launched(module: gs.Module, commands: gs.CommandList) -> None:
    kernel = module.kernel("nothing")
    kernel.close()
    with pytest.raises(gs.ClosedError):
        kernel(commands, 1, 1)


# --- What they say of themselves ------------------------------------------------------------------


def test_arguments_have_names_and_types(module: gs.Module) -> None:
    arguments = module["saxpy"].arguments
    assert [each.name for each in arguments] == ["a", "x", "y"]
    assert [each.type for each in arguments] == ["float", "global float*", "global float*"]
    assert [each.kind for each in module["reverse"].arguments] == ["pointer", "local"]


def test_properties_and_group_sizes(module: gs.Module) -> None:
    kernel = module["tiled"]
    properties = kernel.properties
    assert properties.num_arguments == 1
    required = properties.required_group_size_x, properties.required_group_size_y
    assert required == (8, 2)
    assert len(properties.uuid) == 32
    assert kernel.suggest_group_size((64, 64)) == (8, 2, 1)
    assert "reqd_work_group_size(8,2,1)" in kernel.source_attributes
    assert kernel.max_cooperative_groups >= 1
    assert module["saxpy"].group_size is None
    module["saxpy"].group_size = 32
    assert module["saxpy"].group_size == (32, 1, 1)


# --- Building -------------------------------------------------------------------------------------


def test_a_mistake_in_the_source_is_shown(ctx: gs.Context) -> None:
    with pytest.raises(gs.ModuleBuildFailure, match=r"mine\.cl:1") as problem:
        gs.Module(ctx, opencl="kernel void f() { undeclared = 1; }", name="mine.cl")
    assert "undeclared" in problem.value.description


def test_a_module_that_is_no_module_is_refused(ctx: gs.Context) -> None:
    with pytest.raises(gs.ModuleBuildFailure):
        gs.Module(ctx, spirv=b"hello, world")
    with pytest.raises(TypeError, match="one of"):
        gs.Module(ctx)


def test_options_are_given_as_a_string_or_a_list(ctx: gs.Context) -> None:
    source = "kernel void f(global int *out) { out[0] = N; }"
    for options in ("-DN=5 -ze-opt-level=1", ["-DN=5", "-ze-opt-level=1"]):
        out = ctx.alloc_shared(1, "int32")
        with gs.CommandList.immediate(ctx) as commands:
            gs.Module(ctx, opencl=source, options=options)["f"](commands, 1, 1, out)
        assert out.tolist() == [5]
    module = gs.Module(ctx, opencl=source, options="-DN=1 -ze-intel-something")
    assert "-ze-intel-something" in module.log


def test_the_same_spirv_makes_another_module(ctx: gs.Context, module: gs.Module) -> None:
    assert module.spirv is not None
    again = gs.Module(ctx, spirv=bytearray(module.spirv))
    assert again.kernel_names == module.kernel_names


def test_a_float_constant_must_say_how_wide_it_is(ctx: gs.Context, module: gs.Module) -> None:
    with pytest.raises(TypeError, match=r"numpy\.float32"):
        gs.Module(ctx, spirv=module.spirv, constants={1: 2.5})
