"""Compiles every kernel of one module, for some numbers of lanes, and says what became of it.

The graph of a kernel is built once for all widths. LLVM is not asked twice for the same code: many
modules of a library differ only in names, or in types that are the same to a machine.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from groundstate.compiler.codegen.kernel import Code
from groundstate.compiler.errors import BuildError, RefusedError, UnresolvedNameError
from groundstate.compiler.llvm import service
from groundstate.compiler.program import Program
from groundstate.compiler.program.kernel_compiler import load

COMPILED = "compiled"
INCOMPLETE = "incomplete"
"""It uses what another module of its program defines."""
REFUSED = "refused"
"""It says that it needs something that the device does not have."""
FAILED = "failed"
RESULTS = (COMPILED, INCOMPLETE, REFUSED, FAILED)

OF_LLVM = "llvm."
"""How the names of functions begin that no module defines, because a compiler knows them."""
BEST = 0
"""Stands for the number of lanes that the device would take."""


@dataclass(slots=True)
class Outcome:
    """What became of a module."""

    result: str = COMPILED
    sentence: str = ""
    """Why it was not compiled."""
    kernels: tuple[str, ...] = ()
    seconds: float = 0.0
    """Of processor time, as if nothing of it had been compiled before."""
    lines: int = 0
    """Of LLVM IR, for all kernels and widths."""
    needs: str = ""
    """What another module has to define, if the result is `incomplete`."""
    made: dict[str, float] = field(default_factory=dict)
    """The seconds that LLVM took for code that was new, by its digest."""

    def as_json(self) -> dict[str, Any]:
        """The outcome for a file."""
        return asdict(self)

    @staticmethod
    def from_json(facts: Mapping[str, Any]) -> Outcome:
        """An outcome from a file; TypeError or ValueError if it is none."""
        outcome = Outcome(**facts)
        outcome.kernels = tuple(outcome.kernels)
        if outcome.result not in RESULTS:
            raise ValueError(f"'{outcome.result}' is no result")
        return outcome


def compile_module(
    parts: Sequence[bytes], widths: Sequence[int], known: Mapping[str, float]
) -> Outcome:
    """Compiles the kernels of a module, which may be followed by those that it is linked with.

    `known` has the code that LLVM has compiled already, and how long that took.
    """
    outcome = Outcome()
    start = time.process_time()
    try:
        _compile(parts, widths, known, outcome)
    except UnresolvedNameError as problem:
        outcome.result, outcome.sentence = INCOMPLETE, str(problem)
        outcome.needs = problem.name
        if problem.name.startswith(OF_LLVM):
            outcome.result = REFUSED
            outcome.sentence = f"{problem.name} is an instruction of one kind of GPU"
    except RefusedError as problem:
        outcome.result, outcome.sentence = REFUSED, str(problem)
    except BuildError as problem:
        outcome.result, outcome.sentence = FAILED, str(problem)
    except Exception as problem:  # a mistake of ours, which is what a survey is to find
        outcome.result = FAILED
        outcome.sentence = f"{type(problem).__name__}: {problem}"
    outcome.seconds += time.process_time() - start
    return outcome


def _compile(
    parts: Sequence[bytes], widths: Sequence[int], known: Mapping[str, float], outcome: Outcome
) -> None:
    module = Program(parts[0])
    outcome.kernels = module.kernel_names
    program = Program.link([module, *map(Program, parts[1:])]) if parts[1:] else module
    for name in outcome.kernels:
        if name in program.refusals:
            raise RefusedError(program.log)
        size = program.signature(name).required_group_size or program.known_target.likely_group_size
        for width in widths:
            _compile_code(program.write(name, size, width or None), known, outcome)


def _compile_code(code: Code, known: Mapping[str, float], outcome: Outcome) -> None:
    outcome.lines += code.text.count("\n")
    unnamed = code.text.partition("\n")[2]  # the first line is the name of the kernel
    digest = hashlib.sha256(unnamed.encode()).hexdigest()[:32]
    before = known.get(digest, outcome.made.get(digest))
    if before is not None:
        outcome.seconds += before
        return
    start = time.process_time()
    load(service.object_code(code.text, code.lanes))
    outcome.made[digest] = time.process_time() - start
