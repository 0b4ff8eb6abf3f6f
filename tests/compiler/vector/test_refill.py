"""Lanes that are done take the next work-items: each runs once, and as it would alone."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from groundstate.compiler import pipeline
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.target.host import host
from groundstate.compiler.target.shapes import REFILLED
from groundstate.compiler.target.x86 import AVX2, AVX512
from tests.compiler.runner import Size, program_of, run

GROUPS = 24
GROUP = (64, 1, 1)
ITEMS = GROUPS * GROUP[0]

BODIES = {
    "count": "for (uint n = given[i]; n > 1; n = n % 2 ? 3 * n + 1 : n / 2) count++;"
    " to[i] = count;",
    "no iteration": "for (uint n = 0; n < given[i] % 3; n++) count += n + i; to[i] = count;",
    "early return": "if (given[i] % 3) return;"
    " for (uint n = 0; n < given[i]; n++) count += n ^ i; to[i] = count;",
    "value from before": "uint x = given[i] * 7, y = x ^ i;"
    " for (uint n = 0; n < given[i]; n++) count = count * x + y; to[i] = count + x;",
    "chosen before": "uint x = given[i] % 2 ? given[i] : i + 5;"
    " for (uint n = 0; n < given[i]; n++) count = count * 3 + x; to[i] = count + x;",
    "ids in the loop": "for (uint n = 0; n < given[i]; n++)"
    " count = count * 3 + get_global_id(0) + get_local_id(0) * get_group_id(0); to[i] = count;",
    "ids behind it": "for (uint n = 0; n < given[i]; n++) count += n;"
    " to[i] = count * 5 + get_local_id(0) + 100 * get_group_id(0) + get_global_linear_id();",
    "several ways out": "for (uint n = 0; n < given[i]; n++) { if ((n ^ i) % 13 == 7) {"
    " count += 1000; break; } count += n; if (count > 300) { count *= 3; break; } } to[i] = count;",
    "loops in the loop": "for (uint n = 0; n < given[i]; n++) { for (uint m = 0; m < n % 4; m++)"
    " count = count * 3 + m; for (uint m = 0; m < 3; m++) count += m * i; } to[i] = count;",
    "branches in the loop": "for (uint n = 0; n < given[i]; n++) { uint x = given[(i + n) % 97];"
    " if (x & 1) count += x; else if (x & 2) count ^= n; } to[i] = count;",
    "stores in the loop": "uint at = i * 40; for (uint n = 0; n < given[i] % 40; n++)"
    " more[at++] = n + i; to[i] = at;",
    "left by the head": "uint n = given[i]; while (1) { if (n < 2) break; count += n; n = n / 2; }"
    " to[i] = count;",
    "floats": "float x = given[i], s = 0; for (uint n = 0; n < given[i]; n++)"
    " s = s * x + 0.1f * n; to[i] = as_uint(s);",
    "vectors": "uint4 v = (uint4)(i, 1, 2, 3); for (uint n = 0; n < given[i]; n++)"
    " v = v.yzwx * 3 + v; to[i] = v.x ^ v.y ^ v.z ^ v.w;",
    "private array": "uint p[4] = {1, 2, 3, 4}; for (uint n = 0; n < given[i]; n++)"
    " p[n & 3] += p[(n + i) & 3] * n; to[i] = p[0] ^ p[1] ^ p[2] ^ p[3];",
    "divisions": "for (uint n = 0; n < given[i]; n++) count += 1000 / (n + i % 3 + 1);"
    " to[i] = count;",
}


def source(body: str) -> str:
    return f"""kernel void body(global const uint *given, global uint *to, global uint *more) {{
        uint i = get_global_id(0), count = 0; {body} }}"""


def lengths(kind: str, items: int = ITEMS) -> np.ndarray:
    random = np.random.default_rng(5)
    if kind == "one long":
        return np.where(np.arange(items) % 61 == 30, 200, 1).astype(np.uint32)
    return random.integers(0, 60, items).astype(np.uint32)


def results(
    program: Program, given: np.ndarray, width: int, groups: Size, size: Size, offset: int = 0
) -> bytes:
    to, more = (np.zeros(count, np.uint32) for count in (len(given), 40 * len(given)))
    run(program, "body", groups, size, given, to, more, width=width, offset=(offset, 0, 0))
    return to.tobytes() + more.tobytes()


@pytest.mark.parametrize("name", BODIES)
def test_every_work_item_runs_once(name: str) -> None:
    program = program_of(source(BODIES[name]))
    for kind in ("one long", "any"):
        given = lengths(kind)
        alone = results(program, given, 1, (GROUPS, 1, 1), GROUP)
        for width in (4, 16, 32):
            assert results(program, given, REFILLED + width, (GROUPS, 1, 1), GROUP) == alone


@pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="this machine has no AVX2")
@pytest.mark.parametrize("name", BODIES)
def test_without_mask_registers(name: str) -> None:
    program = Program(compile_opencl(source(BODIES[name])), target=AVX2)
    given = lengths("any")
    alone = results(program, given, 1, (GROUPS, 1, 1), GROUP)
    assert results(program, given, REFILLED + 16, (GROUPS, 1, 1), GROUP) == alone


@pytest.mark.parametrize(
    ("groups", "size"), [((7, 1, 1), 40), ((1, 1, 1), 5), ((300, 1, 1), 1), ((3, 1, 1), 256)]
)
def test_groups_of_any_size(groups: Size, size: int) -> None:
    program = program_of(source(BODIES["ids behind it"]))
    given = lengths("any", groups[0] * size)
    one, many = (results(program, given, each, groups, (size, 1, 1)) for each in (1, REFILLED + 16))
    assert one == many


IDS = """kernel void body(global const uint *given, global uint *to, global uint *more) {
    uint at = get_global_linear_id(), count = 0;
    for (uint n = 0; n < given[at]; n++) count += n;
    uint x = get_global_id(0) * 3 + get_group_id(1) * 5 + get_global_id(2) * 7 + get_group_id(0);
    to[at] = count * 11 + x + get_local_linear_id() * 13 + get_global_size(1);
}"""


@pytest.mark.parametrize("groups", [(3, 4, 5), (1, 8, 1), (1, 1, 6)])
def test_groups_along_all_axes(groups: Size) -> None:
    program = program_of(IDS)
    given = lengths("any", 32 * groups[0] * groups[1] * groups[2])
    alone = results(program, given, 1, groups, (32, 1, 1), offset=17)
    assert results(program, given, REFILLED + 16, groups, (32, 1, 1), offset=17) == alone


def iterations_of(text: str) -> Iterable[str]:
    return (line for line in text.splitlines() if "llvm.ctpop.i32(" in line and "call" in line)


def test_loop_is_left_when_enough_lanes_are_done() -> None:
    program = program_of(source(BODIES["count"]))
    refilled = program.write("body", GROUP, REFILLED + 16)
    assert (refilled.refills, refilled.lanes, refilled.shape) == (True, 16, REFILLED + 16)
    assert any(iterations_of(refilled.text))
    plain = program.write("body", GROUP, 16)
    assert not plain.refills
    assert not any(iterations_of(plain.text))


# --- Which kernels ------------------------------------------------------------------------------

LOOP = "for (uint n = given[i]; n > 1; n = n % 2 ? 3 * n + 1 : n / 2) count++;"
REFUSED = {
    "local memory": f"local uint near[64]; near[i % 64] = i; {LOOP} to[i] = near[count % 64];",
    "two loops": f"{LOOP} {LOOP.replace('given[i]', 'count')} to[i] = count;",
    "no loop": "if (given[i] > 3) to[given[i]] = i;",
    "same trip count": "for (uint n = 0; n < 50; n++) count += given[to[i] + n]; to[i] = count;",
    "waiting": "while (((volatile global uint *)given)[i] > count) count++; to[i] = count;",
    "atomics": f"{LOOP} atomic_inc((volatile global uint *)to + count);",
    "printing": f'{LOOP} if (count > 1000) printf("%d\\n", count); to[i] = count;',
    "barrier": f"{LOOP} barrier(CLK_LOCAL_MEM_FENCE); to[i] = count;",
    "sub-groups": f"{LOOP} to[i] = count + sub_group_reduce_add(count);",
}


def shapes(body: str, size: Size = GROUP) -> tuple[int, ...]:
    program = Program(compile_opencl(source(body)), target=AVX512)
    return pipeline.shapes_of(program, "body", size)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_SHAPE", "measured")


@pytest.mark.usefixtures("measured")
def test_divergent_loop_is_tried_with_refilled_lanes() -> None:
    assert REFILLED + 32 in shapes(f"{LOOP} to[i] = count;")


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("name", REFUSED)
def test_others_are_not(name: str) -> None:
    assert all(each < REFILLED for each in shapes(REFUSED[name]))


@pytest.mark.usefixtures("measured")
def test_groups_of_two_axes_are_not() -> None:
    assert all(each < REFILLED for each in shapes(f"{LOOP} to[i] = count;", (8, 8, 1)))
