"""Cases of memory in extensions: arrays of variable length, conditions, blocks of a sub-group."""

from __future__ import annotations

import numpy as np

from tests.compiler.instructions.arithmetic import COUNT, RANDOM
from tests.compiler.instructions.instruction_support import Shape, case
from tests.compiler.instructions.memory import PRIVATE, SMALL, WORD, WORDS

# --- Arrays of variable length --------------------------------------------------------------------

VARIABLE = {
    "capabilities": ("VariableLengthArrayINTEL",),
    "extensions": ("SPV_INTEL_variable_length_array",),
}
case(
    "VariableLengthArrayINTEL",
    """
    %saved = OpSaveMemoryINTEL %p*u8
    %length = OpIAdd %u32 %b %u32:1
    %array = OpVariableLengthArrayINTEL %p*u32 %length
    %last = OpInBoundsPtrAccessChain %p*u32 %array %b
    OpStore %array %u32:5
    OpStore %last %a
    %x = OpLoad %u32 %array
    %y = OpLoad %u32 %last
    OpRestoreMemoryINTEL %saved
    %r = OpIAdd %u32 %x %y
    """,
    [("u32", WORDS), ("u32", SMALL)],
    "u32",
    lambda a, b: np.where(b == 0, 2 * a, a + 5),
    **VARIABLE,
)
case(
    "UntypedVariableLengthArrayINTEL",
    """
    %array = OpUntypedVariableLengthArrayINTEL %p.any %u32 %u32:7
    %at = OpUntypedPtrAccessChainKHR %p.any %u32 %array %u32:6
    OpStore %at %a
    %r = OpLoad %u32 %at
    """,
    WORD,
    "u32",
    WORDS,
    declarations="%p.any = OpTypeUntypedPointerKHR Function",
    capabilities=("UntypedVariableLengthArrayINTEL", "UntypedPointersKHR"),
    extensions=("SPV_INTEL_variable_length_array", "SPV_KHR_untyped_pointers"),
)

# --- Accesses under a condition -------------------------------------------------------------------

PREDICATED = {"capabilities": ("PredicatedIOINTEL",), "extensions": ("SPV_INTEL_predicated_io",)}
case(
    "PredicatedLoadINTEL",
    """
    %odd = OpBitwiseAnd %u32 %a %u32:1
    %is.odd = OpINotEqual %bool %odd %u32:0
    %safe = OpSelect %g*u32 %is.odd %at.a %g*u32:null
    %r = OpPredicatedLoadINTEL %u32 %safe %is.odd %u32:77 Aligned 4
    """,
    WORD,
    "u32",
    lambda a: np.where(a & 1, a, 77),
    **PREDICATED,
)
case(
    "PredicatedStoreINTEL",
    """
    %odd = OpBitwiseAnd %u32 %a %u32:1
    %is.odd = OpINotEqual %bool %odd %u32:0
    %value = OpVariable %p*u32 Function %u32:3
    %safe = OpSelect %p*u32 %is.odd %value %p*u32:null
    OpPredicatedStoreINTEL %safe %a %is.odd Aligned 4
    %r = OpLoad %u32 %value
    """,
    WORD,
    "u32",
    lambda a: np.where(a & 1, a, 3),
    **PREDICATED,
)
case(
    "MaskedGatherINTEL-and-MaskedScatterINTEL",
    """
    %odd = OpBitwiseAnd %u32 %a %u32:1
    %is.odd = OpINotEqual %bool %odd %u32:0
    %is.even = OpLogicalNot %bool %is.odd
    %mask = OpCompositeConstruct %v2bool %is.odd %is.even
    %first = OpSelect %g*u32 %is.odd %at.a %g*u32:null
    %second = OpSelect %g*u32 %is.odd %g*u32:null %at.a
    %places = OpCompositeConstruct %pointers %first %second
    %both = OpMaskedGatherINTEL %v2u32 %places 4 %mask %v2u32:7,9
    %array = OpVariable %p*row Function %numbers
    %at.0 = OpInBoundsAccessChain %p*u32 %array %u32:0
    %at.1 = OpInBoundsAccessChain %p*u32 %array %u32:1
    %targets = OpCompositeConstruct %private.pointers %at.0 %at.1
    OpMaskedScatterINTEL %both %targets 4 %mask
    %low = OpLoad %u32 %at.0
    %high = OpLoad %u32 %at.1
    %stored = OpCompositeConstruct %v2u32 %low %high
    %r = OpVectorShuffle %v4u32 %both %stored 0 1 2 3
    """,
    WORD,
    "v4u32",
    lambda a: np.where(
        (a & 1)[:, None],
        np.stack([a, a * 0 + 9, a, a * 0 + 3], axis=1),
        np.stack([a * 0 + 7, a, a * 0 + 1, a], axis=1),
    ),
    declarations=PRIVATE
    + """
    %pointers = OpTypeVector %g*u32 2
    %private.pointers = OpTypeVector %p*u32 2
    %numbers = OpConstantComposite %row %u32:1 %u32:3 %u32:5 %u32:7
    """,
    capabilities=("MaskedGatherScatterINTEL",),
    extensions=("SPV_INTEL_masked_gather_scatter",),
)

# --- Blocks of a sub-group ------------------------------------------------------------------------

BLOCKS = {
    "capabilities": ("SubgroupBufferBlockIOINTEL", "SubgroupShuffleINTEL"),
    "extensions": ("SPV_INTEL_subgroups",),
}


def block(a: np.ndarray, components: int, shape: Shape) -> np.ndarray:
    """What lanes read: of each row of as many elements as a sub-group has, their own."""
    flat = a.reshape(-1)
    rows = []
    for item in range(len(a)):
        lane = item % shape.group % shape.width
        start = item - lane
        rows.append([flat[start + lane + part * shape.width] for part in range(components)])
    return np.array(rows, a.dtype).reshape((len(a), components) if components > 1 else (len(a),))


ROW_START = """
    %lane = OpLoad %u32 %in:SubgroupLocalInvocationId:u32
    %lane.wide = OpUConvert %u64 %lane
    %start = OpISub %u64 %i %lane.wide
"""
for width in (8, 16, 32, 64):
    numbers = RANDOM.integers(0, 1 << min(width, 63), 16 * COUNT).astype(f"u{width // 8}")
    for count in (1, 2, 4, 8, 16):
        element = f"u{width}"
        kind = element if count == 1 else f"v{count}{element}"
        # The input has room for what the last sub-group reads beyond its own elements.
        data = np.resize(numbers, (COUNT, 16))
        case(
            f"SubgroupBlockReadINTEL-{kind}",
            f"""
            {ROW_START}
            %base = OpBitcast %g*{element} %in.a
            %block = OpInBoundsPtrAccessChain %g*{element} %base %start
            OpSubgroupBlockPrefetchINTEL %block %u32:4
            %r = OpSubgroupBlockReadINTEL %{kind} %block
            """,
            [(f"v16{element}", data)],
            kind,
            lambda a, count=count, shape=None: block(a, count, shape),
            **BLOCKS,
        )
for count in (1, 2, 4, 8):
    kind = "u32" if count == 1 else f"v{count}u32"
    values = RANDOM.integers(0, 1 << 32, (COUNT, count)).astype(np.uint32)
    case(
        f"SubgroupBlockWriteINTEL-local-{kind}",
        f"""
        %sub = OpLoad %u32 %in:SubgroupId:u32
        %lanes = OpLoad %u32 %in:SubgroupMaxSize:u32
        %first = OpIMul %u32 %sub %lanes
        %offset = OpIMul %u32 %first %u32:{count}
        %block = OpInBoundsAccessChain %l*u32 %room %offset
        OpSubgroupBlockWriteINTEL %block %a
        OpControlBarrier %u32:2 %u32:2 %u32:0x108
        %r = OpSubgroupBlockReadINTEL %{kind} %block
        """,
        [(kind, values if count > 1 else values[:, 0])],
        kind,
        lambda a: a,
        declarations="%many = OpTypeArray %u32 %u32:512\n%l*many = OpTypePointer Workgroup %many\n"
        "%room = OpVariable %l*many Workgroup",
        **BLOCKS,
    )
