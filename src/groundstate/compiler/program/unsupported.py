"""What keeps kernels of a module from being compiled, found without compiling them.

A module is refused as a whole if none of its kernels can be compiled. Otherwise its log says which
cannot, and why; the others can be used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from groundstate.compiler.errors import RefusedError
from groundstate.compiler.program.symbols import Symbols
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.instructions import ROWS
from groundstate.compiler.spirv.module import Instruction, Module
from groundstate.compiler.spirv.opcodes import Op
from groundstate.compiler.spirv_to_ir.assembly import assembly_of
from groundstate.compiler.spirv_to_ir.instruction_support import (
    REFUSED,
    REFUSED_MODES,
    REFUSED_NUMBERS,
    reason_against_set,
)

MOST_SHOWN = 50


Refusals = dict[str, list[str]]
"""Kernels that cannot be compiled, and all the reasons."""


def find_refusals(symbols: Symbols, kernels: Sequence[str]) -> Refusals:
    """The kernels of a program that cannot be compiled. Raises RefusedError if none can."""
    if not any(map(_needs_a_look, symbols.modules)):
        return {}
    scan = _Scan(symbols)
    found = {name: lines for name in kernels if (lines := scan.kernel(name))}
    if found and len(found) == len(kernels):
        raise RefusedError(describe(found))
    return found


def describe(refusals: Refusals) -> str:
    """The words for a log."""
    parts = [
        "\n  ".join([f"kernel '{name}' cannot be compiled:", *lines])
        for name, lines in list(refusals.items())[:MOST_SHOWN]
    ]
    left = len(refusals) - len(parts)
    return "\n".join([*parts, f"and {left} more kernels"] if left else parts)


def _needs_a_look(module: Module) -> bool:
    """True if something in a module may be refused: most have nothing of the kind."""
    return (
        not REFUSED_NUMBERS.isdisjoint(module.opcodes)
        or any(reason_against_set(name) for name in module.ext_imports.values())
        or any(not REFUSED_MODES.keys().isdisjoint(m) for m in module.execution_modes.values())
    )


class _Scan:
    """Looks at every function once."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.known: dict[tuple[int, int], tuple[list[str], set[tuple[int, int]]]] = {}

    def kernel(self, name: str) -> list[str]:
        """What is refused in a kernel, or in what it calls."""
        modules = enumerate(self.symbols.modules)
        home, module = next(each for each in modules if name in each[1].entry_points)
        start = (home, module.entry_points[name].function)
        modes = module.execution_modes.get(start[1], {})
        lines = {
            f"OpExecutionMode {text}": None for mode, text in REFUSED_MODES.items() if mode in modes
        }
        seen, waiting = {start}, [start]
        while waiting:
            own, called = self._function(*waiting.pop())
            lines |= dict.fromkeys(own)
            waiting += called - seen
            seen |= called
        return list(lines)

    def _function(self, home: int, identifier: int) -> tuple[list[str], set[tuple[int, int]]]:
        """What is refused in a function, and what it calls."""
        key = (home, identifier)
        if key not in self.known:
            module = self.symbols.modules[home]
            try:
                instructions = [
                    each
                    for block in module.function(identifier).blocks
                    for each in block.instructions
                ]
            except InvalidModule as problem:
                self.known[key] = ([str(problem)], set())
                return self.known[key]
            name = module.function_name(identifier)
            counts: dict[str, int] = {}
            for reason in _reasons(module, instructions):
                line = f"in function '{name}', {reason}"
                counts[line] = counts.get(line, 0) + 1
            lines = [line + (f" ({n} times)" if n > 1 else "") for line, n in counts.items()]
            self.known[key] = (lines, set(self._called(home, instructions)))
        return self.known[key]

    def _called(self, home: int, instructions: list[Instruction]) -> Iterator[tuple[int, int]]:
        for instruction in instructions:
            if instruction.opcode == Op.FunctionCall:
                owner, function = self.symbols.function(home, instruction.operands[0])
                yield owner, function.id
            elif instruction.opcode == Op.FunctionPointerCallINTEL:
                yield from ((callee.home, callee.id) for callee in self.symbols.callees)


def _reasons(module: Module, instructions: list[Instruction]) -> Iterator[str]:
    for instruction in instructions:
        name = ROWS[instruction.opcode].name
        if instruction.opcode == Op.AsmCallINTEL and _is_known(module, instruction):
            continue
        if instruction.opcode == Op.ExtInst:
            reason = reason_against_set(module.ext_imports.get(instruction.operands[0], ""))
        else:
            reason = REFUSED.get(name.removeprefix("Op"))
        if reason:
            yield f"{name}: {reason}"


def _is_known(module: Module, instruction: Instruction) -> bool:
    return assembly_of(module.assembly.get(instruction.operands[0], "")) is not None
