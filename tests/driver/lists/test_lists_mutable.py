"""Mutable command lists: commands that are changed after their list was closed."""

import ctypes

import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.kernels import KernelBench, launch
from tests.driver.lists.mutable import (
    INVALID,
    KERNELS,
    argument,
    counts,
    mutable,
    next_id,
    run,
    update,
)
from tests.driver.support import (
    barrier,
    close_list,
    fill,
    finish_queue,
    handles,
    is_signalled,
    submit,
)


def test_a_list_knows_whether_it_is_mutable(kernels: KernelBench) -> None:
    answer = ctypes.c_uint8()
    for commands, expected in ((mutable(kernels), 1), (kernels.list(), 0)):
        check(ze.zeCommandListIsMutableExp(commands, ctypes.byref(answer)))
        assert answer.value == expected


def test_arguments_counts_sizes_offsets_change(kernels: KernelBench) -> None:
    first, second = (kernels.array(12) for _ in range(2))
    commands, queue = mutable(kernels), kernels.queue()
    command = next_id(commands)
    launch(commands, kernels.kernel("describe", first, size=(8, 4, 1)), 3, 2, 1)
    run(queue, commands)
    assert list(first[:10]) == [0, 0, 0, 3, 2, 1, 8, 4, 1, 2]
    size = ze.ze_mutable_group_size_exp_desc_t(
        commandId=command, groupSizeX=2, groupSizeY=3, groupSizeZ=4
    )
    offset = ze.ze_mutable_global_offset_exp_desc_t(
        commandId=command, offsetX=7, offsetY=8, offsetZ=9
    )
    first[:] = 0
    check(update(commands, argument(command, 0, second), counts(command, 5, 6, 7), size, offset))
    run(queue, commands)
    assert list(second[:10]) == [7, 8, 9, 5, 6, 7, 2, 3, 4, 3]
    assert not first.any()


def test_changed_list_must_close_before_it_runs(kernels: KernelBench) -> None:
    counter, queue = kernels.array(1), kernels.queue()
    commands = mutable(kernels)
    command = next_id(commands)
    launch(commands, kernels.kernel("tally", counter, size=(1, 1, 1)), 2)
    run(queue, commands)
    check(update(commands, counts(command, 40)))
    lists = handles(commands)
    assert ze.zeCommandQueueExecuteCommandLists(queue, 1, lists, None) == INVALID
    assert "zeCommandListClose" in last_error()
    run(queue, commands)
    assert counter[0] == 42


def test_other_commands_stay_as_they_are(kernels: KernelBench) -> None:
    counters = [kernels.array(1) for _ in range(3)]
    commands, queue = mutable(kernels), kernels.queue()
    names = []
    for counter in counters:
        names.append(next_id(commands))
        launch(commands, kernels.kernel("tally", counter, size=(1, 1, 1)), 1)
    assert len(set(names)) == 3
    check(update(commands, counts(names[1], 10)))
    run(queue, commands)
    assert [int(counter[0]) for counter in counters] == [1, 10, 1]


def test_launch_mutates_after_kernel_is_destroyed(kernels: KernelBench) -> None:
    first, second = kernels.array(1), kernels.array(1)
    commands, queue = mutable(kernels), kernels.queue()
    module = kernels.module("tally")
    kernel = kernels.kernel_in(module, "tally", first, size=(4, 1, 1))
    command = next_id(commands)
    launch(commands, kernel, 1)
    kernels.end(kernel)
    kernels.end(module)
    check(update(commands, argument(command, 0, second)))
    run(queue, commands)
    assert (first[0], second[0]) == (0, 4)


def test_a_command_changes_its_kernel(kernels: KernelBench) -> None:
    counter, visits = kernels.array(1), kernels.array(64, "uint8")
    tally = kernels.kernel("tally", counter, size=(4, 1, 1))
    visit = kernels.kernel("visit", visits, size=(8, 1, 1))
    stranger = kernels.kernel("empty")
    commands, queue = mutable(kernels), kernels.queue()
    command = next_id(
        commands, KERNELS | ze.ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_COUNT, (tally, visit)
    )
    launch(commands, tally, 2)
    run(queue, commands)
    assert counter[0] == 8
    identifier = (ctypes.c_uint64 * 1)(command)
    change = ze.zeCommandListUpdateMutableCommandKernelsExp
    assert change(commands, 1, identifier, handles(stranger)) == (
        ze.ZE_RESULT_ERROR_INVALID_KERNEL_HANDLE
    )
    check(change(commands, 1, identifier, handles(visit)))
    check(update(commands, counts(command, 8)))
    run(queue, commands)
    assert counter[0] == 8
    assert (visits == 1).all()


def test_list_close_needs_all_kernel_arguments(kernels: KernelBench) -> None:
    counter = kernels.array(1)
    tally, bare = kernels.kernel("tally", counter), kernels.kernel("tally", size=(1, 1, 1))
    commands, queue = mutable(kernels), kernels.queue()
    flags = KERNELS | ze.ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_ARGUMENTS
    command = next_id(commands, flags, (tally, bare))
    launch(commands, tally, 1)
    identifier = (ctypes.c_uint64 * 1)(command)
    check(ze.zeCommandListUpdateMutableCommandKernelsExp(commands, 1, identifier, handles(bare)))
    assert ze.zeCommandListClose(commands) == INVALID
    assert "argument 0" in last_error()
    check(update(commands, argument(command, 0, counter)))
    run(queue, commands)
    assert counter[0] == 1


@pytest.mark.parametrize("in_order", [False, True])
def test_events_change(kernels: KernelBench, in_order: bool) -> None:
    flags = ze.ZE_COMMAND_LIST_FLAG_IN_ORDER if in_order else 0
    commands, queue = mutable(kernels, flags), kernels.queue()
    old, new, gate, other = kernels.events(4)
    target = kernels.bytes(64, fill=0)
    command = next_id(commands)
    check(
        ze.zeCommandListAppendMemoryFill(
            commands, target.ctypes.data, b"\1", 1, 64, old, 1, handles(gate)
        )
    )
    signal, waits = (
        ze.zeCommandListUpdateMutableCommandSignalEventExp,
        ze.zeCommandListUpdateMutableCommandWaitEventsExp,
    )
    check(signal(commands, command, new))
    check(waits(commands, command, 1, handles(other)))
    check(ze.zeEventHostSignal(other))
    run(queue, commands)
    assert (is_signalled(old), is_signalled(new)) == (False, True)
    kernels.end(old)  # nothing refers to it any more
    check(signal(commands, command, None))
    check(waits(commands, command, 1, (ctypes.c_void_p * 1)(None)))
    check(ze.zeEventHostReset(new))
    run(queue, commands)
    assert not is_signalled(new)
    check(waits(commands, command, 0, None))
    run(queue, commands)
    assert waits(commands, command, 2, handles(gate, other)) == ze.ZE_RESULT_ERROR_INVALID_SIZE


def test_counter_event_replaces_counter_event(kernels: KernelBench) -> None:
    commands, queue = mutable(kernels, ze.ZE_COMMAND_LIST_FLAG_IN_ORDER), kernels.queue()
    old, new = (
        kernels.counter_event(ze.ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE) for _ in range(2)
    )
    plain = kernels.event()
    command = next_id(commands)
    barrier(commands, old)
    signal = ze.zeCommandListUpdateMutableCommandSignalEventExp
    assert signal(commands, command, plain) == INVALID
    check(signal(commands, command, new))
    run(queue, commands)
    assert is_signalled(new)


def test_change_not_declared_mutable_is_refused(kernels: KernelBench) -> None:
    commands, target = mutable(kernels), kernels.bytes(8, fill=0)
    only_counts = next_id(commands, ze.ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_COUNT)
    launch(commands, kernels.kernel("tally", kernels.array(1)), 1)
    filled = next_id(commands)
    fill(commands, target.ctypes.data, b"\1", 8)
    pending = next_id(commands)
    assert update(commands, argument(only_counts, 0, target)) == INVALID
    assert update(commands, counts(filled, 1)) == INVALID
    assert "launches no kernel" in last_error()
    assert update(commands, counts(pending, 1)) == INVALID
    assert update(commands, counts(12345678901, 1)) == INVALID
    assert update(commands, ze.ze_event_desc_t()) == INVALID
    assert (
        ze.zeCommandListUpdateMutableCommandSignalEventExp(commands, only_counts, None) == INVALID
    )
    check(update(commands, counts(only_counts, 3)))
    close_list(commands)


def test_a_bad_argument_is_refused(kernels: KernelBench) -> None:
    commands = mutable(kernels)
    command = next_id(commands)
    launch(commands, kernels.kernel("tally", kernels.array(1)), 1)
    assert update(commands, argument(command, 7, kernels.array(1))) == INVALID
    assert "there is no 7" in last_error()


def test_only_open_mutable_lists_give_names(kernels: KernelBench) -> None:
    identifier = ctypes.c_uint64()
    description = ctypes.byref(ze.ze_mutable_command_id_exp_desc_t())
    for commands in (kernels.list(), close_list(mutable(kernels)), kernels.immediate()):
        result = ze.zeCommandListGetNextCommandIdExp(
            commands, description, ctypes.byref(identifier)
        )
        assert result == INVALID
    assert update(kernels.list()) == INVALID


def test_a_list_that_runs_cannot_be_changed(kernels: KernelBench) -> None:
    flag, commands, queue = kernels.array(1, "uint32"), mutable(kernels), kernels.queue()
    command = next_id(commands)
    launch(commands, kernels.kernel("spin", flag), 1)
    submit(queue, close_list(commands))
    assert update(commands, counts(command, 2)) == ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE
    flag[0] = 1
    finish_queue(queue)
    check(update(commands, counts(command, 2)))


def test_a_reset_forgets_the_names(kernels: KernelBench) -> None:
    commands = mutable(kernels)
    command = next_id(commands)
    launch(commands, kernels.kernel("empty"), 1)
    close_list(commands)
    check(ze.zeCommandListReset(commands))
    assert update(commands, counts(command, 1)) == INVALID


def test_clone_has_same_ids_and_changes_alone(kernels: KernelBench) -> None:
    counter, queue = kernels.array(1), kernels.queue()
    commands = mutable(kernels, ze.ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE)
    barrier(commands)
    command = next_id(commands)
    launch(commands, kernels.kernel("tally", counter, size=(1, 1, 1)), 1)
    clone = kernels.clone(close_list(commands))
    check(update(clone, counts(command, 100)))
    run(queue, clone)
    assert counter[0] == 100
    run(queue, commands)
    assert counter[0] == 101
