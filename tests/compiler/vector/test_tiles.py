"""Products of tiles: by tile registers where the machine has them, by vectors elsewhere."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from groundstate.compiler import pipeline
from groundstate.compiler.errors import BuildError
from groundstate.compiler.light_dataclass import replace
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.target.host import host, on_this_machine
from groundstate.driver.devices import tile_registers
from tests.compiler.runner import Local, run

KINDS = {
    "u8s8": (np.uint8, np.int8),
    "s8s8": (np.int8, np.int8),
    "s8u8": (np.int8, np.uint8),
    "bf16": (np.float32, np.float32),
}
TOTALS = {"u8s8": "int", "s8s8": "int", "s8u8": "int", "bf16": "float"}
SOURCE = "".join(
    f"""
void __groundstate_tiles_{kind}(local {total} *, global const uint *, global const uint *, long,
    global const uint *, constant int *, int, int, int, int);
kernel void {kind}(local {total} *sums, global const uint *a, global const uint *b,
                   constant int *offsets, int steps, int first, int second, int words,
                   int row_words, global {total} *c) {{
    int i = get_global_id(0);
    __groundstate_tiles_{kind}(sums, a, a + first * row_words, 4 * row_words, b, offsets, steps,
        first, second, words);
    for (int row = 0; row < first + second; row++) c[32 * row + i] = sums[32 * row + i];
}}
kernel void {kind}_by_some(local {total} *sums, global const uint *a, global const uint *b,
                           constant int *offsets, global {total} *c) {{
    int i = get_global_id(0);
    if (a[i] & 1)
        __groundstate_tiles_{kind}(sums, a, a, 64, b, offsets, 1, 1, 0, 16);
    c[i] = sums[i];
}}
"""
    for kind, total in TOTALS.items()
)
PRIVATE = """
void __groundstate_tiles_u8s8(int *, global const uint *, global const uint *, long,
    global const uint *, constant int *, int, int, int, int);
kernel void private_sums(global const uint *a, constant int *offsets, global int *c) {
    int sums[1024];
    __groundstate_tiles_u8s8(sums, a, a, 64, a, offsets, 1, 1, 0, 16);
    c[get_global_id(0)] = sums[get_global_id(0)];
}
"""


@cache
def spirv() -> bytes:
    return compile_opencl(SOURCE, options=["-cl-std=CL3.0"])


@cache
def program() -> Program:
    """With tile registers only where this process may use them."""
    if host().has_tiles:
        assert tile_registers.granted()
    return Program(spirv())


def numbers(kind: str, side: int, count: int) -> NDArray[np.generic]:
    """Numbers of a kind, some of them the extremes."""
    random = np.random.default_rng(side)
    if kind == "bf16":
        return random.integers(-128, 128, count).astype(np.float32)
    limits = np.iinfo(KINDS[kind][side])
    drawn = random.integers(limits.min, limits.max + 1, count)
    drawn[: count // 3] = random.choice([limits.min, limits.max], count // 3)
    return random.permutation(drawn).astype(KINDS[kind][side])


def packed(given: NDArray[np.generic]) -> NDArray[np.uint32]:
    if given.dtype == np.float32:
        given = (given.view(np.uint32) >> 16).astype(np.uint16)
    return np.ascontiguousarray(given).reshape(-1).view(np.uint32)


@pytest.mark.parametrize("width", [1, 16, 32])
@pytest.mark.parametrize(
    ("first", "second", "words", "steps"), [(16, 16, 16, 3), (16, 0, 16, 1), (7, 7, 5, 4)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_tiles_are_multiplied_and_added(
    kind: str, first: int, second: int, words: int, steps: int, width: int
) -> None:
    each, rows, depth = 2 if kind == "bf16" else 4, first + second, steps * words
    a = numbers(kind, 0, rows * depth * each).reshape(rows, depth * each)
    b = numbers(kind, 1, depth * 32 * each).reshape(depth, 32, each)
    order = np.random.default_rng(3).permutation(steps)
    offsets = np.stack([order * words, order * words * 32], axis=1).astype(np.int32)
    c = np.zeros((rows, 32), np.float32 if kind == "bf16" else np.int32)
    counts = [np.int32(n) for n in (steps, first, second, words, depth)]
    arguments = (Local(4096), packed(a), packed(b), offsets, *counts, c)
    run(program(), kind, (1, 1, 1), (32, 1, 1), *arguments, width=width)
    columns = b.transpose(0, 2, 1).reshape(depth * each, 32)
    expected = a.astype(np.float64) @ columns.astype(np.float64)
    np.testing.assert_array_equal(c, expected.astype(c.dtype))


@pytest.mark.parametrize("width", [1, 8, 32])
def test_tiles_are_multiplied_if_any_lane_does(width: int) -> None:
    a = np.arange(32, dtype=np.uint32)
    b, offsets = np.full(16 * 32, 0x01010101, np.uint32), np.zeros(2, np.int32)
    c = np.zeros(32, np.int32)
    arguments = (Local(4096), a, b, offsets, c)
    run(program(), "u8s8_by_some", (1, 1, 1), (32, 1, 1), *arguments, width=width)
    np.testing.assert_array_equal(c[31], a[:16].sum())


def test_tile_registers_are_released_where_used() -> None:
    target = replace(host(), has_tiles=True)
    code = pipeline.write(Program(spirv(), target=target), "s8s8", (32, 1, 1))
    body = code.text.split("@gs.tiles.s8s8(", 1)[1]
    assert "llvm.x86.tdpbssd" in body
    assert body.index("llvm.x86.ldtilecfg(ptr") < body.index("llvm.x86.tilerelease()")


def test_tiles_in_private_memory_are_refused() -> None:
    found = Program(compile_opencl(PRIVATE, options=["-cl-std=CL3.0"]))
    with pytest.raises(BuildError, match="a tile lies in global, constant or local memory"):
        found.compile("private_sums", (32, 1, 1))


def test_features_say_if_there_are_tile_registers() -> None:
    features = "+avx,+avx2,+avx512f,+avx512vl,+amx-tile,+amx-int8"
    assert not on_this_machine("cpu", features, "x86_64-unknown-linux-gnu").has_tiles
    features += ",+amx-bf16"
    assert on_this_machine("cpu", features, "x86_64-unknown-linux-gnu").has_tiles


def test_program_says_whether_it_uses_tiles() -> None:
    assert program().uses_tiles
    plain = Program(compile_opencl("kernel void f(global int *a) { a[0] = 1; }"))
    assert not plain.uses_tiles
