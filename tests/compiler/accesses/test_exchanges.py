"""Work-items that access what belongs to the one whose id differs in some bits: as vectors whose
lanes are exchanged."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from groundstate.compiler.program import Program
from tests.compiler.runner import Local, program_of, run

SOURCE = """
__kernel void taken(__global const TYPE *in, __global TYPE *out, int bits) {
    int me = get_global_id(0);
    out[me] = in[(me ^ bits) + 1];
}
__kernel void given(__global const float *in, __global float *out, int bits) {
    size_t me = get_global_id(0);
    out[me ^ bits] = in[me];
}
__kernel void some(__global const TYPE *in, __global TYPE *out, int bits) {
    int me = get_global_id(0), other = bits ^ me;
    if (other > me && in[me] > 20) {
        out[me] = in[other];
        out[other] = in[me];
    }
}
__kernel void pixels(__global const float4 *in, __global float4 *out, int bits) {
    int me = get_global_id(0);
    out[me] = in[me ^ bits];
}
__kernel void not_in_order(__global const float *in, __global float *out, int bits) {
    int me = get_global_id(0), other = me ^ bits;
    out[me] = in[min(other, 37)] + in[other * 2] + in[(other ^ 5) + other / 3] + in[127 - other];
}
__kernel void bitonic(__global const uint *in, __global uint *out, __local uint *block) {
    int me = get_local_id(0), count = get_local_size(0);
    block[me] = in[get_global_id(0)];
    for (int size = 2; size <= count; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            int other = me ^ stride;
            if (other > me) {
                uint low = block[me], high = block[other];
                if ((low > high) == ((me & size) == 0)) {
                    block[me] = high;
                    block[other] = low;
                }
            }
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = block[me];
}
"""
ITEMS, GROUP = 128, 64
WIDTHS = (1, 4, 8, 16, None)
BITS = (0, 1, 2, 6, 8, 15, 16, 37, 64, 127)
OFFSETS = (0, 1, 8)
"""Of global ids: from some, the lanes of a vector do not begin at a multiple of their number."""
TYPES = {"float": np.float32, "uchar": np.uint8, "short": np.int16, "double": np.float64}


def program_for(kind: str) -> Program:
    return program_of(SOURCE.replace("TYPE", kind))


def numbers(kind: str) -> NDArray[np.generic]:
    return np.random.default_rng(5).integers(1, 100, 512).astype(TYPES[kind])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", TYPES)
def test_lanes_load_from_and_store_to_their_partners(kind: str, width: int | None) -> None:
    program, before = program_for(kind), numbers(kind)
    for offset in OFFSETS:
        ids = np.arange(ITEMS) + offset
        for bits in BITS:
            for name in ("taken", "some"):
                out, expected = np.zeros((2, 512), before.dtype)
                launch(program, name, width, offset, before, out, np.int32(bits))
                me, other = ids, ids ^ bits
                if name == "taken":
                    expected[me] = before[other + 1]
                else:
                    me = ids[(other > ids) & (before[ids] > 20)]
                    expected[me], expected[me ^ bits] = before[me ^ bits], before[me]
                np.testing.assert_array_equal(out, expected, f"{name} {offset} {bits}")


@pytest.mark.parametrize("width", WIDTHS)
def test_long_ids_and_vectors_of_partners(width: int | None) -> None:
    program, before = program_for("float"), numbers("float")
    for offset in OFFSETS:
        ids = np.arange(ITEMS) + offset
        for bits in BITS:
            out, expected = np.zeros((2, 512), np.float32)
            launch(program, "given", width, offset, before, out, np.int32(bits))
            expected[ids ^ bits] = before[ids]
            np.testing.assert_array_equal(out, expected)
    four, out = before.reshape(128, 4), np.zeros((128, 4), np.float32)
    for bits in BITS:
        launch(program, "pixels", width, 0, four, out, np.int32(bits))
        np.testing.assert_array_equal(out, four[np.arange(ITEMS) ^ bits])


@pytest.mark.parametrize("width", WIDTHS)
def test_numbers_made_of_partners_that_lose_the_order(width: int | None) -> None:
    program, before = program_for("float"), numbers("float")
    for bits in BITS:
        out, other = np.zeros(ITEMS, np.float32), np.arange(ITEMS) ^ bits
        launch(program, "not_in_order", width, 0, before, out, np.int32(bits))
        places = (np.minimum(other, 37), other * 2, (other ^ 5) + other // 3, 127 - other)
        np.testing.assert_array_equal(out, sum(before[each] for each in places))


@pytest.mark.parametrize("width", WIDTHS)
def test_sorting_network_in_local_memory(width: int | None) -> None:
    program = program_for("float")
    given = np.random.default_rng(6).integers(0, 1 << 32, ITEMS, dtype=np.uint32)
    out = np.zeros_like(given)
    launch(program, "bitonic", width, 0, given, out, Local(4 * GROUP))
    np.testing.assert_array_equal(out, np.sort(given.reshape(-1, GROUP), axis=1).reshape(-1))


@pytest.mark.parametrize("name", ["taken", "given"])
def test_partners_are_read_and_written_as_one_vector(name: str) -> None:
    text = program_for("float").write(name, (GROUP, 1, 1), 8).text
    near = text[text.index("\nnear.") : text.index("\nfar.")]
    assert {"taken": " = load <8 x float>, ptr", "given": "store <8 x float> %"}[name] in near


def launch(program: Program, name: str, width: int | None, offset: int, *arguments: object) -> None:
    groups, group = (ITEMS // GROUP, 1, 1), (GROUP, 1, 1)
    run(program, name, groups, group, *arguments, width=width, offset=(offset, 0, 0))
