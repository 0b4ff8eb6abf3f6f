"""A script and what it is started with: a file, or the name of one of the package."""

from __future__ import annotations

import difflib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from groundstate import knobs

BUNDLED = Path(__file__).parents[1] / "scripts"
SUFFIXES = (".lua", ".py")


class ScriptError(ValueError):
    """A script that cannot be started; says what to do."""


@dataclass(frozen=True)
class Script:
    """A script with its settings."""

    path: Path
    arguments: str = ""  # gits.getArgsStr()
    out: Path | None = None  # gits.getOutDir(); None is the current folder
    stream: Path | None = None  # gits.getStreamDir() when a recording is played
    stop_on_error: bool = False

    def environment(self) -> dict[str, str]:
        """The variables that the capture library reads when it starts."""
        return {
            knobs.SCRIPT.name: str(self.path.resolve()),
            knobs.SCRIPT_ARGUMENTS.name: self.arguments,
            knobs.SCRIPT_OUT.name: str(self.out.resolve()) if self.out is not None else "",
            knobs.SCRIPT_STREAM.name: str(self.stream.resolve()) if self.stream is not None else "",
            knobs.SCRIPT_STOP.name: str(int(self.stop_on_error)),
        }


def find(name: str) -> Path:
    """The script of that file name, or the bundled one of that name.

    >>> find("performance").name
    'performance.lua'
    """
    path = Path(name)
    if path.suffix in SUFFIXES and path.is_file():
        return _usable(path)
    names = bundled()
    if name in names:
        return _usable(names[name])
    if path.suffix in SUFFIXES:
        raise ScriptError(f"there is no file '{name}'")
    if path.is_file():
        raise ScriptError(f"'{name}' is not a script: the name must end with {_or(SUFFIXES)}")
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"the bundled ones are {', '.join(names)}"
    raise ScriptError(f"there is no script '{name}'; {hint}")


def bundled() -> dict[str, Path]:
    """The scripts that come with the package, by name."""
    return {path.stem: path for path in sorted(BUNDLED.glob("*.lua"))}


def summary(path: Path) -> str:
    """The first line of a script, which says what it does."""
    first = path.read_text(encoding="utf-8").splitlines()[0]
    return first.lstrip("- ")


def _usable(path: Path) -> Path:
    if path.suffix == ".lua" and not knobs.LUA.get() and importlib.util.find_spec("lupa") is None:
        raise ScriptError("scripts in Lua need the package lupa: pip install lupa")
    return path


def _or(names: tuple[str, ...]) -> str:
    return " or ".join(names)
