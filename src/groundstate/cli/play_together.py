"""Plays the streams of several processes at the same time, each in a process of its own."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from groundstate.capture.play import PlayError, Report
from groundstate.capture.play.together import ENDED, Member, prepare, records_read
from groundstate.capture.stream import StreamReader
from groundstate.cli.progress import bar, is_watched

LOOK_S = 0.02
FLAGS = (
    "one_thread",
    "real_speed",
    "tools",
    "scan_pointers",
    "checked",
    "real_loader",
    "trust_native",
)
VALUES = ("patience", "memory_limit", "driver", "record", "topology", "memory", "threads")
SCRIPT_VALUES = ("script", "script_args", "script_out")
SCRIPT_FLAGS = ("stop_on_error", "sandbox")


def play(args: argparse.Namespace, streams: list[Path]) -> list[dict[str, Any]]:
    """The reports of all streams."""
    with tempfile.TemporaryDirectory(prefix="groundstate-play-") as name:
        folder = Path(name)
        prepare(folder, len(streams))
        outputs = [(folder / f"report-{number}").open("w+") for number in range(len(streams))]
        running = [
            subprocess.Popen(
                _command(args, stream, f"{folder}:{number}"),
                stdout=output,
                process_group=0,  # Ctrl-C is for this process, which ends the others
            )
            for number, (stream, output) in enumerate(zip(streams, outputs, strict=True))
        ]
        try:
            with bar(f"{len(streams)} processes", _records(streams)) as progress:
                _wait(folder, running, progress)
        finally:
            for process in running:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        for output in outputs:
            output.seek(0)
        texts = [output.read() for output in outputs]
        for output in outputs:
            output.close()
    return [
        _report(stream, process.returncode, text)
        for stream, process, text in zip(streams, running, texts, strict=True)
    ]


def _records(streams: list[Path]) -> int:
    """How many records there are in all streams, if somebody looks at the bar."""
    if not is_watched():
        return 0
    total = 0
    for stream in streams:
        with StreamReader(stream) as reader:
            total += len(reader)
    return total


def _wait(
    folder: Path, running: list[subprocess.Popen[bytes]], progress: Callable[[int], None] | None
) -> None:
    """Waits for all; one that dies is said to have ended, so that no other waits for it."""
    left = set(range(len(running)))
    while left:
        for number in [number for number in left if running[number].poll() is not None]:
            left.remove(number)
            Member(folder, number, 0.0).say(ENDED)
        if progress is not None:
            progress(records_read(folder))
        time.sleep(LOOK_S)


def _command(args: argparse.Namespace, stream: Path, together: str) -> list[str]:
    """The command line of the player of one stream."""
    command = [sys.executable, "-m", "groundstate", "play", "--json", "--together", together]
    command += [f"--{flag.replace('_', '-')}" for flag in FLAGS if getattr(args, flag)]
    values = VALUES if args.script is None else (*VALUES, *SCRIPT_VALUES)
    for name in values:
        value = getattr(args, name)
        if value is not None and value != "":
            command.append(f"--{name.replace('_', '-')}={value}")
    if args.script is not None:
        flags = [name for name in SCRIPT_FLAGS if getattr(args, name)]
        command += [f"--{name.replace('_', '-')}" for name in flags]
    command += [f"--pointer-at={each}" for each in args.pointer_at]
    return [*command, str(stream)]


def _report(stream: Path, status: int, text: str) -> dict[str, Any]:
    """What the player of a stream has said, or how it ended without a word."""
    if text:
        (report,) = json.loads(text)
        return dict(report)
    if status >= 0:
        raise PlayError(f"{stream.name} was not played")
    report = Report(stream=stream.name)
    report.differ(0, "player", "ended", f"it was ended by {signal.Signals(-status).name}")
    return report.as_json()
