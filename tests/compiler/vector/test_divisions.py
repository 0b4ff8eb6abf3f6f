"""Quotients and rests of neighbours by what they share: one division does for all lanes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.typing import NDArray

from groundstate.compiler.program import Program
from tests.compiler.runner import program_of, run

ITEMS, GROUP = 128, 64
WIDTHS = (1, 4, 8, 16, 32, None)
KERNELS = {
    "ints": ("int", "(int)(x + shift)"),
    "uints": ("uint", "x + (uint)shift"),
    "longs": ("long", "(long)x + shift"),
    "ulongs": ("ulong", "x + (ulong)(long)shift"),
    "steps": ("int", "(int)(3 * x + shift)"),
    "downwards": ("int", "(int)(shift - x)"),
}
SHIFTS = (-200, -64, -1, 0, 5, 1000, (1 << 31) - 70)
DIVISORS = (-7, -1, 0, 1, 2, 31, 32, 33, 64, 100, 129, (1 << 31) - 1)


def source() -> str:
    return "".join(
        f"""kernel void {name}(global {kind} *quotients, global {kind} *rests, int shift, int by) {{
            size_t x = get_global_id(0);
            {kind} i = {index}, d = ({kind})by;
            quotients[x] = d ? i / d : 0;
            rests[x] = d ? i % d : 0;
        }}"""
        for name, (kind, index) in KERNELS.items()
    )


def launched(
    program: Program, name: str, width: int | None, shift: int, by: int
) -> list[NDArray[np.generic]]:
    dtype = {"int": np.int32, "uint": np.uint32, "long": np.int64, "ulong": np.uint64}
    both = [np.zeros(ITEMS, dtype[KERNELS[name][0]]) for _ in range(2)]
    given = (np.int32(shift), np.int32(by))
    run(program, name, (ITEMS // GROUP, 1, 1), (GROUP, 1, 1), *both, *given, width=width)
    return both


def expected(name: str, shift: int, by: int) -> tuple[list[int], list[int]]:
    kind, _ = KERNELS[name]
    bits = 64 if "long" in kind else 32
    step = {"steps": 3, "downwards": -1}.get(name, 1)
    least = 0 if kind[0] == "u" else -(1 << (bits - 1))
    numbers = [(step * x + shift - least) % (1 << bits) + least for x in range(ITEMS)]
    divisor = by % (1 << bits) if kind[0] == "u" else by
    if divisor == 0:
        return [0] * ITEMS, [0] * ITEMS
    quotients = [abs(n) // abs(divisor) * (1 if (n < 0) == (divisor < 0) else -1) for n in numbers]
    rests = [n - q * divisor for n, q in zip(numbers, quotients, strict=True)]
    return [(q - least) % (1 << bits) + least for q in quotients], rests


@pytest.mark.parametrize("name", KERNELS)
def test_every_lane_has_its_quotient_and_rest(name: str) -> None:
    program = program_of(source())
    for width in WIDTHS:
        for shift in SHIFTS:
            for by in DIVISORS:
                quotients, rests = launched(program, name, width, shift, by)
                wanted = expected(name, shift, by)
                assert (quotients.tolist(), rests.tolist()) == wanted, (width, shift, by)


def test_rows_and_columns_are_one_access() -> None:
    """Where no row ends between the lanes, what they read lies together."""
    program = program_of("""kernel void crop(global const float *from, global float *to, int width,
        int pitch) {
        int i = get_global_id(0);
        to[i] = from[(i / width) * pitch + i % width];
    }""")
    text = program.write("crop", (64, 1, 1), 16).text
    assert re.search(r"load <16 x float>", text)
    for width in (5, 16, 23, 64, 200):
        given = np.arange(ITEMS * 2, dtype=np.float32)
        to = np.zeros(ITEMS, np.float32)
        sizes = (np.int32(width), np.int32(width + 1))
        run(program, "crop", (2, 1, 1), (64, 1, 1), given, to, *sizes, width=16)
        at = np.arange(ITEMS)
        assert (to == at // width * (width + 1) + at % width).all()


def test_power_of_two_is_no_division() -> None:
    program = program_of("""kernel void halves(global uint *to) {
        uint i = get_global_id(0); to[i] = i / 8 + i % 4; }""")
    assert "divided" not in program.write("halves", (64, 1, 1), 16).text
