"""OpenCL C that is compiled for checked mode has all the accesses of its source."""

from __future__ import annotations

import pytest

from groundstate.compiler.opencl import array_indices, kept_accesses
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.spirv import read
from groundstate.compiler.spirv.disassemble import disassemble

SOURCE = """
kernel void k(global int *a, volatile global int *b) {
    local int t[4];
    int unused = a[7];
    t[get_local_id(0)] = 1;
    a[0] = 2;
    a[0] = b[0];
}
"""

IR = """\
define void @k(ptr addrspace(1) %a) {
  %p = alloca ptr addrspace(3), align 8
  store ptr addrspace(3) null, ptr %p, align 8, !tbaa !1
  %0 = load i32, ptr addrspace(1) %a, align 4, !dbg !2
  store i32 %0, ptr addrspace(3) null, align 4
  %1 = load i32, ptr addrspace(2) null, align 4
  %2 = load volatile i32, ptr addrspace(1) %a, align 4
  %3 = atomicrmw add ptr addrspace(1) %a, i32 1 seq_cst, align 4
  ret void
}
"""


def accesses(*options: str) -> list[str]:
    """The loads and stores of the module, without those of built-in variables."""
    lines = disassemble(read(compile_opencl(SOURCE, options=options)))
    return [line for line in lines if "OpStore" in line or "OpLoad u32" in line]


@pytest.mark.needs_compiler
def test_optimised_module_lacks_unused_accesses() -> None:
    assert len(accesses()) == 3


@pytest.mark.needs_compiler
def test_module_for_checked_mode_has_all_accesses() -> None:
    found = accesses("-fkeep-accesses")
    assert len(found) == 5
    volatile = [line for line in found if "Volatile" in line]
    assert len(volatile) == 2, "the program's own, and the load that would be dropped"
    assert all("OpLoad" in line for line in volatile)


def test_only_memory_that_others_reach_is_kept() -> None:
    kept = kept_accesses.keep(IR).splitlines()
    assert [line for line in kept if "groundstate.kept" in line] == [
        "  %0 = load volatile i32, ptr addrspace(1) %a, align 4, !dbg !2, !groundstate.kept !{}",
        "  store volatile i32 %0, ptr addrspace(3) null, align 4, !groundstate.kept !{}",
    ]


def test_accesses_are_as_before_when_released() -> None:
    kept = kept_accesses.keep(IR).replace("!{}", "!7")
    released = kept_accesses.release(kept, IR)
    assert released.replace(", !groundstate.kept !7", "") == IR


# --- Indices --------------------------------------------------------------------------------------

STEPS = """\
define void @k(ptr addrspace(1) %p, i64 %i) {
  %a = alloca [4 x i32], align 4
  %s = alloca %struct.S, align 4
  %0 = getelementptr inbounds [4 x i32], ptr %a, i64 0, i64 %i
  %1 = getelementptr inbounds nuw %struct.S, ptr %s, i32 0, i32 1
  %2 = getelementptr inbounds [8 x i16], ptr %1, i64 0, i64 %i, !dbg !7
  %3 = getelementptr inbounds [3 x [5 x i8]], ptr addrspace(3) @t, i64 0, i64 %i
  %4 = getelementptr inbounds [5 x i8], ptr addrspace(3) %3, i64 0, i64 %i
  %5 = getelementptr inbounds [5 x i8], ptr addrspace(3) @t, i64 0, i64 %i
  %6 = getelementptr inbounds [1 x i32], ptr %1, i64 0, i64 %i
"""


@pytest.mark.parametrize(
    ("access", "looks"),
    [
        ("store i32 1, ptr %0, align 4", ["variable.write.4.4 1"]),
        ("%x = load i16, ptr %2, align 2", ["inside.read.2.8 1"]),
        ("%x = load i8, ptr addrspace(3) %4, align 1", ["inside.read.1.5 %i"]),
        ("%x = load i8, ptr addrspace(3) %5, align 1", []),
        ("%x = load i32, ptr %6, align 4", []),
        ("%x = load volatile <2 x i8>, ptr addrspace(3) %4, align 1", ["inside.read.0.5 %i"]),
        ("%x = call i32 @_Z10atomic_incPVU3AS3i(ptr %0)", ["variable.atomic.0.4 1"]),
        ("%x = call i32 @_Z1fPi(ptr %0)", []),
    ],
)
def test_access_says_which_indices_it_has(access: str, looks: list[str]) -> None:
    marked = array_indices.mark(f"{STEPS}  {access}, !dbg !9\n  ret void\n}}\n")
    calls = [line for line in marked.splitlines() if line.startswith("  call void")]
    expected = [each.split() for each in looks]
    assert calls == [
        f'  call void @"__groundstate_index.{name}"(i64 %i, i64 {row}), !dbg !9'
        for name, row in expected
    ]
    assert [line for line in marked.splitlines() if line.startswith("declare")] == [
        f'declare void @"__groundstate_index.{name}"(i64, i64) {array_indices.ATTRIBUTES}'
        for name, _ in expected
    ]


@pytest.mark.parametrize(
    ("call", "stays"),
    [
        ("inside.read.4.8(i64 %i, i64 1)", True),
        ("inside.read.4.8(i64 7, i64 1)", False),
        ("inside.read.4.8(i64 8, i64 1)", True),
        ("inside.read.4.8(i64 -1, i64 1)", True),
        ("inside.read.4.8(i64 8, i64 0)", False),
        ("inside.read.4.8(i64 8, i64 %i)", True),
        ("variable.read.4.8(i64 8, i64 1)", True),
        ("variable.read.4.8(i64 %i, i64 1)", False),
    ],
)
def test_index_that_is_known_to_be_right_is_forgotten(call: str, stays: bool) -> None:
    line = f"  tail call void @__groundstate_index.{call} #4"
    assert bool(array_indices.release(line)) == stays
