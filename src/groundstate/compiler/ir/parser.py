"""Reads the text of a kernel, as `printer` writes it: the way back to the graph.

A pass is tested on text (`tests/compiler/passes/text/`): what goes in, the pass, what comes out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from groundstate.compiler.ir.kernel import Block, Kernel, Node
from groundstate.compiler.ir.location import Location
from groundstate.compiler.ir.type_parser import ParseError, TypeParser
from groundstate.compiler.spirv.constants import (
    Address,
    Constant,
    PipeStorageValue,
    SamplerValue,
    Value,
)
from groundstate.compiler.spirv.module import Variable
from groundstate.compiler.spirv.types import Pointer, Type, Void

__all__ = ["ParseError", "parse_kernel"]


def parse_kernel(text: str) -> Kernel:
    """The graph that a text describes."""
    return _Parser(text).kernel()


def _without_comment(line: str) -> str:
    return "" if line.startswith(";") else line.partition(" ;")[0].rstrip()


@dataclass
class _Pending:
    """A use of a value that may be defined further down."""

    node: Node
    place: int
    number: int


class _Parser(TypeParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.text_lines = [_without_comment(line) for line in text.splitlines()]
        self.name = ""
        self.arguments: list[Node] = []
        self.blocks: dict[int, Block] = {}
        self.values: dict[int, Node] = {}
        self.globals: dict[str, tuple[Variable, int]] = {}
        self.leaves: dict[str, Node] = {}
        self.locations: dict[int, Location] = {}
        self.pending: list[_Pending] = []
        self.conditions: list[tuple[Block, int]] = []

    # --- Lines ----------------------------------------------------------------------------------

    def kernel(self) -> Kernel:
        lines = [line for line in self.text_lines if line.strip()]
        facts = self._heading(lines[0]) if lines else {}
        if not lines or not self.name:
            raise ParseError('a kernel begins with: kernel "name"')
        self._declare_structs([line for line in lines if line.startswith("struct.")])
        block: Block | None = None
        for line in lines[1:]:
            if line.startswith("struct."):
                continue
            self.read(line)
            if line.startswith(" "):
                if block is None:
                    raise ParseError(f"this stands in no block: {line}")
                self._in_block(block)
            elif self.accept("block"):
                block = self._block_heading()
            elif self.accept("argument"):
                self._argument()
            elif self.accept("global"):
                self._global()
            elif self.accept("location"):
                self._location()
            else:
                raise ParseError(f"this is no part of a kernel: {line}")
        self._settle()
        entry = self.blocks[min(self.blocks)]
        kernel = Kernel(self.name, self.arguments, entry)
        kernel.cells = int(facts.get("cells", 0))
        kernel.observes_subgroups = "observes_subgroups" in facts
        return kernel

    def _heading(self, line: str) -> dict[str, int]:
        self.read(line)
        self.expect("kernel")
        self.name = self.string()
        facts: dict[str, int] = {}
        while not self.is_at_end:
            word = self.take()
            facts[word] = self.number() if word == "cells" else 1
        return facts

    def _declare_structs(self, lines: list[str]) -> None:
        declared: dict[str, str] = {}
        for line in lines:
            name, _, rest = line.partition(" = ")
            declared[name] = rest
        self.declare(declared)

    def _argument(self) -> None:
        index = self.number()
        self.expect(":")
        self.arguments.append(Node("Argument", self.type(), literals=(index,)))

    def _location(self) -> None:
        number = self.number()
        self.expect(":")
        file, line, column = self.string(), self.number(), self.number()
        self.expect("in")
        function = self.string()
        caller = self._known_location() if self.accept("called") else None
        self.locations[number] = Location(file, line, column, function, caller)

    def _known_location(self) -> Location:
        number = self.number()
        if number not in self.locations:
            raise ParseError(f"{self.line}: there is no location {number}")
        return self.locations[number]

    def _global(self) -> None:
        name = self.take()
        self.expect(":")
        pointer = self.type()
        if not isinstance(pointer, Pointer):
            raise ParseError(f"global {name}: its type is no pointer")
        self.expect("storage")
        storage = self.number()
        data = self.type() if self.accept("data") else None
        builtin = self.number() if self.accept("builtin") else None
        initializer = self.constant() if self.accept("=") else None
        home, identifier = map(int, name.split("."))
        variable = Variable(identifier, pointer, storage, initializer, builtin, data)
        self.globals[name] = variable, home

    # --- Blocks ---------------------------------------------------------------------------------

    def _block(self, index: int) -> Block:
        return self.blocks.setdefault(index, Block(self.name))

    def _block_heading(self) -> Block:
        block = self._block(self.number())
        self.expect(":")
        block.cold = self.accept("cold")
        block.where = self.string() if self.accept("@") else self.name
        return block

    def _block_reference(self) -> Block:
        self.expect("block")
        return self._block(self.number())

    def _in_block(self, block: Block) -> None:
        if self.accept("return"):
            return
        if self.accept("branch"):
            self._branch(block)
        elif self.accept("switch"):
            self._switch(block)
        else:
            node = self._node()
            (block.phis if node.op == "Phi" else block.nodes).append(node)

    def _branch(self, block: Block) -> None:
        if self.peek() != "block":
            self._condition(block)
            self.expect(",")
        block.successors = self.several(self._block_reference)

    def _condition(self, block: Block) -> None:
        holder = Node("Copy", Void())
        self._operand(holder)
        if holder.operands[0].op == "Pending":
            self.pending.pop()
            self.conditions.append((block, int(str(holder.operands[0].literals[0]))))
        else:
            block.condition = holder.operands[0]

    def _switch(self, block: Block) -> None:
        self._condition(block)
        self.expect(",")
        block.successors = [self._block_reference()]
        block.switch = []
        self.expect("[")
        while not self.accept("]"):
            block.switch.append(self.number())
            self.expect(":")
            block.successors.append(self._block_reference())
            self.accept(",")

    # --- Nodes ----------------------------------------------------------------------------------

    def _node(self) -> Node:
        number, kind = None, Type()
        if self.peek().startswith("%"):
            number = int(self.take()[1:])
            self.expect(":")
            kind = self.type()
            self.expect("=")
        node = Node(self.take(), Void() if number is None else kind, where=self.name)
        if number is not None:
            if number in self.values:
                raise ParseError(f"%{number} is defined twice")
            self.values[number] = node
        if node.op == "Phi":
            node.literals = tuple(self.several(lambda: self._incoming(node)))
        elif not self.is_at_end and self.peek() not in ("[", "{", "@", "at", "line"):
            self.several(lambda: self._operand(node))
        if self.accept("["):
            node.literals = tuple(self.several(self._literal, "]"))
        if self.accept("{"):
            node.decorations = dict(self.several(self._decoration, "}"))
        if self.accept("at"):
            node.position = self.number()
        if self.accept("line"):
            node.location = self._known_location()
        if self.accept("@"):
            node.where = self.string()
        if not self.is_at_end:
            raise ParseError(f"{self.line}: what is {self.peek()!r}?")
        return node

    def _incoming(self, phi: Node) -> Block:
        source = self._block_reference()
        self.expect(":")
        self._operand(phi)
        return source

    def _operand(self, node: Node) -> None:
        """Adds an operand, which may be defined only further down."""
        token = self.peek()
        if token.startswith("%"):
            number = int(self.take()[1:])
            self.pending.append(_Pending(node, len(node.operands), number))
            node.operands.append(Node("Pending", Void(), literals=(number,)))
            return
        node.operands.append(self._leaf())

    def _leaf(self) -> Node:
        start = self.position
        made = self._new_leaf()
        return self.leaves.setdefault(" ".join(self.tokens[start : self.position]), made)

    def _new_leaf(self) -> Node:
        if self.accept("argument"):
            index = self.number()
            if index >= len(self.arguments):
                raise ParseError(f"{self.line}: there is no argument {index}")
            return self.arguments[index]
        if self.accept("undef"):
            return Node("Undef", self.type())
        if self.accept("global"):
            variable, home = self.globals[self.take()]
            return Node("Global", variable.type, literals=(variable, home))
        constant = self.constant()
        home = self.number() if self.accept("of") else 0
        return Node("Constant", constant.type, literals=(constant, home))

    def _literal(self) -> object:
        if self.accept("none"):
            return None
        if self.accept("type"):
            return self.type()
        return self.string() if self.peek().startswith('"') else self.number()

    def _decoration(self) -> tuple[int, tuple[int, ...] | str]:
        number = self.number()
        self.expect(":")
        if self.accept("("):
            return number, tuple(self.several(self.number, ")"))
        return number, self.string()

    # --- Constants ------------------------------------------------------------------------------

    def constant(self) -> Constant:
        """A constant, with its type before it."""
        kind = self.type()
        self.expect(":")
        if self.accept("undef"):
            return Constant(kind, None, undef=True)
        return Constant(kind, self._value())

    def _value(self) -> Value:
        if self.accept("null"):
            return None
        if self.accept("("):
            return tuple(self.several(self.constant, ")"))
        for word, make in CONSTRUCTED.items():
            if self.accept(word):
                self.expect("(")
                return make(*self.several(self.number, ")"))
        return self.number()

    # --- The end --------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Puts nodes in the place of their numbers."""
        for use in self.pending:
            use.node.operands[use.place] = self._value_of(use.number)
        for block, number in self.conditions:
            block.condition = self._value_of(number)

    def _value_of(self, number: int) -> Node:
        if number not in self.values:
            raise ParseError(f"%{number} is used and not defined")
        return self.values[number]


CONSTRUCTED: dict[str, Callable[..., Value]] = {
    "address": Address,
    "sampler": SamplerValue,
    "pipe": PipeStorageValue,
}
