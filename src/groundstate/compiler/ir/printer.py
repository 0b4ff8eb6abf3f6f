"""A kernel as text that `parser` reads back to the same graph.

    kernel "scale"
    argument 0: global f32*
    argument 1: f32
    block 0:
      %0: u64 = Builtin ["GlobalInvocationId", 0]
      %1: global f32* = InBoundsPtrAccessChain argument 0, %0
      %2: f32 = Load %1 [2, 4]
      %3: f32 = FMul %2, argument 1
      Store %1, %3 [2, 4]
      return

Operands follow the operation, then literals in brackets, decorations in braces, the word of the
module `at` which the instruction stood, the `line` of the source, by the number of a location, and
behind `@` its function, if that is not the kernel.
Leaves are written where they are used: `u32:7` is a constant. Structures and the variables of
modules are declared above the blocks, and so are locations: file, line, column, function, and the
location that the function is `called` from, if it was inlined.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from groundstate.compiler.ir.kernel import Block, Kernel, Node
from groundstate.compiler.ir.location import Location
from groundstate.compiler.ir.ops import LEAVES
from groundstate.compiler.spirv.constants import (
    Address,
    Constant,
    PipeStorageValue,
    SamplerValue,
)
from groundstate.compiler.spirv.module import Variable
from groundstate.compiler.spirv.types import (
    STORAGE_WORDS,
    Array,
    Bool,
    Float,
    FunctionType,
    Image,
    Int,
    Opaque,
    Pipe,
    Pointer,
    RuntimeArray,
    SampledImage,
    Struct,
    Type,
    Vector,
    Void,
)

AnnotateNode = Callable[[Node], str]
AnnotateBlock = Callable[[Block], str]
"""What to say of something in a comment; nothing if that is empty."""

COMMENT_COLUMN = 76


def _no_comment(thing: object) -> str:
    del thing
    return ""


def print_kernel(
    kernel: Kernel, of_node: AnnotateNode = _no_comment, of_block: AnnotateBlock = _no_comment
) -> str:
    """The text of a kernel, with comments if wanted."""
    return "\n".join(Printer(kernel, of_node, of_block).lines()) + "\n"


class Printer:
    """Writes one kernel. Structures and variables are declared in the order of their use."""

    def __init__(
        self,
        kernel: Kernel,
        of_node: AnnotateNode = _no_comment,
        of_block: AnnotateBlock = _no_comment,
    ) -> None:
        self.kernel = kernel
        self.of_node = of_node
        self.of_block = of_block
        self._owners: dict[int, int] = {}
        self._structs: dict[Type, str] = {}
        self._declared: list[str] = []
        self._globals: dict[tuple[int, int], str] = {}
        self._locations: dict[Location, int] = {}

    def lines(self) -> Iterator[str]:
        arguments = [
            f"argument {index}: {self.type(node.type)}"
            for index, node in enumerate(self.kernel.arguments)
        ]
        blocks = [line for block in self.kernel.blocks for line in self._block(block)]
        facts = [f" cells {self.kernel.cells}"] if self.kernel.cells else []
        facts += [" observes_subgroups"] if self.kernel.observes_subgroups else []
        yield f"kernel {json.dumps(self.kernel.name)}{''.join(facts)}"
        yield from self._declared
        yield from self._globals.values()
        yield from map(self._declare_location, self._locations)
        yield from arguments
        yield from blocks

    # --- Blocks ---------------------------------------------------------------------------------

    def _block(self, block: Block) -> Iterator[str]:
        where = "" if block.where == self.kernel.name else f" @{json.dumps(block.where)}"
        heading = f"block {block.index}:{' cold' if block.cold else ''}{where}"
        yield _commented(heading, self.of_block(block))
        for node in (*block.phis, *block.nodes):
            yield _commented(f"  {self.node(node)}", self.of_node(node))
        yield f"  {self._terminator(block)}"

    def node(self, node: Node) -> str:
        """One node, without its comment."""
        text = node.op if isinstance(node.type, Void) else f"{self._result(node)} = {node.op}"
        if node.op == "Phi":
            pairs = zip(node.literals, node.operands, strict=True)
            incoming = [f"block {source.index}: {self.operand(each)}" for source, each in pairs]  # type: ignore[attr-defined]
            text += " " + ", ".join(incoming) if incoming else ""
        else:
            text += " " + ", ".join(map(self.operand, node.operands)) if node.operands else ""
            if node.literals:
                text += f" [{', '.join(map(self._literal, node.literals))}]"
        if node.decorations:
            text += f" {{{', '.join(map(_decoration, node.decorations.items()))}}}"
        text += f" at {node.position}" if node.position else ""
        text += f" line {self._location(node.location)}" if node.location is not None else ""
        return text if node.where == self.kernel.name else f"{text} @{json.dumps(node.where)}"

    def _location(self, location: Location) -> int:
        """The number of a location, which is declared behind that of its caller."""
        for frame in reversed(list(location.frames())):
            self._locations.setdefault(frame, len(self._locations))
        return self._locations[location]

    def _declare_location(self, location: Location) -> str:
        file, function = json.dumps(location.file), json.dumps(location.function)
        caller = location.caller
        called = "" if caller is None else f" called {self._locations[caller]}"
        place = f"{file} {location.line} {location.column} in {function}"
        return f"location {self._locations[location]}: {place}{called}"

    def _result(self, node: Node) -> str:
        return f"%{node.index}: {self.type(node.type)}"

    def _terminator(self, block: Block) -> str:
        targets = [f"block {each.index}" for each in block.successors]
        if not targets:
            return "return"
        if block.condition is None:
            return f"branch {targets[0]}"
        condition = self.operand(block.condition)
        if block.switch is None:
            return f"branch {condition}, {', '.join(targets)}"
        cases = [f"{value}: {each}" for value, each in zip(block.switch, targets[1:], strict=True)]
        return f"switch {condition}, {targets[0]} [{', '.join(cases)}]"

    # --- Operands -------------------------------------------------------------------------------

    def operand(self, node: Node) -> str:
        """How a value is named where it is used."""
        if node.op not in LEAVES:
            return f"%{node.index}"
        if node.op == "Argument":
            return f"argument {node.literals[0]}"
        if node.op == "Undef":
            return f"undef {self.type(node.type)}"
        home = node.literals[1] if len(node.literals) > 1 else None
        value = node.literals[0]
        if isinstance(value, Variable):
            return f"global {self._global(value, int(str(home)))}"
        assert isinstance(value, Constant)
        return self.constant(value) + ("" if home in (None, 0) else f" of {home}")

    def constant(self, constant: Constant) -> str:
        """A constant: its type, and its bits or parts."""
        kind, value = self.type(constant.type), constant.value
        if constant.undef:
            return f"{kind}:undef"
        if isinstance(value, tuple):
            return f"{kind}:({', '.join(map(self.constant, value))})"
        if isinstance(value, int):
            is_float = isinstance(constant.type, Float)
            return f"{kind}:{value:#x}" if is_float else f"{kind}:{value}"
        if isinstance(value, Address):
            return f"{kind}:address({value.base}, {value.offset})"
        if isinstance(value, SamplerValue):
            return f"{kind}:sampler({value.addressing}, {value.normalized}, {value.filter})"
        if isinstance(value, PipeStorageValue):
            parts = (value.packet_size, value.packet_align, value.capacity)
            return f"{kind}:pipe({', '.join(map(str, parts))})"
        return f"{kind}:null"

    def _global(self, variable: Variable, home: int) -> str:
        """The name of a variable of a module, which is declared when it is first met."""
        key = (home, variable.id)
        name = f"{home}.{variable.id}"
        if key not in self._globals:
            self._globals[key] = ""
            text = f"global {name}: {self.type(variable.type)} storage {variable.storage}"
            if variable.data_type is not None:
                text += f" data {self.type(variable.data_type)}"
            if variable.builtin is not None:
                text += f" builtin {variable.builtin}"
            if variable.initializer is not None:
                text += f" = {self.constant(variable.initializer)}"
            self._globals[key] = text
        return name

    def _literal(self, literal: object) -> str:
        if isinstance(literal, Type):
            return f"type {self.type(literal)}"
        if isinstance(literal, str):
            return json.dumps(literal)
        assert literal is None or isinstance(literal, int), literal
        return "none" if literal is None else str(int(literal))

    # --- Types ----------------------------------------------------------------------------------

    def type(self, kind: Type) -> str:
        """A type. Two types have the same text exactly if they are equal."""
        if isinstance(kind, Struct):
            return self._struct(kind)
        if isinstance(kind, Pointer):
            pointee = "?" if kind.pointee is None else self.type(kind.pointee)
            forward = "forward " if kind.forward else ""
            return f"{forward}{STORAGE_WORDS.get(kind.storage, kind.storage)} {pointee}*"
        if isinstance(kind, Vector):
            return f"{self.type(kind.element)}x{kind.count}"
        if isinstance(kind, Array):
            return f"[{kind.length} x {self.type(kind.element)}]"
        if isinstance(kind, RuntimeArray):
            return f"[? x {self.type(kind.element)}]"
        if isinstance(kind, FunctionType):
            return f"function({', '.join(map(self.type, (kind.result, *kind.parameters)))})"
        return self._named(kind)

    def _named(self, kind: Type) -> str:
        if isinstance(kind, Float) and kind.encoding is not None and not kind.is_bfloat16:
            return f"float({kind.width}, {kind.encoding})"
        if isinstance(kind, Int | Float | Bool | Void):
            return str(kind)
        name = type(kind).__name__
        if isinstance(kind, Image):
            numbers = (kind.dim, kind.depth_image, kind.arrayed, kind.multisampled, kind.sampled)
            fields = [*map(str, (*numbers, kind.format)), str(kind.access).lower()]
            return f"Image({', '.join([self.type(kind.sampled_type), *fields])})"
        if isinstance(kind, SampledImage):
            return f"SampledImage({self.type(kind.image)})"
        if isinstance(kind, Pipe):
            return f"Pipe({kind.access})"
        return f"Opaque({json.dumps(kind.name)})" if isinstance(kind, Opaque) else name

    def _struct(self, kind: Struct) -> str:
        name = self._structs.get(kind)
        if name is None:
            owner = self._owners.setdefault(id(kind.owner), len(self._owners))
            name = self._structs[kind] = f"struct.{owner}.{kind.id}"
            place = len(self._declared)
            self._declared.append("")
            members = ", ".join(map(self.type, kind.members))
            packed = " packed" if kind.packed else ""
            self._declared[place] = f"{name} = {{{members}}}{packed} align {kind.least_align}"
        return name


def _commented(line: str, comment: str) -> str:
    return f"{line.ljust(COMMENT_COLUMN)} ; {comment}" if comment else line


def _decoration(item: tuple[int, object]) -> str:
    number, value = item
    if isinstance(value, str):
        return f"{number}: {json.dumps(value)}"
    assert isinstance(value, tuple)
    return f"{number}: ({', '.join(map(str, value))})"
