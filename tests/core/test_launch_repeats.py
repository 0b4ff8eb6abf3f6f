"""Launches that repeat the one before, which are made without looking at each argument again."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import groundstate as gs

SOURCE = """
kernel void add(global int *a, int by) { a[get_global_id(0)] += by; }
kernel void add_two(global int *a, int2 by) { a[0] += by.x; a[1] += by.y; }
"""


@pytest.fixture
def context() -> Iterator[gs.Context]:
    with gs.Context(gs.devices()[0]) as made:
        yield made


@pytest.fixture
def commands(context: gs.Context) -> Iterator[gs.CommandList]:
    with gs.CommandList.immediate(context, in_order=True) as made:
        yield made


@pytest.fixture
def add(context: gs.Context) -> Iterator[gs.Kernel]:
    with gs.Module(context, opencl=SOURCE) as module:
        kernel = module["add"]
        yield kernel
        kernel.close()


def zeros(context: gs.Context, length: int = 8) -> gs.Memory:
    memory = context.alloc_shared(length, "int32")
    memory.numpy()[:] = 0
    return memory


def repeat(kernel: gs.Kernel, commands: gs.CommandList, *given: Any, times: int = 3) -> None:
    for _ in range(times):
        kernel(commands, *given)


def test_repeated_launches_all_run(
    context: gs.Context, commands: gs.CommandList, add: gs.Kernel
) -> None:
    memory = zeros(context)
    repeat(add, commands, 2, 4, memory, 1, times=10)
    commands.synchronize()
    assert add._state.last is not None
    assert memory.tolist() == [10] * 8


@pytest.mark.parametrize("by", [5, np.int32(5), True])
def test_changed_number_is_set_again(
    context: gs.Context, commands: gs.CommandList, add: gs.Kernel, by: Any
) -> None:
    memory = zeros(context, 4)
    repeat(add, commands, 1, 4, memory, by)
    repeat(add, commands, 1, 4, memory, 100)
    repeat(add, commands, 1, 4, memory, by)
    commands.synchronize()
    assert memory.tolist() == [6 * int(by) + 300] * 4


def test_changed_grid_and_group_are_set_again(
    context: gs.Context, commands: gs.CommandList, add: gs.Kernel
) -> None:
    memory = zeros(context, 8)
    repeat(add, commands, (1,), (2,), memory, 1)
    repeat(add, commands, (2,), (2,), memory, 1)
    repeat(add, commands, (2,), (4,), memory, 1)
    add.group_size = 1
    repeat(add, commands, (2,), (4,), memory, 1)
    commands.synchronize()
    assert memory.tolist() == [12, 12, 9, 9, 6, 6, 6, 6]


def test_changed_offset_is_set_again(
    context: gs.Context, commands: gs.CommandList, add: gs.Kernel
) -> None:
    memory = zeros(context, 4)
    repeat(add, commands, 1, 2, memory, 1)
    for _ in range(2):
        add(commands, 1, 2, memory, 1, offset=2)
    repeat(add, commands, 1, 2, memory, 1)
    commands.synchronize()
    assert memory.tolist() == [6, 6, 2, 2]


def test_parts_of_memory_are_told_apart(
    context: gs.Context, commands: gs.CommandList, add: gs.Kernel
) -> None:
    memory = zeros(context, 64)
    for place in range(64):  # each part takes the id of the one before it
        repeat(add, commands, 1, 1, memory[place : place + 1], place)
    commands.synchronize()
    assert memory.tolist() == [3 * place for place in range(64)]


def test_changed_content_of_argument_is_seen(context: gs.Context, commands: gs.CommandList) -> None:
    kernel = gs.Module(context, opencl=SOURCE)["add_two"]
    memory, by = zeros(context, 2), [1, 10]
    for _ in range(4):
        kernel(commands, 1, 1, memory, by)
        by[0] += 1
    commands.synchronize()
    assert memory.tolist() == [10, 40]


def test_repeated_launch_with_closed_memory_fails(
    context: gs.Context, commands: gs.CommandList, add: gs.Kernel
) -> None:
    memory = zeros(context)
    repeat(add, commands, 2, 4, memory, 1)
    memory.close()
    with pytest.raises(gs.ClosedError):
        add(commands, 2, 4, memory, 1)


def test_repeated_launch_on_closed_list_fails(context: gs.Context, add: gs.Kernel) -> None:
    memory = zeros(context)
    with gs.CommandList.immediate(context, in_order=True) as commands:
        repeat(add, commands, 2, 4, memory, 1)
    with pytest.raises(gs.ClosedError):
        add(commands, 2, 4, memory, 1)


def test_repeated_launch_of_closed_kernel_fails(
    context: gs.Context, commands: gs.CommandList, add: gs.Kernel
) -> None:
    memory = zeros(context)
    repeat(add, commands, 2, 4, memory, 1)
    held = weakref.ref(add.resource)
    add.close()
    commands.synchronize()
    assert held() is None
    with pytest.raises(gs.ClosedError):
        add(commands, 2, 4, memory, 1)


def test_repeated_launch_on_finished_list_fails(context: gs.Context, add: gs.Kernel) -> None:
    memory = zeros(context)
    with gs.CommandList(context) as commands:
        repeat(add, commands, 2, 4, memory, 1)
        commands.finish()
        with pytest.raises(gs.LevelZeroError, match="zeCommandListAppendLaunchKernel"):
            add(commands, 2, 4, memory, 1)


@pytest.mark.parametrize("way", ["close", "collect"])
def test_kernel_keeps_no_memory_alive(
    context: gs.Context, commands: gs.CommandList, add: gs.Kernel, way: str
) -> None:
    memory = context.alloc_device(8, "int32")
    repeat(add, commands, 2, 4, memory, 1)
    commands.synchronize()
    held = weakref.ref(memory.resource)
    if way == "close":
        memory.close()
    else:
        del memory
        gc.collect()
    assert held() is None


def test_repeated_launch_keeps_memory_until_it_ran(
    context: gs.Context, commands: gs.CommandList, add: gs.Kernel
) -> None:
    memory = context.alloc_device(8, "int32")
    repeat(add, commands, 2, 4, memory, 1)
    held = weakref.ref(memory.resource)
    memory.close()
    assert held() is not None
    commands.synchronize()
    assert held() is None


def test_threads_repeat_with_their_own_arguments(context: gs.Context, add: gs.Kernel) -> None:
    memories = [zeros(context, 4) for _ in range(4)]

    def work(number: int) -> None:
        with gs.CommandList.immediate(context, in_order=True) as mine:
            for turn in range(300):
                add(mine, 1, 4, memories[number], number + 1)
                if turn % 7 == 0:
                    mine.synchronize()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [memory.tolist() for memory in memories] == [[300 * (n + 1)] * 4 for n in range(4)]


def test_other_thread_changes_no_repetition(context: gs.Context, add: gs.Kernel) -> None:
    mine, other = zeros(context, 4), zeros(context, 4)
    ended = threading.Event()

    def interfere() -> None:
        with gs.CommandList.immediate(context, in_order=True) as commands:
            for _ in range(50):
                repeat(add, commands, 1, 4, other, 1000, times=2)
                ended.wait(0.001)

    thread, launches = threading.Thread(target=interfere), 0
    thread.start()
    with gs.CommandList.immediate(context, in_order=True) as commands:
        while thread.is_alive():
            repeat(add, commands, 1, 4, mine, 1, times=20)
            commands.synchronize()
            launches += 20
    assert (mine.tolist(), other.tolist()) == ([launches] * 4, [100_000] * 4)


def test_library_without_built_in_functions_launches(
    context: gs.Context, commands: gs.CommandList, add: gs.Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(context.api.__dict__, "built_in", None)
    memory = zeros(context)
    repeat(add, commands, 2, 4, memory, 1)
    commands.synchronize()
    assert memory.tolist() == [3] * 8
