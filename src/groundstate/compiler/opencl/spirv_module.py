"""A SPIR-V module as a list of instructions that can be changed."""

from __future__ import annotations

import struct

from groundstate.compiler.light_dataclass import field, light_dataclass

Instruction = list[int]
"""The words of an instruction; the first holds its length and its opcode."""

MAGIC = 0x07230203
VERSION_1_3, VERSION_1_4 = 0x00010300, 0x00010400

OP_NAME, OP_STRING, OP_EXTENSION, OP_EXT_INST_IMPORT, OP_EXT_INST = 5, 7, 10, 11, 12
OP_CAPABILITY, OP_DECORATE = 17, 71
OP_TYPE_BOOL, OP_TYPE_INT, OP_TYPE_FLOAT, OP_TYPE_VECTOR = 20, 21, 22, 23
OP_TYPE_ARRAY, OP_TYPE_STRUCT, OP_TYPE_POINTER = 28, 30, 32
FIRST_TYPE, LAST_TYPE = 19, 39
OP_CONSTANT, OP_CONSTANT_NULL, OP_COMPOSITE_CONSTRUCT, OP_SELECT = 43, 46, 80, 169
OP_FUNCTION, OP_FUNCTION_END, OP_FUNCTION_CALL, OP_LABEL, OP_VARIABLE = 54, 56, 57, 248, 59
OP_PTR_CAST_TO_GENERIC, OP_BITCAST = 121, 124

ACCESS_CHAINS = {65, 66, 67, 70}
DERIVING = {*ACCESS_CHAINS, OP_BITCAST}
"""OpAccessChain and its kin, OpBitcast: they make a pointer of another."""
WITH_RESULT_TYPE = {1, 41, 42, 46, 55, 57, 59, 61, 79, 80, 81, 82, 169, 245, 318} | DERIVING
WITH_RESULT_TYPE |= {*range(109, 124), *range(154, 192), 261, 262, *range(333, 367)}
"""Instructions whose result can be a pointer or a condition; its type is their first operand."""


@light_dataclass(frozen=False)
class Module:
    """A module's instructions, and what the changes need to know of them."""

    header: list[int]
    instructions: list[Instruction]
    types: dict[int, Instruction] = field(default_factory=dict)
    """Each type's declaration."""
    type_of: dict[int, int] = field(default_factory=dict)
    """The type of each result that can be a pointer or a condition."""
    opencl: set[int] = field(default_factory=set)
    """The ids under which OpenCL.std is imported."""
    declarations: list[Instruction] = field(default_factory=list)
    """New types, constants and variables, not yet among the instructions."""

    def new_id(self) -> int:
        """An id that nothing has yet."""
        self.header[3] += 1
        return self.header[3] - 1

    def declare(self, opcode: int, *operands: int) -> int:
        """The id of a type, which is made if there is none."""
        for identity, line in self.types.items():
            if opcode_of(line) == opcode and line[2:] == list(operands):
                return identity
        identity = self.new_id()
        self.types[identity] = make(opcode, identity, *operands)
        self.declarations.append(self.types[identity])
        return identity

    def value_type(self, name: str) -> int:
        """The id of a type such as i32 or v4f32."""
        if name.startswith("v"):
            count, _, element = name[1:].replace("f", " f").replace("i", " i").partition(" ")
            return self.declare(OP_TYPE_VECTOR, self.value_type(element), int(count))
        if name.startswith("f"):
            return self.declare(OP_TYPE_FLOAT, int(name[1:]))
        return self.declare(OP_TYPE_INT, int(name[1:]), 0)

    def constant(self, number: int, kind: int) -> int:
        """The id of a new constant of an integer type."""
        identity = self.new_id()
        words = [number, 0] if self.types[kind][2] == 64 else [number]
        self.declarations.append(make(OP_CONSTANT, kind, identity, *words))
        return identity

    def replace(self, lines: list[Instruction]) -> None:
        """Takes `lines` for the instructions, and puts what was declared before the functions."""
        places = (n for n, line in enumerate(lines) if opcode_of(line) == OP_FUNCTION)
        first = next(places, len(lines))
        self.instructions = lines[:first] + self.declarations + lines[first:]
        self.declarations = []

    def names(self) -> dict[int, str]:
        """The names of things that have one."""
        return {
            line[1]: string(line[2:]) for line in self.instructions if opcode_of(line) == OP_NAME
        }


def read(spirv: bytes) -> Module:
    """Takes a module apart."""
    words = list(struct.unpack(f"<{len(spirv) // 4}I", spirv))
    if words[0] != MAGIC:
        raise ValueError("this is not SPIR-V")
    module = Module(words[:5], [])
    position = 5
    while position < len(words):
        line = words[position : position + (words[position] >> 16)]
        module.instructions.append(line)
        position += len(line)
        opcode = opcode_of(line)
        if FIRST_TYPE <= opcode <= LAST_TYPE:
            module.types[line[1]] = line
        elif opcode in WITH_RESULT_TYPE:
            module.type_of[line[2]] = line[1]
        elif opcode == OP_EXT_INST_IMPORT and string(line[2:]) == "OpenCL.std":
            module.opencl.add(line[1])
    return module


def write(module: Module) -> bytes:
    """Puts a module together."""
    words = module.header + [word for line in module.instructions for word in line]
    return struct.pack(f"<{len(words)}I", *words)


def opcode_of(line: Instruction) -> int:
    """Which instruction it is."""
    return line[0] & 0xFFFF


def make(opcode: int, *operands: int) -> Instruction:
    """An instruction."""
    return [(len(operands) + 1) << 16 | opcode, *operands]


def string(words: list[int]) -> str:
    """The text that begins the words."""
    packed = struct.pack(f"<{len(words)}I", *words)
    return packed.split(b"\0", 1)[0].decode("utf-8", "replace")
