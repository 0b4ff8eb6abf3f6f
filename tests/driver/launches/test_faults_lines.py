"""Faults name the line of the source; debuggers, profilers and programs can ask for lines, too."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundstate import ze, zet
from groundstate.compiler.opencl import frontend
from groundstate.survey import elf
from tests.conftest import check, last_error
from tests.driver.kernels import KernelBench, group_count, launch
from tests.driver.support import FOREVER, finish
from tests.patience import FACTOR

LOST = ze.ZE_RESULT_ERROR_DEVICE_LOST
pytestmark = pytest.mark.plain_mode
ITEMS = 64

SOURCE = """void put(global float *out, int at, float x) {
    out[at] = x;
}
kernel void copy(global float *out, global const float *from, int far) {
    int i = get_global_id(0);
    float x = from[i];
    if (i == 40)
        put(out, i + far, x);
    out[i] = x;
}
kernel void write(global float *out, global const float *from, int far) {
    int i = get_global_id(0);
    float x = from[i];
    out[i * far] = x;
}
kernel void spin(global float *out, global const float *from, int far) {
    volatile global int *flag = (volatile global int *)out;
    while (*flag != far)
        ;
}
kernel void trap(global float *out, global const float *from, int far) {
    if (get_global_id(0) == far)
        __builtin_trap();
    out[0] = from[0];
}
kernel void sums(global float *out, global const float *from, int far) {
    int i = get_global_id(0);
    float sum = 0;
    for (int j = 0; j <= i % 5; j++)
        sum += from[j * (i == 42 ? far : 1)];
    out[i] = sum;
}
"""


@functools.cache
def spirv(options: tuple[str, ...] = ("-g",)) -> bytes:
    return frontend.compile_opencl(SOURCE, options=options, name="blur.cl")


@pytest.fixture
def bench(driver: int, device: int) -> Iterator[KernelBench]:
    made = KernelBench(driver, device)
    yield made
    made.close()


@pytest.fixture
def doomed(driver: int, device: int) -> Iterator[KernelBench]:
    """A bench of which only the context is destroyed in the end: it is lost by then."""
    made = KernelBench(driver, device)
    yield made
    assert ze.zeContextGetStatus(made.context) == LOST
    check(ze.zeContextDestroy(made.context))


def kernel_of(bench: KernelBench, binary: bytes, name: str, far: int, items: int = ITEMS) -> int:
    out, given = bench.array(ITEMS, "float32"), bench.array(ITEMS, "float32")
    module = bench.module_of(binary)
    return bench.kernel_in(module, name, out, given, far.to_bytes(4, "little"), size=(items, 1, 1))


def sentence(bench: KernelBench, binary: bytes, name: str, far: int, items: int = ITEMS) -> str:
    """What is said about a kernel that goes wrong."""
    commands = bench.immediate()
    kernel = kernel_of(bench, binary, name, far, items)
    counts = ctypes.byref(group_count(ITEMS // items))
    ze.zeCommandListAppendLaunchKernel(commands, kernel, counts, None, 0, None)
    assert ze.zeCommandListHostSynchronize(commands, FOREVER) == LOST
    return last_error()


def test_fault_names_line_and_source(doomed: KernelBench) -> None:
    said = sentence(doomed, spirv(), "write", 1 << 28)
    assert "kernel 'write' in group (0, 0, 0)" in said
    assert "wrote to address" in said
    assert 'at blur.cl:14:18, "out[i * far] = x;"' in said


def test_fault_names_line_of_inlined_call(doomed: KernelBench) -> None:
    said = sentence(doomed, spirv(), "copy", 1 << 29)
    assert 'at blur.cl:2:13 in put, called at blur.cl:8, "out[at] = x;"' in said


def test_trap_names_line(doomed: KernelBench) -> None:
    said = sentence(doomed, spirv(), "trap", 5)
    assert "came to a trap" in said
    assert 'at blur.cl:23:9, "__builtin_trap();"' in said


def test_fault_without_lines_names_no_file(doomed: KernelBench) -> None:
    said = sentence(doomed, spirv(()), "write", 1 << 28)
    assert "wrote to address" in said
    assert "blur.cl" not in said


def test_fault_in_group_of_one_names_work_item(doomed: KernelBench) -> None:
    said = sentence(doomed, spirv(), "copy", 1 << 29, items=1)
    assert "kernel 'copy' in group (40, 0, 0), work-item (40, 0, 0), wrote to" in said


def test_fault_of_refilled_lanes_names_range(
    doomed: KernelBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lanes have work-items of any group that the thread was given."""
    monkeypatch.setenv("GROUNDSTATE_SHAPE", "refilled")
    said = sentence(doomed, spirv(), "sums", 1 << 29, items=2)
    named = re.search(r"in group \((\d+), 0, 0\)(?: to \((\d+), 0, 0\))?, work-items", said)
    assert named is not None
    assert int(named[1]) <= 21 <= int(named[2] or named[1])
    assert "at blur.cl:30:" in said


def test_code_is_the_same_with_lines(bench: KernelBench) -> None:
    """Programs that ask for the binary of a kernel get the same instructions."""
    texts = []
    for options in ((), ("-g",)):
        module = bench.module_of(spirv(options))
        image = debug_info(module)
        assert (b".debug_line" in image) == bool(options)
        kernel = kernel_of(bench, spirv(options), "write", 1)
        commands = bench.immediate()
        launch(commands, kernel, 1)
        finish(commands)
        texts.append(code_of(kernel))
    assert texts[0] == texts[1]


def code_of(kernel: int) -> bytes:
    size = ctypes.c_size_t(1 << 20)
    binary = (ctypes.c_uint8 * size.value)()
    check(ze.zeKernelGetBinaryExp(kernel, ctypes.byref(size), binary))
    found = elf.sections(memoryview(bytes(binary[: size.value])))
    (text,) = [section for section in found if section.name == ".text"]
    assert text.content
    return bytes(text.content)


# --- What tools are told --------------------------------------------------------------------------


def debug_info(module: int) -> bytes:
    size = ctypes.c_size_t()
    check(zet.zetModuleGetDebugInfo(module, 0, ctypes.byref(size), None))
    if not size.value:
        return b""
    content = (ctypes.c_uint8 * size.value)()
    check(zet.zetModuleGetDebugInfo(module, 0, ctypes.byref(size), content))
    return bytes(content)


def test_debug_info_is_dwarf(bench: KernelBench, tmp_path: Path) -> None:
    file = tmp_path / "module.elf"
    file.write_bytes(debug_info(bench.module_of(spirv())))
    tool = shutil.which("llvm-dwarfdump") or shutil.which("llvm-dwarfdump-15")
    if tool is None:
        pytest.skip("llvm-dwarfdump of the package llvm-15 is not installed")
    verified = subprocess.run([tool, "--verify", file], capture_output=True, text=True, check=False)
    assert verified.returncode == 0, verified.stdout
    text = subprocess.run([tool, "--debug-info", file], capture_output=True, text=True, check=True)
    for name in ("copy", "write", "spin", "trap", "put"):
        assert f'DW_AT_name\t("{name}")' in text.stdout


def test_debug_info_needs_room(bench: KernelBench) -> None:
    module, size = bench.module_of(spirv()), ctypes.c_size_t()
    check(zet.zetModuleGetDebugInfo(module, 0, ctypes.byref(size), None))
    small = ctypes.c_size_t(size.value - 1)
    content = (ctypes.c_uint8 * size.value)()
    result = zet.zetModuleGetDebugInfo(module, 0, ctypes.byref(small), content)
    assert result == ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert small.value == size.value


PROGRAM = f"""
import os, sys
import groundstate as gs

SOURCE = '''{SOURCE}'''
OPTIONS = sys.argv[2:]
module = gs.Module(opencl=SOURCE, name="blur.cl", options=OPTIONS)
out, given = gs.array([0.0] * 64, "float32"), gs.array([1.0] * 64, "float32")
kernel = module[sys.argv[1]]
try:
    kernel.launch(out, given, 1 if sys.argv[1] == "write" else 9, global_size=64, group_size=64)
    print(out.numpy().sum())
except gs.DeviceLost as problem:
    print(problem)
path = f"/tmp/perf-{{os.getpid()}}.map"
if os.path.exists(path):
    print(open(path).read())
    os.remove(path)
"""


def run_program(*words: str, before: tuple[str, ...] = (), **environment: str) -> str:
    command = [*before, sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | environment
    )
    return done.stdout


def test_gdb_stops_at_line_of_kernel() -> None:
    gdb = shutil.which("gdb")
    if gdb is None:
        pytest.skip("gdb is not installed")
    commands = (
        "set breakpoint pending on",
        "break blur.cl:14",
        "run",
        "bt 3",
        "delete",
        "continue",
    )
    words = [word for each in commands for word in ("-ex", each)]
    said = run_program("write", "-g", before=(gdb, "-batch", "-nx", *words, "--args"))
    assert "hit Breakpoint 1" in said
    assert "#0  write () at blur.cl:14" in said
    assert "64.0" in said


def test_perf_map_names_kernels() -> None:
    said = run_program("write", GROUNDSTATE_PERF_MAP="1")
    address, size, name, shape = said.splitlines()[1].split()
    assert int(address, 16) > 0
    assert int(size, 16) > 0
    assert (name, shape) == ("write", "[64x1x1]")


def test_nothing_is_told_unasked() -> None:
    assert run_program("write").split() == ["64.0"]


def test_limit_says_where_kernel_was() -> None:
    deadline = time.monotonic() + 60 * FACTOR
    said = ""
    while "blur.cl" not in said and time.monotonic() < deadline:
        said = run_program("spin", GROUNDSTATE_KERNEL_LIMIT="200ms")
        assert "kernel 'spin' ran for more than 0.2 seconds" in said
    assert "at blur.cl:18" in said
