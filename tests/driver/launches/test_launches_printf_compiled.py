"""printf in compiled kernels, up to and beyond what the device has room for."""

import functools
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from groundstate import ze
from groundstate.compiler.opencl import frontend
from groundstate.driver.capabilities import PRINTF_BUFFER_SIZE
from tests.compiler.spirv.spirv_support import assemble
from tests.conftest import check
from tests.driver.kernels import KernelBench, launch
from tests.driver.support import finish

LONG = "0123456789abcdef" * 300
SOURCE = f"""
kernel void item(global int *results) {{
    size_t i = get_global_id(0);
    results[i] = printf("%d\\n", (int)i);
}}
kernel void literal(global int *results) {{
    size_t i = get_global_id(0);
    results[i] = printf("said\\n");
}}
kernel void vectors(global int *results) {{
    size_t i = get_global_id(0);
    long16 v = (long16)(i);
    results[i] = printf("%v16ld|%v16ld|%v16ld\\n", v, v + 1, v + 2);
}}
kernel void sizes(global int *results) {{
    size_t i = get_global_id(0);
    long16 v = (long16)(i);
    int said;
    if (i % 3 == 0)
        said = printf("%v16ld\\n", v);
    else
        said = printf("%d\\n", (int)i);
    results[i] = said;
}}
kernel void rounds(global int *results) {{
    size_t i = get_global_id(0);
    int failed = 0;
    for (int round = 0; round < 1000; round++)
        if (printf("%d %d\\n", (int)i, round) != 0)
            failed++;
    results[i] = failed;
}}
kernel void text(global int *results) {{
    size_t i = get_global_id(0);
    results[i] = printf("{LONG} %s %d\\n", "{LONG}", (int)i);
}}
"""
TEXT = """
OpCapability Addresses
OpCapability Kernel
OpCapability Int8
OpCapability Int64
%cl = OpExtInstImport "OpenCL.std"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %item "item" %id
OpDecorate %id BuiltIn GlobalInvocationId
OpDecorate %format Constant
%void = OpTypeVoid
%char = OpTypeInt 8 0
%int = OpTypeInt 32 0
%long = OpTypeInt 64 0
%v3long = OpTypeVector %long 3
%percent = OpConstant %char 37
%letter_d = OpConstant %char 100
%newline = OpConstant %char 10
%zero = OpConstant %char 0
%count = OpConstant %int 4
%start = OpConstantNull %long
%chars = OpTypeArray %char %count
%string = OpConstantComposite %chars %percent %letter_d %newline %zero
%chars_pointer = OpTypePointer UniformConstant %chars
%char_pointer = OpTypePointer UniformConstant %char
%id_pointer = OpTypePointer Input %v3long
%words = OpTypePointer CrossWorkgroup %int
%kernel_type = OpTypeFunction %void %words
%format = OpVariable %chars_pointer UniformConstant %string
%id = OpVariable %id_pointer Input
%item = OpFunction %void None %kernel_type
%results = OpFunctionParameter %words
%entry = OpLabel
%ids = OpLoad %v3long %id
%i = OpCompositeExtract %long %ids 0
%number = OpUConvert %int %i
%at = OpInBoundsPtrAccessChain %char_pointer %format %start %start
%said = OpExtInst %int %cl printf %at %number
%place = OpInBoundsPtrAccessChain %words %results %i
OpStore %place %said
OpReturn
OpFunctionEnd
"""


@pytest.fixture
def real(driver: int, device: int) -> Iterator[KernelBench]:
    bench = KernelBench(driver, device)
    yield bench
    bench.close()


@functools.cache
def spirv(front_end: str = "OpenCL C") -> bytes:
    return frontend.compile_opencl(SOURCE) if front_end == "OpenCL C" else assemble(TEXT)


def run(
    bench: KernelBench, binary: bytes, name: str, items: int, size: int
) -> npt.NDArray[np.int32]:
    results, commands = bench.array(items, "int32"), bench.immediate()
    results[:] = 99
    kernel = bench.kernel_in(bench.module_of(binary), name, results, size=(size, 1, 1))
    launch(commands, kernel, items // size)
    finish(commands)
    return results


@pytest.mark.parametrize("front_end", ["OpenCL C", "SPIR-V"])
@pytest.mark.parametrize("size", [1, 50])
def test_only_printf_calls_without_room_are_lost(
    real: KernelBench, capfd: pytest.CaptureFixture[str], front_end: str, size: int
) -> None:
    room = PRINTF_BUFFER_SIZE // 16
    results = run(real, spirv(front_end), "item", 272_000, size)
    lines = capfd.readouterr().out.splitlines()
    assert set(np.unique(results)) == {-1, 0}
    assert len(lines) == room == (results == 0).sum()
    assert sorted(map(int, lines)) == list(np.flatnonzero(results == 0))


def test_calls_without_arguments_take_room_too(
    real: KernelBench, capfd: pytest.CaptureFixture[str]
) -> None:
    room = PRINTF_BUFFER_SIZE // 8
    results = run(real, spirv(), "literal", room + 1024, 128)
    assert capfd.readouterr().out == "said\n" * room
    assert (results == 0).sum() == room


def test_lines_of_large_vectors_are_whole(
    real: KernelBench, capfd: pytest.CaptureFixture[str]
) -> None:
    results = run(real, spirv(), "vectors", 12000, 24)
    lines = capfd.readouterr().out.splitlines()
    said = np.flatnonzero(results == 0)
    assert len(said) == PRINTF_BUFFER_SIZE // (8 + 3 * 16 * 8)
    expected = {"|".join(",".join([str(i + more)] * 16) for more in range(3)) for i in said}
    assert set(lines) == expected
    assert len(lines) == len(expected)


def test_printf_of_mixed_sizes_is_whole_or_lost(
    real: KernelBench, capfd: pytest.CaptureFixture[str]
) -> None:
    results = run(real, spirv(), "sizes", 120000, 60)
    lines = capfd.readouterr().out.splitlines()
    said = np.flatnonzero(results == 0)
    assert 0 < len(said) < len(results)
    assert sorted(lines) == sorted(
        str(i) if i % 3 else ",".join([str(i)] * 16) for i in map(int, said)
    )


def test_failures_can_be_counted_in_a_loop(
    real: KernelBench, capfd: pytest.CaptureFixture[str]
) -> None:
    results = run(real, spirv(), "rounds", 256, 32)
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == PRINTF_BUFFER_SIZE // 24
    assert results.sum() == 256 * 1000 - len(lines)
    assert len(set(lines)) == len(lines)


def test_long_strings_are_whole(real: KernelBench, capfd: pytest.CaptureFixture[str]) -> None:
    results = run(real, spirv(), "text", 64, 16)
    assert not results.any()
    lines = capfd.readouterr().out.splitlines()
    assert sorted(lines) == sorted(f"{LONG} {LONG} {i}" for i in range(64))


def test_parallel_printf_launches_have_own_room(
    real: KernelBench, capfd: pytest.CaptureFixture[str]
) -> None:
    items, module, go = 100_000, real.module_of(spirv()), real.event()
    lists = [real.immediate() for _ in range(4)]
    results = [real.array(items, "int32") for _ in lists]
    for commands, said in zip(lists, results, strict=True):
        kernel = real.kernel_in(module, "item", said, size=(50, 1, 1))
        launch(commands, kernel, items // 50, waits=[go])
    check(ze.zeEventHostSignal(go))
    for commands in lists:
        finish(commands)
    lines = capfd.readouterr().out.splitlines()
    assert not any(said.any() for said in results)
    assert sorted(map(int, lines)) == sorted(list(range(items)) * len(lists))


def test_printf_loss_reaches_stderr_like_errors() -> None:
    program = (
        "import sys, ctypes\n"
        "from tests.conftest import first_driver\n"
        "from tests.driver.launches.test_launches_printf_compiled import *\n"
        "check(ze.zeInit(0))\n"
        "device = ctypes.c_void_p()\n"
        "count = ctypes.c_uint32(1)\n"
        "check(ze.zeDeviceGet(first_driver(), ctypes.byref(count), ctypes.byref(device)))\n"
        "bench = KernelBench(first_driver(), device.value)\n"
        "for _ in range(2): run(bench, spirv(), 'item', 300_000, 100)\n"
        "bench.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "GROUNDSTATE_ERRORS": "serious"},
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = [each for each in done.stderr.splitlines() if "printf" in each]
    assert "kernel 'item'" in line
    assert "printfBufferSize" in line
    assert len(done.stdout.splitlines()) == 2 * (PRINTF_BUFFER_SIZE // 16)
