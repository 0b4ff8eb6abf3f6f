"""Reads the body of one function into blocks, each with a label and an instruction that leaves it.

`checks` then looks at how the blocks and values hang together.
"""

from __future__ import annotations

from array import array

from groundstate.compiler.spirv.checks import Checker, check_signature
from groundstate.compiler.spirv.debug_info import VARIABLES, LineTracker
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.instructions import ROWS, Row, opcode_name
from groundstate.compiler.spirv.module import Block, Function, Instruction, Module
from groundstate.compiler.spirv.opcodes import Op

DROPPED = frozenset((Op.Nop, Op.Line, Op.NoLine))
"""What leaves no instruction behind."""
BEFORE_PHIS = frozenset((Op.Phi, Op.LoopControlINTEL))
"""Compilers put the hint for a loop at the very start of its first block."""
OUTSIDE = frozenset(
    number
    for number, row in ROWS.items()
    if number != Op.ConstantFunctionPointerINTEL
    and (
        row.name.startswith(
            ("OpType", "OpConstant", "OpSpecConstant", "OpSource", "OpExecutionMode")
        )
        or row.name.startswith(("OpDecorat", "OpMember", "OpGroupDecorate", "OpGroupMember"))
        or row.name in ("OpName", "OpString", "OpExtension", "OpExtInstImport", "OpMemoryModel")
        or row.name in ("OpEntryPoint", "OpCapability", "OpModuleProcessed", "OpFunctionEnd")
    )
)
"""What stands before all functions, or between them."""
TERMINATORS = frozenset(
    (
        Op.Branch,
        Op.BranchConditional,
        Op.Switch,
        Op.Kill,
        Op.Return,
        Op.ReturnValue,
        Op.Unreachable,
        Op.TerminateInvocation,
        Op.AbortKHR,
    )
)

MAX_BLOCKS = 10_000
"""Of a function, and of a kernel with all that it calls: more would take minutes to compile."""


def read_function(module: Module, words: array[int], start: int, end: int) -> Function:
    """The function that begins and ends at places in a module."""
    return _Body(module, words, start).read(end)


class _Body:
    def __init__(self, module: Module, words: array[int], start: int) -> None:
        self.module = module
        self.words = words
        self.start = start
        kind, id, control, signature = words[start + 1 : start + 5]
        self.function = Function(id, signature, control)
        self.return_type = kind
        self.block: Block | None = None
        self.position = start
        self.row = ROWS[Op.Function]
        self.value_types: dict[int, int] = {}
        """The type of each id that the function defines; 0 for labels."""
        self.continued: list[int] = []
        """More operands for the last instruction, until the next one comes."""
        self.uses: list[tuple[int, Instruction]] = []
        self.lines = LineTracker(module)

    def read(self, end: int) -> Function:
        try:
            check_signature(self.module, self.function, self.return_type)
            self._walk(end)
            checker = Checker(self.module, self.function, self.value_types)
            for position, instruction in self.uses:
                self.position, self.row = position, ROWS[instruction.opcode]
                checker.check(instruction)
            self.position, self.row = self.start, ROWS[Op.Function]
            checker.check_whole()
        except InvalidModule as problem:
            raise InvalidModule(
                problem.reason,
                offset=self.position,
                instruction=self.row.name,
                function=self.module.function_name(self.function.id),
            ) from None
        return self.function

    # --- Reading ----------------------------------------------------------------------------------

    def _walk(self, end: int) -> None:
        words = self.words[self.start : end].tolist()
        at, last = words[0] >> 16, len(words) - 1
        while at < last:
            word = words[at]
            self.position = self.start + at
            opcode, count = word & 0xFFFF, word >> 16
            row = ROWS.get(opcode)
            if row is None:
                raise InvalidModule(f"{opcode_name(opcode)} is not known")
            self.row = row
            if opcode in DROPPED:
                if opcode != Op.Nop:
                    self.lines.take_line(words[at + 1 : at + count])
            else:
                self._take(opcode, row, words[at + 1 : at + count])
            at += count
        if self.block is not None:
            raise InvalidModule(f"the block %{self.block.label} is not left by a branch or return")

    def _take(self, opcode: int, row: Row, words: list[int]) -> None:
        if opcode in OUTSIDE:
            raise InvalidModule("it stands in a function, and belongs before all of them")
        if opcode == Op.ExtInst and len(words) > 3 and words[2] in self.lines.sets:
            self.lines.take(words)
            if words[3] in VARIABLES and self.block is not None:
                self._tell(words)
            return
        instruction = self._decode(opcode, row, words)
        if instruction.result:
            self._define(instruction)
        if opcode == Op.Label:
            if self.block is not None:
                raise InvalidModule(f"the block %{self.block.label} has no end before the next")
            if len(self.function.blocks) >= MAX_BLOCKS:
                raise InvalidModule(f"the function has more than {MAX_BLOCKS} blocks")
            self.block = Block(instruction.result)
            self.function.blocks.append(self.block)
        elif opcode == Op.FunctionParameter:
            if self.function.blocks:
                raise InvalidModule("a parameter comes after the first block")
            self.function.parameters.append(instruction)
        elif self.block is None:
            raise InvalidModule("it stands outside of a block")
        else:
            self._append(opcode, instruction, self.block)

    def _tell(self, words: list[int]) -> None:
        """Keeps where a variable of the source is, for debuggers; nothing else looks at it."""
        place = Instruction(Op.ExtInst, 0, 0, tuple(words[2:]), self.position, self.lines.current)
        if self.block is not None and not self.continued:
            self.block.instructions.append(place)

    def _append(self, opcode: int, instruction: Instruction, block: Block) -> None:
        before = block.instructions[-1].opcode if block.instructions else Op.Phi
        if opcode == Op.Phi and before not in BEFORE_PHIS:
            raise InvalidModule("an OpPhi comes after other instructions")
        if opcode == Op.CompositeConstructContinuedINTEL:
            self._continue(instruction, block)
            return
        if self.continued:
            block.instructions[-1].operands += tuple(self.continued)
            self.continued = []
        block.instructions.append(instruction)
        if opcode in TERMINATORS:
            self.block = None
            self.lines.leave_block()

    def _continue(self, instruction: Instruction, block: Block) -> None:
        before = block.instructions[-1] if block.instructions else None
        if before is None or before.opcode != Op.CompositeConstruct:
            raise InvalidModule("there is nothing to continue")
        self.continued += instruction.operands

    def _decode(self, opcode: int, row: Row, words: list[int]) -> Instruction:
        skip = row.has_type + row.has_result
        if len(words) < skip + row.fewest:
            raise InvalidModule("an operand is missing")
        operands = tuple(words[skip:])
        if row.most is not None and len(operands) > row.most:
            raise InvalidModule("it has too many operands")
        instruction = Instruction(
            opcode,
            words[0] if row.has_type else 0,
            words[row.has_type] if row.has_result else 0,
            operands,
            self.position,
            self.lines.current,
        )
        if row.has_type and instruction.type not in self.module.types:
            raise InvalidModule(f"%{instruction.type} is not a type")
        self.uses.append((self.position, instruction))
        return instruction

    def _define(self, instruction: Instruction) -> None:
        id = instruction.result
        if not 0 < id < self.module.bound:
            raise InvalidModule(f"the id %{id} is out of range (the bound is {self.module.bound})")
        if id in self.value_types or id in self.module.global_ids:
            raise InvalidModule(f"%{id} is defined twice")
        self.value_types[id] = instruction.type
