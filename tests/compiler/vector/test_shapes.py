"""The shapes that a kernel may run in: which ones, that all compute the same, and what is kept."""

from __future__ import annotations

from pathlib import Path
from threading import Lock

import numpy as np
import pytest

from groundstate.compiler import pipeline
from groundstate.compiler.errors import BuildError
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.target.shapes import REFILLED
from groundstate.compiler.target.x86 import AVX2, AVX512
from tests.compiler.runner import program_of, run

GROUP = (64, 1, 1)
ITEMS = 1024

SPARSE = """
kernel void sparse(global const int *rows, global const int *columns, global const float *values,
                   global const float *x, global float *y) {
    int i = get_global_id(0);
    float sum = 0;
    for (int j = rows[i]; j < rows[i + 1]; j++) sum += values[j] * x[columns[j]];
    y[i] = sum;
}
"""
REGULAR = """
kernel void regular(global const float *a, global const float *b, global float *c) {
    int i = get_global_id(0);
    float sum = 0;
    for (int j = 0; j < 16; j++) sum += a[i + j] * b[j];
    c[i] = sum;
}
"""
COUNTING = """
kernel void counting(global const uint *from, global uint *to) {
    int i = get_global_id(0), count = 0;
    for (uint n = from[i]; n > 1; n = n % 2 ? 3 * n + 1 : n / 2) count++;
    to[i] = count;
}
"""
GATHERING = """
kernel void gathering(global const int *from, global const int *places, global int *to) {
    int i = get_global_id(0);
    to[i] = from[places[i]];
}
"""
MEETING = """
kernel void meeting(global const int *from, global int *to, local int *part) {
    int i = get_local_id(0);
    part[i] = from[to[i]];
    barrier(CLK_LOCAL_MEM_FENCE);
    to[i] = part[63 - i];
}
"""
RECORDS = """
typedef struct { float4 place, speed; float weight, rest[3]; } record;
kernel void move(global record *all, float time) {
    int i = get_global_id(0);
    all[i].place += all[i].speed * time;
}
"""
SEEING = """
kernel void seeing(global const int *from, global int *to) {
    int i = get_global_id(0);
    to[i] = from[to[i]] + get_sub_group_size();
}
"""


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_SHAPE", "measured")


def shapes_of(source: str) -> tuple[int, ...]:
    program = Program(compile_opencl(source), target=AVX512)
    return pipeline.shapes_of(program, program.kernel_names[0], GROUP)


def test_sparse_rows_begin_one_by_one(measured: None) -> None:
    assert shapes_of(SPARSE) == (1, 32, 8, REFILLED + 32)


def test_divergent_loop_is_tried_in_all_shapes(measured: None) -> None:
    assert shapes_of(COUNTING) == (32, REFILLED + 32, 8, 1)


def test_gathers_without_loop_are_not_narrowed(measured: None) -> None:
    assert shapes_of(GATHERING) == (32, 1)


def test_records_far_apart_are_tried_one_by_one(measured: None) -> None:
    assert set(shapes_of(RECORDS)) == {1, 32}


@pytest.mark.parametrize("source", [REGULAR, MEETING])
def test_kernel_without_choice_has_one_shape(measured: None, source: str) -> None:
    assert len(shapes_of(source)) == 1


def test_kernel_that_sees_sub_groups_has_no_choice(measured: None) -> None:
    assert shapes_of(SEEING) == ()


@pytest.mark.parametrize(
    ("shape", "widths"), [("vector", (32,)), ("refilled", (REFILLED + 32,)), ("scalar", (1,))]
)
def test_knob_leaves_one_shape(
    monkeypatch: pytest.MonkeyPatch, shape: str, widths: tuple[int, ...]
) -> None:
    monkeypatch.setenv("GROUNDSTATE_SHAPE", shape)
    assert shapes_of(SPARSE) == widths


def test_estimate_depends_on_the_target(measured: None) -> None:
    program = Program(compile_opencl(SPARSE), target=AVX2)
    assert set(pipeline.shapes_of(program, "sparse", GROUP)) == {1, 8, 16, REFILLED + 16}


# --- All shapes compute the same ------------------------------------------------------------------

BODIES = {
    "early return": "if (x < 0.3f) return; out[i] = x * y + z;",
    "blocks apart": "float m = x * y; if (x > 0.5f) s = m + z; else s = y * y - z; out[i] = s;",
    "value used twice": "float m = x * y; if (x > 0.5f) s = m + z; out[i] = s; out[i + 1024] = m;",
    "loop": "for (int j = 0; j < i % 5; j++) { s += x * y; if (s > 2) break; s *= z; } out[i] = s;",
    "branches meet": "float m; if (x > 0.5f) m = x * y; else m = z * y; out[i] = m + z;",
    "private array": "float p[8]; for (int j = 0; j < 8; j++) p[j] = j * x + y;"
    " for (int j = 0; j < i % 9; j++) s += p[(j * i) & 7] * z; out[i] = s;",
    "functions": "if (i & 1) s = native_rsqrt(x) + native_recip(y) + exp(z);"
    " else s = rsqrt(x) * sin(y) + pow(x, z); out[i] = s;",
    "atomics": "if (x > y) atomic_add((volatile global int *)out + (i & 15), i);",
    "vectors": "float4 v = (float4)(x, y, z, 1);"
    " for (int j = 0; j < i % 3; j++) v = v.yzwx * x + v; out[i] = dot(v, v);",
    "doubles": "double d = x; while (d < 1.5) d = d * 1.25 + y * 0.01 + 0.01; out[i] = d;",
}


@pytest.mark.parametrize("name", BODIES)
def test_all_shapes_compute_the_same_bits(name: str) -> None:
    program = program_of(f"""
    kernel void body(global const float *a, global const float *b, global const float *c,
                     global float *out) {{
        int i = get_global_id(0);
        float x = a[i], y = b[i], z = c[i], s = 0;
        {BODIES[name]}
    }}""")
    random = np.random.default_rng(1)
    given = [random.random(ITEMS, dtype=np.float32) + np.float32(0.01) for _ in range(3)]
    results = []
    for width in (1, 4, 8, 16, 32):
        out = np.zeros(2 * ITEMS, np.float32)
        run(program, "body", (ITEMS // 64, 1, 1), GROUP, *given, out, width=width)
        results.append(out.tobytes())
    assert set(results) == {results[0]}


# --- What is kept ---------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measured: None) -> Path:
    monkeypatch.setenv("GROUNDSTATE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def new_program() -> Program:
    return Program(compile_opencl(SPARSE))


def compile_two(program: Program) -> tuple[int, int]:
    """Compiles a kernel in two of its shapes; returns their widths, the first one first."""
    first = program.compile("sparse", GROUP)
    other = first.other_widths[0]
    lock = Lock()
    assert program.compile_meanwhile("sparse", GROUP, other, lock, lambda: False).width == other
    assert not lock.locked()
    return first.width, other


@pytest.mark.usefixtures("cache")
def test_next_process_begins_with_what_was_faster() -> None:
    program = new_program()
    first, other = compile_two(program)
    program.prefer("sparse", GROUP, other)
    begun = new_program().compile("sparse", GROUP)
    assert (begun.width, begun.other_widths[0]) == (other, first)
    program.prefer("sparse", GROUP, first)
    begun = new_program().compile("sparse", GROUP)
    assert (begun.width, begun.other_widths[0]) == (first, other)


@pytest.mark.usefixtures("cache")
def test_choice_without_its_code_is_ignored() -> None:
    program = new_program()
    first = program.compile("sparse", GROUP)
    other = first.other_widths[0]
    program.prefer("sparse", GROUP, other)
    assert new_program().compile("sparse", GROUP).width == first.width
    program.prefer("sparse", GROUP, 12345)
    assert new_program().compile("sparse", GROUP).width == first.width


def test_choice_is_lost_without_a_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_CACHE", "off")
    program = new_program()
    first, other = compile_two(program)
    program.prefer("sparse", GROUP, other)
    assert new_program().compile("sparse", GROUP).width == first
    assert not cache.exists()


@pytest.mark.usefixtures("cache")
def test_native_binary_has_all_shapes() -> None:
    program = new_program()
    first, other = compile_two(program)
    program.prefer("sparse", GROUP, other)
    again = Program.from_native(program.native_binary())
    assert again.compile("sparse", GROUP).width in (first, other)
    assert again.is_compiled("sparse", GROUP, other)


@pytest.mark.usefixtures("cache")
def test_variant_nobody_wants_is_given_up() -> None:
    program = new_program()
    other = program.compile("sparse", GROUP).other_widths[0]
    with pytest.raises(BuildError, match="no longer wanted"):
        program.compile_meanwhile("sparse", GROUP, other, Lock(), lambda: True)
    assert program.compile_meanwhile("sparse", GROUP, other, Lock(), lambda: False).width == other
