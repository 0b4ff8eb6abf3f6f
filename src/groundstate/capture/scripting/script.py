"""A script and what it is started with: a file, or the name of one of the package."""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

from groundstate import knobs
from groundstate.capture.scripting.hooks import HOOKS_NOTHING, looks_like_hook, unhooked

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
    sandbox: bool = False

    def environment(self) -> dict[str, str]:
        """The variables that the capture library reads when it starts."""
        return {
            knobs.SCRIPT.name: str(self.path.resolve()),
            knobs.SCRIPT_ARGUMENTS.name: self.arguments,
            knobs.SCRIPT_OUT.name: str(self.out.resolve()) if self.out is not None else "",
            knobs.SCRIPT_STREAM.name: str(self.stream.resolve()) if self.stream is not None else "",
            knobs.SCRIPT_STOP.name: str(int(self.stop_on_error)),
            knobs.SCRIPT_SANDBOX.name: str(int(self.sandbox)),
        }


def find_for(name: str, *, sandbox: bool) -> Path:
    """The same as `find`, for a script that may have to stay in the sandbox."""
    path = find(name)
    if sandbox and path.suffix != ".lua":
        raise ScriptError(
            f"{path}: there is no sandbox for Python, where a script can do whatever you can; "
            "write it in Lua, or run it without --sandbox if you trust it"
        )
    return path


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
        reason = "is a folder, not a file" if path.is_dir() else "no such file"
        raise ScriptError(f"{name}: {reason}")
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
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ScriptError(f"{path}: is not text in UTF-8") from None
    problem = _python_problem(text) if path.suffix == ".py" else _lua_problem(text)
    if problem is not None:
        raise ScriptError(f"{path}:{problem}")
    return path


def _python_problem(text: str) -> str | None:
    """The line of a mistake and what is wrong there; None if there is none."""
    try:
        tree = ast.parse(text)
    except SyntaxError as problem:
        return f"{problem.lineno}: {problem.msg}"
    except ValueError as problem:
        return f" {problem}"
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    for node in functions:
        if looks_like_hook(node.name) and not node.decorator_list and node.name not in used:
            return f"{node.lineno}: {unhooked(node.name)}"
    return None if _may_hook(tree) else f"1: {HOOKS_NOTHING}"


def _may_hook(tree: ast.AST) -> bool:
    """Whether a script can know `hook`: it imports something besides the standard library."""
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules += [node.name for node in ast.walk(tree) if isinstance(node, ast.alias)]
    return any((name or "").partition(".")[0] not in sys.stdlib_module_names for name in modules)


def _lua_problem(text: str) -> str | None:
    try:
        lua54 = importlib.import_module("lupa.lua54")
    except ImportError:  # another Lua was named, which will say so itself
        return None
    if text.startswith("\x1b"):
        return " is bytecode; scripts are text"
    if text.startswith("#"):
        text = f"--{text}"
    try:
        lua54.LuaRuntime().compile(text)
    except lua54.LuaSyntaxError as problem:
        return str(problem).partition("]:")[2]
    return None


def _or(names: tuple[str, ...]) -> str:
    return " or ".join(names)
