"""Which exported functions the host may have pointers to.

A kernel that calls through a pointer holds a copy of every function that the pointer may lead to.
An exported function that cannot be copied must not spoil kernels that never call it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from groundstate.compiler.limits import MAX_CALL_DEPTH
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.instructions import ROWS
from groundstate.compiler.spirv.module import Function, Instruction
from groundstate.compiler.spirv.opcodes import Op
from groundstate.compiler.spirv_to_ir.instruction_support import REFUSED_NUMBERS, reason_against_set
from groundstate.compiler.spirv_to_ir.library_functions import library_function

if TYPE_CHECKING:
    from groundstate.compiler.program.symbols import Symbols

Place = tuple[int, int]
"""A function: the module that defines it, and its id there."""


def exported_functions(symbols: Symbols) -> list[Place]:
    """Every function that a module of the program exports; kernels are none that can be called."""
    found = []
    for home, module in enumerate(symbols.modules):
        kernels = {point.function for point in module.entry_points.values()}
        functions = module.function_types.keys() - kernels
        found += [(home, each) for each in module.exports if each in functions]
    return found


class Obstacles:
    """What keeps functions from being called through a pointer."""

    def __init__(self, symbols: Symbols, pointed_to: Iterable[Place]) -> None:
        self.symbols = symbols
        self.exported = exported_functions(symbols)
        self.candidates = list(dict.fromkeys([*pointed_to, *self.exported]))
        """The functions that a pointer may lead to."""
        self.known: dict[Place, str] = {}

    def of(self, place: Place, callers: tuple[Place, ...] = ()) -> str:
        """What is in the way of calling a function, in words; nothing if it can be called."""
        home, identifier = place
        module = self.symbols.modules[home]
        name = module.function_name(identifier)
        if place in callers:
            return f"{name!r} calls itself, and recursion is not supported"
        if len(callers) > MAX_CALL_DEPTH:
            return f"its calls nest deeper than {MAX_CALL_DEPTH}"
        if place not in self.known:
            try:
                self.known[place] = self._look(place, module.function(identifier), callers)
            except InvalidModule as problem:
                self.known[place] = str(problem)
        return self.known[place]

    def _look(self, place: Place, function: Function, callers: tuple[Place, ...]) -> str:
        home, identifier = place
        module = self.symbols.modules[home]
        if not function.blocks:
            name = module.imports.get(identifier, "")
            is_known = library_function(name, module.function_type(identifier)) is not None
            return "" if is_known else f"{name!r} is declared and not defined; link the modules"
        instructions = [each for block in function.blocks for each in block.instructions]
        for instruction in instructions:
            extended = instruction.opcode == Op.ExtInst
            words = module.ext_imports.get(instruction.operands[0], "") if extended else ""
            if instruction.opcode in REFUSED_NUMBERS or (extended and reason_against_set(words)):
                return f"{ROWS[instruction.opcode].name} is not supported"
        inner = (*callers, place)
        reasons = (self.of(callee, inner) for callee in self._called(home, instructions))
        return next(filter(None, reasons), "")

    def _called(self, home: int, instructions: list[Instruction]) -> Iterator[Place]:
        for instruction in instructions:
            if instruction.opcode == Op.FunctionCall:
                owner, function = self.symbols.function(home, instruction.operands[0])
                yield owner, function.id
            elif instruction.opcode == Op.FunctionPointerCallINTEL:
                yield from self._reachable(len(instruction.operands) - 1)

    def _reachable(self, arguments: int) -> Iterator[Place]:
        """The functions that a pointer may lead to, judged by the number of arguments."""
        for home, identifier in self.candidates:
            kind = self.symbols.modules[home].function_type(identifier)
            if kind is not None and len(kind.parameters) == arguments:
                yield home, identifier
