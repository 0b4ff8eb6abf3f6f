"""Operations on memory: variables, addresses, accesses, atomics and images."""

from __future__ import annotations

from groundstate.compiler.ir.operation import Affine, Category, Effect, LaneRule, define

LEAF, MEMORY, ATOMIC, IMAGE = Category.LEAF, Category.MEMORY, Category.ATOMIC, Category.IMAGE
READS, WRITES, ORDERS = Effect.READS, Effect.WRITES, Effect.ORDERS

# --- Leaves, phis and variables -----------------------------------------------------------------

define("Constant Undef Global Argument", "-> any", LEAF, divergence=LaneRule.UNIFORM)
define("Phi", "any ... -> any", Category.CONTROL, divergence=LaneRule.SPECIAL)
define(
    "Builtin",
    "-> any",
    Category.ARITHMETIC,
    divergence=LaneRule.SPECIAL,
    rematerialisable=True,
)
define("Variable", "-> pointer", MEMORY, effect=Effect.OBSERVABLE, divergence=LaneRule.SPECIAL)
define(
    "VariableLengthArrayINTEL",
    "any -> any",
    MEMORY,
    effect=Effect.OBSERVABLE,
    divergence=LaneRule.VARYING,
)
define("SaveMemoryINTEL", "-> any", MEMORY, effect=Effect.OBSERVABLE)
define("RestoreMemoryINTEL", "any -> void", MEMORY, effect=Effect.OBSERVABLE)
define("Trap", "-> void", Category.CONTROL, effect=Effect.OBSERVABLE)
define("Refused", "any ... -> any?", Category.CONTROL, effect=Effect.OBSERVABLE)
"""An instruction that is not supported: code generation raises its reason."""

# --- Addresses ----------------------------------------------------------------------------------

define(
    "AccessChain InBoundsAccessChain PtrAccessChain InBoundsPtrAccessChain",
    "pointer any ... -> pointer",
    Category.CHAIN,
    affine=Affine.CHAIN,
    rematerialisable=True,
    address_operand=True,
)

# --- Accesses -----------------------------------------------------------------------------------

define("Load", "pointer -> any", MEMORY, effect=READS, address_operand=True)
define("Store", "pointer any -> void", MEMORY, effect=WRITES, address_operand=True)
define("CopyMemory", "pointer pointer -> void", MEMORY, effect=READS | WRITES, address_operand=True)
define(
    "CopyMemorySized",
    "pointer pointer any -> void",
    MEMORY,
    effect=READS | WRITES,
    address_operand=True,
)
define("Prefetch", "pointer any ... -> void", MEMORY, effect=Effect.OBSERVABLE)
"""Prefetches what the next work-group loads."""
define("PredicatedLoadINTEL", "any any any -> any", MEMORY, effect=READS)
define("PredicatedStoreINTEL", "any any any -> void", MEMORY, effect=WRITES)
define("MaskedGatherINTEL", "any any any -> any", MEMORY, effect=READS)
define("MaskedScatterINTEL", "any any any -> void", MEMORY, effect=WRITES)
define(
    "SubgroupBlockReadINTEL",
    "any -> any",
    MEMORY,
    effect=READS | Effect.CONVERGENT,
    divergence=LaneRule.VARYING,
)
define("SubgroupBlockWriteINTEL", "any any -> void", MEMORY, effect=WRITES | Effect.CONVERGENT)
define(
    "GroupAsyncCopy UntypedGroupAsyncCopyKHR",
    "any ... -> any",
    MEMORY,
    effect=READS | WRITES | Effect.CONVERGENT,
    divergence=LaneRule.UNIFORM,
)

# --- Atomics ------------------------------------------------------------------------------------

define(
    "AtomicLoad",
    "pointer any any -> any",
    ATOMIC,
    effect=READS | ORDERS,
    divergence=LaneRule.SPECIAL,
    address_operand=True,
)
for names, signature in (
    ("AtomicStore", "pointer any any any -> void"),
    ("AtomicFlagClear", "pointer any any -> void"),
    ("AtomicFlagTestAndSet AtomicIIncrement AtomicIDecrement", "pointer any any -> any"),
    ("AtomicCompareExchange AtomicCompareExchangeWeak", "pointer any any any any any -> any"),
    (
        "AtomicExchange AtomicIAdd AtomicISub AtomicSMin AtomicUMin AtomicSMax AtomicUMax "
        "AtomicAnd AtomicOr AtomicXor AtomicFAddEXT AtomicFMinEXT AtomicFMaxEXT",
        "pointer any any any -> any",
    ),
):
    define(
        names,
        signature,
        ATOMIC,
        effect=READS | WRITES | ORDERS,
        divergence=LaneRule.VARYING,
        address_operand=True,
    )

# --- Images -------------------------------------------------------------------------------------

define("SampledImage", "any any -> any", IMAGE)
define("Image", "any -> any", IMAGE)
define("SamplerOfImage", "any -> any", IMAGE)
define(
    "ConvertHandleToImageINTEL ConvertHandleToSampledImageINTEL ConvertHandleToSamplerINTEL",
    "any -> any",
    IMAGE,
)
define("ImageQueryFormat ImageQueryOrder ImageQuerySamples", "any -> any", IMAGE)
define("ImageQueryLevels ImageQuerySize", "any -> any", IMAGE)
define("ImageQuerySizeLod", "any any -> any", IMAGE)
define("ImageFetch ImageRead ImageSampleExplicitLod", "any ... -> any", IMAGE, effect=READS)
define("ImageWrite", "any ... -> void", IMAGE, effect=WRITES)
