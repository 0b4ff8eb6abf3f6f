"""Other processes for driver tests: Python programs with a workbench of their own."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from groundstate import ze
from tests.conftest import check
from tests.driver.support import Bench
from tests.imports import IMPORT_PATH

PREPARE = """
import ctypes, os, signal, socket, sys
sys.path[:0] = {path!r}
from groundstate import ze
from tests.conftest import check, first_driver, last_error
from tests.driver.processes import *
from tests.driver.support import *
check(ze.zeInit(0))
device = ctypes.c_void_p()
check(ze.zeDeviceGet(first_driver(), ctypes.byref(ctypes.c_uint32(1)), ctypes.byref(device)))
bench = Bench(first_driver(), device.value)
opened = ctypes.c_void_p()
def handle(kind):
    return kind.from_buffer_copy(bytes.fromhex(sys.argv[1]))
def say(*words):
    print(*words, flush=True)
"""


def start(
    program: str, *arguments: Any, pass_fds: Sequence[int] = (), **environment: str
) -> subprocess.Popen[str]:
    """Starts a Python program with IPC handles or words as its arguments."""
    code = PREPARE.format(path=IMPORT_PATH) + program
    words = [each if isinstance(each, str) else bytes(each).hex() for each in arguments]
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=pass_fds,
        env=os.environ | environment,
    )


def finished(child: subprocess.Popen[str], said: str = "") -> str:
    """What a program still printed, after it was told something or nothing and ended well."""
    output, errors = child.communicate(said, timeout=60)
    assert child.returncode == 0, errors
    return output


def run(program: str, *arguments: Any, pass_fds: Sequence[int] = (), **environment: str) -> str:
    """Runs a program to its end; what it printed."""
    return finished(start(program, *arguments, pass_fds=pass_fds, **environment))


def line(child: subprocess.Popen[str]) -> str:
    """The next line that a program prints."""
    assert child.stdout is not None
    text = child.stdout.readline()
    if not text:
        raise AssertionError(child.communicate(timeout=60)[1])
    return text.rstrip("\n")


def tell(child: subprocess.Popen[str]) -> None:
    """Lets a program that waits in `input()` go on."""
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()


def memory_handle(bench: Bench, pointer: int) -> ze.ze_ipc_mem_handle_t:
    handle = ze.ze_ipc_mem_handle_t()
    check(ze.zeMemGetIpcHandle(bench.context, pointer, ctypes.byref(handle)))
    return handle


def pool_handle(pool: int) -> ze.ze_ipc_event_pool_handle_t:
    handle = ze.ze_ipc_event_pool_handle_t()
    check(ze.zeEventPoolGetIpcHandle(pool, ctypes.byref(handle)))
    return handle


def open_memory(bench: Bench, handle: Any) -> int:
    """The address of another process's memory here; `close_memory` ends it."""
    pointer = ctypes.c_void_p()
    check(ze.zeMemOpenIpcHandle(bench.context, bench.device, handle, 0, ctypes.byref(pointer)))
    assert pointer.value is not None
    return pointer.value


def close_memory(bench: Bench, pointer: int) -> None:
    check(ze.zeMemCloseIpcHandle(bench.context, pointer))


def open_pool(bench: Bench, handle: Any) -> int:
    """Another process's event pool, closed with the workbench."""
    return bench._made(
        ze.zeEventPoolCloseIpcHandle, ze.zeEventPoolOpenIpcHandle, bench.context, handle
    )
