"""`groundstate debug --dap`, by a scripted editor."""

from __future__ import annotations

import base64
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from groundstate.debug import messages
from tests.debug.dap_client import Editor

HERE = Path(__file__).parent
APP = str(HERE / "app.py")
DEBUG = [sys.executable, "-m", "groundstate", "debug", "--dap"]
SUMS = [156.0, 158.0, 159.41, 160.73, 162.0, 163.24, 164.45, 165.65]
"""What the first group computes: a sum of squares, 140, eight times 2, a root and the id."""


@pytest.fixture
def editor() -> Iterator[Editor]:
    with Editor(HERE) as found:
        yield found


def breakpoint_at(editor: Editor, line: int, **more: str) -> None:
    path = str(HERE / "kernel.cl")
    at = [{"line": line, **more}]
    found = editor.ask("setBreakpoints", source={"path": path}, breakpoints=at)
    assert found["breakpoints"][0]["verified"]


def test_breakpoint_in_inlined_function_shows_both_frames_and_locals(editor: Editor) -> None:
    editor.begin(sys.executable, APP)
    editor.ask("setFunctionBreakpoints", breakpoints=[{"name": "square", "condition": "v == 3"}])
    editor.run()
    thread = editor.stopped("breakpoint")
    frames = editor.ask("stackTrace", threadId=thread)["stackFrames"]
    assert [(each["name"], each["line"]) for each in frames] == [("square", 4), ("work", 19)]
    assert frames[0]["source"]["path"] == str(HERE / "kernel.cl")
    assert editor.scope(frames[0]["id"], "Variables")["v"]["value"] == "3"
    outer = editor.scope(frames[1]["id"], "Variables")
    assert outer["k"]["value"] == "3"
    assert outer["q"]["value"] == "(1, 2, 3, 4)"
    assert outer["shared"]["value"] == "{0, 1, 2, 3, 4, 5, 6, 7}"
    parts = editor.variables(outer["p"]["variablesReference"])
    assert parts["x"]["value"] == "0"
    assert parts["x"]["evaluateName"] == "(p).x"
    assert editor.variables(parts["n"]["variablesReference"])["[1]"]["value"] == "0"


def test_condition_for_one_item_stops_there_alone(editor: Editor) -> None:
    editor.begin(sys.executable, APP)
    breakpoint_at(editor, 20, condition="item 11 if k == 2")
    editor.run()
    thread = editor.stopped("breakpoint")
    assert thread == 4
    threads = editor.ask("threads")["threads"]
    assert threads[3]["name"] == "work-item (11, 0, 0)"
    _, line, frame = editor.place(thread)
    assert line == 20
    assert editor.scope(frame, "Work-item")["group_id"]["value"] == "1, 0, 0"
    assert editor.scope(frame, "Variables")["i"]["value"] == "100"  # the inner one: 10 * 10
    editor.ask("continue", threadId=thread)
    assert editor.event("exited")["exitCode"] == 0


def test_table_shows_a_variable_of_all_items(editor: Editor) -> None:
    editor.begin(sys.executable, APP)
    breakpoint_at(editor, 13, condition="get_global_id(0) == 2")
    editor.run()
    _, _, frame = editor.place(editor.stopped("breakpoint"))
    rows = editor.scope(frame, "All work-items")["p"]
    values = editor.variables(rows["variablesReference"])
    assert values["(0, 0, 0)"]["value"].startswith("{x = 0, n = {")
    found = editor.ask("evaluate", expression="table i", frameId=frame)
    assert found["result"].splitlines()[1] == "(1, 0, 0) 1"
    assert len(found["result"].splitlines()) == 8


def test_buffer_is_shown_as_an_array_of_its_type(editor: Editor) -> None:
    editor.begin(sys.executable, APP)
    breakpoint_at(editor, 9)
    editor.run()
    _, _, frame = editor.place(editor.stopped("breakpoint"))
    given = editor.scope(frame, "Variables")["in"]
    assert given["type"] == "float *"
    assert given["indexedVariables"] == 16
    part = editor.variables(given["variablesReference"], start=4, count=3)
    assert {name: each["value"] for name, each in part.items()} == {
        "[4]": "4",
        "[5]": "5",
        "[6]": "6",
    }
    value = editor.ask("evaluate", expression="in[3] * 2 + n", frameId=frame)
    assert value["result"] == "22.0"
    place = editor.ask("evaluate", expression="in[3]", frameId=frame)["memoryReference"]
    data = editor.ask("readMemory", memoryReference=place, count=8)["data"]
    assert struct.unpack("<2f", base64.b64decode(data)) == (3.0, 4.0)


def test_watchpoint_tells_who_wrote_an_element(editor: Editor) -> None:
    editor.begin(sys.executable, APP)
    info = editor.ask("dataBreakpointInfo", name="out[5]")
    editor.ask("setDataBreakpoints", breakpoints=[{"dataId": info["dataId"]}])
    editor.run()
    body = editor.event("stopped")
    assert body["reason"] == "data breakpoint"
    assert body["threadId"] == 6
    _, line, frame = editor.place(6)
    assert line == 24
    value = editor.ask("evaluate", expression="out[5]", frameId=frame)
    assert round(float(value["result"]), 2) == SUMS[5]


def test_steps_go_over_and_into_calls_and_back(editor: Editor) -> None:
    editor.begin(sys.executable, APP)
    breakpoint_at(editor, 17, condition="item 0")
    editor.run()
    thread = editor.stopped("breakpoint")
    lines = []
    for command in ("next", "next", "next", "stepIn", "stepOut", "stepBack", "stepBack"):
        editor.ask(command, threadId=thread)
        editor.event("stopped")
        lines.append(editor.place(thread)[:2])
    assert lines[:4] == [("work", 18), ("work", 19), ("work", 20), ("work", 21)]
    assert [function for function, _ in lines[4:]] == ["work"] * 3
    assert lines[5:] != lines[3:5]


def test_reverse_continue_goes_to_the_stop_before(editor: Editor) -> None:
    editor.begin(sys.executable, APP)
    breakpoint_at(editor, 20, condition="item 0")
    editor.run()
    thread = editor.stopped("breakpoint")
    sums = []
    for command in ("continue", "continue", "reverseContinue", "reverseContinue"):
        editor.ask(command, threadId=thread)
        editor.stopped("breakpoint")
        _, _, frame = editor.place(thread)
        sums.append(editor.ask("evaluate", expression="sum", frameId=frame)["result"])
    assert sums == ["2", "5", "2", "0"]


def test_group_steps_take_all_items_to_the_next_line(editor: Editor) -> None:
    editor.begin(sys.executable, APP, stepping="group", stopOnEntry=True)
    editor.run()
    thread = editor.stopped("entry")
    for _ in range(4):
        editor.ask("next", threadId=thread)
        editor.event("stopped")
    rows = editor.ask("evaluate", expression="table p.x", frameId=editor.place(thread)[2])
    assert rows["result"].splitlines()[7] == "(7, 0, 0) 7"


def test_write_outside_of_a_buffer_stops(editor: Editor, tmp_path: Path) -> None:
    source = (
        "kernel void far(global int *out) {\n    int i = get_global_id(0);\n    out[i * 2] = i;\n}"
    )
    program = tmp_path / "far.py"
    program.write_text(
        "import groundstate as gs\n"
        "with gs.Context(gs.devices()[0]) as context:\n"
        f"    module = gs.Module(context, opencl={source!r}, name='far.cl')\n"
        "    out = context.alloc_shared(8, 'int32')\n"
        "    commands = gs.CommandList.immediate(context, in_order=True)\n"
        "    module['far'](commands, 1, 8, out)\n"
        "    commands.synchronize()\n"
    )
    editor.begin(sys.executable, str(program))
    editor.ask("setExceptionBreakpoints", filters=["findings"])
    editor.ask("setFunctionBreakpoints", breakpoints=[{"name": "far", "condition": "item 7"}])
    editor.run()
    body = editor.event("stopped")
    assert body["reason"] == "exception"
    assert "behind the end of the 32 bytes of argument 'out'" in body["text"]
    assert body["threadId"] == 5


def test_editor_can_connect_to_a_port() -> None:
    with subprocess.Popen([*DEBUG, "--port", "0"], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said, _, port = process.stderr.readline().rpartition(":")
        assert said == "waiting for an editor at 127.0.0.1"
        with socket.create_connection(("127.0.0.1", int(port))) as line:
            out, source = line.makefile("wb"), line.makefile("rb")
            for number, wanted in enumerate(("initialize", "disconnect"), 1):
                messages.write(out, {"type": "request", "seq": number, "command": wanted})
                answer = messages.read(source)
                while answer is not None and answer["type"] != "response":
                    answer = messages.read(source)
                assert answer is not None
                assert answer["success"]
        assert process.wait() == 0


def test_requests_that_cannot_be_answered_say_why(editor: Editor) -> None:
    editor.ask("initialize")
    assert "program" in editor.refusal("launch")
    assert editor.refusal("evaluate", expression="i").startswith("the program is not stopped")
    assert "is not supported" in editor.refusal("gotoTargets")
    editor.ask("launch", program="/nonexistent/program")
    assert editor.refusal("configurationDone") == (
        "/nonexistent/program: No such file or directory"
    )


def test_requests_that_make_no_sense_end_nothing(editor: Editor) -> None:
    assert "comes once, after launch" in editor.refusal("configurationDone")
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("setBreakpoints", {}),
        ("setBreakpoints", {"source": 5}),
        ("setBreakpoints", {"source": {}, "breakpoints": [{"line": float("inf")}]}),
        ("setFunctionBreakpoints", {"breakpoints": [3]}),
        ("setDataBreakpoints", {"breakpoints": 3}),
        ("variables", {"variablesReference": 99}),
        ("scopes", {"frameId": "none"}),
        ("source", {"sourceReference": 7}),
        ("stackTrace", {}),
    ]
    for command, arguments in wrong:
        assert editor.refusal(command, **arguments)
    editor.ask("launch", program="true", env=[1])
    assert "makes no sense" in editor.refusal("configurationDone")
    assert "setBreakpoints" in editor.refusal("setBreakpoints")


def test_program_is_started_once(editor: Editor) -> None:
    editor.begin(sys.executable, APP)
    editor.run()
    assert "comes once" in editor.refusal("configurationDone")
    assert editor.event("exited")["exitCode"] == 0


@pytest.mark.parametrize("data", [b"{", b"[1]", b"[" * 100_000, b"\xff"])
def test_input_that_is_no_message_is_one_line(data: bytes) -> None:
    done = subprocess.run(
        DEBUG, input=b"Content-Length: %d\r\n\r\n%b" % (len(data), data), capture_output=True
    )
    assert done.returncode == 1
    assert done.stderr.startswith(b"groundstate debug: a message is no ")
    assert done.stderr.count(b"\n") == 1


def test_editor_that_goes_leaves_no_traceback() -> None:
    """While the program prints: what it has printed has nowhere to go."""
    process = subprocess.Popen(
        DEBUG, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    for command, arguments in (("launch", {"program": "yes"}), ("configurationDone", {})):
        request = {"type": "request", "seq": 1, "command": command, "arguments": arguments}
        messages.write(process.stdin, request)
    while (messages.read(process.stdout) or {}).get("event") != "output":
        pass
    process.stdout.close()
    process.stdin.close()
    assert process.wait() == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_port_that_is_taken_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run([*DEBUG, "--port", port], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        f"groundstate debug: cannot listen at 127.0.0.1:{port}: address already in use; "
        "try another --port\n"
    )


def test_program_prints_the_same_under_the_debugger(editor: Editor) -> None:
    editor.begin(sys.executable, APP)
    breakpoint_at(editor, 20, condition="k == 7")
    editor.run()
    thread = editor.stopped("breakpoint")
    breakpoint_at(editor, 1, condition="0")
    editor.ask("continue", threadId=thread)
    text = ""
    while "out:" not in text:
        text = editor.event("output")["output"]
    assert text.startswith(f"out: {SUMS}"[:-1])
    assert editor.event("exited")["exitCode"] == 0
    editor.ask("disconnect")
