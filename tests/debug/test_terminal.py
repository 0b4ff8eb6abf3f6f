"""`groundstate debug`, by commands through a pipe: a Python program, and one in C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from groundstate.compiler.opencl.frontend import compile_opencl

HERE = Path(__file__).parent
APP = [sys.executable, str(HERE / "app.py")]
CHECKED = HERE.parent / "check" / "programs"
NATIVE = HERE.parents[1] / "native"
PROMPT = "(groundstate) "


def session(commands: str, program: list[str], *options: str, folder: Path = HERE) -> list[str]:
    """What each command is answered."""
    done = subprocess.run(
        [sys.executable, "-m", "groundstate", "debug", *options, "--", *program],
        input=commands,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return [each.strip("\n") for each in done.stdout.split(PROMPT)[1:]]


def test_session_stops_shows_steps_and_goes_back() -> None:
    commands = """\
break kernel.cl:20 item 3
watch out[5]
info breakpoints
run
backtrace
print i
print p.n[1] + in[2] * 2
print tmp @ 2
print &shared[3] == shared + 3
print nothing
frame 1
frame 0
next
list 18
reverse-next
item 5
item 99
item 3
continue
reverse-continue
info ids
x in 8
delete 1
continue
nonsense
delete
continue
print i
quit
"""
    answers = session(commands, APP)
    assert answers[:3] == [
        "breakpoint 1 at kernel.cl:20",
        "watchpoint 2: out[5]",
        "1: kernel.cl:20 item 3\n2: watch out[5]",
    ]
    assert answers[3] == (
        "breakpoint 1, hit 1\n"
        "work, work-item (3, 0, 0), in work at kernel.cl:20\n"
        "   20          sum += i + q.y;"
    )
    assert answers[4] == "*#0  work at kernel.cl:20"
    assert answers[5] == "i = 0  (float)"
    assert answers[6] == "p.n[1] + in[2] * 2 = 7.0  (double)"
    assert answers[7].endswith("(float[2])")
    assert answers[8] == "&shared[3] == shared + 3 = 1  (int)"
    assert answers[9].startswith("there is no variable 'nothing' here; there are:")
    assert answers[10] == "there are frames 0 to 0"
    assert answers[12].endswith("   21      }")
    assert "  18      for (int k = 0; k < 8; k++) {" in answers[13]
    assert answers[14].endswith("   20          sum += i + q.y;")
    assert answers[15].startswith("work, work-item (5, 0, 0), in work")
    assert answers[16] == "work-item (99, 0, 0) is not in the group that is stopped, (0, 0, 0)"
    assert answers[18].startswith("breakpoint 1, hit 2\n")
    assert answers[19].startswith("breakpoint 1, hit")
    assert "global_id = (3, 0, 0)" in answers[20]
    assert answers[21].endswith(": 00 00 00 00 00 00 80 3f")
    assert "watchpoint 2: out[5] was written: 0 (0f) -> " in answers[23]
    assert "work-item (5, 0, 0)" in answers[23]
    assert answers[24] == "there is no command 'nonsense'; help lists them"
    assert answers[26].endswith("the program has ended (exit status 0)")
    assert answers[27] == "the program is not stopped in a kernel; 'run' starts it"


def test_table_and_items_have_a_row_for_each() -> None:
    commands = "tbreak square if v == 1\nrun\ntable k\ninfo items\ndetach\nquit\n"
    answers = session(commands, APP)
    rows = answers[2].splitlines()
    assert rows[0].split() == ["work-item", "k", "line", "state"]
    assert rows[1].split() == ["(0,", "0,", "0)", "1", "4", "ready"]
    assert len(rows) == 9
    assert answers[3].splitlines()[1].split()[-2:] == ["square", "4"]
    assert answers[4].endswith("the program has ended (exit status 0)")


def test_commands_that_can_do_nothing_say_so() -> None:
    before = {
        "delete 99": "there is no breakpoint or watchpoint 99",
        "break :5": "break FILE:LINE, break LINE or break FUNCTION",
        "break work item": "break PLACE item X [Y [Z]] if EXPRESSION",
        "break work if": "break PLACE item X [Y [Z]] if EXPRESSION",
        "break work item x": "'x' are no numbers",
        "break work": "breakpoint 1 at work",
    }
    stopped = {
        "x 16": "there is no memory at 0x10",
        "list 99999": "there is no line 99999 of kernel.cl",
        "watch nothing": "there is no variable 'nothing' here",
        "watch 1 + 1": "1 + 1 lies nowhere in memory, where a write could be watched",
        "watch out[5]": "watchpoint 2: out[5]",
    }
    commands = [*before, "run", *stopped, "quit"]
    answers = dict(zip(commands, session("\n".join(commands) + "\n", APP), strict=True))
    for command, sentence in (before | stopped).items():
        assert answers[command].startswith(sentence), command


@pytest.fixture(scope="module")
def blur(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A C program, and its kernel with variables."""
    folder = tmp_path_factory.mktemp("blur")
    source = (CHECKED / "blur.cl").read_text(encoding="utf-8")
    spirv = compile_opencl(source, options=["-O0", "-g"], name="blur.cl")
    (folder / "blur.spv").write_bytes(spirv)
    (folder / "blur.cl").write_text(source, encoding="utf-8")
    command = ["cc", f"-I{NATIVE}", str(CHECKED / "app.c"), "-lze_loader", "-pthread"]
    subprocess.run([*command, "-o", str(folder / "my_app")], check=True)
    return folder


def test_c_program_stops_at_its_first_mistake(blur: Path) -> None:
    (blur / "commands.txt").write_text("# where it is wrong\nbreak blur item 1023\nrun\n")
    answers = session(
        "print i\ncontinue\nprint i\nprint sum\nreverse-next\nquit\n",
        ["./my_app", "blur.spv"],
        "-x",
        "commands.txt",
        folder=blur,
    )
    assert answers[3].startswith("the work-item stops: it writes 4 bytes ")
    assert "behind the end of the 4096 bytes of argument 'out'" in answers[3]
    assert "blur, work-item (1023, 0, 0), failed, in blur at blur.cl:6" in answers[3]
    assert answers[4] == "i = 1023  (int)"
    assert "blur, work-item (1023, 0, 0), in blur at blur.cl:5" in answers[6]


@pytest.mark.parametrize(
    ("program", "status", "sentence"),
    [
        ("./none", 127, "there is no program './none' here or on PATH"),
        ("./text", 126, "cannot start ./text: permission denied"),
        ("./script", 126, "cannot start ./script: its first line, #!, names no program"),
    ],
)
def test_program_that_cannot_be_started_is_the_status(
    tmp_path: Path, program: str, status: int, sentence: str
) -> None:
    (tmp_path / "text").write_text("text\n")
    (tmp_path / "script").write_text("#!/none/shell\n")
    (tmp_path / "script").chmod(0o755)
    (tmp_path / "commands").write_text("run\n")
    done = debug(tmp_path, "-x", "commands", "--", program)
    assert done.stdout == f"{PROMPT}run\n{sentence}\n{PROMPT}"
    assert (done.returncode, done.stderr) == (status, "")


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP])
def test_program_ends_with_its_debugger(tmp_path: Path, ending: signal.Signals) -> None:
    """Also when somebody closes the terminal; and the folder of its socket goes."""
    program = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-m", "groundstate", "debug", "--", sys.executable, "-c", program],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("run\n")
    process.stdin.flush()
    pid = int(process.stdout.readline().removeprefix(PROMPT))
    process.send_signal(ending)
    assert process.communicate() == ("", "")
    assert process.returncode == -ending
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [("none", "no such file"), ("folder", "is a folder, not a file"), ("junk", "is not text")],
)
def test_unreadable_commands_are_one_line(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "junk").write_bytes(b"\xff\n")
    done = debug(tmp_path, "-x", name, "--", "true")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"groundstate debug: {name}: {reason}\n"


def debug(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "groundstate", "debug", *arguments]
    return subprocess.run(command, input="", capture_output=True, text=True, cwd=folder)
