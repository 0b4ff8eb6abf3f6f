"""One recording whose every name is hostile, through every view and command: names stay names.

They hold sequences that clear or rename a terminal, ends of lines, HTML, quotes, marks that turn
the direction of text around, styles of rich, and bytes that are no text.
"""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from groundstate import ze
from groundstate.capture.views.page import page_of
from groundstate.capture.views.spans import Timeline
from groundstate.cli.main import main
from tests.capture.stream.streams import (
    AFTER,
    CONTEXT,
    DEVICE,
    IMMEDIATE,
    KERNEL,
    Script,
    block,
    kernel_create,
    launch,
    word,
)

NAME = (
    "kä\x1b]0;owned\x07\x1b[2J\nEVIL\r\t\x9b31m\u202edrow\u2066\u200b</script></title>"
    "<img src=x onerror=alert(1)>\"'`\\[red]@DATA@/*SCRIPT*/%s{0}"
).encode() + b"\xff\xfe"
FOLDER = b"r\x1b[2J\nEVIL\x1b]0;x\x07 [red]\xff <b> \xe2\x80\xae @DATA@"
HARMFUL = re.compile(
    rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8b-\x8f\xa8-\xae]"
    rb"|\xe2\x81[\xa0-\xaf]|^EVIL",
    re.MULTILINE,
)
OWN_SEQUENCES = re.compile(rb"\x1b\[(?:[\d;]*m|\?25[lh]|2K|1A|0?K)|\r")
"""What rich writes itself: colours, and how it moves a bar."""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a hostile name with a stream of one, and hostile names in it."""
    folder = Path(os.fsdecode(os.fsencode(tmp_path_factory.mktemp("names")) + b"/" + FOLDER))
    folder.mkdir()
    script = Script(Path(os.fsdecode(os.fsencode(folder) + b"/" + FOLDER[:40] + b".gsstream")))
    script.writer.about(
        [(key, NAME.decode("utf-8", "replace")) for key in ("machine", "argument", "next", "api")]
    )
    properties = ze.ze_device_properties_t(type=1, name=NAME[:60])
    script.call("zeDeviceGetProperties", DEVICE, 0x2000, blocks=(block(0x2000, properties, AFTER),))
    described = bytearray(bytes(ze.ze_module_desc_t(inputSize=8, pInputModule=0x3000)))
    described[40:48] = (0x4000).to_bytes(8, "little")
    blocks = (block(0x2100, described), block(0x3000, bytes(8)), block(0x4000, NAME + b"\0"))
    script.call("zeModuleCreate", CONTEXT, DEVICE, 0x2100, 0x2200, 0, blocks=blocks)
    queue = (block(0x2000, ze.ze_command_queue_desc_t()), word(0x2100, IMMEDIATE))
    create = "zeCommandListCreateImmediate"
    script.call(create, CONTEXT, DEVICE, 0x2000, 0x2100, blocks=queue)
    kernel_create(script, KERNEL, NAME)
    launch(script, IMMEDIATE, KERNEL)
    script.call("zeCommandListHostSynchronize", IMMEDIATE, 2**64 - 1)
    script.call("ze" + NAME.decode("latin-1"), 1, 2)
    script.close()
    return folder


COMMANDS = [
    ["stream", "info", "@"],
    ["stream", "info", "--json", "@"],
    ["stream", "calls", "@"],
    ["stream", "calls", "--json", "@"],
    ["stream", "stats", "--top", "0", "@"],
    ["stream", "stats", "--json", "@"],
    ["stream", "stats", "--play", "@"],
    ["stream", "diff", "--calls", "@", "@"],
    ["stream", "diff", "@", "--right", "threads=1"],
    ["stream", "dump", "@", "-o", "@/out"],
    ["stream", "dump", "@", "-o", "@/out", "--json"],
    ["stream", "timeline", "@", "-o", "@/t.html"],
    ["stream", "timeline", "@", "-o", "@/t.json"],
    ["stream", "timeline", "@/missing", "-o", "@/t.json"],
    ["subcapture", "--list", "@"],
    ["subcapture", "--list", "--json", "@"],
    ["subcapture", "--kernel", "scale", "@", "-o", "@/cut"],
    ["subcapture", "--range", "1", "@", "-o", "@/cut"],
    ["play", "@"],
    ["play", "--json", "@"],
    ["play", "--script", "@/missing.lua", "@"],
    ["play", "--driver", "@/missing.so", "@"],
    ["script", "@/missing.lua", "--", "true"],
    ["record", "-o", "@/recorded", "--", "@/missing"],
    ["record", "-o", "@/recorded", "--", "true"],
    ["run", "--", "@/missing"],
    ["dis", "@/missing.spv"],
    ["compile", "@/missing.cl"],
    ["survey", "@"],
    ["survey", "@/missing"],
    ["stream", "no\x1b[2Jview\n"],
    ["play", "--no\x1b]0;x\x07option", "@"],
]


def arguments(command: list[str], recording: Path) -> list[str]:
    return [
        sys.executable,
        "-m",
        "groundstate",
        *(each.replace("@", str(recording)) for each in command),
    ]


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_names_do_nothing_in_a_pipe(recording: Path, command: list[str]) -> None:
    done = subprocess.run(arguments(command, recording), capture_output=True, timeout=120)
    assert done.stdout + done.stderr
    for output in (done.stdout, done.stderr):
        assert HARMFUL.search(output) is None, output
        assert b"Traceback" not in output
    if "--json" in command:
        for line in done.stdout.splitlines() if "calls" in command else [done.stdout]:
            assert not line or json.loads(line)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_names_do_nothing_on_a_terminal(recording: Path, command: list[str]) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"}
    process = subprocess.Popen(
        arguments(command, recording), stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    output = everything(ours)
    process.wait(120)
    plain = OWN_SEQUENCES.sub(b"", output)
    assert plain
    assert HARMFUL.search(plain) is None, plain


def everything(descriptor: int) -> bytes:
    found = b""
    with open(descriptor, "rb", buffering=0) as file:
        try:
            while part := file.read(1 << 16):
                found += part
        except OSError:  # the other side has closed the terminal
            pass
    return found


@pytest.mark.parametrize("command", [["info", "@"], ["stats", "@"], ["calls", "@"]], ids=" ".join)
def test_names_unencodable_in_locale_are_no_error(recording: Path, command: list[str]) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    words = arguments(["stream", *command], recording)
    done = subprocess.run(words, capture_output=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


class Tags(HTMLParser):
    """The tags of a page, and what is in its scripts and its title."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.inside: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, _ in attrs:
            assert not name.startswith("on"), name

    def handle_data(self, data: str) -> None:
        if self.tags:
            self.inside[self.tags[-1]] = self.inside.get(self.tags[-1], "") + data


def tags_of(page: str) -> Tags:
    found = Tags()
    found.feed(page)
    return found


def test_names_stay_data_in_the_page(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.html"
    assert main(["stream", "timeline", str(recording), "-o", str(out)]) == 0
    page = out.read_text(encoding="utf-8")
    assert tags_of(page).tags == tags_of(page_of(Timeline("plain"))).tags
    data = json.loads(page.partition('id="data"')[2].partition(">")[2].partition("</script>")[0])
    names = [each for each in data["names"] if each.startswith("k")]
    assert len(names) == 1
    assert "\\nEVIL" in names[0]
    assert "</script>" in names[0]
    assert all(each.isprintable() for each in data["names"])
    assert data["title"].isprintable()


@pytest.mark.parametrize("title", ["@DATA@", "/*SCRIPT*/", "/*STYLE*/", "</title><b>", "\x1b[2J"])
def test_a_title_is_no_place_for_something_else(title: str) -> None:
    found = tags_of(page_of(Timeline(title)))
    assert found.tags == tags_of(page_of(Timeline("plain"))).tags
    assert found.inside["title"].startswith(f"{title} - timeline")


def test_names_stay_data_in_a_trace(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    assert main(["stream", "timeline", str(recording), "-o", str(out)]) == 0
    names = {each["name"] for each in json.loads(out.read_text(encoding="utf-8"))["traceEvents"]}
    assert any("\\nEVIL" in name for name in names)
    assert all(name.isprintable() for name in names)
