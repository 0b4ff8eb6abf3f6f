"""Order: lists, events in both directions, fences, timestamps, between devices."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

import groundstate as gs
from groundstate import ze
from tests.conftest import check
from tests.nvidia.inside.conftest import SOURCE


@pytest.fixture
def count(ctx: gs.Context) -> Iterator[gs.Memory]:
    """A word that `increase` counts in, 0 at first."""
    with ctx.alloc_shared(1, "uint32") as memory:
        memory.numpy()[0] = 0
        yield memory


def test_host_signal_starts_a_kernel(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList, count: gs.Memory
) -> None:
    with gs.EventPool(ctx, 2) as pool:
        start, end = pool.event(), pool.event()
        module["increase"](commands, 1, 1, count, wait=start, signal=end)
        time.sleep(0.01)
        assert count.tolist() == [0]
        assert not end.is_signaled
        start.signal()
        end.wait()
        assert count.tolist() == [1]
        commands.synchronize()


def test_event_of_a_kernel_releases_a_copy(
    ctx: gs.Context, module: gs.Module, count: gs.Memory
) -> None:
    result = ctx.alloc_host(1, "uint32")
    with (
        gs.EventPool(ctx, 1) as pool,
        gs.CommandList.immediate(ctx) as first,
        gs.CommandList.immediate(ctx, index=1) as second,
    ):
        done = pool.event()
        second.copy(result, count, wait=done)
        for _ in range(20):
            module["increase"](first, 1, 1, count)
        first.signal(done)
        second.synchronize()
        assert result.tolist() == [20]
        first.synchronize()


def test_list_waits_for_its_own_event(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList, count: gs.Memory
) -> None:
    with gs.EventPool(ctx, 1) as pool:
        event = pool.event()
        for expected in range(1, 6):
            module["increase"](commands, 1, 1, count, signal=event)
            commands.wait(event)
            commands.reset_event(event)
            commands.synchronize()
            assert count.tolist() == [expected]
            assert not event.is_signaled


def test_closed_list_runs_again(ctx: gs.Context, module: gs.Module, count: gs.Memory) -> None:
    with (
        gs.CommandList(ctx, in_order=True) as recorded,
        gs.CommandQueue(ctx) as queue,
        gs.Fence(queue) as fence,
    ):
        for _ in range(5):
            module["increase"](recorded, 1, 1, count)
        recorded.finish()
        for run in range(1, 4):
            queue.execute(recorded, fence=fence)
            fence.wait()
            assert count.tolist() == [5 * run]
            fence.reset()


def test_own_event_needs_no_wait(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList, count: gs.Memory
) -> None:
    """Whoever waits for what is under way on the same queue is issued behind it."""
    with gs.EventPool(ctx, 3) as pool, ctx.alloc_host(3, "uint32") as seen:
        events = [pool.event() for _ in range(3)]
        for each, event in enumerate(events):
            module["increase"](commands, 1, 1, count, signal=event)
            commands.copy(seen[each : each + 1], count, wait=event)
        commands.synchronize()
        assert seen.tolist() == [1, 2, 3]
        assert all(event.is_signaled for event in events)


def test_event_comes_though_nobody_waits(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList, count: gs.Memory
) -> None:
    with gs.EventPool(ctx, 1) as pool:
        event = pool.event()
        for expected in (1, 2):
            module["increase"](commands, 1, 1, count, signal=event)
            deadline = time.monotonic() + 60
            while not event.is_signaled and time.monotonic() < deadline:
                time.sleep(0.001)
            assert event.is_signaled
            assert count.tolist() == [expected]
            event.reset()
        commands.synchronize()


def test_destroyed_list_finishes_what_is_under_way(
    ctx: gs.Context, module: gs.Module, count: gs.Memory
) -> None:
    with gs.EventPool(ctx, 2) as pool:
        start, end = pool.event(), pool.event()
        for _ in range(20):
            commands = gs.CommandList.immediate(ctx)
            module["increase"](commands, 1, 1, count)
            module["increase"](commands, 1, 1, count, wait=start, signal=end)
            check(ze.zeCommandListDestroy(commands.handle))
            start.signal()
            end.wait()
            start.reset()
            end.reset()
    assert count.tolist() == [40]


def test_signal_comes_after_what_is_under_way(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList, count: gs.Memory
) -> None:
    with gs.EventPool(ctx, 1) as pool:
        event = pool.event()
        for _ in range(5):
            module["increase"](commands, 1, 1, count)
        commands.signal(event)
        event.wait()
        assert count.tolist() == [5]
        commands.synchronize()


def test_threads_share_an_immediate_list(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList, count: gs.Memory
) -> None:
    """Some of the launches find that somebody else executes the queue."""

    def work() -> None:
        kernel = module["increase"]
        for _ in range(10):
            kernel(commands, 1, 1, count)
            commands.synchronize()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count.tolist() == [40]


def test_counter_event_of_a_closed_list(
    ctx: gs.Context, module: gs.Module, count: gs.Memory
) -> None:
    with (
        gs.Event.counter_based(ctx) as event,
        gs.CommandList(ctx, in_order=True) as recorded,
        gs.CommandQueue(ctx) as queue,
    ):
        module["increase"](recorded, 1, 1, count, signal=event)
        recorded.finish()
        for run in range(1, 4):
            queue.execute(recorded)
            event.wait()
            assert count.tolist() == [run]


def test_commands_run_in_order(ctx: gs.Context, commands: gs.CommandList) -> None:
    memory, back = ctx.alloc_device(1000, "uint32"), np.zeros((50, 1000), np.uint32)
    for step in range(50):
        commands.fill(memory, step)
        commands.copy(back[step], memory)
    commands.synchronize()
    assert np.array_equal(back, np.arange(50)[:, None].repeat(1000, 1))


def test_host_function_comes_between(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList, count: gs.Memory
) -> None:
    seen: list[int] = []
    module["increase"](commands, 1, 1, count)
    commands.host_function(lambda: seen.extend(count.tolist()))
    module["increase"](commands, 1, 1, count)
    commands.synchronize()
    assert seen == [1]
    assert count.tolist() == [2]


def test_timestamps_of_kernels(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList, count: gs.Memory
) -> None:
    with gs.EventPool(ctx, 3, timestamps=True) as pool:
        events = [pool.event() for _ in range(3)]
        for event in events:
            module["increase"](commands, 1, 1, count, signal=event)
        commands.synchronize()
        stamps = [event.timestamps for event in events]
    assert all(each.duration_ns >= 1_000_000 for each in stamps)
    for earlier, later in pairwise(stamps):
        assert earlier.end <= later.start <= later.end


def test_timestamp_in_device_memory(
    ctx: gs.Context, commands: gs.CommandList, gpu: gs.Device
) -> None:
    memory, back = ctx.alloc_device(2, "uint64"), np.zeros(2, np.uint64)
    commands.write_timestamp(memory[0:1])
    commands.write_timestamp(memory[1:2])
    commands.copy(back, memory)
    commands.synchronize()
    assert 0 < back[0] <= back[1]


def test_cpu_and_gpu_take_turns(mixed: gs.Context, cpu: gs.Device, gpu: gs.Device) -> None:
    memory = mixed.alloc_shared(1, "uint32", device=gpu)
    memory.numpy()[0] = 0
    source = "kernel void twice(global uint *value) { *value *= 2; }"
    with (
        gs.Module(mixed, opencl=SOURCE, device=gpu) as module,
        gs.Module(mixed, opencl=source, device=cpu) as doubling,
        gs.EventPool(mixed, 12) as pool,
        gs.CommandList.immediate(mixed, gpu) as there,
        gs.CommandList.immediate(mixed, cpu) as here,
    ):
        events = [pool.event() for _ in range(12)]
        for step in range(0, 12, 2):
            before = events[step - 1] if step else ()
            module["increase"](there, 1, 1, memory, wait=before, signal=events[step])
            doubling["twice"](here, 1, 1, memory, wait=events[step], signal=events[step + 1])
        events[-1].wait()
        assert memory.tolist() == [126]
        there.synchronize()
        here.synchronize()


def test_threads_use_a_gpu_at_once(gpu: gs.Device) -> None:
    problems: list[BaseException] = []

    def use() -> None:
        try:
            with gs.Context(gpu) as context, gs.CommandList.immediate(context) as commands:
                for step in range(20):
                    memory, back = context.alloc_device(10_000), np.zeros(10_000, np.uint8)
                    commands.fill(memory, step)
                    commands.barrier()
                    commands.copy(back, memory)
                    commands.synchronize()
                    assert (back == step).all()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
