"""Modules that break rules: each is refused with a sentence that says where and why."""

from __future__ import annotations

import pytest

from groundstate.compiler.spirv import InvalidModule, read
from groundstate.compiler.spirv.opcodes import Decoration, ExecutionMode, Op
from tests.compiler.spirv.spirv_support import binary, instruction, module_data

VOID = instruction(Op.TypeVoid, 1)
UINT = instruction(Op.TypeInt, 2, 32, 0)
TAKES = instruction(Op.TypeFunction, 3, 1)
BEGIN = instruction(Op.Function, 1, 4, 0, 3)
LABEL = instruction(Op.Label, 5)
RETURN = instruction(Op.Return)
END = instruction(Op.FunctionEnd)
SEVEN = instruction(Op.Constant, 2, 6, 7)


def refusal(data: bytes) -> str:
    """What is said about a module, its functions included."""
    with pytest.raises(InvalidModule) as caught:
        read_whole(data)
    return str(caught.value)


def read_whole(data: bytes) -> None:
    """Reads a module and all its functions."""
    module = read(data)
    for id in module.function_ids:
        module.function(id)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "at least 20 bytes"),
        (b"\x03\x02\x23\x07", "at least 20 bytes"),
        (b"\x03\x02\x23\x07\0\0", "a multiple of 4 bytes; this has 6"),
        (b"\x7fELF" + bytes(16), "not SPIR-V: it begins with the bytes 7f 45 4c 46"),
        (binary(version=0x20000), "version 2.0 is not known"),
        (binary(version=0x10700), "version 1.7 is not known"),
        (binary(bound=0), "the bound of ids is 0"),
        (binary(bound=0xFFFFFFFF), "the bound of ids is 4294967295"),
    ],
)
def test_broken_headers(data: bytes, reason: str) -> None:
    assert reason in refusal(data)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([[0]], "OpNop at word 5: an instruction of 0 words"),
        ([[9 << 16 | Op.TypeVoid, 1]], "longer than the rest"),
        ([[60000 | 1 << 16]], "instruction 60000 at word 5: it is not known"),
        ([LABEL], "OpLabel at word 5: it stands outside of a function"),
        ([VOID, VOID], "OpTypeVoid at word 7: %1 is defined twice"),
        ([instruction(Op.TypeVoid, 100)], "%100 is out of range (the bound is 100)"),
        ([instruction(Op.TypeVoid, 0)], "%0 is out of range"),
        ([instruction(Op.TypeInt, 2, 32)], "an operand is missing"),
        ([instruction(Op.TypeVoid, 1, 2)], "too many operands"),
        ([instruction(Op.TypeInt, 2, 0, 0)], "no integers of 0 bits"),
        ([instruction(Op.TypeFloat, 2, 31)], "no floating-point numbers of 31 bits"),
        ([instruction(Op.TypeVector, 3, 9, 4)], "%9 is not a type"),
        ([VOID, instruction(Op.TypeVector, 3, 1, 4)], "a vector cannot contain a void"),
        ([UINT, instruction(Op.TypeVector, 3, 2, 0)], "a vector cannot have 0 elements"),
        ([instruction(Op.TypeStruct, 3, 3)], "%3 is defined by itself"),
        (
            [instruction(Op.TypeStruct, 3, 4), instruction(Op.TypeStruct, 4, 3)],
            "is defined by itself",
        ),
        ([VOID, instruction(Op.TypeStruct, 3, 1)], "a void cannot be stored"),
        ([UINT, instruction(Op.TypeArray, 3, 2, 2)], "%2 is not a constant"),
        (
            [
                UINT,
                instruction(Op.TypeFloat, 3, 32),
                instruction(Op.Constant, 3, 4, 0),
                instruction(Op.TypeArray, 5, 2, 4),
            ],
            "the length of an array, %4, is not an integer",
        ),
        (
            [
                instruction(Op.TypeForwardPointer, 3, 5),
                instruction(Op.TypePointer, 3, 5, 3),
            ],
            "pointers are nested",
        ),
        ([UINT, instruction(Op.Constant, 2, 3, 1, 2)], "a u32 takes 1 words"),
        ([VOID, instruction(Op.Constant, 1, 3, 1)], "a void is not a number"),
        ([UINT, instruction(Op.ConstantTrue, 2, 3)], "a u32 is not true or false"),
        ([UINT, instruction(Op.ConstantComposite, 2, 3)], "a u32 has no parts"),
        ([UINT, instruction(Op.Variable, 2, 3, 5)], "the type of a variable is a pointer"),
        ([instruction(Op.ExtInstImport, 1, 0x61616161)], "a string has no end"),
        ([instruction(Op.Decorate, 1)], "an operand is missing"),
        ([instruction(Op.Decorate, 1, Decoration.SpecId)], "SpecId lacks an operand"),
        ([instruction(Op.Decorate, 0, Decoration.Constant)], "%0 is out of range"),
        ([instruction(Op.Decorate, 1, Decoration.LinkageAttributes, "a")], "linkage is missing"),
        ([instruction(Op.GroupMemberDecorate, 1, 2)], "a target has no member"),
        (
            [instruction(Op.ExecutionMode, 1, ExecutionMode.LocalSize, 1)],
            "LocalSize lacks an operand",
        ),
        (
            [instruction(Op.ExecutionModeId, 1, ExecutionMode.LocalSizeId, 1, 1, 1)],
            "LocalSizeId needs a number",
        ),
        ([instruction(Op.EntryPoint, 6, 9, "k")], "the kernel 'k' has no function: %9 is none"),
        (
            [instruction(Op.EntryPoint, 6, 9, "k"), instruction(Op.EntryPoint, 6, 8, "k")],
            "there are two kernels 'k'",
        ),
        ([instruction(Op.TypeStructContinuedINTEL, 1)], "nothing to continue"),
    ],
)
def test_broken_declarations(parts: list[list[int]], reason: str) -> None:
    assert reason in refusal(binary(*parts))


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([BEGIN, LABEL, RETURN], "in function '%4', OpFunction at word 10: it has no end"),
        ([BEGIN, BEGIN], "a function begins inside another"),
        ([END], "OpFunctionEnd at word 10: it stands outside of a function"),
        ([BEGIN, END, END], "no function is open"),
        ([BEGIN, END, RETURN], "it stands outside of a function"),
        ([BEGIN, END, BEGIN, END], "%4 is defined twice"),
        ([BEGIN, END, [5 << 16 | Op.Nop]], "ends 4 words after the module"),
        ([instruction(Op.Function, 1, 4, 0), END], "it has 5 words"),
        ([instruction(Op.Function, 1, 4, 0, 1), END], "%1, is not that of a function"),
        ([UINT, instruction(Op.Function, 2, 4, 0, 3), END], "it returns a void"),
        ([BEGIN, RETURN, END], "OpReturn at word 15: it stands outside of a block"),
        ([BEGIN, LABEL, END], "the block %5 is not left by a branch or return"),
        ([BEGIN, LABEL, instruction(Op.Label, 6), RETURN, END], "has no end before the next"),
        ([BEGIN, LABEL, RETURN, RETURN, END], "outside of a block"),
        ([BEGIN, LABEL, instruction(Op.Branch, 9), END], "%9 is not a block of this function"),
        ([BEGIN, LABEL, instruction(Op.Branch, 5), END], "a branch leads to its first block"),
        (
            [BEGIN, LABEL, RETURN, instruction(Op.FunctionParameter, 1, 9), END],
            "a parameter comes after the first block",
        ),
        (
            [BEGIN, instruction(Op.FunctionParameter, 1, 9), END],
            "its type has 0 parameters, and it has 1",
        ),
        (
            [UINT, BEGIN, LABEL, instruction(Op.IAdd, 2, 9, 10, 10), RETURN, END],
            "OpIAdd at word 21: %10 is used and never defined",
        ),
        (
            [UINT, BEGIN, LABEL, instruction(Op.IAdd, 2, 9, 5, 5), RETURN, END],
            "%5 is a block, not a value",
        ),
        (
            [UINT, BEGIN, LABEL, instruction(Op.IAdd, 2, 9, 2, 2), RETURN, END],
            "%2 is a type, not a value",
        ),
        ([BEGIN, LABEL, instruction(Op.IAdd, 9, 9, 5, 5), RETURN, END], "%9 is not a type"),
        ([UINT, BEGIN, LABEL, instruction(Op.IAdd, 2, 9), RETURN, END], "an operand is missing"),
        (
            [UINT, SEVEN, BEGIN, LABEL, instruction(Op.IAdd, 2, 6, 6, 6), RETURN, END],
            "%6 is defined twice",
        ),
        (
            [UINT, SEVEN, BEGIN, LABEL, instruction(Op.Load, 2, 9, 6, 2), RETURN, END],
            "an operand is missing",
        ),
        (
            [UINT, SEVEN, BEGIN, LABEL, instruction(Op.Load, 2, 9, 6, 2, 4, 4), RETURN, END],
            "too many operands",
        ),
        (
            [UINT, SEVEN, BEGIN, LABEL, instruction(Op.Switch, 6, 5, 1), END],
            "the cases and their labels do not pair up",
        ),
        (
            [UINT, BEGIN, LABEL, instruction(Op.FunctionCall, 1, 9, 5), RETURN, END],
            "%5 is a block, not a value",
        ),
        (
            [UINT, SEVEN, BEGIN, LABEL, instruction(Op.FunctionCall, 1, 9, 4, 6), RETURN, END],
            "'%4' takes 0 arguments, not 1",
        ),
        (
            [UINT, SEVEN, BEGIN, LABEL, instruction(Op.ExtInst, 2, 9, 6, 0), RETURN, END],
            "%6 is not a set of extended instructions",
        ),
        ([BEGIN, LABEL, [1 << 16 | 60000], RETURN, END], "instruction 60000 is not known"),
    ],
)
def test_broken_functions(parts: list[list[int]], reason: str) -> None:
    assert reason in refusal(binary(VOID, TAKES, *parts))


def test_a_phi_needs_a_value_for_each_way_in() -> None:
    data = binary(
        VOID,
        TAKES,
        UINT,
        SEVEN,
        BEGIN,
        LABEL,
        instruction(Op.Branch, 10),
        instruction(Op.Label, 10),
        instruction(Op.Phi, 2, 11),
        RETURN,
        END,
    )
    assert "the phi %11 in block %10 has no value for block %5" in refusal(data)


def test_extended_instruction_checked_against_set() -> None:
    start = [VOID, UINT, TAKES, SEVEN, instruction(Op.ExtInstImport, 9, "OpenCL.std"), BEGIN, LABEL]
    many = binary(*start, instruction(Op.ExtInst, 2, 10, 9, 0, 6, 6), RETURN, END)
    unknown = binary(*start, instruction(Op.ExtInst, 2, 10, 9, 999, 6), RETURN, END)
    assert "acos does not take 2 operands" in refusal(many)
    assert "OpenCL.std has no instruction 999" in refusal(unknown)


def test_the_sentence_names_the_function() -> None:
    data = binary(
        instruction(Op.EntryPoint, 6, 4, "add"), VOID, TAKES, BEGIN, LABEL, LABEL, RETURN, END
    )
    expected = "in function 'add', OpLabel at word 21: %5 is defined twice"
    assert refusal(data) == expected


# --- Modules that ask for too much ----------------------------------------------------------------


def test_groups_cannot_multiply_without_limit() -> None:
    decorations = [instruction(Op.Decorate, 1, number) for number in range(50000, 53000)]
    uses = [instruction(Op.GroupDecorate, 1, *range(2, 99)) for _ in range(20)]
    assert "applied too often" in refusal(binary(*decorations, *uses))


def test_nested_constants_are_limited_in_parts() -> None:
    parts, element = [UINT, SEVEN, instruction(Op.Constant, 2, 7, 8)], 2
    value = 6
    for level in range(10, 74, 2):
        parts.append(instruction(Op.TypeArray, level, element, 7))
        parts.append(instruction(Op.ConstantComposite, level, level + 1, *[value] * 8))
        element, value = level, level + 1
    assert "more than 16777216 parts" in refusal(binary(*parts))


def test_a_null_is_not_taken_apart_without_limit() -> None:
    data = binary(
        UINT,
        instruction(Op.Constant, 2, 3, 1 << 30),
        instruction(Op.TypeArray, 4, 2, 3),
        instruction(Op.ConstantNull, 4, 5),
        instruction(Op.SpecConstantOp, 4, 6, Op.CompositeInsert, 3, 5, 0),
    )
    assert "constants have more than" in refusal(data)


def test_arrays_of_arrays_cannot_outgrow_memory() -> None:
    parts = [UINT, instruction(Op.Constant, 2, 3, 0xFFFFFFFF)]
    parts += [instruction(Op.TypeArray, at + 1, 2 if at == 3 else at, 3) for at in range(3, 20)]
    assert "larger than any memory" in refusal(binary(*parts))


def test_chain_of_pending_definitions_is_limited() -> None:
    chain = [instruction(Op.TypeStruct, at, at + 1) for at in range(1, 90)]
    assert "wait for one another" in refusal(binary(*chain, instruction(Op.TypeBool, 90)))


def test_chains_of_forward_pointers_end() -> None:
    parts = [instruction(Op.TypeForwardPointer, at, 5) for at in range(1, 400)]
    parts += [instruction(Op.TypePointer, at, 5, at + 1) for at in range(1, 400)]
    data = binary(*parts, instruction(Op.TypeBool, 400), bound=500)
    assert "pointers are nested more than 255 deep" in refusal(data)


def test_attributes_of_one_parameter_end() -> None:
    attributes = [instruction(Op.Decorate, 1, Decoration.FuncParamAttr, n) for n in range(200)]
    assert "more than 100 attributes" in refusal(binary(*attributes))


def test_long_composites_are_put_together_once() -> None:
    more = [instruction(Op.CompositeConstructContinuedINTEL, 6)] * 50_000
    first = instruction(Op.CompositeConstruct, 2, 9, 6)
    module = read(binary(VOID, TAKES, UINT, SEVEN, BEGIN, LABEL, first, *more, RETURN, END))
    assert len(module.function(4).blocks[0].instructions[0].operands) == 50_001


@pytest.mark.parametrize("cut", [1, 2, 3, 5, 17, 40])
def test_a_truncated_module_is_refused(cut: int) -> None:
    data = module_data("loop")
    assert refusal(data[: -4 * cut])
