"""Functions of doubles for devices without a C library, beside mpmath, on the CPU."""

from __future__ import annotations

import ctypes
import math
import random
from collections.abc import Callable

import llvmlite.binding as llvm
import mpmath
import pytest
from mpmath import mpf

import groundstate.compiler.codegen.thread.kernel  # noqa: F401 - registers the functions
from groundstate.compiler.codegen.text import Text
from groundstate.compiler.math.functions import Body, call
from groundstate.compiler.math.vec import Vec
from groundstate.compiler.target.nvptx import nvptx

PRECISION = 200
COUNT = 400
LARGE_ANGLE = 2.0**30
"""Below it, angles are reduced elsewhere."""
INF, NAN = math.inf, math.nan
ODD = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 3.0, -3.0, -2.0, 1e22, INF, -INF, NAN)
ODD += (5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308)

Reference = Callable[..., mpf | None]


def build(name: str, count: int) -> Callable[..., float]:
    """A function of the device, for the CPU."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    text = Text(nvptx(90))
    body = Body(text)
    result = call(f"device.{name}", *(Vec(body, "double", f"%x{at}") for at in range(count)))
    parameters = ", ".join(f"double %x{at}" for at in range(count))
    lines = [f"define double @f({parameters}) {{", "entry:", *body.lines]
    lines += [f"  ret double {result.name}", "}", *text.declarations.values()]
    module = llvm.parse_assembly("\n".join(lines))
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=llvm.get_host_cpu_name())
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    address = engine.get_function_address("f")
    function = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * count)(address)
    function.engine = engine
    return function


def number(generator: random.Random) -> float:
    """Small and large numbers, and odd ones."""
    sign = generator.choice((-1, 1))
    return generator.choice(
        (
            generator.uniform(-3, 3),
            generator.uniform(-30, 30),
            sign * math.exp(generator.uniform(-20, 20)),
            sign * math.exp(generator.uniform(-700, 700)),
            generator.choice(ODD),
        )
    )


def exact(name: str) -> Reference:
    """The C library's, where that is exact."""

    def write(*arguments: float) -> mpf | None:
        try:
            found = getattr(math, name)(*arguments)
        except ValueError:
            return None
        return None if math.isnan(found) else mpf(found)

    return write


def precise(name: str, domain: Callable[..., bool] = lambda *_: True) -> Reference:
    """mpmath's, for numbers and within a domain; None for what is no number."""

    def write(*arguments: float) -> mpf | None:
        if any(map(math.isnan, arguments)) or not domain(*arguments):
            return None
        return mpmath.re(getattr(mpmath, name)(*map(mpf, arguments)))

    return write


def finite(*arguments: float) -> bool:
    return all(map(math.isfinite, arguments))


def power(x: float, y: float) -> mpf | None:
    try:
        found = math.pow(x, y)
    except ValueError:
        if x == 0:
            odd = y != -INF and y % 2 == 1
            return mpf(math.copysign(INF, x) if odd else INF)
        return None
    except OverflowError:
        return mpf(-INF if x < 0 and y % 2 else INF)
    if math.isnan(found):
        return None
    if not finite(x, y, found) or 0 in (x, y, found):
        return mpf(found)
    return mpmath.power(abs(mpf(x)), mpf(y)) * (-1 if x < 0 and y % 2 else 1)


def arc(y: float, x: float) -> mpf | None:
    if math.isnan(x) or math.isnan(y):
        return None
    return mpmath.atan2(y, x) if finite(x, y) and x and y else mpf(math.atan2(y, x))


def length(x: float, y: float) -> mpf | None:
    return mpf(INF) if math.isinf(x) or math.isinf(y) else precise("hypot")(x, y)


def rest_of_erf(x: float) -> mpf | None:
    return mpf(0) if x > 28 else mpf(2) if x < -28 else precise("erfc")(x)


def gamma(x: float) -> mpf | None:
    if math.isnan(x) or x == -INF or (x < 0 and x == math.floor(x)):
        return None
    if x == 0:
        return mpf(math.copysign(INF, x))
    return mpf(INF) if x > 180 else mpf(0) if x < -200 else mpmath.gamma(mpf(x))


FUNCTIONS: dict[str, tuple[int, Reference, float]] = {
    "fmod": (2, exact("fmod"), 0),
    "remainder": (2, exact("remainder"), 0),
    "pow": (2, power, 16),
    "sin": (1, precise("sin", finite), 4),
    "cos": (1, precise("cos", finite), 4),
    "tan": (1, precise("tan", finite), 5),
    "log1p": (1, precise("log1p", lambda x: x >= -1), 2),
    "sinh": (1, precise("sinh"), 4),
    "cosh": (1, precise("cosh"), 4),
    "tanh": (1, precise("tanh"), 5),
    "asinh": (1, precise("asinh"), 4),
    "acosh": (1, precise("acosh", lambda x: x >= 1), 4),
    "atanh": (1, precise("atanh", lambda x: abs(x) <= 1), 5),
    "atan": (1, precise("atan"), 5),
    "asin": (1, precise("asin", lambda x: abs(x) <= 1), 4),
    "acos": (1, precise("acos", lambda x: abs(x) <= 1), 4),
    "atan2": (2, arc, 6),
    "hypot": (2, length, 4),
    "erf": (1, precise("erf"), 16),
    "erfc": (1, rest_of_erf, 16),
    "tgamma": (1, gamma, 16),
}
"""How many arguments, what it should be, and how far off OpenCL lets it be, in last places."""


def distance(found: float, wanted: mpf | None) -> float:
    """In last places of what is wanted."""
    if wanted is None or math.isnan(found):
        return 0 if wanted is None and math.isnan(found) else INF
    nearest = float(wanted)
    if math.isinf(nearest) or math.isinf(found):
        return 0 if nearest == found else INF
    return float(abs(mpf(found) - wanted) / math.ulp(nearest))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_within_its_bound(name: str) -> None:
    count, reference, bound = FUNCTIONS[name]
    generator = random.Random(name)
    function = build(name, count)
    with mpmath.workprec(PRECISION):
        for _ in range(COUNT):
            given = [number(generator) for _ in range(count)]
            if name in ("sin", "cos", "tan") and abs(given[0]) < LARGE_ANGLE:
                given = [given[0] + math.copysign(LARGE_ANGLE, given[0])]
            wanted = reference(*given)
            assert distance(function(*given), wanted) <= bound, (given, function(*given), wanted)
