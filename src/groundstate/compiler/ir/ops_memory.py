"""Operations on memory: variables, addresses, accesses, atomics and images."""

from __future__ import annotations

from groundstate.compiler.ir import lowered_checks as lowered
from groundstate.compiler.ir import operand_checks as checks
from groundstate.compiler.ir.operation import Affine, Category, Effect, LaneRule, define

LEAF, MEMORY, ATOMIC, IMAGE = Category.LEAF, Category.MEMORY, Category.ATOMIC, Category.IMAGE
READS, WRITES, ORDERS = Effect.READS, Effect.WRITES, Effect.ORDERS

# --- Leaves, phis and variables -----------------------------------------------------------------

define("Constant Undef Global Argument", "-> any", LEAF, divergence=LaneRule.UNIFORM)
define("Phi", "any* -> any", Category.CONTROL, divergence=LaneRule.SPECIAL, check=checks.phi)
define(
    "Builtin",
    "-> any",
    Category.ARITHMETIC,
    divergence=LaneRule.SPECIAL,
    rematerialisable=True,
    lowered=lowered.builtin,
)
define(
    "Variable",
    "any? -> pointer",
    MEMORY,
    effect=Effect.OBSERVABLE,
    divergence=LaneRule.SPECIAL,
    check=checks.variable,
)
define(
    "VariableLengthArrayINTEL",
    "whole. -> pointer.",
    MEMORY,
    effect=Effect.OBSERVABLE,
    divergence=LaneRule.VARYING,
)
define("SaveMemoryINTEL", "-> pointer.", MEMORY, effect=Effect.OBSERVABLE)
define("RestoreMemoryINTEL", "pointer. -> void", MEMORY, effect=Effect.OBSERVABLE)
define("LifetimeStop", "pointer. -> void", MEMORY, effect=Effect.OBSERVABLE)
define("DebugDeclare", "any -> void", Category.CONTROL, effect=Effect.OBSERVABLE)
"""Of a graph that is stepped: the end of a variable's life, and where a variable of the source is,
or what it is."""
define("Trap", "-> any?", Category.CONTROL, effect=Effect.OBSERVABLE)
define(
    "Refused",
    "any* -> any?",
    Category.CONTROL,
    effect=Effect.OBSERVABLE,
    lowered=lowered.refused,
)
"""An instruction that is not supported, with the reason."""

# --- Addresses ----------------------------------------------------------------------------------

for names, moves_pointer in (
    ("AccessChain InBoundsAccessChain", False),
    ("PtrAccessChain InBoundsPtrAccessChain", True),
):
    define(
        names,
        "pointer. whole.* -> pointer.",
        Category.CHAIN,
        affine=Affine.CHAIN,
        moves_pointer=moves_pointer,
        rematerialisable=True,
        address_operand=True,
        check=checks.chain,
    )

# --- Accesses -----------------------------------------------------------------------------------

define("Load", "pointer. -> any", MEMORY, effect=READS, address_operand=True)
define(
    "Store",
    "pointer. any -> void",
    MEMORY,
    effect=WRITES,
    address_operand=True,
    check=checks.store_value,
)
define(
    "CopyMemory",
    "pointer. pointer. -> void",
    MEMORY,
    effect=READS | WRITES,
    address_operand=True,
    check=checks.pointee,
)
define(
    "TileProduct",
    "pointer. pointer. pointer. whole. pointer. pointer. whole. whole. whole. whole. -> void",
    MEMORY,
    effect=READS | WRITES,
    check=checks.tiles,
)
define(
    "CopyMemorySized",
    "pointer. pointer. whole. -> void",
    MEMORY,
    effect=READS | WRITES,
    address_operand=True,
)
define("Prefetch", "pointer. whole.? -> void", MEMORY, effect=Effect.OBSERVABLE)
"""Prefetches what the next work-group loads."""
define("TableLookup", "pointer. whole. -> numeric.", Category.ARITHMETIC)
"""The entry with a number in a constant table of so many, all of which fit in a few registers."""
define(
    "PredicatedLoadINTEL",
    "pointer. bool. any= -> any",
    MEMORY,
    effect=READS,
    check=checks.condition,
)
define(
    "PredicatedStoreINTEL",
    "pointer. any bool. -> void",
    MEMORY,
    effect=WRITES,
    check=checks.condition,
)
define("MaskedGatherINTEL", "pointer~ bool~ numeric= -> numeric", MEMORY, effect=READS)
define(
    "MaskedScatterINTEL", "numeric pointer bool -> void", MEMORY, effect=WRITES, check=checks.masked
)
define(
    "SubgroupBlockReadINTEL",
    "pointer. -> numeric",
    MEMORY,
    effect=READS | Effect.CONVERGENT,
    divergence=LaneRule.VARYING,
)
define(
    "SubgroupBlockWriteINTEL",
    "pointer. numeric -> void",
    MEMORY,
    effect=WRITES | Effect.CONVERGENT,
)
for names, types in (
    ("GroupAsyncCopy", "whole. pointer. pointer. whole. whole. event -> event"),
    ("UntypedGroupAsyncCopyKHR", "whole. pointer. pointer. whole. whole. whole. event -> event"),
):
    define(
        names,
        types,
        MEMORY,
        effect=READS | WRITES | Effect.CONVERGENT,
        divergence=LaneRule.UNIFORM,
    )

# --- Atomics ------------------------------------------------------------------------------------

define(
    "AtomicLoad",
    "pointer. whole. whole. -> word.",
    ATOMIC,
    effect=READS | ORDERS,
    divergence=LaneRule.SPECIAL,
    address_operand=True,
    check=checks.atomic,
)
for names, types in (
    ("AtomicStore", "pointer. whole. whole. word. -> void"),
    ("AtomicFlagClear", "pointer. whole. whole. -> void"),
    ("AtomicFlagTestAndSet", "pointer. whole. whole. -> bool."),
    ("AtomicIIncrement AtomicIDecrement", "pointer. whole. whole. -> whole."),
    (
        "AtomicCompareExchange AtomicCompareExchangeWeak",
        "pointer. whole. whole. whole. whole= whole= -> whole.",
    ),
    ("AtomicExchange", "pointer. whole. whole. word= -> word."),
    (
        "AtomicIAdd AtomicISub AtomicSMin AtomicUMin AtomicSMax AtomicUMax AtomicAnd AtomicOr "
        "AtomicXor",
        "pointer. whole. whole. whole= -> whole.",
    ),
    ("AtomicFAddEXT AtomicFMinEXT AtomicFMaxEXT", "pointer. whole. whole. ieee= -> ieee."),
):
    define(
        names,
        types,
        ATOMIC,
        effect=READS | WRITES | ORDERS,
        divergence=LaneRule.VARYING,
        address_operand=True,
        check=checks.atomic,
    )

# --- Images -------------------------------------------------------------------------------------

define("SampledImage", "image sampler -> pair", IMAGE)
define("Image", "pair -> image", IMAGE)
define("SamplerOfImage", "pair -> sampler", IMAGE)
define("ConvertHandleToImageINTEL", "whole. -> image", IMAGE)
define("ConvertHandleToSampledImageINTEL", "whole. -> pair", IMAGE)
define("ConvertHandleToSamplerINTEL", "whole. -> sampler", IMAGE)
define(
    "ImageQueryFormat ImageQueryOrder ImageQuerySamples ImageQueryLevels",
    "image -> whole.",
    IMAGE,
    lowered=lowered.image,
)
define("ImageQuerySize", "image -> whole", IMAGE, lowered=lowered.image_size)
define("ImageQuerySizeLod", "image whole. -> whole", IMAGE, lowered=lowered.image_size)
define(
    "ImageFetch ImageRead",
    "image whole -> numeric",
    IMAGE,
    effect=READS,
    lowered=lowered.image_access(place=1),
)
define(
    "ImageSampleExplicitLod",
    "pair numeric -> numeric",
    IMAGE,
    effect=READS,
    lowered=lowered.unknown_pair,
)
define(
    "SampleImage",
    "image sampler numeric -> numeric",
    IMAGE,
    effect=READS,
    lowered=lowered.image_access(place=2),
)
"""`ImageSampleExplicitLod` with the image and the sampler by themselves."""
define(
    "ImageWrite",
    "image whole numeric -> void",
    IMAGE,
    effect=WRITES,
    lowered=lowered.image_access(place=1),
)
