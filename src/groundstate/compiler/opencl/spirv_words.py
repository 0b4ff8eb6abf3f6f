"""Changes to a SPIR-V module that LLVM has written, to make it right for the OpenCL environment.

- A call of a function named `groundstate.` and an instruction becomes that instruction.
- The format of `printf` becomes a pointer to char where it is a pointer to an array of them.
- Capabilities that others depend on come first, as spirv-val reads them in order; those that are
  missing are added, and the version says 1.3 where a capability needs it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

Instruction = list[int]
"""The words of an instruction; the first holds its length and its opcode."""

MAGIC = 0x07230203
VERSION_1_3 = 0x00010300

OP_NAME, OP_EXT_INST_IMPORT, OP_EXT_INST = 5, 11, 12
OP_CAPABILITY, OP_DECORATE, OP_TYPE_ARRAY, OP_TYPE_POINTER = 17, 71, 28, 32
OP_FUNCTION, OP_FUNCTION_END, OP_FUNCTION_CALL, OP_VARIABLE, OP_BITCAST = 54, 56, 57, 59, 124
FIRST_TYPE, LAST_TYPE = 19, 39

REPLACEMENTS = {"ConvertSToF": 111, "ConvertUToF": 112, "FConvert": 115, "ImageQueryOrder": 102}
"""The opcodes of the instructions that functions stand for."""

ROUNDING_MODES = {"RTE": 0, "RTZ": 1, "RTP": 2, "RTN": 3}
DECORATION_BUILT_IN, DECORATION_ROUNDING_MODE = 11, 39

PRINTF = 184
"""Of OpenCL.std."""

CAPABILITY_GROUP_NON_UNIFORM, CAPABILITY_GROUP_NON_UNIFORM_BALLOT = 61, 64
CAPABILITIES_FIRST = (6, 4, 13)
"""Kernel, Addresses, ImageBasic: what other capabilities are declared on top of."""
CAPABILITIES_OF_1_3 = range(61, 69)
BUILT_IN_SUBGROUP_MASKS = range(4416, 4421)

PREFIX = "groundstate."


@dataclass
class Module:
    """A module's instructions, and what the changes need to know of them."""

    header: list[int]
    instructions: list[Instruction]
    types: dict[int, Instruction] = field(default_factory=dict)
    """Each type's declaration."""
    type_of: dict[int, int] = field(default_factory=dict)
    """The type of each variable."""
    opencl: set[int] = field(default_factory=set)
    """The ids under which OpenCL.std is imported."""
    new_types: list[int] = field(default_factory=list)

    def new_id(self) -> int:
        """An id that nothing has yet."""
        self.header[3] += 1
        return self.header[3] - 1


def fix(spirv: bytes) -> bytes:
    """All changes, in order."""
    module = _read(spirv)
    replace_stand_ins(module)
    point_formats_to_chars(module)
    put_capabilities_in_order(module)
    words = module.header + [word for line in module.instructions for word in line]
    return struct.pack(f"<{len(words)}I", *words)


def replace_stand_ins(module: Module) -> None:
    """Turns calls of the functions that stand for instructions into the instructions."""
    stand_ins = {
        line[1]: name.split(".")
        for line in module.instructions
        if _opcode(line) == OP_NAME and (name := _string(line[2:])).startswith(PREFIX)
    }
    if not stand_ins:
        return
    kept: list[Instruction] = []
    decorations: list[Instruction] = []
    for line in _without_functions(module.instructions, set(stand_ins)):
        if _opcode(line) == OP_FUNCTION_CALL and line[3] in stand_ins:
            _, instruction, mode, *_ = stand_ins[line[3]]
            kept.append(_make(REPLACEMENTS[instruction], line[1], line[2], *line[4:]))
            if mode:
                number = ROUNDING_MODES[mode]
                decorations.append(_make(OP_DECORATE, line[2], DECORATION_ROUNDING_MODE, number))
        else:
            kept.append(line)
    first = next(n for n, line in enumerate(kept) if FIRST_TYPE <= _opcode(line) <= LAST_TYPE)
    module.instructions = kept[:first] + decorations + kept[first:]


def point_formats_to_chars(module: Module) -> None:
    """Casts the format of each printf from a pointer to an array to a pointer to its elements."""
    changed: list[Instruction] = []
    for line in module.instructions:
        if _is_printf(module, line):
            pointer = module.types.get(module.type_of.get(line[5], 0), [])
            array = module.types.get(pointer[3], []) if pointer else []
            if array and _opcode(array) == OP_TYPE_ARRAY:
                cast = module.new_id()
                kind = _pointer_type(module, pointer[2], array[2])
                changed.append(_make(OP_BITCAST, kind, cast, line[5]))
                line[5] = cast
        changed.append(line)
    module.instructions = _with_types(changed, module)


def put_capabilities_in_order(module: Module) -> None:
    """Sorts the capabilities, adds a missing one, and raises the version if one needs it."""
    present = [line[1] for line in module.instructions if _opcode(line) == OP_CAPABILITY]
    if any(_needs_ballot(line) for line in module.instructions):
        present += [CAPABILITY_GROUP_NON_UNIFORM, CAPABILITY_GROUP_NON_UNIFORM_BALLOT]
    wanted = sorted(set(present), key=lambda number: (number not in CAPABILITIES_FIRST, number))
    if any(number in CAPABILITIES_OF_1_3 for number in wanted):
        module.header[1] = max(module.header[1], VERSION_1_3)
    others = [line for line in module.instructions if _opcode(line) != OP_CAPABILITY]
    module.instructions = [_make(OP_CAPABILITY, number) for number in wanted] + others


def _needs_ballot(line: Instruction) -> bool:
    return (
        _opcode(line) == OP_DECORATE
        and line[2] == DECORATION_BUILT_IN
        and line[3] in BUILT_IN_SUBGROUP_MASKS
    )


def _is_printf(module: Module, line: Instruction) -> bool:
    return _opcode(line) == OP_EXT_INST and line[3] in module.opencl and line[4] == PRINTF


def _pointer_type(module: Module, storage: int, pointee: int) -> int:
    """The id of a type of pointers, which is made if there is none."""
    for identity, line in module.types.items():
        if _opcode(line) == OP_TYPE_POINTER and line[2:] == [storage, pointee]:
            return identity
    identity = module.new_id()
    module.types[identity] = _make(OP_TYPE_POINTER, identity, storage, pointee)
    module.new_types.append(identity)
    return identity


def _with_types(lines: list[Instruction], module: Module) -> list[Instruction]:
    """The instructions with the new types among them, before the first function."""
    first = next((n for n, line in enumerate(lines) if _opcode(line) == OP_FUNCTION), len(lines))
    new = [module.types[identity] for identity in module.new_types]
    return lines[:first] + new + lines[first:]


def _without_functions(lines: list[Instruction], functions: set[int]) -> Iterator[Instruction]:
    """All instructions but the functions given, their names and their decorations."""
    inside = False
    for line in lines:
        opcode = _opcode(line)
        if opcode == OP_FUNCTION:
            inside = line[2] in functions
        about = opcode in (OP_NAME, OP_DECORATE) and line[1] in functions
        if not inside and not about:
            yield line
        if opcode == OP_FUNCTION_END:
            inside = False


# --- Words ----------------------------------------------------------------------------------------


def _read(spirv: bytes) -> Module:
    words = list(struct.unpack(f"<{len(spirv) // 4}I", spirv))
    if words[0] != MAGIC:
        raise ValueError("this is not SPIR-V")
    module = Module(words[:5], [])
    position = 5
    while position < len(words):
        line = words[position : position + (words[position] >> 16)]
        module.instructions.append(line)
        position += len(line)
        opcode = _opcode(line)
        if FIRST_TYPE <= opcode <= LAST_TYPE:
            module.types[line[1]] = line
        elif opcode == OP_VARIABLE:
            module.type_of[line[2]] = line[1]
        elif opcode == OP_EXT_INST_IMPORT and _string(line[2:]) == "OpenCL.std":
            module.opencl.add(line[1])
    return module


def _opcode(line: Instruction) -> int:
    return line[0] & 0xFFFF


def _make(opcode: int, *operands: int) -> Instruction:
    return [(len(operands) + 1) << 16 | opcode, *operands]


def _string(words: list[int]) -> str:
    packed = struct.pack(f"<{len(words)}I", *words)
    return packed.split(b"\0", 1)[0].decode("utf-8", "replace")
