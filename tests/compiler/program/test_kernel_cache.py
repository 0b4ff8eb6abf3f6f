"""What is kept of kernels between processes: a second run of a program compiles nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from groundstate.compiler.cache import kernel_cache
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program

PROGRAM = """
import sys
import groundstate as gs

source = '''
kernel void say(global int *out, int n, local int *copy) {
    copy[get_local_id(0)] = n;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = copy[7 - get_local_id(0)] + get_global_id(0);
    if (get_global_id(0) == 0) printf("said %d\\\\n", n);
}'''
with gs.Context(gs.devices()[0]) as context:
    out = context.alloc_shared(16, "int32")
    with gs.CommandList.immediate(context, in_order=True) as commands:
        kernel = gs.Module(context, opencl=source)["say"]
        kernel(commands, 2, 8, out, 5, gs.Local(8, "int32"))
    print(out.tolist())
modules = ("codegen.kernel", "pipeline", "opencl.llvm_ir")
print([name for name in modules if f"groundstate.compiler.{name}" in sys.modules])
"""
SOURCE = "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GROUNDSTATE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def run() -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=os.environ, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_a_second_process_compiles_nothing() -> None:
    first, second = run(), run()
    said, numbers, imported = first
    assert (said, numbers) == ("said 5", str([5 + i for i in range(16)]))
    assert "pipeline" in imported
    assert second == [said, numbers, "[]"]


def test_what_is_kept_is_what_was_found_out() -> None:
    spirv = compile_opencl(SOURCE)
    first, second = Program(spirv), Program(spirv)
    first.check("twice")
    code = first.compile("twice", (8, 1, 1))
    again = second.compile("twice", (8, 1, 1))
    assert (again.binary, again.private_bytes) == (code.binary, code.private_bytes)
    assert second.signature("twice") == first.signature("twice")


def test_key_covers_group_size_option_constant() -> None:
    spirv = compile_opencl(SOURCE)
    Program(spirv).compile("twice", (8, 1, 1))
    for program, size in (
        (Program(spirv), (16, 1, 1)),
        (Program(spirv, options="-ze-opt-disable"), (8, 1, 1)),
        (Program(spirv, constants={0: bytes(4)}), (8, 1, 1)),
    ):
        assert program.cache.get("twice", *size, 0) is None
    assert Program(spirv).cache.get("twice", 8, 1, 1, 0) is not None


def test_compiler_changed_midway_caches_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel_cache, "compiler_state", lambda: "changed")
    monkeypatch.setattr(kernel_cache, "LOOK_AFTER_S", 0)
    kernel_cache.KernelCache(lambda: b"program").put({"a": 1}, b"code", "kernel")
    assert kernel_cache.KernelCache(lambda: b"program").get("kernel") is None


def test_entries_depend_on_the_whole_compiler() -> None:
    paths = [Path(file.path) for file in kernel_cache.compiler_files()]
    root = Path(kernel_cache.__file__).parents[1]
    names = {str(path.relative_to(root)) for path in paths}
    assert {"pipeline.py", "spirv/types.py", "codegen/memory/atomics.py", "target/x86.py"} <= names
    assert not any(name.startswith("opencl/") for name in names)


def test_packed_parts_come_apart() -> None:
    packed = kernel_cache.pack({"a": [1, "b"]}, b"\0content")
    assert kernel_cache.unpack(packed) == ({"a": [1, "b"]}, b"\0content")


@pytest.mark.parametrize("damaged", [b"", b"\xff\xff\xff\xff{", b"\x02\0\0\0[]", b"\x01\0\0\0\xff"])
def test_what_is_damaged_is_a_value_error(damaged: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        kernel_cache.unpack(damaged)


def test_code_for_older_cpus_is_another_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_cache.machine_identity.cache_clear()
    native = kernel_cache.machine_identity()
    monkeypatch.setenv("GROUNDSTATE_MAX_ISA", "sse4")
    kernel_cache.machine_identity.cache_clear()
    assert kernel_cache.machine_identity() != native
    kernel_cache.machine_identity.cache_clear()
