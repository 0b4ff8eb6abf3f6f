"""`groundstate check`: what it shows of what a program's checkers found, and how it ends."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from groundstate.cli import check
from groundstate.findings import Finding

REPORT = """
import sys
from groundstate import findings
from groundstate.findings import Finding, Place

findings.begin(["memory", "host"])
place = Place("blur.cl", 17, 9, "    out[i + 1] = sum;", "", "argument 1 'out'")
for count in (3, 1021):
    findings.report(Finding("memory", "out-of-bounds-write", "out-of-bounds write of 4 bytes",
        [place], kernel="blur", work_item=(1024, 0, 0), group=(4, 0, 0), count=count))
findings.report(Finding("host", "leaked-object", "an event is never destroyed"))
findings.flush()
print("done", flush=True)
"""
"""A program whose checkers find two mistakes."""

CLEAN = "from groundstate import findings; findings.begin(['memory'])"

SHOWN = """\
error: out-of-bounds write of 4 bytes
  --> blur.cl:17:9   kernel blur, work-item (1024, 0, 0), group (4, 0, 0)
   17 |     out[i + 1] = sum;
      |         ^ argument 1 'out'

error: an event is never destroyed

"""
SUMMARY = "groundstate check: 2 findings: 1 out-of-bounds write (1,024 times), 1 leaked object\n"


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "groundstate", "check", *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )


def python(code: str) -> list[str]:
    return ["--", sys.executable, "-c", code]


def test_findings_are_shown_and_counted() -> None:
    done = run(*python(REPORT))
    assert (done.stdout, done.stderr) == ("done\n", SHOWN + SUMMARY)
    assert done.returncode == check.FOUND == 86


def test_status_is_the_programs_own_if_it_failed() -> None:
    done = run(*python(REPORT + "sys.exit(3)"))
    assert done.returncode == 3
    assert done.stderr == SHOWN + SUMMARY


def test_program_without_mistakes_ends_as_it_does() -> None:
    done = run(*python(CLEAN))
    assert (done.returncode, done.stderr) == (
        0,
        "groundstate check: no findings (memory checked)\n",
    )
    assert run(*python(CLEAN + "; exit(7)")).returncode == 7


def test_program_without_level_zero_was_not_checked() -> None:
    done = run("--", "true")
    assert done.returncode == 0
    assert "nothing was checked: true did not open Level Zero" in done.stderr


def test_missing_program_ends_as_in_run(tmp_path: Path) -> None:
    done = run("--", "no-such-program-anywhere")
    assert (done.returncode, done.stderr) == (
        127,
        "groundstate check: there is no program 'no-such-program-anywhere' here or on PATH\n",
    )
    (tmp_path / "text").write_text("no program")
    assert run("--", str(tmp_path / "text")).returncode == 126


def test_crash_passes_its_signal_on_after_the_summary() -> None:
    done = run(*python(REPORT + "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"))
    assert done.returncode == -signal.SIGSEGV
    killed = f" ({sys.executable} was killed by signal 11)\n"
    assert done.stderr == SHOWN + SUMMARY.replace("\n", killed)


def test_ctrl_c_ends_the_program_and_the_summary_follows() -> None:
    code = REPORT + "import time; time.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-m", "groundstate", "check", *python(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "done\n"
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert "groundstate check: 2 findings" in said


def test_findings_are_shown_while_the_program_runs() -> None:
    code = REPORT + "sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-m", "groundstate", "check", *python(code)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    assert process.stderr.readline() == "error: out-of-bounds write of 4 bytes\n"
    process.stdin.close()
    assert process.wait(timeout=60) == check.FOUND
    process.stderr.close()


def test_terminal_gets_colour_and_a_file_does_not(tmp_path: Path) -> None:
    def on_a_terminal(*arguments: str) -> str:
        parent, child = pty.openpty()
        command = [sys.executable, "-m", "groundstate", "check", *arguments, *python(REPORT)]
        environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=child
        )
        os.close(child)
        shown = b""
        while True:
            try:
                shown += os.read(parent, 4096)
            except OSError:
                break
        os.close(parent)
        assert process.wait(timeout=60) == check.FOUND
        return shown.decode().replace("\r", "")

    shown = on_a_terminal()
    assert "\x1b[1;31merror\x1b[0m" in shown
    assert re.sub(r"\x1b\[[\d;]*m", "", shown) == SHOWN + SUMMARY
    assert on_a_terminal("-o", str(tmp_path / "report.txt")) == SUMMARY
    assert (tmp_path / "report.txt").read_text() == SHOWN


def test_max_limits_what_is_shown_and_not_what_is_counted() -> None:
    done = run("--max", "1", *python(REPORT))
    assert "an event is never destroyed" not in done.stderr
    assert done.stderr.endswith("1 more not shown (--max 1)\n" + SUMMARY)


def test_json_is_the_last_line_of_stdout(tmp_path: Path) -> None:
    done = run("--json", *python(REPORT))
    own, document = done.stdout.splitlines()
    values: dict[str, Any] = json.loads(document)
    assert own == "done"
    assert done.stderr == SUMMARY
    assert [each["count"] for each in values["findings"]] == [1024, 1]
    assert Finding.from_json(values["findings"][0]).places[0].line == 17
    assert values["exit_status"] == 0
    assert values["checkers"] == ["memory", "host"]
    assert values["program"][0] == sys.executable
    done = run("--json", "-o", str(tmp_path / "check.json"), *python(REPORT))
    assert done.stdout == "done\n"
    assert json.loads((tmp_path / "check.json").read_text())["findings"] == values["findings"]


def test_sarif_is_written_beside_the_text(tmp_path: Path) -> None:
    path = tmp_path / "check.sarif"
    done = run("--sarif", str(path), *python(REPORT))
    assert done.stderr == SHOWN + SUMMARY
    (result, _) = json.loads(path.read_text())["runs"][0]["results"]
    assert result["ruleId"] == "out-of-bounds-write"


def test_suppressed_findings_are_neither_shown_nor_a_failure(tmp_path: Path) -> None:
    known = tmp_path / "known.txt"
    known.write_text("out-of-bounds-* file=blur.cl kernel=bl*  # known\n")
    done = run("--suppress", str(known), *python(REPORT))
    assert done.returncode == check.FOUND
    assert done.stderr == (
        "error: an event is never destroyed\n\n"
        "groundstate check: 1 finding: 1 leaked object, 1 suppressed\n"
    )
    more = tmp_path / "more.txt"
    more.write_text("leaked-object\n")
    done = run("--suppress", str(known), "--suppress", str(more), *python(REPORT))
    assert done.returncode == 0
    assert done.stderr == "groundstate check: 0 findings, 2 suppressed\n"


SHOW = """
import os
print(*(os.environ.get("GROUNDSTATE_" + name, "unset") for name in
        ("CHECK", "CHECK_STOP", "ERRORS", "TOPOLOGY", "CHECK_SUPPRESS", "CHECK_SAME_VALUES")))
"""


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([], "1 unset serious unset unset unset\n"),
        (["--only", "memory"], "memory unset serious unset unset unset\n"),
        (["--stop"], "1 1 serious unset unset unset\n"),
        (["--continue", "--topology", "2"], "1 0 serious 2 unset unset\n"),
        (["--suppress", "/dev/null"], "1 unset serious unset /dev/null unset\n"),
        (["--same-values"], "1 unset serious unset unset 1\n"),
    ],
)
def test_options_become_variables(
    options: list[str], shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CHECK", "CHECK_STOP", "ERRORS", "TOPOLOGY", "CHECK_SAME_VALUES"):
        monkeypatch.delenv(f"GROUNDSTATE_{name}", raising=False)
    assert run(*options, *python(SHOW)).stdout == shown


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        ([], 2, "name a program to run: groundstate check -- PROGRAM"),
        (["--only", "memry", "ls"], 2, "'memry' is not one of memory"),
        (["--only", ",", "ls"], 2, "',' is not one of memory"),
        (["--stop", "--continue", "ls"], 2, "not allowed with argument"),
        (["--max", "0", "ls"], 2, "'0' is not a number of 1 or more"),
        (["--suppress", "/nowhere/known.txt", "ls"], 1, "/nowhere/known.txt: no such file"),
        (["--sarif", "/nowhere/a.sarif", "ls"], 1, "/nowhere/a.sarif: no such file"),
        (["-o", "/nowhere/a.txt", "ls"], 1, "/nowhere/a.txt: no such file"),
    ],
)
def test_wrong_command_line_runs_nothing(arguments: list[str], status: int, sentence: str) -> None:
    done = run(*arguments)
    assert done.returncode == status
    assert done.stdout == ""
    assert done.stderr.startswith("groundstate check: ")
    assert sentence in done.stderr


def test_wrong_line_of_a_suppression_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "known.txt").write_text("\nfile=*.cl\n")
    done = run("--suppress", str(tmp_path / "known.txt"), "ls")
    assert done.returncode == 1
    assert "known.txt:2: a line begins with a kind" in done.stderr


def test_program_that_outlives_the_command_finds_no_file() -> None:
    """A daemon tells its findings on stderr once nobody reads the file any more."""
    code = (
        CLEAN
        + """
import os, sys, time
if os.fork() == 0:
    while os.path.exists(os.environ["GROUNDSTATE_CHECK_OUTPUT"]):
        time.sleep(0.01)
    findings.report(findings.Finding("host", "leaked-object", "an event is never destroyed"))
    os._exit(0)
"""
    )
    done = run(*python(code))
    assert "error: an event is never destroyed" in done.stderr
    assert done.returncode == 0
