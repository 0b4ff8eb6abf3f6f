"""Build options of modules and of OpenCL C: all are taken, and do what they say and no more."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mpf

from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.opencl.options import FLAGS
from groundstate.compiler.program import Program
from groundstate.driver.build_options import KNOWN
from tests.compiler.math_reference import BINARY, UNARY
from tests.compiler.math_support import Array, map_source, samples, ulp_error
from tests.compiler.runner import Local, run
from tests.compiler.test_vectorising import SOURCE

ITEMS = 256
RELAXED = ("-cl-fast-relaxed-math", "-cl-unsafe-math-optimizations", "-cl-finite-math-only")
OTHERS = ("-cl-mad-enable", "-cl-no-signed-zeros", "-cl-denorms-are-zero")
EXPRESSIONS = {
    "divide": ("a / b", lambda a, b: a / b, 2.5),
    "sqrt": ("sqrt(a)", lambda a, b: UNARY["sqrt"].exact(a), 3),
    "recip_sqrt": ("1.0f / sqrt(a)", lambda a, b: UNARY["rsqrt"].exact(a), 4),
    "sin": ("sin(a)", lambda a, b: UNARY["sin"].exact(a), 4),
    "exp": ("exp(-a)", lambda a, b: UNARY["exp"].exact(-a), 3),
    "log": ("log(a)", lambda a, b: UNARY["log"].exact(a), 3),
    "pow": ("pow(a, b)", lambda a, b: BINARY["pow"].exact(a, b), 16),
    "tan": ("tan(b)", lambda a, b: UNARY["tan"].exact(b), 5),
    "fma": ("fma(a, b, 1.0f)", lambda a, b: a * b + 1, 0.5),
}
"""What is computed, the exact result, and the error that OpenCL allows."""


def results(expressions: dict[str, str], options: list[str], *inputs: Array) -> dict[str, Array]:
    """What each expression gives for each element."""
    source = map_source("float", expressions, len(inputs))
    program = Program(compile_opencl(source, options=options))
    out = np.zeros(len(expressions) * ITEMS, np.float32)
    run(program, "f", (ITEMS // 64, 1, 1), (64, 1, 1), *inputs, out, width=8)
    return dict(zip(expressions, out.reshape(len(expressions), -1), strict=True))


@pytest.mark.parametrize("option", [*RELAXED, *OTHERS, "-cl-opt-disable", "-cl-strict-aliasing"])
def test_results_stay_within_the_bounds(option: str) -> None:
    a, b = (np.abs(samples("float", 4 * ITEMS, seed)) for seed in (71, 72))
    usual = [x[(x > 1e-3) & (x < 20)][:ITEMS].copy() for x in (a, b)]
    found = results({name: row[0] for name, row in EXPRESSIONS.items()}, [option], *usual)
    for name, (_, exact, limit) in EXPRESSIONS.items():
        for x, y, result in zip(*usual, found[name], strict=True):
            error = ulp_error("float", float(result), exact(mpf(float(x)), mpf(float(y))))
            assert error <= limit, f"{name}({x!r}, {y!r})"


@pytest.mark.parametrize("options", [[], ["-cl-fp32-correctly-rounded-divide-sqrt"]])
def test_division_and_roots_are_correctly_rounded(options: list[str]) -> None:
    a, b = samples("float", ITEMS, 73), samples("float", ITEMS, 74)
    found = results({"divide": "a / b", "sqrt": "sqrt(fabs(a))"}, options, a, b)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found["divide"], a / b)
    np.testing.assert_array_equal(found["sqrt"], np.sqrt(np.abs(a)))


def test_single_precision_constants() -> None:
    a = samples("float", ITEMS, 75)
    plain = results({"r": "a * 0.1"}, [], a)["r"]
    single = results({"r": "a * 0.1"}, ["-cl-single-precision-constant"], a)["r"]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(plain, (a.astype(np.float64) * 0.1).astype(np.float32))
        np.testing.assert_array_equal(single, a * np.float32(0.1))
    assert (plain != single).any()


def test_small_numbers_stay_unless_they_may_go() -> None:
    """They may become zero with -cl-denorms-are-zero, and must not without."""
    a = (np.arange(1, ITEMS + 1) * np.float32(1e-45)).astype(np.float32)
    np.testing.assert_array_equal(results({"r": "a + a"}, [], a)["r"], a + a)
    allowed = results({"r": "a + a"}, ["-cl-denorms-are-zero"], a)["r"]
    assert ((allowed == a + a) | (allowed == 0)).all()


@pytest.mark.parametrize("option", sorted(FLAGS))
def test_every_option_of_the_language_is_taken(option: str) -> None:
    compile_opencl("kernel void f(global float *a) { *a = 1.0f / *a; }", options=[option])


def sums(options: str) -> tuple[Array, bytes]:
    """What a kernel with barriers and loops computes, and its machine code."""
    program = Program(compile_opencl(SOURCE), options=options)
    given = np.arange(5 * 64, dtype=np.float32)
    out = np.zeros(5, np.float32)
    run(program, "group_sum", (5, 1, 1), (64, 1, 1), given, out, Local(256))
    return out, program.compile("group_sum", (64, 1, 1)).binary


@pytest.mark.parametrize("option", sorted({*KNOWN, "-ze-opt-level=0", "-ze-opt-level=2"}))
def test_options_of_modules_do_not_change_results(option: str) -> None:
    plain, code = sums("")
    found, other = sums(option)
    np.testing.assert_array_equal(found, plain)
    asks_for_none = option in ("-ze-opt-disable", "-cl-opt-disable", "-ze-opt-level=0")
    assert (other == code) is not asks_for_none
    if asks_for_none:
        assert len(other) > len(code)
