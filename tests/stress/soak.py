"""`make soak`: checks results while objects come and go, contexts are lost and processes killed.

    python -m tests.stress.soak --minutes 10

Some threads compute, each in contexts of its own, and compare every result. One loses its contexts
on purpose, with kernels and copies that use memory which is not there. One
shares memory and events with processes that are killed at any moment. At the end it says how much
memory, how many descriptors, threads and objects there are, and fails if they have grown since all
of this had run for a while, or if a result was wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import os
import random
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from groundstate import standin, ze
from tests.driver import processes
from tests.driver.kernels import KernelBench
from tests.driver.support import FOREVER, address, barrier, close_list, copy, handles, view
from tests.patience import FACTOR

KERNELS = Path(__file__).parents[1] / "fuzz" / "calls" / "kernels.spv"
WORDS = 256
WARM_UP_SHARE = 0.3
ALLOWED_BYTES = 24 << 20
"""What a process may gain by chance: caches of pages, and arenas of malloc."""
ALLOWED_SHARE = 0.05
REST_SECONDS = 30 * FACTOR
ENDING_THREADS = {"gs-engine", "gs-variants"}
LIMIT = f"{500 * FACTOR:.0f}ms"

PEER = """
import time
pointer, size = open_memory(bench, handle(ze.ze_ipc_mem_handle_t)), 4096
pool = open_pool(bench, ze.ze_ipc_event_pool_handle_t.from_buffer_copy(bytes.fromhex(sys.argv[2])))
event = bench.event_in(pool, 0)
memory = view(pointer, size)
say("ready")
while True:
    memory[:] = memory[0] ^ 1
    check(ze.zeEventHostSignal(event))
    check(ze.zeEventHostReset(event))
"""


@dataclass(frozen=True)
class Figures:
    """What this process holds."""

    resident_bytes: int
    descriptors: int
    threads: int
    objects: int

    def growth_to(self, later: Figures) -> list[str]:
        """A sentence for each figure that has grown more than chance explains."""
        found = []
        allowed = self.resident_bytes * (1 + ALLOWED_SHARE) + ALLOWED_BYTES
        if later.resident_bytes > allowed:
            more = later.resident_bytes - self.resident_bytes
            found.append(f"resident memory has grown by {more >> 20} MiB")
        for name in ("descriptors", "threads", "objects"):
            before, after = getattr(self, name), getattr(later, name)
            if after > before:
                found.append(f"there were {before} {name}, and are {after}")
        return found


def wait_for_idle_threads() -> None:
    """Until the driver's threads that end when nothing is left to do have ended.

    How many there were depends on how many queues happened to be in use at one moment.
    """
    end = time.monotonic() + REST_SECONDS
    while time.monotonic() < end:
        names = set()
        for task in Path("/proc/self/task").iterdir():
            with contextlib.suppress(OSError):  # a thread that ended meanwhile
                names.add((task / "comm").read_text(encoding="ascii").strip())
        if not names & ENDING_THREADS:
            return
        time.sleep(0.1)


def figures() -> Figures:
    """Them as of now, when nothing is under way."""
    wait_for_idle_threads()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    library = ctypes.CDLL(str(standin.library()))
    library.gs_live_objects.restype = ctypes.c_uint64
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return Figures(
        resident_bytes=int(fields["VmRSS"].split()[0]) << 10,
        descriptors=len(os.listdir("/proc/self/fd")) - 1,
        threads=int(fields["Threads"]),
        objects=int(library.gs_live_objects(0)),
    )


class Soak:
    """Everything that runs at the same time, round after round."""

    def __init__(self, driver: int, device: int, seed: int) -> None:
        self.driver = driver
        self.device = device
        self.seed = seed
        self.binary = KERNELS.read_bytes()
        self.rounds: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._lock = threading.Lock()

    def run(self, seconds: float) -> None:
        """All kinds of work for some time."""
        end = time.monotonic() + seconds
        kinds: list[Callable[[random.Random], None]] = [self.compute, self.compute, self.record]
        kinds += [self.lose, self.share]
        threads = [
            threading.Thread(target=self._repeat, args=(kind, number, end))
            for number, kind in enumerate(kinds)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.seed += 1000

    def _repeat(self, kind: Callable[[random.Random], None], number: int, end: float) -> None:
        chance = random.Random(self.seed + number)
        while time.monotonic() < end and not self.wrong:
            try:
                kind(chance)
            except BaseException:
                self.wrong.append(f"{kind.__name__}: {traceback.format_exc(limit=-4)}")
            with self._lock:
                self.rounds[kind.__name__] += 1

    def _bench(self) -> KernelBench:
        return KernelBench(self.driver, self.device)

    # --- Work -------------------------------------------------------------------------------------

    def compute(self, chance: random.Random) -> None:
        """A context, a module, a launch with an event, and two copies around it."""
        bench = self._bench()
        given, out = bench.bytes(4 * WORDS).view(np.uint32), bench.bytes(4 * WORDS)
        given[:] = np.random.default_rng(chance.randrange(2**32)).integers(0, 2**32, WORDS)
        source, target = bench.local(4 * WORDS), bench.shared(4 * WORDS)
        in_order = chance.random() < 0.5
        commands = bench.immediate(in_order=in_order)
        first, second, third = bench.events(3)
        kernel = bench.kernel_in(bench.module_of(self.binary), "first", size=(32, 1, 1))
        for place, pointer in enumerate((target, source)):
            value = ctypes.c_void_p(pointer)
            expect(ze.zeKernelSetArgumentValue(kernel, place, 8, ctypes.byref(value)))
        copy(commands, source, address(given), 4 * WORDS, first)
        groups = ctypes.byref(ze.ze_group_count_t(WORDS // 32, 1, 1))
        launch = ze.zeCommandListAppendLaunchKernel
        expect(launch(commands, kernel, groups, second, 1, handles(first)))
        copy(commands, address(out), target, 4 * WORDS, third, [second])
        expect(ze.zeEventHostSynchronize(third, FOREVER))
        compare(out.view(np.uint32), given * np.uint32(3) + np.arange(WORDS, dtype=np.uint32))
        bench.close()

    def record(self, chance: random.Random) -> None:
        """Lists that are recorded, run from several queues, and destroyed."""
        bench = self._bench()
        size = chance.choice((64, 5000, 1 << 20))
        data, out = bench.random_bytes(size, chance.randrange(2**32)), bench.bytes(size)
        middle, event = bench.local(size), bench.event()
        lists = [bench.list(), bench.list()]
        copy(lists[0], middle, address(data), size, event)
        copy(lists[1], address(out), middle, size, None, [event])
        queues = [bench.queue(), bench.queue()]
        for queue, commands in zip(queues, lists, strict=True):
            function = ze.zeCommandQueueExecuteCommandLists
            expect(function(queue, 1, handles(close_list(commands)), None))
        for queue in queues:
            expect(ze.zeCommandQueueSynchronize(queue, FOREVER))
        compare(out, data)
        bench.close()

    def lose(self, chance: random.Random) -> None:
        """A context that is lost, by a copy or by a kernel, and destroyed with all it had."""
        bench = self._bench()
        commands = bench.immediate()
        other = bench.immediate()
        never = bench.event()
        barrier(other, waits=[never])
        if chance.random() < 0.5:
            ze.zeCommandListAppendMemoryCopy(commands, bench.local(64), 4096, 64, None, 0, None)
        else:
            kernel = bench.kernel_in(bench.module_of(self.binary), "first", size=(8, 1, 1))
            for place in range(2):
                nowhere = ctypes.byref(ctypes.c_void_p(4096))
                expect(ze.zeKernelSetArgumentValue(kernel, place, 8, nowhere))
            groups = ctypes.byref(ze.ze_group_count_t(chance.choice((1, 64)), 1, 1))
            ze.zeCommandListAppendLaunchKernel(commands, kernel, groups, None, 0, None)
        result = ze.zeCommandListHostSynchronize(commands, FOREVER)
        if result != ze.ZE_RESULT_ERROR_DEVICE_LOST:
            raise AssertionError(f"the context was not lost: {ze.ze_result_t(result).name}")
        expect(ze.zeContextDestroy(bench.context))

    def share(self, chance: random.Random) -> None:
        """Memory and an event that another process uses until it is killed."""
        bench = self._bench()
        memory = view(bench.local(4096 * 2), 4096 * 2)
        memory[:] = 7
        pool = bench.pool(1, ze.ZE_EVENT_POOL_FLAG_IPC)
        shared, events = (
            processes.memory_handle(bench, address(memory)),
            processes.pool_handle(pool),
        )
        peer = processes.start(PEER, shared, events)
        try:
            if processes.line(peer) != "ready":
                raise AssertionError("the other process did not start")
            time.sleep(chance.random() * 0.2)
        finally:
            peer.kill()
            peer.communicate()
        compare(memory[4096:], np.full(4096, 7, np.uint8))
        if memory[0] not in (6, 7):
            raise AssertionError(f"the other process has written {memory[0]}")
        event = bench.event_in(pool, 0)
        expect(ze.zeEventHostSignal(event))
        expect(ze.zeEventHostSynchronize(event, FOREVER))
        bench.close()


def expect(result: int) -> None:
    if result != ze.ZE_RESULT_SUCCESS:
        raise AssertionError(ze.ze_result_t(result).name)


def compare(found: Any, expected: Any) -> None:
    different = np.nonzero(found != expected)[0]
    if len(different):
        at = int(different[0])
        raise AssertionError(f"[{at}] is {found[at]}, not {expected[at]} ({len(different)} wrong)")


def devices() -> tuple[int, int]:
    one, driver, device = ctypes.c_uint32(1), ctypes.c_void_p(), ctypes.c_void_p()
    expect(ze.zeInit(0))
    expect(ze.zeDriverGet(ctypes.byref(one), ctypes.byref(driver)))
    expect(ze.zeDeviceGet(driver, ctypes.byref(one), ctypes.byref(device)))
    assert driver.value
    assert device.value
    return driver.value, device.value


def shown(values: Figures) -> str:
    return (
        f"{values.resident_bytes >> 20} MiB resident, {values.descriptors} descriptors, "
        f"{values.threads} threads, {values.objects} objects"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.stress.soak", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    args = parser.parse_args()
    os.environ.setdefault("GROUNDSTATE_KERNEL_LIMIT", LIMIT)
    soak = Soak(*devices(), args.seed)
    soak.run(60 * args.minutes * WARM_UP_SHARE)
    before = figures()
    soak.run(60 * args.minutes * (1 - WARM_UP_SHARE))
    after = figures()
    wrong = soak.wrong or before.growth_to(after)
    if args.json:
        said = {"rounds": soak.rounds, "before": asdict(before), "after": asdict(after)}
        print(json.dumps(said | {"wrong": wrong}, indent=2))
    else:
        print(", ".join(f"{count} x {kind}" for kind, count in sorted(soak.rounds.items())))
        print(f"after a while: {shown(before)}")
        print(f"at the end:    {shown(after)}")
        print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
