"""Lines of compiled code, from the debug information that object files have.

binutils' addr2line reads it, or LLVM's, in a process of its own; without either, nothing is known.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from groundstate import knobs

PATIENCE_S = 5
"""For the debug information of one file, which may be large."""

Call = tuple[str, str, int]
"""Function, file and line; empty and 0 where they are not known."""


def look_up(path: str, addresses: Sequence[int]) -> dict[tuple[str, int], list[Call]]:
    """What each address of an object file is; nothing where nobody can tell."""
    import shutil
    import subprocess

    found: dict[tuple[str, int], list[Call]] = {(path, address): [] for address in addresses}
    tool = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if tool is None or not os.path.isfile(path):
        return found
    command = [tool, "-e", path, "-a", "-f", "-C", "-i", *map(hex, addresses)]
    try:
        said = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE_S,
            env=knobs.environment_of_children(),
        ).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.SubprocessError):
        return found
    return found | {(path, address): calls for address, calls in parsed(said).items()}


def parsed(said: str) -> dict[int, list[Call]]:
    """By address: a line with the address, then a function and a `file:line` for each frame."""
    found: dict[int, list[Call]] = {}
    lines = iter(said.splitlines())
    calls: list[Call] = []
    for line in lines:
        if line.startswith("0x"):
            calls = found[int(line, 16)] = []
            continue
        file, _, number = next(lines, "").partition(" (discriminator")[0].rpartition(":")
        known = not file.startswith("??") and number.isdecimal() and int(number) > 0
        function = "" if line.startswith("??") else _without_parameters(line)
        calls.append(
            (function, os.path.normpath(file) if known else "", int(number) if known else 0)
        )
    return found


def _without_parameters(function: str) -> str:
    """A demangled name, as people say it.

    >>> _without_parameters("(anonymous namespace)::upload(int, void (*)(float))")
    '(anonymous namespace)::upload'
    """
    function = function.removesuffix(" const")
    depth = 0
    for place in range(len(function) - 1, 0, -1):
        depth += (function[place] == ")") - (function[place] == "(")
        if depth == 0:
            return function[:place] if function[place] == "(" else function
    return function
