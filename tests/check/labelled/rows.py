"""Elements in rows: work-items of a launch along two axes have one each, or meet there."""

from __future__ import annotations

from tests.check.labelled.cases import Case
from tests.check.labelled.races import GLOBAL_RACE

WRITE = """kernel void $(global int *out, int width) {
    int x = get_global_id(0), y = get_global_id(1);
    out[y * width + x] = x + 100 * y;
}"""
READ_ABOVE = """kernel void $(global int *out, int width) {
    int x = get_global_id(0), y = get_global_id(1);
    if (y > 0) out[y * width + x] = out[(y - 1) * width + x] + 1;
}"""


def _case(name: str, kind: str, width: int, source: str = WRITE, depth: int = 1) -> Case:
    arguments = ("ints:4096", width)
    return Case(name, kind, arguments, source.replace("$", name), (2, 2, depth), (16, 4, 1))


RACES: tuple[Case, ...] = (
    _case("rows_that_overlap", GLOBAL_RACE, 31),
    _case("rows_of_no_length", GLOBAL_RACE, 0),
    _case("rows_that_go_back", GLOBAL_RACE, 1, WRITE.replace("out[", "out[64 - ")),
    _case("rows_of_all_planes", GLOBAL_RACE, 64, WRITE.replace("y;", "get_global_id(2);"), 2),
    _case("row_above", GLOBAL_RACE, 64, READ_ABOVE),
    _case("rows_side_by_side", "", 32),
    _case("rows_with_gaps", "", 100),
    _case("rows_of_one_launch_after_another", "", 33, WRITE.replace("] =", "] +=")),
)
