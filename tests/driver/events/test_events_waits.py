"""Waiting from the host: timeouts, other threads, and Ctrl-C."""

import ctypes
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from groundstate import ze
from tests.conftest import check
from tests.driver.support import FOREVER, MILLISECOND, Bench, in_another_thread
from tests.imports import IMPORT_PATH


def test_no_time_polls(bench: Bench) -> None:
    event = bench.event()
    assert ze.zeEventHostSynchronize(event, 0) == ze.ZE_RESULT_NOT_READY
    check(ze.zeEventHostSignal(event))
    check(ze.zeEventHostSynchronize(event, 0))


@pytest.mark.parametrize("nanoseconds", [1, 1000, MILLISECOND, 20 * MILLISECOND])
def test_a_wait_ends_no_sooner_than_it_was_given(bench: Bench, nanoseconds: int) -> None:
    event = bench.event()
    start = time.monotonic_ns()
    assert ze.zeEventHostSynchronize(event, nanoseconds) == ze.ZE_RESULT_NOT_READY
    assert time.monotonic_ns() - start >= nanoseconds


@pytest.mark.parametrize("timeout", [FOREVER, FOREVER - 1, 2**63, 2**63 - 1, 10**18])
def test_long_wait_ends_on_signal_of_other_thread(bench: Bench, timeout: int) -> None:
    """Numbers beyond what the system's clock can say are not taken for small ones."""
    event = bench.event()

    def signal_later() -> None:
        time.sleep(0.01)
        check(ze.zeEventHostSignal(event))

    with in_another_thread(signal_later):
        check(ze.zeEventHostSynchronize(event, timeout))


def test_many_threads_wait_for_one_event(bench: Bench) -> None:
    event = bench.event()
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda: results.append(ze.zeEventHostSynchronize(event, FOREVER)))
        for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    check(ze.zeEventHostSignal(event))
    for thread in threads:
        thread.join()
    assert results == [ze.ZE_RESULT_SUCCESS] * 16


def test_waiting_lets_other_python_threads_run(bench: Bench) -> None:
    """The signal comes from Python code, which needs the interpreter while the other waits."""
    event = bench.event()
    with in_another_thread(lambda: check(ze.zeEventHostSignal(event))):
        check(ze.zeEventHostSynchronize(event, FOREVER))


# --- Ctrl-C ---------------------------------------------------------------------------------------

Child = subprocess.Popen[str]

WAITS = {
    "event": "ze.zeEventHostSynchronize(event, FOREVER)",
    "list": "ze.zeCommandListHostSynchronize(blocked, FOREVER)",
    "queue": "ze.zeCommandQueueSynchronize(queue, FOREVER)",
    "fence": "ze.zeFenceHostSynchronize(fence, FOREVER)",
}

PREPARE = """
import os, signal, sys
sys.path[:0] = {path!r}
from groundstate import ze
from tests.conftest import check, first_driver
import ctypes
from tests.driver.support import *

check(ze.zeInit(0))
device = ctypes.c_void_p()
check(ze.zeDeviceGet(first_driver(), ctypes.byref(ctypes.c_uint32(1)), ctypes.byref(device)))
bench = Bench(first_driver(), device.value)
event = bench.event()
blocked, queue, commands = bench.immediate(), bench.queue(), bench.list()
barrier(blocked, waits=[event])
barrier(commands, waits=[event])
fence = bench.fence(queue)
submit(queue, close_list(commands), fence=fence)
"""

WAIT = """
{setup}
print("waiting", flush=True)
try:
    result = {wait}
    for _ in range(1000):
        pass
except {exception} as caught:
    print("caught", type(caught).__name__, flush=True)
else:
    print("returned", result, flush=True)
check(ze.zeEventHostSignal(event))
bench.close()
print("closed", flush=True)
"""


def run(program: str) -> Child:
    """Starts a Python program that begins with a blocked queue, list and fence."""
    prepare = PREPARE.format(path=IMPORT_PATH)
    return subprocess.Popen(
        [sys.executable, "-c", prepare + program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def start(wait: str, setup: str = "", exception: str = "KeyboardInterrupt") -> Child:
    """Starts a program that waits for ever."""
    child = run(WAIT.format(wait=wait, setup=textwrap.dedent(setup), exception=exception))
    assert child.stdout is not None
    assert child.stdout.readline() == "waiting\n", child.communicate()[1]
    return child


def interrupt(child: Child) -> list[str]:
    """Sends SIGINT to a program that waits, and returns what it said after that."""
    wait_until_asleep(child.pid)
    os.kill(child.pid, signal.SIGINT)
    output, errors = child.communicate(timeout=60)
    assert child.returncode == 0, errors
    return output.split("\n")[:-1]


def wait_until_asleep(process: int) -> None:
    """Returns when the main thread of a process sleeps in the kernel, as it does on a futex."""
    for _ in range(1000):
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
        if state == "S":
            return
        time.sleep(0.005)
    raise AssertionError("the program never began to wait")


@pytest.mark.parametrize("subject", WAITS)
def test_ctrl_c_ends_a_wait_without_end(subject: str) -> None:
    assert interrupt(start(WAITS[subject])) == ["caught KeyboardInterrupt", "closed"]


def test_a_handler_that_raises_something_else() -> None:
    setup = """
        def refuse(*_):
            raise LookupError("not now")
        signal.signal(signal.SIGINT, refuse)
    """
    said = interrupt(start(WAITS["event"], setup, exception="LookupError"))
    assert said == ["caught LookupError", "closed"]


def test_wait_resumes_after_handler_returns() -> None:
    setup = """
        def release(*_):
            print("handled", flush=True)
            check(ze.zeEventHostSignal(event))
        signal.signal(signal.SIGINT, release)
    """
    assert interrupt(start(WAITS["event"], setup)) == ["handled", "returned 0", "closed"]


def test_ctrl_c_while_another_thread_waits() -> None:
    """Signals are for the main thread; a wait in another thread goes on."""
    setup = """
        import threading
        results, finished = [], threading.Event()
        def wait():
            results.append(ze.zeEventHostSynchronize(event, FOREVER))
            finished.set()
        waiter = threading.Thread(target=wait)
        waiter.start()
        bench.close = lambda close=bench.close: (waiter.join(), print(results), close())
    """
    said = interrupt(start("finished.wait()", setup))
    assert said == ["caught KeyboardInterrupt", "[0]", "closed"]


def test_ctrl_c_just_as_a_wait_begins_is_not_lost() -> None:
    """The signal comes at any moment of the first microseconds, before the thread sleeps."""
    program = """
        import random, threading, time
        chance, lost = random.Random(1), []

        def shoot(target, delay, over):
            time.sleep(delay)
            signal.pthread_kill(target, signal.SIGINT)
            if not over.wait(5):
                lost.append(delay)
                check(ze.zeEventHostSignal(event))

        for _ in range(300):
            over = threading.Event()
            delay = chance.uniform(0, 0.0003)
            shooter = threading.Thread(
                target=shoot, args=(threading.get_ident(), delay, over))
            try:
                shooter.start()
                ze.zeEventHostSynchronize(event, FOREVER)
                time.sleep(10)
            except KeyboardInterrupt:
                pass
            over.set()
            shooter.join()
            check(ze.zeEventHostReset(event))
            if lost:
                break
        print("lost", lost, flush=True)
        check(ze.zeEventHostSignal(event))
        bench.close()
    """
    child = run(textwrap.dedent(program))
    output, errors = child.communicate(timeout=120)
    assert child.returncode == 0, errors
    assert output == "lost []\n"


def test_signal_without_python_handler_keeps_wait(bench: Bench) -> None:
    """A timer's signal that C handles only wakes the thread for a moment."""
    event = bench.event()
    library = ctypes.CDLL(None)
    thread = ctypes.c_ulong(threading.get_ident())
    previous = signal.signal(signal.SIGUSR1, lambda *_: None)

    def disturb() -> None:
        for _ in range(20):
            library.pthread_kill(thread, int(signal.SIGUSR1))
            time.sleep(0.001)
        check(ze.zeEventHostSignal(event))

    try:
        with in_another_thread(disturb):
            check(ze.zeEventHostSynchronize(event, FOREVER))
    finally:
        signal.signal(signal.SIGUSR1, previous)
