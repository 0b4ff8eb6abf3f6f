"""What devices wrote is compared; addresses inside buffers are found where they are said to be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groundstate.capture.play import Options, PlayError
from groundstate.capture.play.errors import UnplayableError
from groundstate.capture.play.memory import PAGE, ProgramMemory, Range, Ranges
from groundstate.capture.play.pointers_inside import places_in
from groundstate.capture.stream.formats import PAGE as PIECE
from tests.capture.play.test_play import player_of
from tests.capture.stream.making import Given, Stream

SIZE = 3 * PIECE


def copied(path: Path, claimed: bytes) -> tuple[Stream, int]:
    """A stream in which a copy leaves what `claimed` says, or not."""
    with Stream(path) as stream:
        context, device = stream.begin()
        host = stream.allocate("Host", context, device, SIZE)
        target = stream.allocate("Shared", context, device, SIZE)
        copier = stream.immediate(context, device)
        stream.writes(host, b"a" * SIZE)
        number = stream.copy(copier, target, host, SIZE)
        stream.results(target, claimed)
    return stream, number


@pytest.mark.usefixtures("library")
def test_equal_memory_is_no_difference(tmp_path: Path, library: Path) -> None:
    stream, _ = copied(tmp_path / "s.gsstream", b"a" * SIZE)
    with player_of(stream.path, library) as player:
        report = player.run()
    assert report.same
    assert (report.writes, report.compared) == (1, 3)


@pytest.mark.usefixtures("library")
def test_the_first_piece_that_differs_is_named(tmp_path: Path, library: Path) -> None:
    claimed = b"a" * PIECE + b"b" * PIECE + b"c" * PIECE
    stream, number = copied(tmp_path / "s.gsstream", claimed)
    with player_of(stream.path, library) as player:
        (difference,) = player.run().differences
    assert difference.kind == "memory"
    assert f"(offset {PIECE} of shared memory)" in difference.sentence
    assert f"(zeCommandListAppendMemoryCopy, record {number})" in difference.sentence


@pytest.mark.usefixtures("library")
def test_memory_with_times_is_not_compared(tmp_path: Path, library: Path) -> None:
    with Stream(tmp_path / "s.gsstream") as stream:
        context, device = stream.begin()
        host = stream.allocate("Host", context, device, SIZE)
        copier = stream.immediate(context, device)
        stream.call("zeCommandListAppendWriteGlobalTimestamp", copier, host + PIECE, 0, 0, 0)
        stream.results(host, bytes(PIECE) + b"x" * PIECE + bytes(PIECE))
    with player_of(stream.path, library) as player:
        report = player.run()
    assert [str(each) for each in report.differences] == []
    assert (report.compared, report.not_compared) == (2, 1)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("manner", ["none", "scan", "declared"])
def test_addresses_inside_buffers(manner: str, tmp_path: Path, library: Path) -> None:
    with Stream(tmp_path / "s.gsstream") as stream:
        context, device = stream.begin()
        first = stream.allocate("Shared", context, device, SIZE)
        second = stream.allocate("Host", context, device, SIZE)
        copier = stream.immediate(context, device)
        words = [7, second + 100, 5, first, second + SIZE]
        content = b"".join(word.to_bytes(8, "little") for word in words)
        stream.writes(first, content)
        stream.copy(copier, second, first, len(content))
        stream.results(second, content)
    options = {
        "none": Options(),
        "scan": Options(scan_pointers=True),
        "declared": Options(
            pointers_at=frozenset({first + 8, first + 24, second + 8, second + 24})
        ),
    }[manner]
    with player_of(stream.path, library, options) as player:
        report = player.run()
        present = {each.start: each.present for each in player.memory.ranges()}
        found = player.memory.read(second, len(content))
    seen = [int.from_bytes(found[at : at + 8], "little") for at in range(0, len(found), 8)]
    expected = words.copy()
    if manner != "none":
        expected[1], expected[3] = present[second] + 100, present[first]
    assert seen == expected
    assert report.same  # compared as if memory were where it was


def test_places_are_numbers_or_files_of_them(tmp_path: Path) -> None:
    path = tmp_path / "places.json"
    path.write_text(json.dumps([16, "0x20", {"address": "0x100", "stride": 24, "count": 3}]))
    assert places_in(["8", str(path)]) == {8, 16, 32, 256, 280, 304}
    path.write_text('[{"stride": 8}]')
    with pytest.raises(PlayError, match="not understood"):
        places_in([str(path)])
    with pytest.raises(PlayError, match="neither an address nor"):
        places_in(["0xzz"])


def test_ranges_are_found_by_any_address_in_them() -> None:
    ranges = Ranges()
    ranges.add(Range(100, 50, 1100, "host"))
    ranges.add(Range(200, 10, 2200, "host"))
    assert ranges.find(99) is None
    found = ranges.find(149)
    assert found is not None
    assert found.at(149) == 1149
    assert ranges.find(150) is None
    ranges.add(Range(140, 65, 3000, "shared"))  # where others had been
    assert [each.start for each in ranges] == [140]
    assert ranges.remove(141) is None
    assert ranges.remove(140) is not None
    assert list(ranges) == []


def test_program_memory_keeps_address_distances() -> None:
    memory, start = ProgramMemory(limit=256 * PAGE), 0x7FFC_0000_0000
    stack = memory.at(start + PAGE - 16, 32)
    assert memory.at(start + 2 * PAGE, 8) == stack + PAGE + 16
    assert memory.known(start + PAGE) == stack + 16
    assert memory.known(start + 3 * PAGE) is None
    sizes = [(each.start, each.size) for each in memory.ranges()]
    assert sizes == [(start, 3 * PAGE)]
    with pytest.raises(UnplayableError, match=f"more than the limit of {256 * PAGE >> 20} MiB"):
        memory.at(0x5555_0000_0000, 1 << 30)
    with pytest.raises(UnplayableError, match="no memory"):
        memory.at(2**64 - 16, 32)
    assert memory.usable == 3 * PAGE
    for page in (9, 11, 10, 8, 20):  # in a row in the end
        memory.at(start + page * PAGE + 1, PAGE - 2)
    rows = [((each.start - start) // PAGE, each.size // PAGE) for each in memory.ranges()]
    assert rows == [(0, 3), (8, 4), (20, 1)]
    assert memory.usable == 8 * PAGE


def test_memory_of_the_program_is_given_back() -> None:
    """Whole windows of addresses are set aside, of which there are not even as many as this."""
    for _ in range(3000):
        memory = ProgramMemory(limit=PAGE)
        memory.at(0x7F00_0000_0000, 8)
        memory.close()


@pytest.mark.usefixtures("library")
def test_arguments_of_kernels_that_are_addresses(tmp_path: Path, library: Path) -> None:
    with Stream(tmp_path / "s.gsstream") as stream:
        context, device = stream.begin()
        host = stream.allocate("Host", context, device, SIZE)
        kernel, value = stream.memory(), (host + 16).to_bytes(8, "little")
        failing = "zeKernelSetArgumentValue"
        stream.call(failing, kernel, 0, 8, Given(value), result=0x78000005)
    with player_of(stream.path, library) as player:
        assert player.run().calls == 6
        present = player.memory.find(host)
        assert present is not None
        assert player.names.argument(value) == (present.present + 16).to_bytes(8, "little")
        assert player.names.argument(value[:4]) == value[:4]
        assert player.names.argument(bytes(8)) == bytes(8)
