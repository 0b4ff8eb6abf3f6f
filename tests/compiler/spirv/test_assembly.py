"""Assembly of Intel's GPUs that is an access or a fence, and other assembly."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.errors import BuildError
from groundstate.compiler.program import Program
from groundstate.compiler.spirv_to_ir.assembly import assembly_of
from tests.compiler.runner import run
from tests.compiler.spirv.assembler import assemble

LOAD = "lsc_load.ugm.uc.ca (M1, 16) $0:d32x4 flat[$1]:a64"
STORE = "lsc_store.ugm.uc.uc (M1, 16) flat[$0]:a64 $1:d32x4"
ITEMS = 32


def module(load: str, store: str, fence: str = "lsc_fence.ugm.evict.gpu") -> bytes:
    """A kernel that moves four words of each work-item, with the assembly given."""
    return assemble(f"""
        OpCapability Addresses
        OpCapability Kernel
        OpCapability Int64
        OpCapability Vector16
        OpCapability AsmINTEL
        OpExtension "SPV_INTEL_inline_assembly"
        OpMemoryModel Physical64 OpenCL
        OpEntryPoint Kernel %f "f" %id
        OpDecorate %id BuiltIn GlobalInvocationId
        OpDecorate %id Constant
        %void = OpTypeVoid
        %long = OpTypeInt 64 0
        %word = OpTypeInt 32 0
        %id3 = OpTypeVector %long 3
        %four = OpTypeVector %word 4
        %input = OpTypePointer Input %id3
        %global = OpTypePointer CrossWorkgroup %four
        %kernel = OpTypeFunction %void %global %global
        %loads = OpTypeFunction %four %global
        %stores = OpTypeFunction %void %global %four
        %fences = OpTypeFunction %void
        %id = OpVariable %input Input
        %target = OpAsmTargetINTEL "spirv64-unknown-unknown"
        %load = OpAsmINTEL %four %loads %target "{load}" "=rw,rw"
        %store = OpAsmINTEL %void %stores %target "{store}" "rw,rw"
        %fence = OpAsmINTEL %void %fences %target "{fence}" ""
        %f = OpFunction %void None %kernel
        %from = OpFunctionParameter %global
        %to = OpFunctionParameter %global
        %entry = OpLabel
        %ids = OpLoad %id3 %id
        %at = OpCompositeExtract %long %ids 0
        %source = OpInBoundsPtrAccessChain %global %from %at
        %goal = OpInBoundsPtrAccessChain %global %to %at
        %value = OpAsmCallINTEL %four %load %source
        %done = OpAsmCallINTEL %void %fence
        %kept = OpAsmCallINTEL %void %store %goal %value
        OpReturn
        OpFunctionEnd
    """)


@pytest.mark.parametrize("width", [1, None])
def test_assembly_that_loads_and_stores_moves_memory(width: int | None) -> None:
    source = np.arange(4 * ITEMS, dtype=np.uint32)
    target = np.zeros_like(source)
    program = Program(module(LOAD, STORE))
    run(program, "f", (2, 1, 1), (ITEMS // 2, 1, 1), source, target, width=width)
    np.testing.assert_array_equal(target, source)


@pytest.mark.parametrize(
    "text",
    [
        "mov (M1, 16) $0(0,0)<1> $1(0,0)<1>",
        "sbarrier.wait",
        "lsc_load.slm (M1, 16) $0:d32x4 flat[$1]:a64",
        "lsc_load.ugm (M1, 16) $0:d32x3 flat[$1]:a64",
        f"{LOAD} {LOAD}",
        "",
    ],
)
def test_other_assembly_is_refused(text: str) -> None:
    assert assembly_of(text) is None
    with pytest.raises(BuildError, match="OpAsmCallINTEL: inline assembly is for one kind of GPU"):
        Program(module(text, STORE))


@pytest.mark.parametrize(
    ("load", "store"),
    [
        ("lsc_load.ugm (M1, 16) $0:d64x2 flat[$1]:a64", STORE),
        (LOAD, "lsc_store.ugm (M1, 16) flat[$0]:a64 $1:d64"),
        (STORE, LOAD),
        ("lsc_fence.ugm", STORE),
    ],
)
def test_assembly_with_operands_of_other_types_is_refused(load: str, store: str) -> None:
    with pytest.raises(BuildError, match="OpAsmCallINTEL"):
        Program(module(load, store)).compile("f", (16, 1, 1))


@pytest.mark.parametrize("spacing", ["\n{}\n", "{}", "  {}\t"])
def test_spacing_of_assembly_does_not_matter(spacing: str) -> None:
    wide = LOAD.replace(" (M1", "  (M1")
    assert assembly_of(spacing.format(wide)) == assembly_of(LOAD) is not None
