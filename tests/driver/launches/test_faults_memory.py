"""Local and private memory of kernels: an index out of bounds costs the context, nothing else."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.kernels import KernelBench, group_count
from tests.driver.launches.test_kernels_compiled import spirv
from tests.driver.support import FOREVER

LOST = ze.ZE_RESULT_ERROR_DEVICE_LOST
pytestmark = pytest.mark.plain_mode

KERNELS = {
    "local_write": """
kernel void local_write(global int *out, long at, local int *unused) {
    local int a[64];
    size_t i = get_local_id(0);
    a[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i == 3) a[at] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = a[63 - i];
}""",
    "local_read": """
kernel void local_read(global int *out, long at, local int *unused) {
    local float4 a[16];
    size_t i = get_local_id(0);
    a[i & 15] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = a[at + (i & 15)].x;
}""",
    "local_atomic": """
kernel void local_atomic(global int *out, long at, local int *unused) {
    local int a[64];
    size_t i = get_local_id(0);
    a[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&a[at + (i & 1)], 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = a[63 - i];
}""",
    "local_argument": """
kernel void local_argument(global int *out, long at, local int *a) {
    size_t i = get_local_id(0);
    a[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    a[at + i] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = a[63 - i];
}""",
    "private_same_index": """
kernel void private_same_index(global int *out, long at, local int *unused) {
    int a[16];
    for (int k = 0; k < 16; ++k) a[k] = at * k;
    a[(int)at] = 1;
    out[get_global_id(0)] = a[get_global_id(0) & 15];
}""",
    "private_write": """
kernel void private_write(global int *out, long at, local int *unused) {
    int a[16], sum = 0;
    for (int k = 0; k < 16; ++k) a[k] = out[k];
    a[(int)at + get_global_id(0) % 3] = 1;
    for (int k = 0; k < 16; ++k) sum += a[k];
    out[get_global_id(0)] = sum;
}""",
    "private_across_a_barrier": """
kernel void private_across_a_barrier(global int *out, long at, local int *a) {
    long b[8];
    size_t i = get_local_id(0);
    global int *there = out + (at & 1);
    for (int k = 0; k < 8; ++k) b[k] = out[k];
    a[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    b[at] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    there[get_global_id(0)] = a[63 - i] + b[i & 7];
}""",
}
NEAR, FAR = (2000, -20000), (100_000, -100_000, 1 << 24, -(1 << 26), 1 << 28)

PROGRAM = """
import resource, sys
kernel, source, limit, *indices = sys.argv[1:]
if int(limit):
    resource.setrlimit(resource.RLIMIT_AS, (int(limit), int(limit)))
import groundstate as gs
for groups in (1, 500):
    for index in map(int, indices):
        context = gs.Context(gs.devices()[0])
        module = gs.Module(context, opencl=source)
        out = context.alloc_shared(64 * groups + 64, "int32")
        commands = gs.CommandList.immediate(context, in_order=True)
        try:
            module[kernel](commands, groups, 64, out, index, gs.Local(64, "int32"))
            commands.synchronize()
            print("no fault:", index, groups)
        except gs.DeviceLost as problem:
            assert f"kernel '{kernel}'" in str(problem), problem
print("ended")
"""


def run_program(kernel: str, *indices: int, limit: int = 0) -> subprocess.CompletedProcess[str]:
    """Lets a kernel use indices in a process of its own, which must end in good order."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, kernel, KERNELS[kernel], str(limit), *map(str, indices)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_far_out_of_bounds_index_loses_context(driver: int, kernel: str) -> None:
    done = run_program(kernel, *FAR)
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr


@pytest.mark.parametrize("kernel", KERNELS)
def test_index_slightly_out_of_bounds_is_harmless(driver: int, kernel: str) -> None:
    done = run_program(kernel, 16, 17, 70, -1, -70, *NEAR)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("ended\n")


@pytest.mark.parametrize("kernel", ["local_write", "private_write"])
def test_guards_shrink_in_limited_address_space(driver: int, kernel: str) -> None:
    done = run_program(kernel, *NEAR, limit=8 << 30)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("ended\n")


@pytest.mark.parametrize(
    ("kernel", "index", "words"),
    [
        ("local_write", 96, "wrote to address 0x{}, 0 bytes behind local memory"),
        ("local_read", 20_000, "read from address 0x{} bytes behind local memory"),
        ("local_write", 10_000_000, "wrote to address 0x{}, 39999616 bytes behind local memory"),
        ("local_write", -10_000_000, "wrote to address 0x{}, before local memory"),
        ("private_write", 10_000_000, "bytes behind private memory"),
        ("private_write", -10_000_000, "before private memory"),
    ],
)
def test_sentence_says_what_memory_was_left(
    driver: int, device: int, kernel: str, index: int, words: str
) -> None:
    bench = KernelBench(driver, device)
    module = bench.module_of(spirv(KERNELS[kernel]))
    out = bench.array(128, "int32")
    handle = bench.kernel_in(module, kernel, out, index, size=(64, 1, 1))
    check(ze.zeKernelSetArgumentValue(handle, 2, 128, None))  # lies behind the kernel's own
    commands = bench.immediate()
    counts = ctypes.byref(group_count(1))
    ze.zeCommandListAppendLaunchKernel(commands, handle, counts, None, 0, None)
    assert ze.zeCommandListHostSynchronize(commands, FOREVER) == LOST
    before, _, after = words.partition("{}")
    assert before in last_error()
    assert after in last_error()
    check(ze.zeContextDestroy(bench.context))


@pytest.mark.parametrize("groups", [1, 300])
def test_read_just_behind_local_memory_gives_zero(driver: int, device: int, groups: int) -> None:
    """As on GPUs: SYCL's compiler loads before it tests whether there is such an element."""
    source = """kernel void hoisted(global int *out, local int *row, int count) {
        int i = get_local_id(0);
        if (i < count) row[i] = i + 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        int next = ((volatile local int *)row)[(i & 63) + 200];
        out[get_global_id(0)] = next + (i < count ? row[i] : 0);
    }"""
    bench = KernelBench(driver, device)
    out = bench.array(64 * groups, "int32")
    handle = bench.kernel_in(bench.module_of(spirv(source)), "hoisted", out, size=(64, 1, 1))
    check(ze.zeKernelSetArgumentValue(handle, 1, 100, None))
    check(ze.zeKernelSetArgumentValue(handle, 2, 4, ctypes.byref(ctypes.c_int32(25))))
    commands = bench.immediate()
    counts = ctypes.byref(group_count(groups))
    check(ze.zeCommandListAppendLaunchKernel(commands, handle, counts, None, 0, None))
    check(ze.zeCommandListHostSynchronize(commands, FOREVER))
    assert list(out) == [i + 1 if i < 25 else 0 for i in range(64)] * groups
    bench.close()
