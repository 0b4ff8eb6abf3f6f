"""Python programs that fork while the driver is in use; tests/native/forks.c is the same in C.

A child hangs nowhere: neither in a call nor when it ends, which runs what the program has left for
that.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from groundstate import standin

PROLOGUE = """
import ctypes, multiprocessing, os, signal, sys, threading
import numpy as np

PATIENCE = 120  # seconds after which a child that hangs is killed

def wait_for(child):
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, status
"""

OBJECTS = """
import groundstate as gs

def work(context):
    commands = gs.CommandList.immediate(context, in_order=True)
    memory = context.alloc_host(1 << 20, "uint8")
    commands.fill(memory, 7)
    commands.synchronize()
    assert (np.asarray(memory) == 7).all()

context = gs.Context(gs.devices()[0])
work(context)
stop = threading.Event()

def live():
    while not stop.is_set():
        work(context)
        gs.devices()[0].properties
"""


def succeeds(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROLOGUE + program],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "done\n"


def test_fork_with_busy_threads_never_hangs_child() -> None:
    succeeds(
        OBJECTS
        + """
threads = [threading.Thread(target=live) for _ in range(3)]
for thread in threads:
    thread.start()
for number in range(20):
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE)
        try:
            work(context)
            work(gs.Context(gs.devices()[0]))
        except gs.DeviceLost as problem:
            assert "forked" in str(problem), problem
        os._exit(0) if number % 2 else sys.exit(0)
    wait_for(child)
stop.set()
for thread in threads:
    thread.join()
work(context)
print("done")
"""
    )


def test_children_of_idle_program_use_device() -> None:
    """As multiprocessing starts them, and as os.fork does. The parent goes on."""
    succeeds(
        OBJECTS
        + """
def child_works():
    signal.alarm(PATIENCE)
    work(context)
    work(gs.Context(gs.devices()[0]))

for _ in range(10):
    forked = multiprocessing.get_context("fork").Process(target=child_works)
    forked.start()
    work(context)
    forked.join()
    assert forked.exitcode == 0
    child = os.fork()
    if child == 0:
        child_works()
        sys.exit(0)
    work(context)
    wait_for(child)
print("done")
"""
    )


def test_child_of_busy_program_gets_device_lost() -> None:
    succeeds(
        OBJECTS
        + """
from groundstate import ze
device, commands = gs.devices()[0], gs.CommandList.immediate(context)
event = gs.EventPool(context, 1).event()
commands.wait(event)
child = os.fork()
if child == 0:
    signal.alarm(PATIENCE)
    for call in (lambda: gs.Context(device), lambda: work(context), lambda: context.check_status()):
        try:
            call()
        except gs.DeviceLost as problem:
            assert "exec" in str(problem), problem
        else:
            os._exit(1)
    assert ze.zeInit(0) == ze.ZE_RESULT_ERROR_DEVICE_LOST
    sys.exit(0)
wait_for(child)
event.signal()
commands.synchronize()
print("done")
"""
    )


@pytest.mark.parametrize("threads", [0, 4])
def test_fork_with_separate_interpreter_is_safe(threads: int) -> None:
    """The program opens the library itself, so the driver brings an interpreter along."""
    succeeds(
        f"""
driver = ctypes.CDLL({str(standin.library())!r})
SUCCESS, LOST = 0, 0x70000001
count = ctypes.c_uint32()
assert driver.zeInit(0) == SUCCESS
stop = threading.Event()

def ask():
    return driver.zeDriverGet(ctypes.byref(count), None)

def live():
    while not stop.is_set():
        assert ask() == SUCCESS

threads = [threading.Thread(target=live) for _ in range({threads})]
for thread in threads:
    thread.start()
for number in range(40):
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE)
        first = ask()
        assert first in (SUCCESS, LOST) if threads else first == SUCCESS
        assert driver.zeInit(0) == first
        os._exit(0) if number % 2 else sys.exit(0)
    wait_for(child)
stop.set()
for thread in threads:
    thread.join()
print("done")
"""
    )
