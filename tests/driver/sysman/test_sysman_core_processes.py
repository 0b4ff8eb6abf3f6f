"""Processes: what each does on a device, and that nothing of it stays when it ends."""

import ctypes
import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from groundstate import ze, zes
from groundstate.driver.sysman import activity as pages
from groundstate.native_layouts import ACTIVITY_MAGIC
from tests.conftest import check, last_error
from tests.driver import processes as programs
from tests.driver.support import Bench
from tests.driver.sysman.sysman import activity, engines, listed, memory_state, processes

WORK = """
memory = bench.local(5 << 20)
source = bench.local(1 << 20)
commands = bench.immediate(ordinal=1)
copy(commands, memory, source, 1 << 20)
finish(commands)
say(os.getpid())
input()
"""


def names() -> set[str]:
    """The names under which processes on this machine publish their pages."""
    return set(pages._names())


def mapped() -> int:
    """How many pages of other processes this one has mapped."""
    return len(re.findall("memfd:groundstate", Path("/proc/self/maps").read_text()))


class Child:
    """Another process that uses the device."""

    def __init__(self, work: str = WORK) -> None:
        self.process = programs.start(work)
        assert self.process.stdout is not None
        self.pid = int(self.process.stdout.readline())

    def end(self) -> None:
        programs.finished(self.process, "\n")

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.mark.parametrize("ending", [Child.end, Child.kill], ids=["ends", "is killed"])
def test_another_process_is_seen_until_it(ending: Any, sysman: int) -> None:
    child = Child()
    seen = processes(sysman)[child.pid]
    assert seen.memSize == 6 << 20
    assert seen.engines == zes.ZES_ENGINE_TYPE_FLAG_DMA
    assert any(f"/{child.pid}/" in name for name in names())
    ending(child)
    assert child.pid not in processes(sysman)
    assert not any(f"/{child.pid}/" in name for name in names())


def test_process_off_socket_list_stays_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list may lack sockets while others come and go; a process that has ended is gone."""
    child = Child()
    known = {seen.pid: seen for seen in pages.PROCESSES.all(at_once=True)}
    monkeypatch.setattr(pages, "_names", lambda: iter(()))
    again = {seen.pid: seen for seen in pages.PROCESSES.all(at_once=True)}
    assert again[child.pid] is known[child.pid]
    child.kill()
    assert child.pid not in {seen.pid for seen in pages.PROCESSES.all(at_once=True)}


def test_room_for_fewer_processes_than_there_are(bench: Bench, sysman: int) -> None:
    child = Child()
    count, states = ctypes.c_uint32(1), (zes.zes_process_state_t * 2)()
    result = zes.zesDeviceProcessesGetState(sysman, ctypes.byref(count), states)
    assert result == ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert "ask for the count again" in last_error()
    assert count.value == 1
    assert states[0].processId > 0
    assert states[1].processId == 0
    child.kill()


def test_this_process_is_one_of_them(bench: Bench, sysman: int) -> None:
    before = processes(sysman)[os.getpid()].memSize
    bench.local(1 << 20)
    assert processes(sysman)[os.getpid()].memSize == before + (1 << 20)


def test_process_that_only_watches_is_not_listed() -> None:
    program = (
        "import os\nfrom groundstate import ze, zes\n"
        "assert ze.zeInit(0) == 0 and zes.zesInit(0) == 0\n"
        "assert f'/{os.getpid()}/' not in open('/proc/net/unix').read()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_other_process_activity_counts_for_device(sysman: int) -> None:
    """And what it holds, with a look at both through the counters of this process."""
    engine = engines(sysman, zes.ZES_ENGINE_GROUP_COPY_ALL)[0]
    activity(engine)
    child = Child()
    page = next(seen.page for seen in pages.PROCESSES.all(at_once=True) if seen.pid == child.pid)
    assert page is not None
    assert page.records[0, -1].all_copied() > 0
    before = activity(engine)
    assert before[0] > 0
    free = memory_state(sysman).free
    assert free <= memory_state(sysman).size - (6 << 20)
    child.kill()
    pages.PROCESSES.all(at_once=True)
    assert activity(engine)[0] >= before[0]  # what was done stays done


def test_memory_that_is_shared_with_others(bench: Bench, sysman: int) -> None:
    before = processes(sysman)[os.getpid()].sharedSize
    memory = bench.local(1 << 20)
    handle = ze.ze_ipc_mem_handle_t()
    check(ze.zeMemGetIpcHandle(bench.context, memory, ctypes.byref(handle)))
    assert processes(sysman)[os.getpid()].sharedSize == before + (1 << 20)
    check(ze.zeMemPutIpcHandle(bench.context, handle))
    bench.end(memory)
    assert processes(sysman)[os.getpid()].sharedSize == before


def test_names_that_lie_are_not_believed(sysman: int) -> None:
    """Anybody may bind such a name: for a process that is gone, for another one, for nonsense."""
    own_start = pages._start_time(os.getpid())
    lies = [
        f"{2**22 - 1}/1/3",
        f"{os.getppid()}/{own_start}/0",
        f"{os.getppid()}/{pages._start_time(os.getppid())}/999999",
        "a/b/c",
        "1/2",
        "-1/0/0",
        "9" * 40 + "/1/1",
    ]
    sockets = []
    for lie in lies:
        sockets.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        sockets[-1].bind(f"\0{pages.PREFIX[1:]}{lie}")
    try:
        seen = {each.pid: each.page for each in pages.PROCESSES.all(at_once=True)}
        assert seen[os.getppid()] is None  # as that of a process of another user
        assert 2**22 - 1 not in seen
        assert processes(sysman)[os.getppid()].memSize == 0
    finally:
        for each in sockets:
            each.close()


def test_files_that_are_no_pages_are_not_read() -> None:
    """What a number of a file stands for may have changed since it was said."""
    start = pages._start_time(os.getpid())
    read, write = os.pipe()
    unsealed = os.memfd_create("groundstate")
    sealed = os.memfd_create("groundstate", os.MFD_ALLOW_SEALING)
    os.truncate(sealed, 1 << 16)
    fcntl.fcntl(sealed, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    try:
        for fd in (read, unsealed, sealed, 999_999):
            assert pages._open_page(os.getpid(), start, fd) is None
        garbage = bytearray(b"\xff" * 4096)
        garbage[:8] = ACTIVITY_MAGIC.to_bytes(8, "little")
        garbage[32:40] = (4096).to_bytes(8, "little")
        os.pwrite(sealed, garbage, 0)
        assert pages._open_page(os.getpid(), start, sealed) is None
        garbage[64:] = bytes(len(garbage) - 64)
        os.pwrite(sealed, garbage, 0)
        assert pages._open_page(os.getpid(), start, sealed) is None
    finally:
        for fd in (read, write, unsealed, sealed):
            os.close(fd)


CROWD = """
import signal
def work(number):
    context, memory = ctypes.c_void_p(), ctypes.c_void_p()
    check(ze.zeContextCreate(first_driver(), ctypes.byref(ze.ze_context_desc_t()),
                             ctypes.byref(context)))
    check(ze.zeMemAllocDevice(context, ctypes.byref(ze.ze_device_mem_alloc_desc_t()), 1 << 16, 0,
                              device, ctypes.byref(memory)))
    if number % 3 == 0:
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL if number % 3 == 1 else signal.SIGTERM)
say(os.getpid())
children = []
for number in range(100):
    child = os.fork()
    if child == 0:
        work(number)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
say(*children)
"""


def test_many_readers_survive_process_churn(bench: Bench, sysman: int) -> None:
    """64 readers never fail while 100 processes start and end in several ways; nothing stays."""
    done, failures = threading.Event(), []
    all_engines = listed(zes.zesDeviceEnumEngineGroups, sysman)
    maps = mapped()

    def read() -> None:
        last = [0] * len(all_engines)
        try:
            while not done.is_set():
                now = [activity(engine)[0] for engine in all_engines]
                assert all(new >= old for new, old in zip(now, last, strict=True))
                state = memory_state(sysman)
                assert 0 <= state.free <= state.size
                assert os.getpid() in processes(sysman)
                last = now
        except BaseException as failure:
            failures.append(failure)

    readers = [threading.Thread(target=read) for _ in range(64)]
    for reader in readers:
        reader.start()
    crowd = programs.start(CROWD)
    try:
        children = programs.finished(crowd).split()[1:]
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert not failures, failures[0]
    assert len(children) == 100
    left = processes(sysman)
    assert not [child for child in children if int(child) in left]
    assert not [name for name in names() if name.split("/")[3] in children]
    assert mapped() <= maps + len(left)


def test_child_sees_its_parent_as_others_do() -> None:
    """It does not take its own counters, at the same address, for those of its parent."""
    program = """
import os
import groundstate as gs

device, parent = gs.devices()[0], os.getpid()
with gs.Context(device) as context, context.alloc_device(8 << 20):
    print(*(each.memory_bytes >> 20 for each in device.sysman.processes if each.pid == parent))
    if os.fork() == 0:
        with gs.Context(device) as another, another.alloc_device(16 << 20):
            seen = {each.pid: each.memory_bytes >> 20 for each in device.sysman.processes}
            print(seen[parent], seen[os.getpid()], flush=True)
            os._exit(0)
    os.wait()
"""
    done = subprocess.run(
        [sys.executable, "-u", "-c", program], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("8\n8 24\n", "")


def test_a_child_has_counters_of_its_own(bench: Bench, sysman: int) -> None:
    """What a forked child does is not done by its parent, and is its own if it uses the device."""
    before = processes(sysman)[os.getpid()].memSize
    child = Child(
        "reader, writer = os.pipe()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os.close(reader)\n"
        "    bench.local(7 << 20)\n"
        "    assert f'/{os.getpid()}/' not in open('/proc/net/unix').read()\n"
        "    context = ctypes.c_void_p()\n"
        "    check(ze.zeContextCreate(first_driver(), ctypes.byref(ze.ze_context_desc_t()),\n"
        "                             ctypes.byref(context)))\n"
        "    os.write(writer, b'x')\n"
        "    signal.pause()\n"
        "os.read(reader, 1)\n"
        "say(os.getpid())\n"
        "say(child)\n"
        "input()\n"
    )
    assert child.process.stdout is not None
    grandchild = int(child.process.stdout.readline())
    seen = processes(sysman)
    assert seen[child.pid].memSize == 0
    assert seen[grandchild].memSize == 7 << 20
    assert seen[os.getpid()].memSize == before
    os.kill(grandchild, signal.SIGKILL)
    child.end()
    assert child.pid not in processes(sysman)
