"""Division by zero gives the dividend; what lanes without work divide costs the others nothing."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

from groundstate.compiler.codegen.arithmetic.tables import WRITERS
from groundstate.compiler.codegen.text import Text
from groundstate.compiler.ir.ops import OPERATIONS
from groundstate.compiler.llvm import service
from groundstate.compiler.spirv.types import Int
from groundstate.compiler.target import ANY_CPU
from tests.compiler.runner import program_of, run

PAIR = "<2 x i32>"
FUNCTION = """
define void @run(ptr %from, ptr %to) {{
  %dividend = load {pair}, ptr %from
{lines}
  %known = extractelement {pair} {result}, i64 0
  store i32 %known, ptr %to
  ret void
}}
"""


@pytest.mark.parametrize(
    ("name", "expected"), [("UDiv", 14), ("SDiv", 14), ("UMod", 2), ("SRem", 2), ("SMod", 2)]
)
def test_a_divisor_that_nobody_knows_is_one_number(name: str, expected: int) -> None:
    """LLVM may take it for anything: if for a zero, it need not divide in the other lane either."""
    text = Text(ANY_CPU)
    result = WRITERS[name](text, PAIR, PAIR, ["%dividend", "<i32 7, i32 undef>"])
    function = FUNCTION.format(pair=PAIR, lines="\n".join(text.lines), result=result)
    linked = service.link(service.object_code(function, 4))
    dividends, quotient = (ctypes.c_int * 2)(100, 100), ctypes.c_int(-1)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(linked.address)
    run(ctypes.addressof(dividends), ctypes.addressof(quotient))
    assert quotient.value == expected


# --- By zero --------------------------------------------------------------------------------------

NAMES = {
    "char": "int8",
    "uchar": "uint8",
    "short": "int16",
    "ushort": "uint16",
    "int": "int32",
    "uint": "uint32",
    "long": "int64",
    "ulong": "uint64",
}
DIVISION = """
kernel void each(global const T *a, global const T *b, global T *quotients, global T *rests) {
    size_t i = get_global_id(0);
    quotients[i] = a[i] / b[i];
    rests[i] = a[i] % b[i];
}
kernel void vectors(global const T *a, global const T *b, global T *quotients, global T *rests) {
    size_t i = get_global_id(0);
    if (i < 16) {
        vstore4(vload4(i, a) / vload4(i, b), i, quotients);
        vstore4(vload4(i, a) % vload4(i, b), i, rests);
    }
}
kernel void by_one_for_all(global const T *a, global const T *b, global T *quotients,
                           global T *rests) {
    size_t i = get_global_id(0);
    quotients[i] = a[i] / b[0];
    rests[i] = a[i] % b[0];
}
kernel void of_one_for_all(global const T *a, global const T *b, global T *quotients,
                           global T *rests) {
    quotients[get_global_id(0)] = a[0] / b[0];
    rests[get_global_id(0)] = a[0] % b[0];
}
"""


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("width", [1, 16])
def test_division_by_zero_gives_the_dividend_and_leaves_it(kind: str, width: int) -> None:
    program = program_of(DIVISION.replace("T *", f"{kind} *"))
    numbers = np.random.default_rng(3).integers(0, 256, 512, np.uint8).view(NAMES[kind])[:64]
    numbers[:2] = np.iinfo(NAMES[kind]).min, np.iinfo(NAMES[kind]).max
    for kernel in ("each", "vectors", "by_one_for_all", "of_one_for_all"):
        quotients, rests = np.zeros_like(numbers), np.ones_like(numbers)
        zeros = np.zeros_like(numbers)
        run(program, kernel, (2, 1, 1), (32, 1, 1), numbers, zeros, quotients, rests, width=width)
        dividends = np.full_like(numbers, numbers[0]) if kernel == "of_one_for_all" else numbers
        np.testing.assert_array_equal(quotients, dividends)
        np.testing.assert_array_equal(rests, dividends)


@pytest.mark.parametrize("kind", ["char", "short", "int", "long"])
@pytest.mark.parametrize("width", [1, 16])
def test_least_number_divided_by_minus_one_is_itself(kind: str, width: int) -> None:
    program = program_of(DIVISION.replace("T *", f"{kind} *"))
    least = np.full(64, np.iinfo(NAMES[kind]).min, NAMES[kind])
    for kernel in ("each", "vectors", "by_one_for_all"):
        quotients, rests = np.zeros_like(least), np.ones_like(least)
        divisors = np.full_like(least, -1)
        run(program, kernel, (2, 1, 1), (32, 1, 1), least, divisors, quotients, rests, width=width)
        np.testing.assert_array_equal(quotients, least)
        np.testing.assert_array_equal(rests, np.zeros_like(least))


@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize("name", ["UDiv", "SDiv", "UMod", "SRem", "SMod"])
def test_constants_are_divided_as_in_running_code(name: str, width: int) -> None:
    fold = OPERATIONS[name].fold
    assert fold is not None

    def divided(dividend: int, divisor: int) -> int:
        return fold.compute(Int(width), Int(width), dividend, divisor)

    minus_one = (1 << width) - 1
    for dividend in (0, 1, 100, minus_one, 1 << (width - 1)):
        assert divided(dividend, 0) == dividend
        assert divided(dividend, 1) == (dividend if "Div" in name else 0)
        if name.startswith("S"):
            expected = -dividend & minus_one if name == "SDiv" else 0
            assert divided(dividend, minus_one) == expected


# --- Lanes that a mask excludes -------------------------------------------------------------------

MASKED = """
kernel void rest(global const long *a, global const long *b, global long *out, uint step) {
    size_t i = get_global_id(0) * step;
    if (b[i] != 0) out[i] = a[i] % b[i];
}
kernel void rest_in_order(global const int *a, global const int *b, global int *out) {
    size_t i = get_global_id(0);
    if (b[i] != 0) out[i] = a[i] % b[i];
}
"""


@pytest.mark.parametrize("name", ["rest", "rest_in_order"])
def test_lanes_that_a_mask_excludes_load_a_known_number(name: str) -> None:
    """LLVM 22 gives poison that it drops from a masked load another register at each use."""
    text = program_of(MASKED).write(name, (3, 1, 1), 16).text
    loads = re.findall(r"call .*@llvm\.masked\.(?:load|gather)\..*", text)
    assert loads or "gather." in text
    assert not [line for line in loads if line.endswith("poison)")]
