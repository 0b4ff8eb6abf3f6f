"""Streams of several processes keep their order, and tell each other what handles are now."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from groundstate import ze
from groundstate.capture.play import Options, Player
from groundstate.capture.play.together import ENDED, Member, prepare
from groundstate.capture.stream import StreamReader
from tests.capture.play.test_play import event_in, player_of
from tests.capture.stream.making import Given, Stream, made

PATIENT = 30.0


def test_a_member_waits_for_what_returned_before(tmp_path: Path) -> None:
    prepare(tmp_path, 2)
    one, other = Member(tmp_path, 0, PATIENT), Member(tmp_path, 1, PATIENT)
    order: list[str] = []

    def wait() -> None:
        assert one.wait_for_others(100)
        order.append("waited")

    waiting = threading.Thread(target=wait)
    waiting.start()
    for moment in (50, 100):
        other.say(moment)
    order.append("said")
    other.say(101)
    waiting.join()
    assert order == ["said", "waited"]
    other.say(ENDED)
    assert one.wait_for_others(ENDED - 1)


def test_nobody_waits_for_ever(tmp_path: Path) -> None:
    prepare(tmp_path, 3)
    assert not Member(tmp_path, 1, 0.01).wait_for_others(5)


def test_handles_are_handed_on(tmp_path: Path) -> None:
    prepare(tmp_path, 2)
    one, other = Member(tmp_path, 0, PATIENT), Member(tmp_path, 1, PATIENT)
    assert other.find(b"recorded") is None
    one.give(b"recorded", b"present")
    assert other.find(b"recorded") == b"present"


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("threads", [False, True], ids=["one thread", "threads"])
def test_memory_is_shared_between_players(threads: bool, tmp_path: Path, library: Path) -> None:
    """One stream exports memory and the other opens it, both with threads of their own."""
    handle, data = bytes(range(64)), b"what was written " * 100
    with Stream(tmp_path / "a.gsstream") as first:
        context, device = first.begin()
        memory = first.allocate("Device", context, device, 4096)
        first.call("zeMemGetIpcHandle", context, memory, Given(bytes(64), handle))
        copier = first.immediate(context, device)
        first.writes(0x5555_0000_0000, data)
        for thread in (0, 1):
            first.copy(copier, memory, 0x5555_0000_0000, len(data), thread=thread)
    with Stream(tmp_path / "b.gsstream") as second:
        context, device = second.begin()
        opened = second.memory()
        options = {"also": {0x900: Given(handle)}}
        arguments = (context, device, 0x900, 0, Given(0, opened))
        second.call("zeMemOpenIpcHandle", *arguments, **options)
    folder = tmp_path / "together"
    folder.mkdir()
    prepare(folder, 2)
    options_of_all = Options(threads=threads)
    with Member(folder, 0, 0.0) as member, StreamReader(first.path) as reader:
        exporter = Player(reader, str(library), options_of_all, member)
        assert exporter.run().same
        with StreamReader(second.path) as other:
            importer = Player(other, str(library), options_of_all, Member(folder, 1, PATIENT))
            assert importer.run().same
            assert importer.memory.read(opened, len(data)) == data
            importer.close()
        exporter.close()


@pytest.mark.usefixtures("library")
def test_native_code_of_another_driver_is_named(tmp_path: Path, library: Path) -> None:
    with Stream(tmp_path / "s.gsstream") as stream:
        context, device = stream.begin()
        event_in(stream, context)
        code = b"\x7fELF of somebody else"
        description = made(
            "ze_module_desc_t",
            format=ze.ZE_MODULE_FORMAT_NATIVE,
            inputSize=len(code),
            pInputModule=0x900,
        )
        also = {0x900: Given(code)}
        answer = Given(0, stream.memory())
        create = "zeModuleCreate"
        stream.call(create, context, device, Given(description), answer, 0, also=also)
    with player_of(stream.path, library, Options(trust_native=True)) as player:
        report = player.run()
    assert report.count == 1
    assert "native code of the driver that it was recorded with" in str(report.notes)
