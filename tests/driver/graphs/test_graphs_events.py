"""Events in graphs: plain ones, and those that follow counters inside and outside."""

import pytest

from groundstate import ze
from tests.conftest import check
from tests.driver.graphs.graphs import EXTERNAL, append, instantiate, recorded, replay
from tests.driver.support import (
    FOREVER,
    Bench,
    address,
    barrier,
    copy,
    fill,
    finish,
    handles,
    is_signalled,
)


@pytest.fixture(params=[False, True], ids=["out of order", "in order"])
def commands(request: pytest.FixtureRequest, bench: Bench) -> int:
    """An immediate list, which may be in order or not."""
    return bench.immediate(in_order=request.param)


def test_external_event_follows_latest_graph_run(bench: Bench) -> None:
    commands, other = bench.immediate(in_order=True), bench.immediate(in_order=True)
    memory, event = bench.bytes(8, fill=0), bench.counter_event(EXTERNAL)
    gate = bench.event()
    with recorded(bench, commands) as recording:
        fill(commands, address(memory), b"\x01", 4)
        barrier(commands, signal=event)
    executable = instantiate(bench, recording.graph)
    for _ in range(3):
        memory[:] = 0
        check(ze.zeEventHostReset(gate))
        check(append(commands, executable, waits=[gate]))
        copy(other, address(memory, 4), address(memory), 4, waits=[event])
        assert not is_signalled(event)
        assert not memory.any()
        check(ze.zeEventHostSignal(gate))
        check(ze.zeEventHostSynchronize(event, FOREVER))
        finish(other)
        assert memory.tolist() == [1] * 8


def test_graph_wait_binds_counter_event_at_append(bench: Bench) -> None:
    """A graph waits for what the event stands for when the run is appended."""
    commands, other = bench.immediate(in_order=True), bench.immediate(in_order=True)
    memory, event = bench.bytes(8, fill=0), bench.counter_event(EXTERNAL)
    gates = bench.events(2)
    with recorded(bench, commands) as recording:
        copy(commands, address(memory), address(memory, 4), 4, waits=[event])
    executable = instantiate(bench, recording.graph)
    for turn, gate in enumerate(gates):
        fill(other, address(memory, 4), bytes([turn + 1]), 4, signal=event, waits=[gate])
        check(append(commands, executable))
    assert ze.zeCommandListHostSynchronize(commands, 10_000_000) == ze.ZE_RESULT_NOT_READY
    assert not memory.any()
    check(ze.zeEventHostSignal(gates[0]))
    check(ze.zeEventHostSignal(gates[1]))
    finish(commands)
    assert memory.tolist() == [2] * 8


def test_internal_counter_events_stay_inside(bench: Bench) -> None:
    """After the capture the event can be used for something else, and a replay ignores that."""
    commands, other = bench.immediate(in_order=True), bench.immediate(in_order=True)
    memory, event = bench.bytes(4, fill=0), bench.counter_event()
    with recorded(bench, commands) as recording:
        barrier(commands, signal=event)
        fill(commands, address(memory), b"\x02", 4, waits=[event])
    executable = instantiate(bench, recording.graph)
    gate = bench.event()
    barrier(other, signal=event, waits=[gate])
    replay(commands, executable)
    assert memory.tolist() == [2] * 4
    assert not is_signalled(event)
    check(ze.zeEventHostSignal(gate))
    finish(other)
    assert is_signalled(event)


def test_event_reset_in_graph_waits_for_outside(bench: Bench, commands: int) -> None:
    memory, event = bench.bytes(4, fill=0), bench.event()
    with recorded(bench, commands) as recording:
        barrier(commands, signal=event)
        check(ze.zeCommandListAppendEventReset(commands, event))
        fill(commands, address(memory), b"\x02", 4, waits=[event])
    check(append(commands, instantiate(bench, recording.graph)))
    assert ze.zeCommandListHostSynchronize(commands, 10_000_000) == ze.ZE_RESULT_NOT_READY
    assert not memory.any()
    check(ze.zeEventHostSignal(event))
    finish(commands)
    assert memory.tolist() == [2] * 4


def test_aggregates_are_added_to_in_each_run(bench: Bench) -> None:
    """A wait inside the graph is for all signals, also those from outside."""
    commands, other = bench.immediate(in_order=True), bench.immediate(in_order=True)
    words, memory = bench.bytes(8, fill=0), bench.bytes(4, fill=0)
    storage = ze.ze_event_counter_based_external_aggregate_storage_desc_t(
        deviceAddress=address(words), incrementValue=1, completionValue=2
    )
    event = bench.counter_event(chained=storage)
    with recorded(bench, commands) as recording:
        barrier(commands, signal=event)
        fill(commands, address(memory), b"\x06", 4, waits=[event])
    check(append(commands, instantiate(bench, recording.graph)))
    assert ze.zeCommandListHostSynchronize(commands, 10_000_000) == ze.ZE_RESULT_NOT_READY
    assert not memory.any()
    barrier(other, signal=event)
    finish(commands)
    assert memory.tolist() == [6] * 4
    assert words.view("uint64")[0] == 2


def test_internal_event_timestamps_are_written(bench: Bench) -> None:
    commands = bench.immediate(in_order=True)
    flags = ze.ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP
    event, stamps = bench.counter_event(flags), bench.bytes(32, fill=0)
    with recorded(bench, commands) as recording:
        fill(commands, address(stamps), b"\0", 32, signal=event)
        check(
            ze.zeCommandListAppendQueryKernelTimestamps(
                commands, 1, handles(event), address(stamps), None, None, 0, None
            )
        )
    executable = instantiate(bench, recording.graph)
    starts = []
    for _ in range(2):
        replay(commands, executable)
        start, end = (int(each) for each in stamps.view("uint64")[:2])
        assert 0 < start <= end
        starts.append(start)
    assert starts[0] <= starts[1]
