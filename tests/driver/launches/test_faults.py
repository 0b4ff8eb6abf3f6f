"""Kernels and copies that go wrong: the context is lost, and nothing else."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.kernels import KernelBench, group_count, launch
from tests.driver.launches.test_kernels_compiled import spirv
from tests.driver.support import (
    FOREVER,
    address,
    barrier,
    close_list,
    fill,
    finish,
    handles,
    in_another_thread,
    submit,
)

WRITE, READ, DIVIDE, TRAP, RECURSE, BREAKPOINT = range(6)
NOWHERE = 0x10
LOST = ze.ZE_RESULT_ERROR_DEVICE_LOST
ROUND_UP = {"x86_64": 0x800, "aarch64": 0x400000}[platform.machine()]  # FE_UPWARD


@pytest.fixture
def doomed(kernels: KernelBench) -> Iterator[KernelBench]:
    """A second workbench, of which only the context is destroyed in the end: it is lost by then."""
    bench = KernelBench(kernels.driver, kernels.device)
    yield bench
    assert ze.zeContextGetStatus(bench.context) == LOST
    check(ze.zeContextDestroy(bench.context))


def strike(
    bench: KernelBench, commands: int, what: int = WRITE, groups: int = 1, at: int = 0
) -> int:
    """Appends a launch of which one group goes wrong. Answers what the append did."""
    kernel = bench.kernel("strike", what, at, NOWHERE, size=(64, 1, 1))
    counts = ctypes.byref(group_count(groups))
    return int(ze.zeCommandListAppendLaunchKernel(commands, kernel, counts, None, 0, None))


def strike_through_queue(bench: KernelBench, signal_event: int | None = None) -> int:
    """Gives a launch that goes wrong to a queue."""
    commands, queue = bench.list(), bench.queue()
    launch(commands, bench.kernel("strike", WRITE, 0, NOWHERE), 1, signal=signal_event)
    submit_lost(queue, close_list(commands))
    return queue


def submit_lost(queue: int, *lists: int, fence: int | None = None) -> None:
    """Gives lists to a queue that may be lost before the call has returned."""
    result = ze.zeCommandQueueExecuteCommandLists(queue, len(lists), handles(*lists), fence)
    assert result in (ze.ZE_RESULT_SUCCESS, LOST)


# --- What is said about a fault -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (WRITE, "wrote to address 0x10, where there is no memory"),
        (READ, "read from address 0x10, where there is no memory"),
        (DIVIDE, "divided by zero at instruction 0x"),
        (TRAP, "came to a trap"),
        (RECURSE, "address 0x"),
        (BREAKPOINT, "came to a trap"),
    ],
)
@pytest.mark.parametrize("groups", [1, 5000])
def test_a_fault_is_described(doomed: KernelBench, what: int, words: str, groups: int) -> None:
    commands = doomed.immediate()
    strike(doomed, commands, what, groups, groups // 2)
    assert ze.zeCommandListHostSynchronize(commands, FOREVER) == LOST
    text, first = last_error(), groups // 2 * 64
    assert text.startswith("zeCommandListHostSynchronize: the context is lost: ")
    assert words in text
    assert f"kernel 'strike' in group ({groups // 2}, 0, 0), work-items " in text
    assert f" ({first}, 0, 0) to ({first + 63}, 0, 0), " in text
    assert "zeContextDestroy" in text


OUT_OF_BOUNDS = """
kernel void store(global int *out, uint at, ulong far) {
    size_t y = get_global_id(1), x = get_global_id(0);
    size_t far_here = y == at && x == 0 ? far : 0;
    out[y * get_global_size(0) + x + far_here] = 1;
}
"""


@pytest.mark.plain_mode
def test_a_compiled_kernel_names_the_group(driver: int, device: int) -> None:
    bench = KernelBench(driver, device)
    module = bench.module_of(spirv(OUT_OF_BOUNDS))
    kernel = bench.kernel_in(
        module, "store", bench.array(640, "int32"), b"\x05\0\0\0", -(1 << 38), size=(16, 2, 1)
    )
    commands = bench.immediate()
    counts = ctypes.byref(group_count(4, 5))
    ze.zeCommandListAppendLaunchKernel(commands, kernel, counts, None, 0, None)
    assert ze.zeCommandListHostSynchronize(commands, FOREVER) == LOST
    assert (
        "kernel 'store' in group (0, 2, 0), work-items (0, 4, 0) to (15, 5, 0), wrote to"
        in last_error()
    )
    check(ze.zeContextDestroy(bench.context))


ROWS_FIRST = """
kernel void fill(global int *out, uint at, ulong far) {
    size_t row = get_global_id(0), column = get_global_id(1), n = get_global_size(1);
    ulong far_here = get_group_id(0) == at && get_group_id(1) == 3 ? far : 0;
    out[row * n + column + far_here] = 1;
}
"""


@pytest.mark.plain_mode
def test_group_is_named_that_runs_along_the_second_axis(driver: int, device: int) -> None:
    """Its number is not one of those that the launcher has given to the code."""
    bench = KernelBench(driver, device)
    module = bench.module_of(spirv(ROWS_FIRST))
    kernel = bench.kernel_in(
        module, "fill", bench.array(80 * 64, "int32"), b"\x02\0\0\0", -(1 << 38), size=(16, 16, 1)
    )
    commands = bench.immediate()
    counts = ctypes.byref(group_count(5, 4))
    ze.zeCommandListAppendLaunchKernel(commands, kernel, counts, None, 0, None)
    assert ze.zeCommandListHostSynchronize(commands, FOREVER) == LOST
    assert "kernel 'fill' in group (2, 3, 0), work-items (32, 48, 0)" in last_error()
    check(ze.zeContextDestroy(bench.context))


DIVISION = """
kernel void divide(global const int *a, global const int *b, global int *out, int by) {
    size_t i = get_global_id(0);
    out[i] = a[i] / b[i] + a[i] % b[i] + a[i] / by + (int)((uint)a[i] / (uint)b[i]);
}
"""


def test_division_by_zero_gives_dividend_no_fault(driver: int, device: int) -> None:
    bench = KernelBench(driver, device)
    a, b, out = (bench.array(64, "int32") for _ in range(3))
    a[:], b[:] = 100, 7
    a[3], b[3], b[5], b[40] = -(2**31), -1, 0, 0
    module, commands = bench.module_of(spirv(DIVISION)), bench.immediate()
    launch(commands, bench.kernel_in(module, "divide", a, b, out, b"\0" * 4, size=(64, 1, 1)), 1)
    finish(commands)
    expected = a * 0 + 14 + 2 + 100 + 14
    expected[[5, 40]] = 100 + 100 + 100 + 100
    expected[3] = 0  # least / -1 + 0 + least / 0 + 0x80000000u / 0xffffffffu, modulo 2**32
    assert list(out) == list(expected)
    bench.close()


TRAPS = """
kernel void some(global int *out, int at) {
    size_t i = get_global_id(0);
    if (i == at) __builtin_trap();
    out[i] = 1;
}
kernel void all(global int *out, int at) {
    if (at != 0) __builtin_trap();
    out[get_global_id(0)] = 1;
}
void check(int holds) { if (!holds) __builtin_trap(); }
int found(global int *out, int at) {
    switch (at & 3) {
    case 0: return out[get_global_id(0) + at];
    case 1: check(at < 2); return 1;
    default: __builtin_trap();
    }
}
kernel void called(global int *out, int at) { out[get_global_id(0)] = found(out, at); }
kernel void behind_a_barrier(global int *out, int at) {
    local int a[64];
    size_t i = get_local_id(0);
    a[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 64; k++) check(a[k] + at < 64 + 5);
    out[get_global_id(0)] = a[63 - i];
}
"""


@pytest.mark.parametrize("groups", [1, 500])
@pytest.mark.parametrize("kernel", ["some", "all", "called", "behind_a_barrier"])
def test_trap_loses_the_context(driver: int, device: int, kernel: str, groups: int) -> None:
    bench = KernelBench(driver, device)
    module, out = bench.module_of(spirv(TRAPS)), bench.array(64 * groups, "int32")
    commands, counts = bench.immediate(), ctypes.byref(group_count(groups))
    if kernel != "some":
        good = bench.kernel_in(module, kernel, out, b"\0" * 4, size=(64, 1, 1))
        launch(commands, good, groups)
        finish(commands)
    bad = bench.kernel_in(module, kernel, out, b"\x0f\0\0\0", size=(64, 1, 1))
    ze.zeCommandListAppendLaunchKernel(commands, bad, counts, None, 0, None)
    assert ze.zeCommandListHostSynchronize(commands, FOREVER) == LOST
    assert f"kernel '{kernel}' in group (" in last_error()
    assert "came to a trap" in last_error()
    check(ze.zeContextDestroy(bench.context))


# --- What a loss means ----------------------------------------------------------------------------


def test_every_use_of_the_context_says_so(doomed: KernelBench) -> None:
    commands, event, kernel = doomed.immediate(), doomed.event(), doomed.kernel("empty")
    recorded, queue, memory = doomed.list(), doomed.queue(), doomed.host(64)
    fence, module = doomed.fence(queue), doomed.module("empty")
    strike(doomed, commands)
    assert ze.zeCommandListHostSynchronize(commands, FOREVER) == LOST
    counts, pointer = ctypes.byref(group_count(1)), ctypes.c_void_p()
    for answer in (
        ze.zeContextGetStatus(doomed.context),
        ze.zeCommandListAppendBarrier(commands, None, 0, None),
        ze.zeCommandListAppendLaunchKernel(commands, kernel, counts, None, 0, None),
        ze.zeCommandListAppendMemoryCopy(recorded, memory, memory + 32, 8, None, 0, None),
        ze.zeCommandListClose(recorded),
        ze.zeCommandListReset(recorded),
        ze.zeCommandQueueSynchronize(queue, 0),
        ze.zeEventQueryStatus(event),
        ze.zeEventHostSynchronize(event, FOREVER),
        ze.zeEventHostSignal(event),
        ze.zeFenceQueryStatus(fence),
        ze.zeFenceHostSynchronize(fence, FOREVER),
        ze.zeKernelSetGroupSize(kernel, 1, 1, 1),
        ze.zeModuleGetKernelNames(module, ctypes.byref(ctypes.c_uint32()), None),
        ze.zeMemAllocHost(
            doomed.context,
            ctypes.byref(ze.ze_host_mem_alloc_desc_t()),
            8,
            0,
            ctypes.byref(pointer),
        ),
    ):
        assert answer == LOST
        assert "kernel 'strike'" in last_error()
    assert ze.zeDeviceGetStatus(doomed.device) == ze.ZE_RESULT_SUCCESS


def test_other_contexts_go_on(kernels: KernelBench, doomed: KernelBench) -> None:
    flag, visits = kernels.array(1, "uint32"), kernels.array(1000, "uint8")
    busy, commands = kernels.immediate(), kernels.immediate()
    launch(busy, kernels.kernel("spin", flag), 1)
    lost = doomed.immediate()
    strike(doomed, lost, groups=4000, at=3999)
    for _ in range(2):
        launch(commands, kernels.kernel("visit", visits, size=(10, 1, 1)), 100)
        finish(commands)
    assert ze.zeCommandListHostSynchronize(lost, FOREVER) == LOST
    assert (visits == 2).all()
    assert ze.zeCommandListHostSynchronize(busy, 0) == ze.ZE_RESULT_NOT_READY
    flag[0] = 1
    finish(busy)
    assert ze.zeContextGetStatus(kernels.context) == ze.ZE_RESULT_SUCCESS


def test_lost_context_returns_memory_for_new_one(kernels: KernelBench) -> None:
    used = ctypes.CDLL(os.environ.get("GROUNDSTATE_LIBRARY") or str(ze_library()))
    used.gs_device_memory_used.restype = ctypes.c_uint64
    used.gs_device_memory_used.argtypes = [ctypes.c_void_p]
    before = used.gs_device_memory_used(kernels.device)
    for _ in range(3):
        bench = KernelBench(kernels.driver, kernels.device)
        bench.local(1 << 20)
        commands = bench.immediate(in_order=True)
        visits = bench.array(64, "uint8")
        launch(commands, bench.kernel("visit", visits, size=(8, 1, 1)), 8)
        finish(commands)
        assert (visits == 1).all()
        bench.events(3)
        bench.counter_event()
        bench.fence(bench.queue())
        bench.module("empty", variables={"x": (64, 4)})
        strike(bench, commands)
        check(ze.zeContextDestroy(bench.context))
        assert ze.zeContextGetStatus(bench.context) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    assert used.gs_device_memory_used(kernels.device) == before


def ze_library() -> object:
    from groundstate import standin

    return standin.library()


def test_objects_of_lost_context_are_destroyable(kernels: KernelBench) -> None:
    bench = KernelBench(kernels.driver, kernels.device)
    bench.local(4096)
    bench.fence(bench.queue())
    bench.event()
    bench.module("empty")
    strike(bench, bench.immediate())
    for handle in reversed(list(bench._endings)):
        check(bench._endings[handle](handle))


# --- Nobody waits for ever ------------------------------------------------------------------------


def test_waiters_for_lost_launch_get_device_lost(doomed: KernelBench) -> None:
    event, follower, queue = doomed.event(), doomed.immediate(), doomed.queue()
    fence, never = doomed.fence(queue), doomed.event()
    waiting = doomed.list()
    barrier(waiting, waits=[never])
    submit(queue, close_list(waiting), fence=fence)
    barrier(follower, waits=[event])
    answers: list[int] = []

    def wait(*calls: Callable[[], int]) -> Callable[[], None]:
        return lambda: answers.extend(call() for call in calls)

    with (
        in_another_thread(wait(lambda: ze.zeEventHostSynchronize(event, FOREVER))),
        in_another_thread(wait(lambda: ze.zeFenceHostSynchronize(fence, FOREVER))),
        in_another_thread(wait(lambda: ze.zeCommandListHostSynchronize(follower, FOREVER))),
        in_another_thread(wait(lambda: ze.zeCommandQueueSynchronize(queue, FOREVER))),
    ):
        strike_through_queue(doomed, event)
    assert answers == [LOST] * 4


def test_lost_context_stops_its_other_launches(doomed: KernelBench) -> None:
    flag, busy = doomed.array(1, "uint32"), doomed.immediate()
    launch(busy, doomed.kernel("spin", flag), 8)
    strike_through_queue(doomed)
    assert ze.zeCommandListHostSynchronize(busy, FOREVER) == LOST


def test_groups_waiting_for_lost_group_stop(doomed: KernelBench) -> None:
    kernel = doomed.kernel("desert", doomed.array(1, "uint32"))
    most, commands = ctypes.c_uint32(), doomed.immediate()
    check(ze.zeKernelSuggestMaxCooperativeGroupCount(kernel, ctypes.byref(most)))
    counts = ctypes.byref(group_count(max(most.value, 2)))
    if most.value < 2:
        pytest.skip("the device has one CPU, so groups cannot wait for each other")
    ze.zeCommandListAppendLaunchCooperativeKernel(commands, kernel, counts, None, 0, None)
    assert ze.zeCommandListHostSynchronize(commands, FOREVER) == LOST
    assert "in group (1, 0, 0), work-items (16, 0, 0) to (31, 0, 0), wrote to" in last_error()


def test_what_comes_after_a_loss_is_not_done(doomed: KernelBench) -> None:
    called = []
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(called.append)
    commands, queue, written = doomed.list(), doomed.queue(), doomed.bytes(64, fill=0)
    launch(commands, doomed.kernel("strike", WRITE, 0, NOWHERE), 1)
    fill(commands, address(written), b"\1", 64)
    check(
        ze.zeCommandListAppendHostFunction(
            commands, ctypes.cast(callback, ctypes.c_void_p), None, None, None, 0, None
        )
    )
    submit_lost(queue, close_list(commands))
    assert ze.zeCommandQueueSynchronize(queue, FOREVER) == LOST
    assert (written == 0).all()
    assert not called


# --- Memory that a program names and does not have ------------------------------------------------


@pytest.fixture
def hole() -> Iterator[int]:
    """The address of memory that may be neither read nor written, four megabytes of it."""
    with mmap.mmap(-1, 4 << 20) as memory:
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(4 << 20), 0) == 0
        yield start


@pytest.mark.parametrize("size", [16, 4 << 20])
def test_unmapped_copy_or_fill_loses_context(kernels: KernelBench, hole: int, size: int) -> None:
    for number in range(4):
        bench = KernelBench(kernels.driver, kernels.device)
        commands, own = bench.immediate(), bench.host(size)
        if number == 0:
            ze.zeCommandListAppendMemoryCopy(commands, own, hole, size, None, 0, None)
            expected = f"a copy of {size} bytes from {hole:#x} to {own:#x} read from address"
        elif number == 1:
            ze.zeCommandListAppendMemoryCopy(commands, hole, own, size, None, 0, None)
            expected = f"a copy of {size} bytes from {own:#x} to {hole:#x} wrote to address"
        elif number == 2:
            ze.zeCommandListAppendMemoryFill(commands, hole, b"\1\2", 2, size, None, 0, None)
            expected = f"a fill of {size} bytes at {hole:#x} wrote to address"
        else:
            region = ctypes.byref(ze.ze_copy_region_t(width=8, height=size // 8, depth=1))
            ze.zeCommandListAppendMemoryCopyRegion(
                commands, own, region, 8, 0, hole, region, 8, 0, None, 0, None
            )
            expected = f"a copy of 8 x {size // 8} x 1 bytes from {hole:#x} to {own:#x} read from"
        assert ze.zeCommandListHostSynchronize(commands, FOREVER) == LOST
        assert expected in last_error()
        assert "which does not allow that" in last_error()
        check(ze.zeContextDestroy(bench.context))


def test_a_timestamp_to_memory_that_is_not_there(doomed: KernelBench, hole: int) -> None:
    commands = doomed.immediate()
    ze.zeCommandListAppendWriteGlobalTimestamp(commands, hole, None, 0, None)
    assert ze.zeCommandListHostSynchronize(commands, FOREVER) == LOST
    assert "a command that writes timestamps wrote to address" in last_error()


def test_group_counts_in_memory_that_is_not_there(doomed: KernelBench, hole: int) -> None:
    commands, kernel = doomed.immediate(), doomed.kernel("empty")
    ze.zeCommandListAppendLaunchKernelIndirect(commands, kernel, hole, None, 0, None)
    assert ze.zeCommandListHostSynchronize(commands, FOREVER) == LOST
    assert "kernel 'empty' read from address" in last_error()


def test_printf_of_unmapped_string_says_nowhere(doomed: KernelBench, capfd: object) -> None:
    commands = doomed.immediate()
    kernel = doomed.kernel("quote", NOWHERE)
    counts = ctypes.byref(group_count(1))
    ze.zeCommandListAppendLaunchKernel(commands, kernel, counts, None, 0, None)
    assert ze.zeCommandListHostSynchronize(commands, FOREVER) == LOST
    assert "kernel 'quote' read from address 0x10, where there is no memory" in last_error()
    assert capfd.readouterr().out == "<(nowhere)>\n"  # type: ignore[attr-defined]


# --- The rest of the process ----------------------------------------------------------------------


def test_rounding_mode_is_restored_after_fault(doomed: KernelBench) -> None:
    math, commands = ctypes.CDLL("libm.so.6"), doomed.immediate()
    kernel = doomed.kernel("strike", WRITE, 0, NOWHERE, size=(64, 1, 1))
    counts = ctypes.byref(group_count(1))
    default = math.fegetround()
    math.fesetround(ROUND_UP)
    result = ze.zeCommandListAppendLaunchKernel(commands, kernel, counts, None, 0, None)
    mode = math.fegetround()
    math.fesetround(default)
    assert (result, mode) == (LOST, ROUND_UP)  # it ran on this thread


def program(own: str, first: str = "", faults: str = "lost") -> subprocess.CompletedProcess[str]:
    """Runs a program that uses the device, and then does something bad."""
    script = f"""
import ctypes, faulthandler, sys
from groundstate import ze
{first}
def check(result):
    assert result == 0, hex(result)
count, driver, device = ctypes.c_uint32(1), ctypes.c_void_p(), ctypes.c_void_p()
context, commands, pointer = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
check(ze.zeInit(0))
check(ze.zeDriverGet(ctypes.byref(count), ctypes.byref(driver)))
check(ze.zeDeviceGet(driver, ctypes.byref(count), ctypes.byref(device)))
def copy_from(source, default=False):
    global context
    if default:
        context = ctypes.c_void_p(ze.zeDriverGetDefaultContext(driver))
    else:
        check(ze.zeContextCreate(driver, ctypes.byref(ze.ze_context_desc_t()),
                                 ctypes.byref(context)))
    check(ze.zeCommandListCreateImmediate(context, device,
          ctypes.byref(ze.ze_command_queue_desc_t()), ctypes.byref(commands)))
    own = ctypes.create_string_buffer(8)
    ze.zeCommandListAppendMemoryCopy(commands, own, source, 8, None, 0, None)
    return ze.zeCommandListHostSynchronize(commands, 2**64 - 1)
good = ctypes.create_string_buffer(b"message", 8)
check(copy_from(ctypes.addressof(good)))
{own}
"""
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "GROUNDSTATE_FAULTS": faults},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_lost_default_context_can_be_recreated(driver: int) -> None:
    done = program(
        """
assert copy_from(16, default=True) == ze.ZE_RESULT_ERROR_DEVICE_LOST
check(ze.zeContextDestroy(context))
check(copy_from(ctypes.addressof(good), default=True))
print("alive")
""",
    )
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


def test_faults_of_the_program_itself_are_its_own(driver: int) -> None:
    done = program("ctypes.string_at(16)", "faulthandler.enable()")
    assert done.returncode == -signal.SIGSEGV
    assert "Fatal Python error: Segmentation fault" in done.stderr


def test_program_fault_without_handler_is_fatal(driver: int) -> None:
    done = program("ctypes.string_at(16)")
    assert done.returncode == -signal.SIGSEGV


def test_sent_signal_is_left_to_the_program(driver: int) -> None:
    done = program("import os, signal; os.kill(os.getpid(), signal.SIGFPE)")
    assert done.returncode == -signal.SIGFPE


def test_handler_installed_later_does_no_harm(driver: int) -> None:
    done = program(
        """
faulthandler.enable(file=open("/dev/null", "w"))
assert copy_from(16) == ze.ZE_RESULT_ERROR_DEVICE_LOST
check(ze.zeContextDestroy(context))
assert copy_from(16) == ze.ZE_RESULT_ERROR_DEVICE_LOST
print("alive")
""",
    )
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


def test_a_knob_leaves_faults_to_the_debugger(driver: int) -> None:
    done = program("copy_from(16)", faults="crash")
    assert done.returncode == -signal.SIGSEGV
