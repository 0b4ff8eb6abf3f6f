"""Lanes along another axis than the first: when, and that every work-item computes the same."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler import pipeline
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.target.host import host
from groundstate.compiler.target.shapes import TURNED, shape_of, variant_of
from groundstate.compiler.target.x86 import AVX2, AVX512
from tests.compiler.runner import Size, program_of, run

BODIES = {
    "row first": "to[i * columns + j] = from[i * columns + j] * 3 + i;",
    "sum over a row": "for (uint k = 0; k < 24; k++)"
    " sum += from[i * columns + k] * from[k * columns + j]; to[i * columns + j] = sum;",
    "rows of any length": "for (uint k = 0; k < from[i] % 7; k++)"
    " sum += from[k * columns + j]; to[i * columns + j] = sum;",
    "border": "if (i == 0 || j + 1 == columns) { to[i * columns + j] = 1; return; }"
    " to[i * columns + j] = from[(i - 1) * columns + j] + from[i * columns + j + 1];",
    "all ids": "to[i * columns + j] = from[i * columns + j] + get_local_id(0) * 3"
    " + get_local_id(1) * 5 + get_group_id(0) * 7 + get_group_id(1) * 11 + get_local_size(1);",
    "element stride": "ulong n = columns; to[(ulong)get_global_id(0) * n + get_global_id(1)]"
    " = from[(ulong)get_global_id(0) * n + get_global_id(1)] + 1;",
    "private array": "uint part[4]; for (uint k = 0; k < 4; k++) part[k] = from[j] + k * i;"
    " to[i * columns + j] = part[from[i] & 3];",
}
REFUSED = {
    "column first": "to[j * columns + i] = from[j * columns + i];",
    "order is seen": "to[i * columns + j] = from[i * columns + j] + get_local_linear_id();",
    "barrier": "to[i * columns + j] = from[i]; barrier(CLK_GLOBAL_MEM_FENCE);",
    "atomics": "atomic_add((volatile global uint *)to, from[i * columns + j]);",
}
GROUPS, GROUP = (3, 2, 1), (8, 16, 1)
ROWS, COLUMNS = 24, 32


def source(body: str) -> str:
    return f"""kernel void body(global const uint *from, global uint *to, uint columns) {{
        uint i = get_global_id(0), j = get_global_id(1), sum = 0; {body} }}"""


def results(program: Program, shape: int, groups: Size = GROUPS, group: Size = GROUP) -> bytes:
    given = np.random.default_rng(3).integers(0, 1000, (ROWS, COLUMNS)).astype(np.uint32)
    to = np.zeros_like(given)
    run(program, "body", groups, group, given, to, np.uint32(COLUMNS), width=shape)
    return to.tobytes()


@pytest.mark.parametrize("name", BODIES)
def test_turned_lanes_compute_the_same(name: str) -> None:
    program = program_of(source(BODIES[name]))
    alone = results(program, 1)
    for width in (4, 8, 16):
        assert results(program, TURNED + width) == alone
    flat = ((6, 1, 1), (4, 32, 1))
    assert results(program, TURNED + 32, *flat) == results(program, 1, *flat)


@pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="this machine has no AVX2")
@pytest.mark.parametrize("name", BODIES)
def test_without_mask_registers(name: str) -> None:
    program = Program(compile_opencl(source(BODIES[name])), target=AVX2)
    assert results(program, TURNED + 16) == results(program, 1)


def test_third_axis() -> None:
    program = program_of("""kernel void body(global const uint *from, global uint *to, uint n) {
        uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
        uint at = (x * 6 + y) * n + z; to[at] = from[at] * 3 + x + y; }""")
    groups, group = (2, 2, 2), (2, 3, 16)
    alone = results(program, 1, groups, group)
    assert results(program, 2 * TURNED + 16, groups, group) == alone
    assert results(program, 2 * TURNED + 8, groups, group) == alone
    assert all(each != 0 for each in np.frombuffer(alone, np.uint32)[1 : 12 * 32])


GROUP_OF_EACH = """kernel void body(global uint *to, uint columns) {
    uint i = get_global_id(0), j = get_global_id(1);
    to[i * columns + j] += 1 + get_group_id(0) + 16 * get_group_id(1); }"""


@pytest.mark.parametrize("width", [1, 8])
def test_groups_follow_each_other_along_the_axis_of_the_lanes(width: int) -> None:
    program, to = program_of(GROUP_OF_EACH), np.zeros((ROWS, COLUMNS), np.uint32)
    run(program, "body", GROUPS, GROUP, to, np.uint32(COLUMNS), width=TURNED + width, part=(0, 3))
    groups = to[:: GROUP[0], :: GROUP[1]]
    assert groups.tolist() == [[1, 17], [2, 0], [0, 0]]


def test_ranges_of_two_shapes_are_the_whole_launch() -> None:
    program, to = program_of(GROUP_OF_EACH), np.zeros((ROWS, COLUMNS), np.uint32)
    for width, part in ((8, (0, 3)), (1, (3, 3))):
        shape = TURNED + width
        run(program, "body", GROUPS, GROUP, to, np.uint32(COLUMNS), width=shape, part=part)
    assert to[:: GROUP[0], :: GROUP[1]].tolist() == [[1, 17], [2, 18], [3, 19]]


def shapes_of(body: str, group: Size = (32, 8, 1)) -> tuple[int, ...]:
    program = Program(compile_opencl(source(body)), target=AVX512)
    return pipeline.shapes_of(program, "body", group)


@pytest.mark.parametrize(
    "name", ["row first", "sum over a row", "rows of any length", "element stride"]
)
def test_rows_are_read_along_the_second_axis(name: str) -> None:
    assert shapes_of(BODIES[name])[0] == TURNED + 8


@pytest.mark.parametrize("name", ["row first", "rows of any length", "border"])
def test_all_shapes_number_groups_alike(name: str) -> None:
    """A launch is divided between them."""
    assert {each // TURNED for each in shapes_of(BODIES[name])} == {1}


@pytest.mark.parametrize("name", REFUSED)
def test_lanes_stay_along_the_first_axis(name: str) -> None:
    assert all(each < TURNED for each in shapes_of(REFUSED[name]))


def test_group_without_a_second_axis_is_not_turned() -> None:
    assert all(each < TURNED for each in shapes_of(BODIES["row first"], (256, 1, 1)))


@pytest.mark.parametrize("shape", [1, 32, 256 + 16, TURNED + 1, TURNED + 8, 2 * TURNED + 4])
def test_number_of_a_shape_says_it_all(shape: int) -> None:
    assert shape_of(variant_of(shape, GROUP)) == shape
