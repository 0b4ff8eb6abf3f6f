"""Cases of memory: loads, stores, copies, addresses, in every address space."""

from __future__ import annotations

import numpy as np

from tests.compiler.instructions.arithmetic import COUNT, RANDOM
from tests.compiler.instructions.instruction_support import case

WORDS = RANDOM.integers(0, 1 << 32, COUNT).astype(np.uint32)
FOURS = RANDOM.integers(0, 1 << 32, (COUNT, 4)).astype(np.uint32)
SMALL = RANDOM.integers(0, 5, COUNT).astype(np.uint32)
WORD, FOUR = [("u32", WORDS)], [("v4u32", FOURS)]

PRIVATE = """
%row = OpTypeArray %u32 %u32:4
%p*row = OpTypePointer Function %row
%l*row = OpTypePointer Workgroup %row
%shared.rows = OpTypeArray %row %u32:64
%l*shared.rows = OpTypePointer Workgroup %shared.rows
%shared = OpVariable %l*shared.rows Workgroup
"""
LOCAL_ROW = """
    %local.ids = OpLoad %v3u64 %in:LocalInvocationId
    %local.id = OpCompositeExtract %u64 %local.ids 0
    %mine = OpInBoundsAccessChain %l*row %shared %local.id
"""

# --- Variables, chains, loads and stores ----------------------------------------------------------

case(
    "private-array",
    """
    %array = OpVariable %p*row Function
    OpLifetimeStart %array 16
    %first = OpAccessChain %p*u32 %array %u32:0
    OpStore %first %a Aligned 4
    %place = OpBitwiseAnd %u32 %a %u32:3
    %at = OpInBoundsAccessChain %p*u32 %array %place
    OpStore %at %u32:42 Volatile|Aligned 4
    %r = OpLoad %u32 %first Volatile
    OpLifetimeStop %array 16
    """,
    WORD,
    "u32",
    lambda a: np.where(a & 3, a, 42),
    declarations=PRIVATE,
)
case(
    "Variable-with-a-value",
    """
    %count = OpVariable %p*u32 Function %u32:30
    %array = OpVariable %p*row Function %numbers
    %place = OpBitwiseAnd %u32 %a %u32:3
    %at = OpInBoundsAccessChain %p*u32 %array %place
    %x = OpLoad %u32 %at
    %y = OpLoad %u32 %count
    %r = OpIAdd %u32 %x %y
    """,
    WORD,
    "u32",
    lambda a: np.array([31, 33, 35, 37])[a & 3],
    declarations=PRIVATE + "%numbers = OpConstantComposite %row %u32:1 %u32:3 %u32:5 %u32:7",
)
case(
    "PtrAccessChain-backwards",
    """
    %none = OpIEqual %bool %i %u64:0
    %back = OpSelect %u64 %none %u64:0 %u64:-1
    %before = OpPtrAccessChain %g*u32 %at.a %back
    %r = OpLoad %u32 %before Aligned 4
    """,
    WORD,
    "u32",
    lambda a: np.concatenate([a[:1], a[:-1]]),
)
case(
    "chain-into-a-vector",
    """
    %place = OpUConvert %u32 %i
    %z = OpBitwiseAnd %u32 %place %u32:3
    %at = OpInBoundsAccessChain %g*u32 %at.a %z
    %r = OpLoad %u32 %at Aligned 4
    """,
    FOUR,
    "u32",
    lambda a: a[np.arange(COUNT), np.arange(COUNT) & 3],
)
case(
    "pointers-to-pointers",
    """
    %holder = OpVariable %p*g*u32 Function
    %outer = OpVariable %p*p*g*u32 Function
    OpStore %holder %at.a
    OpStore %outer %holder
    %same = OpLoad %p*g*u32 %outer
    %pointer = OpLoad %g*u32 %same
    %r = OpLoad %u32 %pointer
    """,
    WORD,
    "u32",
    WORDS,
)
case(
    "truths-in-memory",
    """
    %array = OpVariable %p*truths Function
    %odd = OpBitwiseAnd %u32 %a %u32:1
    %is.odd = OpINotEqual %bool %odd %u32:0
    %first = OpInBoundsAccessChain %p*bool %array %u32:0
    %second = OpInBoundsAccessChain %p*bool %array %u32:1
    OpStore %first %is.odd
    %not = OpLogicalNot %bool %is.odd
    OpStore %second %not
    %place = OpShiftRightLogical %u32 %a %u32:31
    %at = OpInBoundsAccessChain %p*bool %array %place
    %r = OpLoad %bool %at
    """,
    WORD,
    "bool",
    lambda a: np.where(a >> 31, 1 - (a & 1), a & 1),
    declarations="%truths = OpTypeArray %bool %u32:2\n%p*truths = OpTypePointer Function %truths",
)

# --- Copies ---------------------------------------------------------------------------------------

case(
    "CopyMemory",
    """
    %whole = OpVariable %p*v4u32 Function
    OpCopyMemory %whole %at.a Aligned 4
    %r = OpLoad %v4u32 %whole
    """,
    FOUR,
    "v4u32",
    FOURS,
)
case(
    "CopyMemorySized",
    """
    %array = OpVariable %p*row Function
    OpCopyMemorySized %array %at.a %u64:16 Aligned 4
    %at = OpInBoundsAccessChain %p*u32 %array %u32:2
    %r = OpLoad %u32 %at
    """,
    FOUR,
    "u32",
    lambda a: a[:, 2],
    declarations=PRIVATE,
)
case(
    "CopyMemorySized-to-local-and-back",
    f"""
    {LOCAL_ROW}
    %bytes = OpBitcast %l*u8 %mine
    %from = OpBitcast %g*u8 %at.a
    OpCopyMemorySized %bytes %from %u32:16 Aligned 4
    %array = OpVariable %p*row Function
    OpCopyMemorySized %array %mine %u64:16
    %at = OpInBoundsAccessChain %p*u32 %array %u32:3
    %r = OpLoad %u32 %at
    """,
    FOUR,
    "u32",
    lambda a: a[:, 3],
    declarations=PRIVATE,
)
case(
    "CopyMemorySized-of-sizes-that-differ",
    """
    %array = OpVariable %p*row Function
    OpStore %array %empty
    %size = OpIMul %u32 %b %u32:4
    %target = OpBitcast %p*u8 %array
    %source = OpBitcast %g*u8 %at.a
    OpCopyMemorySized %target %source %size Aligned 1
    %bits = OpBitcast %p*v4u32 %array
    %r = OpLoad %v4u32 %bits
    """,
    [("v4u32", FOURS), ("u32", SMALL)],
    "v4u32",
    lambda a, b: np.where(np.arange(4) < b[:, None], a, 0),
    declarations=PRIVATE + "%empty = OpConstantNull %row",
)

# --- What addresses are ---------------------------------------------------------------------------

case(
    "PtrDiff",
    """
    %odd = OpBitwiseAnd %u32 %a %u32:7
    %far = OpPtrAccessChain %g*v4u32 %in.b %odd
    %r = OpPtrDiff %u64 %far %in.b
    """,
    [("u32", WORDS), ("v4u32", FOURS)],
    "u64",
    lambda a, b: a & 7,
)
case(
    "PtrEqual-and-PtrNotEqual",
    """
    %odd = OpBitwiseAnd %u32 %a %u32:1
    %is.odd = OpINotEqual %bool %odd %u32:0
    %other = OpSelect %g*u32 %is.odd %at.a %g*u32:null
    %same = OpPtrEqual %bool %other %at.a
    %not.null = OpPtrNotEqual %bool %other %g*u32:null
    %r = OpLogicalAnd %bool %same %not.null
    """,
    WORD,
    "bool",
    lambda a: a & 1,
)
GENERIC = f"""
    {LOCAL_ROW}
    %array = OpVariable %p*row Function
    %own = OpInBoundsAccessChain %p*u32 %array %u32:0
    %near = OpInBoundsAccessChain %l*u32 %mine %u32:0
    OpStore %own %u32:1
    OpStore %near %u32:2
    %generic.p = OpPtrCastToGeneric %a*u32 %own
    %generic.l = OpPtrCastToGeneric %a*u32 %near
    %generic.g = OpPtrCastToGeneric %a*u32 %at.a
    %third = OpUMod %u32 %a %u32:3
    %is.0 = OpIEqual %bool %third %u32:0
    %is.1 = OpIEqual %bool %third %u32:1
    %some = OpSelect %a*u32 %is.1 %generic.l %generic.g
    %any = OpSelect %a*u32 %is.0 %generic.p %some
"""
case(
    "generic-pointers",
    f"{GENERIC}\n%r = OpLoad %u32 %any",
    WORD,
    "u32",
    lambda a: np.where(a % 3 == 0, 1, np.where(a % 3 == 1, 2, a)),
    declarations=PRIVATE,
)
case(
    "GenericCastToPtr",
    "%generic.g = OpPtrCastToGeneric %a*u32 %at.a\n"
    "%again = OpGenericCastToPtr %g*u32 %generic.g\n%r = OpLoad %u32 %again",
    WORD,
    "u32",
    WORDS,
)
for storage, place in (("Function", 0), ("Workgroup", 1), ("CrossWorkgroup", 2)):
    letter = {"Function": "p", "Workgroup": "l", "CrossWorkgroup": "g"}[storage]
    case(
        f"GenericCastToPtrExplicit-{storage}",
        f"{GENERIC}\n%cast = OpGenericCastToPtrExplicit %{letter}*u32 %any {storage}\n"
        f"%r = OpPtrNotEqual %bool %cast %{letter}*u32:null",
        WORD,
        "bool",
        lambda a, place=place: a % 3 == place,
        declarations=PRIVATE,
    )
case(
    "GenericPtrMemSemantics",
    f"{GENERIC}\n%r = OpGenericPtrMemSemantics %u32 %any",
    WORD,
    "u32",
    lambda a: np.array([0, 0x100, 0x200])[a % 3],
    declarations=PRIVATE,
)
case(
    "GenericPtrMemSemantics-of-all",
    "%generic.g = OpPtrCastToGeneric %a*u32 %in.a\n%r = OpGenericPtrMemSemantics %u32 %generic.g",
    WORD,
    "u32",
    np.full(COUNT, 0x200),
)
case(
    "USM-storage-classes",
    "%device = OpBitcast %device.u32 %at.a\n"
    "%plain = OpPtrCastToCrossWorkgroupINTEL %g*u32 %device\n"
    "%again = OpCrossWorkgroupCastToPtrINTEL %device.u32 %plain\n%r = OpLoad %u32 %again",
    WORD,
    "u32",
    WORDS,
    declarations="%device.u32 = OpTypePointer DeviceOnlyINTEL %u32",
    capabilities=("USMStorageClassesINTEL",),
    extensions=("SPV_INTEL_usm_storage_classes",),
)

# --- Pointers without a type ----------------------------------------------------------------------

UNTYPED = {
    "capabilities": ("UntypedPointersKHR",),
    "extensions": ("SPV_KHR_untyped_pointers",),
    "declarations": PRIVATE
    + """
    %p.any = OpTypeUntypedPointerKHR Function
    %g.any = OpTypeUntypedPointerKHR CrossWorkgroup
    %c.any = OpTypeUntypedPointerKHR UniformConstant
    %numbers = OpConstantComposite %row %u32:1 %u32:3 %u32:5 %u32:7
    %table = OpUntypedVariableKHR %c.any UniformConstant %row %numbers
    """,
}
case(
    "untyped-pointers",
    """
    %array = OpUntypedVariableKHR %p.any Function %row %numbers
    %place = OpBitwiseAnd %u32 %a %u32:3
    %at = OpUntypedInBoundsAccessChainKHR %p.any %row %array %place
    %x = OpLoad %u32 %at Aligned 4
    %next = OpUntypedAccessChainKHR %p.any %row %array %u32:3
    OpStore %next %a
    %y = OpLoad %u32 %next
    %r = OpIAdd %u32 %x %y
    """,
    WORD,
    "u32",
    lambda a: a + (2 * (a & 3) + 1),
    **UNTYPED,
)
case(
    "untyped-steps",
    """
    %start = OpBitcast %g.any %in.a
    %here = OpUntypedPtrAccessChainKHR %g.any %u32 %start %i
    OpUntypedPrefetchKHR %here %u32:4
    %same = OpUntypedInBoundsPtrAccessChainKHR %g.any %u32 %here %u32:0
    %x = OpLoad %u32 %same
    %low = OpBitwiseAnd %u32 %a %u32:3
    %entry.of = OpUntypedInBoundsAccessChainKHR %c.any %row %table %low
    %y = OpLoad %u32 %entry.of Aligned 4
    %r = OpIAdd %u32 %x %y
    """,
    WORD,
    "u32",
    lambda a: a + (2 * (a & 3) + 1),
    **UNTYPED,
)
