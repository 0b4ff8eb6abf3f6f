"""Programs that were recorded are played with identical memory, wherever that is now."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from groundstate.capture import place
from groundstate.capture.play import Options, Player, Report
from groundstate.capture.stream import StreamReader
from groundstate.compiler.frontend import compile_opencl
from tests.capture.recorded import built
from tests.guide.blocks import PROGRAMS as GUIDE
from tests.guide.kernels import write_kernels

from .conftest import PROGRAMS, ROOT, TIMEOUT

pytestmark = pytest.mark.usefixtures("headers", "library")

GROUNDSTATE = (sys.executable, "-m", "groundstate")
EXAMPLES = ("03_commands", "05_events", "07_kernels", "10_graphs")
OTHERS = {"opencl_interop"}
"""Programs whose memory comes from somebody else, who is not recorded."""
SEVERAL = {"ipc_events", "ipc_memory"}
"""Programs of several processes."""
FILES = {"external_image"}
"""Programs that read from files of their own, which a recording does not have."""


@dataclass(frozen=True)
class Recorded:
    """How to make a recording of a program."""

    name: str
    source: Path
    arguments: tuple[str, ...] = ()
    kernels: str = ""  # what is compiled first: "guide", or the name of a file
    environment: dict[str, str] = field(default_factory=dict)
    status: int = 0

    def make(self, folder: Path) -> Path:
        """Records the program and gives back the folder with its streams."""
        out, kernels = folder / self.name, folder / f"{self.name}-kernels"
        command = [*self._program(folder), *self.arguments]
        if self.kernels == "guide":
            write_kernels(self.name, kernels)
            command.append(str(kernels))
        elif self.kernels:
            spirv = folder / f"{self.name}.spv"
            spirv.write_bytes(compile_opencl((PROGRAMS / self.kernels).read_text("utf-8")))
            command.insert(1, str(spirv))
        out.mkdir()
        environment = {**os.environ, **place.environment(os.environ, out, results=True)}
        done = subprocess.run(
            command,
            env={**environment, **self.environment},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        assert done.returncode == self.status, f"{command}: {done.stdout}{done.stderr}"
        return out

    def _program(self, folder: Path) -> list[str]:
        if self.source.suffix == ".py":
            return [sys.executable, str(self.source)]
        (folder / f"{self.name}-built").mkdir()
        return [str(built(self.source, folder / f"{self.name}-built"))]


def guide_programs() -> list[Recorded]:
    folder = ROOT / "tests" / "guide"
    return [
        Recorded(each.name, folder / f"{each.name}.c", (), "guide", each.environment)
        for each in GUIDE
        if each.name not in OTHERS
    ]


ALL = {
    each.name: each
    for each in [
        *guide_programs(),
        *(Recorded(name, ROOT / "examples" / f"{name}.py") for name in EXAMPLES),
        Recorded("hello", ROOT / "examples" / "hello.c"),
        Recorded("pipeline", PROGRAMS / "pipeline.c"),
        Recorded("threads", PROGRAMS / "threads.c"),
        Recorded("scaling", PROGRAMS / "images.c", (), "images.cl"),
        Recorded("launches", PROGRAMS / "launches.c", ("forms",), "launches.cl"),
        Recorded("killed", PROGRAMS / "abandon.c", ("kill",), status=-signal.SIGKILL),
    ]
}

Recording = Callable[[str], Path]


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """The folder of a program's recording; all are made side by side when the first is needed."""
    folder = tmp_path_factory.mktemp("recordings")
    futures: dict[str, Future[Path]] = {}
    pool = ThreadPoolExecutor(os.cpu_count())

    def recorded(name: str) -> Path:
        if not futures:
            futures.update({each: pool.submit(ALL[each].make, folder) for each in ALL})
        return futures[name].result()

    return recorded


def played_here(path: Path, library: Path, options: Options) -> Report:
    with StreamReader(path) as reader:
        player = Player(reader, str(library), options)
        try:
            return player.run()
        finally:
            player.close()


def played_elsewhere(out: Path, *options: str, status: int = 0) -> list[dict[str, Any]]:
    done = subprocess.run(
        [*GROUNDSTATE, "play", "--json", *options, str(out)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == status, done.stdout + done.stderr
    reports: list[dict[str, Any]] = json.loads(done.stdout)
    return reports


def differences(report: Report) -> list[str]:
    return [str(each) for each in report.differences]


HERE = [name for name in ALL if name not in SEVERAL | FILES and not ALL[name].environment]


@pytest.mark.parametrize("name", HERE)
def test_programs(name: str, recording: Recording, library: Path) -> None:
    (path,) = place.streams_in(recording(name))
    options = Options(threads=True, patience=2.0, scan_pointers=name == "residency")
    report = played_here(path, library, options)
    assert differences(report) == []
    assert report.calls > 5
    assert report.damage is None


@pytest.mark.parametrize("name", [name for name in ALL if ALL[name].environment])
def test_programs_of_other_machines(name: str, recording: Recording, library: Path) -> None:
    """What was recorded on several devices or sub-devices is played on the one that is here."""
    (path,) = place.streams_in(recording(name))
    report = played_here(path, library, Options())
    assert differences(report) == []
    if name != "affinity_mask":
        assert "is missing here" in str(report.notes)


@pytest.mark.parametrize("name", sorted(SEVERAL))
def test_programs_of_several_processes(name: str, recording: Recording) -> None:
    out = recording(name)
    reports = played_elsewhere(out)
    assert [report["difference_count"] for report in reports] == [0, 0]
    assert sum(report["memory_compared"] for report in reports) > 0


def test_files_of_the_program_are_empty(recording: Recording) -> None:
    """An image that was imported from a file can be made and used, but not with the same texels."""
    (report,) = played_elsewhere(recording("external_image"), status=1)
    assert {each["kind"] for each in report["differences"]} == {"memory"}
    assert "an empty one takes its place" in report["notes"][0]["note"]


@pytest.mark.parametrize(
    "options",
    [
        ("--topology=2x2",),
        ("--checked",),
        ("--real-loader",),
        ("--one-thread", "--real-speed"),
    ],
    ids=lambda options: options[0],
)
def test_other_ways_to_play(options: tuple[str, ...], recording: Recording) -> None:
    (report,) = played_elsewhere(recording("scaling"), *options)
    assert report["differences"] == []
    assert report["memory_compared"] > 100


def test_a_played_recording_is_recorded_again(recording: Recording, tmp_path: Path) -> None:
    (first,) = played_elsewhere(recording("scaling"), "--record", str(tmp_path / "again"))
    (again,) = played_elsewhere(tmp_path / "again")
    assert again["differences"] == []
    assert again["calls"] >= first["calls"]  # the player asks some questions of its own


def test_addresses_in_buffers_are_left_unless_told(recording: Recording) -> None:
    (report,) = played_elsewhere(recording("residency"), status=1)
    assert any("see --scan-pointers" in each["note"] for each in report["notes"])
    assert report["differences"][0]["kind"] == "memory"
    assert "of add_up left" in report["differences"][0]["sentence"]


def test_the_python_of_the_page_runs(recording: Recording, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "playing.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    (tmp_path / "trace").symlink_to(recording("indirect_launch"))
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr


def test_what_is_said_in_text(recording: Recording) -> None:
    command = [*GROUNDSTATE, "play", "--topology", "2", str(recording("hello"))]
    said = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert said.returncode == 0, said.stderr
    assert "12 calls in" in said.stdout
    assert said.stdout.endswith(" 0 not as recorded\n")
    nothing = subprocess.run([*command[:-1], __file__], capture_output=True, text=True)
    assert nothing.returncode == 2
    assert "this is no recording" in nothing.stderr
