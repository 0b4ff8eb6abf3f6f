"""Accesses whose results nobody uses: a compiler would drop them, and the mistake with them."""

from __future__ import annotations

from tests.check.labelled.cases import Case, right, wrong
from tests.check.labelled.races import GLOBAL_RACE, LOCAL_RACE, labelled

MEMORY: tuple[Case, ...] = (
    wrong(
        "unused_local_write",
        "out-of-bounds-write",
        source="kernel void $() { local int t[64]; t[get_global_id(0) + 1] = 1; }",
    ),
    wrong(
        "unused_local_write_before",
        "out-of-bounds-write",
        source="kernel void $() { local int t[64]; t[0 - get_global_id(0)] = 1; }",
    ),
    wrong(
        "unused_read",
        "out-of-bounds-read",
        "ints:63",
        source="kernel void $(global const int *in) { int x = in[get_global_id(0)]; }",
    ),
    wrong(
        "overwritten",
        "out-of-bounds-write",
        "ints:64",
        "ints:60",
        source="""kernel void $(global int *out, global int *tmp) {
            tmp[get_global_id(0)] = 1; out[get_global_id(0)] = 2; tmp[get_local_id(0)] = 3; }""",
    ),
    right(
        "unused_accesses",
        "ints:64",
        source="""kernel void $(global int *in) {
            local int t[64]; int x = in[get_global_id(0)]; t[get_local_id(0)] = x + 1; }""",
    ),
)

RACES: tuple[Case, ...] = (
    labelled(
        """kernel void written_and_never_read(global int *a) {
    local int last;
    last = get_local_id(0);
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void element_written_and_never_read(global int *a) {
    local int t[2][3];
    t[1][2] = a[get_global_id(0)];
}""",
        LOCAL_RACE,
    ),
    labelled(
        """int looked_at(local int *t) { return t[get_local_id(0)]; }
kernel void read_for_nothing(global int *a, local int *t) {
    looked_at(t);
    t[get_local_id(0) + 1] = get_local_id(0);
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void read_from_neighbour_for_nothing(global int *a) {
    int x = a[get_global_id(0) + 1];
    a[get_global_id(0)] = get_global_id(0);
}""",
        GLOBAL_RACE,
    ),
    labelled("""kernel void own_word_for_nothing(global int *a, local int *t) {
    t[get_local_id(0)] = 1;
    int x = t[get_local_id(0)] + a[get_global_id(0)];
    a[get_global_id(0)] = 2;
    a[get_global_id(0)] = 3;
}"""),
)
