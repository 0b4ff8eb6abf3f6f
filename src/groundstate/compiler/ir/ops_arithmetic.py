"""Operations that compute: numbers, truth values, conversions, and parts of composites."""

from __future__ import annotations

from groundstate.compiler.ir.operation import Affine, Category, Effect, LaneRule, define

ARITHMETIC, CAST, COMPOSITE = Category.ARITHMETIC, Category.CAST, Category.COMPOSITE


def each(names: str, signature: str, llvm: str = "", **facts: object) -> None:
    """Rows of operations that act on each component of vectors alike."""
    define(names, signature, ARITHMETIC, componentwise=True, llvm=llvm, **facts)  # type: ignore[arg-type]


# --- Integers ---------------------------------------------------------------------------------

each("IAdd", "int int -> int", "add {t} {0}, {1}", affine=Affine.SUM, rematerialisable=True)
each("ISub", "int int -> int", "sub {t} {0}, {1}", affine=Affine.DIFFERENCE, rematerialisable=True)
each("IMul", "int int -> int", "mul {t} {0}, {1}", affine=Affine.PRODUCT, rematerialisable=True)
each("SDiv UDiv", "int int -> int", affine=Affine.QUOTIENT)
each("UMod SMod SRem", "int int -> int")
each("SNegate", "int -> int", "sub {t} {zero}, {0}")
each(
    "BitwiseAnd",
    "int int -> int",
    "and {t} {0}, {1}",
    affine=Affine.AND,
    rematerialisable=True,
)
each("BitwiseOr", "int int -> int", "or {t} {0}, {1}", affine=Affine.OR)
each("BitwiseXor", "int int -> int", "xor {t} {0}, {1}")
each("Not", "int -> int", "xor {t} {0}, {ones}")
each("ShiftLeftLogical", "int int -> int", affine=Affine.SHIFT_LEFT, rematerialisable=True)
each("ShiftRightLogical", "int int -> int", rematerialisable=True)
each("ShiftRightArithmetic", "int int -> int", affine=Affine.SHIFT_RIGHT, rematerialisable=True)
each("BitCount BitReverse", "int -> int")
each("UCountLeadingZerosINTEL UCountTrailingZerosINTEL", "int -> int")
each("AbsISubINTEL AbsUSubINTEL", "int int -> int")
each("IAddSatINTEL UAddSatINTEL ISubSatINTEL USubSatINTEL", "int int -> int")
each("IAverageINTEL UAverageINTEL IAverageRoundedINTEL UAverageRoundedINTEL", "int int -> int")
each("IMul32x16INTEL UMul32x16INTEL", "int int -> int")
define("IAddCarry ISubBorrow UMulExtended SMulExtended", "any any -> any", ARITHMETIC)
define("BitFieldInsert", "any any any any -> any", ARITHMETIC)
define("BitFieldSExtract BitFieldUExtract", "any any any -> any", ARITHMETIC)
define("BitwiseFunctionINTEL", "any any any any -> any", ARITHMETIC)
define("SDot UDot SUDot", "any any -> any", ARITHMETIC)
define("SDotAccSat UDotAccSat SUDotAccSat", "any any any -> any", ARITHMETIC)

# --- Floating-point numbers -------------------------------------------------------------------

each("FAdd", "float float -> float", "fadd {f}{t} {0}, {1}")
each("FSub", "float float -> float", "fsub {f}{t} {0}, {1}")
each("FMul", "float float -> float", "fmul {f}{t} {0}, {1}")
each("FDiv", "float float -> float", "fdiv {f}{t} {0}, {1}")
each("FRem", "float float -> float", "frem {t} {0}, {1}")
each("FMod", "float float -> float")
each("FNegate", "float -> float", "fneg {t} {0}")
each("FmaKHR", "float float float -> float")
each("ArithmeticFenceEXT", "any -> any")
define("VectorTimesScalar Dot", "any any -> any", ARITHMETIC)

# --- Comparisons ------------------------------------------------------------------------------

for name, predicate in (
    *(("IEqual", "eq"), ("INotEqual", "ne")),
    *(("UGreaterThan", "ugt"), ("UGreaterThanEqual", "uge")),
    *(("ULessThan", "ult"), ("ULessThanEqual", "ule")),
    *(("SGreaterThan", "sgt"), ("SGreaterThanEqual", "sge")),
    *(("SLessThan", "slt"), ("SLessThanEqual", "sle")),
):
    each(name, "number number -> bool", f"icmp {predicate} {{s}} {{0}}, {{1}}")
each("PtrEqual", "any any -> bool", "icmp eq {s} {0}, {1}")
each("PtrNotEqual", "any any -> bool", "icmp ne {s} {0}, {1}")
for name, predicate in (
    *(("Equal", "eq"), ("NotEqual", "ne")),
    *(("LessThan", "lt"), ("LessThanEqual", "le")),
    *(("GreaterThan", "gt"), ("GreaterThanEqual", "ge")),
):
    each(f"FOrd{name}", "float float -> bool", f"fcmp o{predicate} {{s}} {{0}}, {{1}}")
    each(f"FUnord{name}", "float float -> bool", f"fcmp u{predicate} {{s}} {{0}}, {{1}}")
each("IsNan", "float -> bool", "fcmp uno {s} {0}, {0}")
each("IsInf IsFinite IsNormal SignBitSet", "float -> bool")
each("Ordered", "float float -> bool", "fcmp ord {s} {0}, {1}")
each("Unordered", "float float -> bool", "fcmp uno {s} {0}, {1}")
each("LessOrGreater", "float float -> bool", "fcmp one {s} {0}, {1}")

# --- Truth values -----------------------------------------------------------------------------

each("LogicalAnd", "bool bool -> bool", "and {t} {0}, {1}")
each("LogicalOr", "bool bool -> bool", "or {t} {0}, {1}")
each("LogicalEqual", "bool bool -> bool", "icmp eq {s} {0}, {1}")
each("LogicalNotEqual", "bool bool -> bool", "xor {t} {0}, {1}")
each("LogicalNot", "bool -> bool", "xor {t} {0}, {ones}")
define("All Any", "any -> bool", ARITHMETIC)
define("Select", "any any any -> any", ARITHMETIC, affine=Affine.SELECT)

# --- Conversions and casts --------------------------------------------------------------------

define(
    "UConvert",
    "int -> int",
    CAST,
    componentwise=True,
    affine=Affine.WIDENED,
    rematerialisable=True,
)
define(
    "SConvert", "int -> int", CAST, componentwise=True, affine=Affine.SAME, rematerialisable=True
)
each("FConvert", "float -> float")
each("ConvertFToU ConvertFToS", "float -> int")
each("ConvertSToF ConvertUToF", "int -> float")
define("SatConvertSToU SatConvertUToS", "any -> any", ARITHMETIC)
define("ConvertBF16ToFINTEL ConvertFToBF16INTEL", "any -> any", ARITHMETIC)
define("QuantizeToF16 RoundFToTF32INTEL", "any -> any", ARITHMETIC)
each("ConvertPtrToU", "pointer -> int", "ptrtoint {s} {0} to {t}", affine=Affine.SAME)
each("ConvertUToPtr", "int -> pointer", "inttoptr {s} {0} to {t}", affine=Affine.SAME)
define(
    "Bitcast",
    "any -> any",
    CAST,
    affine=Affine.SAME,
    same_address=True,
    rematerialisable=True,
)
define("Copy", "any -> any", CAST)  # an operand that is not resolved yet
define("CopyObject", "any -> any", CAST, affine=Affine.SAME, same_address=True)
define("CopyLogical", "any -> any", ARITHMETIC, affine=Affine.SAME)
define("ExpectKHR", "any any -> any", ARITHMETIC)
define("FreezeKHR", "any -> any", ARITHMETIC)
define(
    "PtrCastToGeneric GenericCastToPtr",
    "any -> any",
    ARITHMETIC,
    affine=Affine.SAME,
    same_address=True,
)
define("GenericCastToPtrExplicit", "any -> any", ARITHMETIC, divergence=LaneRule.VARYING)
define("GenericPtrMemSemantics", "any -> any", ARITHMETIC)
define("PtrDiff", "any any -> any", ARITHMETIC)
define("SizeOf", "any -> any", ARITHMETIC)

# --- Composites -------------------------------------------------------------------------------

define("CompositeConstruct", "any ... -> any", COMPOSITE)
define("CompositeConstructReplicateEXT", "any -> any", COMPOSITE)
define("CompositeExtract", "any -> any", COMPOSITE, rematerialisable=True)
define("CompositeInsert", "any any -> any", COMPOSITE)
define("VectorExtractDynamic", "any any -> any", COMPOSITE)
define("VectorInsertDynamic", "any any any -> any", COMPOSITE)
define("VectorShuffle", "any any -> any", COMPOSITE)

# --- Functions of OpenCL, and intrinsics of LLVM ------------------------------------------------

define(
    "ExtInst",
    "any ... -> any?",
    ARITHMETIC,
    effect=Effect.READS | Effect.WRITES | Effect.OBSERVABLE,  # those that are given an address
    divergence=LaneRule.SPECIAL,
)
define(
    "llvm.abs llvm.bitreverse llvm.bswap llvm.canonicalize llvm.ceil llvm.copysign llvm.ctlz "
    "llvm.ctpop llvm.cttz llvm.fabs llvm.floor llvm.fma llvm.fmuladd llvm.fshl llvm.fshr "
    "llvm.maximum llvm.maxnum llvm.minimum llvm.minnum llvm.nearbyint llvm.rint llvm.round "
    "llvm.roundeven llvm.sadd.sat llvm.smax llvm.smin llvm.sqrt llvm.sshl.sat llvm.ssub.sat "
    "llvm.trunc llvm.uadd.sat llvm.umax llvm.umin llvm.ushl.sat llvm.usub.sat llvm.is.fpclass",
    "any ... -> any",
    ARITHMETIC,
)
define("ReadClockKHR", "any -> any", ARITHMETIC, effect=Effect.OBSERVABLE)
define("NeverWraps", "any ... -> bool", ARITHMETIC, divergence=LaneRule.UNIFORM)
"""Whether an index wraps in no iteration of a loop (no-wrap loop versioning)."""
