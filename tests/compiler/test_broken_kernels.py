"""Kernels whose instructions do not fit together are refused with a sentence that names them.

Each of these once ended in an exception of Python's or in LLVM IR that LLVM refused: found
by `fuzz_driver`.
"""

from __future__ import annotations

import pytest

from groundstate.compiler.errors import BuildError
from groundstate.compiler.program import Program
from tests.compiler.hostile_modules import module

TYPES = """
%huge = OpTypeInt 256 0
%float = OpTypeFloat 32
%v2 = OpTypeVector %uint 2
%half = OpConstant %float 0.5
%two = OpConstantComposite %v2 %one %one
%pair = OpTypeStruct %uint %uint
%p_pair = OpTypePointer CrossWorkgroup %pair
"""
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
    "chain to no member": (
        "%s = OpBitcast %p_pair %out\n%far = OpInBoundsAccessChain %ptr %s %many\n"
        "OpStore %far %one Aligned 4",
        "has no member 1099511627776",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken(name: str) -> None:
    body, words = BROKEN[name]
    program = Program(module(body, TYPES))
    with pytest.raises(BuildError) as problem:
        program.compile("k", (8, 1, 1))
    assert words in problem.value.log
    assert "function 'k'" in problem.value.log
