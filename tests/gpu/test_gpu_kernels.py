"""Kernels on a GPU: arguments, local memory, geometry, atomics, functions of mathematics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import groundstate as gs

SOURCE = """
global uint table[4] = {3, 1, 4, 1};
kernel void add(global const float *a, global const float *b, global float *out) {
    size_t i = get_global_id(0); out[i] = a[i] + b[i];
}
kernel void saxpy(float a, global const float *x, global float *y) {
    size_t i = get_global_id(0); y[i] = a * x[i] + y[i];
}
kernel void reverse(global int *data, local int *copy) {
    size_t i = get_local_id(0), n = get_local_size(0);
    copy[i] = data[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[get_global_id(0)] = copy[n - 1 - i];
}
kernel void shape(global uint *out) {
    if (get_global_id(0) != get_global_offset(0) || get_global_id(1) || get_global_id(2)) return;
    for (int d = 0; d < 3; d++) {
        out[d] = get_num_groups(d); out[3 + d] = get_local_size(d); out[6 + d] = get_global_size(d);
    }
    out[9] = get_work_dim(); out[10] = get_global_offset(0);
}
kernel void histogram(global const uchar *data, global uint *bins) {
    atomic_inc(&bins[data[get_global_id(0)]]);
}
kernel void waves(global const float *x, global float *y) {
    size_t i = get_global_id(0); y[i] = sin(x[i]) + cos(x[i]) * exp(-x[i]);
}
kernel void values(global long *out, char c, ushort s, uint u, long l, float f, double d) {
    out[0] = c; out[1] = s; out[2] = u; out[3] = l; out[4] = (long)(f * 4); out[5] = (long)(d * 8);
}
kernel void look_up(global uint *out) { size_t i = get_global_id(0); out[i] = table[i % 4]; }
kernel void say(int number) { printf("number %d of %d\\n", number, (int)get_global_id(0)); }
kernel void spin(global uint *out, uint rounds) {
    uint x = get_global_id(0);
    for (uint i = 0; i < rounds; i++) x = x * 1664525u + 1013904223u;
    out[get_global_id(0)] = x;
}
"""


@pytest.fixture
def module(ctx: gs.Context) -> Iterator[gs.Module]:
    with gs.Module(ctx, opencl=SOURCE) as made:
        yield made


def test_add(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    a, b = np.random.default_rng(1).random((2, 1 << 20), np.float32)
    first, second, out = (ctx.alloc_device(a.shape, "float32") for _ in range(3))
    result = np.zeros_like(a)
    commands.copy(first, a)
    commands.copy(second, b)
    module["add"].launch(first, second, out, global_size=a.size, on=commands)
    commands.copy(result, out)
    commands.synchronize()
    assert np.array_equal(result, a + b)


@pytest.mark.parametrize("kind", ["alloc_host", "alloc_shared"])
def test_memory_of_host_and_both(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList, kind: str
) -> None:
    x, y = (getattr(ctx, kind)(10_000, "float32") for _ in range(2))
    x.numpy()[:], y.numpy()[:] = np.arange(10_000), 1
    module["saxpy"].launch(2.0, x, y, global_size=10_000, on=commands)
    commands.synchronize()
    assert np.array_equal(y.numpy(), 2 * np.arange(10_000, dtype=np.float32) + 1)


@pytest.mark.parametrize("size", [32, 100, 1024])
def test_local_memory(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList, size: int
) -> None:
    data = ctx.array(np.arange(7 * size, dtype=np.int32))
    module["reverse"](commands, 7, size, data, gs.Local(4 * size))
    commands.synchronize()
    expected = np.arange(7 * size).reshape(7, size)[:, ::-1].ravel()
    assert np.array_equal(data.numpy(), expected)


def test_range(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    out = ctx.alloc_shared(11, "uint32")
    module["shape"](commands, (4, 3, 2), (5, 6, 7), out, offset=(9, 0, 0))
    commands.synchronize()
    assert out.tolist() == [4, 3, 2, 5, 6, 7, 20, 18, 14, 3, 9]


def test_atomics(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    data = np.random.default_rng(2).integers(0, 256, 1 << 20, np.uint8)
    there, bins = ctx.array(data), ctx.alloc_shared(256, "uint32")
    commands.fill(bins, 0)
    module["histogram"].launch(there, bins, global_size=data.size, on=commands)
    commands.synchronize()
    assert np.array_equal(bins.numpy(), np.bincount(data, minlength=256))


def test_mathematics(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    x = np.linspace(-20, 20, 1 << 16, dtype=np.float32)
    there, y = ctx.array(x), ctx.alloc_shared(x.shape, "float32")
    module["waves"].launch(there, y, global_size=x.size, on=commands)
    commands.synchronize()
    wide = x.astype(np.float64)
    expected = np.sin(wide) + np.cos(wide) * np.exp(-wide)
    assert np.allclose(y.numpy(), expected, rtol=4e-6, atol=1e-6)


def test_values_of_all_sizes(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    out = ctx.alloc_shared(6, "int64")
    module["values"](commands, 1, 1, out, -3, 65535, 4294967295, -(1 << 40), 2.25, -1.125)
    commands.synchronize()
    assert out.tolist() == [-3, 65535, 4294967295, -(1 << 40), 9, -9]


def test_variables(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    out, table = ctx.alloc_shared(8, "uint32"), module.variable("table", "uint32")
    module["look_up"](commands, 1, 8, out)
    commands.synchronize()
    assert out.tolist() == [3, 1, 4, 1] * 2
    commands.copy(table, np.array([9, 8, 7, 6], np.uint32))
    module["look_up"](commands, 1, 8, out)
    commands.synchronize()
    assert out.tolist() == [9, 8, 7, 6] * 2


def test_printf(
    module: gs.Module, commands: gs.CommandList, capfd: pytest.CaptureFixture[str]
) -> None:
    module["say"](commands, 2, 2, 42)
    commands.synchronize()
    lines = capfd.readouterr().out.splitlines()
    assert sorted(lines) == [f"number 42 of {item}" for item in range(4)]


def test_properties_of_kernels(module: gs.Module) -> None:
    kernel = module["add"]
    assert kernel.properties.max_sub_group_size == 32
    assert kernel.max_cooperative_groups >= 132
    assert kernel.suggest_group_size(1 << 20) == (256, 1, 1)


def test_build_log_tells_what_is_wrong(ctx: gs.Context) -> None:
    with pytest.raises(gs.LevelZeroError):
        gs.Module(ctx, spirv=b"\3\2#\7" + bytes(100))
