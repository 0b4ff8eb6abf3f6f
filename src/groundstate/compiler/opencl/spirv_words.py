"""Changes to a SPIR-V module that LLVM has written, to make it right for the OpenCL environment.

- A call of a function named `groundstate.` and an instruction becomes that instruction.
- The format of `printf` becomes a pointer to char where it is a pointer to an array of them.
- Memory that is reached through a cast to a generic pointer is reached through what was cast.
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
OP_FUNCTION, OP_FUNCTION_END, OP_FUNCTION_CALL, OP_BITCAST = 54, 56, 57, 124
FIRST_TYPE, LAST_TYPE = 19, 39

OP_PTR_CAST_TO_GENERIC = 121
DERIVING = {65, 66, 67, 70, OP_BITCAST}
"""OpAccessChain and its kin, OpBitcast: they make a pointer of another."""
WITH_RESULT_TYPE = {55, 57, 59, 61, 81, 120, 121, 122, 169, 245} | DERIVING
"""The instructions whose result can be a pointer: its type is their first operand."""

POINTER_FIRST = {62, 228, 319}
"""OpStore, OpAtomicStore, OpAtomicFlagClear: the pointer is their first operand."""
POINTER_THIRD = {61, 227, *range(229, 243), 318, 5614, 5615, 6035}
"""OpLoad and the atomic instructions with a result: the pointer comes after its type and id."""

POINTER_OF_FUNCTION = dict.fromkeys((30, 31, 36, 45, 58, 171, 173, 174, 179), 6)
POINTER_OF_FUNCTION |= dict.fromkeys((52, 172, 175, 176, 177, 178, 180, 181), 7)
"""The functions of OpenCL.std with a pointer (fract, vloadn and so on), and where it is."""

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
    """The type of each result that can be a pointer."""
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
    drop_generic_casts(module)
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


def drop_generic_casts(module: Module) -> None:
    """Lets loads, stores and atomic instructions use a pointer from before it was made generic.

    clang declares many functions for generic pointers only, so that a kernel without one would be
    full of casts, and of instructions that not every implementation has for generic pointers.
    """
    before: dict[int, int] = {}
    droppable: set[int] = set()
    changed: list[Instruction] = []
    for line in module.instructions:
        opcode = _opcode(line)
        changed.append(line)
        if opcode == OP_PTR_CAST_TO_GENERIC:
            before[line[2]] = line[3]
            droppable.add(line[2])
        elif opcode in DERIVING and line[3] in before:
            twin = _derive(module, line, before[line[3]])
            if twin is not None:
                changed.append(twin)
                before[line[2]] = twin[2]
                droppable |= {line[2], twin[2]}
        else:
            place = _pointer_place(module, line)
            if place is not None:
                line[place] = before.get(line[place], line[place])
    module.instructions = _without_unused(_with_types(changed, module), droppable)


def _derive(module: Module, line: Instruction, base: int) -> Instruction | None:
    """The instruction that makes another pointer from one, made from `base` instead."""
    source, result = module.types.get(module.type_of.get(base, 0)), module.types.get(line[1])
    if source is None or result is None or _opcode(result) != OP_TYPE_POINTER:
        return None
    twin = module.new_id()
    kind = _pointer_type(module, source[2], result[3])
    module.type_of[twin] = kind
    return _make(_opcode(line), kind, twin, base, *line[4:])


def _without_unused(lines: list[Instruction], candidates: set[int]) -> list[Instruction]:
    """The instructions without those of the candidates that nothing uses."""
    while True:
        used: set[int] = set()
        for line in lines:
            if _opcode(line) not in (OP_NAME, OP_DECORATE):
                used.update(candidates.intersection(line[1:2] + line[3:]))
        unused = candidates - used
        if not unused:
            return lines
        lines = [
            line
            for line in lines
            if not (
                (_opcode(line) in DERIVING or _opcode(line) == OP_PTR_CAST_TO_GENERIC)
                and line[2] in unused
            )
            and not (_opcode(line) in (OP_NAME, OP_DECORATE) and line[1] in unused)
        ]
        candidates -= unused


def _pointer_place(module: Module, line: Instruction) -> int | None:
    """Which word of an instruction is the pointer to the memory it reads or writes."""
    opcode = _opcode(line)
    if opcode in POINTER_FIRST:
        return 1
    if opcode in POINTER_THIRD:
        return 3
    if opcode == OP_EXT_INST and line[3] in module.opencl:
        return POINTER_OF_FUNCTION.get(line[4])
    return None


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
    module.new_types.clear()
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
        elif opcode in WITH_RESULT_TYPE:
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
