"""What `groundstate stream info`, `calls` and `stats` say is what is in the stream."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from groundstate.capture.stream import StreamReader
from groundstate.capture.views.spread import KEPT, Spread
from groundstate.capture.views.summary import summarise
from groundstate.capture.views.tally import tally
from groundstate.cli.main import main
from tests.capture.stream.streams import example, work


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    return example(tmp_path / "example-7.gsstream")


def test_facts_of_a_stream(stream: Path) -> None:
    facts = summarise(stream)
    assert (facts.finished, facts.problem, facts.calls, facts.failed) == (True, None, 6, 1)
    assert (facts.functions, facts.threads, facts.duration) == (5, 2, 9040)
    assert facts.about["argument"] == ["./example", "a b"]
    assert [device.kind for device in facts.devices] == ["GPU"]
    (module,) = facts.modules
    assert (module.form, module.size, module.options) == ("IL_SPIRV", 64, "-ze-opt-level=2")
    assert facts.records["call"] == 6
    assert (facts.contents, facts.content_bytes) == (2, 64 + 4096)


def test_info_in_text_and_json(stream: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stream", "info", str(stream)]) == 0
    said = capsys.readouterr().out
    assert "./example 'a b'" in said
    assert "a \\x1b[31m device (type GPU)" in said
    assert "6 of 5 functions by 2 threads; 1 failed" in said
    assert "whole" in said
    assert main(["stream", "info", "--json", str(stream.parent)]) == 0
    (facts,) = json.loads(capsys.readouterr().out)["streams"]
    assert facts["calls"] == 6
    assert facts["modules"][0]["options"] == "-ze-opt-level=2"


def test_statistics_of_calls_and_memory(stream: Path) -> None:
    with StreamReader(stream) as reader:
        found = tally(reader)
    asked = found.functions["zeEventQueryStatus"]
    assert asked.data() == {
        "function": "zeEventQueryStatus",
        "failed": 0,
        "time_ns": {"count": 2, "total": 40, "min": 10, "median": 10, "max": 30},
    }
    assert found.functions["zeMemFree"].failed == 1
    memory = found.memory
    assert (memory.writes, memory.written, memory.in_blocks) == (1, 3 * 4096, 64)
    assert memory.stored == 4096 + 64
    assert memory.ratio == (3 * 4096 + 64) / (4096 + 64)


def test_stats_in_text_and_json(stream: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stream", "stats", str(stream), "--sort", "count", "--top", "2"]) == 0
    heading, columns, first, *_ = capsys.readouterr().out.splitlines()
    assert heading.startswith("example-7.gsstream  6 calls in 9.04 µs")
    assert columns.split()[:3] == ["function", "calls", "failed"]
    assert first.split()[:4] == ["zeEventQueryStatus", "2", "40", "ns"]
    assert main(["stream", "stats", "--json", str(stream)]) == 0
    (data,) = json.loads(capsys.readouterr().out)["streams"]
    assert data["calls"] == 6
    assert data["memory"]["deduplication"] == pytest.approx(2.97, abs=0.01)


def test_statistics_of_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = work(tmp_path / "work.gsstream")
    with StreamReader(path) as reader:
        found = {each.name: each for each in tally(reader).commands}
    assert set(found) == {"scale", "add_up", "memory copy"}
    scale = found["scale"].data()
    assert (scale["groups"], scale["items"], scale["measured"]) == (8, 8 * 64, 1)
    assert scale["group_sizes"] == {"64 x 1 x 1": 1}
    assert scale["time_ns"]["total"] == 20_000
    assert (found["add_up"].time.count, found["add_up"].certainty) == (2, "estimated")
    assert found["memory copy"].data()["bytes"] == 4096
    assert main(["stream", "stats", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    (row,) = [line.split() for line in lines if line.startswith("scale")]
    assert row[:3] == ["scale", "1", "20.0"]
    assert row[-1] == "measured"
    assert main(["stream", "stats", "--json", str(path)]) == 0
    (data,) = json.loads(capsys.readouterr().out)["streams"]
    assert [each["name"] for each in data["kernels"]] == ["scale", "add_up"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], ["zeInit", "zeDeviceGetProperties", "zeModuleCreate", *["zeEventQueryStatus"] * 2]),
        (["--failed"], ["zeMemFree"]),
        (["--thread", "1"], ["zeEventQueryStatus"] * 2),
        (["--function", "zeM*Create", "--function", "zeInit"], ["zeInit", "zeModuleCreate"]),
        (["--thread", "1", "--longer-than", "0.00000002"], ["zeEventQueryStatus"]),
        (["--records", "-2"], ["zeInit"]),
        (["--records", "99-"], []),
    ],
)
def test_calls_are_chosen(
    stream: Path, options: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["stream", "calls", str(stream), "--json", *options]) == 0
    found = [json.loads(line)["function"] for line in capsys.readouterr().out.splitlines()]
    assert found == (expected if options else [*expected, "zeMemFree"])


def test_a_call_as_json(stream: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stream", "calls", str(stream), "--json", "--function", "zeModuleCreate"]) == 0
    data = json.loads(capsys.readouterr().out)
    described = data["arguments"]["desc"]["before"]
    assert described["format"] == "ZE_MODULE_FORMAT_IL_SPIRV"
    assert described["pBuildFlags"] == "0x4000"
    assert data["arguments"]["phModule"]["after"] == "0x9000"
    assert data["arguments"]["phBuildLog"] is None
    assert data["result"] == "ZE_RESULT_SUCCESS"


def test_wrong_words_are_answered_with_a_sentence(
    stream: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for view in ("info", "calls", "stats"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        assert main(["stream", view, str(tmp_path / "empty")]) == 1
        assert "there is no recording in" in capsys.readouterr().err
        (tmp_path / "text").write_text("not a stream")
        assert main(["stream", view, str(tmp_path / "text")]) == 1
        assert "this is no recording" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["stream", "calls", str(stream), "--records", "a-b"])
    assert ended.value.code == 2
    assert "100-200" in capsys.readouterr().err


def test_the_median_of_many_is_near() -> None:
    spread = Spread()
    values = list(range(3 * KEPT))
    random.Random(1).shuffle(values)
    for value in values:
        spread.add(value)
    assert (spread.count, spread.least, spread.most) == (3 * KEPT, 0, 3 * KEPT - 1)
    assert spread.median == pytest.approx(1.5 * KEPT, rel=0.02)
