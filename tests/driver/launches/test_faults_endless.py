"""Kernels that never end: a limit, the end of their context, a reset of the device, and the end of
the process stop them. Each test is a process of its own, because some of this is for all contexts.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.patience import FACTOR

LIMIT = f"{0.5 * FACTOR:g}s"
PROLOGUE = (
    f"""
LIMIT = "{0.5 * FACTOR:g} seconds"
"""
    + """
import ctypes, os, signal, sys, threading, time
import groundstate as gs
from groundstate import ze, zes

SOURCE = \"\"\"
kernel void spin(global int *out, int n) {
    volatile global int *flag = out;
    while (*flag != n) ;
}
kernel void shrink(global int *out, int n) {
    float x = get_global_id(0);
    while (x < n) x *= 0.5f;
    out[get_global_id(0)] = x;
}
kernel void fill(global int *out, int n) { out[get_global_id(0)] = n; }
\"\"\"
device = gs.devices()[0]

class Bench:
    def __init__(self):
        self.context = gs.Context(device)
        self.module = gs.Module(self.context, opencl=SOURCE)
        self.out = self.context.alloc_shared(64 * 1000, "int32")
        self.commands = gs.CommandList.immediate(self.context, in_order=True)

    def launch(self, kernel, groups=1, n=7):
        self.module[kernel](self.commands, groups, 64, self.out, n)

    def works(self):
        self.launch("fill", 1, 5)
        self.commands.synchronize()
        return self.out.tolist()[:64] == [5] * 64

def is_lost(what, words):
    try:
        what()
    except gs.DeviceLost as problem:
        assert words in str(problem), problem
        return True
    return False

def device_is_idle():
    "Whether no thread of the process computes any more."
    for _ in range(100):
        before = time.process_time()
        time.sleep(0.1)
        if time.process_time() - before < 0.05:
            return True
    return False
"""
)


def program(text: str, **environment: str) -> str:
    """What a program prints, which must end by itself and well."""
    done = subprocess.run(
        [sys.executable, "-c", PROLOGUE + text],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- The limit ------------------------------------------------------------------------------------

LIMITED = """
bench, other = Bench(), Bench()
assert bench.works() and other.works()
bench.launch({kernel!r}, {groups})
assert is_lost(bench.commands.synchronize, "kernel '{kernel}' ran for more than " + LIMIT)
assert is_lost(bench.context.check_status, "(GROUNDSTATE_KERNEL_LIMIT)")
assert device_is_idle()
assert other.works()
assert Bench().works()
print("ended")
"""


@pytest.mark.parametrize("groups", [1, 1000])
@pytest.mark.parametrize("kernel", ["spin", "shrink"])
def test_kernel_that_runs_for_too_long_is_stopped(driver: int, kernel: str, groups: int) -> None:
    text = LIMITED.format(kernel=kernel, groups=groups)
    assert program(text, GROUNDSTATE_KERNEL_LIMIT=LIMIT) == "ended\n"


def test_kernel_on_appending_thread_is_stopped(driver: int) -> None:
    """A kernel that was short so far runs there; with other arguments it may be endless."""
    text = """
bench = Bench()
for _ in range(5):
    bench.launch("shrink", 1, -1)
    bench.commands.synchronize()
def launch():
    bench.launch("shrink", 1, 7)
    bench.commands.synchronize()
assert is_lost(launch, "kernel 'shrink' ran for more than " + LIMIT)
assert device_is_idle()
print("ended")
"""
    assert program(text, GROUNDSTATE_KERNEL_LIMIT=LIMIT) == "ended\n"


def test_kernel_of_a_submitted_list_is_stopped(driver: int) -> None:
    text = """
bench = Bench()
commands, queue = gs.CommandList(bench.context), gs.CommandQueue(bench.context)
bench.module["spin"](commands, 500, 64, bench.out, 7)
commands.finish()
queue.execute(commands)
assert is_lost(queue.synchronize, "kernel 'spin' ran for more than " + LIMIT)
assert device_is_idle()
print("ended")
"""
    assert program(text, GROUNDSTATE_KERNEL_LIMIT=LIMIT) == "ended\n"


def test_kernels_within_the_limit_are_left_alone(driver: int) -> None:
    text = """
bench = Bench()
for number in range(3000):
    bench.launch("fill", 1 + number % 50, number)
assert bench.works()
print("ended")
"""
    assert program(text, GROUNDSTATE_KERNEL_LIMIT="10min") == "ended\n"


def test_there_is_no_limit_by_default(driver: int) -> None:
    text = """
bench = Bench()
bench.launch("spin")
time.sleep(0.3)
assert "gs-watchdog" not in [open(f"/proc/self/task/{each}/comm").read().strip()
                          for each in os.listdir("/proc/self/task")]
bench.out.numpy()[0] = 7
bench.commands.synchronize()
print("ended")
"""
    assert program(text) == "ended\n"


# --- The end of a context -------------------------------------------------------------------------


def test_closing_a_context_stops_its_kernels(driver: int) -> None:
    text = """
bench, other = Bench(), Bench()
bench.launch("spin", 1000)
bench.context.close()
assert device_is_idle()
assert is_lost(bench.commands.synchronize, "it was closed while a kernel ran")
assert other.works()
print("ended")
"""
    assert program(text) == "ended\n"


def test_context_destroy_stops_its_kernels(driver: int) -> None:
    text = """
bench, other = Bench(), Bench()
bench.launch("spin", 1000)
commands = bench.commands.handle
assert ze.zeContextDestroy(bench.context.handle) == ze.ZE_RESULT_SUCCESS
assert ze.zeCommandListHostSynchronize(commands, 0) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
assert device_is_idle()
assert other.works()
print("ended")
"""
    assert program(text) == "ended\n"


def test_normal_with_block_exit_stops_no_kernel(driver: int) -> None:
    text = """
bench = Bench()
with bench.context:
    bench.launch("spin")
time.sleep(0.3)
bench.out.numpy()[0] = 7
bench.commands.synchronize()
print("ended")
"""
    assert program(text) == "ended\n"


# --- The end of a process -------------------------------------------------------------------------

INTERRUPTED = """
bench = Bench()
bench.launch("spin", 1000)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    bench.commands.synchronize()
except KeyboardInterrupt:
    print("interrupted")
"""


def test_process_ends_after_ctrl_c_in_kernel(driver: int) -> None:
    assert program(INTERRUPTED) == "interrupted\n"


def test_process_ends_if_closed_while_kernel_runs(driver: int) -> None:
    text = "bench.commands.close(); bench.out.close(); del bench; import gc; gc.collect()\n"
    assert program(INTERRUPTED + text) == "interrupted\n"


def test_interrupt_in_with_block_stops_kernel(driver: int) -> None:
    text = """
bench = Bench()
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    with bench.context:
        bench.launch("spin", 1000)
        bench.commands.synchronize()
except KeyboardInterrupt:
    assert device_is_idle()
    print("interrupted")
"""
    assert program(text) == "interrupted\n"


# --- Resets ---------------------------------------------------------------------------------------

RESET = """
bench, idle = Bench(), Bench()
bench.launch("spin", 1000)
{reset}
assert device_is_idle()
for each in (bench, idle):
    assert is_lost(each.context.check_status, "the device was reset (zesDeviceReset)")
    assert is_lost(each.commands.synchronize, "the device was reset")
assert is_lost(Bench, "call Device.check_status()")
assert is_lost(lambda: gs.Context(gs.drivers()[0]), "call Device.check_status()")
device.check_status()
assert Bench().works()
assert is_lost(idle.context.check_status, "the device was reset")
assert ze.zeContextDestroy(idle.context.handle) == ze.ZE_RESULT_SUCCESS
print("ended")
"""


@pytest.mark.parametrize(
    "reset",
    [
        "device.sysman.reset(force=True)",
        "force = zes.zes_reset_properties_t(force=1)\n"
        "assert zes.zesDeviceResetExt(device.handle, ctypes.byref(force)) == 0",
    ],
)
def test_forced_reset_loses_contexts_until_seen(driver: int, reset: str) -> None:
    assert program(RESET.format(reset=reset)) == "ended\n"


def test_reset_of_one_device_spares_the_others(driver: int) -> None:
    text = """
first, second = gs.devices()[:2]
contexts = [gs.Context(each) for each in (first, second)]
part, both = gs.Context(first.sub_devices[1]), gs.Context((first, second))
first.sysman.reset(force=True)
for lost in (contexts[0], part, both):
    assert is_lost(lost.check_status, "the device was reset")
contexts[1].check_status()
gs.Context(second).close()
for devices in ((first,), (first.sub_devices[0],), (second, first)):
    assert is_lost(lambda: gs.Context(devices), "call Device.check_status()")
first.sub_devices[0].check_status()
gs.Context((second, first)).close()
print("ended")
"""
    assert program(text, GROUNDSTATE_TOPOLOGY="2x2") == "ended\n"
