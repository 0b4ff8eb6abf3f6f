"""The part of a module before its functions, except for types, constants and variables.

Those are only noted here with their places; `declarations` defines them.
"""

from __future__ import annotations

from array import array

from groundstate.compiler.spirv.annotations import Annotations, need
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.instructions import ROWS, enumeration, invalid, opcode_name
from groundstate.compiler.spirv.module import EntryPoint, Module, Names, Source
from groundstate.compiler.spirv.opcodes import ExecutionMode, ExecutionModel, Op
from groundstate.compiler.spirv.strings import read_name, read_string
from groundstate.printable import printable

FUNCTION = Op.Function
NAMES = frozenset((Op.Name, Op.MemberName))
ANNOTATIONS = frozenset(
    (
        Op.Decorate,
        Op.DecorateId,
        Op.DecorateString,
        Op.MemberDecorate,
        Op.MemberDecorateString,
        Op.GroupDecorate,
        Op.GroupMemberDecorate,
    )
)
CONTINUATIONS = frozenset(
    (
        Op.TypeStructContinuedINTEL,
        Op.ConstantCompositeContinuedINTEL,
        Op.SpecConstantCompositeContinuedINTEL,
    )
)
DECLARATIONS = frozenset(
    number
    for number, row in ROWS.items()
    if row.has_result and row.name.startswith(("OpType", "OpConstant", "OpSpecConstant"))
) | {Op.Variable, Op.UntypedVariableKHR, Op.Undef, Op.PoisonKHR}
BODY = frozenset(
    (Op.FunctionParameter, Op.FunctionEnd, Op.Label, Op.Return, Op.ReturnValue, Op.Branch)
)
"""What can only stand in a function: if it comes earlier, the function's beginning is lost."""

PLAIN_MODES = {
    ExecutionMode.LocalSizeId: ExecutionMode.LocalSize,
    ExecutionMode.LocalSizeHintId: ExecutionMode.LocalSizeHint,
    ExecutionMode.SubgroupsPerWorkgroupId: ExecutionMode.SubgroupsPerWorkgroup,
}
"""Modes given by ids of constants, and the modes that say the same with plain numbers."""


class Preamble:
    """Walks over the preamble once."""

    def __init__(self, module: Module, words: array[int], annotations: Annotations) -> None:
        self.module = module
        self.words = words
        self.annotations = annotations
        self.places: dict[int, int] = {}
        """Where each id of the module is defined."""
        self.declared: list[int] = []
        """The ids of types, constants and variables, in order."""
        self.continued: dict[int, array[int]] = {}
        """More operands for the instruction at a place."""
        self.forward_pointers: set[int] = set()
        self.name_places: list[int] = []
        self.raw_modes: dict[int, dict[int, tuple[int, ...]]] = {}

    def read(self, position: int) -> int:
        """Reads up to the first function and returns where that begins."""
        words, end = self.words, len(self.words)
        while position < end:
            word = words[position]
            opcode, count = word & 0xFFFF, word >> 16
            if opcode == FUNCTION:
                return position
            if count == 0:
                raise invalid("an instruction of 0 words", word, position)
            if position + count > end:
                raise invalid("it is longer than the rest of the module", word, position)
            if opcode in NAMES:
                self.name_places.append(position)
                position += count
                continue
            try:
                self._take(opcode, position, count)
            except InvalidModule as problem:
                raise invalid(problem.reason, word, position) from None
            position += count
        return position

    def _take(self, opcode: int, position: int, count: int) -> None:
        operands = self.words[position + 1 : position + count]
        if opcode in DECLARATIONS:
            self._declare(opcode, position, operands)
        elif opcode in ANNOTATIONS:
            self.annotations.add(opcode, operands)
        elif opcode in CONTINUATIONS:
            self._continue(operands)
        elif opcode in BODY or opcode not in ROWS:
            reason = "it stands outside of a function" if opcode in ROWS else "it is not known"
            raise InvalidModule(reason)
        else:
            self._say(opcode, position, operands)

    def _declare(self, opcode: int, position: int, operands: array[int]) -> None:
        at = 1 if ROWS[opcode].has_type else 0
        need(operands, at + 1)
        self._place(operands[at], position)
        self.declared.append(operands[at])

    def _place(self, id: int, position: int) -> None:
        if not 0 < id < self.module.bound:
            raise InvalidModule(f"the id %{id} is out of range (the bound is {self.module.bound})")
        if id in self.places:
            raise InvalidModule(f"%{id} is defined twice")
        self.places[id] = position

    def _continue(self, operands: array[int]) -> None:
        if not self.declared:
            raise InvalidModule("there is nothing to continue")
        place = self.places[self.declared[-1]]
        self.continued.setdefault(place, array("I")).extend(operands)

    def _say(self, opcode: int, position: int, operands: array[int]) -> None:
        """Takes an instruction that neither declares nor decorates."""
        module, row = self.module, ROWS[opcode]
        need(operands, row.fewest + row.has_type + row.has_result)
        if row.has_result:
            self._place(operands[row.has_type], position)
        match opcode:
            case Op.Capability:
                module.capabilities.add(operands[0])
            case Op.Extension:
                module.extensions.add(read_string(operands)[0])
            case Op.ExtInstImport:
                module.ext_imports[operands[0]] = read_string(operands[1:])[0]
            case Op.MemoryModel:
                module.addressing_model, module.memory_model = operands[0], operands[1]
            case Op.EntryPoint:
                self._enter(operands)
            case Op.ExecutionMode | Op.ExecutionModeId:
                self._set_mode(operands)
            case Op.String:
                module.strings[operands[0]] = read_string(operands[1:])[0]
            case Op.AsmINTEL:
                module.assembly[operands[1]] = read_string(operands[4:])[0]
            case Op.Source:
                module.source = Source(operands[0], operands[1])
            case Op.TypeForwardPointer:
                self.forward_pointers.add(operands[0])

    def _enter(self, operands: array[int]) -> None:
        model, function = operands[0], operands[1]
        name, used = read_name(operands[2:])
        point = EntryPoint(function, name, tuple(operands[2 + used :]), model)
        before = self.module.entry_points.get(name)
        if before is not None and before.model == model and before.function != function:
            raise InvalidModule(f"there are two kernels '{name}'")
        if before is None or model == ExecutionModel.Kernel:
            self.module.entry_points[name] = point

    def _set_mode(self, operands: array[int]) -> None:
        function, mode = operands[0], operands[1]
        known = enumeration("ExecutionMode").get(mode)
        if known is not None and len(operands) - 2 < len(known.operands):
            raise InvalidModule(f"the execution mode {known.name} lacks an operand")
        self.raw_modes.setdefault(function, {})[mode] = tuple(operands[2:])

    def read_names(self) -> Names:
        """The names of ids and of members, which are for people: one that is broken is left out."""
        names: dict[int, str] = {}
        members: dict[tuple[int, int], str] = {}
        for position in self.name_places:
            word = self.words[position]
            is_member = word & 0xFFFF == Op.MemberName
            operands = self.words[position + 1 : position + (word >> 16)]
            try:
                need(operands, 2 + is_member)
                text = printable(read_string(operands[1 + is_member :])[0])
            except InvalidModule:
                continue
            if is_member:
                members[operands[0], operands[1]] = text
            else:
                names[operands[0]] = text
        return names, members

    def finish(self) -> None:
        """Checks what can only be checked when everything is known."""
        module, functions = self.module, self.module.function_types
        for point in module.entry_points.values():
            if point.function not in functions:
                reason = f"the kernel '{point.name}' has no function: %{point.function} is none"
                raise InvalidModule(reason, instruction="OpEntryPoint")
        module.execution_modes = {id: dict(modes) for id, modes in self.raw_modes.items()}
        self.resolve_modes(module)

    def resolve_modes(self, module: Module) -> None:
        """Replaces the ids in execution modes by the values of the constants they stand for."""
        known = enumeration("ExecutionMode")
        for modes in module.execution_modes.values():
            for mode, operands in list(modes.items()):
                kinds = known[mode].operands if mode in known else ()
                if not any(kind.kind == "id" for kind in kinds):
                    continue
                values = tuple(
                    self._number(module, operand, mode) if kind.kind == "id" else operand
                    for kind, operand in zip(kinds, operands, strict=False)
                )
                modes[mode] = values
                if mode in PLAIN_MODES:
                    modes[PLAIN_MODES[mode]] = values

    def _number(self, module: Module, id: int, mode: int) -> int:
        if mode == ExecutionMode.FPFastMathDefault and id in module.types:
            return id
        constant = module.constants.get(id)
        if constant is None or not isinstance(constant.value, int):
            name = enumeration("ExecutionMode")[mode].name
            reason = f"{name} needs a number, and %{id} is none"
            raise InvalidModule(reason, instruction=opcode_name(Op.ExecutionModeId))
        return constant.value
