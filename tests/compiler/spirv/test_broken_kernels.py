"""Kernels whose instructions do not fit together are refused with a sentence that names them.

Each of these once ended in an exception of Python's or in LLVM IR that LLVM refused: found
by `fuzz_driver`.
"""

from __future__ import annotations

import re

import pytest

from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir.ops import OPERATIONS
from groundstate.compiler.program import Program
from tests.compiler.spirv.hostile_modules import module

TYPES = """
%huge = OpTypeInt 256 0
%float = OpTypeFloat 32
%v2 = OpTypeVector %uint 2
%half = OpConstant %float 0.5
%two = OpConstantComposite %v2 %one %one
%pair = OpTypeStruct %uint %uint
%p_pair = OpTypePointer CrossWorkgroup %pair
%p_byte = OpTypePointer CrossWorkgroup %uchar
%double = OpTypeFloat 64
%halves = OpConstant %double 0.5
%minus = OpConstant %ulong 18446744073709551615
%taking = OpTypeFunction %uint %ulong
%math = OpExtInstImport "OpenCL.std"
"""
WIDE = "OpCapability ArbitraryPrecisionIntegersINTEL"
LOADED = "%x = OpLoad %uint %out Aligned 4\n"
BROKEN = {
    "store to a number": ("OpStore %one %one Aligned 4", "OpStore: it needs an address"),
    "load from a number": ("%x = OpLoad %uint %one Aligned 4", "OpLoad: it needs an address"),
    "atomic on a number": (
        "%x = OpAtomicIAdd %uint %one %one %zero %one",
        "OpAtomicIAdd: it needs an address",
    ),
    "chain into a number": (
        "%x = OpInBoundsAccessChain %ptr %out %zero\nOpStore %x %one Aligned 4",
        "OpInBoundsAccessChain: a u32 has no parts to step into",
    ),
    "comparison of integers as floats": (
        "%x = OpFUnordEqual %bool %one %one",
        "OpFUnordEqual: it is given a u32, and takes floats",
    ),
    "conversion to nothing": (
        "%x = OpUConvert %void %one",
        "OpUConvert: its result is a void, and not made of integers",
    ),
    "sum of a number and a vector": (
        "%x = OpIAdd %uint %one %two",
        "OpIAdd: its result is a u32, and it is given a u32x2",
    ),
    "huge integer": (
        "%x = OpConvertFToU %huge %half",
        "OpConvertFToU: integers of 256 bits are not supported",
    ),
    "handle of a sampler as a number": (
        "%x = OpConvertHandleToSamplerINTEL %uint %wide_zero",
        "OpConvertHandleToSamplerINTEL: its result is a u32",
    ),
    "sum of two widths": (
        "%x = OpIAdd %uint %one %wide_zero",
        "OpIAdd: its result is a u32, and it is given a u64",
    ),
    "comparison of two widths": (
        "%x = OpIEqual %bool %one %wide_zero",
        "OpIEqual: it is given a u32 and a u64",
    ),
    "comparison that gives a number": (
        "%x = OpIEqual %uint %one %one",
        "OpIEqual: its result is a u32, and not made of truth values",
    ),
    "bits of another width": (
        "%x = OpBitCount %ulong %one",
        "OpBitCount: its result is a u64, and it is given a u32",
    ),
    "branch on a number": (
        "OpBranchConditional %one %a %b\n%a = OpLabel\nOpBranch %b\n%b = OpLabel",
        "OpBranchConditional: its result is a bool, and it is given a u32",
    ),
    "choice by a number": (
        "%x = OpSelect %uint %one %one %zero",
        "OpSelect: its condition is a u32, and its result a u32",
    ),
    "choice of two types": (
        "%x = OpSelect %uint %true %one %half",
        "OpSelect: its result is a u32, and it is given a f32",
    ),
    "cast to another size": (
        "%x = OpBitcast %ulong %one",
        "OpBitcast: a u32 does not have the bits of a u64",
    ),
    "part that is not there": (
        "%x = OpCompositeExtract %uint %two 2",
        "OpCompositeExtract: a u32x2 has no part 2",
    ),
    "part of another type": (
        "%x = OpCompositeExtract %float %two 1",
        "OpCompositeExtract: part 1 is a u32",
    ),
    "part put where none is": (
        "%x = OpCompositeInsert %v2 %one %two 7",
        "OpCompositeInsert: a u32x2 has no part 7",
    ),
    "vector of too many": (
        "%x = OpCompositeConstruct %v2 %one %one %one",
        "OpCompositeConstruct: a u32x2 is not made of u32, u32, u32",
    ),
    "shuffle from nowhere": (
        "%x = OpVectorShuffle %v2 %two %two 0 4",
        "OpVectorShuffle: there is no component 4",
    ),
    "sine of an integer": (
        "%x = OpExtInst %uint %math sin %one",
        "OpExtInst sin: its result is a u32, and not made of floats",
    ),
    "maximum of floats as integers": (
        "%x = OpExtInst %float %math s_max %half %half",
        "OpExtInst s_max: its result is a f32, and not made of whole numbers",
    ),
    "function of two types": (
        "%x = OpExtInst %double %math pow %halves %half",
        "OpExtInst pow: its result is a f64, and it is given a f32",
    ),
    "group operation that is not known": (
        "%x = OpGroupIAdd %uint %one 6 %one",
        "OpGroupIAdd: the group operation 6 is not known",
    ),
    "index that is a float": (
        "%x = OpInBoundsPtrAccessChain %ptr %out %half",
        "OpInBoundsPtrAccessChain: it is given a f32, and takes whole numbers",
    ),
    "member that is chosen at run time": (
        f"{LOADED}%s = OpBitcast %p_pair %out\n%m = OpInBoundsAccessChain %ptr %s %x",
        "is chosen by a constant",
    ),
    "member before the first": (
        "%s = OpBitcast %p_pair %out\n%m = OpInBoundsAccessChain %ptr %s %minus",
        "has no member -1",
    ),
    "call of nothing": (
        "%x = OpFunctionPointerCallINTEL %void",
        "the function that it calls is missing",
    ),
    "alignment of three": (
        "OpStore %out %one Aligned 3",
        "its alignment, 3, is not a power of two",
    ),
    "value in a function without": ("OpReturnValue %one\n%b = OpLabel", "returns a void"),
    "phi of a stranger": (
        "OpBranch %a\n%a = OpLabel\n%x = OpPhi %uint %one %entry %one %b\nOpReturn\n%b = OpLabel",
        "which does not lead there",
    ),
    "phi with two values for a block": (
        "OpBranch %a\n%a = OpLabel\n%x = OpPhi %uint %one %entry %zero %entry",
        "has two values for one block",
    ),
    "phi of another type": (
        "OpBranch %a\n%a = OpLabel\n%x = OpPhi %uint %half %entry\nOpStore %out %x Aligned 4",
        "OpPhi: it is a u32, and one of its values is a f32",
    ),
    "chain to no member": (
        "%s = OpBitcast %p_pair %out\n%far = OpInBoundsAccessChain %ptr %s %many\n"
        "OpStore %far %one Aligned 4",
        "has no member 1099511627776",
    ),
}


def test_what_llvm_does_not_take_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = OPERATIONS["IMul"]._replace(llvm="mul {t} {0}, nonsense")
    monkeypatch.setitem(OPERATIONS, "IMul", wrong)
    monkeypatch.setenv("GROUNDSTATE_CACHE", "0")
    body = "%x = OpLoad %uint %out Aligned 4\n%y = OpIMul %uint %x %x\nOpStore %out %y Aligned 4"
    program = Program(module(body))
    with pytest.raises(BuildError) as problem:
        program.compile("k", (8, 1, 1))
    assert re.search(
        r"in function 'k', OpIMul at word \d+: LLVM does not take it: ", problem.value.log
    )


MISDECLARED = {
    "integer of 24 bits": ("%x = OpTypeInt 24 0", "OpTypeInt at word"),
    "float of 24 bits": ("%x = OpTypeFloat 24", "no floating-point numbers of 24 bits"),
    "unknown format of floats": ("%x = OpTypeFloat 32 0", "there is no format 0 of 32 bits"),
    "vector of vectors": ("%x = OpTypeVector %v3 2", "a vector cannot contain a u64x3"),
    "vector of nothing": ("%x = OpTypeVector %uint 0", "a vector cannot have 0 elements"),
    "array of functions": ("%x = OpTypeArray %plain %one", "cannot be stored"),
    "structure of itself": ("%x = OpTypeStruct %x", "is defined by itself"),
    "array as long as itself": (
        "%n = OpSpecConstantOp %uint IAdd %n %one\n%x = OpTypeArray %uint %n",
        "defined by itself",
    ),
    "variable that is larger than its room": (
        "%x = OpTypePointer CrossWorkgroup %uchar\n%v = OpVariable %x CrossWorkgroup %one",
        "OpVariable at word",
    ),
    "composite of too many": (
        "%x = OpTypeVector %uint 2\n%c = OpConstantComposite %x %one %one %one",
        "OpConstantComposite at word",
    ),
    "unknown built-in variable": (
        "OpDecorate %v BuiltIn 9999\n%v = OpVariable %p_v3 Input",
        "there is no built-in variable 9999",
    ),
}
"""Types, constants and variables that cannot be."""


@pytest.mark.parametrize("name", BROKEN)
def test_broken(name: str) -> None:
    body, words = BROKEN[name]
    with pytest.raises(BuildError) as problem:
        Program(module(body, TYPES, WIDE)).compile("k", (8, 1, 1))
    assert words in problem.value.log
    assert "function 'k'" in problem.value.log
    assert "at word" in problem.value.log


@pytest.mark.parametrize("name", MISDECLARED)
def test_misdeclared(name: str) -> None:
    lines, words = MISDECLARED[name]
    with pytest.raises(BuildError) as problem:
        Program(module("", lines)).compile("k", (8, 1, 1))
    assert words in problem.value.log
    assert "at word" in problem.value.log


@pytest.mark.parametrize("width", [1, 3, 7, 22, 24, 33, 100, 128])
def test_arbitrary_integer_width_needs_extension(width: int) -> None:
    """Those of 22 and 24 bits once ended the program: LLVM found no alignment for them."""
    types = f"%odd = OpTypeInt {width} 0\n%p_odd = OpTypePointer CrossWorkgroup %odd"
    body = """
        %p = OpBitcast %p_odd %out
        %x = OpLoad %odd %p Aligned 1
        %y = OpIAdd %odd %x %x
        OpStore %p %y Aligned 1
        """
    with pytest.raises(BuildError, match=f"OpTypeInt at word .* integers of {width} bits"):
        Program(module(body, types))
    assert Program(module(body, types, WIDE)).compile("k", (8, 1, 1)).address


def test_a_built_in_variable_of_floats_is_refused() -> None:
    types = """
        OpDecorate %where BuiltIn LocalInvocationId
        %float = OpTypeFloat 32
        %f3 = OpTypeVector %float 3
        %p_f3 = OpTypePointer Input %f3
        %where = OpVariable %p_f3 Input
        %p_kept = OpTypePointer Function %f3
        """
    body = """
        %kept = OpVariable %p_kept Function
        %x = OpLoad %f3 %where
        OpStore %kept %x Volatile
        """
    program = Program(module(body, types))
    with pytest.raises(BuildError, match="OpLoad of LocalInvocationId: it is made of whole"):
        program.check("k")


def test_a_subgroup_of_odd_size_is_refused() -> None:
    program = Program(module("", modes="OpExecutionMode %k SubgroupSize 5"))
    with pytest.raises(BuildError, match="OpExecutionMode SubgroupSize: a sub-group of 5"):
        program.check("k")
