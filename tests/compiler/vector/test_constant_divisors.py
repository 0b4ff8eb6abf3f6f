"""Numbers of 64 bits that each lane divides by a constant."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.codegen.arithmetic.constant_divisors import reciprocal
from groundstate.compiler.program import Program
from tests.compiler.runner import program_of, run

DIVISORS = {
    "long": (3, -7, 10, 1000, 1000000007, -(10**18), 2**63 - 1, -(2**63) + 1, 64),
    "ulong": (3, 7, 14, 100, 641, 10**19, 2**64 - 1, 2**63 + 1, 0x9E3779B97F4A7C15, 1 << 40),
}
SUFFIX = {"long": "L", "ulong": "UL"}
SOURCE = "".join(
    f"""kernel void by_{kind}_{index}(global const {kind} *from, global {kind} *quotients,
                                  global {kind} *rests) {{
        size_t i = get_global_id(0);
        {kind} d = {by}{SUFFIX[kind]};
        quotients[i] = from[i] / d;
        rests[i] = from[i] % d;
    }}"""
    for kind, divisors in DIVISORS.items()
    for index, by in enumerate(divisors)
)
ITEMS = 256


def dividends(by: int) -> np.ndarray:
    """Multiples of a divisor and their neighbours, the largest numbers, and any."""
    some = np.random.default_rng(abs(by) % 1000).integers(0, 1 << 64, ITEMS, np.uint64)
    whole = some[:64] // np.uint64(abs(by)) * np.uint64(abs(by))
    some[:64], some[64:128] = whole, whole - np.uint64(1)
    some[-8:] = [0, 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1, abs(by)]
    return some


def check(program: Program, kind: str, index: int, width: int | None) -> None:
    by, dtype = DIVISORS[kind][index], np.int64 if kind == "long" else np.uint64
    given = dividends(by).view(dtype)
    results = np.zeros((2, ITEMS), dtype)
    run(program, f"by_{kind}_{index}", (4, 1, 1), (64, 1, 1), given, *results, width=width)
    for number, quotient, rest in zip(given.tolist(), *results.tolist(), strict=True):
        sign = -1 if (number < 0) != (by < 0) else 1
        assert quotient == sign * (abs(number) // abs(by)), (number, by)
        assert rest == number - quotient * by, (number, by)


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.mark.parametrize("width", [1, 8, 16, None])
@pytest.mark.parametrize("kind", DIVISORS)
def test_quotients_and_rests_are_exact(program: Program, kind: str, width: int | None) -> None:
    for index in range(len(DIVISORS[kind])):
        check(program, kind, index, width)


def test_reciprocals_of_all_forms_are_exact() -> None:
    forms = set()
    random = np.random.default_rng(3)
    for by in [
        *range(3, 2000),
        *(int(each) for each in random.integers(3, 1 << 64, 500, np.uint64)),
    ]:
        if by & (by - 1) == 0:
            continue
        found = reciprocal(by)
        forms.add((found.before > 0, found.has_65_bits))
        last = (1 << 64) // by * by
        for number in (0, by - 1, by, last - 1, min(last, (1 << 64) - 1), (1 << 64) - 1):
            shifted = number >> found.before
            high = shifted * found.factor >> 64
            if found.has_65_bits:
                high += shifted
            assert high >> found.after == number // by, (number, by)
    assert forms == {(False, False), (True, False), (False, True)}


@pytest.mark.parametrize(("kind", "masks"), [("ulong", 1), ("long", 0)])
def test_rest_without_sign_is_known_to_be_small(kind: str, masks: int) -> None:
    program = program_of(f"""__kernel void rest(__global {kind} *numbers) {{
        size_t i = get_global_id(0); numbers[i] = numbers[i] % 1000003; }}""")
    text = program.write("rest", (64, 1, 1), 16).text
    assert text.count(f"splat (i64 {(1 << 20) - 1})") == masks
