"""Kernels for the checkers that are on by default, all at once: what one of them adds to a kernel
hides nothing from another one."""

from __future__ import annotations

from tests.check.labelled.cases import Case, right, wrong
from tests.check.labelled.races import GLOBAL_RACE, LOCAL_RACE
from tests.check.labelled.uninitialised import STORE

FOUND_BY_A_FUNCTION = """
__attribute__((noinline)) void $_find(global const int *in, int wanted, int *found) {
    for (int i = 0; i < 8; i++)
        if (in[i] == wanted) { *found = i; return; }
    OTHERWISE
}
kernel void $(global int *out, global const int *in) {
    int found;
    $_find(in, get_global_id(0), &found);
    out[get_global_id(0)] = found + 1; }"""
FILLED_BY_A_FUNCTION = """
__attribute__((noinline)) void $_fill(global const int *in, int count, int *to) {
    for (int i = 0; i < count; i++) to[i] = in[i];
}
kernel void $(global int *out, global const int *in) {
    int own[4];
    $_fill(in, COUNT, own);
    out[get_global_id(0)] = own[0] + own[1] + own[2] + own[3]; }"""
TILE = """kernel void $(global int *out, global const int *in, int count) {
    local int tile[18];
    int l = get_local_id(0), g = get_global_id(0);
    FIRST tile[l + 1] = in[g];
    if (l == 15) tile[17] = 0;
    if (l == 0) tile[0] = g > 0 ? in[g - 1] : 0;
    if (l == 15) tile[LAST] = g + 1 < count ? in[g + 1] : 0;
    BARRIER
    out[g] = tile[l] + tile[l + 1] + tile[l + 2]; }"""
APPEND = """kernel void $(global int *out, global int *count, global const int *in) {
    int number = in[get_global_id(0)];
    if (number % 3 == 0) { PLACE out[place % 64] = number; } }"""
LOCAL_BARRIER = "barrier(CLK_LOCAL_MEM_FENCE);"


CLEARED = f"tile[l] = 0; if (l < 2) tile[16 + l] = 0; {LOCAL_BARRIER}"
"""Otherwise a tile without its barrier is read before it is written, where vectors are short."""


def _tile(
    name: str, kind: str, last: str = "17", barrier: str = LOCAL_BARRIER, first: str = ""
) -> Case:
    source = TILE.replace("LAST", last).replace("BARRIER", barrier).replace("$", name)
    source = source.replace("FIRST ", first)
    return Case(name, kind, ("shared:64", "ints:64", 64), source)


CASES: tuple[Case, ...] = (
    wrong(
        "not_always_found",
        STORE,
        "shared:64",
        "ints:64",
        source=FOUND_BY_A_FUNCTION.replace("OTHERWISE", ""),
    ),
    right(
        "always_found",
        "shared:64",
        "ints:64",
        source=FOUND_BY_A_FUNCTION.replace("OTHERWISE", "*found = -1;"),
    ),
    wrong(
        "one_too_few_filled",
        STORE,
        "shared:64",
        "ints:64",
        source=FILLED_BY_A_FUNCTION.replace("COUNT", "in[3]"),
    ),
    right(
        "all_filled",
        "shared:64",
        "ints:64",
        source=FILLED_BY_A_FUNCTION.replace("COUNT", "in[4]"),
    ),
    _tile("tile_with_a_halo", ""),
    _tile("tile_whose_halo_is_behind_it", "out-of-bounds-write", last="in[18]"),
    _tile("tile_before_its_barrier", LOCAL_RACE, barrier="", first=CLEARED),
    wrong(
        "appended_without_an_atomic",
        GLOBAL_RACE,
        "shared:64",
        "ints:1",
        "ints:64",
        source=APPEND.replace("PLACE", "int place = *count; *count = place + 1;"),
    ),
    right(
        "appended_with_an_atomic",
        "shared:64",
        "ints:1",
        "ints:64",
        source=APPEND.replace("PLACE", "int place = atomic_inc(count);"),
    ),
)
