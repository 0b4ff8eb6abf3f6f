"""What each instruction takes and gives, one row for several instructions.

A row is the result and the operands, each a kind and how it relates to the others:

    =   the same type as the result, to LLVM: signs and what pointers point to do not matter
    @   the same type as the first operand
    ~   as many components as the result
    :   components of the result's type, as many as the result has, or just one for all of them
    .   no vector
    /   a vector

`*` stands behind what may come any number of times, `?` behind what may be left out. Some compilers
compare addresses, and count with truth values, as if they were integers.
"""

from __future__ import annotations

from functools import cache

from groundstate.compiler.spirv.instructions import opencl_rows
from groundstate.compiler.spirv.types import (
    Bool,
    Event,
    Float,
    Image,
    Int,
    Pointer,
    SampledImage,
    Sampler,
    Type,
    Void,
)
from groundstate.compiler.spirv_to_ir.library_functions import CLASSIFY, ELEMENTWISE, FLAGGED

KINDS: dict[str, tuple[type[Type], ...]] = {
    "integer": (Int, Bool),
    "whole number": (Int,),
    "float": (Float,),
    "truth value": (Bool, Int),
    "pointer": (Pointer,),
    "number": (Int, Bool, Pointer),
    "integer or float": (Int, Float),
    "number or address": (Int, Float, Pointer),
    "event": (Event, Pointer),
    "image": (Image, SampledImage),
    "sampler": (Sampler,),
    "sampled image": (SampledImage, Image),
    "value": (Type,),
    "nothing": (Void,),
}
"""The kinds of values, in words for a sentence."""

SHORT = {
    "int": "integer",
    "whole": "whole number",
    "float": "float",
    "truth": "truth value",
    "ptr": "pointer",
    "number": "number",
    "plain": "integer or float",
    "word": "number or address",
    "event": "event",
    "image": "image",
    "sampler": "sampler",
    "pair": "sampled image",
    "any": "value",
    "void": "nothing",
}

ROWS: dict[str, str] = {
    "IAdd ISub IMul UDiv SDiv UMod SMod SRem BitwiseAnd BitwiseOr BitwiseXor": "int int= int=",
    "SNegate Not BitReverse BitCount": "int int=",
    "ShiftLeftLogical ShiftRightLogical ShiftRightArithmetic": "int int= int~",
    "UConvert SConvert": "int int~",
    "SatConvertSToU SatConvertUToS": "whole whole~",
    "FAdd FSub FMul FDiv FRem FMod": "float float= float=",
    "FNegate": "float float=",
    "FConvert": "float float~",
    "QuantizeToF16 RoundFToTF32INTEL": "float float=",
    "IEqual INotEqual UGreaterThan SGreaterThan UGreaterThanEqual SGreaterThanEqual ULessThan "
    "SLessThan ULessThanEqual SLessThanEqual": "truth number~ number~@",
    "PtrEqual PtrNotEqual": "truth ptr~ ptr~",
    "PtrDiff": "whole. ptr. ptr.",
    "FOrdEqual FUnordEqual FOrdNotEqual FUnordNotEqual FOrdLessThan FUnordLessThan FOrdGreaterThan "
    "FUnordGreaterThan FOrdLessThanEqual FUnordLessThanEqual FOrdGreaterThanEqual "
    "FUnordGreaterThanEqual Ordered Unordered LessOrGreater": "truth float~ float~@",
    "IsNan IsInf IsFinite IsNormal SignBitSet": "truth float~",
    "LogicalAnd LogicalOr LogicalNotEqual": "truth truth= truth=",
    "LogicalEqual": "truth truth~ truth~@",
    "LogicalNot": "truth truth=",
    "All Any": "truth. truth/",
    "ConvertFToU ConvertFToS": "int float~",
    "ConvertSToF ConvertUToF": "float int~",
    "ConvertFToBF16INTEL": "whole float~",
    "ConvertBF16ToFINTEL": "float whole~",
    "ConvertPtrToU": "int ptr~",
    "ConvertUToPtr": "ptr int~",
    "PtrCastToGeneric GenericCastToPtr": "ptr ptr=",
    "GenericCastToPtrExplicit": "ptr. ptr.",
    "GenericPtrMemSemantics": "int. ptr.",
    "CopyObject FreezeKHR": "any any=",
    "CopyLogical Copy": "any any=",
    "ExpectKHR": "any any= any=",
    "Dot": "float. float/ float/@",
    "VectorTimesScalar": "float/ float= float.:",
    "SDot UDot SUDot": "whole. whole whole",
    "SDotAccSat UDotAccSat SUDotAccSat": "whole. whole whole whole=",
    "BitFieldInsert": "whole whole= whole= whole. whole.",
    "BitFieldSExtract BitFieldUExtract": "whole whole= whole. whole.",
    "BitwiseFunctionINTEL": "whole whole= whole= whole= whole.",
    "IAddCarry ISubBorrow UMulExtended SMulExtended": "any whole whole@",
    "UCountLeadingZerosINTEL UCountTrailingZerosINTEL": "whole whole=",
    "AbsISubINTEL AbsUSubINTEL IAddSatINTEL UAddSatINTEL ISubSatINTEL USubSatINTEL IAverageINTEL "
    "UAverageINTEL IAverageRoundedINTEL UAverageRoundedINTEL IMul32x16INTEL UMul32x16INTEL": (
        "whole whole= whole="
    ),
    "FmaKHR": "float float= float= float=",
    "ArithmeticFenceEXT": "float float=",
    "SizeOf": "whole. ptr.",
    "ReadClockKHR": "whole whole.",
    "VectorExtractDynamic": "any any/ whole.",
    "VectorInsertDynamic": "any/ any= any whole.",
    "Load": "any ptr.",
    "Store": "void ptr. any",
    "CopyMemory": "void ptr. ptr.",
    "CopyMemorySized": "void ptr. ptr. whole.",
    "PredicatedLoadINTEL": "any ptr. truth. any=",
    "PredicatedStoreINTEL": "void ptr. any truth.",
    "MaskedGatherINTEL": "plain ptr~ truth~ plain=",
    "MaskedScatterINTEL": "void plain ptr truth",
    "SubgroupBlockReadINTEL": "plain ptr.",
    "SubgroupBlockWriteINTEL": "void ptr. plain",
    "VariableLengthArrayINTEL": "ptr. whole.",
    "SaveMemoryINTEL": "ptr.",
    "RestoreMemoryINTEL": "void ptr.",
    "AccessChain InBoundsAccessChain PtrAccessChain InBoundsPtrAccessChain": "ptr. ptr. whole.*",
    "AtomicIAdd AtomicISub AtomicSMin AtomicUMin AtomicSMax AtomicUMax AtomicAnd AtomicOr "
    "AtomicXor": "whole. ptr. whole. whole. whole=",
    "AtomicExchange": "word. ptr. whole. whole. word=",
    "AtomicFAddEXT AtomicFMinEXT AtomicFMaxEXT": "float. ptr. whole. whole. float=",
    "AtomicIIncrement AtomicIDecrement": "whole. ptr. whole. whole.",
    "AtomicCompareExchange AtomicCompareExchangeWeak": (
        "whole. ptr. whole. whole. whole. whole= whole="
    ),
    "AtomicLoad": "word. ptr. whole. whole.",
    "AtomicStore": "void ptr. whole. whole. word.",
    "AtomicFlagTestAndSet": "truth. ptr. whole. whole.",
    "AtomicFlagClear": "void ptr. whole. whole.",
    "MemoryBarrier": "void whole. whole.",
    "ControlBarrier": "void whole. whole. whole.",
    "SubgroupBallotKHR": "whole/ truth.",
    "GroupNonUniformBallot": "whole/ whole. truth.",
    "GroupNonUniformInverseBallot": "truth. whole. whole/",
    "GroupNonUniformBallotBitExtract": "truth. whole. whole/ whole.",
    "GroupNonUniformBallotBitCount GroupNonUniformBallotFindLSB GroupNonUniformBallotFindMSB": (
        "whole. whole. whole/"
    ),
    "GroupNonUniformIAdd GroupNonUniformUMin GroupNonUniformSMin GroupNonUniformUMax "
    "GroupNonUniformSMax GroupNonUniformIMul GroupNonUniformBitwiseAnd GroupNonUniformBitwiseOr "
    "GroupNonUniformBitwiseXor": "whole whole. whole= whole.?",
    "GroupNonUniformFAdd GroupNonUniformFMin GroupNonUniformFMax GroupNonUniformFMul": (
        "float whole. float= whole.?"
    ),
    "GroupNonUniformLogicalAnd GroupNonUniformLogicalOr GroupNonUniformLogicalXor": (
        "truth whole. truth= whole.?"
    ),
    "GroupIAdd GroupUMin GroupSMin GroupUMax GroupSMax GroupIMulKHR GroupBitwiseAndKHR "
    "GroupBitwiseOrKHR GroupBitwiseXorKHR": "whole whole. whole=",
    "GroupFAdd GroupFMin GroupFMax GroupFMulKHR": "float whole. float=",
    "GroupLogicalAndKHR GroupLogicalOrKHR GroupLogicalXorKHR": "truth whole. truth=",
    "GroupAll GroupAny GroupNonUniformAll GroupNonUniformAny": "truth. whole. truth.",
    "SubgroupAllKHR SubgroupAnyKHR": "truth. truth.",
    "GroupNonUniformQuadAllKHR GroupNonUniformQuadAnyKHR": "truth. truth.",
    "GroupNonUniformElect": "truth. whole.",
    "GroupBroadcast": "any whole. any= whole",
    "GroupNonUniformBroadcast": "any whole. any= whole.",
    "GroupNonUniformBroadcastFirst": "any whole. any=",
    "SubgroupFirstInvocationKHR": "any any=",
    "SubgroupReadInvocationKHR": "any any= whole.",
    "GroupNonUniformAllEqual": "truth. whole. any",
    "SubgroupAllEqualKHR": "truth. any",
    "SubgroupShuffleINTEL SubgroupShuffleXorINTEL": "any any= whole.",
    "GroupNonUniformShuffle GroupNonUniformShuffleXor GroupNonUniformShuffleUp "
    "GroupNonUniformShuffleDown GroupNonUniformQuadSwap GroupNonUniformQuadBroadcast": (
        "any whole. any= whole."
    ),
    "SubgroupShuffleDownINTEL SubgroupShuffleUpINTEL": "any any= any= whole.",
    "GroupNonUniformRotateKHR": "any whole. any= whole. whole.?",
    "GroupAsyncCopy": "event whole. ptr. ptr. whole. whole. event",
    "UntypedGroupAsyncCopyKHR": "event whole. ptr. ptr. whole. whole. whole. event",
    "GroupWaitEvents": "void whole. whole. ptr.",
    "SampledImage": "pair image sampler",
    "Image": "image pair",
    "ImageSampleExplicitLod": "plain pair plain",
    "ImageRead ImageFetch": "plain image whole",
    "ImageWrite": "void image whole plain",
    "ImageQuerySize": "whole image",
    "ImageQuerySizeLod": "whole image whole.",
    "ImageQueryFormat ImageQueryOrder ImageQueryLevels ImageQuerySamples": "whole. image",
    "ConvertHandleToImageINTEL ConvertHandleToSamplerINTEL ConvertHandleToSampledImageINTEL": (
        "any whole."
    ),
}
"""Instructions of SPIR-V, by their names."""

INTEGER_INTRINSICS = (
    *("uadd.sat", "sadd.sat", "usub.sat", "ssub.sat", "ushl.sat", "sshl.sat"),
    *("umin", "umax", "smin", "smax", "fshl", "fshr", "ctpop", "bswap", "bitreverse"),
)
OPERANDS = {"fma": 3, "fmuladd": 3, "fshl": 3, "fshr": 3}
UNARY = frozenset(
    (
        *("ctpop", "bswap", "bitreverse", "fabs", "sqrt", "canonicalize", "floor", "ceil"),
        *("trunc", "rint", "nearbyint", "round", "roundeven"),
    )
)

OPENCL: dict[str, str] = {
    "fract modf sincos frexp lgamma_r": "float float= ptr.",
    "remquo": "float float: float: ptr.",
    "ilogb": "whole float~",
    "ldexp pown rootn": "float float= whole~",
    "nan": "float whole~",
    "cross": "float/ float= float=",
    "distance fast_distance": "float. float float@",
    "length fast_length": "float. float",
    "normalize fast_normalize": "float float=",
    "vloadn vload_half vload_halfn vloada_halfn": "plain whole. ptr.",
    "vstoren vstore_half vstore_half_r vstore_halfn vstore_halfn_r vstorea_halfn "
    "vstorea_halfn_r": "void plain whole. ptr.",
    "u_upsample s_upsample": "whole whole~ whole~",
    "shuffle": "plain/ plain/ whole~",
    "shuffle2": "plain/ plain/ plain/@ whole~",
    "printf": "whole. ptr. any*",
    "prefetch": "void ptr. whole.",
    "select": "plain plain= plain= whole~",
    "bitselect": "plain plain= plain= plain=",
}
"""Instructions of the set OpenCL.std that do not give what they take."""

FIRST_INTEGER = 141
"""From this number on, instructions of OpenCL.std are for integers."""


class Wanted:
    """What one operand must be, or the result."""

    def __init__(self, text: str) -> None:
        self.is_repeated, self.is_optional = "*" in text, "?" in text
        self.relations = {each for each in text if each in "=@~:./"}
        self.kind = SHORT[text.rstrip("=@~:./*?")]


class Rule:
    """What an instruction takes and gives."""

    def __init__(self, text: str) -> None:
        result, *operands = text.split()
        self.result = Wanted(result)
        self.operands = [Wanted(each) for each in operands]
        self.repeats = bool(self.operands) and self.operands[-1].is_repeated
        self.fewest = sum(not (each.is_optional or each.is_repeated) for each in self.operands)
        self.most = None if self.repeats else len(self.operands)

    def operand(self, index: int) -> Wanted:
        """What an operand must be."""
        return self.operands[min(index, len(self.operands) - 1)]


def _intrinsic_row(name: str) -> str:
    short = name.removeprefix("llvm.")
    kind = "whole" if short in INTEGER_INTRINSICS else "float"
    count = 1 if short in UNARY else OPERANDS.get(short, 2)
    return " ".join([kind, *[f"{kind}="] * count])


@cache
def rules() -> dict[str, Rule]:
    """The rule for each instruction, by the name that nodes have."""
    texts = {name: text for names, text in ROWS.items() for name in names.split()}
    texts |= {name: _intrinsic_row(name) for name in ELEMENTWISE}
    texts |= dict.fromkeys(FLAGGED, "whole whole= truth.")
    texts[CLASSIFY] = "truth float~ whole."
    known = {text: Rule(text) for text in texts.values()}
    return {name: known[text] for name, text in texts.items()}


@cache
def opencl_rule(number: int) -> Rule | None:
    """The rule for an instruction of OpenCL.std."""
    row = opencl_rows().get(number)
    if row is None:
        return None
    for names, text in OPENCL.items():
        if row.name in names.split():
            return Rule(text)
    kind = "whole" if number >= FIRST_INTEGER else "float"
    return Rule(" ".join([kind, *[f"{kind}:"] * row.fewest]))
