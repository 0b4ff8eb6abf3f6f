"""Native modules of a recording are machine code: only one's own are run, unless told otherwise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import groundstate as gs
from groundstate import native_binary as envelope
from groundstate import signing, ze
from groundstate.capture.play import Options, Report
from tests.capture.play.test_play import event_in, player_of
from tests.capture.stream.making import Given, Stream, made

pytestmark = [pytest.mark.usefixtures("library"), pytest.mark.needs_compiler]

NATIVE = ze.ZE_MODULE_FORMAT_NATIVE


@pytest.fixture(scope="module")
def own(library: Path) -> bytes:
    with gs.Module(opencl="kernel void nothing() {}") as module:
        return module.native_binary()


@pytest.fixture
def strangers(own: bytes) -> bytes:
    """The same without our signature."""
    start = len(envelope.MAGIC) + 32
    return own[:start] + bytes(signing.SIGNATURE_BYTES) + own[start + 32 :]


def of_one(path: Path, binary: bytes) -> Path:
    """A stream that makes one native module."""
    with Stream(path) as stream:
        context, device = stream.begin()
        event_in(stream, context)
        fields = {"inputSize": len(binary), "pInputModule": 0x900}
        create(stream, context, device, fields, {0x900: Given(binary)})
    return path


def of_several(path: Path, binaries: list[bytes], sizes: list[int] | None = None) -> Path:
    """A stream that makes one module of several native ones."""
    with Stream(path) as stream:
        context, device = stream.begin()
        event_in(stream, context)
        places = [0x10000 * (number + 1) for number in range(len(binaries))]
        also = dict(zip(places, map(Given, binaries), strict=True))
        several = {"count": len(binaries), "inputSizes": 0x800, "pInputModules": 0x900}
        also[0x700] = Given(made("ze_module_program_exp_desc_t", **several))
        also[0x800] = Given(sizes or list(map(len, binaries)))
        also[0x900] = Given(places)
        create(stream, context, device, {"pNext": 0x700}, also)
    return path


def create(
    stream: Stream, context: int, device: int, fields: dict[str, int], also: dict[int, Given]
) -> None:
    module = stream.memory()
    description = Given(made("ze_module_desc_t", format=NATIVE, **fields))
    stream.call("zeModuleCreate", context, device, description, Given(0, module), 0, also=also)
    stream.call("zeModuleDestroy", module)


def played(path: Path, library: Path, **options: bool) -> Report:
    with player_of(path, library, Options(**options)) as player:
        return player.run()


def assert_refused(report: Report, sentence: str) -> None:
    assert report.differences[0].function == "zeModuleCreate"
    assert sentence in report.differences[0].sentence


def test_what_our_driver_made_is_played(tmp_path: Path, library: Path, own: bytes) -> None:
    assert played(of_one(tmp_path / "s.gsstream", own), library).count == 0
    assert played(of_several(tmp_path / "t.gsstream", [own, own]), library).count == 0


def test_a_strangers_module_is_not_made(tmp_path: Path, library: Path, strangers: bytes) -> None:
    report = played(of_one(tmp_path / "s.gsstream", strangers), library)
    assert_refused(report, "--trust-native")


def test_a_stranger_among_several_is_found(
    tmp_path: Path, library: Path, own: bytes, strangers: bytes
) -> None:
    report = played(of_several(tmp_path / "s.gsstream", [own, strangers]), library)
    assert_refused(report, "--trust-native")


@pytest.mark.parametrize("size", [1 << 20, 1 << 40, (1 << 64) - 1])
def test_module_size_beyond_recording_is_refused(
    tmp_path: Path, library: Path, own: bytes, size: int
) -> None:
    path = of_several(tmp_path / "s.gsstream", [own, own], [len(own), size])
    report = played(path, library, trust_native=True)
    assert_refused(report, "not all were recorded")


def play(path: Path, *options: str, **environment: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "groundstate", "play", "--json", *options, str(path)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    (report,) = json.loads(done.stdout)
    return dict(report)


def test_play_refuses_native_code_unless_trusted(tmp_path: Path, strangers: bytes) -> None:
    path = of_one(tmp_path / "s.gsstream", strangers)
    refused = play(path, GROUNDSTATE_NATIVE="trusted")  # which is meant for programs
    assert "--trust-native" in str(refused["differences"])
    assert play(path, "--trust-native")["same"]
    assert play(path, "--trust-native", GROUNDSTATE_NATIVE="never")["same"]


def test_the_driver_has_the_last_word(tmp_path: Path, own: bytes) -> None:
    path = of_one(tmp_path / "s.gsstream", own)
    assert not play(path, GROUNDSTATE_NATIVE="never")["same"]
