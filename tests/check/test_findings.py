"""Findings are merged, counted and told: to a file, or on stderr."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from groundstate import findings
from groundstate.excerpt import Place
from groundstate.findings import Finding
from tests.terminal import errors_on_a_terminal

PLACE = Place("blur.cl", 17, 9, "    out[i + 1] = sum;", "", "argument 1 'out'")
WRITE = Finding(
    "memory",
    "out-of-bounds-write",
    "out-of-bounds write of 4 bytes",
    [PLACE],
    ["allocated by zeMemAllocDevice   app.c:88  upload()"],
    kernel="blur",
    work_item=(1024, 0, 0),
    group=(4, 0, 0),
)
LEAK = Finding("host", "leaked-object", "an event is never destroyed", notes=["made by main()"])


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file for the findings of this process, which has found nothing yet."""
    path = tmp_path / "findings.jsonl"
    monkeypatch.setenv("GROUNDSTATE_CHECK_OUTPUT", str(path))
    monkeypatch.setattr(findings, "_tellers", {})
    return path


@pytest.fixture
def on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROUNDSTATE_CHECK_OUTPUT", raising=False)
    monkeypatch.setattr(findings, "_tellers", {})


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_finding_survives_json() -> None:
    again = Finding.from_json(json.loads(json.dumps(WRITE.as_json() | {"process": 1})))
    assert again.as_json() == WRITE.as_json()
    assert again.places == [PLACE]
    assert again.key() == WRITE.key()


def test_finding_is_a_line_of_json(output: Path) -> None:
    findings.report(WRITE)
    (line,) = lines_of(output)
    assert line == WRITE.as_json() | {"process": os.getpid()}
    assert line["places"][0]["label"] == "argument 1 'out'"
    assert line["work_item"] == [1024, 0, 0]


def test_same_kind_and_place_are_counted(output: Path) -> None:
    for _ in range(6):
        findings.report(WRITE)
    findings.report(LEAK)
    assert [(line["kind"], line["count"]) for line in lines_of(output)] == [
        ("out-of-bounds-write", 1),
        ("out-of-bounds-write", 2),
        ("out-of-bounds-write", 4),
        ("leaked-object", 1),
    ]
    findings.flush()
    assert [(line["kind"], line["count"]) for line in lines_of(output)[4:]] == [
        ("out-of-bounds-write", 6)
    ]


def test_other_places_kinds_and_callers_are_other_findings() -> None:
    other_line = findings.replace(WRITE, places=[findings.replace(PLACE, line=18)])
    caller = findings.replace(WRITE, places=[PLACE, Place("blur.cl", 40, 1)])
    read = findings.replace(WRITE, kind="out-of-bounds-read")
    other_leak = findings.replace(LEAK, notes=["made by setup()"])
    keys = {each.key() for each in (WRITE, other_line, caller, read, LEAK, other_leak)}
    assert len(keys) == 6
    assert findings.replace(WRITE, work_item=(7, 0, 0)).key() == WRITE.key()


def test_counts_of_a_launch_are_added(output: Path) -> None:
    findings.report(findings.replace(WRITE, count=100))
    findings.report(findings.replace(WRITE, count=11))
    findings.flush()
    assert [line["count"] for line in lines_of(output)] == [100, 111]


def test_new_generation_of_the_file_hears_everything_again(output: Path) -> None:
    output.write_text('{"generation": "00000001"}\n')
    for _ in range(3):
        findings.report(WRITE)
    assert [line.get("count") for line in lines_of(output)] == [None, 1, 2]
    output.write_text('{"generation": "00000002"}\n' + 10_000 * " " + "\n")
    findings.report(WRITE)
    assert '"count": 1,' in output.read_text().splitlines()[-1]


def test_threads_lose_no_count(output: Path) -> None:
    def work() -> None:
        for _ in range(200):
            findings.report(WRITE)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    findings.flush()
    assert lines_of(output)[-1]["count"] == 1600


def test_forked_process_counts_for_itself(output: Path) -> None:
    for _ in range(3):
        findings.report(WRITE)
    with findings._teller()._lock:  # as if another thread were telling something
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            findings.report(WRITE)
            os._exit(0)
        _, status = os.waitpid(child, 0)
    assert status == 0
    assert [(line["process"] == child, line["count"]) for line in lines_of(output)] == [
        (False, 1),
        (False, 2),
        (True, 1),
    ]


def test_stderr_hears_the_first_of_each(on_stderr: None, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(1024):
        findings.report(WRITE)
    findings.report(LEAK)
    findings.flush()
    assert capfd.readouterr().err == (
        "error: out-of-bounds write of 4 bytes\n"
        "  --> blur.cl:17:9   kernel blur, work-item (1024, 0, 0), group (4, 0, 0)\n"
        "   17 |     out[i + 1] = sum;\n"
        "      |         ^ argument 1 'out'\n"
        "  allocated by zeMemAllocDevice   app.c:88  upload()\n"
        "\n"
        "error: an event is never destroyed\n"
        "  made by main()\n"
        "\n"
        "groundstate: 2 findings: 1 out-of-bounds write (1,024 times), 1 leaked object\n"
    )


def test_stderr_takes_the_place_of_a_file_that_is_gone(
    output: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    output.parent.rmdir()
    findings.report(LEAK)
    findings.flush()
    assert capfd.readouterr().err == (
        "error: an event is never destroyed\n"
        "  made by main()\n"
        "\n"
        "groundstate: 1 finding: 1 leaked object\n"
    )


def test_what_cannot_be_told_disturbs_nobody(
    on_stderr: None, capfd: pytest.CaptureFixture[str]
) -> None:
    findings.report(Finding("memory", "null-read", title=None))  # type: ignore[arg-type]
    assert "a finding could not be reported" in capfd.readouterr().err


def test_names_of_strangers_control_no_terminal() -> None:
    place = Place("a\x1b[2J.cl", 1, 1, "\x1b[2J", "", "")
    strange = Finding("m", "k", "t\x1b[2J", [place], ["n\x1b[2J"], kernel="k\x1b[2J")
    assert "\x1b" not in findings.render(strange)
    assert "\x1b" not in findings.render(findings.replace(strange, places=[]))


def test_words_of_kinds() -> None:
    assert findings.words_of("out-of-bounds-write", 2) == "out-of-bounds writes"
    assert findings.words_of("use-after-free", 1) == "use after free"
    assert findings.words_of("use-after-free", 3) == "uses after free"
    assert findings.words_of("use-after-free-read", 2) == "use-after-free reads"
    assert findings.words_of("append-to-closed-list", 2) == "appends to closed list"
    assert findings.words_of("leaked-object", 0) == "leaked objects"


REPORT = """
from groundstate.findings import Finding, report
report(Finding("host", "leaked-object", "an event is never destroyed"))
"""


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_terminal_gets_colour(variables: dict[str, str], coloured: bool) -> None:
    shown = errors_on_a_terminal("-c", REPORT, **{"NO_COLOR": "", **variables})
    assert "never destroyed" in shown
    assert ("\x1b[" in shown) == coloured


def test_import_is_cheap() -> None:
    code = "import sys; before = {*sys.modules}; import groundstate.findings; "
    code += "print(*{*sys.modules} - before)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert "groundstate.findings" in modules
    assert {"json", "dataclasses", "threading"}.isdisjoint(modules)
