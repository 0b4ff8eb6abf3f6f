"""Says which instruction of a kernel LLVM does not take.

The types of all operands have been looked at before (`legality`), so this should never be needed.
If LLVM still finds something wrong, the kernel is written again, with remarks on where each line
comes from.
"""

from __future__ import annotations

import re

from groundstate.compiler.codegen.kernel import Code
from groundstate.compiler.errors import WrongIrError
from groundstate.compiler.ir.problems import MARK
from groundstate.compiler.llvm import service

_LINE = re.compile(r"<string>:(\d+):\d+: error: (.*)")
_FUNCTION = re.compile(r"@[\w.]+")


def explained(kernel: str, marked: Code) -> str:
    """The words for a build log."""
    problem = "it is not always so"
    try:
        service.object_code(marked.text, marked.lanes, optimised=False)
    except WrongIrError as error:
        problem = error.log
    lines = marked.text.splitlines()
    found = _LINE.search(problem)
    reason = found[2] if found is not None else problem.strip().splitlines()[0]
    place = _mark_before(lines, int(found[1]) if found is not None else _call(lines, problem))
    return f"kernel '{kernel}' cannot be compiled:\n  in {place}: LLVM does not take it: {reason}"


def _call(lines: list[str], problem: str) -> int:
    """The line that calls a function that is complained about; the last line if there is none."""
    names = _FUNCTION.findall(problem)
    calls = (at for at, line in enumerate(lines, 1) if "call" in line and f"{names[0]}(" in line)
    return next(calls, len(lines)) if names else len(lines)


def _mark_before(lines: list[str], number: int) -> str:
    for line in reversed(lines[:number]):
        if line.lstrip().startswith(MARK):
            return line.lstrip().removeprefix(MARK)
    return "its beginning"
