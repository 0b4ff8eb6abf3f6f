"""Constant tables in registers: lanes find their entries, however a machine looks them up."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from groundstate.compiler.light_dataclass import replace
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.target import Target
from groundstate.compiler.target.host import host, on_this_machine
from groundstate.compiler.target.x86 import AVX2_LOOKUPS
from tests.compiler.runner import run

TYPES = {
    "uchar": np.uint8,
    "ushort": np.uint16,
    "int": np.int32,
    "float": np.float32,
    "double": np.float64,
    "ulong": np.uint64,
}
COUNTS = (1, 7, 16, 31, 64, 256)
ITEMS = 512


def numbers(type_: str, count: int) -> NDArray[np.generic]:
    """Those of a table: no two neighbours are equal, and all bytes of a number differ."""
    return (np.arange(1, count + 1, dtype=np.uint64) * 0x0123456789ABCDEF).astype(TYPES[type_])


def kernel_of(type_: str, count: int) -> str:
    # A float of more digits than it has room for would be rounded by the front end, too.
    entries = ", ".join(
        f"{each:.17g}" if type_ in ("float", "double") else f"{each}u"
        for each in numbers(type_, count)
    )
    return f"""
    constant {type_} t_{type_}{count}[] = {{{entries}}};
    kernel void of_{type_}{count}(global const uint *index, global {type_} *to) {{
        size_t i = get_global_id(0);
        to[i] = t_{type_}{count}[index[i] % {count}];
    }}"""


SHAPED = """
constant float4 vectors[3] = {(float4)(1, 2, 3, 4), (float4)(5, 6, 7, 8), (float4)(9, 10, 11, 12)};
constant int rows[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
kernel void shaped(global const uint *index, global float4 *vector, global int *entry) {
    size_t i = get_global_id(0);
    vector[i] = vectors[index[i] % 3];
    entry[i] = i & 1 ? rows[index[i] % 3][2] : rows[1][index[i] % 4] + rows[index[i] % 3][i % 4];
}
"""


@cache
def spirv() -> bytes:
    kernels = [kernel_of(type_, count) for type_ in TYPES for count in COUNTS]
    return compile_opencl("".join(kernels) + SHAPED)


@cache
def program(kind: str) -> Program:
    lookups = {"host": host().table_lookups, "avx2": AVX2_LOOKUPS, "none": {}}
    return Program(spirv(), target=replace(host(), table_lookups=lookups[kind]))


@pytest.fixture(params=["host", "avx2"])
def kind(request: pytest.FixtureRequest) -> str:
    if not host().table_lookups:
        pytest.skip("this machine has no instructions that look entries up")
    return str(request.param)


INDEX = np.random.default_rng(1).integers(0, 2**32, ITEMS, dtype=np.uint32)


@pytest.mark.parametrize("width", [4, 16, 32])
@pytest.mark.parametrize("type_", TYPES)
def test_lanes_find_their_entries(kind: str, type_: str, width: int) -> None:
    for count in COUNTS:
        to = np.zeros(ITEMS, TYPES[type_])
        name = f"of_{type_}{count}"
        run(program(kind), name, (ITEMS // 64, 1, 1), (64, 1, 1), INDEX, to, width=width)
        np.testing.assert_array_equal(to, numbers(type_, count)[INDEX % count])


@pytest.mark.parametrize("width", [1, 8, 16, 32])
def test_vectors_and_rows(kind: str, width: int) -> None:
    vector, entry = np.zeros((ITEMS, 4), np.float32), np.zeros(ITEMS, np.int32)
    groups, group = (ITEMS // 64, 1, 1), (64, 1, 1)
    run(program(kind), "shaped", groups, group, INDEX, vector, entry, width=width)
    three, item = INDEX % 3, np.arange(ITEMS)
    np.testing.assert_array_equal(vector, np.arange(1, 13).reshape(3, 4)[three])
    rows = np.arange(1, 13).reshape(3, 4)
    sums = rows[1, INDEX % 4] + rows[three, item % 4]
    np.testing.assert_array_equal(entry, np.where(item & 1, rows[three, 2], sums))


def instructions(program: Program, kernel: str, width: int = 16) -> str:
    return program.write(kernel, (64, 1, 1), width).text


@pytest.mark.parametrize("name", ["of_float7", "of_uchar16", "of_uchar64"])
def test_small_table_is_not_gathered(kind: str, name: str) -> None:
    looked_up = [each.intrinsic for each in program(kind).target.table_lookups[4]]
    looked_up += [each.intrinsic for each in program(kind).target.table_lookups[1]]
    text = instructions(program(kind), name)
    assert any(f"@{each}" in text for each in looked_up)
    assert "@llvm.masked.gather" not in text
    without = instructions(program("none"), name)
    assert not any(f"@{each}" in without for each in looked_up)


def described(features: str) -> Target:
    return on_this_machine("cpu", features, "x86_64-unknown-linux-gnu")


def test_features_say_how_many_entries_are_looked_up() -> None:
    def most(features: str) -> dict[int, int]:
        return {size: each[-1].entries for size, each in described(features).table_lookups.items()}

    assert most("+avx") == {}
    assert most("+avx,+avx2") == {1: 16, 4: 8}
    wide = "+avx,+avx2,+avx512f,+avx512vl"
    assert most(wide) == {1: 16, 4: 32, 8: 16}
    assert most(f"{wide},+avx512bw") == {1: 16, 2: 64, 4: 32, 8: 16}
    assert most(f"{wide},+avx512bw,+avx512vbmi") == {1: 128, 2: 64, 4: 32, 8: 16}
