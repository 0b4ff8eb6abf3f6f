"""OpenCL C that is compiled for checked mode has all the accesses of its source."""

from __future__ import annotations

import pytest

from groundstate.compiler.opencl import kept_accesses
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
