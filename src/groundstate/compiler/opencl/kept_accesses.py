"""Keeps the loads and stores of a program in its module, for checked mode.

LLVM drops a store that nobody reads and a load that nobody needs, and with it the mistake that
somebody wants to be told of. So accesses of global and local memory are volatile while it
optimises. Afterwards they are what they were, but for loads that nobody needs: those would be
dropped when SPIR-V is written.
"""

from __future__ import annotations

import re
from collections import Counter

_ACCESS = re.compile(
    r"^(?P<start>  (?:%\S+ = load|store)) (?!volatile |atomic )"
    r"(?P<rest>.*, ptr addrspace\([13]\) .+, align .*)$",
    re.MULTILINE,
)
_VOLATILE = re.compile(
    r"^  (?:(?P<name>%\S+) = load|store)(?P<volatile> volatile) "
    r".*?(?P<mark>, !groundstate\.kept !\d+)?$"
)
_NAME = re.compile(r"%[-\w.$]+")


def keep(ir: str) -> str:
    """LLVM IR in which the accesses of memory that work-items share are volatile."""
    return _ACCESS.sub(r"\g<start> volatile \g<rest>, !groundstate.kept !{}", ir)


def release(optimised: str, before: str) -> str:
    """The same after it was optimised, with the accesses as they were `before`.

    Two accesses that have become one may have lost their mark. If the program has volatile accesses
    of its own, such a one stays volatile, which is harmless.
    """
    has_own = any(_VOLATILE.match(line) for line in before.splitlines())
    functions = optimised.split("\n}\n")
    return "\n}\n".join(_release_in(each, has_own) for each in functions)


def _release_in(function: str, has_own: bool) -> str:
    names: Counter[str] = Counter(_NAME.findall(function))
    lines = function.split("\n")
    for index, line in enumerate(lines):
        found = _VOLATILE.match(line)
        if found is None or (has_own and not found["mark"]):
            continue
        if found["name"] is None or names[found["name"]] > 1:
            start, end = found.span("volatile")
            lines[index] = line[:start] + line[end:]
    return "\n".join(lines)
