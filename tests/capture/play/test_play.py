"""Streams are played with present handles and addresses, and what differs is said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from groundstate import ze
from groundstate.capture.describe import NamedCall
from groundstate.capture.play import Options, Player
from groundstate.capture.stream import StreamReader
from tests.capture.stream.making import Given, Stream, made, one

pytestmark = pytest.mark.usefixtures("library")

SIZE = 100_000


@contextmanager
def player_of(path: Path, library: Path, options: Options | None = None) -> Iterator[Player]:
    with StreamReader(path) as reader:
        player = Player(reader, str(library), options)
        try:
            yield player
        finally:
            player.close()


class Watcher:
    """Remembers what some call left in memory."""

    def __init__(self, number: int, address: int, size: int) -> None:
        self.where = (number, address, size)
        self.seen = b""
        self.names: list[str] = []

    def before(self, player: Player, call: NamedCall) -> None:
        self.names.append(call.name)

    def after(self, player: Player, call: NamedCall, result: int) -> None:
        if call.number == self.where[0]:
            assert player.idle()
            self.seen = player.memory.read(*self.where[1:])


def test_play_copies_between_host_device_program(tmp_path: Path, library: Path) -> None:
    data = Random(1).randbytes(SIZE)
    program, result = 0x5555_1234_5678, 0x7FFC_0000_1230
    with Stream(tmp_path / "s.gsstream") as stream:
        context, device = stream.begin()
        host = stream.allocate("Host", context, device, SIZE)
        on_device = stream.allocate("Device", context, device, SIZE)
        shared = stream.allocate("Shared", context, device, SIZE)
        copier = stream.immediate(context, device)
        stream.writes(program, data)
        stream.copy(copier, host, program, SIZE)
        stream.copy(copier, on_device, host, SIZE)
        stream.copy(copier, shared + 16, on_device + 16, SIZE - 16)
        stream.copy(copier, result, shared, SIZE)
        last = stream.copy(copier, result, on_device, 16)
        for memory in (host, on_device, shared):
            stream.call("zeMemFree", context, memory)
        stream.call("zeCommandListDestroy", copier)
        stream.call("zeContextDestroy", context)
    with player_of(stream.path, library) as player:
        watcher = Watcher(last, result, SIZE)
        report = player.run(watcher)
        assert [str(each) for each in report.differences] == []
        assert watcher.seen == data
        assert watcher.names[:2] == ["zeInit", "zeDriverGet"]
        assert {each.kind for each in player.memory.ranges()} == {"program"}
    assert report.calls == len(watcher.names)


def test_play_zeroes_host_and_reads_device_memory(tmp_path: Path, library: Path) -> None:
    with Stream(tmp_path / "s.gsstream") as stream:
        context, device = stream.begin()
        host = stream.allocate("Host", context, device, SIZE)
        on_device = stream.allocate("Device", context, device, SIZE)
        copier = stream.immediate(context, device)
        stream.writes(host + 4096, b"x" * 10)
        stream.copy(copier, on_device, host, SIZE)
    with player_of(stream.path, library) as player:
        assert player.run().same
        assert player.memory.read(on_device, SIZE) == bytes(4096) + b"x" * 10 + bytes(SIZE - 4106)
        player.memory.write(on_device + 5, b"abc")
        assert player.memory.read(on_device, 9) == bytes(5) + b"abc\0"
        kinds = {each.start: each.kind for each in player.memory.ranges()}
        assert kinds == {host: "host", on_device: "device"}
        assert player.handle(context) != context


def test_other_results_are_differences(tmp_path: Path, library: Path) -> None:
    with Stream(tmp_path / "s.gsstream") as stream:
        context, _ = stream.begin()
        wrong = stream.call("zeContextGetStatus", context, result=ze.ZE_RESULT_ERROR_DEVICE_LOST)
        stream.call("zeContextGetStatus", 0, result=ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE)
        stream.call("zeNobodyKnowsThis", 0)
    with player_of(stream.path, library) as player:
        report = player.run()
    (difference,) = report.differences
    assert (difference.number, difference.kind) == (wrong, "result")
    assert difference.sentence == "was ZE_RESULT_ERROR_DEVICE_LOST and is ZE_RESULT_SUCCESS"
    assert report.left_out == 1
    assert "zeNobodyKnowsThis" in str(report.notes)
    assert report.as_json()["difference_count"] == 1


def test_play_remaps_missing_devices_and_queues(tmp_path: Path, library: Path) -> None:
    with Stream(tmp_path / "s.gsstream") as stream:
        context, _ = stream.begin(devices=3)
        half = stream.memory()
        count, answer = Given(one(1), one(1)), Given(0, half)
        stream.call("zeDeviceGetSubDevices", stream.devices[2], count, answer)
        copier = stream.immediate(context, half, ordinal=7, index=99)
        memory = stream.allocate("Device", context, half, SIZE)
        stream.copy(copier, memory, memory + 5000, 5000)
    with player_of(stream.path, library) as player:
        report = player.run()
        assert report.same, report.differences
        assert player.handle(half) == player.handle(stream.devices[2])
    notes = " / ".join(report.notes)
    assert "device 2 of the recording is missing here" in notes
    assert "queue group 7 of the recording is group 0 here" in notes
    assert "queue 99 of the recording" in notes


def event_in(stream: Stream, context: int) -> int:
    pool, event = stream.memory(), stream.memory()
    description = Given(made("ze_event_pool_desc_t", count=1, flags=1))
    stream.call("zeEventPoolCreate", context, description, 0, 0, Given(0, pool))
    stream.call("zeEventCreate", pool, Given(made("ze_event_desc_t")), Given(0, event))
    return event


def test_polls_wait_for_what_was_ready(tmp_path: Path, library: Path) -> None:
    with Stream(tmp_path / "s.gsstream") as stream:
        context, device = stream.begin()
        event, queue = event_in(stream, context), stream.memory()
        asynchronous = Given(made("ze_command_queue_desc_t", mode=2))
        stream.call("zeCommandListCreateImmediate", context, device, asynchronous, Given(0, queue))
        memory = stream.allocate("Device", context, device, 32 << 20)
        pattern = Given(b"abcd")
        fill = "zeCommandListAppendMemoryFill"
        stream.call("zeEventQueryStatus", event, result=ze.ZE_RESULT_NOT_READY)
        stream.call(fill, queue, memory, pattern, 4, 32 << 20, event, 0, 0)
        stream.call("zeEventQueryStatus", event, result=ze.ZE_RESULT_NOT_READY)
        stream.call("zeEventHostSynchronize", event, 0, result=ze.ZE_RESULT_NOT_READY)
        stream.call("zeEventQueryStatus", event)
        stream.call("zeEventHostSynchronize", event, 0)
    with player_of(stream.path, library) as player:
        report = player.run()
    assert [str(each) for each in report.differences] == []


def test_what_never_becomes_ready_is_given_up(tmp_path: Path, library: Path) -> None:
    with Stream(tmp_path / "s.gsstream") as stream:
        context, _ = stream.begin()
        event = event_in(stream, context)
        never = stream.call("zeEventQueryStatus", event)
        waits = stream.call("zeEventHostSynchronize", event, 2**64 - 1)
    with player_of(stream.path, library, Options(patience=0.01)) as player:
        report = player.run()
    assert [each.number for each in report.differences] == [never, waits]
    assert "is ZE_RESULT_NOT_READY" in report.differences[0].sentence
