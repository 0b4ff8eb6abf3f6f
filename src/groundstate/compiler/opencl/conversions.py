"""Writes the bodies of `convert_T`, `convert_T_sat`, `convert_T_rte` and the like as LLVM IR.

The SPIR-V back end knows only some of these functions, and takes the source of some saturating ones
to be unsigned when it is not. Written as plain LLVM they are right, and can be optimised with the
code around them. Two things are left to one instruction of SPIR-V, which the caller writes:
rounding to a floating-point type in a direction, for which LLVM has no plain instruction, and
saturating from one, for which it has one that only later versions of the back end know.
"""

from __future__ import annotations

import re

from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.opencl import mangling
from groundstate.compiler.opencl.mangling import Type

_NAME = re.compile(r"convert_([a-z]+\d*?)(_sat)?(_rte|_rtz|_rtp|_rtn)?")

_ROUND_TO_INTEGER = {"_rte": "rint", "_rtp": "ceil", "_rtn": "floor"}
"""The LLVM intrinsic to apply before a conversion to an integer, which itself rounds to zero."""


@light_dataclass()
class Conversion:
    """One of the functions."""

    source: Type
    target: Type
    saturate: bool
    rounding: str
    """`_rte`, `_rtz`, `_rtp`, `_rtn`, or nothing for the default of the types."""

    def lines(self) -> list[str]:
        """The instructions that compute it from %0 in %r."""
        if self.target.is_float:
            return _to_float(self.source, self.target)
        if self.source.is_float:
            operation = "fptosi" if self.target.is_signed else "fptoui"
            value = "%whole" if self._whole_number_lines() else "%0"
            last = f"%r = {operation} {self.source.llvm} {value} to {self.target.llvm}"
            return [*self._whole_number_lines(), last]
        return _integer_to_integer(self.source, self.target, self.saturate)

    def instruction(self) -> tuple[list[str], str, str] | None:
        """The instruction of SPIR-V that does it, if that takes one with a decoration.

        With it come the lines that compute its operand, and the operand.

        >>> understand("convert_float_rtz", "l").instruction()
        ([], '%0', 'ConvertSToF.RTZ.i64.f32')
        >>> understand("convert_int_sat", "f").instruction()
        ([], '%0', 'ConvertFToS.SAT.f32.i32')
        """
        kinds = f"{self.source.suffix}.{self.target.suffix}"
        if self.saturate and self.source.is_float and not self.target.is_float:
            first = self._whole_number_lines()
            sign = "S" if self.target.is_signed else "U"
            return first, "%whole" if first else "%0", f"ConvertFTo{sign}.SAT.{kinds}"
        exact = self.source.is_float and self.source.bits <= self.target.bits
        if not self.target.is_float or self.rounding in ("", "_rte") or exact:
            return None
        sign = "S" if self.source.is_signed else "U"
        operation = "FConvert" if self.source.is_float else f"Convert{sign}ToF"
        return [], "%0", f"{operation}.{self.rounding.removeprefix('_').upper()}.{kinds}"

    def _whole_number_lines(self) -> list[str]:
        """The lines that round %0 to %whole, where a conversion to an integer rounds like that."""
        if self.rounding not in _ROUND_TO_INTEGER:
            return []
        kind, suffix = self.source.llvm, self.source.suffix
        return [
            f"%whole = call {kind} @llvm.{_ROUND_TO_INTEGER[self.rounding]}.{suffix}({kind} %0)"
        ]


def understand(plain: str, arguments: str) -> Conversion | None:
    """The conversion that a function does, or None if it is no conversion."""
    match = _NAME.fullmatch(plain)
    source = mangling.argument(arguments)
    target = mangling.named_type(match[1]) if match else None
    if match is None or source is None or target is None or source.count != target.count:
        return None
    return Conversion(source, target, bool(match[2]), match[3] or "")


def _to_float(source: Type, target: Type) -> list[str]:
    if source.is_float:
        return _resize(source, target, "fptrunc", "fpext")
    operation = "sitofp" if source.is_signed else "uitofp"
    return [f"%r = {operation} {source.llvm} %0 to {target.llvm}"]


def _integer_to_integer(source: Type, target: Type, saturate: bool) -> list[str]:
    lines = []
    value = "%0"
    if saturate:
        for name, bound in _bounds(source, target):
            result = f"%{name}"
            intrinsic = f"llvm.{name}.{source.suffix}"
            limit = _constant(source, bound)
            lines.append(
                f"{result} = call {source.llvm} @{intrinsic}({source.llvm} {value}, "
                f"{source.llvm} {limit})"
            )
            value = result
    widen = "sext" if source.is_signed else "zext"
    return lines + _resize(source, target, "trunc", widen, value)


def _bounds(source: Type, target: Type) -> list[tuple[str, int]]:
    """The comparisons, in the source's type, that bring a value into the range of the target."""
    lowest, highest = _range(source)
    target_lowest, target_highest = _range(target)
    sign = "s" if source.is_signed else "u"
    bounds = []
    if target_lowest > lowest:
        bounds.append((f"{sign}max", target_lowest))
    if target_highest < highest:
        bounds.append((f"{sign}min", target_highest))
    return bounds


def _range(integer: Type) -> tuple[int, int]:
    if integer.is_signed:
        return -(1 << integer.bits - 1), (1 << integer.bits - 1) - 1
    return 0, (1 << integer.bits) - 1


def _resize(source: Type, target: Type, narrow: str, widen: str, value: str = "%0") -> list[str]:
    if source.bits == target.bits:
        return [f"%r = bitcast {source.llvm} {value} to {target.llvm}"]
    operation = narrow if target.bits < source.bits else widen
    return [f"%r = {operation} {source.llvm} {value} to {target.llvm}"]


def _constant(integer: Type, value: int) -> str:
    if integer.count == 1:
        return str(value)
    return f"splat (i{integer.bits} {value})"
