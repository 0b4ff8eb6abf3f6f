"""Gives variables in local memory the size that they have in LLVM IR.

LLVM's SPIR-V back end guesses the type of such a variable from how it is used: an array that is
only reached through a choice between pointers would become one of its elements. The sizes are read
from the IR, and a variable that is too small becomes an array, with a cast at the start of each
function that uses it.
"""

from __future__ import annotations

import re

from groundstate.compiler.opencl.spirv_module import (
    OP_BITCAST,
    OP_CONSTANT,
    OP_FUNCTION,
    OP_FUNCTION_END,
    OP_LABEL,
    OP_TYPE_ARRAY,
    OP_TYPE_BOOL,
    OP_TYPE_POINTER,
    OP_TYPE_STRUCT,
    OP_TYPE_VECTOR,
    OP_VARIABLE,
    Instruction,
    Module,
    make,
    opcode_of,
)

WORK_GROUP = 4
"""The storage class of local memory."""

_VARIABLE = re.compile(
    r'^@"?([\w.$]+)"? = .*?\baddrspace\(3\) (?:global|constant) (.*)$', re.MULTILINE
)
_STRUCTURE = re.compile(r'^(%"?[\w.$]+"?) = type (.*)$', re.MULTILINE)
_TOKEN = re.compile(r'<\{|\}>|[\[\]{}<>,]|%"?[\w.$]+"?|\w+(?:\(.*?\))?')

Layout = tuple[int, int]
"""A size and an alignment, in bytes."""


def restore_sizes(module: Module, ir: str) -> None:
    """Makes the variables in local memory at least as large as they are in the IR."""
    wanted = sizes(ir)
    names = module.names()
    lengths = {line[2]: line[3] for line in module.instructions if opcode_of(line) == OP_CONSTANT}
    small: dict[int, Instruction] = {}
    for line in module.instructions:
        if opcode_of(line) == OP_VARIABLE and line[3] == WORK_GROUP and len(line) == 4:
            pointee = module.types[line[1]][3]
            size = _layout(module, pointee, lengths)[0]
            if size and size < wanted.get(names.get(line[2], ""), 0):
                small[line[2]] = _enlarged(module, line, -(-wanted[names[line[2]]] // size))
    if small:
        _use_casts(module, small)


def _enlarged(module: Module, variable: Instruction, count: int) -> Instruction:
    """The variable as an array of `count` of what it was."""
    length = module.constant(count, module.value_type("i32"))
    array = module.declare(OP_TYPE_ARRAY, module.types[variable[1]][3], length)
    pointer = module.declare(OP_TYPE_POINTER, WORK_GROUP, array)
    module.type_of[variable[2]] = pointer
    enlarged = make(OP_VARIABLE, pointer, variable[2], WORK_GROUP)
    module.declarations.append(enlarged)
    return variable


def _use_casts(module: Module, small: dict[int, Instruction]) -> None:
    """Replaces the variables, and lets each function use pointers of the types they had."""
    changed: list[Instruction] = []
    function: list[Instruction] = []
    inside = False
    for line in module.instructions:
        opcode = opcode_of(line)
        inside = inside or opcode == OP_FUNCTION
        if inside:
            function.append(line)
        elif not (opcode == OP_VARIABLE and line[2] in small):
            changed.append(line)
        if opcode == OP_FUNCTION_END:
            changed += _cast_in_function(module, function, small)
            function, inside = [], False
    module.replace(changed)


def _cast_in_function(
    module: Module, function: list[Instruction], small: dict[int, Instruction]
) -> list[Instruction]:
    casts: dict[int, int] = {}
    for line in function[1:]:
        for place in range(1, len(line)):
            if line[place] in small and _is_id(line, place):
                identity = casts.setdefault(line[place], 0) or module.new_id()
                casts[line[place]] = identity
                line[place] = identity
    lines = []
    for variable, identity in casts.items():
        kind = small[variable][1]
        module.type_of[identity] = kind
        lines.append(make(OP_BITCAST, kind, identity, variable))
    start = _after_variables(function)
    return function[:start] + lines + function[start:]


def _is_id(line: Instruction, place: int) -> bool:
    """Whether a word of an instruction is an operand that can be a pointer, not a number."""
    opcode = opcode_of(line)
    if opcode in (61, 62):  # OpLoad, OpStore: numbers follow the pointer
        return place <= (3 if opcode == 61 else 2)
    # The numbers of OpCompositeExtract, OpCompositeInsert and OpVectorShuffle, of OpSwitch
    return not (opcode in (79, 81, 82) and place > 4) and opcode != 251


def _after_variables(function: list[Instruction]) -> int:
    """The place after the first block's label and variables."""
    labels = (n for n, line in enumerate(function) if opcode_of(line) == OP_LABEL)
    place = next(labels, len(function) - 1) + 1
    while place < len(function) and opcode_of(function[place]) == OP_VARIABLE:
        place += 1
    return place


# --- Sizes ----------------------------------------------------------------------------------------


def _layout(module: Module, identity: int, lengths: dict[int, int]) -> Layout:
    """The size and alignment of a type of the module; 0 for one that has none."""
    line = module.types[identity]
    opcode = opcode_of(line)
    if opcode == OP_TYPE_BOOL:
        return 1, 1
    if opcode == OP_TYPE_POINTER:
        return 8, 8
    if opcode == OP_TYPE_VECTOR:
        return _vector(_layout(module, line[2], lengths)[0], line[3])
    if opcode == OP_TYPE_ARRAY:
        size, alignment = _layout(module, line[2], lengths)
        return size * lengths.get(line[3], 0), alignment
    if opcode == OP_TYPE_STRUCT:
        return _structure([_layout(module, member, lengths) for member in line[2:]])
    if opcode in (21, 22):
        return line[2] // 8, line[2] // 8
    return 0, 1


def _vector(element: int, count: int) -> Layout:
    size = element * (4 if count == 3 else count)
    return size, size


def _structure(members: list[Layout], packed: bool = False) -> Layout:
    end, largest = 0, 1
    for size, alignment in members:
        if not packed:
            end = -(-end // alignment) * alignment
            largest = max(largest, alignment)
        end += size
    return -(-end // largest) * largest, largest


def sizes(ir: str) -> dict[str, int]:
    """The bytes of each variable in local memory, by name.

    >>> sizes("@k.y = internal addrspace(3) global [32 x i32] undef, align 4")
    {'k.y': 128}
    """
    structures = dict(_STRUCTURE.findall(ir))
    return {name: _Reader(text, structures).type()[0] for name, text in _VARIABLE.findall(ir)}


class _Reader:
    """Reads the type that a text of LLVM IR begins with."""

    def __init__(self, text: str, structures: dict[str, str]) -> None:
        self.tokens = _TOKEN.findall(text)
        self.structures = structures
        self.position = 0

    def next(self) -> str:
        """The next word or sign."""
        self.position += 1
        return str(self.tokens[self.position - 1])

    def type(self) -> Layout:
        """The size and alignment of the type that comes next."""
        token = self.next()
        if token in ("[", "<"):
            count = int(self.next())
            self.next()
            size, alignment = self.type()
            self.next()
            return _vector(size, count) if token == "<" else (size * count, alignment)
        if token in ("{", "<{"):
            return _structure(self.members(), packed=token == "<{")
        if token.startswith("%"):
            return _Reader(self.structures.get(token, "{}"), self.structures).type()
        return self.scalar(token)

    def members(self) -> list[Layout]:
        """The layouts of the types up to the end of a structure."""
        found = []
        while self.tokens[self.position] not in ("}", "}>"):
            found.append(self.type())
            if self.tokens[self.position] == ",":
                self.position += 1
        self.position += 1
        return found

    def scalar(self, token: str) -> Layout:
        """The layout of a type that is one word."""
        if token == "ptr" and self.tokens[self.position].startswith("addrspace"):
            self.position += 1
        widths = {"half": 2, "float": 4, "double": 8, "i1": 1}
        size = widths.get(token) or (int(token[1:]) // 8 if token[1:].isdigit() else 8)
        return size, size
