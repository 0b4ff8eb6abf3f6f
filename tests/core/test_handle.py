"""The end of things: closing, order of destruction, and what the device still uses."""

from __future__ import annotations

import copy
import copyreg
import gc
import os
import pickle
import subprocess
import sys
from collections.abc import Callable

import pytest

import groundstate as gs
from groundstate.core import handle
from tests.conftest import what_there_is
from tests.core.conftest import settle

EMPTY = "kernel void empty() {}"

MAKERS: dict[str, Callable[[gs.Context], handle.OwnedHandle]] = {
    "Context": lambda context: gs.Context(context.devices),
    "Memory": lambda context: context.alloc_shared(64),
    "CommandQueue": lambda context: gs.CommandQueue(context),
    "CommandList": lambda context: gs.CommandList(context),
    "immediate CommandList": lambda context: gs.CommandList.immediate(context),
    "Fence": lambda context: gs.Fence(gs.CommandQueue(context)),
    "EventPool": lambda context: gs.EventPool(context, 4),
    "Event": lambda context: gs.EventPool(context, 1).event(),
    "counter-based Event": lambda context: gs.Event.counter_based(context),
    "Module": lambda context: gs.Module(context, opencl=EMPTY),
    "Kernel": lambda context: gs.Module(context, opencl=EMPTY)["empty"],
    "Image": lambda context: gs.Image(context, (4, 4)),
    "Sampler": lambda context: gs.Sampler(context),
    "Graph": lambda context: gs.Graph(context),
    "ExecutableGraph": lambda context: empty_graph(context).instantiate(),
    "ExternalSemaphore": lambda context: semaphore(context),
    "opened Memory": lambda context: opened_memory(context),
    "opened EventPool": lambda context: opened_pool(context),
    "PhysicalMemory": lambda context: gs.PhysicalMemory(context, 4096),
    "VirtualMemory": lambda context: gs.VirtualMemory(context, 4096),
}


def empty_graph(context: gs.Context) -> gs.Graph:
    with gs.CommandList.immediate(context).capture() as graph:
        return graph


def semaphore(context: gs.Context) -> gs.ExternalSemaphore:
    counter = os.eventfd(0)
    try:
        return gs.ExternalSemaphore(context.devices[0], counter)
    finally:
        os.close(counter)


def opened_memory(context: gs.Context) -> gs.Memory:
    with context.alloc_host(64) as original:
        return context.open_ipc(original.ipc_handle())


def opened_pool(context: gs.Context) -> gs.EventPool:
    with gs.EventPool(context, 4, ipc=True) as original:
        return gs.EventPool.open_ipc(context, original.ipc_handle(), 4)


def test_every_kind_of_object_is_here() -> None:
    kinds = {name.split()[-1] for name in MAKERS}
    closable = {
        name
        for name in gs.__all__  # type: ignore[attr-defined]
        if isinstance(getattr(gs, name), type) and issubclass(getattr(gs, name), handle.OwnedHandle)
    }
    assert closable == kinds


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_object_closes_twice_then_refuses_use(
    ctx: gs.Context, make: Callable[[gs.Context], handle.OwnedHandle]
) -> None:
    made = make(ctx)
    assert hex(made.handle) in repr(made)
    assert type(made).__name__ in repr(made)
    assert not made.closed
    made.close()
    made.close()
    assert made.closed
    assert repr(made) == f"<{type(made).__name__} closed>"
    with pytest.raises(gs.errors.ClosedError, match="was closed"):
        _ = made.handle
    with pytest.raises(gs.errors.ClosedError), made:
        pass


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_with_block_closes_at_its_end(
    ctx: gs.Context, make: Callable[[gs.Context], handle.OwnedHandle]
) -> None:
    with make(ctx) as made:
        assert not made.closed
    assert made.closed


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_closing_destroys_the_drivers_object(
    ctx: gs.Context, make: Callable[[gs.Context], handle.OwnedHandle]
) -> None:
    before = what_there_is()["objects"]
    made = make(ctx)
    made.close()
    del made
    gc.collect()
    assert what_there_is()["objects"] == before


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_parent_outlives_its_children(
    gpu: gs.Device, make: Callable[[gs.Context], handle.OwnedHandle]
) -> None:
    before = what_there_is()["objects"]
    context = gs.Context(gpu)
    child = make(context)
    context.close()
    del context
    gc.collect()
    assert not child.closed
    assert what_there_is()["objects"] > before or isinstance(child, gs.Memory)
    child.close()
    del child
    gc.collect()
    assert what_there_is()["objects"] == before


def test_copies_are_refused(ctx: gs.Context) -> None:
    """A copy would be the same memory under another name, and a pickle a handle of no process."""
    everything = [make(ctx) for make in MAKERS.values()]
    for each in (*everything, ctx.devices[0], gs.drivers()[0]):
        if type(each) in copyreg.dispatch_table:
            continue  # groundstate.dask teaches memory to travel
        for copier in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot be copied or pickled"):
                copier(each)
    for each in everything:
        each.close()


def test_an_object_that_is_forgotten_is_destroyed(ctx: gs.Context) -> None:
    before = what_there_is()["objects"]
    gs.EventPool(ctx, 3)
    gc.collect()
    assert what_there_is()["objects"] == before


def test_what_the_device_uses_is_destroyed_later(ctx: gs.Context) -> None:
    before = what_there_is()["objects"]
    go = gs.EventPool(ctx, 1).event()
    memory = ctx.alloc_host(1 << 16)
    commands = gs.CommandList.immediate(ctx, in_order=True)
    commands.fill(memory, 1, wait=go)
    commands.close()
    memory.close()
    del commands, memory
    assert handle.settle() == 1, "the list waits for the event and cannot be destroyed yet"
    go.signal()
    settle()
    assert handle.settle() == 0
    go.close()
    del go
    gc.collect()
    assert what_there_is()["objects"] == before


def test_with_block_exception_skips_device_wait(ctx: gs.Context) -> None:
    go = gs.EventPool(ctx, 1).event()

    def stumble() -> None:
        with gs.CommandList.immediate(ctx) as commands:
            commands.barrier(wait=go)
            raise RuntimeError("in between")

    with pytest.raises(RuntimeError, match="in between"):
        stumble()
    go.signal()


UNFINISHED = """
import groundstate as gs
context = gs.Context(gs.devices()[0])
go = gs.EventPool(context, 1).event()
memory = context.alloc_shared(1 << 20)
seen, capsule = memory.buffer(), memory.__dlpack__()
queue, recorded = gs.CommandQueue(context), gs.CommandList(context)
commands = gs.CommandList.immediate(context, in_order=True)
recorded.fill(memory, 1, wait=go)
queue.execute(recorded)
commands.host_function(lambda: None, wait=go)
print("the end")
"""


def test_a_program_can_end_with_work_under_way() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", UNFINISHED], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "the end\n", "")


def test_a_context_needs_devices_of_one_driver() -> None:
    with pytest.raises(ValueError, match="at least one device"):
        gs.Context([])


def test_a_context_can_be_asked_how_it_is(ctx: gs.Context, gpu: gs.Device) -> None:
    ctx.check_status()
    ctx.system_barrier(gpu)
    memory = ctx.alloc_device(4096)
    ctx.make_resident(memory)
    ctx.evict(memory)


def test_in_flight_is_large_again_at_double_size() -> None:
    flight = handle.InFlight()
    things = [object() for _ in range(600)]
    for thing in things[:256]:
        flight.add((thing, thing))
    assert flight.is_large()
    flight.put_back(flight.take())
    assert not flight.is_large()
    for thing in things[256:512]:
        flight.add((thing,))
    assert flight.is_large()
    assert len(flight.take()) == 512
    assert not flight.is_large()
