"""A reader of a page: types what is in it, from top to bottom, in one folder."""

from __future__ import annotations

import os
import pty
import re
import shlex
import signal
import subprocess
from itertools import pairwise
from pathlib import Path

from .checks import problem_with
from .exceptions import reason_against
from .installs import Installs
from .pages import ROOT, Block, Command, commands, parts
from .world import World

LIMIT_S = 240
STAYS = re.compile(r"^groundstate (top|metrics)\b(?!.*--(once|json))")
"""Commands that run until somebody ends them."""
ENTERS = re.compile(r"^(python3? -m venv \w+|\. \S+/bin/activate)$")
"""Commands that make an environment and go there: the session is in one already."""


class Session:
    """A folder like a checkout, a shell whose variables stay, and a Python program that grows."""

    def __init__(self, page: Path, folder: Path, installs: Installs, world: World) -> None:
        self.page, self.folder, self.installs, self.world = page, folder, installs, world
        self.failures: list[str] = []
        self.program: list[Block] = []
        self.status = 0
        self.state = folder.with_name(f"{folder.name}.state")
        folder.mkdir()
        for entry in ROOT.iterdir():
            if not entry.name.startswith(".") and entry.name not in ("build", "dist"):
                (folder / entry.name).symlink_to(entry)

    def run(self) -> None:
        """Runs all parts of the page."""
        for block in parts(self.page):
            if block.language == "python" and self._continues(block):
                self.program.append(block)
                continue
            self._end_program()
            if block.language == "python":
                self.program = [block] if reason_against(block, block.text) is None else []
            elif block.language in ("sh", "console"):
                for command in commands(block):
                    if not (ENTERS.match(command.text) or reason_against(block, command.text)):
                        self.type(block, command)
            elif reason_against(block, block.text) is None:
                self._check(block)
        self._end_program()

    def _check(self, block: Block) -> None:
        """Looks at a block that is neither a command nor Python."""
        if block.language == "lua":
            self._run_script(block, block.text, "lua")
        elif block.info == "text output":
            self.fail(block, block.line, "make it a console, or say in exceptions.py why not")
        elif problem := problem_with(block, self.folder):
            self.fail(block, block.line, problem)

    def fail(self, block: Block, line: int, message: str) -> None:
        """Notes what went wrong and where."""
        self.failures.append(f"{block.page.relative_to(ROOT)}:{line}: {message.strip()}")

    # --- The shell --------------------------------------------------------------------------------

    def type(self, block: Block, command: Command) -> None:
        """Runs one command and compares what it prints with what the page shows."""
        programs = self.enter(block)
        self.world.provide(command.text, self.folder, programs)
        if STAYS.match(command.text):
            status, shown = self.until_stopped(command.text, programs)
        else:
            status, shown = self.shell(command.text, programs)
        self.status = status
        if status != 0 and not command.may_fail and not names_option(block, status):
            self.fail(block, command.line, f"{command.text} -> {status}\n{shown}")
        elif wrong := missing_lines(command.shown, shown):
            self.fail(block, command.line, f"{command.text} does not print {wrong!r} but\n{shown}")

    def enter(self, block: Block) -> Path:
        """Makes `.venv` an environment with what the page named so far; returns its programs."""
        needed = block.installed
        ours = {each for each in needed if each.startswith("groundstate")}
        others = {each for each in needed if re.fullmatch(r"(numpy|pyzes|pyopencl)", each)}
        place = self.installs.having(ours | others)
        link = self.folder / ".venv"
        link.unlink(missing_ok=True)
        link.symlink_to(place)
        return place / "bin"

    def environment(self, programs: Path) -> dict[str, str]:
        """The variables of somebody who has just logged in and activated the environment.

        `LIBRARY_PATH` leads to the loader that `tests/loader_stub.py` makes where there is none.
        """
        stub = os.environ.get("LIBRARY_PATH")
        return {
            **({"LIBRARY_PATH": stub} if stub else {}),
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "GROUNDSTATE_CACHE": str(self.installs.folder / "cache"),
        }

    def shell(self, command: str, programs: Path) -> tuple[int, str]:
        """The status and the output of a command in bash, which keeps variables for the next."""
        state = shlex.quote(str(self.state))
        script = f"set -o pipefail\n[ ! -f {state} ] || . {state}\nexport PATH={programs}:$PATH\n"
        script += f"(exit {self.status})\n{command}\nstatus=$?; export -p > {state}; exit $status\n"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self.environment(programs),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
        )
        return done.returncode, done.stdout

    def until_stopped(self, command: str, programs: Path) -> tuple[int, str]:
        """Runs a command on a terminal until it has shown something, and ends it as people do."""
        parent, child = pty.openpty()
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.folder,
            env=self.environment(programs),
            stdin=child,
            stdout=child,
            stderr=child,
            start_new_session=True,
        )
        os.close(child)
        shown = os.read(parent, 4096).decode(errors="replace")
        if " top" in command:
            os.write(parent, b"q")
        else:
            process.send_signal(signal.SIGINT)
        while True:
            try:
                shown += os.read(parent, 4096).decode(errors="replace")
            except OSError:
                break  # it has ended
        os.close(parent)
        status = process.wait(timeout=LIMIT_S)
        return 0 if status in (0, 130, -signal.SIGINT) else status, shown.replace("\r", "")

    # --- Python -----------------------------------------------------------------------------------

    def _continues(self, block: Block) -> bool:
        imports = re.search(r"^(import|from) groundstate", block.text, re.M)
        return bool(self.program) and not imports and reason_against(block, block.text) is None

    def _end_program(self) -> None:
        """Runs the blocks that are one program."""
        blocks, self.program = self.program, []
        if not blocks:
            return
        programs = self.enter(blocks[-1])
        text = "".join(
            "\n" * (block.line - before) + block.text
            for before, block in zip([0, *map(last_line, blocks)], blocks, strict=False)
        )
        self.world.provide(text, self.folder, programs)
        if "@hook(" in text:
            self._run_script(blocks[0], text, "py")
            return
        path = self.folder / "typed.py"
        path.write_text(text, encoding="utf-8")
        status, shown = self.shell("python typed.py", programs)
        promised = blocks[-1].promised_output
        if status != 0:
            self.fail(blocks[0], blocks[0].line, f"-> {status}\n{shown}")
        elif promised is not None and shown != f"{promised}\n":
            self.fail(blocks[0], blocks[0].line, f"prints {shown!r}, not {promised!r}")

    def _run_script(self, block: Block, text: str, ending: str) -> None:
        """Runs a script in front of a program."""
        programs = self.enter(block)
        self.world.provide("./my_app", self.folder, programs)
        (self.folder / f"typed.{ending}").write_text(text, encoding="utf-8")
        command = f"groundstate script --stop-on-error typed.{ending} -- ./my_app"
        status, shown = self.shell(command, programs)
        if status != 0 or "groundstate script" in shown:
            self.fail(block, block.line, f"{command} -> {status}\n{shown}")


def names_option(block: Block, status: int) -> bool:
    """Whether a command in a sentence only names an option, and lacks what it is an option of."""
    words = block.text.split()[1:]
    behind_options = all(
        word.startswith("-") or before.startswith("-") for before, word in pairwise(words)
    )
    return status == 2 and block.info == "sh inline" and behind_options


def last_line(block: Block) -> int:
    """The number of the line on which a block ends."""
    return block.line + block.text.count("\n")


def missing_lines(expected: tuple[str, ...], shown: str) -> list[str]:
    """The lines of a page that a command did not print, whatever numbers and names it has."""
    there = {alike(line) for line in shown.splitlines()}
    return [
        line for line in expected if alike(line) not in there and line.strip() not in ("", "...")
    ]


def alike(line: str) -> str:
    """A line without what differs from machine to machine and from run to run.

    >>> alike("blur  17   558 ms  ██▍  46 %") == alike("blur   3  24.2 µs  █  5.1 %")
    True
    """
    line = re.sub(r"(CPU device: ).*", r"\1", line)
    line = re.sub(r"\b(x86_64|aarch64)$", "machine", line)
    line = re.sub(r"(?<!\S)/\S*/", "", line)
    line = re.sub(r"\bze[A-Z]\w+", "function", line)
    line = re.sub(r"\b(?=[a-f]*\d)[0-9a-f]{10,}\b", "#", line)
    line = re.sub(r"[█▉▊▋▌▍▎▏]+", "", line)
    line = re.sub(r"0x[0-9a-f]+|\d[\d,.:-]*( ([kKMGT]i?B|B|[mµn]?s)\b)?", "#", line)
    return re.sub(r" (?=[\])])", "", " ".join(line.split()))
