"""Both sides of a debug session for tests: a program, and a debugger that calls `zetDebug…`."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from groundstate import ze, zet
from tests.conftest import check
from tests.imports import IMPORT_PATH

SOURCE = Path(__file__).parent / "debuggee.py"
ANY = 0xFFFFFFFF
PATIENCE = 60_000
"""Milliseconds."""
DEFAULT, LOCAL, ELF, BARRIER = range(4)
HEADER, ACTIVE, CONTROL, POINTERS, PRIVATE, VALUES = 0x100, 4, 6, 0x101, 0x102, 1
EVENTS = {
    int(getattr(zet, f"ZET_DEBUG_EVENT_TYPE_{name}")): name
    for name in (
        *("DETACHED", "PROCESS_ENTRY", "PROCESS_EXIT", "MODULE_LOAD", "MODULE_UNLOAD"),
        *("THREAD_STOPPED", "THREAD_UNAVAILABLE", "PAGE_FAULT"),
    )
}


def thread(unit: int, *others: int) -> ze.ze_device_thread_t:
    """A thread by its execution unit; slice, sub-slice and number are 0 unless they are said."""
    one, two, three = others or (0, 0, 0)
    return ze.ze_device_thread_t(one, two, unit, three)


ALL = thread(ANY, ANY, ANY, ANY)


class Debuggee:
    """A program that does what it is told."""

    def __init__(self, spirv: Path, debuggable: bool = True, workers: int = 2) -> None:
        environment = dict(os.environ, GROUNDSTATE_THREADS=str(workers))
        environment["PYTHONPATH"] = os.pathsep.join(map(str, IMPORT_PATH))
        environment["ZET_ENABLE_PROGRAM_DEBUGGING"] = str(int(debuggable))
        self.process = subprocess.Popen(
            [sys.executable, str(SOURCE), str(spirv)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def tell(self, *words: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()

    def hear(self) -> list[str]:
        assert self.process.stdout is not None
        return self.process.stdout.readline().split()

    def do(self, *words: str) -> int:
        """Waits until it has done a step; the address of its flag."""
        self.tell(*words)
        said = self.hear()
        assert said[0] == words[0]
        return int(said[1])

    def result(self) -> list[int]:
        """What the kernel has written, once it has ended."""
        self.tell("wait")
        said = self.hear()
        assert said[0] == "out"
        assert self.hear()[0] == "wait"
        return [int(each) for each in said[1:]]

    def end(self) -> None:
        self.do("end")
        assert self.process.wait(60) == 0

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


class Debugger:
    """A session with a program. Functions return what the driver does."""

    def __init__(self, device: int, pid: int) -> None:
        self.session = ctypes.c_void_p()
        self.result = attach(device, pid, self.session)
        self.event = zet.zet_debug_event_t()
        self.is_attached = self.result == 0

    def detach(self) -> int:
        self.is_attached = False
        return int(zet.zetDebugDetach(self.session))

    def close(self) -> None:
        if self.is_attached:
            check(self.detach())

    def read(self, milliseconds: int = PATIENCE) -> int:
        return int(zet.zetDebugReadEvent(self.session, milliseconds, ctypes.byref(self.event)))

    def next(self) -> str:
        """The name of the next event."""
        check(self.read())
        return EVENTS[self.event.type]

    def acknowledge(self) -> int:
        return int(zet.zetDebugAcknowledgeEvent(self.session, ctypes.byref(self.event)))

    def stopped(self) -> tuple[int, int, int, int]:
        """The thread of the last event."""
        told = self.event.info.thread.thread
        return told.slice, told.subslice, told.eu, told.thread

    def interrupt(self, which: ze.ze_device_thread_t = ALL) -> int:
        return int(zet.zetDebugInterrupt(self.session, which))

    def resume(self, which: ze.ze_device_thread_t = ALL) -> int:
        return int(zet.zetDebugResume(self.session, which))

    def stop_all(self) -> None:
        """Interrupts until threads are there to be stopped: a launch begins when it likes to."""
        while True:
            check(self.interrupt())
            if self.next() == "THREAD_STOPPED":
                return

    def memory(
        self, address: int, size: int, space: int = DEFAULT, at: ze.ze_device_thread_t = ALL
    ) -> bytes | int:
        """Bytes of a memory space, or the result that was no success."""
        buffer = (ctypes.c_uint8 * size)()
        described = zet.zet_debug_memory_space_desc_t(type=space, address=address)
        result = zet.zetDebugReadMemory(self.session, at, ctypes.byref(described), size, buffer)
        return bytes(buffer) if result == 0 else int(result)

    def write(
        self, address: int, data: bytes, space: int = DEFAULT, at: ze.ze_device_thread_t = ALL
    ) -> int:
        described = zet.zet_debug_memory_space_desc_t(type=space, address=address)
        return int(
            zet.zetDebugWriteMemory(self.session, at, ctypes.byref(described), len(data), data)
        )

    def sets(self, at: ze.ze_device_thread_t) -> dict[int, Any]:
        """The register sets of a stopped thread, by type."""
        count = ctypes.c_uint32()
        ask = zet.zetDebugGetThreadRegisterSetProperties
        check(ask(self.session, at, ctypes.byref(count), None))
        found = (zet.zet_debug_regset_properties_t * count.value)()
        check(ask(self.session, at, ctypes.byref(count), found))
        return {each.type: each for each in found}

    def registers(self, at: ze.ze_device_thread_t, kind: int) -> list[int]:
        """All words of a register set."""
        about = self.sets(at)[kind]
        words = (ctypes.c_uint64 * -(-about.count * about.byteSize // 8))()
        check(zet.zetDebugReadRegisters(self.session, at, kind, 0, about.count, words))
        return list(words)

    def read_registers(self, at: ze.ze_device_thread_t, kind: int, first: int, count: int) -> int:
        """The result of reading some registers, and of nothing else."""
        return int(zet.zetDebugReadRegisters(self.session, at, kind, first, count, None))

    def write_registers(
        self, at: ze.ze_device_thread_t, kind: int, first: int, count: int, data: bytes
    ) -> int:
        return int(zet.zetDebugWriteRegisters(self.session, at, kind, first, count, data))


def attach(device: int, pid: int, session: ctypes.c_void_p) -> int:
    """The result of attaching to a process."""
    config = zet.zet_debug_config_t(pid)
    return int(zet.zetDebugAttach(device, ctypes.byref(config), ctypes.byref(session)))
