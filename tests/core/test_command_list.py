"""Command lists: what can be appended, on what, and what is kept alive meanwhile."""

from __future__ import annotations

import array
import gc
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import groundstate as gs
from groundstate import ze

SOURCES: dict[str, Any] = {
    "bytes": bytes(range(32)),
    "bytearray": bytearray(range(32)),
    "memoryview": memoryview(bytes(range(32))),
    "array": array.array("B", range(32)),
    "numpy": np.arange(32, dtype="uint8"),
    "numpy of two dimensions": np.arange(32, dtype="uint8").reshape(4, 8),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_anything_with_a_buffer_can_be_copied(ctx: gs.Context, source: Any) -> None:
    memory = ctx.alloc_device(32)
    back = np.zeros(32, "uint8")
    with gs.CommandList.immediate(ctx, in_order=True) as commands:
        commands.copy(memory, source)
        commands.copy(back, memory)
    assert back.tobytes() == bytes(range(32))


def test_copy_of_raw_address_requires_a_size(ctx: gs.Context) -> None:
    one, other = ctx.alloc_host(16), ctx.alloc_host(16)
    one.buffer()[:] = bytes(range(16))
    with gs.CommandList.immediate(ctx) as commands:
        commands.copy(other.address, one.address, 8)
        with pytest.raises(ValueError, match="the source is an address: say how much"):
            commands.copy(other, one.address)
    assert other.tobytes()[:8] == bytes(range(8))


def test_a_copy_has_to_fit(commands: gs.CommandList, ctx: gs.Context) -> None:
    small, large = ctx.alloc_host(4), ctx.alloc_host(8)
    with pytest.raises(ValueError, match="the destination has 4 bytes, fewer than 8"):
        commands.copy(small, large)
    with pytest.raises(ValueError, match="the source has 4 bytes, fewer than 5"):
        commands.copy(large, small, 5)
    with pytest.raises(ValueError, match="not negative"):
        commands.copy(large, small, -1)
    commands.copy(large, small)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (b"constant", "cannot write to this bytes"),
        (np.zeros((4, 4))[:, ::2], "cannot write to this ndarray"),
        ("text", "cannot write to this str"),
    ],
)
def test_what_cannot_be_written_is_refused(
    commands: gs.CommandList, target: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        commands.copy(target, b"x")


def test_number_fills_elements_bytes_fill_bytes(ctx: gs.Context) -> None:
    floats, bytes_, pairs = ctx.alloc_host(4, "float32"), ctx.alloc_host(4), ctx.alloc_host(8)
    halves, complexes = ctx.alloc_host(2, "float16"), ctx.alloc_host(2, "complex64")
    plain = bytearray(3)
    with gs.CommandList.immediate(ctx) as commands:
        commands.fill(floats, 1.25)
        commands.fill(bytes_, 7)
        commands.fill(pairs, b"ab")
        commands.fill(halves, 0.5)
        commands.fill(complexes, 1 + 2j)
        commands.fill(plain, 255)
        with pytest.raises(OverflowError, match="an integer from 0 to 255"):
            commands.fill(plain, 256)
    assert floats.tolist() == [1.25] * 4
    assert bytes_.tolist() == [7] * 4
    assert pairs.tobytes() == b"abababab"
    assert halves.tolist() == [0.5, 0.5]
    assert complexes.tolist() == [1 + 2j, 1 + 2j]
    assert plain == b"\xff\xff\xff"


def test_a_part_can_be_filled(ctx: gs.Context, commands: gs.CommandList) -> None:
    memory = ctx.alloc_host((3, 2), "int32")
    commands.fill(memory, 1)
    commands.fill(memory[1], 5)
    commands.fill(memory[2], 9, 4)
    commands.synchronize()
    assert memory.tolist() == [[1, 1], [5, 5], [9, 1]]


def test_regions_of_arrays_know_their_pitch(ctx: gs.Context) -> None:
    rng = np.random.default_rng(1)
    source = rng.integers(0, 255, (6, 7, 8), "uint8")
    target = ctx.alloc_host((5, 6, 9))
    region = gs.Region(x=1, y=2, z=1, width=4, height=3, depth=2)
    with gs.CommandList.immediate(ctx, in_order=True) as commands:
        commands.fill(target, 0)
        commands.copy_region(target, source, region, source_origin=(3, 1, 2))
    expected = np.zeros((5, 6, 9), "uint8")
    expected[1:3, 2:5, 1:5] = source[2:4, 1:4, 3:7]
    assert (target.numpy() == expected).all()


def test_a_region_has_to_fit(ctx: gs.Context, commands: gs.CommandList) -> None:
    board = ctx.alloc_host((4, 4))
    with pytest.raises(ValueError, match="the destination has 16 bytes, fewer than"):
        commands.copy_region(board, ctx.alloc_host((8, 8)), gs.Region(y=3, width=4, height=2))
    with pytest.raises(ValueError, match="the source has 16 bytes, fewer than"):
        commands.copy_region(
            ctx.alloc_host((8, 8)), board, gs.Region(width=4, height=2), source_origin=(0, 3)
        )


def test_pitches_can_be_given(ctx: gs.Context) -> None:
    source, target = bytes(range(12)), bytearray(4)
    with gs.CommandList.immediate(ctx) as commands:
        commands.copy_region(
            target,
            source,
            gs.Region(width=1, height=4),
            source_pitch_bytes=3,
            destination_pitch_bytes=1,
        )
    assert list(target) == [0, 3, 6, 9]


def test_memory_of_another_context_can_be_copied(ctx: gs.Context, gpu: gs.Device) -> None:
    with gs.Context(gpu) as other:
        source, target = other.alloc_host(4), ctx.alloc_host(4)
        source.buffer()[:] = b"over"
        with gs.CommandList.immediate(ctx) as commands:
            commands.copy(target, source)
        assert target.tobytes() == b"over"


def test_hints_and_barriers_are_taken(ctx: gs.Context, commands: gs.CommandList) -> None:
    memory = ctx.alloc_shared(4096)
    commands.prefetch(memory)
    commands.advise(memory, gs.Advice.SET_READ_MOSTLY)
    commands.barrier()
    commands.barrier(memory, memory[:100])
    commands.synchronize()


def test_the_device_writes_its_clock(ctx: gs.Context, commands: gs.CommandList) -> None:
    stamps = ctx.alloc_host(2, "uint64")
    commands.write_timestamp(stamps[0:1])
    commands.write_timestamp(stamps[1:2])
    commands.synchronize()
    first, second = stamps.tolist()
    assert 0 < first <= second
    with pytest.raises(ValueError, match="the destination has 4 bytes, fewer than 8"):
        commands.write_timestamp(ctx.alloc_host(4))


def test_a_host_function_runs_in_its_place(ctx: gs.Context) -> None:
    memory = ctx.alloc_host(1)
    seen: list[tuple[int, bool]] = []
    here = threading.get_ident()
    go = gs.EventPool(ctx, 1).event()
    with gs.CommandList.immediate(ctx, in_order=True) as commands:
        commands.wait(go)
        for value in (1, 2, 3):
            commands.fill(memory, value)
            commands.host_function(
                lambda: seen.append((memory.tolist()[0], threading.get_ident() == here))
            )
        assert seen == []
        go.signal()
    assert seen == [(1, False), (2, False), (3, False)]


def test_host_function_exception_is_reported(
    ctx: gs.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda problem: reported.append(problem.exc_type))
    with gs.CommandList.immediate(ctx) as commands:
        commands.host_function(lambda: 1 // 0)
    assert reported == [ZeroDivisionError]


def test_device_signals_waits_and_resets_events(ctx: gs.Context) -> None:
    pool = gs.EventPool(ctx, 3)
    go, middle, done = pool.event(), pool.event(), pool.event()
    with gs.CommandList.immediate(ctx, in_order=True) as commands:
        commands.wait(go)
        commands.signal(middle)
        commands.reset_event(go)
        commands.barrier(signal=done, wait=[middle])
        assert not middle.is_signaled
        go.signal()
    assert middle.is_signaled
    assert done.is_signaled
    assert not go.is_signaled


def test_query_timestamps_writes_events_to_memory(ctx: gs.Context, gpu: gs.Device) -> None:
    pool = gs.EventPool(ctx, 2, timestamps=True)
    events = [pool.event(), pool.event()]
    work = ctx.alloc_device(1 << 16)
    size = 2 * len(bytes(ze.ze_kernel_timestamp_result_t()))
    stamps, swapped = ctx.alloc_host(size), ctx.alloc_host(size)
    with gs.CommandList.immediate(ctx, in_order=True) as commands:
        for event in events:
            commands.fill(work, 1, signal=event)
        commands.query_timestamps(events, stamps)
        commands.query_timestamps(events, swapped, offsets_bytes=[size // 2, 0])
        with pytest.raises(ValueError, match="the destination has 8 bytes"):
            commands.query_timestamps(events, ctx.alloc_host(8))
    expected = [event.timestamps for event in events]
    assert gs.Timestamps.read(stamps, gpu) == expected
    assert gs.Timestamps.read(swapped, gpu) == expected[::-1]
    assert expected[0].end <= expected[1].start
    assert expected[0].duration_ns > 0
    assert expected[0].context_duration_ns == expected[0].duration_ns


def test_a_recorded_list_runs_as_often_as_wanted(ctx: gs.Context) -> None:
    memory, total = ctx.alloc_host(1, "int32"), []
    commands = gs.CommandList(ctx, in_order=True)
    commands.host_function(lambda: total.append(memory.tolist()[0]))
    assert "open" in repr(commands)
    commands.finish()
    commands.finish()
    assert "finished" in repr(commands)
    with gs.CommandQueue(ctx) as queue:
        queue.execute(commands, commands)
        queue.execute(commands)
    assert len(total) == 3


def test_finished_list_refuses_append_until_reset(ctx: gs.Context) -> None:
    memory = ctx.alloc_host(2)
    commands = gs.CommandList(ctx)
    commands.fill(memory, 1)
    commands.finish()
    with pytest.raises(gs.errors.InvalidArgument, match="closed"):
        commands.fill(memory, 2)
    commands.reset()
    commands.fill(memory, 3)
    with gs.CommandQueue(ctx) as queue:
        queue.execute(commands)
    assert memory.tolist() == [3, 3]


def test_an_immediate_list_runs_recorded_ones(ctx: gs.Context) -> None:
    memory = ctx.alloc_host(4)
    first, second = gs.CommandList(ctx), gs.CommandList(ctx)
    first.fill(memory, 1)
    second.fill(memory[:2], 2)
    done = gs.EventPool(ctx, 1).event()
    commands = gs.CommandList.immediate(ctx, in_order=True)
    commands.execute(first, second, signal=done)
    done.wait()
    assert memory.tolist() == [2, 2, 1, 1]


def test_a_clone_has_the_same_commands(ctx: gs.Context) -> None:
    memory = ctx.alloc_host(2)
    original = gs.CommandList(ctx, cloneable=True)
    original.fill(memory, 6)
    clone = original.clone()
    original.close()
    del original
    gc.collect()
    with gs.CommandQueue(ctx) as queue:
        queue.execute(clone)
    assert memory.tolist() == [6, 6]


def test_only_immediate_lists_can_be_waited_for(ctx: gs.Context) -> None:
    with pytest.raises(TypeError, match="only an immediate list can be waited for"):
        gs.CommandList(ctx).synchronize()


def test_lists_with_all_options(ctx: gs.Context) -> None:
    gs.CommandList(ctx, relaxed_ordering=True, maximize_throughput=True, copy_offload=True)
    gs.CommandList.immediate(
        ctx,
        ordinal=1,
        index=1,
        mode=gs.QueueMode.ASYNCHRONOUS,
        priority=gs.QueuePriority.HIGH,
        copy_offload=True,
    )


def test_command_keeps_its_memory_alive_until_run(ctx: gs.Context) -> None:
    class Array(np.ndarray[Any, Any]):
        """An array that can be referred to weakly."""

    source = np.full(1 << 16, 5, "uint8").view(Array)
    reference = weakref.ref(source)
    memory, target = ctx.alloc_host(1 << 16), ctx.alloc_host(1 << 16)
    go = gs.EventPool(ctx, 1).event()
    commands = gs.CommandList.immediate(ctx, in_order=True)
    commands.copy(memory, source, wait=go)
    commands.copy(target, memory)
    memory.close()
    del source, memory
    gc.collect()
    assert reference() is not None
    assert not commands.is_idle
    go.signal()
    commands.synchronize()
    assert target.tolist() == [5] * (1 << 16)
    gc.collect()
    assert reference() is None
    assert commands.is_idle


def test_recorded_list_keeps_memory_while_it_runs(ctx: gs.Context) -> None:
    memory, target = ctx.alloc_host(1 << 16), ctx.alloc_host(1 << 16)
    go = gs.EventPool(ctx, 1).event()
    commands, queue = gs.CommandList(ctx, in_order=True), gs.CommandQueue(ctx)
    commands.fill(memory, 8, wait=go)
    commands.copy(target, memory)
    queue.execute(commands)
    commands.reset()
    memory.close()
    del memory
    gc.collect()
    go.signal()
    queue.synchronize()
    assert target.tolist() == [8] * (1 << 16)


def test_what_was_used_is_let_go_without_waiting(ctx: gs.Context) -> None:
    commands = gs.CommandList.immediate(ctx, in_order=True)
    target = ctx.alloc_host(4)
    for _ in range(2000):
        commands.copy(target, bytearray(4))
    assert len(commands.recorded.take()) < 2000


def test_threads_append_to_their_own_lists(ctx: gs.Context) -> None:
    problems: list[BaseException] = []

    def work(number: int) -> None:
        try:
            memory = ctx.alloc_host(256, "int32")
            with gs.CommandList.immediate(ctx, in_order=True, index=number % 2) as commands:
                for turn in range(200):
                    commands.fill(memory, number * 1000 + turn)
            assert memory.tolist() == [number * 1000 + 199] * 256
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
