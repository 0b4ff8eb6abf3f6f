"""Shell completion and the manual page, both made from the parser."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from groundstate.cli.command_tree import command_tree
from groundstate.cli.commands import COMMANDS, make_parser
from groundstate.cli.completion import SCRIPTS
from groundstate.cli.main import main
from groundstate.cli.man import page
from groundstate.cli.parser import plain_sentence

ROOT = Path(__file__).parents[2]

BASH = """
source {script}
COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); _groundstate; echo ${{COMPREPLY[@]}}
"""
ZSH = """
compdef() {{ }}
_describe() {{ print -l -- ${{names%%:*}} }}
_files() {{ print FILES }}
compadd() {{ shift; print -l -- $@ }}
source {script}
words=({line}); CURRENT=${{#words}}; _groundstate
"""
FISH = "source {script}; complete -C {line}"


def completions(shell: str, folder: Path, words: list[str]) -> set[str]:
    """What a shell offers for the last word of a line, which is only begun."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is missing: apt-get install {shell}")
    script = folder / "script"
    script.write_text("\n".join(SCRIPTS[shell](command_tree(make_parser()))))
    if shell == "fish":
        code = FISH.format(script=script, line="'" + " ".join(words) + "'")
    else:
        line = " ".join(words) if words[-1] else " ".join(words) + " ''"
        code = (BASH if shell == "bash" else ZSH).format(script=script, line=line)
    flags = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run([program, *flags, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    offered = {line.split("\t")[0] for line in done.stdout.split("\n") if line}
    if shell == "bash":
        offered = set(done.stdout.split())
    return {each for each in offered if each.startswith(words[-1])}


@pytest.mark.parametrize("shell", SCRIPTS)
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["groundstate", "s"], {"script", "stream", "subcapture", "survey"}),
        (["groundstate", "--v"], {"--version"}),
        (["groundstate", "info", "--j"], {"--json"}),
        (["groundstate", "stream", "c"], {"calls"}),
        (["groundstate", "stream", "info", "--v"], set()),
        (["groundstate", "env", "--shell", "f"], {"fish"}),
        (["groundstate", "run", "--top"], {"--topology"}),
        (["groundstate", "run", "--", "--top"], set()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_shells_complete_commands_and_options(
    shell: str, words: list[str], offered: set[str], tmp_path: Path
) -> None:
    assert completions(shell, tmp_path, words) == offered


def test_completion_prints_the_script_of_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    assert capsys.readouterr().out.endswith("-F _groundstate groundstate\n")


def test_manual_page_in_docs_is_current() -> None:
    assert (ROOT / "docs" / "reference" / "groundstate.1").read_text() == page(), (
        "make generate writes it anew"
    )


def test_manual_page_has_every_command_and_option() -> None:
    text = page().replace("\\-", "-")
    for command in command_tree(make_parser()).all():
        if len(command.words) > 1:
            assert f".SS {' '.join(command.words[1:])}\n" in text
        for option in command.options:
            assert all(name in text for name in option.names)


def test_manual_page_is_valid_roff(tmp_path: Path) -> None:
    mandoc = shutil.which("mandoc")
    if mandoc is None:
        pytest.skip("mandoc is missing: apt-get install mandoc")
    path = tmp_path / "groundstate.1"
    path.write_text(page())
    done = subprocess.run(
        [mandoc, "-T", "lint", "-W", "warning", path], capture_output=True, text=True
    )
    problems = [line for line in done.stdout.splitlines() if "missing date" not in line]
    assert not problems


def test_man_prints_roff_into_a_pipe() -> None:
    command = [sys.executable, "-m", "groundstate", "man"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith(".TH GROUNDSTATE 1 ")


def test_every_command_is_listed_with_summary() -> None:
    tree = command_tree(make_parser())
    assert {child.words[1]: child.summary for child in tree.children} == COMMANDS


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (
            "argument --shell: invalid choice: 'fsh' (choose from 'csh', 'fish', 'sh')",
            "there is no 'fsh' for --shell; did you mean 'fish'?",
        ),
        (
            "argument --lanes: invalid choice: 3 (choose from 1, 4, 32)",
            "there is no '3' for --lanes; choose from 1, 4, 32",
        ),
        (
            "argument VIEW: invalid choice: 'cals' (choose from 'info', 'calls')",
            "there is no view 'cals'; did you mean 'calls'?",
        ),
    ],
)
def test_wrong_choices_are_answered_with_a_guess(message: str, sentence: str) -> None:
    assert plain_sentence(message) == sentence
