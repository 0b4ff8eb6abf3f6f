"""Operations that compute: numbers, truth values, conversions, and parts of composites."""

from __future__ import annotations

import operator

from groundstate.compiler.ir import lowered_checks as lowered
from groundstate.compiler.ir import operand_checks as checks
from groundstate.compiler.ir.operation import Affine, Category, Effect, LaneRule, define
from groundstate.compiler.spirv import fold_numbers as fold
from groundstate.compiler.spirv.fold_numbers import binary, comparison, conversion, unary

ARITHMETIC, CAST, COMPOSITE = Category.ARITHMETIC, Category.CAST, Category.COMPOSITE


def number(names: str, types: str, llvm: str = "", **facts: object) -> None:
    """Rows of operations on numbers and truth values, or on each component of vectors of them."""
    define(names, types, ARITHMETIC, llvm=llvm, **facts)


# --- Integers ---------------------------------------------------------------------------------

TWO = "int= int= -> int"
ONE = "int= -> int"
SHIFT = "int= int~ -> int"

number(
    "IAdd",
    TWO,
    "add {t} {0}, {1}",
    affine=Affine.SUM,
    rematerialisable=True,
    fold=binary(fold.wrapped(operator.add)),
)
number(
    "ISub",
    TWO,
    "sub {t} {0}, {1}",
    affine=Affine.DIFFERENCE,
    rematerialisable=True,
    fold=binary(fold.wrapped(operator.sub)),
)
number(
    "IMul",
    TWO,
    "mul {t} {0}, {1}",
    affine=Affine.PRODUCT,
    rematerialisable=True,
    fold=binary(fold.wrapped(operator.mul)),
)
number("SDiv", TWO, affine=Affine.QUOTIENT, divides=True, fold=binary(fold.signed_divide))
number("UDiv", TWO, affine=Affine.QUOTIENT, divides=True, fold=binary(fold.unsigned_divide))
number("UMod", TWO, divides=True, fold=binary(fold.unsigned_modulo))
number("SMod", TWO, divides=True, fold=binary(fold.signed_modulo))
number("SRem", TWO, divides=True, fold=binary(fold.signed_remainder))
number("SNegate", ONE, "sub {t} {zero}, {0}", fold=unary(fold.negated))
number(
    "BitwiseAnd",
    TWO,
    "and {t} {0}, {1}",
    affine=Affine.AND,
    rematerialisable=True,
    fold=binary(fold.wrapped(operator.and_)),
)
number(
    "BitwiseOr",
    TWO,
    "or {t} {0}, {1}",
    affine=Affine.OR,
    fold=binary(fold.wrapped(operator.or_)),
)
number("BitwiseXor", TWO, "xor {t} {0}, {1}", fold=binary(fold.wrapped(operator.xor)))
number("Not", ONE, "xor {t} {0}, {ones}", fold=unary(fold.inverted))
number(
    "ShiftLeftLogical",
    SHIFT,
    affine=Affine.SHIFT_LEFT,
    rematerialisable=True,
    fold=binary(fold.shift_left),
)
number("ShiftRightLogical", SHIFT, rematerialisable=True, fold=binary(fold.shift_right))
number(
    "ShiftRightArithmetic",
    SHIFT,
    affine=Affine.SHIFT_RIGHT,
    rematerialisable=True,
    fold=binary(fold.shift_right_signed),
)
number("BitCount BitReverse", ONE)
number("UCountLeadingZerosINTEL UCountTrailingZerosINTEL", "whole= -> whole")
number(
    "AbsISubINTEL AbsUSubINTEL IAddSatINTEL UAddSatINTEL ISubSatINTEL USubSatINTEL IAverageINTEL "
    "UAverageINTEL IAverageRoundedINTEL UAverageRoundedINTEL IMul32x16INTEL UMul32x16INTEL",
    "whole= whole= -> whole",
)
number("IAddCarry ISubBorrow UMulExtended SMulExtended", "whole whole@ -> any", check=checks.pair)
number("BitFieldInsert", "whole= whole= whole. whole. -> whole")
number("BitFieldSExtract BitFieldUExtract", "whole= whole. whole. -> whole")
number(
    "BitwiseFunctionINTEL", "whole= whole= whole= whole. -> whole", lowered=lowered.constant_table
)
number("SDot UDot SUDot", "whole whole -> whole.", check=checks.packed)
number("SDotAccSat UDotAccSat SUDotAccSat", "whole whole whole= -> whole.", check=checks.packed)
number("SDotAdd UDotAdd SUDotAdd ShortDotAdd", "whole. whole. whole= -> whole.", check=checks.words)
number("BFloatDotAdd", "whole. whole. ieee= -> ieee.", check=checks.words)

# --- Floating-point numbers -------------------------------------------------------------------

FLOATS = "float= float= -> float"

number("FAdd", FLOATS, "fadd {f}{t} {0}, {1}", fold=binary(fold.on_floats(operator.add)))
number("FSub", FLOATS, "fsub {f}{t} {0}, {1}", fold=binary(fold.on_floats(operator.sub)))
number("FMul", FLOATS, "fmul {f}{t} {0}, {1}", fold=binary(fold.on_floats(operator.mul)))
number(
    "FDiv", FLOATS, "fdiv {f}{t} {0}, {1}", divides=True, fold=binary(fold.on_floats(fold.divide))
)
number(
    "FRem", FLOATS, "frem {t} {0}, {1}", divides=True, fold=binary(fold.on_floats(fold.remainder))
)
number("FMod", "ieee= ieee= -> ieee", divides=True, fold=binary(fold.on_floats(fold.modulo)))
number("FNegate", "float= -> float", "fneg {t} {0}", fold=unary(fold.sign_flipped))
number("FmaKHR", "float= float= float= -> float")
number("ArithmeticFenceEXT", "float= -> float")
number("VectorTimesScalar", "ieee= ieee.: -> ieee/")
number("Dot", "float/ float/@ -> float.")

# --- Comparisons ------------------------------------------------------------------------------

for name, predicate, negated, swapped, compute in (
    ("IEqual", "eq", "INotEqual", "IEqual", fold.plain(operator.eq)),
    ("INotEqual", "ne", "IEqual", "INotEqual", fold.plain(operator.ne)),
    ("UGreaterThan", "ugt", "ULessThanEqual", "ULessThan", fold.plain(operator.gt)),
    ("UGreaterThanEqual", "uge", "ULessThan", "ULessThanEqual", fold.plain(operator.ge)),
    ("ULessThan", "ult", "UGreaterThanEqual", "UGreaterThan", fold.plain(operator.lt)),
    ("ULessThanEqual", "ule", "UGreaterThan", "UGreaterThanEqual", fold.plain(operator.le)),
    ("SGreaterThan", "sgt", "SLessThanEqual", "SLessThan", fold.by_sign(operator.gt)),
    ("SGreaterThanEqual", "sge", "SLessThan", "SLessThanEqual", fold.by_sign(operator.ge)),
    ("SLessThan", "slt", "SGreaterThanEqual", "SGreaterThan", fold.by_sign(operator.lt)),
    ("SLessThanEqual", "sle", "SGreaterThan", "SGreaterThanEqual", fold.by_sign(operator.le)),
):
    number(
        name,
        "ordered~ ordered~@ -> bool",
        f"icmp {predicate} {{s}} {{0}}, {{1}}",
        negated=negated,
        swapped=swapped,
        fold=comparison(compute),
    )
number("PtrEqual", "pointer~ pointer~ -> bool", "icmp eq {s} {0}, {1}")
number("PtrNotEqual", "pointer~ pointer~ -> bool", "icmp ne {s} {0}, {1}")
for name, predicate, ordered, unordered in (
    ("Equal", "eq", operator.eq, operator.eq),
    ("NotEqual", "ne", fold.ordered_not_equal, operator.ne),
    ("LessThan", "lt", operator.lt, operator.lt),
    ("LessThanEqual", "le", operator.le, operator.le),
    ("GreaterThan", "gt", operator.gt, operator.gt),
    ("GreaterThanEqual", "ge", operator.ge, operator.ge),
):
    number(
        f"FOrd{name}",
        "float~ float~@ -> bool",
        f"fcmp o{predicate} {{s}} {{0}}, {{1}}",
        fold=comparison(fold.ordered(ordered)),
    )
    number(
        f"FUnord{name}",
        "float~ float~@ -> bool",
        f"fcmp u{predicate} {{s}} {{0}}, {{1}}",
        fold=comparison(fold.unordered(unordered)),
    )
number("IsNan", "float~ -> bool", "fcmp uno {s} {0}, {0}")
number("IsInf IsFinite IsNormal SignBitSet", "float~ -> bool")
number("Ordered", "float~ float~@ -> bool", "fcmp ord {s} {0}, {1}")
number("Unordered", "float~ float~@ -> bool", "fcmp uno {s} {0}, {1}")
number("LessOrGreater", "float~ float~@ -> bool", "fcmp one {s} {0}, {1}")

# --- Truth values -----------------------------------------------------------------------------

BOOLS = "bool= bool= -> bool"

number("LogicalAnd", BOOLS, "and {t} {0}, {1}", fold=comparison(fold.plain(fold.both)))
number("LogicalOr", BOOLS, "or {t} {0}, {1}", fold=comparison(fold.plain(fold.either)))
number(
    "LogicalEqual",
    "bool~ bool~@ -> bool",
    "icmp eq {s} {0}, {1}",
    fold=comparison(fold.plain(operator.eq)),
)
number("LogicalNotEqual", BOOLS, "xor {t} {0}, {1}", fold=comparison(fold.plain(operator.ne)))
number("LogicalNot", "bool= -> bool", "xor {t} {0}, {ones}", fold=unary(fold.inverted))
number("All Any", "bool/ -> bool.")
number("Select", "any any any -> any", affine=Affine.SELECT, check=checks.select)

# --- Conversions and casts --------------------------------------------------------------------

define(
    "UConvert",
    "int~ -> int",
    CAST,
    affine=Affine.WIDENED,
    rematerialisable=True,
    fold=conversion(fold.resize_unsigned),
)
define(
    "SConvert",
    "int~ -> int",
    CAST,
    affine=Affine.SAME,
    rematerialisable=True,
    fold=conversion(fold.resize_signed),
)
number("FConvert", "float~ -> float", fold=conversion(fold.float_to_float))
number("ConvertFToU ConvertFToS", "float~ -> int", fold=conversion(fold.float_to_integer))
number("ConvertSToF", "int~ -> float", fold=conversion(fold.signed_to_float))
number("ConvertUToF", "int~ -> float", fold=conversion(fold.integer_to_float))
number("SatConvertSToU SatConvertUToS", "whole~ -> whole")
number("ConvertBF16ToFINTEL", "whole~ -> ieee", check=checks.bits(32, 16))
number("ConvertFToBF16INTEL", "ieee~ -> whole", check=checks.bits(16, 32))
number("QuantizeToF16", "ieee= -> ieee", check=checks.bits(32, 32), fold=conversion(fold.quantized))
number("RoundFToTF32INTEL", "ieee= -> ieee", check=checks.bits(32, 32))
number(
    "ConvertPtrToU",
    "pointer~ -> int",
    "ptrtoint {s} {0} to {t}",
    affine=Affine.SAME,
    converts_address=True,
    fold=conversion(fold.resize_unsigned),
)
number(
    "ConvertUToPtr",
    "int~ -> pointer",
    "inttoptr {s} {0} to {t}",
    affine=Affine.SAME,
    converts_address=True,
    fold=conversion(fold.resize_unsigned),
)
define(
    "Bitcast",
    "any -> any",
    CAST,
    affine=Affine.SAME,
    same_address=True,
    rematerialisable=True,
    check=checks.bitcast,
)
define("Copy", "any= -> any", CAST)  # an operand that is not resolved yet
define(
    "CopyObject",
    "any= -> any",
    CAST,
    affine=Affine.SAME,
    same_address=True,
    fold=unary(fold.unchanged),
)
number("CopyLogical", "any= -> any", affine=Affine.SAME)
number("ExpectKHR", "any= any= -> any")
number("FreezeKHR", "any= -> any")
number(
    "PtrCastToGeneric GenericCastToPtr",
    "pointer= -> pointer",
    affine=Affine.SAME,
    same_address=True,
)
number(
    "GenericCastToPtrExplicit",
    "pointer. -> pointer.",
    divergence=LaneRule.VARYING,
    lowered=lowered.generic_cast,
)
number("GenericPtrMemSemantics", "pointer. -> int.")
number("PtrDiff", "pointer. pointer. -> whole.", check=checks.pointee)
number("SizeOf", "pointer. -> whole.", check=checks.pointee)

# --- Composites -------------------------------------------------------------------------------

define("CompositeConstruct", "any* -> any", COMPOSITE, check=checks.construct)
define("CompositeConstructReplicateEXT", "any -> any", COMPOSITE, check=checks.replicate)
define("CompositeExtract", "any -> any", COMPOSITE, rematerialisable=True, check=checks.extract)
define("CompositeInsert", "any any -> any", COMPOSITE, check=checks.insert)
define("VectorExtractDynamic", "any/ whole. -> any", COMPOSITE, check=checks.extract_component)
define("VectorInsertDynamic", "any= any whole. -> any/", COMPOSITE, check=checks.insert_component)
define("VectorShuffle", "any any -> any", COMPOSITE, check=checks.shuffle)

# --- Intrinsics of LLVM, and others ---------------------------------------------------------------

number("llvm.bitreverse llvm.ctpop", "whole= -> whole")
number("llvm.bswap", "whole= -> whole", check=checks.bytes_swapped)
number(
    "llvm.sadd.sat llvm.smax llvm.smin llvm.sshl.sat llvm.ssub.sat llvm.uadd.sat llvm.umax "
    "llvm.umin llvm.ushl.sat llvm.usub.sat",
    "whole= whole= -> whole",
)
number("llvm.fshl llvm.fshr", "whole= whole= whole= -> whole")
number("llvm.abs llvm.ctlz llvm.cttz", "whole= bool. -> whole")
number(
    "llvm.canonicalize llvm.ceil llvm.fabs llvm.floor llvm.nearbyint llvm.rint llvm.round "
    "llvm.roundeven llvm.sqrt llvm.trunc",
    "ieee= -> ieee",
)
number("llvm.copysign llvm.maximum llvm.maxnum llvm.minimum llvm.minnum", "ieee= ieee= -> ieee")
number("llvm.fma llvm.fmuladd", "ieee= ieee= ieee= -> ieee")
number("llvm.is.fpclass", "ieee~ whole. -> bool", check=checks.classes)
number("ReadClockKHR", "whole. -> whole", effect=Effect.OBSERVABLE)
number("NeverWraps", "any* -> bool", divergence=LaneRule.UNIFORM)
number("NeverOverlaps", "any* -> bool")
"""Whether an index wraps in no iteration of a loop (no-wrap loop versioning)."""
