"""Modules and kernels as Python objects: building, launching, and arguments that are checked."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import groundstate as gs
from groundstate.core import module as core_module

SOURCE = """
kernel void saxpy(float a, global const float *x, global float *y) {
    size_t i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}

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
    assert set(module.kernel_names) == {"saxpy", "reverse", "tiled", "nothing"}
    assert module["saxpy"] is module["saxpy"]
    assert module.kernel("saxpy") is not module["saxpy"]
    assert "saxpy" in repr(module["saxpy"])
    assert not module.has_imports


def test_an_unknown_kernel_is_an_error(module: gs.Module) -> None:
    with pytest.raises(gs.errors.InvalidKernelName, match="saxpy"):
        module["daxpy"]
    with pytest.raises(AttributeError, match=r"write module\['saxpy'\] for the kernel"):
        module.saxpy  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'daxpy'$"):
        module.daxpy  # type: ignore[attr-defined]  # noqa: B018


def test_a_launch_on_a_list(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    x, y = ctx.alloc_shared(1000, "float32"), ctx.alloc_shared(1000, "float32")
    x.numpy()[:] = np.arange(1000)
    y.numpy()[:] = 1
    module["saxpy"](commands, 10, 100, 2.0, x, y)
    commands.synchronize()
    assert (y.numpy() == 2 * np.arange(1000) + 1).all()


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


# --- What they say of themselves ------------------------------------------------------------------


def test_arguments_have_names_and_types(module: gs.Module) -> None:
    arguments = module["saxpy"].arguments
    assert [each.name for each in arguments] == ["a", "x", "y"]
    assert [each.type for each in arguments] == ["float", "global const float*", "global float*"]
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
    with pytest.raises(gs.errors.ModuleBuildFailure, match=r"mine\.cl:1") as problem:
        gs.Module(ctx, opencl="kernel void f() { undeclared = 1; }", name="mine.cl")
    assert "undeclared" in problem.value.description


def test_a_module_that_is_no_module_is_refused(ctx: gs.Context) -> None:
    with pytest.raises(gs.errors.ModuleBuildFailure):
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


def test_opencl_prepares_only_our_own_drivers_compiler(
    ctx: gs.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    del ctx  # the driver is there
    assert core_module._preparation() is not None
    monkeypatch.delitem(sys.modules, "groundstate.driver.entry")
    assert core_module._preparation() is None


def test_arguments_of_another_type_are_refused(ctx: gs.Context) -> None:
    with pytest.raises(TypeError, match="opencl= takes the source as a str, not int"):
        gs.Module(ctx, opencl=5)  # type: ignore[arg-type]
    for check in (1, None, ["memory"]):
        with pytest.raises(TypeError, match="check= takes True, False or a list as a str"):
            gs.Module(ctx, opencl="", check=check)  # type: ignore[arg-type]
    with gs.Module(ctx, opencl="kernel void empty() {}") as module:
        for name in (0, None, b"empty"):
            with pytest.raises(TypeError, match="a kernel is had by its name"):
                module[name]  # type: ignore[index]
