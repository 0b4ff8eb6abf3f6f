"""Mutable command lists: the specification's rules, and what a call that breaks them leaves."""

import ctypes

import numpy as np
import pytest

from groundstate import ze
from groundstate.compiler.opencl import frontend
from tests.conftest import check, last_error
from tests.driver.images.images import image
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
    Bench,
    address,
    barrier,
    close_list,
    fill,
    finish,
    handles,
    is_signalled,
    submit,
)

signal_with = ze.zeCommandListUpdateMutableCommandSignalEventExp
wait_for = ze.zeCommandListUpdateMutableCommandWaitEventsExp
switch = ze.zeCommandListUpdateMutableCommandKernelsExp


def value(command: int, index: int, content: bytes | None, size: int = 0) -> object:
    """A change of an argument to some bytes, or to local memory of a size."""
    buffer = ctypes.create_string_buffer(content, len(content)) if content is not None else None
    change = ze.ze_mutable_kernel_argument_exp_desc_t(
        commandId=command,
        argIndex=index,
        argSize=len(content) if content is not None else size,
        pArgValue=ctypes.addressof(buffer) if buffer is not None else None,
    )
    change.buffer = buffer
    return change


def group_size(command: int, *size: int) -> object:
    return ze.ze_mutable_group_size_exp_desc_t(
        commandId=command, groupSizeX=size[0], groupSizeY=size[1], groupSizeZ=size[2]
    )


# --- What can change ------------------------------------------------------------------------------


def test_the_device_says_what_can_change(bench: Bench) -> None:
    found = ze.ze_mutable_command_list_exp_properties_t()
    properties = ze.ze_device_properties_t(pNext=ctypes.addressof(found))
    check(ze.zeDeviceGetProperties(bench.device, ctypes.byref(properties)))
    assert found.mutableCommandFlags == 2 * KERNELS - 1


def test_what_is_not_named_stays(kernels: KernelBench) -> None:
    """The argument block of this kernel has values of 1, 8 and 32 bytes and a pointer."""
    first, second = kernels.array(8, "int64"), kernels.array(8, "int64")
    mixed = np.arange(8, dtype="int32").tobytes()
    kernel = kernels.kernel("values", b"\x05", 1 << 40, mixed, first, size=(1, 1, 1))
    commands, queue = mutable(kernels), kernels.queue()
    command = next_id(commands)
    launch(commands, kernel, 1)
    run(queue, commands)
    before = first.copy()
    assert before.any()
    check(update(commands, argument(command, 3, second)))
    run(queue, commands)
    assert (second == before).all()
    check(update(commands, value(command, 1, (7).to_bytes(8, "little"))))
    run(queue, commands)
    assert (first == before).all()
    changed = [int(new) - int(old) for new, old in zip(second, before, strict=True)]
    assert changed.count(7 - (1 << 40)) == 1
    assert changed.count(0) == 7


def test_sizes_of_local_memory_change(kernels: KernelBench) -> None:
    """The kernel tells where its two local arguments lie; before them are 100 bytes of its own."""
    out, queue = kernels.array(3), kernels.queue()
    kernel = kernels.kernel("locals", out, size=(1, 1, 1))
    check(ze.zeKernelSetArgumentValue(kernel, 1, 200, None))
    check(ze.zeKernelSetArgumentValue(kernel, 2, 1, None))
    commands = mutable(kernels)
    command = next_id(commands)
    launch(commands, kernel, 1)
    run(queue, commands)
    assert list(out) == [128, 384, 512]
    check(update(commands, value(command, 1, None, 1000), value(command, 2, None, 129)))
    run(queue, commands)
    assert list(out) == [128, 1152, 1408]
    check(update(commands, value(command, 2, None, 1 << 30)))
    assert ze.zeCommandListClose(commands) == ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
    check(update(commands, value(command, 2, None, 1)))
    run(queue, commands)
    assert list(out) == [128, 1152, 1280]


def test_images_change(kernels: KernelBench) -> None:
    out, queue = kernels.array(8), kernels.queue()
    small, large = image(kernels, "2D", (4, 4)), image(kernels, "2D", (64, 32))
    kernel = kernels.kernel("look", size=(1, 1, 1))
    check(ze.zeKernelSetArgumentValue(kernel, 0, 8, ctypes.byref(ctypes.c_void_p(small))))
    check(ze.zeKernelSetArgumentValue(kernel, 1, 8, None))
    check(ze.zeKernelSetArgumentValue(kernel, 2, 8, ctypes.byref(ctypes.c_void_p(address(out)))))
    commands = mutable(kernels)
    command = next_id(commands)
    launch(commands, kernel, 1)
    run(queue, commands)
    before = out.copy()
    check(update(commands, value(command, 0, large.to_bytes(8, "little"))))
    run(queue, commands)
    assert (out != before).any()
    assert update(commands, value(command, 0, queue.to_bytes(8, "little"))) == INVALID


SCALE = "kernel void scale(global int *x, int by) { x[get_global_id(0)] *= by; }"
SHIFT = "kernel void shift(global int *x, int by) { x[get_global_id(0)] += by; }"


def test_compiled_kernels_take_turns(driver: int, device: int) -> None:
    real = KernelBench(driver, device)
    module = real.module_of(frontend.compile_opencl(SCALE + SHIFT))
    data, queue = real.array(64, "int32"), real.queue()
    data[:] = expected = np.arange(64, dtype="int32")
    scale = real.kernel_in(module, "scale", data, (3).to_bytes(4, "little"), size=(8, 1, 1))
    shift = real.kernel_in(module, "shift", data, (5).to_bytes(4, "little"), size=(4, 1, 1))
    commands = mutable(real)
    command = next_id(commands, 2 * KERNELS - 1, (scale, shift))
    launch(commands, scale, 8)
    run(queue, commands)
    expected = expected * 3
    assert (data == expected).all()
    check(switch(commands, 1, (ctypes.c_uint64 * 1)(command), handles(shift)))
    changes = counts(command, 4), group_size(command, 16, 1, 1), value(command, 1, b"\1\0\0\0")
    check(update(commands, *changes))
    run(queue, commands)
    assert (data == expected + 1).all()
    real.close()


# --- One name for a command -----------------------------------------------------------------------


def test_command_keeps_one_id_when_asked_again(kernels: KernelBench) -> None:
    counter, queue = kernels.array(1), kernels.queue()
    tally = kernels.kernel("tally", counter, size=(1, 1, 1))
    double = kernels.kernel("tally", counter, size=(2, 1, 1))
    commands = mutable(kernels)
    first = next_id(commands, ze.ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_COUNT)
    assert next_id(commands, KERNELS, (tally,)) == first
    assert next_id(commands, KERNELS, (double,)) == first
    launch(commands, tally, 1)
    assert next_id(commands) != first
    barrier(commands)
    check(switch(commands, 1, (ctypes.c_uint64 * 1)(first), handles(double)))
    check(update(commands, counts(first, 5)))
    run(queue, commands)
    assert counter[0] == 10


def test_bad_flags_are_refused(kernels: KernelBench) -> None:
    commands, answer = mutable(kernels), ctypes.c_uint64()
    graph = ze.ze_mutable_command_id_exp_desc_t(
        flags=ze.ZE_MUTABLE_COMMAND_EXP_FLAG_GRAPH_ARGUMENTS
    )
    unknown = ze.ze_mutable_command_id_exp_desc_t(flags=0x100)
    for description, expected in (
        (graph, ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE),
        (unknown, ze.ZE_RESULT_ERROR_INVALID_ENUMERATION),
    ):
        arguments = commands, ctypes.byref(description)
        assert ze.zeCommandListGetNextCommandIdExp(*arguments, ctypes.byref(answer)) == expected
        assert expected == ze.zeCommandListGetNextCommandIdWithKernelsExp(
            *arguments, 0, None, ctypes.byref(answer)
        )
    chained = ze.ze_mutable_command_list_exp_desc_t(flags=2)
    description = ze.ze_command_list_desc_t(pNext=ctypes.addressof(chained))
    handle = ctypes.c_void_p()
    result = ze.zeCommandListCreate(
        kernels.context, kernels.device, ctypes.byref(description), ctypes.byref(handle)
    )
    assert result == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION
    reserved = ctypes.byref(ze.ze_mutable_commands_exp_desc_t(flags=1))
    result = ze.zeCommandListUpdateMutableCommandsExp(commands, reserved)
    assert result == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION


@pytest.mark.parametrize("bad", [None, 8, 2**64 - 1])
def test_handles_that_are_no_kernels_are_refused(kernels: KernelBench, bad: int | None) -> None:
    commands, answer = mutable(kernels), ctypes.c_uint64()
    description = ctypes.byref(ze.ze_mutable_command_id_exp_desc_t(flags=KERNELS))
    destroyed = kernels.kernel("empty")
    kernels.end(destroyed)
    for handle in (bad, destroyed, commands):
        result = ze.zeCommandListGetNextCommandIdWithKernelsExp(
            commands, description, 1, handles(handle), ctypes.byref(answer)
        )
        assert result == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
        result = switch(commands, 1, (ctypes.c_uint64 * 1)(1), handles(handle))
        assert result == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    kernel = kernels.kernel("empty")
    assert switch(commands, 1, None, handles(kernel)) == ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER
    assert switch(commands, 1, (ctypes.c_uint64 * 1)(1), handles(kernel)) == INVALID


# --- All or nothing -------------------------------------------------------------------------------


def test_a_call_that_fails_changes_nothing(kernels: KernelBench) -> None:
    first, second, queue = kernels.array(12), kernels.array(12), kernels.queue()
    commands = mutable(kernels)
    command = next_id(commands)
    launch(commands, kernels.kernel("describe", first, size=(2, 1, 1)), 3)
    close_list(commands)
    good = argument(command, 0, second), counts(command, 9), group_size(command, 4, 1, 1)
    bad = (
        (argument(command, 1, second), INVALID),
        (group_size(command, 0, 1, 1), ze.ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION),
        (counts(command, 2**32 - 1, 2**32 - 1, 2**32 - 1), ze.ZE_RESULT_ERROR_INVALID_SIZE),
        (
            ze.ze_mutable_group_count_exp_desc_t(commandId=command),
            ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER,
        ),
        (counts(command + 1, 1), INVALID),
    )
    for change, expected in bad:
        assert update(commands, *good, change) == expected
        assert "zeCommandListUpdateMutableCommandsExp" in last_error()
        submit(queue, commands)  # not changed, so still closed
    run(queue, commands)
    assert not second.any()
    assert list(first[3:9]) == [3, 1, 1, 2, 1, 1]


def test_kernels_change_together_or_not_at_all(kernels: KernelBench) -> None:
    counters = [kernels.array(1) for _ in range(2)]
    one, ten = (kernels.kernel("tally", counter, size=(1, 1, 1)) for counter in counters)
    commands, queue = mutable(kernels), kernels.queue()
    names = []
    for choices in ((one, ten), (one,)):
        names.append(next_id(commands, KERNELS, choices))
        launch(commands, one, 1)
    run(queue, commands)
    assert [int(counter[0]) for counter in counters] == [2, 0]
    result = switch(commands, 2, (ctypes.c_uint64 * 2)(*names), handles(ten, ten))
    assert result == ze.ZE_RESULT_ERROR_INVALID_KERNEL_HANDLE
    run(queue, commands)
    assert [int(counter[0]) for counter in counters] == [4, 0]
    check(switch(commands, 2, (ctypes.c_uint64 * 2)(*names), handles(ten, one)))
    run(queue, commands)
    assert [int(counter[0]) for counter in counters] == [5, 1]


def test_a_chain_without_end_is_refused(kernels: KernelBench) -> None:
    commands = mutable(kernels)
    command = next_id(commands)
    launch(commands, kernels.kernel("empty"), 1)
    change = counts(command, 2)
    change.pNext = ctypes.addressof(change)
    description = ze.ze_mutable_commands_exp_desc_t(pNext=ctypes.addressof(change))
    result = ze.zeCommandListUpdateMutableCommandsExp(commands, ctypes.byref(description))
    assert result == INVALID
    assert "no end" in last_error()
    change.pNext = 0x3000000000
    result = ze.zeCommandListUpdateMutableCommandsExp(commands, ctypes.byref(description))
    assert result == INVALID
    assert "leads to address 0x3000000000" in last_error()


def test_indirect_launches_keep_their_counts(kernels: KernelBench) -> None:
    memory, number = kernels.array(6, "uint32"), kernels.array(1, "uint32")
    memory[:], number[:] = 1, 2
    counter = kernels.array(1)
    tally = kernels.kernel("tally", counter, size=(1, 1, 1))
    where = ctypes.cast(address(memory), ctypes.POINTER(ze.ze_group_count_t))
    how_many = ctypes.cast(address(number), ctypes.POINTER(ctypes.c_uint32))
    commands, queue = mutable(kernels), kernels.queue()
    single = next_id(commands)
    check(ze.zeCommandListAppendLaunchKernelIndirect(commands, tally, where, None, 0, None))
    several = next_id(commands)
    check(
        ze.zeCommandListAppendLaunchMultipleKernelsIndirect(
            commands, 2, handles(tally, tally), how_many, where, None, 0, None
        )
    )
    assert update(commands, counts(single, 5)) == INVALID
    assert "when it runs" in last_error()
    assert update(commands, argument(several, 0, counter)) == INVALID
    assert "several kernels" in last_error()
    other = kernels.array(1)
    check(update(commands, argument(single, 0, other)))
    run(queue, commands)
    assert (int(other[0]), int(counter[0])) == (1, 2)


# --- Events ---------------------------------------------------------------------------------------


def test_changed_events_need_list_closed_again(kernels: KernelBench) -> None:
    old, new, queue = *kernels.events(2), kernels.queue()
    commands = mutable(kernels)
    command = next_id(commands)
    barrier(commands, old)
    close_list(commands)
    check(signal_with(commands, command, new))
    result = ze.zeCommandQueueExecuteCommandLists(queue, 1, handles(commands), None)
    assert result == INVALID
    run(queue, commands)
    assert (is_signalled(old), is_signalled(new)) == (False, True)


def test_events_must_be_of_the_same_kind(kernels: KernelBench) -> None:
    plain, gate = kernels.events(2)
    timed = kernels.event(ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP)
    scoped = kernels.event_in(
        kernels.pool(), signal=ze.ZE_EVENT_SCOPE_FLAG_HOST, wait=ze.ZE_EVENT_SCOPE_FLAG_HOST
    )
    counting = kernels.counter_event(ze.ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE)
    commands = mutable(kernels, ze.ZE_COMMAND_LIST_FLAG_IN_ORDER)
    command = next_id(commands)
    barrier(commands, plain, [gate])
    close_list(commands)
    check(signal_with(commands, command, None))  # the kind of the first event still counts
    check(wait_for(commands, command, 1, handles(None)))
    for other in (timed, scoped, counting):
        assert signal_with(commands, command, other) == INVALID
        assert wait_for(commands, command, 1, handles(other)) == INVALID
        assert "of its kind" in last_error()
    check(signal_with(commands, command, gate))
    check(wait_for(commands, command, 1, handles(plain)))


def test_wait_event_slot_is_emptied_and_refilled(kernels: KernelBench) -> None:
    first, second, third, fourth = kernels.events(4)
    target, queue = kernels.bytes(1, fill=0), kernels.queue()
    commands = mutable(kernels, ze.ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE)
    command = next_id(commands)
    fill(commands, address(target), b"\1", 1, waits=[first, second])
    close_list(commands)
    check(wait_for(commands, command, 2, (ctypes.c_void_p * 2)(None, None)))
    run(queue, commands)
    assert target[0] == 1
    clone = kernels.clone(commands)
    for each in (commands, clone):
        assert wait_for(each, command, 1, handles(third)) == ze.ZE_RESULT_ERROR_INVALID_SIZE
        check(wait_for(each, command, 2, (ctypes.c_void_p * 2)(None, third)))
    target[0] = 0
    submit(queue, close_list(commands))
    submit(queue, close_list(clone))
    assert ze.zeCommandQueueSynchronize(queue, 1_000_000) == ze.ZE_RESULT_NOT_READY
    assert target[0] == 0
    kernels.end(first)  # nothing waits for it any more
    check(ze.zeEventHostSignal(third))
    check(ze.zeCommandQueueSynchronize(queue, 2**64 - 1))
    assert target[0] == 1
    check(wait_for(commands, command, 2, handles(second, fourth)))


def test_a_command_without_an_event_gets_one(kernels: KernelBench) -> None:
    queue, events = kernels.queue(), kernels.events(1)
    commands = mutable(kernels, ze.ZE_COMMAND_LIST_FLAG_IN_ORDER)
    command = next_id(commands)
    barrier(commands)
    for _ in range(3):
        run(queue, commands)
    check(signal_with(commands, command, events[0]))
    run(queue, commands)
    assert is_signalled(events[0])


def test_counter_events_follow_runs_after_change(kernels: KernelBench) -> None:
    regular = ze.ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE
    events = [kernels.counter_event(regular) for _ in range(3)]
    queue, gate = kernels.queue(), kernels.event()
    commands = mutable(kernels, ze.ZE_COMMAND_LIST_FLAG_IN_ORDER)
    command = next_id(commands)
    barrier(commands, events[0], [gate])
    barrier(commands, events[1])
    check(ze.zeEventHostSignal(gate))
    for _ in range(3):
        run(queue, commands)
    check(ze.zeEventHostReset(gate))
    check(signal_with(commands, command, events[2]))
    submit(queue, close_list(commands))
    assert not is_signalled(events[1])
    assert not is_signalled(events[2])
    check(ze.zeEventHostSignal(gate))
    check(ze.zeEventHostSynchronize(events[2], 2**64 - 1))
    check(ze.zeEventHostSynchronize(events[1], 2**64 - 1))


# --- Appended to an immediate list ----------------------------------------------------------------


def test_mutable_list_appends_to_immediate_list(kernels: KernelBench) -> None:
    counter, immediate = kernels.array(1), kernels.immediate(in_order=True)
    commands = mutable(kernels)
    command = next_id(commands)
    launch(commands, kernels.kernel("tally", counter, size=(1, 1, 1)), 1)
    append = ze.zeCommandListImmediateAppendCommandListsExp
    close_list(commands)
    for groups in range(1, 6):
        check(update(commands, counts(command, groups)))
        assert append(immediate, 1, handles(commands), None, 0, None) == INVALID
        close_list(commands)
        check(append(immediate, 1, handles(commands), None, 0, None))
        finish(immediate)
    assert counter[0] == 15


def test_only_a_closed_list_is_cloned(kernels: KernelBench) -> None:
    commands = mutable(kernels, ze.ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE)
    command, clone = next_id(commands), ctypes.c_void_p()
    launch(commands, kernels.kernel("empty"), 1)
    close_list(commands)
    check(update(commands, counts(command, 2)))
    assert ze.zeCommandListCreateCloneExp(commands, ctypes.byref(clone)) == INVALID
    close_list(commands)
    answer = ctypes.c_uint8()
    check(ze.zeCommandListIsMutableExp(kernels.clone(commands), ctypes.byref(answer)))
    assert answer.value == 1


@pytest.mark.parametrize("groups", [1, 2])
def test_cooperative_launch_changes_within_limit(kernels: KernelBench, groups: int) -> None:
    most, counter = ctypes.c_uint32(), kernels.array(1)
    kernel = kernels.kernel("tally", counter, size=(1, 1, 1))
    check(ze.zeKernelSuggestMaxCooperativeGroupCount(kernel, ctypes.byref(most)))
    commands, queue = mutable(kernels), kernels.queue()
    command = next_id(commands)
    count = ze.ze_group_count_t(1, 1, 1)
    check(
        ze.zeCommandListAppendLaunchCooperativeKernel(
            commands, kernel, ctypes.byref(count), None, 0, None
        )
    )
    assert update(commands, counts(command, most.value + 1)) == INVALID
    check(update(commands, counts(command, min(groups, most.value))))
    run(queue, commands)
    assert counter[0] == min(groups, most.value)
