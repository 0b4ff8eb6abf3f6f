"""The machine that kernels are compiled for, and LLVM IR to machine code.

LLVM ends the process that it runs in when it meets something that it was not made for. So it runs
in one of its own (`process`), unless GROUNDSTATE_COMPILE_APART says otherwise or no process
can be started.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import TYPE_CHECKING

from groundstate import knobs
from groundstate.compiler.codegen.control.masks import Registers
from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.llvm import process

if TYPE_CHECKING:  # imported where LLVM runs in this process
    import llvmlite.binding as llvm

    from groundstate.compiler.llvm.backend import Linked

VERSION = b"groundstate-code-3"

_stays_here = False


@light_dataclass()
class Target:
    """The machine that code is compiled for: this one."""

    cpu: str
    features: str
    triple: str

    @property
    def identity(self) -> str:
        """What code is good for: the CPU and the instructions that it has."""
        digest = hashlib.sha256(self.features.encode()).hexdigest()[:12]
        return f"{self.triple} {self.cpu} {digest}"

    @property
    def registers(self) -> Registers:
        """What the emitter needs to know of vector registers."""
        return Registers(self.natural_width, "+avx512vl" in self.features)

    @property
    def natural_width(self) -> int:
        """How many 32-bit lanes a vector register has."""
        if "+avx512f" in self.features:
            return 16
        return 8 if "+avx2" in self.features else 4


def stay_here() -> None:
    """Lets LLVM run in this process, which is one that may end."""
    global _stays_here
    _stays_here = True


def _runs_apart() -> bool:
    return not _stays_here and knobs.COMPILE_APART.get() and process.can_start()


def begin() -> None:
    """Starts what compiling will need, which is ready sooner that way."""
    if _runs_apart():
        process.begin()


@cache
def target() -> Target:
    """The target of this process, found on first use."""
    facts = process.facts() if _runs_apart() else None
    if facts is None:
        from groundstate.compiler.llvm import backend

        facts = backend.target().facts
    return Target(*facts)


def object_code(text: str, lanes: int, optimised: bool = True) -> bytes:
    """Machine code of LLVM IR as an object file."""
    if _runs_apart():
        found = _compiled_apart(text, lanes, optimised)
        if found is not None:
            return found
    from groundstate.compiler.llvm import backend

    return backend.object_code(text, lanes, optimised)


def _compiled_apart(text: str, lanes: int, optimised: bool) -> bytes | None:
    """What another process makes of LLVM IR. Most that LLVM gives up on, it does in a pass that
    makes code faster, and can do without."""
    try:
        return process.object_code(text, lanes, optimised)
    except process.GaveUpError:
        if not optimised:
            raise
        return process.object_code(text, lanes, optimised=False)


def parse(text: str) -> llvm.ModuleRef:
    """LLVM's own form of LLVM IR."""
    from groundstate.compiler.llvm import backend

    return backend.parse(text)


def optimise(text: str, lanes: int) -> llvm.ModuleRef:
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
