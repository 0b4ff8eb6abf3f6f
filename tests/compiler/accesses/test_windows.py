"""Neighbours that each lane reads at a stride that the program gives: rows, or windows."""

from __future__ import annotations

import re

import numpy as np
import pytest

from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.target.x86 import AVX512
from tests.compiler.runner import program_of, run

WIDTHS = (1, 4, 8, 16, 32, None)
GROUP, GROUPS = 32, 3
ITEMS = GROUP * GROUPS
SOURCE = """
kernel void filter(global const TYPE *from, global TYPE *to, ulong stride, uint count) {
    size_t i = get_global_id(0), at = i * stride;
    if (i < count)
        to[i] = from[at] + 2 * from[at + 1] + 3 * from[at + 2] + 4 * from[at + 3];
}
"""


def source_of(kind: str) -> str:
    return SOURCE.replace("TYPE", kind)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("stride", [1, 2, 4, 7])
@pytest.mark.parametrize(("kind", "dtype"), [("float", "f4"), ("uchar", "u1"), ("short", "i2")])
def test_rows_and_windows(kind: str, dtype: str, stride: int, width: int | None) -> None:
    given = np.random.default_rng(7).integers(0, 20, ITEMS * stride + 4).astype(dtype)
    for count in (ITEMS, ITEMS - 21):
        to = np.zeros(ITEMS, dtype)
        numbers = np.uint64(stride), np.uint32(count)
        program = program_of(source_of(kind))
        run(program, "filter", (GROUPS, 1, 1), (GROUP, 1, 1), given, to, *numbers, width=width)
        first = np.arange(count) * stride
        expected = sum((each + 1) * given[first + each] for each in range(4))
        assert (to[:count] == np.asarray(expected).astype(dtype)).all()
        assert not to[count:].any()


def test_windows_are_read_as_vectors() -> None:
    """Where the stride is 1, which is looked at when the program runs."""
    program = Program(compile_opencl(source_of("float")), target=AVX512)
    text = program.write("filter", (GROUP, 1, 1), 16).text
    assert len(re.findall(r"@llvm\.masked\.load\.v16f32\.p0\(ptr", text)) >= 4
    assert "<4 x float>" in text  # rows of any other length
