"""Fences: signalled by a submission, waited for and reset by the host."""

import ctypes

import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.support import (
    FOREVER,
    MILLISECOND,
    Bench,
    address,
    barrier,
    close_list,
    fill,
    finish_queue,
    handles,
    in_another_thread,
    submit,
)


def test_fence_signals_when_its_lists_have_run(bench: Bench) -> None:
    memory = bench.bytes(2, fill=0)
    go = bench.event()
    queue, first, second = bench.queue(), bench.list(), bench.list()
    fence = bench.fence(queue)
    fill(first, address(memory), b"\1", 1, waits=[go])
    fill(second, address(memory, 1), b"\1", 1)
    submit(queue, close_list(first), close_list(second), fence=fence)
    assert ze.zeFenceQueryStatus(fence) == ze.ZE_RESULT_NOT_READY
    assert ze.zeFenceHostSynchronize(fence, 0) == ze.ZE_RESULT_NOT_READY
    assert ze.zeFenceHostSynchronize(fence, MILLISECOND) == ze.ZE_RESULT_NOT_READY
    with in_another_thread(lambda: check(ze.zeEventHostSignal(go))):
        check(ze.zeFenceHostSynchronize(fence, FOREVER))
    check(ze.zeFenceQueryStatus(fence))
    assert memory.tolist() == [1, 1]


def test_fence_stays_signalled_until_reset(bench: Bench) -> None:
    queue, commands = bench.queue(), close_list(bench.list())
    fence = bench.fence(queue)
    for _ in range(3):
        submit(queue, commands, fence=fence)
        check(ze.zeFenceHostSynchronize(fence, FOREVER))
        check(ze.zeFenceHostSynchronize(fence, 0))
        check(ze.zeFenceReset(fence))
        assert ze.zeFenceQueryStatus(fence) == ze.ZE_RESULT_NOT_READY


@pytest.mark.parametrize(
    ("flags", "result"),
    [(0, ze.ZE_RESULT_NOT_READY), (ze.ZE_FENCE_FLAG_SIGNALED, ze.ZE_RESULT_SUCCESS)],
)
def test_a_fence_begins_as_its_flag_says(bench: Bench, flags: int, result: int) -> None:
    fence = bench.fence(bench.queue(), flags)
    assert ze.zeFenceQueryStatus(fence) == result
    assert ze.zeFenceHostSynchronize(fence, 0) == result


def test_fence_covers_own_and_earlier_submissions(bench: Bench) -> None:
    go, later = bench.events(2)
    queue = bench.queue()
    first, second = bench.list(), bench.list()
    barrier(first, waits=[go])
    barrier(second, waits=[later])
    fence = bench.fence(queue)
    submit(queue, close_list(first), fence=fence)
    submit(queue, close_list(second))
    check(ze.zeEventHostSignal(go))
    check(ze.zeFenceHostSynchronize(fence, FOREVER))
    assert ze.zeCommandQueueSynchronize(queue, 0) == ze.ZE_RESULT_NOT_READY


def test_a_fence_of_another_queue_is_refused(bench: Bench) -> None:
    queue, other = bench.queue(), bench.queue()
    fence = bench.fence(other)
    commands = close_list(bench.list())
    result = ze.zeCommandQueueExecuteCommandLists(queue, 1, handles(commands), fence)
    assert result == ze.ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT
    assert "zeCommandQueueExecuteCommandLists" in last_error()
    assert ze.zeFenceQueryStatus(fence) == ze.ZE_RESULT_NOT_READY


def test_submission_outlives_its_fence(bench: Bench) -> None:
    go = bench.event()
    queue, commands = bench.queue(), bench.list()
    barrier(commands, waits=[go])
    fence = bench.fence(queue)
    submit(queue, close_list(commands), fence=fence)
    bench.end(fence)
    assert ze.zeFenceQueryStatus(fence) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    check(ze.zeEventHostSignal(go))
    finish_queue(queue)


def test_fence_outlives_its_queue(bench: Bench) -> None:
    go = bench.event()
    queue, commands = bench.queue(), bench.list()
    barrier(commands, waits=[go])
    fence = bench.fence(queue)
    submit(queue, close_list(commands), fence=fence)
    bench.end(queue)
    assert ze.zeFenceQueryStatus(fence) == ze.ZE_RESULT_NOT_READY
    check(ze.zeEventHostSignal(go))
    check(ze.zeFenceHostSynchronize(fence, FOREVER))


def test_fence_may_be_destroyed_once_signalled(bench: Bench) -> None:
    queue, commands = bench.queue(), close_list(bench.list())
    for _ in range(200):
        fence = ctypes.c_void_p()
        description = ze.ze_fence_desc_t()
        check(ze.zeFenceCreate(queue, ctypes.byref(description), ctypes.byref(fence)))
        submit(queue, commands, fence=fence.value)
        check(ze.zeFenceHostSynchronize(fence, FOREVER))
        check(ze.zeFenceDestroy(fence))


def test_a_fence_outlives_its_queue(bench: Bench) -> None:
    """Destroying in the wrong order is the program's mistake, and must not crash it."""
    queue = bench.queue()
    fence = bench.fence(queue)
    bench.end(queue)
    assert ze.zeFenceQueryStatus(fence) == ze.ZE_RESULT_NOT_READY
