"""No call waits for the device with a lock that other calls need: native/threads/lock.h.

The tests set GROUNDSTATE_CHECK_WAITS, so each of them would end where a thread breaks that rule;
here is what happens then, and what happened before there was one. Each test is a process of its
own, because a call that never returns would keep the others from running.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.driver.launches.test_faults_endless import PROLOGUE, program

SHARED_WHILE_A_KERNEL_WAITS = """
bench, other = Bench(), Bench()
assert bench.works() and other.works()
shared = bench.context.alloc_device(1 << 16, "uint8")
shared_too = other.context.alloc_host(1 << 16, "uint8")
bench.launch("spin")
time.sleep(0.2)  # it has begun

def share(context, memory, results):
    handle = ze.ze_ipc_mem_handle_t()
    pointer = ctypes.c_void_p(memory.address)
    results.append(ze.zeMemGetIpcHandle(context.handle, pointer, ctypes.byref(handle)))

results = []
sharers = [
    threading.Thread(target=share, args=(bench.context, shared, results), daemon=True),
    threading.Thread(target=share, args=(other.context, shared_too, results), daemon=True),
]
for sharer in sharers:
    sharer.start()
time.sleep(0.2)  # they wait for it

count = ctypes.c_uint32()
for _ in range(100):
    assert ze.zeDriverGet(ctypes.byref(count), None) == 0
    properties = ze.ze_device_properties_t()
    assert ze.zeDeviceGetProperties(device.handle, ctypes.byref(properties)) == 0
    with gs.Context(device) as another:
        another.alloc_shared(100, "int32").close()
        bench.context.alloc_host(100, "int32").close()
gs.Module(other.context, opencl=SOURCE)["fill"]
release()
for sharer in sharers:
    sharer.join()
assert results == [0, 0]
bench.commands.synchronize()
assert bench.works() and other.works()
print("ended")
"""


@pytest.mark.parametrize(
    "release",
    [
        "ctypes.c_int32.from_address(bench.out.address).value = 7",
        "assert other.works(); other.commands.copy(bench.out[:1], seven)",
    ],
    ids=["by the host", "by the device"],
)
def test_ipc_share_during_kernel_blocks_nobody(driver: int, release: str) -> None:
    """A kernel waits for a word while zeMemGetIpcHandle waits for the kernel."""
    text = f"""
import numpy as np
seven = np.full(1, 7, "int32")
def release():
    {release}
"""
    assert program(text + SHARED_WHILE_A_KERNEL_WAITS) == "ended\n"


RESET_WHILE_A_FUNCTION_RUNS = """
bench = Bench()
running, done = threading.Event(), threading.Event()
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

@CALLBACK
def function(argument):
    running.set()
    done.wait()

ze.zeCommandListAppendHostFunction(bench.commands.handle, function, None, None, None, 0, None)
running.wait()
resets = [threading.Thread(target=lambda: zes.zesDeviceReset(device.handle, True))]
resets[0].start()
count = ctypes.c_uint32()
while resets[0].is_alive():
    assert ze.zeDriverGet(ctypes.byref(count), None) == 0
done.set()
print("ended")
"""


def test_reset_of_the_device_holds_up_nobody(driver: int) -> None:
    """The checker would end the process."""
    assert program(RESET_WHILE_A_FUNCTION_RUNS) == "ended\n"


# --- The checker ---------------------------------------------------------------------------------

WAIT_UNDER_THE_LOCK = """
path = os.path.join(os.path.dirname(gs.__file__), "_native", "libze_groundstate.so.1")
library = ctypes.{kind}(path)
library.gs_check_now()
print("ended")
"""


def ended(kind: str, checks: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROLOGUE + WAIT_UNDER_THE_LOCK.format(kind=kind)],
        env={**os.environ, "GROUNDSTATE_CHECK_WAITS": checks},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_wait_holding_interpreter_lock_aborts(driver: int) -> None:
    with_lock = ended("PyDLL", "1")
    assert with_lock.returncode == -signal.SIGABRT
    assert "while it holds the interpreter's lock" in with_lock.stderr
    assert ended("CDLL", "1").stdout == "ended\n"
    assert ended("PyDLL", "0").stdout == "ended\n"


def test_the_tests_check_for_waits() -> None:
    assert os.environ["GROUNDSTATE_CHECK_WAITS"] == "1"
