"""Cases of values made of parts, of undefined values, and of constants."""

from __future__ import annotations

import numpy as np

from tests.compiler.instructions.arithmetic import COUNT, RANDOM
from tests.compiler.instructions.instruction_support import case

FOURS = RANDOM.integers(0, 1000, (COUNT, 4)).astype(np.uint32)
INDICES = RANDOM.integers(0, 4, COUNT).astype(np.uint32)
VECTOR = [("v4u32", FOURS)]
INDEXED = [("v4u32", FOURS), ("u32", INDICES)]
ROWS = np.arange(COUNT)


def replaced(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    result = a.copy()
    result[ROWS, b] = 77
    return result


case(
    "VectorShuffle",
    "%r = OpVectorShuffle %v4u32 %a %v2u32:91,92 3 5 0xFFFFFFFF 0",
    VECTOR,
    "v4u32",
    lambda a: np.stack([a[:, 3], a[:, 0] * 0 + 92, a[:, 0], a[:, 0]], axis=1),
)
case(
    "VectorExtractDynamic",
    "%r = OpVectorExtractDynamic %u32 %a %b",
    INDEXED,
    "u32",
    lambda a, b: a[ROWS, b],
)
case(
    "VectorInsertDynamic",
    "%r = OpVectorInsertDynamic %v4u32 %a %u32:77 %b",
    INDEXED,
    "v4u32",
    replaced,
)
case(
    "CompositeConstruct-from-parts-of-any-size",
    "%low = OpVectorShuffle %v2u32 %a %a 2 3\n%x = OpCompositeExtract %u32 %a 0\n"
    "%r = OpCompositeConstruct %v4u32 %low %x %u32:5",
    VECTOR,
    "v4u32",
    lambda a: np.stack([a[:, 2], a[:, 3], a[:, 0], a[:, 0] * 0 + 5], axis=1),
)
case(
    "CompositeInsert",
    "%x = OpCompositeExtract %u32 %a 1\n%r = OpCompositeInsert %v4u32 %x %a 3",
    VECTOR,
    "v4u32",
    lambda a: a[:, [0, 1, 2, 1]],
)
case(
    "CompositeConstruct-of-structures",
    """
    %x = OpCompositeExtract %u32 %a 1
    %inner = OpCompositeConstruct %inside %x %a
    %outer = OpCompositeConstruct %outside %inner %u8:9
    %other = OpCompositeInsert %outside %u32:4 %outer 0 1 2
    %copied = OpCopyObject %outside %other
    %r = OpCompositeExtract %v4u32 %copied 0 1
    """,
    VECTOR,
    "v4u32",
    lambda a: np.stack([a[:, 0], a[:, 1], a[:, 0] * 0 + 4, a[:, 3]], axis=1),
    declarations="%inside = OpTypeStruct %u32 %v4u32\n%outside = OpTypeStruct %inside %u8",
)
case(
    "CopyLogical",
    """
    %x = OpCompositeExtract %u32 %a 1
    %value = OpCompositeConstruct %one %x %a
    %same = OpCopyLogical %another %value
    %r = OpCompositeExtract %u32 %same 0
    """,
    VECTOR,
    "u32",
    lambda a: a[:, 1],
    declarations="%one = OpTypeStruct %u32 %v4u32\n%another = OpTypeStruct %u32 %v4u32",
)
case(
    "CompositeConstructReplicateEXT",
    "%x = OpCompositeExtract %u32 %a 2\n%r = OpCompositeConstructReplicateEXT %v4u32 %x",
    VECTOR,
    "v4u32",
    lambda a: a[:, [2, 2, 2, 2]],
    capabilities=("ReplicatedCompositesEXT",),
    extensions=("SPV_EXT_replicated_composites",),
)
case(
    "Select-of-a-structure",
    """
    %x = OpCompositeExtract %u32 %a 0
    %first = OpCompositeConstruct %pair %x %u32:1
    %second = OpCompositeConstruct %pair %u32:2 %x
    %large = OpUGreaterThan %bool %x %u32:500
    %chosen = OpSelect %pair %large %first %second
    %r = OpCompositeExtract %u32 %chosen 1
    """,
    VECTOR,
    "u32",
    lambda a: np.where(a[:, 0] > 500, 1, a[:, 0]),
    declarations="%pair = OpTypeStruct %u32 %u32",
)

# --- Values that may be any: what is done with them must not disturb the rest ---------------------

UNDEFINED = {
    "u32": "%u32",
    "v4f64": "%v4f64",
    "bool": "%bool",
    "pointer": "%g*u32",
    "array": "%some",
    "structure": "%mixed",
    "half": "%f16",
    "event": "%happens",
}
DECLARED = """
%some = OpTypeArray %u16 %u32:3
%happens = OpTypeEvent
%mixed = OpTypeStruct %u8 %some %v2f32 %g*u32
%nowhere = OpTypeOpaque "unknown"
"""
for name, kind in UNDEFINED.items():
    case(
        f"Undef-{name}",
        f"%any = OpUndef {kind}\n%copy = OpCopyObject {kind} %any\n"
        "%r = OpCompositeExtract %u32 %a 0",
        VECTOR,
        "u32",
        lambda a: a[:, 0],
        declarations=DECLARED,
    )
case(
    "PoisonKHR-and-FreezeKHR",
    "%any = OpPoisonKHR %u32\n%some.number = OpFreezeKHR %u32 %any\n"
    "%nothing = OpBitwiseXor %u32 %some.number %some.number\n"
    "%x = OpCompositeExtract %u32 %a 0\n%r = OpIAdd %u32 %x %nothing",
    VECTOR,
    "u32",
    lambda a: a[:, 0],
    capabilities=("PoisonFreezeKHR",),
    extensions=("SPV_KHR_poison_freeze",),
)

# --- Constants ------------------------------------------------------------------------------------

case(
    "constants-of-every-kind",
    """
    %index = OpUConvert %u32 %i
    %third = OpUMod %u32 %index %u32:3
    %at = OpInBoundsAccessChain %c*u16 %table %third
    %number = OpLoad %u16 %at Aligned 2
    %wide = OpUConvert %u32 %number
    %null.part = OpCompositeExtract %u32 %nothing 1 0
    %sum = OpIAdd %u32 %wide %null.part
    %inner = OpCompositeExtract %u32 %nested 0 1
    %r = OpIAdd %u32 %sum %inner
    """,
    VECTOR,
    "u32",
    lambda a: np.array([10, 20, 30])[ROWS % 3] + 6,
    declarations="""
    %u16.10 = OpConstant %u16 10
    %u16.20 = OpConstant %u16 20
    %u16.30 = OpConstant %u16 30
    %row = OpTypeArray %u16 %u32:3
    %pointer.to.row = OpTypePointer UniformConstant %row
    %numbers = OpConstantComposite %row %u16.10 %u16.20 %u16.30
    %table = OpVariable %pointer.to.row UniformConstant %numbers
    %pairs = OpTypeArray %v2u32 %u32:2
    %both = OpTypeStruct %u8 %v2u32
    %nothing = OpConstantNull %both
    %nested = OpConstantComposite %pairs %v2u32:5,6 %v2u32:7,8
    """,
)
case(
    "ConstantCompositeReplicateEXT",
    "%part = OpCompositeExtract %u32 %same 2\n%spec = OpCompositeExtract %u32 %other 1\n"
    "%r = OpIAdd %u32 %part %spec",
    VECTOR,
    "u32",
    lambda a: np.full(COUNT, 17),
    declarations="""
    %same = OpConstantCompositeReplicateEXT %v4u32 %u32:8
    %nine = OpSpecConstant %u32 9
    %other = OpSpecConstantCompositeReplicateEXT %v2u32 %nine
    """,
    capabilities=("ReplicatedCompositesEXT",),
    extensions=("SPV_EXT_replicated_composites",),
)
case(
    "long-composites",
    """
    %made = OpCompositeConstruct %long %u32:1 %u8:2
    OpCompositeConstructContinuedINTEL %u32:3 %u32:4
    %last = OpCompositeExtract %u32 %made 3
    %constant.part = OpCompositeExtract %u32 %given 2
    %spec.part = OpCompositeExtract %u32 %special 2
    %sum = OpIAdd %u32 %last %constant.part
    %r = OpIAdd %u32 %sum %spec.part
    """,
    VECTOR,
    "u32",
    lambda a: np.full(COUNT, 4 + 7 + 100),
    declarations="""
    %long = OpTypeStruct %u32 %u8
    OpTypeStructContinuedINTEL %u32 %u32
    %given = OpConstantComposite %long %u32:5 %u8:6
    OpConstantCompositeContinuedINTEL %u32:7 %u32:8
    %hundred = OpSpecConstant %u32 100
    %special = OpSpecConstantComposite %long %u32:5 %u8:6
    OpSpecConstantCompositeContinuedINTEL %hundred %u32:8
    """,
    capabilities=("LongConstantCompositeINTEL",),
    extensions=("SPV_INTEL_long_composites",),
)
case(
    "SizeOf",
    "%p = OpVariable %pointer.to.mixed Function\n%r = OpSizeOf %u32 %p",
    VECTOR,
    "u32",
    lambda a: np.full(COUNT, 24),
    declarations="%odd = OpTypeStruct %u8 %v2f32 %u16\n"
    "%pointer.to.mixed = OpTypePointer Function %odd",
    version=(1, 1),
)
case(
    "true-and-false",
    "%x = OpCompositeExtract %u32 %a 0\n%odd = OpBitwiseAnd %u32 %x %u32:1\n"
    "%is.odd = OpINotEqual %bool %odd %u32:0\n%one = OpLogicalAnd %bool %is.odd %yes\n"
    "%still = OpLogicalOr %bool %one %no\n%r = OpLogicalOr %bool %still %bool:false",
    VECTOR,
    "bool",
    lambda a: a[:, 0] & 1,
    declarations="%yes = OpSpecConstantTrue %bool\n%no = OpSpecConstantFalse %bool",
)
