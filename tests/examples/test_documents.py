"""What the README and the guide say is true: their code runs, their names and links exist."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import groundstate as gs
from groundstate.cli.commands import make_parser

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs" / "python.md", ROOT / "docs" / "dnn.md"]
EVERY_PAGE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
HEADERS = Path("/usr/include/level_zero/ze_api.h")


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page in some language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


def test_the_python_of_the_readme_prints_what_it_says() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    said = re.findall(r"^That prints `([^`]+)`", text, re.M)
    programs = blocks(ROOT / "README.md", "python")
    assert len(said) == len(programs)
    for code, expected in zip(programs, said, strict=True):
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.stdout == f"{expected}\n", done.stderr


def test_the_python_of_the_guide_runs() -> None:
    code = "\n".join(blocks(ROOT / "docs" / "python.md", "python"))
    start = "import groundstate as gs\n"
    assert code.startswith(start)
    made = (
        "context = gs.Context(gs.devices()[0])\n"
        "source, target = context.alloc_host(64), context.alloc_host(64)\n"
    )
    program = start + made + code.removeprefix(start)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    squares, *durations = done.stdout.splitlines()
    assert squares == "[1.0, 4.0, 9.0, 16.0]"
    assert len(durations) == 2
    assert min(map(int, durations)) > 0


def test_the_python_of_the_page_on_networks_runs() -> None:
    programs = [
        code for code in blocks(ROOT / "docs" / "dnn.md", "python") if code.startswith("import")
    ]
    assert len(programs) == 2
    shown = []
    for code in programs:
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (0, "")
        shown += done.stdout.splitlines()
    names = [line.split()[0] for line in shown if not line.startswith(("[", " "))]
    assert names == ["first", "first", "second", "third", "mean", "classes", "shares"]


def test_the_c_program_of_the_readme_runs(tmp_path: Path) -> None:
    if not HEADERS.exists():
        pytest.skip("the Level Zero headers are missing: on x86-64, apt-get install libze-dev")
    compiler = shutil.which(os.environ.get("CC", "cc"))
    assert compiler is not None
    program = tmp_path / "hello"
    source = ROOT / "examples" / "hello.c"
    flags = ["-Wall", "-Wextra", "-Werror"]
    command = [compiler, *flags, str(source), "-lze_loader", "-o", str(program)]
    subprocess.run(command, check=True)
    run = [sys.executable, "-m", "groundstate", "run", "--", str(program)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60)
    assert done.stdout == f"hello from {gs.devices()[0].name}\n", done.stderr


def anchors(page: Path) -> set[str]:
    """What links can name in a page: its headings, as they are spelt in addresses."""
    headings = re.findall(r"^#+ (.+)", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text):
        there = page.parent / target if target else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_exist(page: Path) -> None:
    for name in re.findall(r"\bgs\.(\w+(?:\.\w+)?)", page.read_text(encoding="utf-8")):
        thing: object = gs
        for part in name.split("."):
            thing = getattr(thing, part)


@cache
def all_commands() -> dict[str, set[str]]:
    """The options of each command, by its name."""
    return commands(make_parser(), "groundstate")


def commands(parser: argparse.ArgumentParser, name: str) -> dict[str, set[str]]:
    """The options of a command and of those below it."""
    found = {name: set(parser._option_string_actions)}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, below in action.choices.items():
                found |= commands(below, f"{name} {word}")
    return found


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.name)
def test_commands_and_their_options_exist(page: Path) -> None:
    known = all_commands()
    text = page.read_text(encoding="utf-8")
    for line in re.findall(r"(?:^|`|\$ |bin/)(groundstate(?: [a-z]+)+\b[^`\n]*)", text, re.M):
        words = line.partition(" -- ")[0].partition(" #")[0].split()
        name = next(
            (n for i in (3, 2) if len(words) >= i and (n := " ".join(words[:i])) in known), ""
        )
        assert name, line
        for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", " ".join(words)):
            assert option in known[name], line
