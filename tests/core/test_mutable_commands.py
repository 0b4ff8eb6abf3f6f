"""Commands of recorded lists that are changed between two runs, from Python."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import groundstate as gs

SOURCE = """
kernel void add(global int *to, int by) { to[get_global_id(0)] += by; }
kernel void multiply(global int *to, int by) { to[get_global_id(0)] *= by; }
kernel void share(global int *to, local int *room) {
    room[0] = 1;
    to[get_global_id(0)] = room[0];
}
"""


@pytest.fixture
def module(ctx: gs.Context) -> Iterator[gs.Module]:
    with gs.Module(ctx, opencl=SOURCE) as made:
        yield made


@pytest.fixture
def queue(ctx: gs.Context) -> Iterator[gs.CommandQueue]:
    with gs.CommandQueue(ctx) as made:
        yield made


def run(queue: gs.CommandQueue, commands: gs.CommandList) -> None:
    queue.execute(commands)
    queue.synchronize()


def zeros(context: gs.Context, count: int = 8) -> gs.Memory:
    memory = context.alloc_shared(count, "int32")
    with gs.CommandList.immediate(context) as commands:
        commands.fill(memory, 0)
    return memory


def test_arguments_and_sizes_change(
    ctx: gs.Context, module: gs.Module, queue: gs.CommandQueue
) -> None:
    first, second = zeros(ctx), zeros(ctx)
    commands = gs.CommandList(ctx, mutable=True)
    step = commands.next_command()
    module["add"](commands, 2, 4, first, 1)
    assert repr(step).endswith(" add>")
    run(queue, commands)
    step.change(arguments={"to": second, 1: -5}, groups=1, group_size=2, offset=3)
    run(queue, commands)
    assert first.tolist() == [1] * 8
    assert second.tolist() == [0, 0, 0, -5, -5, 0, 0, 0]


def test_the_kernel_changes(ctx: gs.Context, module: gs.Module, queue: gs.CommandQueue) -> None:
    memory = zeros(ctx)
    add, multiply = module["add"], module["multiply"]
    with gs.CommandList.immediate(ctx, in_order=True) as unused:
        multiply(unused, 2, 4, memory, 10)
    commands = gs.CommandList(ctx, mutable=True)
    step = commands.next_command(add, multiply)
    add(commands, 2, 4, memory, 3)
    run(queue, commands)
    step.change(kernel=multiply, arguments={"by": 4})
    run(queue, commands)
    assert memory.tolist() == [12] * 8


def test_events_change(ctx: gs.Context, queue: gs.CommandQueue) -> None:
    pool = gs.EventPool(ctx, 4)
    gate, other_gate, done, other_done = (pool.event() for _ in range(4))
    commands = gs.CommandList(ctx, mutable=True)
    step = commands.next_command()
    commands.barrier(signal=done, wait=gate)
    step.change_signal(other_done)
    step.change_waits(other_gate)
    queue.execute(commands)
    other_gate.signal()
    queue.synchronize()
    assert other_done.is_signaled
    assert not done.is_signaled


def test_local_memory_changes(ctx: gs.Context, module: gs.Module, queue: gs.CommandQueue) -> None:
    memory = zeros(ctx)
    commands = gs.CommandList(ctx, mutable=True)
    step = commands.next_command()
    module["share"](commands, 8, 1, memory, gs.Local(4))
    step.change(arguments={"room": gs.Local(4096)})
    run(queue, commands)
    assert memory.tolist() == [1] * 8


def test_mistakes_are_named(ctx: gs.Context, module: gs.Module, queue: gs.CommandQueue) -> None:
    memory = zeros(ctx)
    commands = gs.CommandList(ctx, mutable=True)
    barrier = commands.next_command()
    commands.barrier()
    step = commands.next_command()
    module["add"](commands, 2, 4, memory, 1)
    with pytest.raises(ValueError, match="launches no kernel"):
        barrier.change(arguments={0: memory})
    with pytest.raises(ValueError, match=r"has no argument 'with', but: global int\* to, int by"):
        step.change(arguments={"with": 1})
    with pytest.raises(TypeError, match="takes an integer"):
        step.change(arguments={"by": "three"})
    with pytest.raises(gs.errors.InvalidArgument, match="not mutable"):
        gs.CommandList(ctx).next_command()
    run(queue, commands)
    assert memory.tolist() == [1] * 8
