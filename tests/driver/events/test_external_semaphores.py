"""External semaphores: eventfds that queues, the host and other processes signal and wait for."""

import ctypes
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.graphs.graphs import append, instantiate, recorded
from tests.driver.processes import run
from tests.driver.support import (
    FOREVER,
    MILLISECOND,
    Bench,
    address,
    barrier,
    fill,
    finish,
    handles,
    is_signalled,
)

INVALID = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
OPAQUE_FD = ze.ZE_EXTERNAL_SEMAPHORE_EXT_FLAG_OPAQUE_FD
FLAGS = ["BLOCKING", "NONBLOCK", "SEMAPHORE"]


@pytest.fixture
def counter() -> Iterator[int]:
    """An eventfd with a count of 0, which counts down one by one."""
    fd = os.eventfd(0, os.EFD_SEMAPHORE | os.EFD_NONBLOCK | os.EFD_CLOEXEC)
    yield fd
    os.close(fd)


def attempt(bench: Bench, flags: int, *chained: Any) -> tuple[int, int]:
    """What importing answers, and the handle or 0."""
    made = ctypes.c_void_p()
    description = ze.ze_external_semaphore_ext_desc_t(flags=flags)
    for each in chained:
        description.pNext = ctypes.addressof(each)
    result = ze.zeDeviceImportExternalSemaphoreExt(
        bench.device, ctypes.byref(description), ctypes.byref(made)
    )
    return int(result), made.value or 0


def semaphore(bench: Bench, fd: int) -> int:
    """A semaphore that ends with the workbench."""
    chained = ze.ze_external_semaphore_fd_ext_desc_t(fd=fd)
    description = ze.ze_external_semaphore_ext_desc_t(
        flags=OPAQUE_FD, pNext=ctypes.addressof(chained)
    )
    return bench._made(
        ze.zeDeviceReleaseExternalSemaphoreExt,
        ze.zeDeviceImportExternalSemaphoreExt,
        bench.device,
        ctypes.byref(description),
    )


def signal(commands: int, *semaphores: int, event: int | None = None, waits: Any = ()) -> None:
    parameters = (ze.ze_external_semaphore_signal_params_ext_t * max(1, len(semaphores)))()
    check(
        ze.zeCommandListAppendSignalExternalSemaphoreExt(
            commands,
            len(semaphores),
            handles(*semaphores),
            parameters,
            event,
            len(waits),
            handles(*waits),
        )
    )


def wait(commands: int, *semaphores: int, event: int | None = None, waits: Any = ()) -> None:
    parameters = (ze.ze_external_semaphore_wait_params_ext_t * max(1, len(semaphores)))()
    check(
        ze.zeCommandListAppendWaitExternalSemaphoreExt(
            commands,
            len(semaphores),
            handles(*semaphores),
            parameters,
            event,
            len(waits),
            handles(*waits),
        )
    )


def count_of(fd: int) -> int:
    """What is left in a counter that counts down one by one; empties it."""
    count = 0
    while select.select([fd], [], [], 0)[0]:
        count += os.eventfd_read(fd)
    return count


# --- Signals and waits ----------------------------------------------------------------------------


def test_the_device_signals_the_host(bench: Bench, counter: int) -> None:
    """The signal comes after the work before it: epoll and select see it."""
    memory, go = bench.bytes(1 << 16, fill=0), bench.event()
    commands = bench.immediate(in_order=True)
    fill(commands, address(memory), b"\7", 1 << 16, waits=[go])
    signal(commands, semaphore(bench, counter))
    assert not select.select([counter], [], [], 0.01)[0]
    check(ze.zeEventHostSignal(go))
    assert select.select([counter], [], [])[0] == [counter]
    assert (memory == 7).all()
    assert count_of(counter) == 1


@pytest.mark.parametrize("flags", FLAGS)
def test_the_host_signals_the_device(bench: Bench, flags: str) -> None:
    fd = os.eventfd(0, getattr(os, f"EFD_{flags}", 0))
    memory, done = bench.bytes(4096, fill=0), bench.event()
    commands = bench.immediate(in_order=True)
    wait(commands, semaphore(bench, fd))
    fill(commands, address(memory), b"\7", 4096, signal=done)
    assert ze.zeEventHostSynchronize(done, 5 * MILLISECOND) == ze.ZE_RESULT_NOT_READY
    assert not memory.any()
    os.eventfd_write(fd, 1)
    check(ze.zeEventHostSynchronize(done, FOREVER))
    assert (memory == 7).all()
    assert not select.select([fd], [], [], 0)[0], "the wait has taken the signal"
    finish(commands)
    os.close(fd)


def test_each_wait_takes_one_signal(bench: Bench, counter: int) -> None:
    commands, handle = bench.immediate(in_order=True), semaphore(bench, counter)
    for _ in range(5):
        signal(commands, handle)
    wait(commands, handle, handle)
    finish(commands)
    assert count_of(counter) == 3


def test_several_semaphores_and_events_at_once(bench: Bench, counter: int) -> None:
    other = os.eventfd(0, os.EFD_SEMAPHORE)
    both = semaphore(bench, counter), semaphore(bench, other)
    go, signalled, passed = bench.events(3)
    producer, consumer = bench.immediate(), bench.immediate()
    wait(consumer, *both, event=passed, waits=[signalled])
    signal(producer, *both, event=signalled, waits=[go])
    assert not is_signalled(signalled)
    check(ze.zeEventHostSignal(go))
    check(ze.zeEventHostSynchronize(passed, FOREVER))
    assert count_of(counter) == 0
    finish(producer)
    finish(consumer)
    os.close(other)


def test_no_semaphore_at_all_is_a_barrier(bench: Bench) -> None:
    commands, done = bench.immediate(), bench.event()
    wait(commands)
    signal(commands, event=done)
    finish(commands)
    assert is_signalled(done)


def test_two_queues_pass_work_to_and_fro(bench: Bench) -> None:
    ping_fd, pong_fd = os.eventfd(0), os.eventfd(0)
    ping, pong = semaphore(bench, ping_fd), semaphore(bench, pong_fd)
    left, right = bench.immediate(in_order=True), bench.immediate(in_order=True)
    memory = bench.bytes(1, fill=0)
    for turn in range(50):
        fill(left, address(memory), bytes([2 * turn]), 1)
        signal(left, ping)
        wait(right, ping)
        fill(right, address(memory), bytes([2 * turn + 1]), 1)
        signal(right, pong)
        wait(left, pong)
    finish(left)
    finish(right)
    assert memory[0] == 99
    os.close(ping_fd)
    os.close(pong_fd)


def test_a_graph_signals_and_waits_in_each_run(bench: Bench, counter: int) -> None:
    handle, commands = semaphore(bench, counter), bench.immediate(in_order=True)
    memory = bench.bytes(64, fill=0)
    with recorded(bench, commands) as recording:
        wait(commands, handle)
        fill(commands, address(memory), b"\7", 64)
        signal(commands, handle, handle)
    executable = instantiate(bench, recording.graph)
    assert count_of(counter) == 0
    check(append(commands, executable))
    check(append(commands, executable))
    assert not memory.any()
    os.eventfd_write(counter, 1)
    finish(commands)
    assert (memory == 7).all()
    assert count_of(counter) == 3


def test_semaphore_survives_close_by_its_maker(bench: Bench) -> None:
    fd = os.eventfd(1)
    handle, commands = semaphore(bench, fd), bench.immediate()
    os.close(fd)
    wait(commands, handle)
    signal(commands, handle)
    wait(commands, handle)
    finish(commands)


PLAIN = """
import os, sys
fd = int(sys.argv[1])
os.eventfd_read(int(sys.argv[2]))
os.eventfd_write(fd, 1)
assert "groundstate" not in sys.modules
"""


def test_program_without_driver_uses_semaphore(bench: Bench) -> None:
    answer, question = os.eventfd(0), os.eventfd(0)
    child = subprocess.Popen(
        [sys.executable, "-I", "-c", PLAIN, str(answer), str(question)],
        pass_fds=[answer, question],
    )
    commands = bench.immediate(in_order=True)
    signal(commands, semaphore(bench, question))
    wait(commands, semaphore(bench, answer))
    finish(commands)
    assert child.wait(60) == 0
    os.close(answer)
    os.close(question)


# --- Nobody else is held up -----------------------------------------------------------------------


def test_a_waiting_queue_holds_up_nobody(bench: Bench, counter: int) -> None:
    """Not other queues, and not calls that hold the device between two commands."""
    blocked, other = bench.immediate(), bench.immediate()
    passed, memory = bench.event(), bench.bytes(1 << 16, fill=1)
    wait(blocked, semaphore(bench, counter), event=passed)
    fill(other, address(memory), b"\2", 1 << 16)
    finish(other)
    handle = ze.ze_ipc_mem_handle_t()
    check(ze.zeMemGetIpcHandle(bench.context, address(memory), ctypes.byref(handle)))
    assert (memory == 2).all()
    freed = bench.bytes(4096)
    bench.end(address(freed))
    assert not is_signalled(passed)
    os.eventfd_write(counter, 1)
    finish(blocked)


def test_waiting_command_outlives_its_semaphore(bench: Bench, counter: int) -> None:
    handle, commands, passed = semaphore(bench, counter), bench.immediate(), bench.event()
    wait(commands, handle, event=passed)
    bench.end(handle)
    bench.end(commands)
    assert not is_signalled(passed)
    os.eventfd_write(counter, 1)
    check(ze.zeEventHostSynchronize(passed, FOREVER))
    assert count_of(counter) == 0


def test_a_lost_context_waits_no_longer(bench: Bench, counter: int) -> None:
    other = Bench(bench.driver, bench.device)
    handle, fd = semaphore(bench, counter), os.memfd_create("shrinks")
    os.ftruncate(fd, 8192)
    request = ze.ze_external_memory_import_fd_t(flags=OPAQUE_FD, fd=fd)
    description = ze.ze_device_mem_alloc_desc_t(pNext=ctypes.addressof(request))
    pointer = ctypes.c_void_p()
    check(
        ze.zeMemAllocDevice(
            other.context, ctypes.byref(description), 8192, 0, other.device, ctypes.byref(pointer)
        )
    )
    blocked, faulty = other.immediate(), other.immediate()
    wait(blocked, handle)
    signal(blocked, handle)
    os.ftruncate(fd, 0)
    ze.zeCommandListAppendMemoryFill(faulty, pointer, b"x", 1, 8192, None, 0, None)
    ze.zeCommandListHostSynchronize(faulty, FOREVER)
    assert ze.zeContextGetStatus(other.context) == ze.ZE_RESULT_ERROR_DEVICE_LOST
    check(ze.zeContextDestroy(other.context))
    assert count_of(counter) == 0, "what comes after the wait was not done"
    commands = bench.immediate()
    signal(commands, handle)
    wait(commands, handle)
    finish(commands)
    os.close(fd)


def test_a_process_ends_while_its_queue_waits() -> None:
    run("""
fd = os.eventfd(0)
chained = ze.ze_external_semaphore_fd_ext_desc_t(fd=fd)
description = ze.ze_external_semaphore_ext_desc_t(flags=1, pNext=ctypes.addressof(chained))
check(ze.zeDeviceImportExternalSemaphoreExt(
    device, ctypes.byref(description), ctypes.byref(opened)))
parameters = ze.ze_external_semaphore_wait_params_ext_t()
check(ze.zeCommandListAppendWaitExternalSemaphoreExt(
    bench.immediate(), 1, handles(opened.value), ctypes.byref(parameters), None, 0, None))
""")


# --- What is refused ------------------------------------------------------------------------------


def test_types_that_do_not_exist_here(bench: Bench, counter: int) -> None:
    chained = ze.ze_external_semaphore_fd_ext_desc_t(fd=counter)
    unsupported = ze.ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION
    for bit in range(1, 9):
        assert attempt(bench, 1 << bit, chained) == (unsupported, 0)
        assert "OPAQUE_FD" in last_error()
    assert attempt(bench, 1 << 9, chained) == (ze.ZE_RESULT_ERROR_INVALID_ENUMERATION, 0)
    of_windows = ze.ze_external_semaphore_win32_ext_desc_t(handle=1)
    assert attempt(bench, OPAQUE_FD, of_windows) == (unsupported, 0)
    result, handle = attempt(bench, 0, chained)
    check(result)
    check(ze.zeDeviceReleaseExternalSemaphoreExt(handle))


def test_descriptors_that_are_no_semaphore(bench: Bench) -> None:
    closed = os.eventfd(0)
    os.close(closed)
    reader, writer = os.pipe()
    memory = os.memfd_create("memory")
    for fd in (closed, -1, 10**6, reader, writer, memory):
        chained = ze.ze_external_semaphore_fd_ext_desc_t(fd=fd)
        assert attempt(bench, OPAQUE_FD, chained) == (INVALID, 0)
        assert f"file descriptor {fd}" in last_error()
    assert attempt(bench, OPAQUE_FD) == (INVALID, 0)
    assert "ze_external_semaphore_fd_ext_desc_t" in last_error()
    for fd in (reader, writer, memory):
        os.close(fd)


def test_semaphores_are_for_immediate_lists(bench: Bench, counter: int) -> None:
    handle, commands = semaphore(bench, counter), bench.list()
    for function, parameters in (
        (
            ze.zeCommandListAppendSignalExternalSemaphoreExt,
            ze.ze_external_semaphore_signal_params_ext_t(),
        ),
        (
            ze.zeCommandListAppendWaitExternalSemaphoreExt,
            ze.ze_external_semaphore_wait_params_ext_t(),
        ),
    ):
        arguments = (1, handles(handle), ctypes.byref(parameters), None, 0, None)
        assert function(commands, *arguments) == INVALID
        assert "immediate" in last_error()


def test_a_semaphore_that_was_released(bench: Bench, counter: int) -> None:
    handle, commands = semaphore(bench, counter), bench.immediate()
    bench.end(handle)
    assert ze.zeDeviceReleaseExternalSemaphoreExt(handle) != ze.ZE_RESULT_SUCCESS
    parameters = ze.ze_external_semaphore_wait_params_ext_t()
    result = ze.zeCommandListAppendWaitExternalSemaphoreExt(
        commands, 1, handles(handle), ctypes.byref(parameters), None, 0, None
    )
    assert result != ze.ZE_RESULT_SUCCESS
    barrier(commands)
    finish(commands)
