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
    "chain to no member": (
        "%s = OpBitcast %p_pair %out\n%two = OpInBoundsAccessChain %ptr %s %many\n"
        "OpStore %two %one Aligned 4",
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
