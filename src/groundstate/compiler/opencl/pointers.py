"""Reaches memory through the pointer from before a cast to a generic one, where it is known.

clang declares many functions for generic pointers only, so that a kernel without one would be full
of casts, and of instructions that not every implementation has for generic pointers.
"""

from __future__ import annotations

from groundstate.compiler.opencl.spirv_module import (
    DERIVING,
    OP_DECORATE,
    OP_EXT_INST,
    OP_NAME,
    OP_PTR_CAST_TO_GENERIC,
    OP_TYPE_POINTER,
    Instruction,
    Module,
    make,
    opcode_of,
)

MAKING = {*DERIVING, OP_PTR_CAST_TO_GENERIC}
"""The instructions that make a pointer from another."""

POINTER_FIRST = {62, 228, 319}
"""OpStore, OpAtomicStore, OpAtomicFlagClear: the pointer is their first operand."""
POINTER_THIRD = {61, 227, *range(229, 243), 318, 5614, 5615, 6035}
"""OpLoad and the atomic instructions with a result: the pointer comes after its type and id."""

POINTER_OF_FUNCTION = dict.fromkeys((30, 31, 36, 45, 58, 171, 173, 174, 179), 6)
POINTER_OF_FUNCTION |= dict.fromkeys((52, 172, 175, 176, 177, 178, 180, 181), 7)
"""The functions of OpenCL.std with a pointer (fract, vloadn and so on), and where it is."""


def drop_generic_casts(module: Module) -> None:
    """Lets loads, stores and atomic instructions use a pointer from before it was made generic."""
    before: dict[int, int] = {}
    droppable: set[int] = set()
    changed: list[Instruction] = []
    for line in module.instructions:
        opcode = opcode_of(line)
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
    module.replace(_without_unused(changed, droppable))


def _derive(module: Module, line: Instruction, base: int) -> Instruction | None:
    """The instruction that makes another pointer from one, made from `base` instead."""
    source, result = module.types.get(module.type_of.get(base, 0)), module.types.get(line[1])
    if source is None or result is None or opcode_of(result) != OP_TYPE_POINTER:
        return None
    twin = module.new_id()
    kind = module.declare(OP_TYPE_POINTER, source[2], result[3])
    module.type_of[twin] = kind
    return make(opcode_of(line), kind, twin, base, *line[4:])


def _without_unused(lines: list[Instruction], candidates: set[int]) -> list[Instruction]:
    """The instructions without those of the candidates that nothing uses."""
    while True:
        used: set[int] = set()
        for line in lines:
            if opcode_of(line) not in (OP_NAME, OP_DECORATE):
                defines = opcode_of(line) in MAKING and line[2] in candidates
                words = line[3:] if defines else line[1:]
                used.update(candidates.intersection(words))
        unused = candidates - used
        if not unused:
            return lines
        lines = [
            line
            for line in lines
            if not (opcode_of(line) in MAKING and line[2] in unused)
            and not (opcode_of(line) in (OP_NAME, OP_DECORATE) and line[1] in unused)
        ]
        candidates -= unused


def _pointer_place(module: Module, line: Instruction) -> int | None:
    """Which word of an instruction is the pointer to the memory it reads or writes."""
    opcode = opcode_of(line)
    if opcode in POINTER_FIRST:
        return 1
    if opcode in POINTER_THIRD:
        return 3
    if opcode == OP_EXT_INST and line[3] in module.opencl:
        return POINTER_OF_FUNCTION.get(line[4])
    return None
