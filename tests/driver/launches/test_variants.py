"""Variants of kernels: they are compiled while the program goes on, tried, and chosen."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from groundstate import ze
from groundstate.driver import native_kernel
from groundstate.driver.module import entry_point_of
from tests.conftest import check
from tests.driver import fake_compiler
from tests.driver.kernels import KernelBench, group_count, launch
from tests.driver.support import FOREVER, close_list, finish, submit

GROUPS = 64
SIZE = (8, 1, 1)
LAUNCHES = 3000
"""More than any decision takes."""
PATIENCE_NS = 10**10


@pytest.fixture
def varied(kernels: KernelBench, monkeypatch: pytest.MonkeyPatch) -> KernelBench:
    """A workbench whose kernels may have variants."""
    monkeypatch.setattr(fake_compiler, "VARIANTS", {"amble": "hurry", "hurry": "amble"})
    fake_compiler.preferred.clear()
    return kernels


class Launched:
    """A kernel that is launched again and again."""

    def __init__(self, bench: KernelBench, name: str, groups: int = GROUPS) -> None:
        self.visits = bench.array(groups, "uint32")
        self.module = bench.module(name)
        self.kernel = bench.kernel_in(self.module, name, self.visits, size=SIZE)
        self.commands = bench.immediate()
        self.groups = groups
        self.launches = 0

    @property
    def variants(self) -> tuple[int, int]:
        """How many there are, and which one is preferred."""
        return native_kernel.variants_of(entry_point_of(self.kernel).address, SIZE)

    def launch(self) -> None:
        launch(self.commands, self.kernel, self.groups)
        finish(self.commands)
        self.launches += 1
        assert (self.visits == self.launches).all()

    def until(self, is_done: Callable[[], bool]) -> None:
        while not is_done():
            assert self.launches < LAUNCHES
            self.launch()

    def until_variant(self) -> None:
        self.until(lambda: len(entry_point_of(self.kernel).variants.get(SIZE, ())) > 1)
        settle()


def settle() -> None:
    assert native_kernel.settle_requests(PATIENCE_NS)


class Slow:
    """A compiler of variants that waits until it is told to go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.began, self.goes_on = threading.Event(), threading.Event()
        self.was_unwanted: list[bool] = []
        self.quick = fake_compiler.Program.compile_meanwhile
        monkeypatch.setattr(fake_compiler.Program, "compile_meanwhile", self._compile)

    def _compile(
        self, name: str, size: native_kernel.Size, width: int, lock: object, is_unwanted: object
    ) -> fake_compiler.KernelCode:
        assert callable(is_unwanted)
        self.began.set()
        assert self.goes_on.wait(60)
        self.was_unwanted.append(is_unwanted())
        address = fake_compiler.LIBRARY.address(fake_compiler.VARIANTS[name])
        return fake_compiler.KernelCode(address, 0, 0, 0, None, False, (), b"", width)


@pytest.fixture
def slow(varied: KernelBench, monkeypatch: pytest.MonkeyPatch) -> Slow:
    return Slow(monkeypatch)


def test_faster_variant_is_preferred(varied: KernelBench) -> None:
    kernel = Launched(varied, "amble")
    kernel.until(lambda: kernel.variants == (2, 1))


def test_slower_variant_is_not_preferred(varied: KernelBench) -> None:
    kernel = Launched(varied, "hurry", groups=20_000)
    kernel.until_variant()
    for _ in range(200):
        kernel.launch()
    assert kernel.variants == (2, 0)


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_few_groups_are_tried_too(varied: KernelBench, groups: int) -> None:
    kernel = Launched(varied, "amble", groups)
    kernel.until(lambda: kernel.variants == (2, 1))


ON_ONE_CPU = """
import os
import numpy as np
import groundstate as gs

os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
BODY = "int i = get_global_id(0) * 7; p[i] = p[i + 6] * 0.5f + p[i];"
SOURCE = f"kernel void spread(global float *p) {{ {BODY} }}"
context = gs.Context(gs.devices()[0])
commands = gs.CommandList.immediate(context, in_order=True)
memory = context.alloc_device(7 << 14, np.float32)
kernel = gs.Module(context, opencl=SOURCE)["spread"]
cached = lambda: sum(len(files) for _, _, files in os.walk(os.environ["GROUNDSTATE_CACHE"]))
kernel(commands, (256, 1), (64, 1), memory)
commands.synchronize()
first = cached()
for _ in range(50_000):
    kernel(commands, (256, 1), (64, 1), memory)
    commands.synchronize()
    if cached() > first:
        break
print(cached() > first)
"""


@pytest.mark.needs_compiler
def test_kernels_without_loops_are_compared_on_one_cpu(tmp_path: Path) -> None:
    """Where one thread runs all of a launch, that counts as running, too."""
    command = [sys.executable, "-c", ON_ONE_CPU]
    environment = {
        **os.environ,
        "GROUNDSTATE_CACHE": str(tmp_path),
        "GROUNDSTATE_SHAPE": "measured",
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout == "True\n", done.stderr


def test_choice_is_remembered_once(varied: KernelBench) -> None:
    kernel = Launched(varied, "amble")
    kernel.until(lambda: bool(fake_compiler.preferred))
    for _ in range(100):
        kernel.launch()
    settle()
    assert fake_compiler.preferred == [("amble", SIZE, 1)]


def test_launches_go_on_while_variant_compiles(varied: KernelBench, slow: Slow) -> None:
    kernel = Launched(varied, "amble")
    kernel.until(slow.began.is_set)
    for _ in range(20):
        kernel.launch()
    assert kernel.variants == (1, 0)
    slow.goes_on.set()
    settle()
    assert kernel.variants[0] == 2
    kernel.launch()


def test_module_ends_while_variant_compiles(varied: KernelBench, slow: Slow) -> None:
    kernel = Launched(varied, "amble")
    kernel.until(slow.began.is_set)
    varied.end(kernel.kernel)
    varied.end(kernel.module)
    slow.goes_on.set()
    settle()
    assert slow.was_unwanted == [True]


def test_requests_of_ended_module_are_forgotten(varied: KernelBench, slow: Slow) -> None:
    first, second = Launched(varied, "amble"), Launched(varied, "amble")
    first.until(slow.began.is_set)
    for _ in range(100):
        second.launch()
    varied.end(second.kernel)
    varied.end(second.module)
    slow.goes_on.set()
    settle()
    assert slow.was_unwanted == [False]


def test_variant_that_fails_is_forgotten(
    varied: KernelBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def fail(self: object, name: str, *arguments: object) -> None:
        asked.append(name)
        raise fake_compiler.BuildError("error: out of luck")

    monkeypatch.setattr(fake_compiler.Program, "compile_meanwhile", fail)
    kernel = Launched(varied, "amble")
    kernel.until(lambda: bool(asked))
    settle()
    for _ in range(50):
        kernel.launch()
    assert (asked, kernel.variants) == (["amble"], (1, 0))


def test_threads_launch_while_variant_is_added(varied: KernelBench, slow: Slow) -> None:
    kernel = Launched(varied, "amble")
    threads, launches, ended = 4, 200, []

    def work() -> None:
        commands = varied.immediate()
        for each in range(launches):
            if each == launches // 4:
                slow.goes_on.set()
            launch(commands, kernel.kernel, GROUPS)
        finish(commands)
        ended.append(True)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    settle()
    assert len(ended) == threads
    assert (kernel.visits == threads * launches).all()
    assert kernel.variants[0] == 2


def test_closed_list_gets_variants(varied: KernelBench) -> None:
    kernel = Launched(varied, "amble")
    commands, queue = varied.list(), varied.queue()
    launch(commands, kernel.kernel, GROUPS)
    close_list(commands)
    runs = 0
    while kernel.variants != (2, 1):
        assert runs < LAUNCHES
        submit(queue, commands)
        check(ze.zeCommandQueueSynchronize(queue, FOREVER))
        runs += 1
    assert (kernel.visits == runs).all()


def test_cooperative_launch_runs_each_group_once(varied: KernelBench) -> None:
    kernel = Launched(varied, "amble", groups=1)
    kernel.until_variant()
    counts = ctypes.byref(group_count(1))
    for _ in range(20):
        check(
            ze.zeCommandListAppendLaunchCooperativeKernel(
                kernel.commands, kernel.kernel, counts, None, 0, None
            )
        )
        finish(kernel.commands)
    assert kernel.visits[0] == kernel.launches + 20


def test_indirect_launch_runs_each_group_once(varied: KernelBench) -> None:
    kernel = Launched(varied, "amble")
    kernel.until_variant()
    counts = varied.array(3, "uint32")
    counts[:] = GROUPS, 1, 1
    where = ctypes.cast(counts.ctypes.data, ctypes.POINTER(ze.ze_group_count_t))
    for _ in range(20):
        check(
            ze.zeCommandListAppendLaunchKernelIndirect(
                kernel.commands, kernel.kernel, where, None, 0, None
            )
        )
        finish(kernel.commands)
    assert (kernel.visits == kernel.launches + 20).all()


def test_fault_in_a_trial_costs_one_context(
    varied: KernelBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(fake_compiler.VARIANTS, "amble", "stumble")
    doomed = KernelBench(varied.driver, varied.device)
    kernel = Launched(doomed, "amble")
    result = ze.ZE_RESULT_SUCCESS
    for _ in range(LAUNCHES):
        counts = ctypes.byref(group_count(GROUPS))
        result = ze.zeCommandListAppendLaunchKernel(
            kernel.commands, kernel.kernel, counts, None, 0, None
        )
        if result == ze.ZE_RESULT_SUCCESS:
            result = ze.zeCommandListHostSynchronize(kernel.commands, FOREVER)
        if result != ze.ZE_RESULT_SUCCESS:
            break
    assert result == ze.ZE_RESULT_ERROR_DEVICE_LOST
    assert ze.zeContextGetStatus(varied.context) == ze.ZE_RESULT_SUCCESS
    settle()
    check(ze.zeContextDestroy(doomed.context))


def test_fork_waits_for_a_variant(varied: KernelBench, slow: Slow) -> None:
    kernel = Launched(varied, "amble")
    kernel.until(slow.began.is_set)
    finish(kernel.commands)
    threading.Timer(0.2, slow.goes_on.set).start()
    child = os.fork()
    if child == 0:
        pointer = ctypes.c_void_p()
        description = ze.ze_host_mem_alloc_desc_t()
        os._exit(
            int(
                ze.zeMemAllocHost(
                    varied.context, ctypes.byref(description), 64, 0, ctypes.byref(pointer)
                )
                != ze.ZE_RESULT_SUCCESS
            )
        )
    assert os.waitpid(child, 0)[1] == 0
    assert slow.was_unwanted == [False]
    kernel.launch()
    assert np.all(kernel.visits == kernel.launches)
