"""LLVM IR to machine code.

LLVM ends the process that it runs in when it meets something that it was not made for. So it runs
in one of its own (`process`), unless GROUNDSTATE_COMPILER_PROCESS says otherwise or no process
can be started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundstate import knobs
from groundstate.compiler.llvm import process

if TYPE_CHECKING:  # imported where LLVM runs in this process
    from groundstate.compiler.llvm.backend import Linked
    from groundstate.compiler.llvm.library import Module

_is_embedded = False


def run_in_this_process() -> None:
    """Lets LLVM run in this process, which is one that may end."""
    global _is_embedded
    _is_embedded = True


def _is_isolated() -> bool:
    return not _is_embedded and knobs.COMPILER_PROCESS.get() and process.can_start()


def start() -> None:
    """Starts what compiling will need, which is ready sooner that way."""
    if _is_isolated():
        process.start()


def facts() -> tuple[str, str, str]:
    """The CPU that code is generated for, its features, and LLVM's triple for it."""
    found = process.facts() if _is_isolated() else None
    if found is None:
        from groundstate.compiler.llvm import backend

        found = backend.native_machine().facts
    return found


def object_code(text: str, lanes: int, optimised: bool = True) -> bytes:
    """Machine code of LLVM IR as an object file."""
    if _is_isolated():
        found = _compiled_in_isolation(text, lanes, optimised)
        if found is not None:
            return found
    from groundstate.compiler.llvm import backend

    return backend.object_code(text, lanes, optimised)


def _compiled_in_isolation(text: str, lanes: int, optimised: bool) -> bytes | None:
    """What another process makes of LLVM IR. Most that LLVM gives up on, it does in a pass that
    makes code faster, and can do without."""
    try:
        return process.object_code(text, lanes, optimised)
    except process.GaveUpError:
        if not optimised:
            raise
        return process.object_code(text, lanes, optimised=False)


def other_assembly(text: str, machine: str, optimised: bool = True) -> str:
    """Assembly of LLVM IR for another machine, by its triple, CPU and features."""
    if _is_isolated():
        found = process.object_code(text, 1, optimised, (machine,))
        if found is not None:
            return found.decode()
    from groundstate.compiler.llvm import backend

    return backend.other_assembly(text, machine, optimised).decode()


def parse(text: str) -> Module:
    """LLVM's own form of LLVM IR."""
    from groundstate.compiler.llvm import backend

    return backend.parse(text)


def optimise(text: str, lanes: int) -> Module:
    """LLVM IR as LLVM improves it."""
    from groundstate.compiler.llvm import backend

    return backend.optimise(text, lanes)


def assembly(text: str, lanes: int) -> str:
    """The machine code of LLVM IR, to read."""
    from groundstate.compiler.llvm import backend

    return backend.assembly(text, lanes)


def link(code: bytes, symbol: str = "run") -> Linked:
    """Makes an object file executable that refers to functions of the C library."""
    from groundstate.compiler.llvm import backend

    return backend.link(code, symbol)
