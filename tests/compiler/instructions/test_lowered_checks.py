"""What there can be no code for is refused when a kernel is created, and nothing is written."""

from __future__ import annotations

import pytest

from groundstate.compiler import pipeline
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir.lowered_checks import BUILTIN_COMPONENTS
from groundstate.compiler.program import Program
from groundstate.compiler.spirv_to_ir.instruction_support import BUILTINS
from tests.compiler.spirv.hostile_modules import module

TYPES = """
OpDecorate %g4 BuiltIn LocalInvocationId
%u4 = OpTypeVector %uint 4
%v4 = OpTypeVector %ulong 4
%p_v4 = OpTypePointer Input %v4
%g4 = OpVariable %p_v4 Input
%group = OpConstant %uint 2
%subgroup = OpConstant %uint 3
%five = OpConstant %uint 5
%fence = OpConstant %uint 264
%generic = OpTypePointer Generic %uint
%constants = OpTypePointer UniformConstant %uint
%p_uint = OpTypePointer Function %uint
%cube = OpTypeImage %void Cube 0 0 0 0 Unknown ReadOnly
%flat = OpTypeImage %void 2D 0 0 0 0 Unknown ReadOnly
%a_cube = OpUndef %cube
%picture = OpUndef %flat
%math = OpExtInstImport "OpenCL.std"
"""
STORED = "\nOpStore %out %x Aligned 4"
LOADED = "%n = OpLoad %uint %out Aligned 4\n"
REFUSED = {
    "format that is not known": (
        "%x = OpExtInst %uint %math printf %out",
        "OpExtInst printf: the format of printf must be a string literal",
    ),
    "sub-group operation of a group": (
        "%x = OpGroupNonUniformIAdd %uint %group Reduce %one",
        "OpGroupNonUniformIAdd: it is not supported over a whole work-group",
    ),
    "shuffle of a group": (
        "%x = OpGroupNonUniformShuffle %uint %group %one %one" + STORED,
        "OpGroupNonUniformShuffle: it is not supported over a whole work-group",
    ),
    "direction that is none": (
        "%x = OpGroupNonUniformQuadSwap %uint %subgroup %one %five",
        "OpGroupNonUniformQuadSwap: there is no such direction",
    ),
    "barrier of the device": (
        "OpControlBarrier %one %one %fence",
        "OpControlBarrier: k: a barrier is among the work-items of a work-group",
    ),
    "array behind a barrier": (
        LOADED
        + "%x = OpVariableLengthArrayINTEL %p_uint %n\nOpControlBarrier %group %group %fence",
        "OpVariableLengthArrayINTEL: an array of variable length does not outlive a barrier",
    ),
    "generic pointer to constants": (
        "%g = OpPtrCastToGeneric %generic %out\n"
        "%c = OpGenericCastToPtrExplicit %constants %g UniformConstant\n"
        "%x = OpLoad %uint %c Aligned 4" + STORED,
        "OpGenericCastToPtrExplicit: no generic pointer leads to storage class 0",
    ),
    "table that is not known": (
        LOADED + "%x = OpBitwiseFunctionINTEL %uint %n %n %n %n" + STORED,
        "OpBitwiseFunctionINTEL: the table of the function is not a constant",
    ),
    "image of six sides": (
        "%x = OpImageQueryFormat %uint %a_cube" + STORED,
        "OpImageQueryFormat: only 1D, 2D, 3D and buffer images are for kernels",
    ),
    "too few coordinates": (
        "%x = OpImageRead %u4 %picture %one",
        "OpImageRead: there are fewer coordinates than the image has axes",
    ),
    "size of too few axes": (
        "%x = OpImageQuerySize %uint %picture" + STORED,
        "OpImageQuerySize: what it gives is not a u32",
    ),
    "address of a built-in variable": (
        "%a = OpConvertPtrToU %ulong %gid\n%x = OpUConvert %uint %a" + STORED,
        "has no address here",
    ),
    "fourth axis of an id": (
        "%v = OpLoad %v4 %g4\n%w = OpCompositeExtract %ulong %v 3\n"
        "%x = OpUConvert %uint %w" + STORED,
        "OpLoad of LocalInvocationId: it has no component 3",
    ),
}


def check(spirv: bytes, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is said against a kernel, before anything is written for a group size."""
    monkeypatch.setenv("GROUNDSTATE_CACHE", "0")
    monkeypatch.setattr(pipeline, "specialise", None)
    with pytest.raises(BuildError) as problem:
        Program(spirv).check("k")
    return problem.value.log


@pytest.mark.parametrize("name", REFUSED)
def test_kernel_without_code_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, words = REFUSED[name]
    said = check(module(body, TYPES), monkeypatch)
    assert words in said
    assert "in function 'k'" in said


def test_quads_need_four_work_items(monkeypatch: pytest.MonkeyPatch) -> None:
    body = "%x = OpGroupNonUniformQuadBroadcast %uint %subgroup %one %one"
    said = check(module(body, TYPES, "OpExecutionMode %k SubgroupSize 1"), monkeypatch)
    assert "a sub-group of 1 has no groups of four work-items" in said


def test_misplaced_instruction_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    forward = '%none = OpExtInstImport "NonSemantic.Shader.DebugInfo.100"'
    body = "%x = OpExtInstWithForwardRefsKHR %void %none 0"
    said = check(module(body, TYPES + forward), monkeypatch)
    assert "OpExtInstWithForwardRefsKHR: it has no place in a function" in said


def test_every_builtin_has_a_number_of_components() -> None:
    assert BUILTIN_COMPONENTS.keys() == BUILTINS
