"""What PTX must say: orders and scopes of atomics, fences, barriers, parameters and names."""

from __future__ import annotations

import re

import pytest

from groundstate.compiler.errors import BuildError
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program.ptx_program import PtxModule, compile_ptx
from tests.compiler.instructions.instruction_support import each_item, module
from tests.compiler.instructions.test_instructions import BATCHES
from tests.compiler.program.test_program_variables import LOCAL_IN_A_LIST

CL3 = ["-cl-std=CL3.0"]
PREAMBLE = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
"""


def ptx(source: str, sm: int = 90) -> PtxModule:
    return compile_ptx(compile_opencl(PREAMBLE + source, options=CL3), sm=sm)


def lines(source: str, word: str, sm: int = 90) -> list[str]:
    """The instructions with a word in them, without their operands."""
    text = ptx(source, sm).text
    return [line.split()[0].rstrip(";") for line in text.splitlines() if re.search(word, line)]


ORDERS = {
    "relaxed": ["atom.relaxed.gpu.global.add.s32"],
    "acquire": ["atom.acquire.gpu.global.add.s32"],
    "release": ["atom.release.gpu.global.add.s32"],
    "acq_rel": ["atom.acq_rel.gpu.global.add.s32"],
    "seq_cst": ["fence.sc.gpu", "atom.acquire.gpu.global.add.s32"],
}
SCOPES = {"work_group": "cta", "device": "gpu", "all_svm_devices": "sys"}


@pytest.mark.parametrize("order", ORDERS)
def test_atomic_keeps_its_order(order: str) -> None:
    source = f"""kernel void k(global atomic_int *a, global int *b) {{
        *b = atomic_fetch_add_explicit(a, 1, memory_order_{order}, memory_scope_device);
    }}"""
    assert lines(source, r"^\s*(atom|fence|red)") == ORDERS[order]


@pytest.mark.parametrize("scope", SCOPES)
def test_atomic_keeps_its_scope(scope: str) -> None:
    source = f"""kernel void k(global atomic_int *a, global int *b) {{
        *b = atomic_load_explicit(a, memory_order_acquire, memory_scope_{scope});
        atomic_store_explicit(a, 1, memory_order_release, memory_scope_{scope});
        atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_{scope});
    }}"""
    word = SCOPES[scope]
    assert lines(source, r"^\s*(ld\.acq|st\.rel|fence)") == [
        f"ld.acquire.{word}.global.b32",
        f"st.release.{word}.global.b32",
        f"fence.acq_rel.{word}",
    ]


def test_exchange_has_the_stronger_order() -> None:
    source = """kernel void k(global atomic_int *a, global int *e) {
        atomic_compare_exchange_strong_explicit(
            a, e, 7, memory_order_release, memory_order_acquire, memory_scope_device);
    }"""
    assert lines(source, r"^\s*atom") == ["atom.acq_rel.gpu.global.cas.b32"]


def test_minimum_of_floats_begins_with_atomic_load() -> None:
    source = """kernel void k(global atomic_float *a) {
        atomic_fetch_min_explicit(a, 1.0f, memory_order_relaxed, memory_scope_device);
    }"""
    found = lines(source, r"^\s*(ld\.relaxed|ld\.global|atom)")
    assert found == ["ld.relaxed.gpu.global.b32", "atom.relaxed.gpu.global.cas.b32"]


def test_local_atomic_is_in_shared_memory() -> None:
    source = "kernel void k(local int *a) { atomic_add(a, 2); }"
    assert lines(source, r"^\s*(atom|red)")[0].endswith(".shared.add.s32")


def test_barrier_of_group_needs_no_fence() -> None:
    source = """kernel void k(local int *a, global int *b) {
        a[get_local_id(0)] = 1; barrier(CLK_LOCAL_MEM_FENCE); *b = a[0];
    }"""
    assert lines(source, r"^\s*(bar|fence)") == ["bar.sync"]


def test_barrier_for_the_device_has_fences() -> None:
    source = """kernel void k(global int *b) {
        b[get_global_id(0)] = 1;
        work_group_barrier(CLK_GLOBAL_MEM_FENCE, memory_scope_device);
        b[0] = b[1];
    }"""
    found = lines(source, r"^\s*(bar|fence)")
    assert found[1] == "bar.sync"
    assert found[0] == found[2]
    assert found[0].startswith("fence.")
    assert found[0].endswith(".gpu")


def test_only_what_is_used_is_asked_for() -> None:
    module = ptx(
        """kernel void a(global int *x) { x[get_local_id(0)] = 1; }
        kernel void b(global int *x, local int *y) {
            x[get_global_id(0)] = get_work_dim();
            y[0] = 1;
        }
        kernel void c(char x, global int *y) { *y = x; printf("%d", x); }"""
    )
    a, b, c = (module.kernels[name] for name in "abc")
    assert a.implicit == {}
    assert a.parameter_bytes == 8
    assert b.implicit == {"global_offset": 16, "work_dim": 40}
    assert [each.kind for each in b.arguments] == ["pointer", "local"]
    assert [(each.offset, each.size, each.alignment) for each in b.arguments] == [
        (0, 8, 8),
        (8, 4, 16),
    ]
    assert c.arguments[0].size == 1
    assert c.arguments[1].offset == 8
    assert c.implicit == {"print_buffer": 16}
    assert c.uses_print
    assert module.print_formats == (b"%d",)


def test_shared_memory_is_counted() -> None:
    module = ptx(
        """kernel void k(global int *x) {
            local int a[10];
            local char b[3];
            a[*x] = b[*x] = 1;
            barrier(CLK_LOCAL_MEM_FENCE);
            *x = a[1] + b[2];
        }"""
    )
    assert module.kernels["k"].static_shared == 48 + 16
    assert ".shared" in module.text


def test_variables_of_the_program_have_symbols() -> None:
    module = ptx(
        """global int counter = 7; constant float table[4] = {1, 2, 3, 4};
        global int *global place = &counter;
        kernel void k(global float *x) { x[0] = table[counter++] + *place; }"""
    )
    symbol, size = module.variables["counter"]
    assert size == 4
    assert f"{symbol}" in module.text
    assert f"generic({symbol})" in module.text


def test_listed_local_variable_stays_shared() -> None:
    body = """
    %at = OpInBoundsAccessChain %l*u32 %shared %u32:3
    OpStore %at %u32:7
    %r = OpLoad %u32 %at
    """
    binary = module(each_item([body], [], ["u32"]), declarations=LOCAL_IN_A_LIST)
    compiled = compile_ptx(binary, sm=90)
    assert compiled.kernels["kernel"].static_shared == 64


def test_required_size_and_subgroup() -> None:
    module = ptx(
        """__attribute__((reqd_work_group_size(64, 2, 1))) kernel void k(global int *x) {
            x[0] = sub_group_reduce_add(x[get_local_id(0)]);
        }""",
        sm=80,
    )
    kernel = module.kernels["k"]
    assert kernel.required_group_size == (64, 2, 1)
    assert kernel.sub_group_size == 32
    assert ".reqntid 64, 2, 1" in module.text
    assert "redux.sync.add.s32" in module.text


def test_older_gpus_reduce_by_shuffles() -> None:
    source = "kernel void k(global int *x) { *x = sub_group_reduce_add(*x); }"
    assert "redux" not in ptx(source, sm=75).text
    assert "shfl.sync.idx.b32" in ptx(source, sm=75).text


def test_unknown_gpu_is_refused() -> None:
    with pytest.raises(BuildError, match="sm_60"):
        ptx("kernel void k() {}", sm=60)


def test_kernel_that_is_not_there_is_named() -> None:
    spirv = compile_opencl("kernel void k() {}")
    with pytest.raises(BuildError, match="there is no kernel 'q'; there are: k"):
        compile_ptx(spirv, sm=90, kernels=["q"])


def test_members_are_counted_before_they_part() -> None:
    """What runs at once may be fewer work-items than took the same way."""
    source = """
    #pragma OPENCL EXTENSION cl_khr_subgroup_non_uniform_arithmetic : enable
    kernel void k(global int *x) {
        int v = x[get_global_id(0)];
        if (v & 1)
            v = sub_group_non_uniform_reduce_add(v);
        for (int i = 0; i < v; i++)
            if (v & 2)
                v -= sub_group_non_uniform_reduce_add(i);
        x[get_global_id(0)] = v;
    }"""
    text = ptx(source).text
    assert "vote.sync.ballot" in text
    assert "activemask" not in text


def test_atomics_on_private_memory_are_plain() -> None:
    """PTX has none for it."""
    batch = next(each for each in BATCHES if each.name.startswith("AtomicIAdd-u64"))
    assert not re.search(r"\b(atom|red)\.", compile_ptx(batch.spirv, sm=90).text)


def test_lanes_with_one_counter_add_once() -> None:
    source = "kernel void k(global int *a) { atomic_inc(&a[a[get_global_id(0)]]); }"
    assert lines(source, r"(match|red\.|atom\.)") == ["match.all.sync.b64", "@%first"]
    used = "kernel void k(global int *a) { *a = atomic_inc(&a[a[get_global_id(0)]]); }"
    assert lines(used, r"(match|red\.|atom\.)") == ["atom.relaxed.gpu.global.add.s32"]


def test_reciprocal_root_is_one_instruction() -> None:
    source = "kernel void k(global float *a) { *a = rsqrt(*a); }"
    assert lines(source, "sqrt") == ["rsqrt.approx.f32"]


LINES = """\
float twice(float x) {
    return x * 2
        + 1;
}
kernel void first(global float *a) {
    a[get_global_id(0)] = twice(a[get_global_id(0)]);
}
kernel void second(global float *a, global float *b) {
    b[get_global_id(0)] = a[get_global_id(0)]
        / b[get_global_id(0)];
}
"""


def test_lines_of_the_source_are_in_the_ptx() -> None:
    text = compile_ptx(compile_opencl(LINES, options=["-g"]), sm=90).text
    (file,) = re.findall(r'^\s*\.file\s+(\d+) "[^"]*"$', text, re.MULTILINE)
    entries = re.split(r"\.visible \.entry (\w+)", text)[1:]
    found = {
        name: {int(each) for each in re.findall(rf"\.loc\s+{file} (\d+) ", body)}
        for name, body in zip(entries[::2], entries[1::2], strict=True)
    }
    assert 6 in found["first"]
    assert found["first"] & {2, 3}
    assert {9, 10} <= found["second"]
    assert not found["first"] & {9, 10}
    assert ", debug" not in text


def test_lines_change_no_instruction() -> None:
    spirv = [compile_opencl(LINES, options=options) for options in (["-g"], [])]
    with_lines, without = (compile_ptx(each, sm=90).text for each in spirv)
    assert ".loc" not in without
    assert instructions(with_lines) == instructions(without)


def instructions(text: str) -> list[str]:
    """The lines of PTX that are instructions."""
    return re.findall(r"^\t(?:@!?%p\d+ )?[a-z][^\n]*;$", text, re.MULTILINE)
