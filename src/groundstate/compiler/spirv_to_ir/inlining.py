"""Copies of functions: a call becomes the callee's blocks between the halves of its own block.

So barriers inside functions and divergent returns need no special care later on. A call through a
pointer becomes a switch over the functions that the pointer may lead to.
"""

from __future__ import annotations

from groundstate.compiler.errors import BuildError, UnresolvedNameError
from groundstate.compiler.ir import Block, Node, constant_node
from groundstate.compiler.ir.ops import OPERATIONS
from groundstate.compiler.limits import MAX_CALL_DEPTH
from groundstate.compiler.program.symbols import Callee
from groundstate.compiler.spirv.constants import Address, Constant
from groundstate.compiler.spirv.debug_info import DECLARE, VARIABLES, SourceLine
from groundstate.compiler.spirv.instructions import ROWS, opencl_rows
from groundstate.compiler.spirv.module import Function, Instruction
from groundstate.compiler.spirv.opcodes import MemoryAccess, MemorySemantics, Scope, StorageClass
from groundstate.compiler.spirv.operands import OPENCL_STD
from groundstate.compiler.spirv.types import Bool, Int, Pointer, Type, Void
from groundstate.compiler.spirv_to_ir.assembly import assembly_of
from groundstate.compiler.spirv_to_ir.by_value import needs_copy
from groundstate.compiler.spirv_to_ir.instruction_support import (
    NO_CODE,
    REFUSED,
    RENAMED,
    UNTYPED,
    reason_against_set,
)
from groundstate.compiler.spirv_to_ir.kernel_ir import Builder, Words
from groundstate.compiler.spirv_to_ir.library_functions import (
    Access,
    LibraryFunction,
    library_function,
)

RETURNS = ("Return", "ReturnValue")
ENDS = ("Unreachable", "Kill", "TerminateInvocation", "AbortKHR")

ALL_MEMORY = (
    Scope.CrossDevice,
    MemorySemantics.SequentiallyConsistent | MemorySemantics.CrossWorkgroupMemory,
)
"""The operands of a fence for memory that other devices see."""

Exits = list[tuple[Block, int]]
"""Blocks that return, with the id of the value that they return."""


class Instance:
    """One inlined copy of a function."""

    def __init__(
        self,
        builder: Builder,
        home: int,
        function: Function,
        arguments: list[Node],
        callers: tuple[tuple[int, int], ...],
        exits: Exits,
    ) -> None:
        self.builder = builder
        self.home = home
        self.module = builder.modules[home]
        self.function = function
        self.callers = (*callers, (home, function.id))
        self.where = self.module.function_name(function.id)
        if (home, function.id) in callers:
            raise BuildError(self._recursion(callers))
        if len(callers) > MAX_CALL_DEPTH:
            raise BuildError(f"in function '{self.where}': calls nest deeper than {MAX_CALL_DEPTH}")
        if not function.blocks:
            raise UnresolvedNameError(
                self.where, f"{self.where} is declared but not defined in this module"
            )
        self.exits = exits
        self.call = builder.location
        """Where in the source it is called from, if that is known."""
        self.line: SourceLine | None = None
        self.later_types: dict[int, int] = {}
        self.values: dict[int, Node] = {}
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            self.values[parameter.result] = argument
        self.first = {each.label: Block(self.where) for each in function.blocks}
        self.last: dict[int, Block] = {}
        self.entry = self.first[function.blocks[0].label]
        for block in function.blocks:
            self._build_block(block.label, block.instructions)

    def _recursion(self, callers: tuple[tuple[int, int], ...]) -> str:
        start = callers.index((self.home, self.function.id))
        names = [
            self.builder.modules[home].function_name(identifier)
            for home, identifier in callers[start:]
        ]
        way = " calls ".join([*names, self.where])
        return (
            f"in function '{names[-1]}', OpFunctionCall: recursion is not supported: {way} "
            "(calls are inlined, and OpenCL has no recursion)"
        )

    def type_of(self, type_id: int, user: str = "OpFunction") -> Type:
        if type_id and type_id not in self.module.types:
            raise BuildError(f"in function '{self.where}', {user}: %{type_id} is not a type")
        return self.module.types[type_id] if type_id else Void()

    def operand(self, identifier: int, user: Node) -> Node:
        """The node that an id stands for."""
        found = self.values.get(identifier) or self.builder.constant(self.home, identifier)
        if found is None:
            raise BuildError(
                f"in function '{self.where}', Op{user.op}: it uses %{identifier}, "
                "which is not a value"
            )
        return found

    # --- Blocks ---------------------------------------------------------------------------------

    def _build_block(self, label: int, instructions: list[Instruction]) -> None:
        current = self.first[label]
        for instruction in instructions:
            if instruction.line is not self.line:
                self._move_to(instruction.line)
            name = ROWS[instruction.opcode].name.removeprefix("Op")
            if name == "FunctionCall":
                current = self._call(current, instruction)
            elif name == "FunctionPointerCallINTEL":
                current = self._call_pointer(current, instruction)
            elif name == "Phi":
                phi = self._node(instruction, name)
                current.phis.append(phi)
                self.builder.phis.append((phi, instruction.operands, self))
            elif self._ends(current, name, instruction):
                break
            elif name == "LifetimeStop" and self.builder.for_debugger:
                self._tell(current, name, instruction.operands[0])
            elif name not in NO_CODE:
                self._add(current, name, instruction)
        self.last[label] = current

    def _move_to(self, line: SourceLine | None) -> None:
        """Goes to another line of the source."""
        self.line = line
        self.builder.location = self.builder.locate(self.home, line, self.where, self.call)

    def _add(self, current: Block, name: str, instruction: Instruction) -> None:
        """Adds an instruction that is no branch and no call."""
        if name in ("Undef", "PoisonKHR"):
            self.values[instruction.result] = Node("Undef", self.type_of(instruction.type))
        elif name == "ConstantFunctionPointerINTEL":
            self._function_address(instruction)
        elif name in ("Variable", "UntypedVariableKHR"):
            self._variable(current, name, instruction)
        elif name == "ExtInst" and self._set_of(instruction) != OPENCL_STD:
            self._other_set(current, instruction)
        elif name == "AsmCallINTEL" and self._assembly(current, instruction):
            return
        elif name in REFUSED:
            self._refuse(current, name, instruction, REFUSED[name])
        elif RENAMED.get(name, name) not in OPERATIONS:
            self._refuse(current, name, instruction, "it has no place in a function")
        else:
            current.nodes.append(self._plain(instruction, name))

    def _refuse(self, current: Block, name: str, instruction: Instruction, reason: str) -> None:
        """Leaves a node that says why an instruction cannot be compiled, when it is written."""
        node = self._node(instruction, "Refused")
        node.literals = (f"Op{name}", reason)
        current.nodes.append(node)

    def _assembly(self, current: Block, instruction: Instruction) -> bool:
        """Puts an access or a fence in the place of assembly that is one; False if it is not."""
        piece, *operands = instruction.operands
        known = assembly_of(self.module.assembly.get(piece, ""))
        if known is None:
            return False
        kinds = [self._known_type(each) for each in operands]
        if not known.fits(self.type_of(instruction.type), kinds):
            return False
        node = self._node(instruction, known.op)
        if known.element is None:
            node.operands = [constant_node(Int(32, False), each) for each in ALL_MEMORY]
            current.nodes.append(node)
            return True
        address = kinds[0]
        assert isinstance(address, Pointer)
        place = self.builder.new_node(
            "Bitcast", Pointer(address.storage, known.element), self.where
        )
        self.builder.unresolved.append((place, [("id", operands[0])], self))
        node.operands, node.literals = [place], (MemoryAccess.Volatile,)
        self.builder.unresolved.append((node, [("id", each) for each in operands[1:]], self))
        current.nodes += [place, node]
        return True

    def _set_of(self, instruction: Instruction) -> str:
        return self.module.ext_imports.get(instruction.operands[0], "")

    def _other_set(self, current: Block, instruction: Instruction) -> None:
        reason = reason_against_set(self._set_of(instruction))
        _, number, variable, value, *_ = (*instruction.operands, 0, 0)
        if reason is None and number in VARIABLES and self._is_told(value):
            kind = "declare" if number == DECLARE else "value"
            self._tell(current, "DebugDeclare", value, (kind, self.home, variable))
        if reason is not None:
            self._refuse(current, "ExtInst", instruction, reason)

    def _is_told(self, identifier: int) -> bool:
        """Whether debuggers want to hear of a value, and it is one."""
        return self.builder.for_debugger and (
            identifier in self.values or self.builder.constant(self.home, identifier) is not None
        )

    def _tell(
        self, current: Block, op: str, operand: int, literals: tuple[object, ...] = ()
    ) -> None:
        """Leaves a node that tells a debugger of a variable of the source."""
        node = self.builder.new_node(op, Void(), self.where, literals)
        self.builder.unresolved.append((node, [("id", operand)], self))
        current.nodes.append(node)

    def _function_address(self, instruction: Instruction) -> None:
        kind = self.type_of(instruction.type)
        address = Constant(kind, Address(instruction.operands[0]))
        value = self.builder.symbols.settled(self.home, address)
        self.values[instruction.result] = Node("Constant", kind, literals=(value, self.home))

    def _variable(self, current: Block, name: str, instruction: Instruction) -> None:
        """A variable, and the store of what it starts with."""
        storage, *rest = instruction.operands
        node = self._node(instruction, "Variable")
        node.literals = (storage,)
        if name == "UntypedVariableKHR" and rest:
            node.type = Pointer(storage, self.type_of(rest.pop(0), f"Op{name}"))
        current.nodes.append(node)
        if rest:
            start = self.builder.new_node("Store", Void(), self.where)
            start.operands.append(node)
            self.builder.unresolved.append((start, [("id", rest[0])], self))
            current.nodes.append(start)

    # --- Instructions ---------------------------------------------------------------------------

    def _node(self, instruction: Instruction, name: str) -> Node:
        node = self.builder.new_node(name, self.type_of(instruction.type), self.where)
        node.position = instruction.position
        if instruction.result:
            self.values[instruction.result] = node
            node.decorations = self.module.decorations.get(instruction.result, {})
        return node

    def _plain(self, instruction: Instruction, name: str) -> Node:
        words = self._operand_kinds(instruction, name)
        node = self._node(instruction, RENAMED.get(name, name))
        if name in UNTYPED:
            node.literals = (self.type_of(words.pop(0)[1], f"Op{name}"),)
        if name == "ControlBarrierArriveINTEL":
            del words[0]  # a fence: it is the wait that holds work-items up
        self.builder.unresolved.append((node, words, self))
        return node

    def _operand_kinds(self, instruction: Instruction, name: str) -> Words:
        """Which words of an instruction are ids of values."""
        words = instruction.operands
        if name == "ExtInst":
            return [("n", words[0]), ("n", words[1]), *_extended_kinds(words)]
        row = ROWS[instruction.opcode]
        positions = row.id_positions
        if positions is None:  # literal memory operands, or those of images, follow the values
            positions = tuple(range(len(OPERATIONS[name].types.operands)))
        return [
            ("id" if index in positions or index >= row.all_ids_from else "n", word)
            for index, word in enumerate(words)
        ]

    # --- Branches -------------------------------------------------------------------------------

    def _ends(self, current: Block, name: str, instruction: Instruction) -> bool:
        """Takes the terminator of a block."""
        words = instruction.operands
        if name == "Branch":
            current.successors = [self._target(words[0])]
        elif name == "BranchConditional":
            self._branch(current, instruction)
        elif name == "Switch":
            self._switch(current, instruction)
        elif name in RETURNS:
            self.exits.append((current, words[0] if name == "ReturnValue" else 0))
        elif name in ENDS:
            if name in REFUSED:
                self._refuse(current, name, instruction, REFUSED[name])
            current.nodes.append(self.builder.new_node("Trap", Void(), self.where))
            self.exits.append((current, 0))
        else:
            return False
        return True

    def _target(self, label: int) -> Block:
        if label not in self.first:
            raise BuildError(f"{self.where}: a branch leads to %{label}, which is no block")
        return self.first[label]

    def _branch(self, current: Block, instruction: Instruction) -> None:
        condition, yes, no = instruction.operands[:3]
        if yes == no:
            current.successors = [self._target(yes)]
            return
        current.successors = [self._target(yes), self._target(no)]
        copy = self._copy_of(current, condition, Bool(), self, "BranchConditional")
        copy.position = instruction.position
        current.condition = copy

    def _copy_of(
        self, current: Block, identifier: int, type_: Type, user: Instance, name: str
    ) -> Node:
        """A node at the end of a block for the value of an id, which may not be known yet.

        `name` is that of the instruction that takes the value.
        """
        copy = self.builder.new_node("Copy", type_, user.where, (name,))
        self.builder.unresolved.append((copy, [("id", identifier)], user))
        current.nodes.append(copy)
        return copy

    def _switch(self, current: Block, instruction: Instruction) -> None:
        words = instruction.operands
        type_ = self._known_type(words[0]) or self._later_type(words[0])
        width = type_.width if isinstance(type_, Int) else 32
        count = -(-width // 32)
        cases = words[2:]
        current.switch = []
        current.successors = [self._target(words[1])]
        for at in range(0, len(cases) - count, count + 1):
            value = sum(cases[at + part] << 32 * part for part in range(count))
            current.switch.append(value & ((1 << width) - 1))
            current.successors.append(self._target(cases[at + count]))
        copy = self._copy_of(current, words[0], type_, self, "Switch")
        copy.position = instruction.position
        current.condition = copy

    def _later_type(self, identifier: int) -> Type:
        """The type of a value whose block stands further on in the module."""
        if not self.later_types:
            self.later_types = {
                each.result: each.type
                for block in self.function.blocks
                for each in block.instructions
            }
        return self.type_of(self.later_types.get(identifier, 0))

    # --- Calls ----------------------------------------------------------------------------------

    def _call(self, current: Block, instruction: Instruction) -> Block:
        """Inlines a call; returns the block that the rest of the caller's block goes to."""
        home, callee = self.builder.symbols.function(self.home, instruction.operands[0])
        name = self.module.imports.get(callee.id, "")
        kind = self.module.function_type(callee.id)
        known = None if callee.blocks else library_function(name, kind)
        if known is not None:
            self._call_known(current, instruction, known)
            return current
        rest = Block(self.where)
        result = self._node(instruction, "Phi")
        self._inline(current, home, callee, instruction.operands[1:], result, rest)
        self._receive(rest, result)
        return rest

    def _call_known(self, current: Block, instruction: Instruction, known: LibraryFunction) -> None:
        """Puts a node in the place of a call to a function that the device knows."""
        if known.access is not None:
            self._access(current, instruction, known.access)
            return
        node = self._node(instruction, known.op)
        node.literals = known.literals
        operands = [("id", each) for each in instruction.operands[1:] if known.takes_arguments]
        if known.behind_pointer is not None:
            value = self.builder.new_node("Load", known.behind_pointer, self.where)
            self.builder.unresolved.append((value, operands, self))
            current.nodes.append(value)
            node.operands, operands = [value], []
        self.builder.unresolved.append((node, operands, self))
        current.nodes.append(node)

    def _access(self, current: Block, instruction: Instruction, access: Access) -> None:
        """Puts a load or a store in the place of a call that has a hint for caches."""
        arguments, element = instruction.operands[1:], access.pointer.pointee
        if len(arguments) != access.operands:
            raise BuildError(f"in function '{self.where}': a call has {len(arguments)} arguments")
        if access.kind == "prefetch" or element is None:
            return

        def add(op: str, kind: Type, operands: list[Node], *identifiers: int) -> Node:
            node = self.builder.new_node(op, kind, self.where)
            node.operands = operands
            self.builder.unresolved.append((node, [("id", each) for each in identifiers], self))
            current.nodes.append(node)
            return node

        start = add("Bitcast", access.pointer, [], arguments[0])
        place = add("PtrAccessChain", access.pointer, [start], arguments[1])
        is_narrow = isinstance(element, Int) and element.width < 32
        if access.kind == "store":
            if is_narrow:
                add("Store", Void(), [place, add("UConvert", element, [], arguments[2])])
            else:
                add("Store", Void(), [place], arguments[2])
            return
        result = self._node(instruction, "UConvert" if is_narrow else "Load")
        result.operands = [add("Load", element, [place])] if is_narrow else [place]
        current.nodes.append(result)

    def _inline(
        self,
        current: Block,
        home: int,
        callee: Function,
        arguments: tuple[int, ...],
        result: Node,
        rest: Block,
    ) -> None:
        """Puts a copy of a function between `current` and `rest`."""
        types = self.builder.modules[home].types
        if len(callee.parameters) != len(arguments):
            raise BuildError(
                f"in function '{self.where}', OpFunctionCall: "
                f"'{self.builder.modules[home].function_name(callee.id)}' takes "
                f"{len(callee.parameters)} arguments, not {len(arguments)}"
            )
        given = [
            self._copy_of(current, identifier, types[parameter.type], self, "FunctionCall")
            for parameter, identifier in zip(callee.parameters, arguments, strict=True)
        ]
        given = own_copies(self.builder, current, home, callee, given, is_kernel=False)
        exits: Exits = []
        here = self.builder.location
        inlined = Instance(self.builder, home, callee, given, self.callers, exits)
        self.builder.location = here
        current.successors = [inlined.entry]
        for block, identifier in exits:
            block.successors = [rest]
            if identifier:
                value = self._copy_of(block, identifier, result.type, inlined, "ReturnValue")
                result.operands.append(value)
                result.literals = (*result.literals, block)

    def _receive(self, rest: Block, result: Node) -> None:
        """Makes the result of a call a phi of all that is returned; a call may never return."""
        if isinstance(result.type, Void):
            return
        if result.operands:
            rest.phis.append(result)
        else:
            result.op = "Undef"

    def _call_pointer(self, current: Block, instruction: Instruction) -> Block:
        """Inlines every function that a pointer may lead to, behind a switch on its number."""
        pointer, *arguments = instruction.operands
        targets = self._targets(instruction)
        rest = Block(self.where)
        result = self._node(instruction, "Phi")
        number = self.builder.new_node("ConvertPtrToU", Int(64), self.where)
        self.builder.unresolved.append((number, [("id", pointer)], self))
        current.nodes.append(number)
        nowhere = Block(self.where)
        nowhere.nodes.append(self.builder.new_node("Trap", Void(), self.where))
        nowhere.successors = [rest]
        current.condition = number
        current.switch = [target.number for target in targets]
        current.successors = [nowhere]
        for target in targets:
            start = Block(self.where)
            current.successors.append(start)
            callee = self.builder.modules[target.home].function(target.id)
            self._inline(start, target.home, callee, tuple(arguments), result, rest)
        if not isinstance(result.type, Void):
            result.operands.append(Node("Undef", result.type))
            result.literals = (*result.literals, nowhere)
        self._receive(rest, result)
        return rest

    def _targets(self, instruction: Instruction) -> list[Callee]:
        arguments = [self._known_type(each) for each in instruction.operands[1:]]
        result = self.type_of(instruction.type)
        targets = self.builder.symbols.callees_of(result, arguments)
        if not targets:
            raise BuildError(
                f"in function '{self.where}', OpFunctionPointerCallINTEL: no function of this type "
                "is exported or has its address taken in this program, so the pointer can lead "
                "nowhere; link the module that defines it (zeModuleDynamicLink)"
            )
        return targets

    def _known_type(self, identifier: int) -> Type | None:
        known = self.values.get(identifier) or self.builder.constant(self.home, identifier)
        return known.type if known is not None else None


def own_copies(
    builder: Builder,
    current: Block,
    home: int,
    function: Function,
    arguments: list[Node],
    is_kernel: bool,
) -> list[Node]:
    """The arguments of a function, with a copy of each structure that it takes by value.

    A structure by value arrives as a pointer. The function may change what is there, which
    nobody else must see; one that only reads needs no copy."""
    module = builder.modules[home]
    given = list(arguments)
    for index in needs_copy(module, function, is_kernel):
        kind = given[index].type
        assert isinstance(kind, Pointer)
        where = module.function_name(function.id)
        own = builder.new_node("Variable", Pointer(StorageClass.Function, kind.pointee), where)
        own.literals = (StorageClass.Function,)
        copy = builder.new_node("CopyMemory", Void(), where)
        copy.operands = [own, given[index]]
        current.nodes += [own, copy]
        given[index] = own
    return given


def _extended_kinds(words: tuple[int, ...]) -> Words:
    """Which operands of an extended instruction are ids: a few take a number at the end."""
    row = opencl_rows().get(words[1])
    numbers = {
        index
        for index, operand in enumerate(row.operands if row is not None else ())
        if operand.kind in ("integer", "FPRoundingMode")
    }
    return [("n" if index in numbers else "id", each) for index, each in enumerate(words[2:])]
