"""Launches from Python: sizes, targets, order, threads."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import groundstate as gs
from groundstate.core.kernel import Extent

SOURCE = """
kernel void saxpy(float a, global const float *x, global float *y) {
    size_t i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}

kernel void set(global int *out, char c, uint u, long l, double d) {
    out[0] = c; out[1] = u; out[2] = (int)(l >> 32); out[3] = (int)d;
}

kernel void reverse(global int *data, local int *copy) {
    size_t i = get_local_id(0), n = get_local_size(0);
    copy[i] = data[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[get_global_id(0)] = copy[n - 1 - i];
}

kernel void shape(global uint *out) {
    if (get_global_id(0) != 0 || get_global_id(1) != 0 || get_global_id(2) != 0) return;
    for (int d = 0; d < 3; d++) { out[d] = get_num_groups(d); out[3 + d] = get_local_size(d); }
}

kernel __attribute__((reqd_work_group_size(8, 2, 1))) void tiled(global int *out) {
    out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = get_global_id(0);
}

kernel void meet(global atomic_int *arrived, global int *out) {
    if (get_local_id(0) == 0) {
        atomic_fetch_add(arrived, 1);
        while (atomic_load(arrived) < (int)get_num_groups(0)) {}
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = 1;
}

kernel void nothing(void) {}
"""


@pytest.fixture
def module(ctx: gs.Context) -> Iterator[gs.Module]:
    with gs.Module(ctx, opencl=SOURCE) as made:
        yield made


# --- Sizes ----------------------------------------------------------------------------------------


def test_the_number_of_groups_may_be_in_memory(ctx: gs.Context, module: gs.Module) -> None:
    counts, out = ctx.alloc_shared(3, "uint32"), ctx.alloc_shared(6, "uint32")
    counts.numpy()[:] = 7, 7, 7
    with gs.CommandQueue(ctx) as queue:
        commands = gs.CommandList(ctx)
        module["shape"](commands, counts, (8, 2), out)
        counts.numpy()[:] = 3, 2, 4  # the device reads it when the launch begins
        queue.execute(commands)
    assert out.tolist() == [3, 2, 4, 8, 2, 1]


def test_invalid_indirect_group_count_is_refused(ctx: gs.Context, module: gs.Module) -> None:
    commands = gs.CommandList.immediate(ctx)
    with pytest.raises(ValueError, match="the number of groups has 8 bytes, fewer than 12"):
        module["nothing"](commands, ctx.alloc_shared(2, "uint32"), 1)
    with pytest.raises(ValueError, match="cooperative launch takes its number of groups as num"):
        module["nothing"](commands, ctx.alloc_shared(3, "uint32"), 1, cooperative=True)


def test_a_kernel_says_what_it_prefers(module: gs.Module) -> None:
    kernel = module["nothing"]
    kernel.set_cache_config(gs.CacheConfig.LARGE_SLM)
    kernel.set_indirect_access(gs.IndirectAccess.HOST | gs.IndirectAccess.SHARED)
    flags = kernel.api.create("zeKernelGetIndirectAccess", kernel.handle)
    assert flags == gs.IndirectAccess.HOST | gs.IndirectAccess.SHARED
    with pytest.raises(gs.errors.InvalidEnumeration):
        kernel.set_cache_config(gs.CacheConfig(64))


@pytest.mark.parametrize(
    ("grid", "group", "expected"),
    [
        (3, 5, [3, 1, 1, 5, 1, 1]),
        ((3,), (5,), [3, 1, 1, 5, 1, 1]),
        ((2, 3), (4, 5), [2, 3, 1, 4, 5, 1]),
        ([2, 3, 4], [5, 3, 2], [2, 3, 4, 5, 3, 2]),
        (np.int64(7), np.uint8(9), [7, 1, 1, 9, 1, 1]),
        (np.array([2, 2]), np.array([1, 3]), [2, 2, 1, 1, 3, 1]),
        (1, 1000, [1, 1, 1, 1000, 1, 1]),
    ],
)
def test_grid_counts_groups_group_counts_items(
    ctx: gs.Context,
    module: gs.Module,
    commands: gs.CommandList,
    grid: Extent,
    group: Extent,
    expected: list[int],
) -> None:
    out = ctx.alloc_shared(6, "uint32")
    for _ in range(2):
        commands.fill(out, 0)
        module["shape"](commands, grid, group, out)
        commands.synchronize()
        assert out.tolist() == expected


def test_size_list_may_change_between_launches(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    out, grid, group = ctx.alloc_shared(6, "uint32"), [2, 2], [4]
    module["shape"](commands, grid, group, out)
    grid[1], group[0] = 5, 8
    module["shape"](commands, grid, group, out)
    commands.synchronize()
    assert out.tolist() == [2, 5, 1, 8, 1, 1]


def test_without_a_group_the_last_one_is_used(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    out, kernel = ctx.alloc_shared(6, "uint32"), module["shape"]
    kernel.group_size = 24
    kernel(commands, 1, None, out)
    commands.synchronize()
    assert out.tolist()[3] == 24
    kernel(commands, 1, 16, out)
    kernel(commands, 1, None, out)
    commands.synchronize()
    assert out.tolist()[3] == 16


def test_no_groups_are_nothing_to_do(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    out = ctx.alloc_shared(6, "uint32")
    commands.fill(out, 99)
    for grid in (0, (0, 4), (4, 0, 4)):
        module["shape"](commands, grid, 4, out)
    commands.synchronize()
    assert out.tolist() == [99] * 6


@pytest.mark.parametrize(
    ("size", "kind", "message"),
    [
        (-1, ValueError, "at least 0 and less than"),
        (1 << 32, ValueError, "at least 0 and less than"),
        ((1, 1, 1, 1), ValueError, "one to three numbers, not 4"),
        ((), ValueError, "one to three numbers, not 0"),
        (16.0, TypeError, "a whole number"),
        ((16.5, 1), TypeError, "a whole number"),
        ("16", TypeError, "a whole number"),
    ],
)
def test_what_is_no_size_is_refused(
    module: gs.Module, commands: gs.CommandList, size: int, kind: type[Exception], message: str
) -> None:
    kernel = module["nothing"]
    with pytest.raises(kind, match=message):
        kernel(commands, size, 1)
    with pytest.raises(kind, match=message):
        kernel(commands, 1, size)
    with pytest.raises(kind, match=message):
        kernel(commands, 1, 1, offset=size)
    kernel(commands, [1], 1)
    with pytest.raises(TypeError, match="a whole number"):
        kernel(commands, None, 1)  # type: ignore[arg-type]


def test_invalid_group_size_is_refused(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    for group in (0, (64, 64), (1, 0)):
        with pytest.raises(gs.errors.InvalidGroupSizeDimension, match="at least 1 and the product"):
            module["nothing"](commands, 1, group)
    out = ctx.alloc_shared(16, "int32")
    with pytest.raises(gs.errors.InvalidGroupSizeDimension, match="requires groups of 8 x 2 x 1"):
        module["tiled"](commands, 1, 16, out)
    module["tiled"](commands, 1, None, out)
    commands.synchronize()
    assert out.tolist() == [*range(8)] * 2


def test_the_global_offset_moves_the_work_items(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    x, y = ctx.alloc_shared(32, "float32"), ctx.alloc_shared(32, "float32")
    x.numpy()[:] = 1
    y.numpy()[:] = 0
    module["saxpy"](commands, 1, 8, 1.0, x, y, offset=16)
    module["saxpy"](commands, 1, 4, 1.0, x, y)
    commands.synchronize()
    assert y.tolist() == [1.0] * 4 + [0.0] * 12 + [1.0] * 8 + [0.0] * 8


# --- Where and when -------------------------------------------------------------------------------


def test_launches_on_a_queue_use_its_lists_again(ctx: gs.Context, module: gs.Module) -> None:
    x, y = ctx.alloc_shared(64, "float32"), ctx.alloc_shared(64, "float32")
    x.numpy()[:] = 3
    y.numpy()[:] = 0
    with gs.CommandQueue(ctx) as queue:
        for _ in range(5):
            for _ in range(30):
                module["saxpy"](queue, 4, 16, np.float32(2), x, y)
            queue.synchronize()
        assert (y.numpy() == 900).all()
        kept = queue.take_list(), queue.take_list()
        assert kept[0] is not kept[1]
        module["saxpy"](queue, 4, 16, -1, x, y)
        while not queue.is_idle:
            pass
    assert (y.numpy() == 897).all()


def test_a_launch_waits_and_signals(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    pool, out = gs.EventPool(ctx, 3, timestamps=True), ctx.alloc_shared(6, "uint32")
    go, also, done = pool.event(), pool.event(), pool.event()
    out.numpy()[:] = 0
    module["shape"](commands, 2, 4, out, wait=[go, also], signal=done)
    assert not done.is_signaled
    go.signal()
    also.signal()
    done.wait(20)
    assert out.tolist()[0] == 2
    assert 0 < done.timestamps.duration_ns < 20e9
    done.reset()
    with gs.CommandQueue(ctx) as queue:
        module["shape"](queue, 3, 4, out, wait=go, signal=done)
        done.wait(20)
        assert out.tolist()[0] == 3


def test_cooperative_groups_wait_for_each_other(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    kernel = module["meet"]
    groups = kernel.max_cooperative_groups
    arrived, out = ctx.alloc_shared(1, "int32"), ctx.alloc_shared(4 * groups, "int32")
    commands.fill(arrived, 0)
    commands.fill(out, 0)
    kernel(commands, groups, 4, arrived, out, cooperative=True)
    commands.synchronize()
    assert out.tolist() == [1] * 4 * groups
    with pytest.raises(gs.errors.InvalidArgument, match="cannot run at the same time"):
        kernel(commands, groups + 1, 4, arrived, out, cooperative=True)


def test_a_launch_goes_to_a_list_or_a_queue(ctx: gs.Context, module: gs.Module) -> None:
    for target in (None, ctx, 5):
        with pytest.raises(TypeError, match="with a command list or a queue first, not"):
            module["nothing"](target, 1, 1)  # type: ignore[arg-type]


def test_a_closed_kernel_cannot_be_launched(module: gs.Module, commands: gs.CommandList) -> None:
    kernel = module.kernel("nothing")
    kernel.close()
    with pytest.raises(gs.errors.ClosedError):
        kernel(commands, 1, 1)


def test_events_are_events(module: gs.Module, commands: gs.CommandList) -> None:
    for wrong in ({"signal": 5}, {"wait": 5}, {"wait": [None]}):
        with pytest.raises(TypeError, match="take events, not"):
            module["nothing"](commands, 1, 1, **wrong)


def test_threads_may_share_a_kernel(ctx: gs.Context, module: gs.Module) -> None:
    """Each launch gets its own arguments, whatever the others set meanwhile."""
    kernel, wrong = module["set"], list[list[int]]()

    def work(number: int) -> None:
        out = ctx.alloc_shared(4, "int32")
        with gs.CommandList.immediate(ctx, in_order=True) as commands:
            for turn in range(300):
                kernel(commands, 1, 1 + number, out, number, turn, number << 32, float(turn))
                commands.synchronize()
                if out.tolist() != [number, turn, number, turn]:
                    wrong.append(out.tolist())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_memory_goes_back_after_its_last_launch(ctx: gs.Context, module: gs.Module) -> None:
    """A kernel remembers what it was given, but keeps nothing alive."""
    with gs.CommandList.immediate(ctx, in_order=True) as commands:
        memory = ctx.alloc_shared(4, "int32")
        commands.fill(memory, b"\0")
        resource = memory.resource
        module["reverse"](commands, 1, 4, memory, gs.Local(4, "int32"))
        commands.synchronize()
        del memory
        gc.collect()
        assert [each for each in gc.get_referrers(resource) if isinstance(each, dict | list)] == []


def test_lanes_without_work_divide_by_nothing(ctx: gs.Context, commands: gs.CommandList) -> None:
    """What such lanes would have read is not known, not even whether it is zero."""
    source = """
    kernel void rest(global const long *a, global const long *b, global long *out, uint step) {
        size_t i = get_global_id(0) * step;
        long rest = 0;
        if (b[i] != 0) rest = a[i] % b[i];
        if (rest != 0 && (rest < 0) != (b[i] < 0)) rest += b[i];
        out[i] = rest;
    }
    """
    step, count = 5, 3
    a, b, out = (ctx.alloc_shared(count * step, "int64") for _ in range(3))
    a.numpy()[:] = np.arange(count * step) - 8
    b.numpy()[:] = 7
    with gs.Module(ctx, opencl=source) as module:
        module["rest"](commands, 1, count, a, b, out, step)
        commands.synchronize()
    assert out.numpy()[::step].tolist() == [(i * step - 8) % 7 for i in range(count)]
