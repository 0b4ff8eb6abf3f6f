"""The examples that `--help` shows work as they are shown."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .installs import Installs
from .pages import ROOT, Block, Command
from .sessions import Session
from .world import World

pytestmark = pytest.mark.timeout(1200)  # many programs run one after the other

UNRUN = {
    "python3 with_dpnp.py": "needs dpnp; tests/clients runs such programs",
    "| source": "needs the shell fish; tests/cli compares the words",
    "eval `groundstate env --shell csh`": "needs csh; tests/cli compares the words",
    "libze_intel_gpu.so.1": "needs an Intel GPU",
    "--address 0.0.0.0": "opens a port to the network",
    "dpnp-0.20.0-*.whl": "needs a wheel of dpnp; tests/survey compiles a hundred of its modules",
    "dask scheduler": "needs other machines; tests/dask has processes instead of them",
    "tcp://10.0.0.1:8786": "needs other machines; tests/dask has processes instead of them",
    "--dap --port": "waits for an editor; tests/debug has one",
    "--device 1": "needs two devices that can be watched",
}
"""Examples that are not run, by a text in them, and why."""
DIFFERENT = ("diff monday tuesday", "diff monday tuesday --calls")
"""Examples that answer with 1, because what they compare is not alike."""


def help_of(installs: Installs, *command: str) -> str:
    program = installs.having(["groundstate[all]"]) / "bin" / "groundstate"
    done = subprocess.run([program, *command, "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def all_helps(installs: Installs, *command: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The help of a command and of those below it."""
    text = help_of(installs, *command)
    yield command, text
    listed = re.search(r"^(?:commands|views):\n(.*?)(?:\n\n|\Z)", text, re.M | re.S)
    for name in re.findall(r"^    ([a-z-]+)(?:  |$)", listed[1] if listed else "", re.M):
        yield from all_helps(installs, *command, name)


def examples(text: str) -> list[str]:
    """The commands below `examples:`, without the remarks behind two spaces.

    >>> examples("examples:\\n  groundstate info    what there is\\n\\nMore.")
    ['groundstate info']
    """
    found = re.search(r"^examples:\n((?:  .*\n?)+)", text, re.M)
    return [re.split(r" {2,}", line.strip())[0] for line in found[1].splitlines()] if found else []


def forget_results(example: str, folder: Path) -> None:
    """Removes what an earlier example has written, since each stands alone."""
    for name in ("recording", *re.findall(r"-o (\w+)", example)):
        shutil.rmtree(folder / name, ignore_errors=True)


def test_examples_of_help_run(installs: Installs, world: World, tmp_path: Path) -> None:
    page = ROOT / "src" / "groundstate" / "cli" / "main.py"
    helps = dict(all_helps(installs))
    assert len(helps) > 15
    ran, failures = 0, []
    for command, text in helps.items():
        folder = tmp_path / "-".join(("reader", *command))
        session = Session(page, folder, installs, world)
        block = Block(page, 0, "sh", "", "pip install 'groundstate[all]' pyzes", "")
        for example in examples(text):
            if not any(part in example for part in UNRUN):
                forget_results(example, folder)
                session.type(block, Command(0, example, may_fail=example.endswith(DIFFERENT)))
                ran += 1
        failures += [f"{' '.join(command)} --help: {each}" for each in session.failures]
    assert not failures, "\n\n".join(failures)
    assert ran > 40
    shown = "\n".join(helps.values())
    assert [text for text in UNRUN if text not in shown] == [], "nobody needs these any more"
