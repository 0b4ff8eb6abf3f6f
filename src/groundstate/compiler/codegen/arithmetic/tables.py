"""Operations that act on each lane and each component alike.

Most are one LLVM instruction, for which their row (ir/ops_arithmetic.py) has a template: `{t}` is
the type of the result, `{s}` that of the first operand, `{0}` `{1}` the operands, `{f}` fast-math
flags; types are vectors of lanes when the values are. Here are those that take several.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.codegen.text import Text, overloaded
from groundstate.compiler.ir.ops import OPERATIONS

Writer = Callable[[Text, str, str, list[str]], str]
"""Text, result type, operand type, operand names -> result name."""


def _shift(kind: str) -> Writer:
    """OpenCL takes the shift modulo the width; LLVM leaves a larger one undefined."""

    def write(text: Text, t: str, s: str, operands: list[str]) -> str:
        del s
        width = int(t.rstrip(">").rsplit("i", 1)[1])
        most = _spread(t, str(width - 1))
        if _is_below(operands[1], width):
            amount = operands[1]
        elif width & (width - 1):  # an odd width: too far is undefined, and must not be poison
            amount = _intrinsic("umin")(text, t, t, [operands[1], most])
        else:
            amount = text.emit(f"and {t} {operands[1]}, {most}")
        return text.emit(f"{kind} {t} {operands[0]}, {amount}")

    return write


def _is_below(name: str, width: int) -> bool:
    """True of a constant, for all lanes, from 0 up to a width."""
    digits = name.removeprefix("splat (").removesuffix(")").rpartition(" ")[2]
    return digits.isdecimal() and int(digits) < width


def _spread(t: str, number: str) -> str:
    return number if not t.startswith("<") else f"splat ({t[1:-1].split(' x ')[1]} {number})"


def _divide(kind: str) -> Writer:
    """A division that never faults: by zero, and of the least number by -1, it is one by 1. So the
    quotient is the dividend. The rest of one by zero is the dividend, too: then the quotient times
    the divisor and the rest are the dividend, which compilers rely on."""

    def write(text: Text, t: str, s: str, operands: list[str]) -> str:
        del s
        # An inactive lane may hold anything, to LLVM even two things at a time: one for the
        # comparison, and a zero for the division.
        dividend, divisor = (text.emit(f"freeze {t} {each}") for each in operands)
        i1 = t.replace(t.strip("<>").split(" x ")[-1], "i1")
        one, zero = _spread(t, "1"), _spread(t, "0")
        bad = is_zero = text.emit(f"icmp eq {t} {divisor}, {zero}")
        if kind in ("sdiv", "srem"):
            width = int(t.rstrip(">").rsplit("i", 1)[1])
            least = text.emit(f"icmp eq {t} {dividend}, {_spread(t, str(-(1 << (width - 1))))}")
            minus = text.emit(f"icmp eq {t} {divisor}, {_spread(t, '-1')}")
            both = text.emit(f"and {i1} {least}, {minus}")
            bad = text.emit(f"or {i1} {bad}, {both}")
        safe = text.emit(f"select {i1} {bad}, {t} {one}, {t} {divisor}")
        result = text.emit(f"{kind} {t} {dividend}, {safe}")
        if kind in ("srem", "urem"):
            return text.emit(f"select {i1} {is_zero}, {t} {dividend}, {t} {result}")
        return result

    return write


def _modulo(text: Text, t: str, s: str, operands: list[str]) -> str:
    """SMod: the result has the sign of the divisor."""
    rest = _divide("srem")(text, t, s, operands)
    zero = _spread(t, "0")
    i1 = t.replace(t.strip("<>").split(" x ")[-1], "i1")
    signs = text.emit(f"xor {t} {rest}, {operands[1]}")
    differ = text.emit(f"icmp slt {t} {signs}, {zero}")
    some = text.emit(f"icmp ne {t} {rest}, {zero}")
    fix = text.emit(f"and {i1} {differ}, {some}")
    fixed = text.emit(f"add {t} {rest}, {operands[1]}")
    return text.emit(f"select {i1} {fix}, {t} {fixed}, {t} {rest}")


def _intrinsic(name: str) -> Writer:
    def write(text: Text, t: str, s: str, operands: list[str]) -> str:
        del s
        return text.call(t, f"llvm.{name}.{overloaded(t)}", [(t, each) for each in operands])

    return write


def _count_zeros(name: str) -> Writer:
    """Leading or trailing zeros; of zero, the width."""

    def write(text: Text, t: str, s: str, operands: list[str]) -> str:
        del s
        function = f"llvm.{name}.{overloaded(t)}"
        return text.call(t, function, [(t, operands[0]), ("i1", "false")])

    return write


def _distance(sign: str) -> Writer:
    """The absolute difference of two numbers, as an unsigned one."""

    def write(text: Text, t: str, s: str, operands: list[str]) -> str:
        more, less = (_intrinsic(f"{sign}{end}")(text, t, s, operands) for end in ("max", "min"))
        return text.emit(f"sub {t} {more}, {less}")

    return write


def _average(shift: str, up: bool) -> Writer:
    """Half of a sum that may not fit, rounded down or up: what two numbers share, and half of the
    rest."""

    def write(text: Text, t: str, s: str, operands: list[str]) -> str:
        del s
        first, second = operands
        differ = text.emit(f"xor {t} {first}, {second}")
        half = text.emit(f"{shift} {t} {differ}, {_spread(t, '1')}")
        shared = text.emit(f"{'or' if up else 'and'} {t} {first}, {second}")
        return text.emit(f"{'sub' if up else 'add'} {t} {shared}, {half}")

    return write


def _multiply_half(extend: str) -> Writer:
    """A product with the lower half of the second operand."""

    def write(text: Text, t: str, s: str, operands: list[str]) -> str:
        del s
        scalar = t.strip("<>").split(" x ")[-1]
        narrow = t.replace(scalar, f"i{int(scalar[1:]) // 2}")
        low = text.emit(f"trunc {t} {operands[1]} to {narrow}")
        wide = text.emit(f"{extend} {narrow} {low} to {t}")
        return text.emit(f"mul {t} {operands[0]}, {wide}")

    return write


def _is_class(mask: int) -> Writer:
    """llvm.is.fpclass with a set of classes: infinite 0x204, normal 0x108, finite 0x1f8."""

    def write(text: Text, t: str, s: str, operands: list[str]) -> str:
        function = f"llvm.is.fpclass.{overloaded(s)}"
        text.declarations.setdefault(function, f"declare {t} @{function}({s}, i32 immarg)")
        return text.emit(f"call {t} @{function}({s} {operands[0]}, i32 {mask})")

    return write


def _sign_bit(text: Text, t: str, s: str, operands: list[str]) -> str:
    element = s.strip("<>").split(" x ")[-1]
    bits = s.replace(element, {"half": "i16", "float": "i32", "double": "i64"}[element])
    plain = text.emit(f"bitcast {s} {operands[0]} to {bits}")
    return text.emit(f"icmp slt {bits} {plain}, {_spread(bits, '0')}")


WRITERS: dict[str, Writer] = {
    "ShiftLeftLogical": _shift("shl"),
    "ShiftRightLogical": _shift("lshr"),
    "ShiftRightArithmetic": _shift("ashr"),
    "UDiv": _divide("udiv"),
    "SDiv": _divide("sdiv"),
    "UMod": _divide("urem"),
    "SRem": _divide("srem"),
    "SMod": _modulo,
    "UCountLeadingZerosINTEL": _count_zeros("ctlz"),
    "UCountTrailingZerosINTEL": _count_zeros("cttz"),
    "AbsISubINTEL": _distance("s"),
    "AbsUSubINTEL": _distance("u"),
    "IAddSatINTEL": _intrinsic("sadd.sat"),
    "UAddSatINTEL": _intrinsic("uadd.sat"),
    "ISubSatINTEL": _intrinsic("ssub.sat"),
    "USubSatINTEL": _intrinsic("usub.sat"),
    "IAverageINTEL": _average("ashr", up=False),
    "UAverageINTEL": _average("lshr", up=False),
    "IAverageRoundedINTEL": _average("ashr", up=True),
    "UAverageRoundedINTEL": _average("lshr", up=True),
    "IMul32x16INTEL": _multiply_half("sext"),
    "UMul32x16INTEL": _multiply_half("zext"),
    "FmaKHR": _intrinsic("fma"),
    "ArithmeticFenceEXT": _intrinsic("arithmetic.fence"),
    "BitCount": _intrinsic("ctpop"),
    "BitReverse": _intrinsic("bitreverse"),
    "IsInf": _is_class(0x204),
    "IsFinite": _is_class(0x1F8),
    "IsNormal": _is_class(0x108),
    "SignBitSet": _sign_bit,
}
"""Instructions that take more than one LLVM instruction."""


def write_operation(
    text: Text, op: str, t: str, s: str, operands: list[str], flags: str
) -> str | None:
    """Writes an operation by its template or the table above; None if it has neither. Flags are
    what LLVM may do with floats."""
    template = OPERATIONS[op].llvm
    if template:
        zero, ones = _spread(t, "0"), _spread(t, "true" if t.endswith(("i1", "i1>")) else "-1")
        return text.emit(template.format(*operands, t=t, s=s, f=flags, zero=zero, ones=ones))
    writer = WRITERS.get(op)
    return writer(text, t, s, operands) if writer is not None else None
