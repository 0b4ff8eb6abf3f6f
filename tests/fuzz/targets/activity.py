"""Pages of counters that a process publishes with whatever it likes in them."""

from __future__ import annotations

import ctypes
import json
import random
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

from groundstate import ze, zes
from tests.fuzz import edits
from tests.fuzz.targets.target import Generator, Verdict

PAGE_BYTES = 1 << 20
HEAD = struct.Struct("<QQQQQ")
RECORD = struct.Struct("<IIIiQQQII")
MAGIC = 0x3154434147535A
PARTS = {
    "zesDeviceEnumEngineGroups": ("zesEngineGetActivity", "zes_engine_stats_t"),
    "zesDeviceEnumMemoryModules": ("zesMemoryGetState", "zes_mem_state_t"),
}
FINE = frozenset((ze.ZE_RESULT_SUCCESS, ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE))

FORGER = """
import fcntl, json, os, socket, sys
pid = os.getpid()
start = int(open("/proc/self/stat", "rb").read().rpartition(b")")[2].split()[19])
page = os.memfd_create("groundstate", os.MFD_ALLOW_SEALING)
os.ftruncate(page, 1 << 20)
fcntl.fcntl(page, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
print(json.dumps([pid, start, page]), flush=True)
for line in sys.stdin:
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        name.bind(b"\\0" + json.loads(line).encode("utf-8", "surrogateescape")[:100])
    except OSError:
        pass
    print("bound", flush=True)
    sys.stdin.readline()
    name.close()
    print("closed", flush=True)
"""


class Activity(Generator):
    """What a monitor reads while another process changes it."""

    name = "activity"
    summary = "forged pages of counters"
    suffix = ".json"

    def generate(self, chance: random.Random) -> bytes:
        case: dict[str, Any] = {
            "edits": edits.some(chance, 6),
            "then": edits.some(chance, 3),
            "records": chance.choice((0, 1, 1, 2, 60)),
        }
        if chance.random() < 0.3:
            case["name"] = edits.some(chance, 2)
        return json.dumps(case).encode()

    def reductions(self, case: bytes) -> Iterator[bytes]:
        given = json.loads(case)
        for key in ("edits", "then", "name"):
            steps = given.get(key, [])
            for number in range(len(steps)):
                yield json.dumps(given | {key: steps[:number] + steps[number + 1 :]}).encode()

    def prepare(self) -> None:
        from tests.fuzz.targets.sysman import device, parts

        self._device = device()
        self._parts = {
            name: (parts(self._device, name), reading, struct_name)
            for name, (reading, struct_name) in PARTS.items()
        }
        self._forger = subprocess.Popen(
            [sys.executable, "-c", FORGER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._pid, self._start, fd = json.loads(self._line())
        self._page = open(f"/proc/{self._pid}/fd/{fd}", "r+b", buffering=0)  # noqa: SIM115
        self._name = f"groundstate/activity/1/{self._pid}/{self._start}/{fd}"

    def _line(self) -> str:
        assert self._forger.stdout is not None
        return self._forger.stdout.readline()

    def _tell(self, text: str) -> None:
        assert self._forger.stdin is not None
        self._forger.stdin.write(text + "\n")
        self._forger.stdin.flush()
        self._line()

    def run(self, case: bytes) -> Verdict:
        given = json.loads(case)
        whole = page_of(self._pid, self._start, given["records"])
        first = edits.apply(given["edits"], whole)
        second = edits.apply(given["then"], first)
        name = edits.apply(given.get("name", []), self._name.encode())
        self._write(first)
        self._tell(json.dumps(name.decode("utf-8", "surrogateescape")))
        over = threading.Event()
        writer = threading.Thread(target=self._flicker, args=(first, second, over))
        writer.start()
        try:
            return Verdict("\n".join(self._read()))
        finally:
            over.set()
            writer.join()
            self._tell("")

    def _write(self, data: bytes) -> None:
        self._page.seek(0)
        self._page.write(data[:PAGE_BYTES].ljust(8192, b"\0"))

    def _flicker(self, first: bytes, second: bytes, over: threading.Event) -> None:
        while not over.wait(0.0005):
            self._write(second)
            self._write(first)

    def _read(self) -> Iterator[str]:
        """Reads all that comes from pages; a sentence for each answer that is not in order."""
        from groundstate.driver.sysman.activity import PROCESSES

        for _ in range(3):
            PROCESSES.all(at_once=True)
            count = ctypes.c_uint32(512)
            states = (zes.zes_process_state_t * 512)()
            result = zes.zesDeviceProcessesGetState(self._device, ctypes.byref(count), states)
            if result not in FINE:
                yield f"zesDeviceProcessesGetState answers {ze.ze_result_t(result).name}"
            for handles, reading, struct_name in self._parts.values():
                for handle in handles:
                    made = getattr(zes, struct_name)()
                    result = getattr(zes, reading)(handle, ctypes.byref(made))
                    if result not in FINE:
                        yield f"{reading} answers {ze.ze_result_t(result).name}"


def page_of(pid: int, start: int, records: int) -> bytes:
    """A page as a process with some devices would publish it."""
    size = 64 + 64 + 64
    head = HEAD.pack(MAGIC, pid, start, 0, 64 + size * records).ljust(64, b"\0")
    one = [RECORD.pack(size, 2, n, -1, 1 << 34, 1 << 20, 0, 64, 128) for n in range(records)]
    return head + b"".join(record.ljust(size, b"\0") for record in one)
