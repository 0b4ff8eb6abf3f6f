"""Priorities of queues: on a busy device, work of higher priority goes first."""

import ctypes
import functools
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from groundstate import ze
from groundstate.compiler.opencl import frontend
from tests.conftest import check
from tests.driver.kernels import KernelBench, launch
from tests.driver.support import FOREVER, close_list, finish, finish_queue, submit

LOW = ze.ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW
NORMAL = ze.ZE_COMMAND_QUEUE_PRIORITY_NORMAL
HIGH = ze.ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH
BY_PRIORITY = (HIGH, NORMAL, LOW)
GROUPS = 4000

SOURCE = """
/* Each group takes a number. */
kernel void number(volatile global uint *next, global uint *numbers) {
    numbers[get_group_id(0)] = atomic_inc(next);
}

/* Something to do that takes a while; the result is never 1. */
uint work(uint from) {
    uint value = 2 * from;
    for (uint round = 0; round < 3000; round++)
        value = value * 1664525 + 2 * (value >> 16);
    return value;
}

/* The same, but after a quarter of them each says that it is there, and waits for the host. */
kernel void number_and_wait(volatile global uint *next, global uint *numbers,
                            volatile global uint *flags) {
    if (get_group_id(0) >= get_num_groups(0) / 4) {
        flags[0] = 1;
        while (flags[1] == 0) ;
    }
    if (work(get_group_id(0)) != 1)
        numbers[get_group_id(0)] = atomic_inc(next);
}

/* The same, but the first group waits for the host. */
kernel void wait_and_number(volatile global uint *next, global uint *numbers,
                            volatile global uint *flags) {
    if (get_group_id(0) == 0)
        while (flags[1] == 0) ;
    if (work(get_group_id(0)) != 1)
        numbers[get_group_id(0)] = atomic_inc(next);
}

/* Waits for the other kernel, which sets the flag. */
kernel void wait_for_flag(volatile global uint *flag) { while (flag[0] == 0) ; }
kernel void set_flag(volatile global uint *flag) { flag[0] = 1; }
"""
Numbers = npt.NDArray[np.uint32]


@functools.cache
def spirv() -> bytes:
    return frontend.compile_opencl(SOURCE)


@pytest.fixture
def real(driver: int, device: int) -> Iterator[KernelBench]:
    bench = KernelBench(driver, device)
    yield bench
    bench.close()


class Counter:
    """Kernels that number their groups in the order in which they run."""

    def __init__(self, bench: KernelBench) -> None:
        self.bench = bench
        self.module = bench.module_of(spirv())
        self.next = bench.array(1, "uint32")

    def kernel(self, groups: int, name: str = "number", *more: object) -> tuple[int, Numbers]:
        numbers = self.bench.array(groups, "uint32")
        size = (1, 1, 1)
        kernel = self.bench.kernel_in(self.module, name, self.next, numbers, *more, size=size)
        return kernel, numbers


def test_highest_priority_is_reported(device: int) -> None:
    properties = ze.ze_device_properties_t()
    check(ze.zeDeviceGetProperties(device, ctypes.byref(properties)))
    assert properties.maxCommandQueuePriority == 2


@pytest.mark.parametrize("groups", [1, 50])
@pytest.mark.parametrize("order", list(itertools.permutations(BY_PRIORITY)))
def test_waiting_immediate_lists_run_by_priority(
    real: KernelBench, order: tuple[int, ...], groups: int
) -> None:
    counter, go = Counter(real), real.event()
    lists = {priority: real.immediate(priority=priority) for priority in order}
    found = {}
    for priority, commands in lists.items():
        kernel, found[priority] = counter.kernel(groups)
        launch(commands, kernel, groups, waits=[go])
    check(ze.zeEventHostSignal(go))
    for commands in lists.values():
        finish(commands)
    high, normal, low = (found[priority] for priority in BY_PRIORITY)
    assert high.max() < normal.min()
    assert normal.max() < low.min()


def test_queue_runs_wholly_before_lower_priority(real: KernelBench) -> None:
    counter, go = Counter(real), real.event()
    queues = {priority: real.queue(priority=priority) for priority in (LOW, NORMAL, HIGH)}
    found: dict[int, list[Numbers]] = {priority: [] for priority in queues}
    for priority, queue in queues.items():
        for each in range(20):
            commands = real.list()
            kernel, numbers = counter.kernel(7)
            launch(commands, kernel, 7, waits=[] if each else [go])
            found[priority].append(numbers)
            submit(queue, close_list(commands))
    check(ze.zeEventHostSignal(go))
    for queue in queues.values():
        finish_queue(queue)
    high, normal, low = (np.concatenate(found[priority]) for priority in BY_PRIORITY)
    assert high.max() < normal.min()
    assert normal.max() < low.min()


@pytest.mark.parametrize(("lower", "higher"), [(LOW, NORMAL), (NORMAL, HIGH), (LOW, HIGH)])
def test_running_launch_yields_to_higher_priority(
    real: KernelBench, lower: int, higher: int
) -> None:
    """The rest of its groups waits until the other launch has ended."""
    counter, flags = Counter(real), real.array(2, "uint32")
    slow, late = counter.kernel(GROUPS, "number_and_wait", flags)
    fast, early = counter.kernel(GROUPS, "wait_and_number", flags)
    below, above = real.immediate(priority=lower), real.immediate(priority=higher)
    launch(below, slow, GROUPS)
    while flags[0] == 0:
        time.sleep(0.001)
    launch(above, fast, GROUPS)
    flags[1] = 1
    finish(below)
    finish(above)
    assert (late > early.max()).sum() >= GROUPS // 2
    assert len({*map(int, early), *map(int, late)}) == 2 * GROUPS


def test_queue_waiting_for_event_blocks_nobody(real: KernelBench) -> None:
    counter, go = Counter(real), real.event()
    waiting, numbers = counter.kernel(3)
    above, below = real.immediate(priority=HIGH), real.immediate(priority=LOW)
    launch(above, waiting, 3, waits=[go])
    other, before = counter.kernel(3)
    launch(below, other, 3)
    finish(below)
    check(ze.zeEventHostSignal(go))
    finish(above)
    assert before.max() < numbers.min()


@pytest.mark.parametrize("groups", [1, 64])
def test_kernel_may_wait_for_lower_priority_one(real: KernelBench, groups: int) -> None:
    """It waits in a loop, without an event, so that nobody knows what for."""
    module, flag = real.module_of(spirv()), real.array(1, "uint32")
    above, below = real.immediate(priority=HIGH), real.immediate(priority=LOW)
    launch(above, real.kernel_in(module, "wait_for_flag", flag, size=(1, 1, 1)), groups)
    launch(below, real.kernel_in(module, "set_flag", flag, size=(1, 1, 1)), groups)
    finish(above)
    finish(below)


def test_host_function_may_wait_for_low_priority(real: KernelBench) -> None:
    counter = Counter(real)
    kernel, numbers = counter.kernel(5)
    above, below = real.immediate(priority=HIGH), real.immediate(priority=LOW)
    done = real.event()

    def wait_for_low(_: int | None) -> None:
        check(ze.zeEventHostSynchronize(done, FOREVER))

    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(wait_for_low)
    check(ze.zeCommandListAppendHostFunction(above, callback, None, None, None, 0, None))
    launch(below, kernel, 5, signal=done)
    finish(above)
    finish(below)
    assert sorted(map(int, numbers)) == list(range(5))


ALONE = """
import sys
import pytest
options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "not one_cpu"]
sys.exit(pytest.main([*options, sys.argv[1]]))
"""


def test_order_is_the_same_on_one_cpu() -> None:
    environment = {**os.environ, "GROUNDSTATE_THREADS": "1"}
    for name in [each for each in environment if each.startswith("PYTEST_")]:
        del environment[name]
    done = subprocess.run(
        [sys.executable, "-c", ALONE, __file__],
        cwd=Path(__file__).parents[3],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
