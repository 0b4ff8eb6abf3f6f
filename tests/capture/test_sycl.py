"""A SYCL program, through dpctl, is recorded, played and cut with identical memory."""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

import pytest

from groundstate.capture import place
from groundstate.capture.describe import NamedCall
from groundstate.capture.play import Player
from groundstate.capture.stream import StreamReader
from groundstate.capture.structure import Outline
from groundstate.capture.subcapture import cut_by_kernel

from .cuts import assert_same_memory, cut_by, memory_after, memory_in
from .recorded import PROGRAMS, only_stream, record, spirv_of

SYCL_PYTHON = Path(sys.prefix) / "sycl" / "bin" / "python"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The recorded stream, and what the program printed."""
    if not SYCL_PYTHON.exists():
        pytest.skip("there is no Python with dpctl: make .venv/sycl/.installed")
    folder = tmp_path_factory.mktemp("sycl")
    spirv = spirv_of(PROGRAMS / "numbered.cl", folder)
    printed = record(folder / "out", SYCL_PYTHON, PROGRAMS / "sycl.py", spirv)
    return only_stream(folder / "out"), printed


class LastContents:
    """Remembers what was in memory when it was freed, or at the end."""

    def __init__(self, places: list[tuple[int, int]]) -> None:
        self.places = places
        self.sums: dict[int, int] = {}

    def before(self, player: Player, call: NamedCall) -> None:
        if call.name.startswith("zeMemFree"):
            self.look(player, call.argument("ptr"))

    def after(self, player: Player, call: NamedCall, result: int) -> None:
        pass

    def look(self, player: Player, start: int | None = None) -> None:
        """Reads the places in the allocation that begins there, or in all that are left."""
        assert player.idle()
        for address, size in self.places:
            found = player.memory.find(address)
            if found is not None and start in (None, found.start):
                self.sums[address] = zlib.crc32(player.memory.read(address, size))


def test_played_memory_is_what_the_program_saw(recording: tuple[Path, str]) -> None:
    stream, printed = recording
    lines = [line.split() for line in printed.splitlines()]
    said = {int(address, 16): int(crc) for address, _, crc in lines}
    observer = LastContents([(int(address, 16), int(size)) for address, size, _ in lines])
    with StreamReader(stream) as reader:
        player = Player(reader, str(place.driver()))
        report = player.run(observer)
        observer.look(player)
        player.close()
    assert report.differences == []
    assert len(said) == 3
    assert observer.sums == said


def test_its_kernels_have_places_and_can_be_cut_out(
    recording: tuple[Path, str], tmp_path: Path
) -> None:
    stream, _ = recording
    with StreamReader(stream) as reader:
        launches = Outline(reader).submissions.launches
    assert [launch.kernel for launch in launches] == ["step", "twist", "twist"] * 2
    target = tmp_path / "one.gsstream"
    outcome = cut_by(stream, target, lambda found: cut_by_kernel(found.submissions, "twist", 3))
    part, whole = memory_in(target), memory_after(stream, outcome.last)
    assert_same_memory(part, whole)
    assert target.stat().st_size < stream.stat().st_size
