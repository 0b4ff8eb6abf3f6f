"""Processes that end as nobody planned: killed, or without a single destroy call."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.imports import IMPORT_PATH

BUSY = """
import sys
sys.path[:0] = {path!r}
import ctypes
from groundstate import ze
from tests.conftest import check, first_driver
from tests.driver.support import *
check(ze.zeInit(0))
device = ctypes.c_void_p()
check(ze.zeDeviceGet(first_driver(), ctypes.byref(ctypes.c_uint32(1)), ctypes.byref(device)))
bench = Bench(first_driver(), device.value)
size = 16 << 20
source, target = bench.random_bytes(size), bench.bytes(size)
handle, pool_handle = ze.ze_ipc_mem_handle_t(), ze.ze_ipc_event_pool_handle_t()
check(ze.zeMemGetIpcHandle(bench.context, address(source), ctypes.byref(handle)))
pool = bench.pool(8, ze.ZE_EVENT_POOL_FLAG_IPC)
check(ze.zeEventPoolGetIpcHandle(pool, ctypes.byref(pool_handle)))
never, counted = bench.event(), bench.counter_event(
    ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ze.ZE_EVENT_COUNTER_BASED_FLAG_IPC)
blocked, busy = bench.immediate(), bench.immediate(in_order=True)
barrier(blocked, waits=[never])
def work():
    copy(busy, address(target), address(source), size, signal=counted)
{end}
"""

RUN_ON = """
print("busy", flush=True)
while True:
    work()
    check(ze.zeEventHostSynchronize(counted, FOREVER))
"""


def start(end: str) -> "subprocess.Popen[str]":
    program = BUSY.format(path=IMPORT_PATH, end=end)
    return subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Processes leave nothing in their folder for temporary files, nor under our name in memory."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = shared_by_us()
    yield
    assert list(tmp_path.iterdir()) == []
    assert shared_by_us() == before


def shared_by_us() -> set[str]:
    return {name for name in os.listdir("/dev/shm") if "groundstate" in name}


def named_shared_memory(process: int) -> list[str]:
    """Files of a process that would stay in /dev/shm after it, whatever they are called."""
    mapped = Path(f"/proc/{process}/maps").read_text().split()
    opened = [os.readlink(entry) for entry in Path(f"/proc/{process}/fd").iterdir()]
    return [name for name in mapped + opened if name.startswith("/dev/shm/")]


@pytest.mark.usefixtures("nothing_is_left_behind")
def test_a_process_that_is_killed_leaves_nothing() -> None:
    for number in range(4):
        child = start(RUN_ON)
        assert child.stdout is not None
        assert child.stdout.readline() == "busy\n", child.communicate()[1]
        time.sleep(0.02 * number)
        assert named_shared_memory(child.pid) == []
        child.send_signal(signal.SIGKILL)
        assert child.wait(30) == -signal.SIGKILL
        child.communicate()


@pytest.mark.usefixtures("nothing_is_left_behind")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_that_is_asked_to_end_does(number: signal.Signals) -> None:
    """The driver's threads and blocked queues do not keep the process."""
    child = start(RUN_ON)
    assert child.stdout is not None
    assert child.stdout.readline() == "busy\n", child.communicate()[1]
    child.send_signal(number)
    child.communicate(timeout=60)
    assert child.returncode in (-number, 1, 130)


@pytest.mark.usefixtures("nothing_is_left_behind")
@pytest.mark.parametrize(
    "end",
    [
        "work()",
        "work(); import os; os._exit(0)",
        "work(); sys.exit(0)",
        "import threading; threading.Thread(target=lambda: ze.zeEventHostSynchronize(never,"
        " FOREVER), daemon=True).start(); work()",
    ],
    ids=["falls-off", "_exit", "sys.exit", "daemon-thread-waits"],
)
def test_exit_without_destroying_anything(end: str) -> None:
    """With work under way, a queue blocked for ever, and shared memory open."""
    for _ in range(3):
        child = start(end)
        _, errors = child.communicate(timeout=60)
        assert child.returncode == 0, errors
        assert errors == ""


def test_forked_child_that_execs_does_no_harm() -> None:
    """fork and exec, as subprocess does it, while queues are busy."""
    child = start(
        """
import subprocess
for _ in range(20):
    work()
    assert subprocess.run(["true"]).returncode == 0
check(ze.zeEventHostSignal(never))
bench.close()
print("done")
"""
    )
    output, errors = child.communicate(timeout=60)
    assert output == "done\n", errors


def test_many_processes_at_once() -> None:
    results: list[int] = []

    def run() -> None:
        child = start("work(); check(ze.zeEventHostSynchronize(counted, FOREVER))")
        child.communicate(timeout=120)
        results.append(child.returncode)

    threads = [threading.Thread(target=run) for _ in range(2 * (os.cpu_count() or 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(results) == {0}
