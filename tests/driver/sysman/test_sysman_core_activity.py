"""Engine activity against what the events of the same work say."""

import ctypes
import time
from typing import Any

import numpy as np
import pytest

from groundstate import ze, zes
from groundstate.driver.sysman import activity as pages
from tests.conftest import check
from tests.driver.kernels import KernelBench, launch
from tests.driver.support import Bench, address, copy, finish
from tests.driver.sysman.sysman import activity, busy, engines

ALL = zes.ZES_ENGINE_GROUP_ALL
COMPUTE = zes.ZES_ENGINE_GROUP_COMPUTE_ALL
COPY = zes.ZES_ENGINE_GROUP_COPY_ALL
SINGLE = zes.ZES_ENGINE_GROUP_COMPUTE_SINGLE

RIGHT = 0.03


pytestmark = pytest.mark.usefixtures("alone")


class Load:
    """A kernel that runs on so many workers until it is told to stop."""

    def __init__(self, bench: KernelBench, workers: int = 1) -> None:
        self._bench = bench
        self._workers = workers
        self._flag = bench.array(1, "uint32")
        self._kernel = bench.kernel("spin", self._flag, size=(1, 1, 1))
        self._commands = bench.immediate()
        self._event = bench.event(ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP)
        # What the first launch of a process prepares is not what is measured here.
        launch(self._commands, bench.kernel("empty", size=(1, 1, 1)), 1)
        finish(self._commands)

    def start(self) -> None:
        self._flag[0] = 0
        check(ze.zeEventHostReset(self._event))
        launch(self._commands, self._kernel, self._workers, signal=self._event)

    def stop(self) -> float:
        """Ends it; the microseconds that it ran for, by its event."""
        self._flag[0] = 1
        finish(self._commands)
        stamps = ze.ze_kernel_timestamp_result_t()
        check(ze.zeEventQueryKernelTimestamp(self._event, ctypes.byref(stamps)))
        return (stamps.global_.kernelEnd - stamps.global_.kernelStart) / 1000


def worker_count(device: int) -> int:
    return len(engines(device, SINGLE))


def test_one_worker_that_is_busy_half_of_the_time(kernels: KernelBench, sysman: int) -> None:
    load, engine = Load(kernels), engines(sysman, ALL)[0]
    before = activity(engine)
    ran = 0.0
    for _ in range(10):
        load.start()
        time.sleep(0.015)
        ran += load.stop()
        time.sleep(0.015)
    after = activity(engine)
    share = (after[0] - before[0]) / (after[1] - before[1])
    expected = ran / worker_count(sysman) / (after[1] - before[1])
    assert share == pytest.approx(expected, rel=RIGHT)


def test_the_groups_agree_about_the_same_load(kernels: KernelBench, sysman: int) -> None:
    load = Load(kernels)
    single, others = engines(sysman, SINGLE)[0], engines(sysman, SINGLE)[1:]
    before = {group: busy(sysman, group) for group in (ALL, COMPUTE, COPY)}
    of_single, of_others = activity(single)[0], [activity(engine)[0] for engine in others]
    load.start()
    time.sleep(0.03)
    ran = load.stop()
    workers = worker_count(sysman)
    for group in (ALL, COMPUTE):
        assert (busy(sysman, group) - before[group]) * workers == pytest.approx(ran, rel=RIGHT)
    assert busy(sysman, COPY) == before[COPY]
    assert activity(single)[0] - of_single == pytest.approx(ran, rel=RIGHT)
    assert [activity(engine)[0] for engine in others] == of_others


def test_a_kernel_counts_while_it_runs(kernels: KernelBench, sysman: int) -> None:
    load, engine = Load(kernels), engines(sysman, SINGLE)[0]
    idle = activity(engine)
    load.start()
    while activity(engine)[0] == idle[0]:
        time.sleep(0.001)
    before = activity(engine)
    time.sleep(0.03)
    after = activity(engine)
    load.stop()
    assert after[0] - before[0] == pytest.approx(after[1] - before[1], rel=RIGHT)
    rest = activity(engine)
    time.sleep(0.01)
    assert activity(engine)[0] == rest[0]


def test_all_workers_are_busy(kernels: KernelBench, sysman: int) -> None:
    singles, everything = engines(sysman, SINGLE), engines(sysman, ALL)[0]
    load = Load(kernels, len(singles))
    idle = activity(singles[-1])
    load.start()
    while activity(singles[-1])[0] == idle[0]:  # until the last worker has come
        time.sleep(0.001)
    before = [activity(engine) for engine in (*singles, everything)]
    time.sleep(0.03)
    after = [activity(engine) for engine in (*singles, everything)]
    load.stop()
    for first, last in zip(before, after, strict=True):
        assert last[0] - first[0] == pytest.approx(last[1] - first[1], rel=RIGHT)


def test_copy_queues_are_counted_separately(bench: Bench, sysman: int) -> None:
    source, target = bench.bytes(8 << 20, fill=7), bench.bytes(8 << 20, fill=0)
    commands = bench.immediate(ordinal=1)
    before = {group: busy(sysman, group) for group in (ALL, COMPUTE, COPY)}
    for _ in range(10):
        copy(commands, address(target), address(source), target.size)
    finish(commands)
    assert np.array_equal(source, target)
    after = {group: busy(sysman, group) - before[group] for group in (ALL, COMPUTE, COPY)}
    assert after[COPY] > 0
    assert after[COMPUTE] <= 1
    assert after[ALL] == pytest.approx(after[COPY], abs=1)
    commands, computed = bench.immediate(), busy(sysman, COMPUTE)
    copy(commands, address(target), address(source), target.size)
    finish(commands)
    assert busy(sysman, COMPUTE) > computed
    assert busy(sysman, COPY) == before[COPY] + after[COPY]


def test_short_launches_add_up(kernels: KernelBench, sysman: int) -> None:
    """Also those that run on the thread that appends them."""
    commands, kernel = kernels.immediate(), kernels.kernel("empty", size=(1, 1, 1))
    before = busy(sysman, COMPUTE)
    for _ in range(2000):
        launch(commands, kernel, 1)
    finish(commands)
    assert busy(sysman, COMPUTE) > before


def test_activity_only_goes_up(kernels: KernelBench, sysman: int) -> None:
    load, all_engines = Load(kernels), engines(sysman, ALL) + engines(sysman, SINGLE)
    last = [(0, 0)] * len(all_engines)
    for round_number in range(40):
        if round_number % 4 == 0:
            load.start()
        now = [activity(engine) for engine in all_engines]
        if round_number % 4 == 2:
            load.stop()
        for old, new in zip(last, now, strict=True):
            assert new[0] >= old[0]
            assert new[1] >= old[1]
        last = now
    load.stop()


def test_virtual_function_activity_is_device_only(sysman: int) -> None:
    (engine,) = engines(sysman, ALL)
    count = ctypes.c_uint32()
    check(zes.zesEngineGetActivityExt(engine, ctypes.byref(count), None))
    assert count.value == 1
    stats: Any = (zes.zes_engine_stats_t * 2)()
    count.value = 2
    check(zes.zesEngineGetActivityExt(engine, ctypes.byref(count), stats))
    assert count.value == 1
    assert stats[0].timestamp > 0
    assert stats[1].timestamp == 0
    extended = zes.zes_engine_ext_properties_t(countOfVirtualFunctionInstance=7)
    properties = zes.zes_engine_properties_t(pNext=ctypes.addressof(extended))
    check(zes.zesEngineGetProperties(engine, ctypes.byref(properties)))
    assert extended.countOfVirtualFunctionInstance == 0


SECOND = 10**9
RUNS = 1 << 60
"""As in native/threads/meter.h."""


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ((3, 0), 3),
        ((RUNS - 4, 0), 6),
        ((2 * RUNS - 4 - 9, 0), 6 + 1),  # one that has left at 9 is held up before it says so
        ((2, 8 - RUNS), 2 - 2),  # one that begins at 8 is held up, and another has left
        ((RUNS - 2, 5 - RUNS), 3),
        ((11, 0), 11),  # a thread with an old clock: more than the clock says
        ((12, -3), 9),
        ((-3, 0), 0),
        ((30, 0), 20),  # more than two workers can
    ],
)
def test_words_of_threads_that_are_held_up_are_counted(
    monkeypatch: pytest.MonkeyPatch, words: tuple[int, int], seconds: int
) -> None:
    monkeypatch.setattr(pages.time, "monotonic_ns", lambda: 10 * SECOND)
    page, first = _page_of(*words)
    assert page.running_times(first, 2) == seconds * SECOND
    for place, word in enumerate(words):
        assert 0 <= page.running_times(first + place, 1) <= 10 * SECOND
        if 0 <= word <= 10:
            assert page.running_times(first + place, 1) == word * SECOND


def test_running_times_never_go_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that is held up while it leaves counts as working; then it says when it left."""
    monkeypatch.setattr(pages.time, "monotonic_ns", lambda: 10 * SECOND)
    page, first = _page_of(RUNS - 4, 0)
    assert page.running_times(first, 2) == 6 * SECOND
    page.words[first] = 3 * SECOND
    assert page.running_times(first, 2) == 6 * SECOND
    page.words[first] = 8 * SECOND
    assert page.running_times(first, 2) == 8 * SECOND


def _page_of(*words: int) -> tuple[pages.Page, int]:
    """A page with nothing but these words, in seconds, and where they begin."""
    head = pages.ActivityHead(magic=pages.ACTIVITY_MAGIC, used=pages.ACTIVITY_LINE)
    first = pages.ACTIVITY_LINE // 8
    memory = (ctypes.c_uint64 * (first + len(words)))()
    ctypes.memmove(memory, ctypes.byref(head), ctypes.sizeof(head))
    for place, word in enumerate(words):
        runs = (word + RUNS // 2) // RUNS
        memory[first + place] = (runs * RUNS + (word - runs * RUNS) * SECOND) % 2**64
    page = pages.Page(1, ctypes.addressof(memory), ctypes.sizeof(memory), keep=memory)
    return page, first


def test_counter_rate_is_bounded_by_workers() -> None:
    """Two processes that keep the same two workers busy do not make them four."""
    made = [_FakePage(0), _FakePage(0)]
    meter = pages.Meter(2, lambda page: page.busy)  # type: ignore[attr-defined]
    seen = pages.PROCESSES.pages
    pages.PROCESSES.pages = lambda: made  # type: ignore[assignment,method-assign,return-value]
    try:
        first = meter.read()
        for page in made:
            page.busy = 10**15
        second = meter.read()
        assert 0 < second[0] - first[0] <= 2 * (second[1] - first[1])
        del made[0]
        assert meter.read()[0] == second[0]
    finally:
        pages.PROCESSES.pages = seen  # type: ignore[method-assign]


class _FakePage:
    """A page with one number that a test sets."""

    def __init__(self, busy: int) -> None:
        self.busy = busy
        self.origin = time.monotonic_ns()
