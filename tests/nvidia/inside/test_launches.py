"""Launches: parameters and geometry, as the code of a GPU gets them."""

from __future__ import annotations

import numpy as np
import pytest

import groundstate as gs
from tests.nvidia.inside.conftest import SOURCE

PAGE_BYTES = 4 << 20


def test_vector_add(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    a, b = (np.arange(4096, dtype=np.float32) * scale for scale in (1, 3))
    first, second, out = (ctx.alloc_device(4096, "float32") for _ in range(3))
    result = np.zeros_like(a)
    commands.copy(first, a)
    commands.copy(second, b)
    module["add"].launch(first, second, out, global_size=4096, group_size=128, on=commands)
    commands.copy(result, out)
    commands.synchronize()
    assert np.array_equal(result, a + b)


def test_range_reaches_the_kernel(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    out = ctx.alloc_host(16, "uint64")
    size, group, offset = (20, 6, 3), (5, 3, 1), (7, 8, 9)
    module["shape"].launch(out, global_size=size, group_size=group, offset=offset, on=commands)
    commands.synchronize()
    assert out.tolist() == [*offset, *size, *group, 4, 2, 3, *group, 3]


def test_values_and_local_memory_are_placed(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    out = ctx.alloc_host(6, "int64")
    kernel = module["values"]
    kernel(commands, 1, 32, out, -3, -70000, gs.Local(100), 2.5, gs.Local(1000))
    commands.synchronize()
    first, number, at_first, double, at_second, shared = out.tolist()
    assert (first, number) == (-3, -70000)
    assert np.int64(double).view(np.float64) == 2.5
    assert (at_first, at_second, shared) == (0, 128, 128 + 1024)


def test_group_size_is_limited_by_code(module: gs.Module) -> None:
    with pytest.raises(gs.LevelZeroError, match="at most 256"):
        module["values"].group_size = 512
    assert module["values"].properties.local_memory_bytes == 100


def test_too_much_local_memory_is_refused(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    out = ctx.alloc_host(6, "int64")
    with pytest.raises(gs.OutOfDeviceMemory, match="local memory"):
        module["values"](commands, 1, 32, out, 0, 0, gs.Local(200 << 10), 0.0, gs.Local(100 << 10))


def test_too_many_groups_are_refused(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    out = ctx.alloc_host(16, "uint64")
    with pytest.raises(gs.LevelZeroError, match="maxGroupCount"):
        module["shape"](commands, (1, 65536), 1, out)


def test_counts_are_read_when_it_runs(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    out, counts = ctx.alloc_host(16, "uint64"), ctx.alloc_device(3, "uint32")
    commands.copy(counts, np.array([5, 2, 1], np.uint32))
    module["shape"](commands, counts, 8, out)
    commands.synchronize()
    assert out.tolist()[9:12] == [5, 2, 1]


def test_cooperative_groups_are_counted(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    kernel, out = module["shape"], ctx.alloc_host(16, "uint64")
    kernel.group_size = 256
    assert kernel.max_cooperative_groups == 132 * 8
    kernel(commands, 132 * 8, 256, out, cooperative=True)
    commands.synchronize()
    assert out.tolist()[9] == 132 * 8
    with pytest.raises(gs.LevelZeroError, match="cannot run at the same time"):
        kernel(commands, 132 * 8 + 1, 256, out, cooperative=True)


def test_memory_that_the_gpu_does_not_reach_is_refused(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    with pytest.raises(TypeError, match=r"takes memory of the context, not .* copy it"):
        module["increase"](commands, 1, 1, np.zeros(4, np.uint32))
    count = ctx.alloc_host(1, "uint32")
    count.numpy()[:] = 0
    module["increase"](commands, 1, 1, count.numpy())
    commands.synchronize()
    assert count.tolist() == [1]


def test_printf(
    module: gs.Module, commands: gs.CommandList, capfd: pytest.CaptureFixture[str]
) -> None:
    module["say"](commands, 1, 1, 42)
    commands.synchronize()
    assert capfd.readouterr().out == "number 42\n"


def test_printf_of_strings(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList, capfd: pytest.CaptureFixture[str]
) -> None:
    """They are in the memory of the GPU, which may end behind one."""
    text = ctx.alloc_device(PAGE_BYTES)
    commands.copy(text[:6], b"hello\0")
    commands.copy(text[-200:], b"e" * 200)
    variable = module.variable("counter", "uint8")
    commands.copy(variable, b"up to the end it")
    for place in (text[:6], text[-200:], variable, 4096):
        module["tell"](commands, 1, 1, place)
        commands.synchronize()
    said = ("hello", 200 * "e", "up to the end it", "(nowhere)")
    assert capfd.readouterr().out.splitlines() == [f"text {each}" for each in said]


def test_variables_are_the_gpus(ctx: gs.Context, module: gs.Module, gpu: gs.Device) -> None:
    with gs.CommandList.immediate(ctx, in_order=True) as commands:
        counter, back = module.variable("counter", "uint32"), np.zeros(4, np.uint32)
        commands.copy(counter, np.arange(4, dtype=np.uint32))
        commands.copy(back, counter)
        commands.synchronize()
    assert back.tolist() == [0, 1, 2, 3]


def test_build_log_has_cudas_words(ctx: gs.Context) -> None:
    with pytest.raises(gs.ModuleBuildFailure, match=r"no \.version"):
        gs.Module(ctx, opencl="kernel void unloadable(global int *a) { *a = 1; }")


def test_build_log_has_the_compilers_words(ctx: gs.Context) -> None:
    with pytest.raises(gs.ModuleBuildFailure, match="refused by the double"):
        gs.Module(ctx, opencl="kernel void refused(global int *a) { *a = 1; }")


def test_launch_on_list_of_cpu_is_refused(
    mixed: gs.Context, cpu: gs.Device, gpu: gs.Device
) -> None:
    with (
        gs.Module(mixed, opencl=SOURCE, device=gpu) as module,
        gs.CommandList.immediate(mixed, cpu) as commands,
        pytest.raises(gs.LevelZeroError, match="another device"),
    ):
        module["increase"](commands, 1, 1, mixed.alloc_shared(1, "uint32", device=gpu))
