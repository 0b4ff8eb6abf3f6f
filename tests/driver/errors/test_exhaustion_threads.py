"""Programs in Python that may start no thread: what was submitted is done by those who wait."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

PROGRAM = """
import ctypes, os, resource, threading
from groundstate import ze
from tests.conftest import check
from tests.driver.support import Bench, close_list

FOREVER = 2**64 - 1
ROUNDS = 300


def first(function, *arguments):
    count, handle = ctypes.c_uint32(1), ctypes.c_void_p()
    check(function(*arguments, ctypes.byref(count), ctypes.byref(handle)))
    return handle.value


def some_copies(bench):
    commands = bench.list()
    for _ in range(4):
        where = (bench.shared(16 << 10), bench.shared(16 << 10), 16 << 10)
        check(ze.zeCommandListAppendMemoryCopy(commands, *where, None, 0, None))
    close_list(commands)
    return ctypes.c_void_p(commands)


def submit(commands):
    go.wait()
    for _ in range(ROUNDS):
        answer = ze.zeCommandQueueExecuteCommandLists(queue, 1, ctypes.byref(commands), None)
        assert answer in (0, ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY), hex(answer)
        answers.append(answer)
        check(ze.zeCommandQueueSynchronize(queue, FOREVER))


def forbid_threads():
    if os.getuid() == 0:  # who has no limit
        stranger = 170000 + os.getpid() % 100000
        os.setgid(stranger)
        os.setuid(stranger)
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


check(ze.zeInit(0))
driver = first(ze.zeDriverGet)
bench = Bench(driver, first(ze.zeDeviceGet, driver))
queue = bench.queue()
answers = []
go = threading.Barrier(4)
threads = [threading.Thread(target=submit, args=(some_copies(bench),)) for _ in range(3)]
for thread in threads:
    thread.start()
forbid_threads()
go.wait()
for thread in threads:
    thread.join()
assert len(answers) == 3 * ROUNDS and 0 in answers
"""


def test_wait_ends_if_no_thread_can_be_started() -> None:
    """Two threads that submit at once: the second one's work is left to an engine."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
