"""Memory and events of another process: one handle, and what is wrong with it."""

import ctypes
import mmap
import os
import struct
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from groundstate import ze
from groundstate.driver import ipc
from tests.conftest import check, last_error
from tests.driver.processes import memory_handle, run
from tests.driver.support import (
    FOREVER,
    MILLISECOND,
    Bench,
    address,
    barrier,
    copy,
    finish,
    is_signalled,
    view,
)

INVALID = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


@pytest.mark.parametrize("kind", ["host", "local"])
@pytest.mark.parametrize("size", [100, 40 << 20])
def test_two_processes_share_memory(bench: Bench, kind: str, size: int) -> None:
    memory = view(getattr(bench, kind)(size), size)
    memory[0], memory[-1] = 11, 12
    handle = memory_handle(bench, address(memory))
    assert (memory[0], memory[-1]) == (11, 12), "sharing leaves the contents alone"
    said = run(
        f"""
check(ze.zeMemOpenIpcHandle(
    bench.context, device, handle(ze.ze_ipc_mem_handle_t), 0, ctypes.byref(opened)))
memory = view(opened.value, {size})
print(memory[0], memory[-1])
commands = bench.immediate()
fill(commands, opened.value, b"\\x2a", {size})
finish(commands)
base, size = ctypes.c_void_p(), ctypes.c_size_t()
check(ze.zeMemGetAddressRange(bench.context, opened, ctypes.byref(base), ctypes.byref(size)))
assert (base.value, size.value) == (opened.value, {size})
assert ze.zeMemFree(bench.context, opened) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
check(ze.zeMemCloseIpcHandle(bench.context, opened))
bench.close()
""",
        handle,
    )
    assert said == "11 12\n"
    assert (memory == 42).all()
    check(ze.zeMemPutIpcHandle(bench.context, handle))


def test_device_keeps_using_memory_while_shared(bench: Bench) -> None:
    size = 1 << 20
    source, target = bench.random_bytes(size), bench.bytes(size, fill=0)
    go = bench.event()
    commands = bench.immediate(in_order=True)
    copy(commands, address(target), address(source), size, waits=[go])
    memory_handle(bench, address(target))
    memory_handle(bench, address(source))
    check(ze.zeEventHostSignal(go))
    finish(commands)
    assert np.array_equal(source, target)


def test_handle_opens_in_process_that_made_it(bench: Bench) -> None:
    memory = bench.bytes(4096, fill=0)
    opened = [ctypes.c_void_p(), ctypes.c_void_p()]
    handle = memory_handle(bench, address(memory))
    for pointer in opened:
        check(ze.zeMemOpenIpcHandle(bench.context, bench.device, handle, 0, ctypes.byref(pointer)))
    assert len({pointer.value for pointer in opened} | {address(memory)}) == 3
    view(opened[0].value or 0, 4096)[:] = 3
    assert (memory == 3).all()
    for pointer in opened:
        check(ze.zeMemCloseIpcHandle(bench.context, pointer))
    assert ze.zeMemCloseIpcHandle(bench.context, opened[0]) == INVALID
    assert ze.zeMemCloseIpcHandle(bench.context, address(memory)) == INVALID


def try_open(bench: Bench, handle: Any) -> int:
    pointer = ctypes.c_void_p()
    result = ze.zeMemOpenIpcHandle(bench.context, bench.device, handle, 0, ctypes.byref(pointer))
    assert pointer.value is None
    assert "zeMemOpenIpcHandle" in last_error()
    return int(result)


def test_bytes_that_are_no_handle_are_refused(bench: Bench) -> None:
    good = bytes(memory_handle(bench, bench.host(4096)))
    rng = np.random.default_rng(4)
    garbage = [bytes(64), b"\xff" * 64, rng.bytes(64), good[:8] + bytes(56)]
    pool = ze.ze_ipc_event_pool_handle_t()
    check(ze.zeEventPoolGetIpcHandle(bench.pool(1, ze.ZE_EVENT_POOL_FLAG_IPC), ctypes.byref(pool)))
    for data in [*garbage, bytes(pool)]:
        assert try_open(bench, ze.ze_ipc_mem_handle_t.from_buffer_copy(data)) == INVALID


def test_handle_with_changed_byte_never_crashes(bench: Bench) -> None:
    """It may still open: not every byte has a meaning. But sizes are not believed blindly."""
    good = bytearray(memory_handle(bench, bench.host(4096)))
    for position in range(64):
        changed = bytearray(good)
        changed[position] ^= 0x40
        pointer = ctypes.c_void_p()
        result = ze.zeMemOpenIpcHandle(
            bench.context,
            bench.device,
            ze.ze_ipc_mem_handle_t.from_buffer_copy(changed),
            0,
            ctypes.byref(pointer),
        )
        if result == ze.ZE_RESULT_SUCCESS:
            assert pointer.value is not None
            size = ctypes.c_size_t()
            check(ze.zeMemGetAddressRange(bench.context, pointer, None, ctypes.byref(size)))
            assert size.value <= mmap.PAGESIZE, f"byte {position} makes memory out of nothing"
            check(ze.zeMemCloseIpcHandle(bench.context, pointer))


FORGERIES = {
    "a file": lambda path: os.open(path, os.O_RDWR),
    "a file that is open for reading": lambda path: os.open(path, os.O_RDONLY),
    "memory of somebody else": lambda path: os.memfd_create("groundstate"),
    "unsealed memory with such a name": lambda path: os.memfd_create("groundstate-" + "00" * 16),
}


@pytest.mark.parametrize("passed", [False, True], ids=["by number", "as a descriptor"])
@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_handle_opens_no_other_file(
    bench: Bench, tmp_path: Path, what: str, passed: bool
) -> None:
    """The bytes say where a file is, and who writes them need not have been given a handle."""
    path = tmp_path / "private"
    path.write_bytes(b"private" * 1000)
    fd = FORGERIES[what](path)
    os.ftruncate(fd, 4096) if "memory" in what else None
    status = os.fstat(fd)
    handle = memory_handle(bench, bench.local(4096))
    number = fd if passed else -1
    forged = struct.pack("<i", number) + bytes(handle)[4:8]
    forged += struct.pack("<IiQQQQ", os.getpid(), fd, status.st_ino, status.st_dev, 4096, 0)
    try:
        for secret in (bytes(16), bytes(handle)[48:]):
            bad, opened = ze.ze_ipc_mem_handle_t(), ctypes.c_void_p()
            ctypes.memmove(ctypes.byref(bad), forged + secret, 64)
            result = ze.zeMemOpenIpcHandle(
                bench.context, bench.device, bad, 0, ctypes.byref(opened)
            )
            assert result == INVALID
            assert opened.value is None
    finally:
        os.close(fd)
    assert path.read_bytes() == b"private" * 1000


def test_handle_without_secret_opens_nothing(bench: Bench) -> None:
    handle = memory_handle(bench, bench.local(4096))
    guessed, opened = ze.ze_ipc_mem_handle_t.from_buffer_copy(handle), ctypes.c_void_p()
    ctypes.memset(ctypes.addressof(guessed) + 48, 0x5A, 16)
    result = ze.zeMemOpenIpcHandle(bench.context, bench.device, guessed, 0, ctypes.byref(opened))
    assert result == INVALID


def test_a_handle_to_freed_memory_is_refused(bench: Bench) -> None:
    pointer = bench.host(4096)
    handle = memory_handle(bench, pointer)
    bench.end(pointer)
    assert try_open(bench, handle) == INVALID


def test_handle_to_freed_memory_in_use_is_refused(bench: Bench) -> None:
    source, size = bench.forget(bench.host(4096)), 4096
    view(source, size)[:] = 5
    handle = memory_handle(bench, source)
    target = bench.bytes(size, fill=0)
    go = bench.event()
    commands = bench.immediate()
    copy(commands, address(target), source, size, waits=[go])
    check(ze.zeMemFree(bench.context, source))
    assert try_open(bench, handle) == INVALID
    check(ze.zeEventHostSignal(go))
    finish(commands)
    assert (target == 5).all()


def test_handle_of_ended_process_is_refused(bench: Bench) -> None:
    said = run("""
handle = ze.ze_ipc_mem_handle_t()
check(ze.zeMemGetIpcHandle(bench.context, bench.host(4096), ctypes.byref(handle)))
print(bytes(handle).hex())
bench.close()
""")
    handle = ze.ze_ipc_mem_handle_t.from_buffer_copy(bytes.fromhex(said))
    assert try_open(bench, handle) == INVALID


def test_memory_that_has_no_handle(bench: Bench) -> None:
    ordinary = np.zeros(4096, np.uint8)
    handle = ze.ze_ipc_mem_handle_t()
    inside = bench.host(8192) + 4096
    for pointer in (address(ordinary), inside, bench.shared(4096)):
        result = ze.zeMemGetIpcHandle(bench.context, pointer, ctypes.byref(handle))
        assert result == INVALID
        assert "zeMemGetIpcHandle" in last_error()


def test_handles_and_file_descriptors(bench: Bench) -> None:
    memory = bench.bytes(4096, fill=8)
    number = ctypes.c_uint64()
    check(
        ze.zeMemGetFileDescriptorFromIpcHandleExp(
            bench.context, memory_handle(bench, address(memory)), ctypes.byref(number)
        )
    )
    assert os.pread(number.value, 4096, 0) == b"\x08" * 4096
    handle, pointer = ze.ze_ipc_mem_handle_t(), ctypes.c_void_p()
    check(
        ze.zeMemGetIpcHandleFromFileDescriptorExp(bench.context, number.value, ctypes.byref(handle))
    )
    check(ze.zeMemOpenIpcHandle(bench.context, bench.device, handle, 0, ctypes.byref(pointer)))
    view(pointer.value or 0, 1)[0] = 9
    assert memory[0] == 9
    check(ze.zeMemCloseIpcHandle(bench.context, pointer))
    contained = ctypes.c_uint64()
    check(ze.zeMemGetFileDescriptorFromIpcHandleExp(bench.context, handle, ctypes.byref(contained)))
    assert contained.value == number.value, "the handle contains the descriptor it was made from"
    check(ze.zeMemPutIpcHandle(bench.context, handle))
    assert os.pread(number.value, 1, 0) == b"\x09", "the descriptor is still the driver's"


def test_handle_goes_back_without_python(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(ipc, "check_handle", lambda *given: asked.append(given[1]))
    handle = memory_handle(bench, bench.local(100))
    check(ze.zeMemPutIpcHandle(bench.context, handle))
    assert not asked
    handle.data[4] ^= 1
    check(ze.zeMemPutIpcHandle(bench.context, handle))
    assert asked == [ipc.MEMORY], "Python says what is wrong with other bytes"
    monkeypatch.undo()
    assert ze.zeMemPutIpcHandle(bench.context, handle) == INVALID


def test_non_memory_descriptor_has_no_ipc_handle(bench: Bench) -> None:
    handle, (reader, writer) = ze.ze_ipc_mem_handle_t(), os.pipe()
    for wrong in (reader, 10**6, 2**31, 2**64 - 1):
        result = ze.zeMemGetIpcHandleFromFileDescriptorExp(
            bench.context, wrong, ctypes.byref(handle)
        )
        assert result == INVALID
        assert "is not memory" in last_error()
    os.close(reader)
    os.close(writer)


# --- Events ---------------------------------------------------------------------------------------


def test_pool_handle_byte_change_never_crashes(bench: Bench) -> None:
    handle = ze.ze_ipc_event_pool_handle_t()
    pool = bench.pool(64, ze.ZE_EVENT_POOL_FLAG_IPC)
    check(ze.zeEventPoolGetIpcHandle(pool, ctypes.byref(handle)))
    for position in range(64):
        changed = bytearray(handle)
        changed[position] ^= 0x40
        opened = ctypes.c_void_p()
        altered = ze.ze_ipc_event_pool_handle_t.from_buffer_copy(changed)
        result = ze.zeEventPoolOpenIpcHandle(bench.context, altered, ctypes.byref(opened))
        if result == ze.ZE_RESULT_SUCCESS:
            touch_last_event(bench, opened.value or 0)
            check(ze.zeEventPoolCloseIpcHandle(opened))


def touch_last_event(bench: Bench, pool: int) -> None:
    """Signals the event with the highest index that the pool accepts, up to a million."""
    for index in (1 << 20, 1 << 16, 4096, 127, 63, 0):
        event = ctypes.c_void_p()
        description = ze.ze_event_desc_t(index=index)
        result = ze.zeEventCreate(pool, ctypes.byref(description), ctypes.byref(event))
        if result == ze.ZE_RESULT_SUCCESS:
            ze.zeEventHostSignal(event)
            check(ze.zeEventDestroy(event))
            return


def test_other_process_sees_events_of_ipc_pool(bench: Bench) -> None:
    pool = bench.pool(4, ze.ZE_EVENT_POOL_FLAG_IPC | ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE)
    to_child, from_child = bench.event_in(pool, 0), bench.event_in(pool, 3)
    handle = ze.ze_ipc_event_pool_handle_t()
    check(ze.zeEventPoolGetIpcHandle(pool, ctypes.byref(handle)))
    commands = bench.immediate()
    check(ze.zeCommandListAppendSignalEvent(commands, to_child))
    finish(commands)
    said = run(
        """
check(ze.zeEventPoolOpenIpcHandle(
    bench.context, handle(ze.ze_ipc_event_pool_handle_t), ctypes.byref(opened)))
first, last = bench.event_in(opened.value, 0), bench.event_in(opened.value, 3)
check(ze.zeEventHostSynchronize(first, FOREVER))
print(is_signalled(last))
commands = bench.immediate()
barrier(commands, signal=last, waits=[first])
finish(commands)
check(ze.zeEventHostReset(first))
bench.close_events = [bench.end(first), bench.end(last)]
assert ze.zeEventPoolDestroy(opened) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
check(ze.zeEventPoolCloseIpcHandle(opened))
bench.close()
""",
        handle,
    )
    assert said == "False\n"
    check(ze.zeEventHostSynchronize(from_child, FOREVER))
    assert not is_signalled(to_child)
    check(ze.zeEventPoolPutIpcHandle(bench.context, handle))


def test_a_pool_that_is_not_for_sharing(bench: Bench) -> None:
    handle = ze.ze_ipc_event_pool_handle_t()
    result = ze.zeEventPoolGetIpcHandle(bench.pool(1), ctypes.byref(handle))
    assert result == ze.ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT
    assert "zeEventPoolGetIpcHandle" in last_error()


def test_other_process_waits_for_counter_event(bench: Bench) -> None:
    flags = ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ze.ZE_EVENT_COUNTER_BASED_FLAG_IPC
    event, go = bench.counter_event(flags), bench.event()
    commands = bench.immediate(in_order=True)
    barrier(commands, signal=event, waits=[go])
    handle = ze.ze_ipc_event_counter_based_handle_t()
    check(ze.zeEventCounterBasedGetIpcHandle(event, ctypes.byref(handle)))
    program = """
check(ze.zeEventCounterBasedOpenIpcHandle(
    bench.context, handle(ze.ze_ipc_event_counter_based_handle_t), ctypes.byref(opened)))
print(ze.zeEventHostSynchronize(opened, {timeout}) == ze.ZE_RESULT_SUCCESS)
commands = bench.immediate()
if {timeout} > 10**9:
    barrier(commands, waits=[opened.value])
    finish(commands)
check(ze.zeEventCounterBasedCloseIpcHandle(opened))
bench.close()
"""
    assert run(program.format(timeout=MILLISECOND), handle) == "False\n"
    check(ze.zeEventHostSignal(go))
    assert run(program.format(timeout=FOREVER), handle) == "True\n"


def test_counter_event_opens_in_its_own_process(bench: Bench) -> None:
    flags = ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ze.ZE_EVENT_COUNTER_BASED_FLAG_IPC
    event, go = bench.counter_event(flags), bench.event()
    commands = bench.immediate(in_order=True)
    barrier(commands, signal=event, waits=[go])
    handle, opened = ze.ze_ipc_event_counter_based_handle_t(), ctypes.c_void_p()
    check(ze.zeEventCounterBasedGetIpcHandle(event, ctypes.byref(handle)))
    check(ze.zeEventCounterBasedOpenIpcHandle(bench.context, handle, ctypes.byref(opened)))
    assert not is_signalled(opened.value or 0)
    check(ze.zeEventHostSignal(go))
    check(ze.zeEventHostSynchronize(opened, FOREVER))
    assert ze.zeEventDestroy(opened) == INVALID
    check(ze.zeEventCounterBasedCloseIpcHandle(opened))
    result = ze.zeEventCounterBasedCloseIpcHandle(event)
    assert result == ze.ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT


def test_event_without_ipc_flag_has_no_handle(bench: Bench) -> None:
    handle = ze.ze_ipc_event_counter_based_handle_t()
    for event in (bench.counter_event(), bench.event()):
        result = ze.zeEventCounterBasedGetIpcHandle(event, ctypes.byref(handle))
        assert result in (INVALID, ze.ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT)
        assert "zeEventCounterBasedGetIpcHandle" in last_error()


@pytest.mark.parametrize("seed", range(3))
def test_bytes_that_are_no_event_are_refused(bench: Bench, seed: int) -> None:
    data = [bytes(64), b"\xff" * 64, np.random.default_rng(1).bytes(64)][seed]
    opened = ctypes.c_void_p()
    event = ze.ze_ipc_event_counter_based_handle_t.from_buffer_copy(data)
    result = ze.zeEventCounterBasedOpenIpcHandle(bench.context, event, ctypes.byref(opened))
    assert result == INVALID
    pool = ze.ze_ipc_event_pool_handle_t.from_buffer_copy(data)
    result = ze.zeEventPoolOpenIpcHandle(bench.context, pool, ctypes.byref(opened))
    assert result == INVALID
    assert opened.value is None


def test_freed_memory_takes_its_handle_along(bench: Bench) -> None:
    """An allocation at the same address has a handle of its own."""
    seen: dict[int, set[bytes]] = {}
    for _ in range(4):
        pointer = bench.local(1 << 16)
        kept = {bytes(memory_handle(bench, pointer)) for _ in range(3)}
        assert len(kept) == 1
        assert kept.isdisjoint(seen.get(pointer, set()))
        seen.setdefault(pointer, set()).update(kept)
        bench.end(pointer)
        gone = ze.ze_ipc_mem_handle_t()
        assert ze.zeMemGetIpcHandle(bench.context, pointer, ctypes.byref(gone)) == INVALID


def test_handles_of_a_forked_child_name_the_child(bench: Bench) -> None:
    pointer = bench.local(4096)
    before = bytes(memory_handle(bench, pointer))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, bytes(memory_handle(bench, pointer)))
        os._exit(0)
    os.waitpid(child, 0)
    found = os.read(reader, 64)
    os.close(reader)
    os.close(writer)
    assert int.from_bytes(found[8:12], "little") == child
    assert int.from_bytes(before[8:12], "little") == os.getpid()


def test_threads_ask_for_handles_at_once(bench: Bench) -> None:
    pointers = [bench.local(4096) for _ in range(4)]
    found: list[list[bytes]] = [[] for _ in range(8)]

    def ask(number: int) -> None:
        for turn in range(200):
            found[number].append(bytes(memory_handle(bench, pointers[turn % 4])))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(each == found[0] for each in found)
    assert len(set(found[0])) == 4
