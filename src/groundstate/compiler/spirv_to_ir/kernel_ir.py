"""SPIR-V functions to one kernel graph: every call inlined, simple variables turned into values.

In goes a module and the name of an entry point; out comes a `Kernel`. `inlining` makes the copies
of functions; this file gives every id its node when all copies are there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundstate.compiler import limits
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.location import Location, Locations
from groundstate.compiler.program.symbols import Symbols
from groundstate.compiler.spirv.debug_info import SourceLine
from groundstate.compiler.spirv.types import Type
from groundstate.compiler.spirv_to_ir.bfloat_functions import widen_functions
from groundstate.compiler.spirv_to_ir.legality import check_operands

if TYPE_CHECKING:
    from groundstate.compiler.spirv_to_ir.inlining import Instance

Words = list[tuple[str, int]]
"""The operands of an instruction, each with "id" or "n" for a number."""


class Builder:
    """Builds the graph of one kernel. What its module imports comes from the others."""

    def __init__(self, symbols: Symbols, name: str, for_debugger: bool = False) -> None:
        self.for_debugger = for_debugger
        """Whether nodes tell which variables of the source there are, and where."""
        self.symbols = symbols
        self.modules = symbols.modules
        self.name = name
        self.constants: dict[tuple[int, int], Node] = {}
        self.node_count = 0
        self.unresolved: list[tuple[Node, Words, Instance]] = []
        self.phis: list[tuple[Node, tuple[int, ...], Instance]] = []
        self.location: Location | None = None
        """Where in the source the instruction stands that nodes are made for."""
        self._locations = Locations()

    def build(self) -> Kernel:
        """The whole kernel."""
        from groundstate.compiler.spirv_to_ir.inlining import Instance, own_copies

        home = next(
            each
            for each in range(len(self.modules))
            if self.name in self.modules[each].entry_points
        )
        module = self.modules[home]
        function = module.function(module.entry_points[self.name].function)
        limits.check_calls(self.symbols, home, function.id)
        arguments = [
            Node("Argument", module.types[each.type], literals=(index,))
            for index, each in enumerate(function.parameters)
        ]
        first = Block(self.name)
        given = own_copies(self, first, home, function, arguments, is_kernel=True)
        exits: list[tuple[Block, int]] = []
        entry = Instance(self, home, function, given, (), exits).entry
        first.successors = [entry]
        self._resolve()
        return Kernel(self.name, arguments, first if first.nodes else entry)

    def new_node(self, op: str, type_: Type, where: str, literals: tuple[object, ...] = ()) -> Node:
        """A node, counted against the limit."""
        self.node_count += 1
        if self.node_count > 2 * limits.MAX_NODES:  # calls through pointers come on top
            raise BuildError(f"{self.name}: more than {limits.MAX_NODES} operations")
        limits.check_value(type_, where)
        return Node(op, type_, literals=literals, where=where, location=self.location)

    def locate(
        self, home: int, line: SourceLine | None, function: str, call: Location | None
    ) -> Location | None:
        """The location of a line of a module, in a function that was called from another place.

        Where nothing is known of the function, it is that of the call."""
        debug_info = self.modules[home].debug_info
        if line is None or debug_info is None:
            return call
        location = call
        for frame in reversed(debug_info.frames(line, function)):
            location = self._locations.of(frame, location)
        return location

    def constant(self, home: int, identifier: int) -> Node | None:
        """The node of a constant or variable of a module, made once."""
        known = self.constants.get((home, identifier))
        if known is not None:
            return known
        module = self.modules[home]
        if identifier in module.constants:
            limits.check_value(module.constants[identifier].type, self.name)
            value = self.symbols.settled(home, module.constants[identifier])
            node = Node("Constant", value.type, literals=(value, home))
        elif identifier in module.variables:
            owner, variable = self.symbols.variable(home, identifier)
            node = Node("Global", variable.type, literals=(variable, owner))
        else:
            return None
        self.constants[home, identifier] = node
        return node

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


def build_kernel(symbols: Symbols, name: str, for_debugger: bool = False) -> Kernel:
    """The graph of an entry point, with every call inlined."""
    kernel = Builder(symbols, name, for_debugger).build()
    limits.check_kernel(kernel)
    widen_functions(kernel)
    check_operands(kernel)
    return kernel
