"""A context that is lost does no more work, and sizes that cannot be right are refused at once.

Each of these commands is cut into so many parts that to walk them all would take hours.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterator

import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.graphs.graphs import append, instantiate, recorded
from tests.driver.kernels import KernelBench, group_count, launch
from tests.driver.support import (
    FOREVER,
    Bench,
    address,
    barrier,
    close_list,
    fill,
    finish,
    handles,
)

LOST = ze.ZE_RESULT_ERROR_DEVICE_LOST
INVALID_SIZE = ze.ZE_RESULT_ERROR_INVALID_SIZE
NOWHERE = 0x10
HUGE = 1 << 54


@pytest.fixture
def doomed(kernels: KernelBench) -> Iterator[KernelBench]:
    """A second workbench, of which only the context is destroyed in the end: it is lost by then."""
    bench = KernelBench(kernels.driver, kernels.device)
    yield bench
    assert ze.zeContextGetStatus(bench.context) == LOST
    check(ze.zeContextDestroy(bench.context))


def huge_fill(bench: KernelBench, commands: int) -> int:
    return int(ze.zeCommandListAppendMemoryFill(commands, NOWHERE, b"x", 1, HUGE, None, 0, None))


def huge_fill_of_a_pattern(bench: KernelBench, commands: int) -> int:
    return int(ze.zeCommandListAppendMemoryFill(commands, NOWHERE, b"abcd", 4, HUGE, None, 0, None))


def huge_copy(bench: KernelBench, commands: int) -> int:
    to = NOWHERE + HUGE
    return int(ze.zeCommandListAppendMemoryCopy(commands, to, NOWHERE, HUGE, None, 0, None))


def huge_region(bench: KernelBench, commands: int) -> int:
    region = ze.ze_copy_region_t(width=1 << 16, height=1 << 15, depth=1 << 23)
    of, pitches = ctypes.byref(region), (1 << 16, 1 << 31)
    where = (NOWHERE + HUGE, of, *pitches, NOWHERE, of, *pitches)
    return int(ze.zeCommandListAppendMemoryCopyRegion(commands, *where, None, 0, None))


def huge_launch(bench: KernelBench, commands: int) -> int:
    """What a group costs is known from a launch before, so that parts of the next are short."""
    kernel, before = bench.kernel("strike", 0, HUGE, NOWHERE), bench.immediate()
    launch(before, kernel, 1 << 16)
    finish(before)
    check(ze.zeKernelSetArgumentValue(kernel, 1, 8, (0).to_bytes(8, "little")))
    counts = ctypes.byref(group_count(1 << 31, 1 << 28))
    return int(ze.zeCommandListAppendLaunchKernel(commands, kernel, counts, None, 0, None))


Append = Callable[[KernelBench, int], int]
ALL = [huge_fill, huge_fill_of_a_pattern, huge_copy, huge_region, huge_launch]


@pytest.mark.parametrize("work", ALL)
def test_immediate_list_stops_at_first_fault(doomed: KernelBench, work: Append) -> None:
    commands = doomed.immediate()
    assert work(doomed, commands) in (ze.ZE_RESULT_SUCCESS, LOST)
    assert ze.zeCommandListHostSynchronize(commands, FOREVER) == LOST


@pytest.mark.parametrize("work", ALL)
def test_closed_list_stops_at_first_fault(doomed: KernelBench, work: Append) -> None:
    commands, queue = doomed.list(), doomed.queue()
    for _ in range(10):
        check(work(doomed, commands))
    lists = handles(close_list(commands))
    for _ in range(10):
        result = ze.zeCommandQueueExecuteCommandLists(queue, 1, lists, None)
        assert result in (ze.ZE_RESULT_SUCCESS, LOST)
    assert ze.zeCommandQueueSynchronize(queue, FOREVER) == LOST


@pytest.mark.parametrize("work", ALL)
def test_work_of_a_graph_stops_at_the_first_fault(doomed: KernelBench, work: Append) -> None:
    commands = doomed.immediate()
    with recorded(doomed, commands) as recording:
        check(work(doomed, commands))
    executable = instantiate(doomed, recording.graph)
    for _ in range(10):
        assert append(commands, executable) in (ze.ZE_RESULT_SUCCESS, LOST)
    assert ze.zeCommandListHostSynchronize(commands, FOREVER) == LOST


def test_commands_of_lost_context_do_not_wait(doomed: KernelBench) -> None:
    """Each would look up only after a twentieth of a second, so all of them after hours."""
    never, commands, queue = doomed.event(), doomed.list(), doomed.queue()
    check(huge_fill(doomed, commands))
    for _ in range(200_000):
        barrier(commands, waits=[never])
    lists = handles(close_list(commands))
    result = ze.zeCommandQueueExecuteCommandLists(queue, 1, lists, None)
    assert result in (ze.ZE_RESULT_SUCCESS, LOST)
    assert ze.zeCommandQueueSynchronize(queue, FOREVER) == LOST


def test_context_destroy_while_its_work_stops(kernels: KernelBench) -> None:
    bench = KernelBench(kernels.driver, kernels.device)
    assert huge_fill(bench, bench.immediate()) in (ze.ZE_RESULT_SUCCESS, LOST)
    check(ze.zeContextDestroy(bench.context))


# --- Sizes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 100, 101, 1 << 46, 1 << 62, 2**64 - 1])
@pytest.mark.parametrize("kind", ["host", "local", "shared"])
def test_size_beyond_an_allocation_is_refused(bench: Bench, kind: str, size: int) -> None:
    """Also by one byte, although the rest of the last page belongs to nobody else."""
    memory, other = getattr(bench, kind)(100), bench.host(200)
    for commands in (bench.immediate(), bench.list()):
        results = [
            ze.zeCommandListAppendMemoryFill(commands, memory + 50, b"x", 1, size, None, 0, None),
            ze.zeCommandListAppendMemoryCopy(commands, memory + 50, other, size, None, 0, None),
            ze.zeCommandListAppendMemoryCopy(commands, other, memory + 50, size, None, 0, None),
            ze.zeCommandListAppendMemoryPrefetch(commands, memory + 50, size),
        ]
        assert results == [0 if size <= 50 else INVALID_SIZE] * 4
    assert size <= 50 or "zeCommandListAppendMemoryPrefetch" in last_error()


def test_pointer_behind_an_allocation_is_refused(bench: Bench) -> None:
    commands, memory = bench.immediate(), bench.host(100)
    behind = memory + 101
    assert behind % mmap.PAGESIZE
    result = ze.zeCommandListAppendMemoryFill(commands, behind, b"x", 1, 1, None, 0, None)
    assert result == INVALID_SIZE


def test_range_that_wraps_around_is_refused(bench: Bench) -> None:
    """Memory of the program is not known, but it ends where addresses do."""
    commands, own = bench.immediate(), ctypes.create_string_buffer(100)
    start, to_the_end = ctypes.addressof(own), 2**64 - ctypes.addressof(own)
    result = ze.zeCommandListAppendMemoryFill(commands, start, b"x", 1, to_the_end, None, 0, None)
    assert result == INVALID_SIZE
    fill(commands, start, b"x", 100)
    finish(commands)
    assert own.raw == b"x" * 100


@pytest.mark.parametrize("size", [1 << 56, 1 << 61])
def test_range_beyond_all_addresses_is_refused(bench: Bench, size: int) -> None:
    """AArch64 ignores the top byte of an address: the range would cover all memory many times."""
    commands = bench.immediate()
    fill = ze.zeCommandListAppendMemoryFill(commands, NOWHERE, b"x", 1, size, None, 0, None)
    tagged = size + NOWHERE
    copy = ze.zeCommandListAppendMemoryCopy(commands, tagged, NOWHERE, size, None, 0, None)
    assert [fill, copy] == [INVALID_SIZE] * 2
    assert "or of all memory" in last_error()


@pytest.mark.parametrize("offset", [None, 32, 1 << 46, 2**64 - 1])
def test_timestamps_beyond_allocation_are_refused(bench: Bench, offset: int | None) -> None:
    memory, commands = bench.bytes(63, fill=0), bench.immediate()
    timed = bench.events(2, ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP)
    offsets = None if offset is None else (ctypes.c_size_t * 2)(0, offset)
    result = ze.zeCommandListAppendQueryKernelTimestamps(
        commands, 2, handles(*timed), address(memory), offsets, None, 0, None
    )
    assert result == INVALID_SIZE
