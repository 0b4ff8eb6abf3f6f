"""The integer functions of OpenCL C, for every width."""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.codegen.text import overloaded
from groundstate.compiler.math.functions import function
from groundstate.compiler.math.vec import Vec, element


def _width(x: Vec) -> int:
    return int(element(x.t)[1:])


def _flagged(x: Vec, intrinsic: str) -> Vec:
    """An intrinsic whose second operand says what happens in one odd case: nothing special."""
    operands = [(x.t, x.name), ("i1", "false")]
    name = x.text.call(x.t, f"llvm.{intrinsic}.{overloaded(x.t)}", operands)
    return Vec(x.text, x.t, name)


@function("s_abs", in_place=True)
def _abs(x: Vec) -> Vec:
    return _flagged(x, "abs")


@function("u_abs", in_place=True)
def _same(x: Vec) -> Vec:
    return x


@function("clz", in_place=True)
def _clz(x: Vec) -> Vec:
    return _flagged(x, "ctlz")


@function("ctz", in_place=True)
def _ctz(x: Vec) -> Vec:
    return _flagged(x, "cttz")


@function("rotate", in_place=True)
def _rotate(x: Vec, count: Vec) -> Vec:
    return x.call("fshl", x, count)


@function("s_mul24", "u_mul24", in_place=True)
def _multiply24(x: Vec, y: Vec) -> Vec:
    """Arguments outside 24 bits give any result, so the plain product will do."""
    return x * y


@function("s_mad24", "u_mad24", in_place=True)
def _mad24(x: Vec, y: Vec, z: Vec) -> Vec:
    return x * y + z


def _extended(kind: str, *values: Vec) -> list[Vec]:
    """Twice as wide, signed or not."""
    width = 2 * _width(values[0])
    return [x.to_int(width) if kind == "s" else x.zero_extend(width) for x in values]


def _register(kind: str) -> None:
    def shift(x: Vec) -> Vec:
        return x.ashr(1) if kind == "s" else x >> 1

    def high(x: Vec, y: Vec) -> Vec:
        left, right = _extended(kind, x, y)
        return ((left * right) >> _width(x)).to_int(_width(x))

    def multiply_add(x: Vec, y: Vec, z: Vec) -> Vec:
        return high(x, y) + z

    def clamp(x: Vec, low: Vec, top: Vec) -> Vec:
        return x.call(f"{kind}max", low).call(f"{kind}min", top)

    def difference(x: Vec, y: Vec) -> Vec:
        return x.call(f"{kind}max", y) - x.call(f"{kind}min", y)

    def half_add(x: Vec, y: Vec) -> Vec:
        return (x & y) + shift(x ^ y)

    def rounded_half_add(x: Vec, y: Vec) -> Vec:
        return (x | y) - shift(x ^ y)

    def saturated(x: Vec, y: Vec, z: Vec) -> Vec:
        """The product and the sum fit in twice the width."""
        width = _width(x)
        a, b, c = _extended(kind, x, y, z)
        total = a * b + c
        if kind == "u":
            return total.call("umin", (1 << width) - 1).to_int(width)
        top = (1 << (width - 1)) - 1
        return total.call("smin", top).call("smax", -top - 1).to_int(width)

    def upsample(top: Vec, low: Vec) -> Vec:
        (wide,) = _extended("u", top)
        return (wide << _width(top)) | _extended("u", low)[0]

    formulas: dict[str, Callable[..., Vec]] = {
        "mul_hi": high,
        "mad_hi": multiply_add,
        "clamp": clamp,
        "abs_diff": difference,
        "hadd": half_add,
        "rhadd": rounded_half_add,
        "mad_sat": saturated,
        "upsample": upsample,
    }
    for name, formula in formulas.items():
        function(f"{kind}_{name}", in_place=True)(formula)


for _kind in ("s", "u"):
    _register(_kind)
