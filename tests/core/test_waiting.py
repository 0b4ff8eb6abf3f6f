"""Queues, fences and events: waiting with and without a limit, and with Ctrl-C."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import groundstate as gs


class Held:
    """Work that waits for the host on every kind of thing that can be waited for."""

    def __init__(self, context: gs.Context) -> None:
        pool = gs.EventPool(context, 2)
        self.go, self.done = pool.event(), pool.event()
        self.queue, self.list = gs.CommandQueue(context), gs.CommandList(context)
        self.fence = gs.Fence(self.queue)
        self.immediate = gs.CommandList.immediate(context)
        self.list.barrier(wait=self.go, signal=self.done)
        self.queue.execute(self.list, fence=self.fence)
        self.immediate.barrier(wait=self.go)


WAITS: dict[str, Callable[[Held, float | None], None]] = {
    "event": lambda held, timeout: held.done.wait(timeout),
    "fence": lambda held, timeout: held.fence.wait(timeout),
    "queue": lambda held, timeout: held.queue.synchronize(timeout),
    "list": lambda held, timeout: held.immediate.synchronize(timeout),
}

STATES: dict[str, Callable[[Held], bool]] = {
    "event": lambda held: held.done.is_signaled,
    "fence": lambda held: held.fence.is_signaled,
    "queue": lambda held: held.queue.is_idle,
    "list": lambda held: held.immediate.is_idle,
}


@pytest.mark.parametrize("what", WAITS)
def test_wait_ends_with_work_or_timeout(ctx: gs.Context, what: str) -> None:
    held = Held(ctx)
    wait, state = WAITS[what], STATES[what]
    assert not state(held)
    for timeout in (0, 0.0, 0.002, 0.15):
        with pytest.raises(TimeoutError, match=f"the {what} was not done after {timeout} s"):
            wait(held, timeout)
    held.go.signal()
    wait(held, None)
    assert state(held)
    wait(held, 0)
    wait(held, 5)
    wait(held, math.inf)
    held.queue.synchronize()
    held.immediate.synchronize()


@pytest.mark.parametrize("timeout", [-1, math.nan])
def test_a_timeout_is_not_negative(ctx: gs.Context, timeout: float) -> None:
    with pytest.raises(ValueError, match="a timeout is a number of seconds"):
        gs.EventPool(ctx, 1).event().wait(timeout)


INTERRUPTED = """
import signal, sys, threading
import groundstate as gs
context = gs.Context(gs.devices()[0])
pool = gs.EventPool(context, 2)
go, done = pool.event(), pool.event()
queue, commands = gs.CommandQueue(context), gs.CommandList(context)
fence = gs.Fence(queue)
commands.barrier(wait=go, signal=done)
queue.execute(commands, fence=fence)
immediate = gs.CommandList.immediate(context)
immediate.barrier(wait=go)
waits = dict(event=done.wait, fence=fence.wait, queue=queue.synchronize, list=immediate.synchronize)
try:
    print("waiting", flush=True)
    waits[sys.argv[1]](*map(float, sys.argv[2:]))
except KeyboardInterrupt:
    print("interrupted")
go.signal()
waits[sys.argv[1]](30)
print("went on")
"""


def wait_until_asleep(pid: int) -> None:
    """Returns when the main thread of a process waits for something."""
    while Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
        time.sleep(0.001)


@pytest.mark.parametrize("what", WAITS)
@pytest.mark.parametrize("timeout", [[], ["100"]], ids=["for ever", "with a limit"])
def test_ctrl_c_ends_a_wait(what: str, timeout: list[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, what, *timeout],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    wait_until_asleep(process.pid)
    process.send_signal(signal.SIGINT)
    output, problems = process.communicate(timeout=60)
    assert output == "interrupted\nwent on\n", problems


def test_a_queue_runs_submissions_in_order(ctx: gs.Context) -> None:
    memory = ctx.alloc_host(64)
    with gs.CommandQueue(ctx) as queue:
        for value in range(50):
            commands = gs.CommandList(ctx)
            commands.fill(memory, value)
            queue.execute(commands)
    assert memory.tolist() == [49] * 64


def test_queues_do_not_wait_for_each_other(ctx: gs.Context) -> None:
    go = gs.EventPool(ctx, 1).event()
    held = gs.CommandList.immediate(ctx)
    held.barrier(wait=go)
    memory = ctx.alloc_host(4)
    with gs.CommandList.immediate(ctx, ordinal=1) as free:
        free.fill(memory, 1)
    assert memory.tolist() == [1] * 4
    assert not held.is_idle
    go.signal()
    held.synchronize()


def test_a_queue_has_the_options_it_was_given(ctx: gs.Context, gpu: gs.Device) -> None:
    queue = gs.CommandQueue(
        ctx,
        gpu,
        ordinal=1,
        index=1,
        mode=gs.QueueMode.SYNCHRONOUS,
        priority=gs.QueuePriority.LOW,
        copy_offload=True,
    )
    assert (queue.device, queue.ordinal, queue.index) == (gpu, 1, 1)
    assert "group 1" in repr(queue)
    with pytest.raises(gs.LevelZeroError):
        gs.CommandQueue(ctx, ordinal=99)


def test_a_list_of_another_group_is_refused(ctx: gs.Context) -> None:
    queue, commands = gs.CommandQueue(ctx, ordinal=0), gs.CommandList(ctx, ordinal=1)
    with pytest.raises(
        gs.errors.InvalidCommandListType, match="runs on queues of its own queue group"
    ):
        queue.execute(commands)


def test_a_fence_can_start_signaled_and_be_reset(ctx: gs.Context) -> None:
    queue = gs.CommandQueue(ctx)
    fence = gs.Fence(queue, signaled=True)
    assert fence.is_signaled
    fence.reset()
    assert not fence.is_signaled
    queue.execute(gs.CommandList(ctx), fence=fence)
    fence.wait()
    assert fence.is_signaled


def test_host_signals_and_resets_event(ctx: gs.Context) -> None:
    event = gs.EventPool(ctx, 1).event()
    assert not event.is_signaled
    event.signal()
    assert event.is_signaled
    event.wait(0)
    event.reset()
    assert not event.is_signaled


def test_a_pool_gives_out_its_places_once(ctx: gs.Context) -> None:
    pool = gs.EventPool(ctx, 3)
    events = [pool.event(), pool.event(2)]
    assert [event.index for event in events] == [0, 2]
    assert pool.event().index == 1, "the place of an event that nobody holds is free again"
    events.append(pool.event())
    with pytest.raises(ValueError, match="all 3 places of the pool have an event"):
        pool.event()
    with pytest.raises(ValueError, match="place 2 of the pool has an event already"):
        pool.event(2)
    events[0].close()
    assert pool.event().index == 0
    with pytest.raises(gs.errors.InvalidArgument, match="outside the pool"):
        pool.event(3)


def test_a_pool_can_be_made_for_devices(ctx: gs.Context, gpu: gs.Device) -> None:
    pool = gs.EventPool(ctx, 2, devices=[gpu], mapped_timestamps=True)
    assert pool.devices == (gpu,)
    event = pool.event(signal_scope=gs.EventScope.DEVICE, wait_scope=gs.EventScope.NONE)
    with pytest.raises(gs.errors.NotReady, match="Wait for the event"):
        _ = event.timestamps


def test_event_without_timestamps_names_option(ctx: gs.Context) -> None:
    event = gs.EventPool(ctx, 1).event()
    event.signal()
    with pytest.raises(gs.errors.InvalidArgument, match=r"EventPool\(..., timestamps=True\)"):
        _ = event.timestamps


def test_counter_based_event_tracks_last_command(ctx: gs.Context) -> None:
    event = gs.Event.counter_based(ctx, timestamps=True)
    assert event.is_counter_based
    assert "counter-based" in repr(event)
    memory = ctx.alloc_host(1)
    commands = gs.CommandList.immediate(ctx, in_order=True)
    for value in range(20):
        commands.fill(memory, value, signal=event)
        event.wait()
        assert memory.tolist() == [value]
        assert event.timestamps.duration_ns >= 0
    for act in (event.signal, event.reset):
        with pytest.raises(gs.errors.InvalidArgument, match="counter-based"):
            act()


def test_counter_based_event_needs_in_order_list(ctx: gs.Context) -> None:
    event = gs.Event.counter_based(ctx)
    with pytest.raises(gs.errors.InvalidArgument, match="in-order"):
        gs.CommandList.immediate(ctx).barrier(signal=event)
