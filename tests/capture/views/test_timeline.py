"""The timeline has every call and every command, where and when they were."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from groundstate.capture.views.spans import LANE_LIMIT, Span, Timeline, Track
from groundstate.capture.views.timeline import PROGRESS_STEP, Moves, timeline_of
from groundstate.cli.main import main
from tests.capture.stream.making import Stream
from tests.capture.stream.streams import example, work
from tests.capture.views.viewed_program import record_program
from tests.terminal import errors_on_a_terminal

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def found(tmp_path: Path) -> Timeline:
    return timeline_of([work(tmp_path / "work.gsstream")], "work")


def track(found: Timeline, name: str) -> Track:
    (one,) = [each for each in found.tracks if each.name == name]
    return one


def test_threads_have_their_calls(found: Timeline) -> None:
    calls = track(found, "thread 0").spans
    assert [call.category for call in calls].count("wait") == 2
    assert [call.name for call in calls if call.category == "submit"] == [
        "zeCommandQueueExecuteCommandLists"
    ]
    assert all(not call.estimated for call in calls)
    assert all(earlier.end <= later.start for earlier, later in pairwise(calls))


def test_measured_commands_use_device_timestamps(found: Timeline) -> None:
    submit = next(s for s in track(found, "thread 0").spans if s.category == "submit")
    kernel, copy = track(found, "queue 1").spans
    assert (kernel.name, kernel.category, kernel.estimated) == ("scale", "kernel", False)
    assert kernel.start == submit.start
    assert kernel.end - kernel.start == 2000 * 10  # ticks of 10 ns, over the end of 32 bits
    assert "groups 4 x 2 x 1" in kernel.note
    assert "3/1/1" in kernel.note or "2/1/1" in kernel.note
    assert (copy.name, copy.category, copy.estimated) == ("memory copy", "copy", True)
    assert copy.start == kernel.end
    assert "4,096 bytes to 0x5000 from 0x6000" in copy.note
    wait = next(s for s in track(found, "thread 0").spans if s.category == "wait")
    assert copy.end == wait.end
    (whole,) = track(found, "queue 1, submissions").spans
    assert (whole.start, whole.end) == (submit.start, wait.end)


def test_unmeasured_spans_are_even_and_estimated(found: Timeline) -> None:
    first, second = track(found, "immediate list 1").spans
    assert {first.name, second.name} == {"add_up"}
    assert first.estimated
    assert second.estimated
    wait = track(found, "thread 0").spans[-1]
    assert first.end <= second.start
    assert second.end == wait.end
    appended = [s for s in track(found, "thread 0").spans if "LaunchKernel" in s.name][1:]
    assert [first.start, second.start] >= [each.start for each in appended]


def test_durations_of_a_play_are_used(tmp_path: Path) -> None:
    path = work(tmp_path / "work.gsstream")
    plain = timeline_of([path], "work")
    submission = next(s for s in track(plain, "thread 0").spans if s.category == "submit")
    record = int(submission.note.split()[1])
    played = timeline_of([path], "work", durations={path: {(record, 1): 700}})
    copy = track(played, "queue 1").spans[1]
    assert (copy.end - copy.start, copy.estimated) == (700, False)


def test_rows_never_cover_each_other() -> None:
    spans = [Span(start, start + 10, "x", "kernel") for start in (0, 5, 10, 12, 20)]
    rows = Track(1, "queue", "queue", spans).lanes()
    assert len(rows) == 3
    assert sorted(span.start for row in rows for span in row) == [0, 5, 10, 12, 20]
    assert all(earlier.end <= later.start for row in rows for earlier, later in pairwise(row))
    many = [Span(0, 10, "x", "kernel")] * (3 * LANE_LIMIT)
    rows = Track(1, "queue", "queue", many).lanes()
    assert len(rows) == LANE_LIMIT
    assert sum(map(len, rows)) == len(many)


def test_the_trace_is_what_viewers_read(tmp_path: Path) -> None:
    example(tmp_path / "one.gsstream")
    work(tmp_path / "two.gsstream")
    assert main(["stream", "timeline", str(tmp_path), "-o", str(tmp_path / "t.json")]) == 0
    trace = json.loads((tmp_path / "t.json").read_text())
    events = trace["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X"}
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    spans = [event for event in events if event["ph"] == "X"]
    assert {(event["pid"], event["tid"]) for event in spans} <= named
    (kernel,) = [event for event in spans if event["name"] == "scale"]
    assert kernel["dur"] == 20  # microseconds
    assert kernel["cat"] == "kernel"
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert names == ["one.gsstream", "two.gsstream"]


def long_stream(path: Path) -> Path:
    """A stream of more calls than a bar moves on by at a time."""
    with Stream(path) as stream:
        context, _ = stream.begin()
        for _ in range(3 * PROGRESS_STEP):
            stream.call("zeContextGetStatus", context)
    return path


def test_a_bar_is_moved_on_to_the_end(tmp_path: Path) -> None:
    totals: list[tuple[str, int]] = []
    moved: list[int] = []

    @contextmanager
    def bar(title: str, total: int) -> Iterator[Moves]:
        totals.append((title, total))
        yield moved.append

    timeline_of([long_stream(tmp_path / "long.gsstream")], "long", bar=bar)
    ((title, total),) = totals
    assert (title, moved[-1]) == ("long.gsstream", total)
    assert total > 3 * PROGRESS_STEP
    assert len(moved) >= 4
    assert moved == sorted(moved)


@pytest.mark.parametrize(("wanted", "is_shown"), [("1", True), ("0", False)])
def test_progress_is_shown_on_a_terminal(wanted: str, is_shown: bool, tmp_path: Path) -> None:
    stream, out = long_stream(tmp_path / "long.gsstream"), tmp_path / "t.html"
    command = ("-m", "groundstate", "stream", "timeline", str(stream), "-o", str(out))
    shown = errors_on_a_terminal(*command, GROUNDSTATE_PROGRESS=wanted, COLUMNS="300")
    for words in ("long.gsstream", "100%", f"writing {out}"):
        assert (words in shown) is is_shown
    assert bool(shown) is is_shown
    assert out.exists()


def test_progress_is_not_written_into_a_pipe(tmp_path: Path, capfd: Captured) -> None:
    stream, out = long_stream(tmp_path / "long.gsstream"), tmp_path / "t.json"
    assert main(["stream", "timeline", str(stream), "-o", str(out)]) == 0
    assert capfd.readouterr().err == ""


def test_wrong_words_are_answered_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = example(tmp_path / "one.gsstream")
    with pytest.raises(SystemExit) as ended:
        main(["stream", "timeline", str(path), "-o", str(tmp_path / "x.svg")])
    assert ended.value.code == 2
    assert "must end in .html or .json" in capsys.readouterr().err
    assert main(["stream", "timeline", str(path), "-o", str(tmp_path / "no" / "x.html")]) == 1
    assert "x.html: no such file" in capsys.readouterr().err
    out = ["-o", str(tmp_path / "x.html"), "--calls", "2"]
    assert main(["stream", "timeline", str(path), *out]) == 0
    assert "only the first 2 calls" in capsys.readouterr().out
    path.write_bytes(path.read_bytes()[:-200])
    assert main(["stream", "timeline", str(path), "-o", str(tmp_path / "x.html")]) == 1
    assert "damaged at byte" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "how"), [("--no-times", "measured in a play"), ("", "measured by the recorder")]
)
def test_play_measures_kernels_recorder_did_not(
    tmp_path: Path, library: Path, option: str, how: str
) -> None:
    recorded = record_program(tmp_path / "out", options=(option,) if option else ())
    out = tmp_path / "t.json"
    assert main(["stream", "timeline", str(recorded), "--play", "-o", str(out)]) == 0
    events = json.loads(out.read_text())["traceEvents"]
    kernels = [each for each in events if each["ph"] == "X" and "kernel" in each["cat"]]
    assert [each["name"] for each in kernels] == ["scale", "root", "scale", "root", "paint"]
    for each in kernels:
        assert each["cat"] == "kernel"
        assert each["dur"] > 0
        assert how in each["args"]["note"]
