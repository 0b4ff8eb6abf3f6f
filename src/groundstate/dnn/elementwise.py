"""The functions of one element: which parameters they take, their values and their derivatives.

Each is a row of OpenCL C expressions. `s` is the element (or, for those whose derivative is made
of the result, the result), `a` and `b` are the parameters, `d` is the derivative that comes from
above. `{0.5}` is a literal of the type that is computed in.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from groundstate.dnn.errors import invalid, require
from groundstate.dnn.types import Algorithm, DataType

A = Algorithm


class Function(NamedTuple):
    """A function and its derivative, times `d`; no derivative where there is none."""

    forward: str
    backward: str = ""


def _logistic(argument: str) -> str:
    return f"({{1}} / ({{1}} + exp(-({argument}))))"


def _soft_relu(argument: str) -> str:
    return f"(({argument}) < {{88.72283}} ? log1p(exp({argument})) : ({argument}))"


_GELU_ARGUMENT = "({0.7978845608028654} * s * ({1} + {0.044715} * s * s))"
_GELU_SLOPE = "({0.7978845608028654} * ({1} + {0.134145} * s * s))"
# tanh(log(1 + e)) is n / (n + 2) with n = e * (e + 2).
_MISH_PART = "exp(s) * (exp(s) + {2})"
_MISH_TANH = f"(s > {{20}} ? {{1}} : {_MISH_PART} / ({_MISH_PART} + {{2}}))"

TABLE = {
    A.eltwise_relu: Function("s > {0} ? s : s * a", "s > {0} ? d : d * a"),
    # 1 - tanh(s) * tanh(s), without a difference of numbers that are nearly the same.
    A.eltwise_tanh: Function(
        "tanh(s)", f"d * {{4}} * {_logistic('{2} * s')} * {_logistic('{-2} * s')}"
    ),
    A.eltwise_elu: Function("s > {0} ? s : a * expm1(s)", "d * (s > {0} ? {1} : a * exp(s))"),
    A.eltwise_square: Function("s * s", "d * {2} * s"),
    A.eltwise_abs: Function("fabs(s)", "s > {0} ? d : (s < {0} ? -d : {0})"),
    A.eltwise_sqrt: Function("sqrt(s)", "d / ({2} * sqrt(s))"),
    A.eltwise_linear: Function("a * s + b", "d * a"),
    A.eltwise_soft_relu: Function(f"{_soft_relu('s * a')} / a", f"d * {_logistic('s * a')}"),
    A.eltwise_hardsigmoid: Function(
        "a * s + b <= {0} ? {0} : (a * s + b >= {1} ? {1} : a * s + b)",
        "a * s + b <= {0} ? {0} : (a * s + b >= {1} ? {0} : d * a)",
    ),
    A.eltwise_logistic: Function(_logistic("s"), f"d * {_logistic('s')} * {_logistic('-s')}"),
    A.eltwise_exp: Function("exp(s)", "d * exp(s)"),
    # (1 + tanh(g)) / 2 is the logistic function of 2g, which stays exact where both are tiny.
    A.eltwise_gelu_tanh: Function(
        f"s * {_logistic(f'{{2}} * {_GELU_ARGUMENT}')}",
        f"d * {_logistic(f'{{2}} * {_GELU_ARGUMENT}')} * ({{1}} + "
        f"s * {{2}} * {_logistic(f'{{-2}} * {_GELU_ARGUMENT}')} * {_GELU_SLOPE})",
    ),
    A.eltwise_swish: Function(
        f"s * {_logistic('a * s')}",
        f"d * {_logistic('a * s')} * ({{1}} + s * a * {_logistic('-a * s')})",
    ),
    A.eltwise_log: Function("log(s)", "d / s"),
    A.eltwise_clip: Function(
        "(s > a ? s : a) > b ? b : (s > a ? s : a)", "a < s && s <= b ? d : d * {0}"
    ),
    A.eltwise_clip_v2: Function(
        "(s > a ? s : a) < b ? (s > a ? s : a) : b", "a < s && s < b ? d : d * {0}"
    ),
    A.eltwise_pow: Function("a * pow(s, b)", "b == {0} ? {0} : d * (a * b * pow(s, b - {1}))"),
    A.eltwise_gelu_erf: Function(
        "s * gs_below(s)", "d * (gs_below(s) + s * {0.3989422804014327} * gs_bell(s))"
    ),
    A.eltwise_round: Function("rint(s)"),
    A.eltwise_mish: Function(
        f"s * {_MISH_TANH}",
        f"d * ({_MISH_TANH} + s * {_logistic('s')} * ({{1}} - {_MISH_TANH} * {_MISH_TANH}))",
    ),
    A.eltwise_hardswish: Function(
        "s * (a * s + b <= {0} ? {0} : (a * s + b >= {1} ? {1} : a * s + b))",
        "a * s + b <= {0} ? {0} : (a * s + b >= {1} ? d : d * ({2} * a * s + b))",
    ),
}

_IN_DOUBLE = {
    A.eltwise_gelu_erf: Function(
        "{0.5} * s * erfc(-s * {0.7071067811865476})",
        "d * {0.5} * (erfc(-s * {0.7071067811865476}) + "
        "s * {0.7978845608028654} * exp({-0.5} * s * s))",
    ),
}
"""Where what is fitted for single precision does not do."""

_FROM_RESULT = {
    A.eltwise_relu_use_dst_for_bwd: "s > {0} ? d : d * a",
    A.eltwise_tanh_use_dst_for_bwd: "d * ({1} - s) * ({1} + s)",
    A.eltwise_elu_use_dst_for_bwd: "d * (s > {0} ? {1} : s + a)",
    A.eltwise_sqrt_use_dst_for_bwd: "d / ({2} * s)",
    A.eltwise_logistic_use_dst_for_bwd: "d * s * ({1} - s)",
    A.eltwise_exp_use_dst_for_bwd: "d * s",
    A.eltwise_clip_v2_use_dst_for_bwd: "a < s && s < b ? d : d * {0}",
}
"""Derivatives that are made of the function's result."""

for _algorithm, _backward in _FROM_RESULT.items():
    _plain: Algorithm = getattr(A, _algorithm.name.removesuffix("_use_dst_for_bwd"))
    TABLE[_algorithm] = Function(TABLE[_plain].forward, _backward)


def uses_result(algorithm: Algorithm) -> bool:
    """True if the derivative is made of the result instead of the argument."""
    return algorithm in _FROM_RESULT


def checked(value: int, alpha: float, beta: float, data_type: DataType = DataType.f32) -> Algorithm:
    """The algorithm of a number, if it can be used with these parameters and this type."""
    if value not in TABLE:
        invalid(f"{value} is not a function of one element")
    algorithm = A(value)
    if algorithm in (A.eltwise_clip, A.eltwise_clip_v2, A.eltwise_clip_v2_use_dst_for_bwd):
        require(beta >= alpha, f"cannot clip to {alpha} ... {beta}")
    if algorithm in (A.eltwise_relu_use_dst_for_bwd, A.eltwise_elu_use_dst_for_bwd):
        require(alpha >= 0, "the result tells nothing of the argument if alpha is negative")
    whole = data_type in (DataType.s32, DataType.s8, DataType.u8)
    fits = not whole or algorithm in (A.eltwise_relu, A.eltwise_linear, A.eltwise_clip)
    require(fits, f"{algorithm.name} is not for {data_type.name}")
    if algorithm == A.eltwise_round:
        require(data_type == DataType.f32, "rounding is for f32")
    return algorithm


def literal(value: float, double: bool = False) -> str:
    """A number in OpenCL C.

    >>> literal(0.5), literal(1, double=True), literal(float("-inf"))
    ('0.5f', '1.0', '(-INFINITY)')
    """
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = repr(float(value)) + ("" if double else "f")
    return f"({text})" if value < 0 else text


def _function(algorithm: Algorithm, double: bool) -> Function:
    return _IN_DOUBLE.get(algorithm, TABLE[algorithm]) if double else TABLE[algorithm]


def _text(expression: str, names: dict[str, str], double: bool) -> str:
    filled = re.sub(r"\{(-?[\d.]+)\}", lambda m: literal(float(m[1]), double), expression)
    return re.sub(r"\b[sdab]\b", lambda m: names[m[0]], filled)


def forward_text(
    algorithm: Algorithm, s: str, alpha: float, beta: float, *, double: bool = False
) -> str:
    """The function of the variable `s` as an expression.

    >>> forward_text(Algorithm.eltwise_relu, "x", 0.1, 0.0)
    'x > 0.0f ? x : x * 0.1f'
    """
    names = {"s": s, "a": literal(alpha, double), "b": literal(beta, double)}
    return _text(_function(algorithm, double).forward, names, double)


def backward_text(
    algorithm: Algorithm, d: str, s: str, alpha: float, beta: float, *, double: bool = False
) -> str:
    """The derivative at the variable `s`, times `d`, as an expression."""
    names = {"d": d, "s": s, "a": literal(alpha, double), "b": literal(beta, double)}
    return _text(_function(algorithm, double).backward, names, double)
