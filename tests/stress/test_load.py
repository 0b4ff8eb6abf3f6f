"""Load from Python: many threads on shared queues, objects that come and go, starting at once."""

import ctypes
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from signal import SIGINT, SIGTERM

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check
from tests.driver.support import FOREVER, Bench, address, barrier, copy, finish, is_signalled
from tests.imports import IMPORT_PATH

THREADS, QUEUES, COPIES, RING, BLOCK = 8, 4, 1000, 32, 3000


@pytest.fixture
def bench(driver: int, device: int) -> "Bench":
    return Bench(driver, device)


def on_threads(count: int, body: Callable[[int], None]) -> None:
    """Runs `body(number)` on threads at once; the first failure is raised."""
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            body(number)
        except BaseException as problem:
            failures.append(problem)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_nothing_is_lost_across_queues(bench: Bench) -> None:
    """Each thread passes blocks along a chain whose links are on queues chosen by chance."""
    lists = [bench.immediate() for _ in range(QUEUES)]
    locks = [threading.Lock() for _ in range(QUEUES)]

    def work(number: int) -> None:
        chance = random.Random(number)
        blocks = bench.bytes(RING * BLOCK, fill=0).reshape(RING, BLOCK)
        events = bench.events(RING)
        for chain in range(COPIES // RING):
            blocks[0] = np.random.default_rng(chance.randrange(2**32)).integers(
                0, 256, BLOCK, np.uint8
            )
            for event in events:
                check(ze.zeEventHostReset(event))
            for to in range(1, RING):
                queue = chance.randrange(QUEUES)
                with locks[queue]:
                    copy(
                        lists[queue],
                        address(blocks[to]),
                        address(blocks[to - 1]),
                        BLOCK,
                        signal=events[to],
                        waits=[events[to - 1]],
                    )
            check(ze.zeEventHostSignal(events[0]))
            check(ze.zeEventHostSynchronize(events[-1], FOREVER))
            assert (blocks == blocks[0]).all(), chain
            blocks[1:] = 0

    on_threads(THREADS, work)
    bench.close()


def test_threads_with_objects_of_their_own(driver: int, device: int) -> None:
    def work(number: int) -> None:
        for _ in range(30):
            bench = Bench(driver, device)
            source, target = bench.random_bytes(50_000, number), bench.bytes(50_000, fill=0)
            event = bench.event()
            commands = bench.immediate(in_order=True)
            copy(commands, address(target), address(source), 50_000, signal=event)
            barrier(commands, waits=[event])
            finish(commands)
            assert np.array_equal(source, target)
            assert is_signalled(event)
            bench.close()

    on_threads(THREADS, work)


def test_many_threads_start_the_driver_at_once() -> None:
    program = f"""
import sys, threading
sys.path[:0] = {IMPORT_PATH!r}
from groundstate import ze
from tests.conftest import first_driver
line, seen = threading.Barrier(32), []
def start():
    line.wait()
    seen.append((ze.zeInit(0), first_driver()))
threads = [threading.Thread(target=start) for _ in range(32)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(seen) == 32 and len(set(seen)) == 1 and seen[0][0] == 0, seen
"""
    for _ in range(3):
        child = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False
        )
        assert child.returncode == 0, child.stderr


def test_hundreds_of_queues_at_once(bench: Bench) -> None:
    """More queues than anyone has threads for, all blocked, then all released."""
    go = bench.event()
    counter = bench.bytes(300, fill=0)
    one = bench.bytes(1, fill=1)
    lists = [bench.immediate() for _ in range(300)]
    for number, commands in enumerate(lists):
        copy(commands, address(counter, number), address(one), 1, waits=[go])
    assert not counter.any()
    check(ze.zeEventHostSignal(go))
    for commands in lists:
        finish(commands)
    assert counter.all()
    bench.close()


def test_python_threads_wait_while_others_signal(bench: Bench) -> None:
    """A ring of threads, each waiting for the one before without holding up the interpreter."""
    events = bench.events(50)
    order: list[int] = []

    def pass_on(number: int) -> None:
        check(ze.zeEventHostSynchronize(events[number], FOREVER))
        order.append(number)
        if number + 1 < len(events):
            check(ze.zeEventHostSignal(events[number + 1]))

    def body(number: int) -> None:
        if number == 50:
            check(ze.zeEventHostSignal(events[0]))
        else:
            pass_on(number)

    on_threads(51, body)
    assert order == list(range(50))
    bench.close()


def test_threads_of_the_driver_take_no_signals(bench: Bench) -> None:
    """Handlers of the program run on the program's threads."""
    barrier(bench.immediate(), waits=[bench.event()])
    masks = []
    for task in Path("/proc/self/task").iterdir():
        try:
            name, status = (task / "comm").read_text(), (task / "status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # a thread that ended meanwhile
        if name.startswith("gs-"):
            blocked = next(line for line in status.splitlines() if line.startswith("SigBlk"))
            masks.append(int(blocked.split()[1], 16))
    assert masks, "the blocked list has an engine"
    assert all(mask & 1 << (number - 1) for mask in masks for number in (SIGINT, SIGTERM))
    bench.close()


def test_memory_does_not_grow(driver: int, device: int) -> None:
    """Python's half too: properties, failures and objects leave nothing behind."""
    properties = ze.ze_device_properties_t()
    pointer = ctypes.c_void_p()

    def turn() -> None:
        bench = Bench(driver, device)
        check(ze.zeDeviceGetProperties(device, ctypes.byref(properties)))
        ze.zeVirtualMemReserve(bench.context, None, 100, ctypes.byref(pointer))
        check(ze.zeVirtualMemReserve(bench.context, None, 4096, ctypes.byref(pointer)))
        check(ze.zeVirtualMemFree(bench.context, pointer, 4096))
        bench.close()

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4

    for _ in range(500):
        turn()
    before = resident()
    for _ in range(3000):
        turn()
    assert resident() - before < 2048, "KiB more"
