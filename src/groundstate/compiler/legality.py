"""What the instructions of a kernel may be given: numbers where numbers are needed, and so on.

A module is not validated as a whole, for real ones break rules that do not matter. But what is
written later relies on the kinds of operands, and LLVM stops the whole program when it meets
something that it was not made for; so the kinds are looked at before anything is made of them.
"""

from __future__ import annotations

from groundstate.compiler.codegen.problems import Problems
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.spirv.types import Array, Bool, Float, Int, Pointer, Struct, Type, Vector

MAX_INTEGER_BITS = 128
"""Wider ones have no conversions to floating-point numbers, and divisions of any length."""

KINDS: dict[str, tuple[type[Type], ...]] = {
    "integer": (Int, Bool),
    "float": (Float,),
    "truth value": (Bool, Int),
    "pointer": (Pointer,),
    "number": (Int, Bool, Pointer),
}
"""Some compilers compare addresses, and count with truth values, as if they were integers."""

ROWS: dict[str, tuple[str, str]] = {
    "IAdd ISub IMul UDiv SDiv UMod SMod SRem BitwiseAnd BitwiseOr BitwiseXor SNegate Not BitCount "
    "BitReverse ShiftLeftLogical ShiftRightLogical ShiftRightArithmetic UConvert SConvert": (
        "integer",
        "integer",
    ),
    "FAdd FSub FMul FDiv FRem FMod FNegate FConvert": ("float", "float"),
    "IEqual INotEqual UGreaterThan SGreaterThan UGreaterThanEqual SGreaterThanEqual ULessThan "
    "SLessThan ULessThanEqual SLessThanEqual": ("truth value", "number"),
    "FOrdEqual FUnordEqual FOrdNotEqual FUnordNotEqual FOrdLessThan FUnordLessThan FOrdGreaterThan "
    "FUnordGreaterThan FOrdLessThanEqual FUnordLessThanEqual FOrdGreaterThanEqual "
    "FUnordGreaterThanEqual IsNan IsInf IsFinite IsNormal SignBitSet Ordered Unordered "
    "LessOrGreater": ("truth value", "float"),
    "LogicalAnd LogicalOr LogicalEqual LogicalNotEqual LogicalNot": ("truth value", "truth value"),
    "ConvertFToU ConvertFToS": ("integer", "float"),
    "ConvertSToF ConvertUToF": ("float", "integer"),
    "ConvertPtrToU": ("integer", "pointer"),
    "ConvertUToPtr": ("pointer", "integer"),
}
"""Instructions, the kind of their result, and that of their operands."""

TABLE = {name: kinds for names, kinds in ROWS.items() for name in names.split()}


def check_operands(kernel: Kernel) -> None:
    """Raises BuildError if there are instructions whose operands are of the wrong kind."""
    problems = Problems(kernel.name)
    for node in kernel.nodes():
        kinds = TABLE.get(node.op)
        reason = _reason_against(node, *kinds) if kinds is not None else ""
        if _bits(node.type) > MAX_INTEGER_BITS:
            reason = f"integers of {_bits(node.type)} bits are not supported"
        if reason:
            problems.add(node, BuildError(reason))
    problems.check()


def _reason_against(node: Node, result: str, operand: str) -> str:
    shape, element = _parts(node.type)
    if not isinstance(element, KINDS[result]):
        return f"its result is a {node.type}, and not made of {result}s"
    for each in node.operands:
        count, kind = _parts(each.type)
        if not isinstance(kind, KINDS[operand]):
            return f"it is given a {each.type}, and takes {operand}s"
        if count != shape:
            return f"its result is a {node.type}, and it is given a {each.type}"
    return ""


def _parts(type_: Type) -> tuple[int, Type]:
    """How many components a value has, and their type."""
    return (type_.count, type_.element) if isinstance(type_, Vector) else (1, type_)


def _bits(type_: Type) -> int:
    """The bits of the widest integer in a type."""
    if isinstance(type_, Int):
        return type_.width
    if isinstance(type_, Vector | Array):
        return _bits(type_.element)
    return max(map(_bits, type_.members), default=0) if isinstance(type_, Struct) else 0
