"""SPIR-V functions to one kernel graph: every call inlined, simple variables turned into values.

In goes a module and the name of an entry point; out comes a `Kernel`. A call becomes a copy of the
callee's blocks between the two halves of the block it stood in, so that barriers inside functions
and divergent returns need no special care later on.
"""

from __future__ import annotations

from collections.abc import Sequence

from groundstate.compiler.errors import BuildError, UnresolvedNameError
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.spirv.constants import Constant
from groundstate.compiler.spirv.instructions import ROWS, opencl_rows
from groundstate.compiler.spirv.module import Function, Instruction, Module, Variable
from groundstate.compiler.spirv.types import Bool, Pointer, Type, Void

MAX_NODES = 2_000_000
MAX_CALL_DEPTH = 64
STORAGE_FUNCTION = 7

IGNORED = frozenset(
    [
        "Nop",
        "LoopMerge",
        "SelectionMerge",
        "LifetimeStart",
        "LifetimeStop",
        "NoLine",
        "Line",
        "AssumeTrueKHR",
        "ModuleProcessed",
        "Undef",
    ]
)
"""Instructions that leave nothing behind (Undef leaves a constant, see `_Instance.operand`)."""

LEADING_IDS = {"Load": 1, "Store": 2, "CopyMemory": 2, "CopyMemorySized": 3}
"""How many ids come before the literal memory operands."""


ADDRESS_SPACE_CALLS = {"__to_local": 4, "__to_global": 5, "__to_private": 7}
"""Functions that compilers leave as calls, with the storage class that they ask for."""


class Builder:
    """Builds the graph of one kernel. Functions that its module imports come from the others."""

    def __init__(self, modules: Sequence[Module], name: str) -> None:
        self.modules = modules
        self.name = name
        self.constants: dict[tuple[int, int], Node] = {}
        self.node_count = 0
        self.unresolved: list[tuple[Node, list[tuple[str, int]], _Instance]] = []
        self.phis: list[tuple[Node, tuple[int, ...], _Instance]] = []

    def build(self) -> Kernel:
        """The whole kernel."""
        home = next(
            each
            for each in range(len(self.modules))
            if self.name in self.modules[each].entry_points
        )
        module = self.modules[home]
        function = module.function(module.entry_points[self.name].function)
        arguments = [
            Node("Argument", module.types[each.type], literals=(index,))
            for index, each in enumerate(function.parameters)
        ]
        exits: list[tuple[Block, int]] = []
        instance = _Instance(self, home, function, arguments, 0, exits)
        self._resolve()
        return Kernel(self.name, arguments, instance.entry)

    def new_node(self, op: str, type_: Type, where: str) -> Node:
        self.node_count += 1
        if self.node_count > MAX_NODES:
            raise BuildError(f"{self.name}: more than {MAX_NODES} operations after inlining")
        return Node(op, type_, where=where)

    def constant(self, home: int, identifier: int) -> Node | None:
        """The node of a constant or variable of a module, made once."""
        known = self.constants.get((home, identifier))
        if known is not None:
            return known
        module = self.modules[home]
        if identifier in module.constants:
            value: Constant = module.constants[identifier]
            node = Node("Constant", value.type, literals=(value, home))
        elif identifier in module.variables:
            owner, variable = self.find_variable(home, identifier)
            node = Node("Global", variable.type, literals=(variable, owner))
        else:
            return None
        self.constants[home, identifier] = node
        return node

    def find_variable(self, home: int, identifier: int) -> tuple[int, Variable]:
        """A variable, in the module that defines it."""
        variable = self.modules[home].variables[identifier]
        name = self.modules[home].imports.get(identifier)
        if name is not None and variable.builtin is None:
            for owner, module in enumerate(self.modules):
                for other, exported in module.exports.items():
                    if exported == name and other in module.variables:
                        return owner, module.variables[other]
            raise UnresolvedNameError(name, f"the variable {name} is declared but not defined")
        return home, variable

    def find_function(self, home: int, identifier: int) -> tuple[int, Function]:
        """A function, in the module that defines it."""
        function = self.modules[home].function(identifier)
        name = self.modules[home].imports.get(identifier)
        if function.blocks or name is None:
            return home, function
        for owner, module in enumerate(self.modules):
            for other, exported in module.exports.items():
                if exported == name and other in module.function_types:
                    found = module.function(other)
                    if found.blocks:
                        return owner, found
        return home, function

    def _resolve(self) -> None:
        """Puts nodes in the place of ids, now that every id has its node."""
        for node, raw, instance in self.unresolved:
            literals: list[object] = []
            for kind, word in raw:
                if kind == "id":
                    node.operands.append(instance.operand(word, node))
                else:
                    literals.append(word)
            node.literals = (*node.literals, *literals)
        for phi, words, instance in self.phis:
            sources: list[object] = []
            for value, label in zip(words[::2], words[1::2], strict=True):
                if label in instance.last:
                    phi.operands.append(instance.operand(value, phi))
                    sources.append(instance.last[label])
            phi.literals = tuple(sources)


class _Instance:
    """One inlined copy of a function."""

    def __init__(
        self,
        builder: Builder,
        home: int,
        function: Function,
        arguments: list[Node],
        depth: int,
        exits: list[tuple[Block, int]],
    ) -> None:
        self.builder = builder
        self.home = home
        self.module = builder.modules[home]
        self.function = function
        self.depth = depth
        self.where = self.module.function_name(function.id)
        if depth > MAX_CALL_DEPTH:
            raise BuildError(f"{self.where}: calls nest deeper than {MAX_CALL_DEPTH}: recursion?")
        if not function.blocks:
            raise UnresolvedNameError(
                self.where, f"{self.where} is declared but not defined in this module"
            )
        self.exits = exits
        """Blocks that return, with the id of the value that they return."""
        self.values: dict[int, Node] = {}
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            self.values[parameter.result] = argument
        self.first = {each.label: Block(self.where) for each in function.blocks}
        self.last: dict[int, Block] = {}
        self.entry = self.first[function.blocks[0].label]
        for block in function.blocks:
            self._build_block(block.label, block.instructions)

    def type_of(self, type_id: int) -> Type:
        return self.module.types[type_id] if type_id else Void()

    def operand(self, identifier: int, user: Node) -> Node:
        """The node that an id stands for."""
        found = self.values.get(identifier) or self.builder.constant(self.home, identifier)
        if found is None:
            raise BuildError(f"{self.where}: {user.op} uses %{identifier}, which is not defined")
        return found

    def _build_block(self, label: int, instructions: list[Instruction]) -> None:
        current = self.first[label]
        for instruction in instructions:
            name = ROWS[instruction.opcode].name.removeprefix("Op")
            if name == "FunctionCall":
                current = self._call(current, instruction)
            elif name == "Phi":
                phi = self._node(instruction, name)
                current.phis.append(phi)
                self.builder.phis.append((phi, instruction.operands, self))
            elif name == "Undef":
                self.values[instruction.result] = Node("Undef", self.type_of(instruction.type))
            elif self._ends(current, name, instruction):
                break
            elif name not in IGNORED:
                current.nodes.append(self._plain(instruction, name))
        self.last[label] = current

    def _node(self, instruction: Instruction, name: str) -> Node:
        node = self.builder.new_node(name, self.type_of(instruction.type), self.where)
        if instruction.result:
            self.values[instruction.result] = node
            node.decorations = self.module.decorations.get(instruction.result, {})
        return node

    def _plain(self, instruction: Instruction, name: str) -> Node:
        node = self._node(instruction, name)
        self.builder.unresolved.append((node, self._operand_kinds(instruction, name), self))
        return node

    def _operand_kinds(self, instruction: Instruction, name: str) -> list[tuple[str, int]]:
        """Which words of an instruction are ids of values."""
        words = instruction.operands
        if name == "ExtInst":
            return [("n", words[0]), ("n", words[1]), *_extended_kinds(words)]
        row = ROWS[instruction.opcode]
        positions = (
            range(LEADING_IDS.get(name, 0)) if row.id_positions is None else row.id_positions
        )
        return [
            ("id" if index in positions or index >= row.all_ids_from else "n", word)
            for index, word in enumerate(words)
        ]

    def _ends(self, current: Block, name: str, instruction: Instruction) -> bool:
        """Takes the terminator of a block."""
        words = instruction.operands
        if name == "Branch":
            current.successors = [self._target(words[0])]
        elif name == "BranchConditional":
            self._branch(current, words[0], words[1], words[2])
        elif name == "Switch":
            self._switch(current, words)
        elif name in ("Return", "ReturnValue"):
            self.exits.append((current, words[0] if name == "ReturnValue" else 0))
        elif name in ("Unreachable", "Kill", "TerminateInvocation", "AbortKHR"):
            self.exits.append((current, 0))
        else:
            return False
        return True

    def _target(self, label: int) -> Block:
        if label not in self.first:
            raise BuildError(f"{self.where}: a branch leads to %{label}, which is no block")
        return self.first[label]

    def _branch(self, current: Block, condition: int, yes: int, no: int) -> None:
        if yes == no:
            current.successors = [self._target(yes)]
            return
        current.successors = [self._target(yes), self._target(no)]
        self._set_condition(current, condition, Bool())

    def _set_condition(self, current: Block, identifier: int, type_: Type) -> None:
        copy = self.builder.new_node("Copy", type_, self.where)
        self.builder.unresolved.append((copy, [("id", identifier)], self))
        current.nodes.append(copy)
        current.condition = copy

    def _switch(self, current: Block, words: tuple[int, ...]) -> None:
        selector = self.builder.constant(self.home, words[0]) or self.values.get(words[0])
        type_ = selector.type if selector is not None else Void()
        step = 2 if getattr(type_, "width", 32) <= 32 else 3
        cases = words[2:]
        current.switch = []
        current.successors = [self._target(words[1])]
        for position in range(0, len(cases) - step + 1, step):
            value = cases[position] | (cases[position + 1] << 32 if step == 3 else 0)
            current.switch.append(value)
            current.successors.append(self._target(cases[position + step - 1]))
        self._set_condition(current, words[0], type_)

    def _call(self, current: Block, instruction: Instruction) -> Block:
        """Inlines a call; returns the block that the rest of the caller's block goes to."""
        home, callee = self.builder.find_function(self.home, instruction.operands[0])
        storage = ADDRESS_SPACE_CALLS.get(self.module.imports.get(callee.id, ""))
        if storage is not None and not callee.blocks:
            cast = self._node(instruction, "GenericCastToPtrExplicit")
            cast.literals = (storage,)
            self.builder.unresolved.append((cast, [("id", instruction.operands[1])], self))
            current.nodes.append(cast)
            return current
        arguments = []
        for parameter, identifier in zip(callee.parameters, instruction.operands[1:], strict=False):
            kind = self.builder.modules[home].types[parameter.type]
            copy = self.builder.new_node("Copy", kind, self.where)
            self.builder.unresolved.append((copy, [("id", identifier)], self))
            current.nodes.append(copy)
            arguments.append(copy)
        exits: list[tuple[Block, int]] = []
        inlined = _Instance(self.builder, home, callee, arguments, self.depth + 1, exits)
        rest = Block(self.where)
        current.successors = [inlined.entry]
        result = self._node(instruction, "Phi")
        for block, identifier in exits:
            block.successors = [rest]
            if identifier:
                self._return_value(result, block, identifier, inlined)
        if not isinstance(result.type, Void) and exits:
            rest.phis.append(result)
        return rest

    def _return_value(
        self, result: Node, block: Block, identifier: int, inlined: _Instance
    ) -> None:
        copy = self.builder.new_node("Copy", result.type, inlined.where)
        self.builder.unresolved.append((copy, [("id", identifier)], inlined))
        block.nodes.append(copy)
        result.operands.append(copy)
        result.literals = (*result.literals, block)


def _extended_kinds(words: tuple[int, ...]) -> list[tuple[str, int]]:
    """Which operands of an extended instruction are ids: a few take a number at the end."""
    row = opencl_rows().get(words[1])
    numbers = {
        index
        for index, operand in enumerate(row.operands if row is not None else ())
        if operand.kind in ("integer", "FPRoundingMode")
    }
    return [("n" if index in numbers else "id", each) for index, each in enumerate(words[2:])]


def build_kernel(modules: Sequence[Module], name: str) -> Kernel:
    """The graph of an entry point, with its variables promoted where that is simple."""
    from groundstate.compiler.variables import promote_variables

    kernel = Builder(modules, name).build()
    _remove_copies(kernel)
    promote_variables(kernel)
    return kernel


def _remove_copies(kernel: Kernel) -> None:
    """Lets users of a copy use the original."""

    def original(node: Node) -> Node:
        while node.op == "Copy":
            node = node.operands[0]
        return node

    for block in kernel.blocks:
        for node in (*block.phis, *block.nodes):
            node.operands = [original(each) for each in node.operands]
        if block.condition is not None:
            block.condition = original(block.condition)
        block.nodes = [node for node in block.nodes if node.op != "Copy"]
    kernel.renumber()


def is_private_variable(node: Node) -> bool:
    """True for a variable that each work-item has for itself."""
    return (
        node.op == "Variable"
        and isinstance(node.type, Pointer)
        and node.type.storage == STORAGE_FUNCTION
    )
