"""Graphs over several lists: forks, joins, and sessions that may not meet."""

import ctypes

import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.graphs.graphs import (
    EXTERNAL,
    INVALID,
    begin,
    captures,
    end,
    instantiate,
    is_empty,
    recorded,
    replay,
)
from tests.driver.support import Bench, address, barrier, copy, fill, finish, handles

UNJOINED = ze.ZE_RESULT_ERROR_GRAPH_UNJOINED_FORKS
MERGE = ze.ZE_RESULT_ERROR_GRAPH_CAPTURE_MERGE_ATTEMPT
WRONG_LIST = ze.ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE


def lists(bench: Bench, count: int = 2) -> list[int]:
    return [bench.immediate(in_order=True) for _ in range(count)]


def events(bench: Bench, count: int, kind: str) -> list[int]:
    if kind == "plain":
        return list(bench.events(count))
    return [bench.counter_event() for _ in range(count)]


KINDS = ("plain", "counter-based")


@pytest.mark.parametrize("kind", KINDS)
def test_wait_for_captured_event_forks_capture(bench: Bench, kind: str) -> None:
    memory = bench.bytes(12, fill=0)
    parent, child = lists(bench)
    fork, join = events(bench, 2, kind)
    with recorded(bench, parent) as recording:
        fill(parent, address(memory), b"\x01", 4, signal=fork)
        assert not captures(child)
        copy(child, address(memory, 4), address(memory), 4, waits=[fork])
        assert captures(child)
        found, own = ctypes.c_void_p(), ctypes.c_void_p()
        check(ze.zeCommandListGetGraphExt(child, ctypes.byref(found)))
        check(ze.zeCommandListGetGraphExt(parent, ctypes.byref(own)))
        assert found.value == own.value
        barrier(child, signal=join)
        copy(parent, address(memory, 8), address(memory, 4), 4, waits=[join])
    assert not captures(child)
    executable = instantiate(bench, recording.graph)
    for _ in range(3):
        memory[:] = 0
        replay(parent, executable)
        assert memory.tolist() == [1] * 12
    fill(child, address(memory), b"\x02", 4)
    finish(child)
    assert memory[0] == 2


def test_forks_may_fork_again(bench: Bench) -> None:
    memory = bench.bytes(16, fill=0)
    first, second, third = lists(bench, 3)
    down, further, up, home = bench.events(4)
    with recorded(bench, first) as recording:
        fill(first, address(memory), b"\x01", 4, signal=down)
        copy(second, address(memory, 4), address(memory), 4, signal=further, waits=[down])
        copy(third, address(memory, 8), address(memory, 4), 4, signal=up, waits=[further])
        barrier(second, signal=home, waits=[up])
        copy(first, address(memory, 12), address(memory, 8), 4, waits=[home])
    replay(first, instantiate(bench, recording.graph))
    assert memory.tolist() == [1] * 16


def test_a_parent_may_signal_its_child_again(bench: Bench) -> None:
    memory = bench.bytes(8, fill=0)
    parent, child = lists(bench)
    fork, again, early, join = bench.events(4)
    with recorded(bench, parent) as recording:
        barrier(parent, signal=fork)
        barrier(child, signal=early, waits=[fork])
        fill(parent, address(memory), b"\x04", 4, signal=again, waits=[early])
        copy(child, address(memory, 4), address(memory), 4, signal=join, waits=[again])
        barrier(parent, waits=[join])
    replay(parent, instantiate(bench, recording.graph))
    assert memory.tolist() == [4] * 8


def test_an_unjoined_fork_makes_the_graph_invalid(bench: Bench) -> None:
    parent, child = lists(bench)
    memory, fork = bench.bytes(4, fill=0), bench.event()
    begin(parent)
    barrier(parent, signal=fork)
    fill(child, address(memory), b"\x01", 4, waits=[fork])
    graph = end(bench, parent, UNJOINED)
    assert "forked" in last_error()
    assert not captures(parent)
    assert not captures(child)
    assert is_empty(graph) == ze.ZE_RESULT_ERROR_INVALID_GRAPH
    unused = ctypes.byref(ctypes.c_void_p())
    assert ze.zeGraphInstantiateExt(graph, None, unused) == ze.ZE_RESULT_ERROR_INVALID_GRAPH
    finish(child)
    assert not memory.any()


def test_work_after_the_join_is_unjoined(bench: Bench) -> None:
    parent, child = lists(bench)
    memory = bench.bytes(4, fill=0)
    fork, join = bench.events(2)
    begin(parent)
    barrier(parent, signal=fork)
    fill(child, address(memory), b"\x01", 4, signal=join, waits=[fork])
    barrier(parent, waits=[join])
    fill(child, address(memory), b"\x02", 4)
    end(bench, parent, UNJOINED)


def test_wait_and_signal_after_join_are_allowed(bench: Bench) -> None:
    parent, child = lists(bench)
    memory = bench.bytes(4, fill=0)
    fork, join, later = bench.events(3)
    with recorded(bench, parent) as recording:
        barrier(parent, signal=fork)
        fill(child, address(memory), b"\x01", 4, signal=join, waits=[fork])
        barrier(parent, waits=[join])
        check(ze.zeCommandListAppendSignalEvent(child, later))
        check(ze.zeCommandListAppendWaitOnEvents(child, 1, handles(fork)))
    replay(parent, instantiate(bench, recording.graph))
    assert memory.tolist() == [1] * 4


def test_only_the_list_that_was_forked_from_joins(bench: Bench) -> None:
    first, second, third = lists(bench, 3)
    down, further, up, home = bench.events(4)
    begin(first)
    barrier(first, signal=down)
    barrier(second, signal=further, waits=[down])
    barrier(third, signal=up, waits=[further])
    barrier(second, signal=home)
    barrier(first, waits=[home, up])
    end(bench, first, UNJOINED)


def test_two_captures_cannot_be_merged(bench: Bench) -> None:
    first, second, third = lists(bench, 3)
    one, two = bench.events(2)
    begin(first)
    begin(second)
    barrier(first, signal=one)
    barrier(second, signal=two)
    wait = ze.zeCommandListAppendWaitOnEvents
    assert wait(first, 1, handles(two)) == MERGE
    assert wait(second, 2, handles(two, one)) == MERGE
    assert wait(third, 2, handles(one, two)) == MERGE
    assert not captures(third)
    end(bench, first)
    end(bench, second)


def test_forked_list_refuses_another_capture(bench: Bench) -> None:
    first, second = lists(bench)
    one, two = bench.events(2)
    begin(first)
    barrier(first, signal=one)
    barrier(second, signal=two, waits=[one])
    assert ze.zeCommandListBeginGraphCaptureExt(second, None) == INVALID
    unused = ctypes.byref(ctypes.c_void_p())
    assert ze.zeCommandListEndGraphCaptureExt(second, None, unused) == INVALID
    barrier(first, waits=[two])
    end(bench, first)


def test_list_unable_to_capture_cannot_be_forked(bench: Bench) -> None:
    parent = bench.immediate(in_order=True)
    regular = bench.list(in_order=True)
    synchronous = bench.immediate(mode=ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
    plain, counted = bench.event(), bench.counter_event()
    begin(parent)
    barrier(parent, signal=plain)
    barrier(parent, signal=counted)
    for commands in (regular, synchronous):
        for event in (plain, counted):
            result = ze.zeCommandListAppendBarrier(commands, None, 1, handles(event))
            assert result == WRONG_LIST
    end(bench, parent)


def test_internal_event_refuses_outside_signal(bench: Bench) -> None:
    parent, other = lists(bench)
    internal, external = bench.counter_event(), bench.counter_event(EXTERNAL)
    begin(parent)
    barrier(parent, signal=internal)
    barrier(parent, signal=external)
    signal = ze.zeCommandListAppendSignalEvent
    assert signal(other, internal) == ze.ZE_RESULT_ERROR_GRAPH_INTERNAL_EVENT
    check(signal(other, external))
    end(bench, parent)
    check(signal(other, internal))
    finish(other)


def test_events_of_an_ended_capture_make_no_forks(bench: Bench) -> None:
    parent, other = lists(bench)
    event = bench.event()
    with recorded(bench, parent):
        barrier(parent, signal=event)
    barrier(other, waits=[event])
    assert not captures(other)
    check(ze.zeEventHostSignal(event))
    finish(other)


def test_forked_list_may_be_destroyed_after_join(bench: Bench) -> None:
    parent, child = lists(bench)
    memory = bench.bytes(4, fill=0)
    fork, join = bench.events(2)
    with recorded(bench, parent) as recording:
        barrier(parent, signal=fork)
        fill(child, address(memory), b"\x01", 4, signal=join, waits=[fork])
        barrier(parent, waits=[join])
        bench.end(child)
    replay(parent, instantiate(bench, recording.graph))
    assert memory.tolist() == [1] * 4
