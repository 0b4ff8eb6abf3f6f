"""The compiler takes every instruction of the OpenCL environment, or says why it does not."""

from __future__ import annotations

import re
import struct
from functools import cache

import pytest

import groundstate.compiler.codegen.kernel  # noqa: F401 - makes the writers known
from groundstate.compiler.codegen.arithmetic.tables import WRITERS
from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir.ops import OPERATIONS
from groundstate.compiler.lower.barriers import BARRIERS
from groundstate.compiler.lower.sampled_images import PAIRS, SAMPLE
from groundstate.compiler.program import Program
from groundstate.compiler.spirv.instructions import ROWS, enumeration, opencl_rows
from groundstate.compiler.spirv_to_ir.instruction_support import (
    BUILTINS,
    INLINED,
    NO_CODE,
    READ,
    REFUSED,
    RENAMED,
    refused_builtins,
)
from tests.compiler.images.test_images_bindless import bindless_module
from tests.compiler.images.test_images_used import image_modules
from tests.compiler.instructions.instruction_support import each_item, module
from tests.compiler.instructions.test_instructions import BATCHES

NAMES = [row.name.removeprefix("Op") for row in ROWS.values()]
TEMPLATES = {name for name, row in OPERATIONS.items() if row.llvm}
WRITTEN = frozenset(Emitter.HANDLERS) | TEMPLATES | frozenset(WRITERS)
TABLES = {
    "written by emit": WRITTEN,
    "read by spirv": READ,
    "taken by inlining": INLINED,
    "lowered to others": (BARRIERS - WRITTEN) | PAIRS | {SAMPLE},
    "without code": NO_CODE,
    "the same as another": frozenset(RENAMED),
    "refused": frozenset(REFUSED),
}


def test_every_instruction_is_in_one_table() -> None:
    places = {name: [table for table, names in TABLES.items() if name in names] for name in NAMES}
    assert {name: tables for name, tables in places.items() if len(tables) != 1} == {}


def test_the_tables_name_nothing_else() -> None:
    ours = {"Builtin", "WriteGroupCell", "ReadGroupCells", "CombineGroup", "Prefetch"}
    ours |= {"SamplerOfImage", "SampleImage", "NeverWraps", "NeverOverlaps", "Trap"}
    ours |= {"SDotAdd", "UDotAdd", "SUDotAdd", "ShortDotAdd", "BFloatDotAdd", "TileProduct"}
    ours |= {"Report", "ArgumentBound", "Guard"}
    ours |= {"TellAccess", "TellAccessIf", "TellBlock", "TellCopy", "TellBarrier"}
    ours |= {"TellFence", "TellCopyBegins", "TellWait", "TellTogether", "TellImage"}
    ours |= {"CountBlock", "CountBranch"}
    ours |= {"CheckArithmetic", "CheckImage", "CheckConvergence", "SourceIsMissing"}
    ours |= {"ShadowLoad", "ShadowStore", "ShadowCopy", "LifetimeBegins", "InputsAreWritten"}
    ours |= {"TableLookup", "Unwritten"}
    known = {*NAMES, *ours}
    named = {name for names in TABLES.values() for name in names if not name.startswith("llvm.")}
    assert named - known == set()


@cache
def names_in_cases() -> frozenset[str]:
    """The instructions in the modules of test_instructions, and of the tests of images."""
    found: set[str] = set()
    for spirv in (*(batch.spirv for batch in BATCHES), *image_modules(), bindless_module()):
        words = memoryview(spirv).cast("I")
        position = 5
        while position < len(words):
            found.add(ROWS[words[position] & 0xFFFF].name.removeprefix("Op"))
            position += words[position] >> 16
    return frozenset(found)


NOT_RUN = {
    "SpecConstantOp": "test_spirv_constants",
    "ExecutionMode": "test_program_variables",
    "ExecutionModeId": "test_spirv_reader",
    "TypeForwardPointer": "test_spirv_types",
    "DecorateId": "test_spirv_reader",
    "AliasDomainDeclINTEL": "it says what cannot overlap",
    "AliasScopeDeclINTEL": "it says what cannot overlap",
    "AliasScopeListDeclINTEL": "it says what cannot overlap",
    "ConstantPipeStorage": "nothing that could use it is compiled",
    "ExtInstWithForwardRefsKHR": "it is only for debuggers",
}
"""Instructions outside of functions that no case has, and where they are tested."""


def test_every_instruction_is_run() -> None:
    compiled = [name for name in NAMES if name not in REFUSED and name not in NOT_RUN]
    values = [name for name in compiled if not name.startswith("Type")]
    assert [name for name in values if name not in names_in_cases()] == []


def test_every_instruction_of_opencl_is_run() -> None:
    kernels = "".join(batch.kernel for batch in BATCHES)
    called = set(re.findall(r"OpExtInst %\w+ %cl (\w+)", kernels))
    assert {row.name for row in opencl_rows().values()} == called


# --- Built-in variables ---------------------------------------------------------------------------


def test_every_builtin_is_there_or_refused() -> None:
    assert {each.name for each in enumeration("BuiltIn").values()} == BUILTINS | refused_builtins()


def test_every_builtin_has_a_case() -> None:
    kernels = "".join(batch.kernel for batch in BATCHES)
    assert [name for name in BUILTINS if f"%in:{name}:" not in kernels] == []


def test_other_builtins_are_refused_by_name() -> None:
    body = "%x = OpLoad %u32 %in:VertexIndex:u32\n%y = OpLoad %u32 %in:SampleId:u32\n"
    program = Program(module(each_item([body + "%r = OpIAdd %u32 %x %y"], [], ["u32"])))
    with pytest.raises(BuildError) as problem:
        program.check("kernel")
    assert problem.value.log.splitlines() == [
        "kernel 'kernel' cannot be compiled:",
        "  in function 'kernel', OpLoad of VertexIndex: kernels do not have this built-in variable "
        "(at word 120)",
        "  in function 'kernel', OpLoad of SampleId: kernels do not have this built-in variable "
        "(at word 124)",
    ]


# --- Refusals -------------------------------------------------------------------------------------

PLACE = 0xABCD
IN_BODIES = [name for name in REFUSED if not name.startswith(("Type", "Constant", "AsmTarget"))]
ENDS_BLOCK = ("Kill", "TerminateInvocation", "AbortKHR")


def with_instruction(name: str) -> bytes:
    """A module whose kernel has an instruction with operands that are there, if not sensible."""
    row = next(each for each in ROWS.values() if each.name == f"Op{name}")
    marked = f"%mark = OpIAdd %u32 %u32:{PLACE} %u32:{PLACE}\n%r = OpIAdd %u32 %u32:1 %u32:1"
    spirv = module(each_item([marked], [], ["u32"]))
    words = list(struct.unpack(f"<{len(spirv) // 4}I", spirv))
    position = 5
    while words[position] & 0xFFFF != 128:  # OpIAdd
        position += words[position] >> 16
    _, kind, result, value, _ = words[position : position + 5]
    operands: list[int] = []
    for operand in row.operands:
        if operand.optional or operand.repeated:
            break
        operands.append(value if operand.kind == "id" else 0)
    new = [*([kind] if row.has_type else []), *([result] if row.has_result else []), *operands]
    end = position + 5
    if name in ENDS_BLOCK:  # the rest of the block goes
        end = next(at for at in range(end, len(words)) if words[at] == 1 << 16 | 253) + 1
    words[position:end] = [(len(new) + 1) << 16 | row.number, *new]
    return struct.pack(f"<{len(words)}I", *words)


def log_of(spirv: bytes) -> str:
    with pytest.raises(BuildError) as problem:
        Program(spirv)
    return problem.value.log


def test_refusal_names_opcode_function_and_reason() -> None:
    expected = {name: f"in function 'kernel', Op{name}: {REFUSED[name]}" for name in IN_BODIES}
    found = {name: log_of(with_instruction(name)) for name in IN_BODIES}
    intro = "kernel 'kernel' cannot be compiled:\n  "
    assert found == {name: intro + line for name, line in expected.items()}


REFUSED_FUNCTIONS = """
%count = OpFunction %u32 None %takes.nothing
%count.entry = OpLabel
%first = OpGetNumPipePackets %u32 %pipe %u32:4 %u32:4
%second = OpGetNumPipePackets %u32 %pipe %u32:4 %u32:4
%third = OpGetMaxPipePackets %u32 %pipe %u32:4 %u32:4
OpReturnValue %third
OpFunctionEnd
%other = OpFunction %void None %nothing
%other.entry = OpLabel
%queue = OpGetDefaultQueue %queue.type
OpReturn
OpFunctionEnd
%good = OpFunction %void None %nothing
%good.entry = OpLabel
OpReturn
OpFunctionEnd
"""
DECLARED = """
%pipe.type = OpTypePipe ReadOnly
%queue.type = OpTypeQueue
%pipe = OpUndef %pipe.type
%takes.nothing = OpTypeFunction %u32
%nothing = OpTypeFunction %void
"""


def refused_module(*kernels: str) -> bytes:
    return module(
        each_item(["%r = OpFunctionCall %u32 %count"], [], ["u32"], REFUSED_FUNCTIONS),
        kernels=kernels,
        declarations=DECLARED,
        before='OpName %count "count"\nOpName %other "other"',
    )


ABOUT_KERNEL = f"""\
kernel 'kernel' cannot be compiled:
  in function 'count', OpGetNumPipePackets: {REFUSED["GetNumPipePackets"]} (2 times)
  in function 'count', OpGetMaxPipePackets: {REFUSED["GetMaxPipePackets"]}"""
ABOUT_OTHER = f"""\
kernel 'other' cannot be compiled:
  in function 'other', OpGetDefaultQueue: {REFUSED["GetDefaultQueue"]}"""


def test_module_refusal_lists_every_kernel_reason() -> None:
    assert log_of(refused_module("kernel", "other")) == f"{ABOUT_KERNEL}\n{ABOUT_OTHER}"


def test_one_refused_kernel_leaves_others_usable() -> None:
    program = Program(refused_module("kernel", "good", "other"))
    assert program.log == f"{ABOUT_KERNEL}\n{ABOUT_OTHER}"
    program.check("good")
    with pytest.raises(BuildError) as problem:
        program.check("kernel")
    assert problem.value.log == ABOUT_KERNEL


def test_shader_instruction_sets_refused_by_name() -> None:
    spirv = module(
        each_item(["%r = OpExtInst %u32 %glsl 4 %u32:1"], [], ["u32"]),
        before='%glsl = OpExtInstImport "GLSL.std.450"',
    )
    with pytest.raises(BuildError, match=r"OpExtInst: the extended instructions 'GLSL.std.450'"):
        Program(spirv)


def test_unsupported_rounding_mode_is_refused() -> None:
    spirv = module(
        each_item(["%r = OpFAdd %f32 %f32:1 %f32:2"], [], ["f32"]),
        before="OpExecutionMode %kernel RoundingModeRTZ 32",
        capabilities=("RoundingModeRTZ",),
    )
    with pytest.raises(BuildError, match="OpExecutionMode RoundingModeRTZ"):
        Program(spirv)


def test_type_mismatch_error_names_instruction() -> None:
    body = "%bad = OpFAdd %f32 %u32:1 %v2u32:1,2\n%r = OpExtInst %u32 %cl fmax %u32:1 %u32:2"
    program = Program(module(each_item([body], [], ["u32"])))
    with pytest.raises(BuildError) as problem:
        program.check("kernel")
    lines = problem.value.log.splitlines()
    assert lines[0] == "kernel 'kernel' cannot be compiled:"
    assert re.match(r"  in function 'kernel', OpFAdd: ", lines[1])


def test_nothing_refused_leaves_functions_unread() -> None:
    program = Program(module(each_item(["%r = OpIAdd %u32 %u32:1 %u32:2"], [], ["u32"])))
    assert program.refusals == {}
    assert program.log == ""
    assert not program.modules[0]._functions
