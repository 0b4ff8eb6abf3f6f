"""Freeing: what is refused, and memory that the device still uses."""

import ctypes
import threading

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.support import (
    FOREVER,
    Bench,
    address,
    barrier,
    copy,
    fill,
    finish,
    in_another_thread,
    view,
)

INVALID = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
BLOCKING = ze.ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE
DEFERRED = ze.ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE


def free(bench: Bench, pointer: int, policy: int | None = None) -> int:
    if policy is None:
        return int(ze.zeMemFree(bench.context, pointer))
    description = ze.ze_memory_free_ext_desc_t(freePolicy=policy)
    return int(ze.zeMemFreeExt(bench.context, ctypes.byref(description), pointer))


def is_known(bench: Bench, pointer: int) -> bool:
    return bool(ze.zeMemGetAddressRange(bench.context, pointer, None, None) == ze.ZE_RESULT_SUCCESS)


@pytest.mark.parametrize("policy", [None, 0, BLOCKING, DEFERRED])
def test_freed_memory_is_unknown_and_refuses_free(bench: Bench, policy: int | None) -> None:
    pointer = bench.forget(bench.local(5000))
    check(free(bench, pointer, policy))
    assert not is_known(bench, pointer)
    assert free(bench, pointer, policy) == INVALID
    assert "zeMemFree" in last_error()


@pytest.mark.parametrize("policy", [None, 0, BLOCKING, DEFERRED])
def test_free_takes_only_start_of_allocation(
    bench: Bench, driver: int, device: int, policy: int | None
) -> None:
    pointer = bench.host(5000)
    other = Bench(driver, device)
    ordinary = np.zeros(100, np.uint8)
    for wrong in (pointer + 1, pointer + 4096, address(ordinary), 8, 2**64 - 4096):
        assert free(bench, wrong, policy) == INVALID
        assert "zeMemFree" in last_error()
    assert free(other, pointer, policy) == INVALID, "another context's memory"
    assert is_known(bench, pointer)
    other.close()


@pytest.mark.parametrize("policy", [None, DEFERRED])
def test_freed_memory_lives_until_queue_is_done(bench: Bench, policy: int | None) -> None:
    """The call returns at once; the copy then reads what was in the memory."""
    size = 1 << 20
    source = view(bench.forget(bench.host(size)), size)
    source[:] = np.random.default_rng(2).integers(0, 256, size, np.uint8)
    expected = source.copy()
    target = bench.bytes(size, fill=0)
    go = bench.event()
    commands = bench.immediate()
    copy(commands, address(target), address(source), size, waits=[go])
    check(free(bench, address(source), policy))
    for _ in range(20):
        view(bench.host(size), size)[:] = 0xFF
    check(ze.zeEventHostSignal(go))
    finish(commands)
    assert np.array_equal(target, expected)


def test_freed_memory_in_use_is_not_handed_out(bench: Bench) -> None:
    size = 4096
    pointer = bench.forget(bench.local(size))
    go = bench.event()
    commands = bench.immediate()
    fill(commands, pointer, b"\xee", size, waits=[go])
    check(free(bench, pointer))
    others = [view(bench.local(size), size) for _ in range(50)]
    for other in others:
        other[:] = 1
    check(ze.zeEventHostSignal(go))
    finish(commands)
    assert all((other == 1).all() for other in others)


def test_blocking_free_waits_for_queue(bench: Bench) -> None:
    size = 1 << 20
    source, target = bench.random_bytes(size), bench.bytes(size, fill=0)
    expected = source.copy()
    pointer = bench.forget(address(source))
    go = bench.event()
    commands = bench.immediate()
    copy(commands, address(target), pointer, size, waits=[go])
    finished = threading.Event()

    def free_it() -> None:
        check(free(bench, pointer, BLOCKING))
        assert np.array_equal(target, expected)
        finished.set()

    with in_another_thread(free_it):
        assert not finished.wait(0.02)
        check(ze.zeEventHostSignal(go))
    assert finished.is_set()


def test_free_ignores_queues_of_other_contexts(bench: Bench, driver: int, device: int) -> None:
    other = Bench(driver, device)
    go = other.event()
    commands = other.immediate()
    barrier(commands, waits=[go])
    pointer = bench.forget(bench.host(4096))
    check(free(bench, pointer, BLOCKING))
    assert ze.zeCommandListHostSynchronize(commands, 0) == ze.ZE_RESULT_NOT_READY
    check(ze.zeEventHostSignal(go))
    check(ze.zeCommandListHostSynchronize(commands, FOREVER))
    other.close()


def test_both_free_policies_are_refused_or_safe(bench: Bench) -> None:
    pointer = bench.forget(bench.host(4096))
    result = free(bench, pointer, BLOCKING | DEFERRED)
    if result != ze.ZE_RESULT_SUCCESS:
        assert "zeMemFreeExt" in last_error()
        check(free(bench, pointer))
    assert not is_known(bench, pointer)


def test_freed_memory_returns_to_device(bench: Bench) -> None:
    """Allocated and freed, many times the device's memory passes through."""
    properties = ze.ze_device_properties_t()
    check(ze.zeDeviceGetProperties(bench.device, ctypes.byref(properties)))
    size = properties.maxMemAllocSize // 2
    for _ in range(20):
        bench.end(bench.local(size))


def test_a_context_takes_its_memory_with_it(driver: int, device: int) -> None:
    """Memory that was never freed goes with the context, and its device has it back."""
    properties = ze.ze_device_properties_t()
    check(ze.zeDeviceGetProperties(device, ctypes.byref(properties)))
    for _ in range(5):
        bench = Bench(driver, device)
        bench.forget(bench.local(properties.maxMemAllocSize // 2))
        bench.forget(bench.host(4096))
        bench.close()


@pytest.mark.plain_mode
@pytest.mark.parametrize("size", [4096, 1 << 20, 40_000_000])
def test_memory_that_was_freed_is_used_again(bench: Bench, size: int) -> None:
    first = bench.forget(bench.local(size))
    check(free(bench, first))
    assert bench.local(size) == first


@pytest.mark.parametrize("size", [1 << 20, 40_000_000, 300 << 20])
def test_memory_behind_allocation_is_readable(bench: Bench, size: int) -> None:
    end = bench.local(size) + size
    assert len(ctypes.string_at(end, 4096)) == 4096
