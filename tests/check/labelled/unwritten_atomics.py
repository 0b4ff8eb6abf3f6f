"""Atomic operations on memory that nobody has written: it is changed, and remains as unknown as it
was."""

from __future__ import annotations

from tests.check.labelled.cases import Case, right, wrong
from tests.check.labelled.uninitialised import STORE

HISTOGRAM = """kernel void $(global int *bins, global const int *in) {
    atomic_inc(bins + (in[get_global_id(0)] & 7)); }"""
MAXIMUM = """kernel void $(global int *out, global int *most) {
    atomic_max(most, (int)get_global_id(0));
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0) out[get_group_id(0)] = *most; }"""
ONE_BIT = """kernel void $(global int *out, global uint *flags) {
    uint i = get_global_id(0);
    atomic_or(flags + i, 1u);
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] = flags[i] & BIT ? 30 : 21; }"""
LOW_BITS = """kernel void $(global int *out, global int *flags) {
    uint i = get_global_id(0);
    atomic_and(flags + i, 255);
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] = flags[i] & BIT ? 30 : 21; }"""

CASES: tuple[Case, ...] = (
    wrong("histogram_not_cleared", STORE, "shared:8", "ints:64", source=HISTOGRAM),
    right("histogram_cleared", "ints:8", "ints:64", source=HISTOGRAM),
    wrong("maximum_of_nothing", STORE, "ints:64", "device:1", source=MAXIMUM),
    right("maximum_from_a_number", "ints:64", "ints:1", source=MAXIMUM),
    wrong(
        "bit_beside_one_that_is_set",
        STORE,
        "ints:64",
        "device:64",
        source=ONE_BIT.replace("BIT", "2u"),
    ),
    right("bit_that_is_set", "ints:64", "device:64", source=ONE_BIT.replace("BIT", "1u")),
    wrong("bits_that_are_kept", STORE, "ints:64", "device:64", source=LOW_BITS.replace("BIT", "2")),
    right(
        "bits_that_are_cleared",
        "ints:64",
        "device:64",
        source=LOW_BITS.replace("BIT", "256"),
    ),
)
