"""What is no recording, or a damaged one, is one line and status 1, in every command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from groundstate.capture.stream import compression
from groundstate.capture.stream.formats import Codec
from groundstate.capture.stream.layout import StreamError
from groundstate.cli.main import main
from tests.capture.recorded import GROUNDSTATE, TIMEOUT, only_stream
from tests.capture.stream.streams import example

COMMANDS: dict[str, list[str]] = {
    "info": ["stream", "info"],
    "calls": ["stream", "calls"],
    "stats": ["stream", "stats"],
    "timeline": ["stream", "timeline", "-o", "timeline.html"],
    "dump": ["stream", "dump", "-o", "dump"],
    "diff": ["stream", "diff", "--right", "threads=1"],
    "play": ["play"],
    "list": ["subcapture", "--list"],
    "subcapture": ["subcapture", "-o", "cut", "--range", "1"],
}


def spoiled(folder: Path, how: str) -> Path:
    path = folder / "one.gsstream"
    if how == "nothing there":
        return path
    if how == "empty folder":
        path.mkdir()
        return path
    data = example(path).read_bytes()
    path.write_bytes(
        {
            "no file of ours": b"hello world" * 100,
            "empty": b"",
            "cut in its header": data[:20],
            "cut behind its header": data[:32],
            "cut in a chunk": data[:80],
            "cut before its end": data[:-50],
            "a flipped bit": data[:70] + bytes([data[70] ^ 1]) + data[71:],
        }[how]
    )
    return path


REASONS = {
    "nothing there": "no such file",
    "empty folder": "there is no recording in this folder",
    "no file of ours": "this is no recording",
    "empty": "this is no recording",
    "cut in its header": "the file ends inside the header",
    "cut behind its header": "the end is missing",
    "cut in a chunk": "damaged at byte 32",
    "cut before its end": "at byte",
    "a flipped bit": "damaged at byte 32: a chunk does not match its checksum",
}


@pytest.mark.parametrize("how", REASONS)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_cannot_be_read_is_said_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    library: Path,
    command: str,
    how: str,
) -> None:
    path = spoiled(tmp_path, how)
    monkeypatch.chdir(tmp_path)
    with mock.patch.dict(os.environ):
        status = main([*COMMANDS[command], str(path)])
    said = capfd.readouterr()
    lines = [line for line in said.err.splitlines() if line.startswith("groundstate ")]
    assert status == 1
    assert any(REASONS[how] in line for line in lines), said.err
    assert "[Errno" not in said.err
    assert "Traceback" not in said.err
    assert " 0 spans" not in said.out
    if command not in ("diff", "dump"):  # of which the other process may say something, too
        assert said.err.count("\n") == 1


def test_a_timeline_without_spans_is_not_written(tmp_path: Path) -> None:
    path = spoiled(tmp_path, "cut in a chunk")
    assert main(["stream", "timeline", str(path), "-o", str(tmp_path / "t.html")]) == 1
    assert not (tmp_path / "t.html").exists()


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*GROUNDSTATE, *map(str, command)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )


@pytest.mark.parametrize(
    "command",
    [
        ("record", "-o", "a/out", "--", "sh", "-c", "kill $$"),
        ("record", "-o", "a/out", "--script", "none.lua", "--", "true"),
        ("record", "-o", "a/out", "--", "./no-such-program"),
        ("play", "one.gsstream", "--record", "a/out", "--driver", "/no/such.so"),
        ("play", "one.gsstream", "--script", "none.lua", "--script-out", "a/out"),
    ],
    ids=["killed", "script", "program", "driver", "script of a play"],
)
def test_what_fails_leaves_no_empty_folder(
    command: tuple[str, ...], tmp_path: Path, library: Path
) -> None:
    example(tmp_path / "one.gsstream")
    done = run(*command, cwd=tmp_path)
    assert done.returncode != 0
    assert done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["one.gsstream"]


def test_record_notes_program_without_level_zero(tmp_path: Path, library: Path) -> None:
    done = run("record", "-o", "out", "--", "sh", "-c", "exit 7", cwd=tmp_path)
    assert done.returncode == 7
    assert done.stderr.startswith("groundstate record: nothing was recorded: sh did not open Level")
    assert not (tmp_path / "out").exists()


def test_record_ends_with_where_the_recording_is(tmp_path: Path, library: Path) -> None:
    program = "import groundstate as gs; gs.devices()"
    done = run("record", "-o", "out", "--", sys.executable, "-c", program, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith("groundstate record: the recording is in out: 1 process, ")
    assert only_stream(tmp_path / "out").exists()
    again = run("record", "-o", "out", "--", "true", cwd=tmp_path)
    assert again.returncode == 1
    assert again.stderr.startswith("groundstate record: out: has a recording already")


@pytest.mark.parametrize("name", ["TERM", "KILL", "ABRT"])
def test_record_ends_as_its_program_does(tmp_path: Path, library: Path, name: str) -> None:
    done = run("record", "--", "sh", "-c", f"kill -{name} $$", cwd=tmp_path)
    assert -done.returncode == {"TERM": 15, "KILL": 9, "ABRT": 6}[name]
    assert "was killed by signal" in done.stderr


def test_record_passes_a_signal_on(tmp_path: Path, library: Path) -> None:
    program = "trap 'echo heard; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
    command = [*GROUNDSTATE, "record", "--", "sh", "-c", program]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.terminate()
        out, _ = running.communicate(timeout=TIMEOUT)
    assert (out, running.returncode) == ("heard\n", 3)


@pytest.mark.parametrize("command", [["subcapture", "--list"], ["stream", "calls"]])
def test_closed_output_pipe_is_no_error(tmp_path: Path, recorded: Path, command: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [*GROUNDSTATE, *command, str(recorded)],
            stdout=closed,
            stderr=subprocess.PIPE,
            timeout=TIMEOUT,
        )
    assert (done.returncode, done.stderr) == (0, b"")


def test_system_libzstd_reads_without_zstandard() -> None:
    payload = bytes(range(256)) * 64
    codec, frame = compression.compress(payload)
    assert codec == Codec.ZSTD
    with mock.patch.dict(sys.modules, {"zstandard": None}):
        assert compression.decompress(codec, frame, len(payload)) == payload
        assert compression.compress(payload)[0] == Codec.STORED
        with pytest.raises(StreamError, match="holds a frame of another size"):
            compression.decompress(codec, frame, len(payload) - 1)
        with pytest.raises(StreamError, match="cannot be decompressed"):
            compression.decompress(codec, frame[:-9], len(payload))


def test_missing_zstd_names_package_to_install() -> None:
    _, frame = compression.compress(bytes(10000))
    nothing = mock.patch.object(compression, "_library", return_value=None)
    with (
        mock.patch.dict(sys.modules, {"zstandard": None}),
        nothing,
        pytest.raises(compression.CompressionMissing, match="pip install zstandard"),
    ):
        compression.decompress(Codec.ZSTD, frame, 10000)
