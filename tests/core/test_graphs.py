"""Graphs from Python: what they keep alive, and how they end."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest

import groundstate as gs

SOURCE = "kernel void add(global int *to, int by) { to[get_global_id(0)] += by; }"


def test_a_graph_is_recorded_and_replayed(ctx: gs.Context, commands: gs.CommandList) -> None:
    memory = ctx.alloc_shared(8, "int32")
    commands.fill(memory, 0)
    add = gs.Module(ctx, opencl=SOURCE)["add"]
    with commands.capture() as graph:
        add(commands, 2, 4, memory, 1)
        add(commands, 1, 4, memory, 10)
    assert not graph.is_empty
    commands.synchronize()
    assert memory.tolist() == [0] * 8
    replay = graph.instantiate()
    for _ in range(3):
        replay(commands)
    commands.synchronize()
    assert memory.tolist() == [33] * 4 + [3] * 4


def test_a_graph_keeps_what_it_uses(ctx: gs.Context, commands: gs.CommandList) -> None:
    target = ctx.alloc_host(1000)
    source = np.arange(1000, dtype="uint8")
    alive = weakref.ref(source)
    with commands.capture() as graph:
        commands.copy(target, source)
    del source
    commands.synchronize()
    gc.collect()
    assert alive() is not None
    replay = graph.instantiate()
    graph.close()
    del graph
    gc.collect()
    replay(commands)
    commands.synchronize()
    assert target.tolist() == [each % 256 for each in range(1000)]
    replay.close()
    del replay
    commands.synchronize()
    gc.collect()
    assert alive() is None


def test_a_graph_may_be_closed_while_it_runs(ctx: gs.Context, commands: gs.CommandList) -> None:
    memory = ctx.alloc_host(4)
    commands.fill(memory, 0)
    commands.synchronize()
    gate = gs.EventPool(ctx, 1).event()
    with commands.capture() as graph:
        commands.fill(memory, 5)
    replay = graph.instantiate()
    replay(commands, wait=gate)
    replay.close()
    graph.close()
    assert memory.tolist() == [0] * 4
    gate.signal()
    commands.synchronize()
    assert memory.tolist() == [5] * 4


def test_forked_lists_keep_things_for_the_graph(ctx: gs.Context, commands: gs.CommandList) -> None:
    child = gs.CommandList.immediate(ctx, in_order=True)
    fork, join = gs.Event.counter_based(ctx), gs.Event.counter_based(ctx)
    target = ctx.alloc_host(6)
    with commands.capture() as graph:
        commands.barrier(signal=fork)
        child.copy(target[:3], np.array([1, 2, 3], "uint8"), wait=fork)
        child.copy(target[3:], np.array([4, 5, 6], "uint8"), signal=join)
        commands.wait(join)
    child.synchronize()
    gc.collect()
    replay = graph.instantiate()
    replay(commands)
    commands.synchronize()
    assert target.tolist() == [1, 2, 3, 4, 5, 6]
    child.close()


def test_an_unjoined_fork_is_an_error(ctx: gs.Context, commands: gs.CommandList) -> None:
    child = gs.CommandList.immediate(ctx)
    fork = gs.EventPool(ctx, 1).event()
    graph = gs.Graph(ctx)

    def record_without_join() -> None:
        with graph.record(commands):
            commands.barrier(signal=fork)
            child.wait(fork)

    with pytest.raises(gs.errors.GraphUnjoinedForks, match="forked"):
        record_without_join()
    with pytest.raises(gs.errors.InvalidGraph):
        graph.instantiate()
    commands.synchronize()
    child.synchronize()


def test_an_exception_ends_the_capture(ctx: gs.Context, commands: gs.CommandList) -> None:
    memory = ctx.alloc_host(4)

    def fail_while_recording() -> None:
        with commands.capture():
            commands.fill(memory, 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_while_recording()
    commands.fill(memory, 2)
    commands.synchronize()
    assert memory.tolist() == [2] * 4


def test_nobody_waits_for_a_list_that_captures(ctx: gs.Context, commands: gs.CommandList) -> None:
    with commands.capture() as graph:
        with pytest.raises(gs.errors.GraphCaptureUnsupported):
            commands.synchronize()
        with pytest.raises(gs.errors.GraphCaptureUnsupported):
            _ = commands.is_idle
        assert "being recorded" in repr(graph)
    assert graph.is_empty
    assert commands.is_idle


def test_graph_records_more_than_a_list_keeps(ctx: gs.Context, commands: gs.CommandList) -> None:
    memory = ctx.alloc_host(1)
    with commands.capture() as graph:
        for number in range(600):
            commands.copy(memory, bytes([number % 256]))
    graph.instantiate()(commands)
    commands.synchronize()
    assert memory.tolist() == [599 % 256]


def test_python_functions_are_called_in_each_run(commands: gs.CommandList) -> None:
    seen: list[int] = []
    with commands.capture() as graph:
        commands.host_function(lambda: seen.append(len(seen)))
    graph.when_destroyed(lambda: seen.append(-1))
    replay = graph.instantiate()
    gc.collect()
    replay(commands)
    replay(commands)
    commands.synchronize()
    assert seen == [0, 1]
    graph.close()
    del graph
    assert seen == [0, 1]
    replay.close()
    del replay
    commands.synchronize()
    gc.collect()
    assert seen == [0, 1, -1]


def test_external_events_follow_the_runs(ctx: gs.Context, commands: gs.CommandList) -> None:
    done = gs.Event.counter_based(ctx, graph_external=True)
    with commands.capture() as graph:
        commands.signal(done)
    replay = graph.instantiate()
    for _ in range(3):
        replay(commands)
        done.wait()


def test_a_graph_shows_itself(ctx: gs.Context, commands: gs.CommandList, tmp_path: Path) -> None:
    memory = ctx.alloc_shared(4, "int32")
    add = gs.Module(ctx, opencl=SOURCE)["add"]
    with commands.capture() as graph:
        add(commands, 1, 4, memory, 77)
    text = graph.dot()
    assert "kernel add" in text
    assert "argument 1, value of 4 bytes: 77" in text
    assert "77" not in graph.dot(detailed=False)
    graph.dump(tmp_path / "graph.dot")
    assert (tmp_path / "graph.dot").read_text() == text
