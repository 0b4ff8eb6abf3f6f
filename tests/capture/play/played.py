"""Plays recordings for tests: many in one process that has a topology or a loader of its own.

`python -m tests.capture.play.played LIBRARY STREAM...` prints a report for each stream, one in
a line. A plus sign before a stream says that it has addresses in buffers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from groundstate.capture import place
from groundstate.capture.play import Options, Player, Report
from groundstate.capture.stream import StreamReader
from tests.capture.programs import Recorded, Recordings
from tests.capture.recorded import GROUNDSTATE, ROOT, TIMEOUT
from tests.patience import FACTOR

PATIENCE_S = 10.0 * FACTOR
TOPOLOGY = {"GROUNDSTATE_TOPOLOGY": "2x2"}
CHECKED = {"ZE_ENABLE_VALIDATION_LAYER": "1", "ZE_ENABLE_PARAMETER_VALIDATION": "1"}


def played_here(path: Path, library: str, scans: bool = False) -> Report:
    """Plays a stream in this process."""
    with StreamReader(path) as reader:
        options = Options(threads=True, patience=PATIENCE_S, scan_pointers=scans)
        player = Player(reader, library, options)
        try:
            return player.run()
        finally:
            player.close()


def played_as_recorded(recorded: Recorded, out: Path, library: Path) -> Report:
    """Plays the only stream of a recording in this process; nothing may differ."""
    (path,) = place.streams_in(out)
    report = played_here(path, str(library), recorded.scans)
    assert [str(each) for each in report.differences] == []
    assert report.calls > 5
    assert report.damage is None
    return report


def played_elsewhere(out: Path, *options: str, status: int = 0) -> list[dict[str, Any]]:
    """Plays a recording by the command, and hands back the reports of its streams."""
    done = subprocess.run(
        [*GROUNDSTATE, "play", "--json", *options, str(out)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == status, done.stdout + done.stderr
    reports: list[dict[str, Any]] = json.loads(done.stdout)
    return reports


def all_played(
    recordings: Sequence[tuple[Recorded, Path]], variables: dict[str, str], library: Path
) -> dict[str, dict[str, Any]]:
    """Plays recordings one after the other in another process, with some variables set."""
    names = [recorded.name for recorded, _ in recordings]
    streams = ["+" * recorded.scans + str(place.streams_in(out)[0]) for recorded, out in recordings]
    done = subprocess.run(
        [sys.executable, "-m", "tests.capture.play.played", str(library), *streams],
        cwd=ROOT,
        env={**os.environ, "ZE_ENABLE_ALT_DRIVERS": str(place.driver()), **variables},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    reports = [json.loads(line) for line in done.stderr.splitlines() if line[:1] == "{"]
    assert len(reports) == len(streams), f"{names[len(reports)]}: {done.stdout}{done.stderr}"
    return dict(zip(names, reports, strict=True))


def differences(reports: dict[str, dict[str, Any]]) -> dict[str, list[Any]]:
    """What was not as recorded, by the programs of which something was not."""
    return {name: each["differences"][:3] for name, each in reports.items() if not each["same"]}


def played_elsewhere_as_recorded(
    way: str, programs: list[Recorded], recordings: Recordings, library: Path
) -> None:
    """Plays what can be on a "topology" of several devices, or "checked" by a loader's layer."""
    checked = way == "checked"
    through = place.machine_loader() if checked else library
    possible = [
        (each, recordings[each.name])
        for each in programs
        if not (each.too_new if checked else each.large)
    ]
    reports = all_played(possible, CHECKED if checked else TOPOLOGY, through)
    assert differences(reports) == {}
    assert sum(report["memory_compared"] for report in reports.values()) > 100


def main() -> None:
    """Plays the streams that the command line names."""
    library, *streams = sys.argv[1:]
    for stream in streams:
        path = Path(stream.removeprefix("+"))
        report = played_here(path, library, scans=stream.startswith("+"))
        print(json.dumps(report.as_json()), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
