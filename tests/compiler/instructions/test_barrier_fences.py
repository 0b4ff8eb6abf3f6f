"""Memory fences of barriers: what other work-groups see is ordered for the processor too."""

from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
import pytest

from groundstate.compiler.errors import BuildError
from groundstate.compiler.program import Program
from tests.compiler.instructions.instruction_support import each_item, module
from tests.compiler.runner import program_of, run

AARCH64 = "aarch64-unknown-linux-gnu"

LAST_GROUP = """
__kernel void finish(__global int *out, __global atomic_int *done) {
    out[get_global_id(0)] = get_global_id(0) + 1;
    %s;
    if (get_local_id(0) == 0)
        atomic_fetch_add_explicit(done, 1, memory_order_relaxed, memory_scope_device);
}
"""
"""The beginning of the pattern "the last group finishes": results, barrier, a relaxed counter."""

DEVICE_WIDE = [
    "work_group_barrier(CLK_GLOBAL_MEM_FENCE, memory_scope_device)",
    "work_group_barrier(CLK_GLOBAL_MEM_FENCE, memory_scope_all_svm_devices)",
    "work_group_barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE, memory_scope_device)",
    "work_group_barrier(CLK_IMAGE_MEM_FENCE, memory_scope_device)",
    "sub_group_barrier(CLK_GLOBAL_MEM_FENCE, memory_scope_device)",
    "intel_work_group_barrier_arrive(CLK_GLOBAL_MEM_FENCE, memory_scope_device);"
    "intel_work_group_barrier_wait(CLK_GLOBAL_MEM_FENCE, memory_scope_device)",
    "mem_fence(CLK_GLOBAL_MEM_FENCE)",
    "write_mem_fence(CLK_GLOBAL_MEM_FENCE)",
    "atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_release, memory_scope_device)",
]

WITHIN_GROUP = [
    "barrier(CLK_LOCAL_MEM_FENCE)",
    "barrier(CLK_GLOBAL_MEM_FENCE)",
    "work_group_barrier(CLK_GLOBAL_MEM_FENCE)",
    "work_group_barrier(CLK_GLOBAL_MEM_FENCE, memory_scope_work_group)",
    "work_group_barrier(CLK_LOCAL_MEM_FENCE, memory_scope_device)",
    "sub_group_barrier(CLK_GLOBAL_MEM_FENCE)",
    "sub_group_barrier(CLK_GLOBAL_MEM_FENCE, memory_scope_work_group)",
    "out[get_global_id(0)] += work_group_reduce_add((int)get_local_id(0))",
    "out[get_global_id(0)] += work_group_scan_inclusive_add((int)get_local_id(0))",
    "out[get_global_id(0)] += work_group_broadcast((int)get_local_id(0), 3)",
]


def text_of(call: str, width: int) -> str:
    """LLVM IR of the pattern with a barrier."""
    return program_of(LAST_GROUP % call).write("finish", (64, 1, 1), width).text


def written(barrier: str) -> str:
    """LLVM IR of a kernel with an instruction of SPIR-V."""
    body = f"{barrier}\n%r = OpIAdd %u32 %a %a"
    program = Program(module(each_item([body], ["u32"], ["u32"])))
    return program.write("kernel", (64, 1, 1), 4).text


def aarch64_assembly(text: str, features: str) -> str:
    """What an AArch64 machine would run, by LLVM's optimisation and code generator."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    parsed = llvm.parse_assembly(f'target triple = "{AARCH64}"\n{text}')
    target = llvm.Target.from_triple(AARCH64).create_target_machine(features=features, opt=2)
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(2))
    builder.getModulePassManager().run(parsed, builder)
    return str(target.emit_assembly(parsed))


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("features", ["", "+lse"])
@pytest.mark.parametrize("call", DEVICE_WIDE)
def test_device_scope_barrier_fences_on_aarch64(call: str, features: str, width: int) -> None:
    text = text_of(call, width)
    assembly = aarch64_assembly(text, features)
    assert "dmb\tish" in assembly
    assert any(each in assembly for each in ("ldadd", "stadd", "stxr"))
    step, _, _ = text.partition("define void @run")
    counts = max(step.rfind("atomicrmw"), step.rfind("call void @gs.tally"))
    assert -1 < step.index("  fence ") < counts


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("call", WITHIN_GROUP)
def test_barrier_within_a_group_costs_no_fence(call: str, width: int) -> None:
    text = text_of(call, width)
    assert "fence" not in text
    assert "dmb" not in aarch64_assembly(text, "+lse")


@pytest.mark.parametrize(
    ("semantics", "order"),
    [("0x2", "acquire"), ("0x204", "release"), ("0x208", "acq_rel"), ("0x390", "seq_cst")],
)
@pytest.mark.parametrize("scope", [0, 1])
def test_fence_order_follows_barrier_semantics(scope: int, semantics: str, order: str) -> None:
    """0x390 is what SYCL's `group_barrier(group, memory_scope::device)` states."""
    text = written(f"OpControlBarrier %u32:2 %u32:{scope} %u32:{semantics}")
    assert f"  fence {order}\n" in text


@pytest.mark.parametrize("semantics", ["0x0", "0x200", "0x110", "0x188"])
def test_fence_needs_order_and_global_memory(semantics: str) -> None:
    text = written(f"OpControlBarrier %u32:2 %u32:1 %u32:{semantics}")
    step, _, _ = text.partition("define void @run")  # which has one, for large results
    assert "fence" not in step


def test_only_the_last_sub_group_makes_the_fence() -> None:
    text = text_of(DEVICE_WIDE[0], 4)
    assert text.count("fence seq_cst") == 1
    before = text[: text.index("fence seq_cst")]
    assert "icmp eq i64 %sub, 15" in before


@pytest.mark.parametrize("scope", [0, 1])
def test_barrier_among_groups_is_refused(scope: int) -> None:
    with pytest.raises(BuildError, match="work-items of several groups"):
        written(f"OpControlBarrier %u32:{scope} %u32:1 %u32:0x210")


@pytest.mark.parametrize("width", [1, 4, None])
@pytest.mark.parametrize("call", DEVICE_WIDE + WITHIN_GROUP[:7])
def test_kernel_with_a_barrier_computes_the_same(call: str, width: int | None) -> None:
    out, done = np.zeros(256, np.int32), np.zeros(1, np.int32)
    run(program_of(LAST_GROUP % call), "finish", (4, 1, 1), (64, 1, 1), out, done, width=width)
    np.testing.assert_array_equal(out, np.arange(1, 257))
    assert done[0] == 4
