"""Checks that a function hangs together.

After this, every id that is used is defined somewhere in the module or the function, labels are
used as labels and values as values, calls pass as many arguments as the function takes, a phi has a
value for every block that it can be reached from, and definitions dominate uses. Whether the types
of operands fit is for the emitter.
"""

from __future__ import annotations

from collections.abc import Mapping

from groundstate.compiler.spirv import types as t
from groundstate.compiler.spirv.dominance import check_dominance
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.instructions import ROWS, Row
from groundstate.compiler.spirv.module import Block, Function, Instruction, Module
from groundstate.compiler.spirv.opcodes import MemoryAccess, Op
from groundstate.compiler.spirv.operands import ids_of, parameters_of, switch_cases

TAKES_TYPES = frozenset(
    number for number, row in ROWS.items() if "Untyped" in row.name or "Matrix" in row.name
)
"""Instructions with a type among their operands."""


class Checker:
    """Checks one function; `value_types` has the type of each id it defines, 0 for labels."""

    def __init__(self, module: Module, function: Function, value_types: Mapping[int, int]) -> None:
        self.module = module
        self.function = function
        self.value_types = value_types
        self.labels = {block.label for block in function.blocks}
        self.used_ids: dict[int, tuple[int, ...]] = {}
        """The values that instructions take, by their Python identities."""

    def check(self, instruction: Instruction) -> None:
        """Checks what an instruction refers to."""
        opcode, operands = instruction.opcode, instruction.operands
        match opcode:
            case Op.Branch | Op.SelectionMerge:
                self._labels(operands[:1])
            case Op.LoopMerge:
                self._labels(operands[:2])
            case Op.BranchConditional:
                if len(operands) not in (3, 5):
                    raise InvalidModule("it has a condition, two labels, and two weights or none")
                self._take(instruction, operands[:1])
                self._labels(operands[1:3])
            case Op.Switch:
                self._take(instruction, operands[:1])
                self._labels(targets_of(self.module, instruction, self.value_types))
            case Op.Phi:
                if len(operands) % 2:
                    raise InvalidModule("a value has no block that it comes from")
                self._values(operands[0::2])
                self._labels(operands[1::2])
            case _:
                row = ROWS[opcode]
                ids = ids_of(self.module, instruction, row)
                self._take(instruction, ids, opcode in TAKES_TYPES)
                if row.memory_at is not None:
                    check_alignment(row, operands)
                elif opcode in RULES:
                    RULES[opcode](self, operands)

    def check_whole(self) -> None:
        """Checks what needs all blocks: parameters, and where blocks are reached from."""
        self._parameters()
        if not self.function.blocks:
            return
        successors = {
            block.label: targets_of(self.module, block.instructions[-1], self.value_types)
            for block in self.function.blocks
        }
        reached = self._predecessors(successors)
        first = self.function.blocks[0].label
        if reached[first]:
            raise InvalidModule(f"a branch leads to its first block, %{first}")
        for block in self.function.blocks:
            self._phis(block, reached[block.label])
        check_dominance(self.function, successors, self.used_ids)

    def _labels(self, ids: tuple[int, ...]) -> None:
        for id in ids:
            if id not in self.labels:
                raise InvalidModule(f"%{id} is not a block of this function")

    def _take(
        self, instruction: Instruction, ids: tuple[int, ...], types_too: bool = False
    ) -> None:
        self._values(ids, types_too)
        self.used_ids[id(instruction)] = ids

    def _values(self, ids: tuple[int, ...], types_too: bool = False) -> None:
        module = self.module
        for id in ids:
            if id in self.value_types:
                if not self.value_types[id]:
                    raise InvalidModule(f"%{id} is a block, not a value")
            elif id not in module.global_ids:
                raise InvalidModule(f"%{id} is used and never defined")
            elif id in module.types and not types_too:
                raise InvalidModule(f"%{id} is a type, not a value")

    def _call(self, operands: tuple[int, ...]) -> None:
        callee, arguments = operands[0], operands[1:]
        signature = self.module.types.get(self.module.function_types.get(callee, 0))
        if not isinstance(signature, t.FunctionType):
            raise InvalidModule(f"%{callee} is not a function")
        if len(arguments) != len(signature.parameters):
            takes, name = len(signature.parameters), self.module.function_name(callee)
            raise InvalidModule(f"'{name}' takes {takes} arguments, not {len(arguments)}")

    def _return(self, operands: tuple[int, ...]) -> None:
        signature = self.module.types[self.function.type]
        returns = signature.result if isinstance(signature, t.FunctionType) else t.Void()
        if bool(operands) == isinstance(returns, t.Void):
            raise InvalidModule(f"the function returns a {returns}")

    def _function_pointer(self, operands: tuple[int, ...]) -> None:
        if operands[0] not in self.module.function_types:
            raise InvalidModule(f"%{operands[0]} is not a function")

    def _pointer_call(self, operands: tuple[int, ...]) -> None:
        if not operands:
            raise InvalidModule("the function that it calls is missing")

    def _gather(self, operands: tuple[int, ...]) -> None:
        check_power(operands[1])

    def _scatter(self, operands: tuple[int, ...]) -> None:
        check_power(operands[2])

    def _parameters(self) -> None:
        types = self.module.types
        signature = types[self.function.type]
        given = [types[parameter.type] for parameter in self.function.parameters]
        expected = signature.parameters if isinstance(signature, t.FunctionType) else ()
        if len(given) != len(expected):
            raise InvalidModule(f"its type has {len(expected)} parameters, and it has {len(given)}")
        for index, (own, said) in enumerate(zip(given, expected, strict=True)):
            if not t.compatible(said, own):
                raise InvalidModule(f"its parameter {index} is a {own}, and in its type a {said}")

    def _predecessors(self, successors: Mapping[int, tuple[int, ...]]) -> dict[int, set[int]]:
        """The blocks that lead to each block."""
        reached: dict[int, set[int]] = {label: set() for label in self.labels}
        for label, targets in successors.items():
            for target in targets:
                reached[target].add(label)
        return reached

    def _phis(self, block: Block, reached: set[int]) -> None:
        for instruction in block.instructions:
            if instruction.opcode != Op.Phi:
                return
            sources = instruction.operands[1::2]
            where = f"the phi %{instruction.result} in block %{block.label}"
            missing = reached.difference(sources)
            if missing:
                raise InvalidModule(f"{where} has no value for block %{min(missing)}")
            strangers = set(sources) - reached
            if strangers and reached:
                raise InvalidModule(
                    f"{where} has a value for block %{min(strangers)}, which does not lead there"
                )
            pairs = set(zip(instruction.operands[0::2], sources, strict=True))
            if len(pairs) > len(reached) > 0:  # compilers repeat the pair of a switch
                raise InvalidModule(f"{where} has two values for one block")


RULES = {
    Op.FunctionCall: Checker._call,
    Op.Return: Checker._return,
    Op.ReturnValue: Checker._return,
    Op.ConstantFunctionPointerINTEL: Checker._function_pointer,
    Op.FunctionPointerCallINTEL: Checker._pointer_call,
    Op.MaskedGatherINTEL: Checker._gather,
    Op.MaskedScatterINTEL: Checker._scatter,
}
"""What is to be looked at besides the ids that an instruction takes."""


def check_alignment(row: Row, operands: tuple[int, ...]) -> None:
    """Refuses an access to memory whose alignment is not a power of two."""
    assert row.memory_at is not None
    at = row.memory_at
    while at < len(operands):
        flags = operands[at]
        if flags & MemoryAccess.Aligned:
            check_power(operands[at + 1] if at + 1 < len(operands) else 0)
        at += 1 + (flags == MemoryAccess.Aligned or len(parameters_of("MemoryAccess", flags)))


def check_power(alignment: int) -> None:
    """Refuses an alignment that is not a power of two."""
    if alignment.bit_count() != 1:
        raise InvalidModule(f"its alignment, {alignment}, is not a power of two")


def targets_of(
    module: Module, terminator: Instruction, value_types: Mapping[int, int]
) -> tuple[int, ...]:
    """The labels that the last instruction of a block can lead to."""
    operands = terminator.operands
    match terminator.opcode:
        case Op.Branch:
            return operands[:1]
        case Op.BranchConditional:
            return operands[1:3]
        case Op.Switch:
            cases = switch_cases(module, operands, value_types)
            return (operands[1], *(target for _, target in cases))
    return ()


def check_signature(module: Module, function: Function, result: int) -> None:
    """Checks that the type of a function is one, and says what the function returns."""
    signature = module.types.get(function.type)
    if not isinstance(signature, t.FunctionType):
        raise InvalidModule(f"its type, %{function.type}, is not that of a function")
    if module.types.get(result) != signature.result:
        raise InvalidModule(f"it returns a {signature.result}, and says it returns %{result}")
