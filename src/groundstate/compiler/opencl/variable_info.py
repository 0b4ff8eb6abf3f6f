"""Variables of the source in SPIR-V, for debuggers.

Where nothing is optimised (`-O0 -g`), clang says of each variable in which memory it lives. `mark`
puts a call of a function named `gs.variable.` and a number there, with the address;
`VariableWriter` makes of it what OpenCL.DebugInfo.100 has for that: a DebugDeclare, the variable,
and its type.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.opencl.spirv_module import Module

MARKER = "gs.variable."
ATTRIBUTES = "nounwind memory(inaccessiblemem: readwrite)"

BASIC, POINTER, ARRAY, VECTOR, COMPOSITE, MEMBER = 2, 3, 5, 6, 10, 11
LOCAL_VARIABLE, DECLARE, EXPRESSION = 26, 28, 31
STRUCTURE, PUBLIC = 1, 3
FUNCTION_STORAGE = 7
MOST_DEPTH = 20

_DECLARE = re.compile(r"^ +#dbg_declare\(ptr (%[-\w.$\"]+), !(\d+), ")
_NODE = re.compile(r"^!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)$", re.MULTILINE)
_LIST = re.compile(r"^!(\d+) = (?:distinct )?!\{(.*)\}$", re.MULTILINE)
_FIELD = re.compile(r'(\w+): (?:!(\d+)|"((?:[^"\\]|\\.)*)"|([-\w]+))')

ENCODINGS = {
    "DW_ATE_boolean": 2,
    "DW_ATE_float": 3,
    "DW_ATE_signed": 4,
    "DW_ATE_signed_char": 5,
    "DW_ATE_unsigned": 6,
    "DW_ATE_unsigned_char": 7,
}
STRUCTURES = ("DW_TAG_structure_type", "DW_TAG_union_type")
TRANSPARENT = ("DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type")


@light_dataclass()
class Described:
    """A node of LLVM's debug metadata."""

    kind: str
    links: dict[str, str]
    """Fields that name another node."""
    texts: dict[str, str]
    """Other fields."""

    def number(self, name: str) -> int:
        """A field that is a number; 0 if it is none."""
        text = self.texts.get(name, "")
        return int(text) if text.isdigit() else 0


class Variables:
    """The variables of a module of LLVM IR."""

    def __init__(self) -> None:
        self.numbers: list[str] = []
        """The DILocalVariable of each marker."""
        self.nodes: dict[str, Described] = {}
        self.lists: dict[str, list[str]] = {}

    @property
    def declarations(self) -> list[str]:
        """LLVM's declarations of the markers."""
        return [
            f'declare spir_func void @"{MARKER}{number}"(ptr) {ATTRIBUTES}'
            for number in range(len(self.numbers))
        ]

    def mark(self, line: str) -> str | None:
        """The call that stands for a declaration; None if the line is none."""
        found = _DECLARE.match(line)
        if found is None:
            return None
        self.numbers.append(found[2])
        return f'  call spir_func void @"{MARKER}{len(self.numbers) - 1}"(ptr {found[1]})'


def read(ir: str) -> Variables:
    """What LLVM IR says of types, before its lines are gone through."""
    found = Variables()
    if "#dbg_declare(" not in ir:
        return found
    for match in _NODE.finditer(ir):
        links: dict[str, str] = {}
        texts: dict[str, str] = {}
        for name, link, quoted, plain in _FIELD.findall(match[3]):
            if link:
                links[name] = link
            else:
                texts[name] = quoted or plain
        found.nodes[match[1]] = Described(match[2], links, texts)
    for match in _LIST.finditer(ir):
        found.lists[match[1]] = re.findall(r"!(\d+)", match[2])
    return found


class VariableWriter:
    """Writes variables and types as instructions of the debug set."""

    def __init__(
        self,
        module: Module,
        variables: Variables,
        put: Callable[..., None],
        text: Callable[[str], int],
    ) -> None:
        self.module = module
        self.variables = variables
        self.put = put
        """Adds an instruction outside of functions: its id, number and operands."""
        self.text = text
        self.unit = 0
        """The compilation unit, which structures belong to."""
        self._types: dict[str, int] = {}
        self._constants: dict[int, int] = {}
        self._expression = 0

    def extended(self, number: int, *operands: int) -> int:
        """Adds an instruction outside of functions, and gives its id."""
        identity = self.module.new_id()
        self.put(identity, number, *operands)
        return identity

    def declare(self, number: int, source: int, scope: int, none: int) -> tuple[int, int]:
        """The ids of the variable that a marker stands for, and of an empty expression."""
        if not self._expression:
            self._expression = self.extended(EXPRESSION)
        node = self.variables.nodes.get(self.variables.numbers[number])
        texts = node.texts if node is not None else {}
        kind = self._type(node.links.get("type", ""), source, none) if node is not None else none
        line = node.number("line") if node is not None else 0
        name = self.text(texts.get("name", ""))
        variable = self.extended(LOCAL_VARIABLE, name, kind, source, line, 0, scope, 0)
        return variable, self._expression

    def _type(self, number: str, source: int, none: int, depth: int = 0) -> int:
        if number not in self._types:
            if depth > MOST_DEPTH:
                return none
            self._types[number] = none  # while it is made: it may contain itself
            self._types[number] = self._make(number, source, none, depth + 1)
        return self._types[number]

    def _make(self, number: str, source: int, none: int, depth: int) -> int:
        node = self.variables.nodes.get(number)
        if node is None:
            return none
        name = self.text(node.texts.get("name", ""))
        tag = node.texts.get("tag", "")
        if tag == "DW_TAG_typedef":
            return self._named(node, name, source, none, depth)
        base = none
        if "baseType" in node.links:
            base = self._type(node.links["baseType"], source, none, depth)
        if node.kind == "DIBasicType":
            encoding = ENCODINGS.get(node.texts.get("encoding", ""), 0)
            return self.extended(BASIC, name, self._constant(node.number("size")), encoding)
        if tag == "DW_TAG_pointer_type":
            return self.extended(POINTER, base, FUNCTION_STORAGE, 0)
        if tag in TRANSPARENT:
            return base
        if tag == "DW_TAG_enumeration_type":
            return self.extended(BASIC, name, self._constant(node.number("size")), 4)
        if tag == "DW_TAG_array_type":
            return self._array(node, base)
        if tag in STRUCTURES:
            return self._structure(node, name, source, none, depth)
        return none

    def _named(self, node: Described, name: int, source: int, none: int, depth: int) -> int:
        """What a typedef stands for. A structure without a name gets this one."""
        number = node.links.get("baseType", "")
        base = self.variables.nodes.get(number)
        if base is not None and base.texts.get("tag") in STRUCTURES and "name" not in base.texts:
            return self._structure(base, name, source, none, depth)
        return self._type(number, source, none, depth)

    def _array(self, node: Described, base: int) -> int:
        counts = [
            self.variables.nodes[each].number("count")
            for each in self._elements(node)
            if each in self.variables.nodes
        ]
        if "DIFlagVector" in node.texts.get("flags", "") and counts:
            return self.extended(VECTOR, base, counts[0])
        return self.extended(ARRAY, base, *map(self._constant, counts))

    def _elements(self, node: Described) -> list[str]:
        return self.variables.lists.get(node.links.get("elements", ""), [])

    def _structure(self, node: Described, name: int, source: int, none: int, depth: int) -> int:
        parts = [self.variables.nodes.get(each) for each in self._elements(node)]
        members = [each for each in parts if each is not None and "baseType" in each.links]
        kinds = [self._type(each.links["baseType"], source, none, depth) for each in members]
        whole, *ids = (self.module.new_id() for _ in range(len(members) + 1))
        self.put(  # before its members, which name it
            *(whole, COMPOSITE, name, STRUCTURE, source, node.number("line"), 0, self.unit, name),
            *(self._constant(node.number("size")), PUBLIC, *ids),
        )
        for identity, member, kind in zip(ids, members, kinds, strict=True):
            place = (self._constant(member.number(key)) for key in ("offset", "size"))
            self.put(
                *(identity, MEMBER, self.text(member.texts.get("name", "")), kind, source),
                *(member.number("line"), 0, whole, *place, PUBLIC),
            )
        return whole

    def _constant(self, number: int) -> int:
        if number not in self._constants:
            kind = self.module.value_type("i32")
            self._constants[number] = self.module.constant(number, kind)
        return self._constants[number]
