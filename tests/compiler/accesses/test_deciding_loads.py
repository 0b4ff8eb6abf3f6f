"""Loads that decide how long lanes stay in a loop: they do not wait for the lanes that are left."""

from __future__ import annotations

import ctypes
import mmap
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from groundstate.compiler.light_dataclass import replace
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.target.host import host
from groundstate.compiler.target.x86 import AVX2, AVX512
from tests.compiler.runner import program_of, run

SOURCE = """
kernel void search(global const TYPE *text, constant TYPE *what, int length, int n,
                   global uchar *found) {
    int i = get_global_id(0), same = 0;
    if (i >= n) return;
    while (same < length && text[i + same] == what[same]) same++;
    found[i] = same == length;
}
kernel void run_of(global const TYPE *text, int n, global uchar *length) {
    int i = get_global_id(0), k = 0;
    if (i >= n) return;
    do k++; while (k < n - i && text[i + k] == text[i]);
    length[i] = k;
}
kernel void sum(global const TYPE *text, global const int *last, global int *total) {
    int i = get_global_id(0), sum = 0;
    for (int k = 0; k < last[i]; k++) sum += text[i + k];
    total[i] = sum;
}
"""
TYPES: dict[str, np.dtype[Any]] = {
    "uchar": np.dtype(np.uint8),
    "ushort": np.dtype(np.uint16),
    "int": np.dtype(np.int32),
    "long": np.dtype(np.int64),
}
ITEMS, LENGTH = 192, 3
WIDTHS = (1, 4, 16, None)
PAGE = mmap.PAGESIZE


@pytest.fixture
def last_page() -> Iterator[NDArray[np.uint8]]:
    """A page behind which there is none."""
    memory = mmap.mmap(-1, 2 * PAGE)
    all_ = np.frombuffer(memory, np.uint8)
    libc = ctypes.CDLL(None, use_errno=True)
    behind = ctypes.c_void_p(all_.ctypes.data + PAGE)
    assert libc.mprotect(behind, ctypes.c_size_t(PAGE), 0) == 0
    yield all_[:PAGE]
    assert libc.mprotect(behind, ctypes.c_size_t(PAGE), mmap.PROT_READ) == 0


def programs(kind: str) -> list[Program]:
    source = SOURCE.replace("TYPE", kind)
    is_x86 = host().triple.startswith("x86_64")
    return [program_of(source), *([Program(compile_opencl(source), target=AVX2)] if is_x86 else [])]


def searched(text: NDArray[np.generic], what: NDArray[np.generic]) -> list[bool]:
    windows = np.lib.stride_tricks.sliding_window_view(text, len(what))
    return [bool((window == what).all()) for window in windows]


def runs(text: NDArray[np.generic]) -> list[int]:
    ends = [*(np.flatnonzero(text[1:] != text[:-1]) + 1), len(text)]
    return [int(min(end for end in ends if end > place)) - place for place in range(len(text))]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("count", [ITEMS, 77])
def test_lanes_stop_at_the_end_of_memory(
    kind: str, count: int, last_page: NDArray[np.uint8]
) -> None:
    dtype = TYPES[kind]
    drawn = np.random.default_rng(count).integers(0, 2, count + LENGTH - 1)
    text = last_page[PAGE - len(drawn) * dtype.itemsize :].view(dtype)
    text[:] = drawn
    what = text[40 : 40 + LENGTH].copy()
    for program in programs(kind):
        for width in WIDTHS:
            found, lengths = np.zeros(ITEMS, np.uint8), np.zeros(ITEMS, np.uint8)
            groups, group = (3, 1, 1), (64, 1, 1)
            numbers = (np.int32(LENGTH), np.int32(count))
            run(program, "search", groups, group, text, what, *numbers, found, width=width)
            assert found.astype(bool).tolist() == searched(text, what) + [False] * (ITEMS - count)
            tail = text[LENGTH - 1 :]
            run(program, "run_of", groups, group, tail, numbers[1], lengths, width=width)
            assert lengths.tolist() == runs(tail) + [0] * (ITEMS - count)


def text_of(name: str, kind: str, width: int) -> str:
    """The LLVM IR of a kernel for a machine with mask registers."""
    target = replace(AVX512, passes_masks=True)
    program = Program(compile_opencl(SOURCE.replace("TYPE", kind)), target=target)
    return program.write(name, (64, 1, 1), width).text


@pytest.mark.parametrize(("kind", "loaded"), [("uchar", "<64 x i8>"), ("int", "<64 x i32>")])
def test_what_decides_is_read_for_all_lanes(kind: str, loaded: str) -> None:
    assert f"= load {loaded}, ptr" in text_of("search", kind, 64)


def test_what_does_not_decide_is_read_for_active_lanes() -> None:
    written = text_of("sum", "uchar", 16)
    assert "load <16 x i8>" not in written
    assert "llvm.masked.load.v16i8" in written


def test_comparisons_in_loops_take_no_mask() -> None:
    assert re.search(r'call <64 x i1> asm "", "=k,0"', text_of("search", "uchar", 64))
    assert "asm" not in text_of("search", "uchar", 4)  # no mask register is that short
