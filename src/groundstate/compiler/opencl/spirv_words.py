"""Changes to a SPIR-V module that LLVM has written, to make it right for the OpenCL environment.

- A call of a function named `groundstate.` and an instruction becomes that instruction.
- The format of `printf` becomes a pointer to char where it is a pointer to an array of them.
- Memory that is reached through a cast to a generic pointer is reached through what was cast.
- A choice between vectors by one condition, new in SPIR-V 1.4, is made for each element.
- A zero that selects a member of a structure is written as a number.
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
VERSION_1_3, VERSION_1_4 = 0x00010300, 0x00010400

OP_NAME, OP_EXT_INST_IMPORT, OP_EXT_INST = 5, 11, 12
OP_CAPABILITY, OP_DECORATE, OP_TYPE_ARRAY, OP_TYPE_POINTER = 17, 71, 28, 32
OP_TYPE_BOOL, OP_TYPE_FLOAT, OP_TYPE_INT, OP_TYPE_VECTOR = 20, 22, 21, 23
OP_CONSTANT, OP_CONSTANT_NULL, OP_COMPOSITE_CONSTRUCT, OP_SELECT = 43, 46, 80, 169
OP_FUNCTION, OP_FUNCTION_END, OP_FUNCTION_CALL, OP_BITCAST = 54, 56, 57, 124
FIRST_TYPE, LAST_TYPE = 19, 39

OP_PTR_CAST_TO_GENERIC = 121
ACCESS_CHAINS = {65, 66, 67, 70}
DERIVING = {*ACCESS_CHAINS, OP_BITCAST}
"""OpAccessChain and its kin, OpBitcast: they make a pointer of another."""
WITH_RESULT_TYPE = {1, 41, 42, 46, 55, 57, 59, 61, 79, 80, 81, 82, 169, 245, 318} | DERIVING
WITH_RESULT_TYPE |= {*range(109, 124), *range(154, 192), 261, 262, *range(333, 367)}
"""Instructions whose result can be a pointer or a condition; its type is their first operand."""

POINTER_FIRST = {62, 228, 319}
"""OpStore, OpAtomicStore, OpAtomicFlagClear: the pointer is their first operand."""
POINTER_THIRD = {61, 227, *range(229, 243), 318, 5614, 5615, 6035}
"""OpLoad and the atomic instructions with a result: the pointer comes after its type and id."""

POINTER_OF_FUNCTION = dict.fromkeys((30, 31, 36, 45, 58, 171, 173, 174, 179), 6)
POINTER_OF_FUNCTION |= dict.fromkeys((52, 172, 175, 176, 177, 178, 180, 181), 7)
"""The functions of OpenCL.std with a pointer (fract, vloadn and so on), and where it is."""

REPLACEMENTS = {"ConvertSToF": 111, "ConvertUToF": 112, "FConvert": 115, "ImageQueryOrder": 102}
REPLACEMENTS |= {"GroupAsyncCopy": 259}
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

WORK_GROUP_SCOPE = 2

PREFIX = "groundstate."


@dataclass
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
    """New types and constants, not yet among the instructions."""

    def new_id(self) -> int:
        """An id that nothing has yet."""
        self.header[3] += 1
        return self.header[3] - 1


def fix(spirv: bytes) -> bytes:
    """All changes, in order."""
    module = _read(spirv)
    cut_nulls(module)
    replace_stand_ins(module)
    point_formats_to_chars(module)
    drop_generic_casts(module)
    widen_conditions(module)
    index_with_constants(module)
    put_capabilities_in_order(module)
    words = module.header + [word for line in module.instructions for word in line]
    return struct.pack(f"<{len(words)}I", *words)


def cut_nulls(module: Module) -> None:
    """The back end writes some null constants with their type once more at the end."""
    for place, line in enumerate(module.instructions):
        if _opcode(line) == OP_CONSTANT_NULL and len(line) > 3:
            module.instructions[place] = _make(OP_CONSTANT_NULL, line[1], line[2])


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
            _, instruction, mode, kind, *_ = stand_ins[line[3]]
            kept += _replacement(module, line, instruction, kind)
            if mode:
                number = ROUNDING_MODES[mode]
                decorations.append(_make(OP_DECORATE, line[2], DECORATION_ROUNDING_MODE, number))
        else:
            kept.append(line)
    first = next(n for n, line in enumerate(kept) if FIRST_TYPE <= _opcode(line) <= LAST_TYPE)
    module.instructions = _with_declarations(kept[:first] + decorations + kept[first:], module)


def _replacement(
    module: Module, call: Instruction, instruction: str, kind: str
) -> list[Instruction]:
    """The instructions that do what a call of a function stands for."""
    _, result_type, result, _, *operands = call
    lines = []
    if instruction == "GroupAsyncCopy":
        element = _value_type(module, kind)
        for place in (0, 1):
            storage = module.types[module.type_of[operands[place]]][2]
            cast = module.new_id()
            pointer = _declare(module, OP_TYPE_POINTER, storage, element)
            lines.append(_make(OP_BITCAST, pointer, cast, operands[place]))
            operands[place] = cast
        operands.insert(0, _constant(module, WORK_GROUP_SCOPE, _value_type(module, "i32")))
    return [*lines, _make(REPLACEMENTS[instruction], result_type, result, *operands)]


def point_formats_to_chars(module: Module) -> None:
    """Casts the format of each printf from a pointer to an array to a pointer to its elements."""
    changed: list[Instruction] = []
    for line in module.instructions:
        if _is_printf(module, line):
            pointer = module.types.get(module.type_of.get(line[5], 0), [])
            array = module.types.get(pointer[3], []) if pointer else []
            if array and _opcode(array) == OP_TYPE_ARRAY:
                cast = module.new_id()
                kind = _declare(module, OP_TYPE_POINTER, pointer[2], array[2])
                changed.append(_make(OP_BITCAST, kind, cast, line[5]))
                line[5] = cast
        changed.append(line)
    module.instructions = _with_declarations(changed, module)


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
    module.instructions = _without_unused(_with_declarations(changed, module), droppable)


def _derive(module: Module, line: Instruction, base: int) -> Instruction | None:
    """The instruction that makes another pointer from one, made from `base` instead."""
    source, result = module.types.get(module.type_of.get(base, 0)), module.types.get(line[1])
    if source is None or result is None or _opcode(result) != OP_TYPE_POINTER:
        return None
    twin = module.new_id()
    kind = _declare(module, OP_TYPE_POINTER, source[2], result[3])
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


def widen_conditions(module: Module) -> None:
    """Gives a choice between two vectors a condition for each element."""
    if module.header[1] >= VERSION_1_4:
        return
    changed: list[Instruction] = []
    for line in module.instructions:
        if _opcode(line) == OP_SELECT:
            vector = module.types.get(line[1], [0])
            condition = module.types.get(module.type_of.get(line[3], 0), [0])
            if _opcode(vector) == OP_TYPE_VECTOR and _opcode(condition) == OP_TYPE_BOOL:
                wide = module.new_id()
                kind = _declare(module, OP_TYPE_VECTOR, condition[1], vector[3])
                changed.append(_make(OP_COMPOSITE_CONSTRUCT, kind, wide, *[line[3]] * vector[3]))
                line[3] = wide
        changed.append(line)
    module.instructions = _with_declarations(changed, module)


def index_with_constants(module: Module) -> None:
    """Replaces the null constants among the indices of access chains by zeros."""
    nulls = {
        line[2]: line[1]
        for line in module.instructions
        if _opcode(line) == OP_CONSTANT_NULL and _opcode(module.types[line[1]]) == OP_TYPE_INT
    }
    zeros: dict[int, int] = {}
    for line in module.instructions:
        if _opcode(line) in ACCESS_CHAINS:
            for place in range(4, len(line)):
                if line[place] in nulls:
                    kind = nulls[line[place]]
                    if kind not in zeros:
                        zeros[kind] = _constant(module, 0, kind)
                    line[place] = zeros[kind]
    module.instructions = _with_declarations(module.instructions, module)


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


def _declare(module: Module, opcode: int, *operands: int) -> int:
    """The id of a type, which is made if there is none."""
    for identity, line in module.types.items():
        if _opcode(line) == opcode and line[2:] == list(operands):
            return identity
    identity = module.new_id()
    module.types[identity] = _make(opcode, identity, *operands)
    module.declarations.append(module.types[identity])
    return identity


def _value_type(module: Module, name: str) -> int:
    """The id of a type such as i32 or v4f32."""
    if name.startswith("v"):
        count, _, element = name[1:].replace("f", " f").replace("i", " i").partition(" ")
        return _declare(module, OP_TYPE_VECTOR, _value_type(module, element), int(count))
    if name.startswith("f"):
        return _declare(module, OP_TYPE_FLOAT, int(name[1:]))
    return _declare(module, OP_TYPE_INT, int(name[1:]), 0)


def _constant(module: Module, number: int, kind: int) -> int:
    """The id of a new constant of an integer type."""
    identity = module.new_id()
    words = [number, 0] if module.types[kind][2] == 64 else [number]
    module.declarations.append(_make(OP_CONSTANT, kind, identity, *words))
    return identity


def _with_declarations(lines: list[Instruction], module: Module) -> list[Instruction]:
    """The instructions with the new types and constants among them, before the first function."""
    first = next((n for n, line in enumerate(lines) if _opcode(line) == OP_FUNCTION), len(lines))
    new, module.declarations = module.declarations, []
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
