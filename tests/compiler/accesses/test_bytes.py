"""Lanes that read bytes: more of them side by side, and no branch for each of them."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.target.description import Target
from groundstate.compiler.target.host import host
from groundstate.compiler.target.scalar import SCALAR
from groundstate.compiler.target.vector_width import plan
from groundstate.compiler.target.x86 import AVX2, AVX512
from tests.compiler.runner import program_of, run

SOURCE = """
kernel void side_by_side(global const TYPE *in, global TYPE *out, int n) {
    int i = get_global_id(0);
    if (i < n) out[i] = in[i] + 1;
}
kernel void anywhere(global const TYPE *in, global TYPE *out, int n, global const int *at) {
    int i = get_global_id(0);
    if (i < n) out[i] = in[at[i]] + 1;
}
"""
ITEMS, COUNT = 128, 77
TYPES = {"uchar": np.uint8, "ushort": np.uint16}
WIDTHS = (4, 16, None)
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
    narrow = [Program(compile_opencl(source), target=AVX2)] if is_x86 else []
    return [program_of(source), *narrow]


@pytest.mark.parametrize("kind", TYPES)
def test_active_lanes_read_up_to_the_end_of_a_page(kind: str, last_page: NDArray[np.uint8]) -> None:
    dtype = TYPES[kind]
    last_page[:] = np.random.default_rng(5).integers(0, 255, PAGE)
    given = last_page[PAGE - COUNT * dtype().itemsize :].view(dtype)
    order = np.random.default_rng(6).permutation(ITEMS).astype(np.int32)
    at = np.concatenate([order[order < COUNT], np.full(ITEMS - COUNT, 1 << 30, np.int32)])
    for program in programs(kind):
        for width in WIDTHS:
            for name, more, expected in (
                ("side_by_side", (), given + 1),
                ("anywhere", (at,), given[at[:COUNT]] + 1),
            ):
                out = np.zeros(ITEMS, dtype)
                sizes = (np.int32(COUNT), *more)
                run(program, name, (2, 1, 1), (64, 1, 1), given, out, *sizes, width=width)
                assert (out[:COUNT] == expected.astype(dtype)).all()
                assert not out[COUNT:].any()


def text(target: Target, name: str) -> str:
    program = Program(compile_opencl(SOURCE.replace("TYPE", "uchar")), target=target)
    return program.write(name, (64, 1, 1), 16).text


def test_bytes_are_gathered_in_words() -> None:
    gathering = text(AVX512, "anywhere")
    assert "llvm.masked.gather.v16i32" in gathering
    assert "llvm.masked.gather.v16i8" not in gathering
    assert "llvm.masked.scatter.v16i8" not in gathering


def test_bytes_that_end_in_a_page_are_one_load() -> None:
    assert "load <16 x i8>" in text(AVX2, "side_by_side")


# --- As many lanes as a register has bytes --------------------------------------------------------

MEDIAN = """kernel void median(global const uchar *in, global uchar *out) {
    size_t i = get_global_id(0);
    out[i] = max(min(in[i], in[i + 1]), min(max(in[i], in[i + 1]), in[i + 2]));
}"""
SEARCH = """kernel void search(global const uchar *in, global uchar *out, constant uchar *what,
                   int n) {
    int i = get_global_id(0), same = 0;
    while (same < n && in[i + same] == what[same]) same++;
    out[i] = same == n;
}"""
SUM = """kernel void sum(global const uchar *in, global uchar *out) {
    size_t i = get_global_id(0);
    out[i] = (in[i] + in[i + 1] + in[i + 2]) / 3;
}"""
COUNTED = """kernel void counted(global const uchar *in, global uchar *out, global int *count) {
    size_t i = get_global_id(0);
    out[i] = max(in[i], in[i + 1]);
    if (out[i] > 3) atomic_inc(count);
}"""


def lanes(source: str, target: Target, group: int = 128) -> int:
    program = Program(compile_opencl(source), target=target)
    return plan(program.kernel(program.kernel_names[0]), (group, 1, 1), target).width


def test_kernels_of_bytes_fill_registers_with_them() -> None:
    assert lanes(MEDIAN, AVX512) == 64
    assert lanes(MEDIAN, AVX2) == 32
    assert lanes(SEARCH, AVX512) == 64


def test_other_kernels_do_not() -> None:
    assert lanes(SUM, AVX512) == 32  # sums are words
    assert lanes(SEARCH, AVX2) == 16  # so are masks without mask registers
    assert lanes(MEDIAN, AVX512, group=96) == 32
    assert lanes(MEDIAN, SCALAR) == 1


def test_kernels_that_do_more_than_store_do_not() -> None:
    """What counts the lanes of a vector has words of 32 bits for them."""
    assert lanes(COUNTED, AVX512) <= 32
    watched = Program(compile_opencl(MEDIAN), target=AVX512, checks={"memory", "races"})
    assert plan(watched.kernel("median"), (128, 1, 1), AVX512).width <= 32


@pytest.mark.parametrize("shape", ["vector", "refilled"])
def test_all_lanes_compute_the_same(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_SHAPE", shape)
    given = np.random.default_rng(8).integers(0, 3, ITEMS + 16).astype(np.uint8)
    what = given[100:104].copy()
    for source, more in ((MEDIAN, ()), (SEARCH, (what, np.int32(4)))):
        program = program_of(source)
        (name,) = program.kernel_names
        results = []
        for width in (1, None):
            out = np.zeros(ITEMS, np.uint8)
            run(program, name, (1, 1, 1), (128, 1, 1), given, out, *more, width=width)
            results.append(out.tobytes())
        assert results[0] == results[1]
