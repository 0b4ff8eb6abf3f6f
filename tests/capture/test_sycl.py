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
from tests.capture.recorded import PROGRAMS, only_stream, record, spirv_of
from tests.capture.stream.cuts import assert_same_memory, cut_by, memory_after, memory_in

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


def arrays_in(printed: str) -> list[tuple[int, int, int]]:
    """Where the program says that its arrays are, how large, and the sums of what is in them."""
    lines = [line.split() for line in printed.splitlines()]
    return [(int(address, 16), int(size), int(crc)) for address, size, crc in lines]


def only_arrays(memory: dict[int, bytes], printed: str) -> dict[int, bytes]:
    """What the program has put there; the runtime takes larger pieces, and the rest is anything."""
    return {
        address: data[address - start :][:size]
        for start, data in memory.items()
        for address, size, _ in arrays_in(printed)
        if start <= address < start + len(data)
    }


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
    arrays = arrays_in(printed)
    said = {address: crc for address, _, crc in arrays}
    observer = LastContents([(address, size) for address, size, _ in arrays])
    with StreamReader(stream) as reader:
        player = Player(reader, str(place.driver()))
        report = player.run(observer)
        observer.look(player)
        player.close()
    assert report.differences == []
    assert len(said) == 3
    assert observer.sums == said


def test_sycl_kernels_are_listed_and_cut_out(recording: tuple[Path, str], tmp_path: Path) -> None:
    stream, printed = recording
    with StreamReader(stream) as reader:
        launches = Outline(reader).submissions.launches
    assert [launch.kernel for launch in launches] == ["step", "twist", "twist"] * 2
    target = tmp_path / "one.gsstream"
    outcome = cut_by(stream, target, lambda found: cut_by_kernel(found.submissions, "twist", 3))
    part, whole = memory_in(target), memory_after(stream, outcome.last)
    assert only_arrays(part, printed)
    assert_same_memory(only_arrays(part, printed), only_arrays(whole, printed))
    assert target.stat().st_size < stream.stat().st_size
