"""Changes to a SPIR-V module that LLVM has written, to make it right for the OpenCL environment.

- A call of a function named `groundstate.` and an instruction becomes that instruction.
- The format of `printf` becomes a pointer to char where it is a pointer to an array of them, and
  the extension that clang asks for because of it goes.
- Variables in local memory get the size that they have in the source (`local_memory`).
- Memory that is reached through a cast to a generic pointer is reached through what was cast
  (`pointers`).
- A choice between vectors by one condition, new in SPIR-V 1.4, is made for each element.
- A zero that selects a member of a structure is written as a number.
- The alignment of a null pointer, more than a word can say, becomes 1.
- Strings say what types the arguments of kernels have in the source (`argument_types`).
- Capabilities that others depend on come first, as spirv-val reads them in order; those that are
  missing are added, and the version says 1.3 where a capability needs it.
"""

from __future__ import annotations

from collections.abc import Iterator

from groundstate.compiler.opencl import argument_types, local_memory, pointers
from groundstate.compiler.opencl.spirv_module import (
    ACCESS_CHAINS,
    FIRST_TYPE,
    LAST_TYPE,
    OP_BITCAST,
    OP_CAPABILITY,
    OP_COMPOSITE_CONSTRUCT,
    OP_CONSTANT_NULL,
    OP_DECORATE,
    OP_EXT_INST,
    OP_EXTENSION,
    OP_FUNCTION,
    OP_FUNCTION_CALL,
    OP_FUNCTION_END,
    OP_NAME,
    OP_SELECT,
    OP_TYPE_ARRAY,
    OP_TYPE_BOOL,
    OP_TYPE_INT,
    OP_TYPE_POINTER,
    OP_TYPE_VECTOR,
    VERSION_1_3,
    VERSION_1_4,
    Instruction,
    Module,
    make,
    opcode_of,
    read,
    string,
    write,
)

REPLACEMENTS = {"ConvertFToU": 109, "ConvertFToS": 110, "ConvertSToF": 111, "ConvertUToF": 112}
REPLACEMENTS |= {"FConvert": 115, "ImageQueryFormat": 101, "ImageQueryOrder": 102}
REPLACEMENTS |= {"GroupAsyncCopy": 259, "NoEvent": 83}
"""The opcodes of the instructions that functions stand for."""

DECORATION_BUILT_IN, DECORATION_SATURATED = 11, 28
DECORATION_ROUNDING_MODE, DECORATION_LINKAGE = 39, 41
MODES = {
    "RTE": (DECORATION_ROUNDING_MODE, 0),
    "RTZ": (DECORATION_ROUNDING_MODE, 1),
    "RTP": (DECORATION_ROUNDING_MODE, 2),
    "RTN": (DECORATION_ROUNDING_MODE, 3),
    "SAT": (DECORATION_SATURATED,),
}
"""The decorations of conversions, by what the names of functions say."""

PRINTF, ROTATE = 184, 161
"""Of OpenCL.std."""

PRINTF_EXTENSION = "SPV_EXT_relaxed_printf_string_address_space"
"""What clang 22 asks for where a program prints, because it looks for the type of a format among
the values of the program's last function. No format needs it: they all are in constant memory."""

MEMORY_ACCESS = {61: 4, 62: 3, 64: 4}
"""Where loads, stores and copies say how they access memory."""
ALIGNED = 2

HELPER_PREFIX, ROTATION_PREFIX = "spirv.llvm_", "spirv.llvm_fshl_"
"""How the names of the functions begin that the back end adds."""

CAPABILITY_GROUP_NON_UNIFORM, CAPABILITY_GROUP_NON_UNIFORM_BALLOT = 61, 64
CAPABILITIES_FIRST = (6, 4, 13)
"""Kernel, Addresses, ImageBasic: what other capabilities are declared on top of."""
CAPABILITIES_OF_1_3 = range(61, 69)
BUILT_IN_SUBGROUP_MASKS = range(4416, 4421)

WORK_GROUP_SCOPE = 2

PREFIX = "groundstate."


def fix(spirv: bytes, ir: str) -> bytes:
    """All changes, in order; `ir` is the LLVM IR that the module was made of."""
    module = read(spirv)
    cut_nulls(module)
    local_memory.restore_sizes(module, ir)
    replace_stand_ins(module)
    point_formats_to_chars(module)
    drop_extension(module, PRINTF_EXTENSION)
    pointers.drop_generic_casts(module)
    widen_conditions(module)
    index_with_constants(module)
    align_nulls(module)
    keep_helpers_private(module)
    put_capabilities_in_order(module)
    argument_types.keep(module, ir)
    return write(module)


def cut_nulls(module: Module) -> None:
    """The back end writes some null constants with their type once more at the end."""
    for place, line in enumerate(module.instructions):
        if opcode_of(line) == OP_CONSTANT_NULL and len(line) > 3:
            module.instructions[place] = make(OP_CONSTANT_NULL, line[1], line[2])


def replace_stand_ins(module: Module) -> None:
    """Turns calls of the functions that stand for instructions into the instructions."""
    stand_ins = {
        identity: name.split(".")
        for identity, name in module.names().items()
        if name.startswith(PREFIX)
    }
    if not stand_ins:
        return
    kept: list[Instruction] = []
    decorations: list[Instruction] = []
    for line in _without_functions(module.instructions, set(stand_ins)):
        if opcode_of(line) == OP_FUNCTION_CALL and line[3] in stand_ins:
            _, instruction, mode, kind, *_ = stand_ins[line[3]]
            kept += _replacement(module, line, instruction, kind)
            if mode:
                decorations.append(make(OP_DECORATE, line[2], *MODES[mode]))
        else:
            kept.append(line)
    first = next(n for n, line in enumerate(kept) if FIRST_TYPE <= opcode_of(line) <= LAST_TYPE)
    module.replace(kept[:first] + decorations + kept[first:])


def _replacement(
    module: Module, call: Instruction, instruction: str, kind: str
) -> list[Instruction]:
    """The instructions that do what a call of a function stands for."""
    _, result_type, result, _, *operands = call
    lines = []
    if instruction == "GroupAsyncCopy":
        element = module.value_type(kind)
        for place in (0, 1):
            storage = module.types[module.type_of[operands[place]]][2]
            cast = module.new_id()
            pointer = module.declare(OP_TYPE_POINTER, storage, element)
            lines.append(make(OP_BITCAST, pointer, cast, operands[place]))
            operands[place] = cast
        operands.insert(0, module.constant(WORK_GROUP_SCOPE, module.value_type("i32")))
    if instruction == "NoEvent":  # a copy of the constant
        operands = [module.new_id()]
        module.declarations.append(make(OP_CONSTANT_NULL, result_type, *operands))
    return [*lines, make(REPLACEMENTS[instruction], result_type, result, *operands)]


def point_formats_to_chars(module: Module) -> None:
    """Casts the format of each printf from a pointer to an array to a pointer to its elements."""
    changed: list[Instruction] = []
    for line in module.instructions:
        if _is_printf(module, line):
            pointer = module.types.get(module.type_of.get(line[5], 0), [])
            array = module.types.get(pointer[3], []) if pointer else []
            if array and opcode_of(array) == OP_TYPE_ARRAY:
                cast = module.new_id()
                kind = module.declare(OP_TYPE_POINTER, pointer[2], array[2])
                changed.append(make(OP_BITCAST, kind, cast, line[5]))
                line[5] = cast
        changed.append(line)
    module.replace(changed)


def drop_extension(module: Module, name: str) -> None:
    """Declares an extension no longer: one that clang asked for, and nothing in the module uses."""
    module.instructions = [
        line
        for line in module.instructions
        if opcode_of(line) != OP_EXTENSION or string(line[1:]) != name
    ]


def widen_conditions(module: Module) -> None:
    """Gives a choice between two vectors a condition for each element."""
    if module.header[1] >= VERSION_1_4:
        return
    changed: list[Instruction] = []
    for line in module.instructions:
        if opcode_of(line) == OP_SELECT:
            vector = module.types.get(line[1], [0])
            condition = module.types.get(module.type_of.get(line[3], 0), [0])
            if opcode_of(vector) == OP_TYPE_VECTOR and opcode_of(condition) == OP_TYPE_BOOL:
                wide = module.new_id()
                kind = module.declare(OP_TYPE_VECTOR, condition[1], vector[3])
                changed.append(make(OP_COMPOSITE_CONSTRUCT, kind, wide, *[line[3]] * vector[3]))
                line[3] = wide
        changed.append(line)
    module.replace(changed)


def index_with_constants(module: Module) -> None:
    """Replaces the null constants among the indices of access chains by zeros."""
    nulls = {
        line[2]: line[1]
        for line in module.instructions
        if opcode_of(line) == OP_CONSTANT_NULL and opcode_of(module.types[line[1]]) == OP_TYPE_INT
    }
    zeros: dict[int, int] = {}
    for line in module.instructions:
        if opcode_of(line) in ACCESS_CHAINS:
            for place in range(4, len(line)):
                if line[place] in nulls:
                    kind = nulls[line[place]]
                    if kind not in zeros:
                        zeros[kind] = module.constant(0, kind)
                    line[place] = zeros[kind]
    module.replace(module.instructions)


def align_nulls(module: Module) -> None:
    """LLVM takes null for a multiple of 2 to the power of 32, of which a word keeps 0."""
    for line in module.instructions:
        place = MEMORY_ACCESS.get(opcode_of(line), len(line))
        if len(line) > place + 1 and line[place] & ALIGNED and line[place + 1] == 0:
            line[place + 1] = 1


def keep_helpers_private(module: Module) -> None:
    """Exports none of the functions that the back end writes for LLVM's intrinsics.

    They have the same names in every module, so that two modules could not be linked. The names go
    too: some implementations take them for a command to use the intrinsic. A call that rotates a
    value by combining it with itself becomes the function of OpenCL.std.
    """
    names = module.names()
    helpers = {identity for identity, name in names.items() if name.startswith(HELPER_PREFIX)}
    rotations = {number for number in helpers if names[number].startswith(ROTATION_PREFIX)}
    kept: list[Instruction] = []
    for line in module.instructions:
        opcode = opcode_of(line)
        if opcode == OP_NAME and line[1] in helpers:
            continue
        if opcode == OP_DECORATE and line[1] in helpers and line[2] == DECORATION_LINKAGE:
            continue
        if opcode == OP_FUNCTION_CALL and line[3] in rotations and line[4] == line[5]:
            (opencl,) = module.opencl
            line = make(OP_EXT_INST, line[1], line[2], opencl, ROTATE, line[4], line[6])
        kept.append(line)
    module.replace(kept)


def put_capabilities_in_order(module: Module) -> None:
    """Sorts the capabilities, adds a missing one, and raises the version if one needs it."""
    present = [line[1] for line in module.instructions if opcode_of(line) == OP_CAPABILITY]
    if any(_needs_ballot(line) for line in module.instructions):
        present += [CAPABILITY_GROUP_NON_UNIFORM, CAPABILITY_GROUP_NON_UNIFORM_BALLOT]
    wanted = sorted(set(present), key=lambda number: (number not in CAPABILITIES_FIRST, number))
    if any(number in CAPABILITIES_OF_1_3 for number in wanted):
        module.header[1] = max(module.header[1], VERSION_1_3)
    others = [line for line in module.instructions if opcode_of(line) != OP_CAPABILITY]
    module.instructions = [make(OP_CAPABILITY, number) for number in wanted] + others


def _needs_ballot(line: Instruction) -> bool:
    return (
        opcode_of(line) == OP_DECORATE
        and line[2] == DECORATION_BUILT_IN
        and line[3] in BUILT_IN_SUBGROUP_MASKS
    )


def _is_printf(module: Module, line: Instruction) -> bool:
    return opcode_of(line) == OP_EXT_INST and line[3] in module.opencl and line[4] == PRINTF


def _without_functions(lines: list[Instruction], functions: set[int]) -> Iterator[Instruction]:
    """All instructions but the functions given, their names and their decorations."""
    inside = False
    for line in lines:
        opcode = opcode_of(line)
        if opcode == OP_FUNCTION:
            inside = line[2] in functions
        about = opcode in (OP_NAME, OP_DECORATE) and line[1] in functions
        if not inside and not about:
            yield line
        if opcode == OP_FUNCTION_END:
            inside = False
