"""Launches: which work-items run, with which arguments, and when."""

import ctypes
import platform
import time

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver import fake_compiler
from tests.driver.kernels import KernelBench, group_count, launch, set_arguments
from tests.driver.support import (
    COPY_ORDINAL,
    FOREVER,
    address,
    barrier,
    close_list,
    fill,
    finish,
    finish_queue,
    handles,
    is_signalled,
    submit,
)


def test_a_kernel_adds_vectors(kernels: KernelBench) -> None:
    size = 64 * 1000
    a, b, c = (kernels.array(size, "float32") for _ in range(3))
    a[:] = np.arange(size)
    b[:] = 0.5
    commands = kernels.immediate()
    launch(commands, kernels.kernel("add", a, b, c, size=(64, 1, 1)), 1000)
    finish(commands)
    assert (c == np.arange(size) + 0.5).all()


@pytest.mark.parametrize("size", [(1, 1, 1), (7, 1, 1), (16, 4, 2), (1000, 1, 1), (5, 3, 2)])
@pytest.mark.parametrize("groups", [(1, 1, 1), (3, 1, 1), (1, 5, 2), (257, 3, 1), (31, 7, 5)])
def test_every_work_item_runs_once(
    kernels: KernelBench,
    size: tuple[int, int, int],
    groups: tuple[int, int, int],
) -> None:
    total = int(np.prod(size) * np.prod(groups))
    visits = kernels.array(total + 64, "uint8")
    kernel = kernels.kernel("visit", visits, size=size)
    commands = kernels.immediate(in_order=True)
    for launches in range(1, 4):  # the first is measured, the others use what was measured
        launch(commands, kernel, *groups)
        finish(commands)
        assert (visits[:total] == launches).all()
    assert not visits[total:].any()


def test_launch_beyond_32_bit_work_items_runs_all(kernels: KernelBench) -> None:
    counter = kernels.array(1)
    commands = kernels.immediate()
    groups = 3_000_000, 5, 2
    launch(commands, kernels.kernel("tally", counter, size=(1024, 1, 1)), *groups)
    finish(commands)
    assert int(counter[0]) == 1024 * 3_000_000 * 10 > 2**32


@pytest.mark.parametrize("groups", [(0, 1, 1), (1, 0, 1), (5, 5, 0)])
def test_a_launch_of_no_groups_still_signals(
    kernels: KernelBench, groups: tuple[int, int, int]
) -> None:
    counter, event = kernels.array(1), kernels.event()
    commands = kernels.immediate()
    launch(commands, kernels.kernel("tally", counter), *groups, signal=event)
    check(ze.zeEventHostSynchronize(event, FOREVER))
    assert counter[0] == 0


def test_group_count_overflow_is_refused(kernels: KernelBench) -> None:
    kernel = kernels.kernel("empty")
    groups = ctypes.byref(group_count(0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF))
    result = ze.zeCommandListAppendLaunchKernel(kernels.immediate(), kernel, groups, None, 0, None)
    assert result == ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert "4294967295" in last_error()


def describe(kernels: KernelBench, *groups: int, size: tuple[int, int, int]) -> list[int]:
    out = kernels.array(12)
    commands = kernels.immediate()
    launch(commands, kernels.kernel("describe", out, size=size), *groups)
    finish(commands)
    return [int(word) for word in out]


@pytest.mark.parametrize(
    ("groups", "size", "dimensions"),
    [
        ((1, 1, 1), (1, 1, 1), 1),
        ((9, 1, 1), (8, 1, 1), 1),
        ((9, 2, 1), (8, 1, 1), 2),
        ((9, 1, 1), (8, 2, 1), 2),
        ((1, 1, 2), (8, 1, 1), 3),
        ((1, 1, 1), (1, 1, 4), 3),
    ],
)
def test_code_sees_counts_sizes_and_dimensions(
    kernels: KernelBench,
    groups: tuple[int, int, int],
    size: tuple[int, int, int],
    dimensions: int,
) -> None:
    seen = describe(kernels, *groups, size=size)
    assert seen[0:3] == [0, 0, 0]
    assert tuple(seen[3:6]) == groups
    assert tuple(seen[6:9]) == size
    assert seen[9] == dimensions


def test_scratch_memory_is_aligned(kernels: KernelBench) -> None:
    assert describe(kernels, 1, size=(1, 1, 1))[10:] == [0, 0]


def test_the_global_offset_is_that_of_the_append(kernels: KernelBench) -> None:
    first, second = kernels.array(12), kernels.array(12)
    commands, queue = kernels.list(), kernels.queue()
    kernel = kernels.kernel("describe", first)
    check(ze.zeKernelSetGlobalOffsetExp(kernel, 10, 20, 0xFFFFFFFF))
    launch(commands, kernel, 1)
    set_arguments(kernel, second)
    check(ze.zeKernelSetGlobalOffsetExp(kernel, 0, 0, 0))
    launch(commands, kernel, 1)
    submit(queue, close_list(commands))
    finish_queue(queue)
    assert list(first[:3]) == [10, 20, 0xFFFFFFFF]
    assert list(second[:3]) == [0, 0, 0]


def test_arguments_and_group_size_bind_at_append(kernels: KernelBench) -> None:
    outs = [kernels.array(12) for _ in range(10)]
    commands, queue = kernels.list(in_order=True), kernels.queue()
    kernel = kernels.kernel("describe")
    for number, out in enumerate(outs, 1):
        set_arguments(kernel, out)
        check(ze.zeKernelSetGroupSize(kernel, number, 1, 1))
        launch(commands, kernel, number)
    submit(queue, close_list(commands))
    finish_queue(queue)
    assert [int(out[3]) for out in outs] == list(range(1, 11))
    assert [int(out[6]) for out in outs] == list(range(1, 11))


def test_list_with_launches_reruns_and_clones(kernels: KernelBench) -> None:
    counter = kernels.array(1)
    queue, commands = kernels.queue(), kernels.list(flags=ze.ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE)
    kernel = kernels.kernel("tally", counter, size=(10, 1, 1))
    launch(commands, kernel, 7)
    clone = kernels.clone(close_list(commands))
    kernels.end(kernel)
    submit(queue, commands, clone, commands)
    finish_queue(queue)
    assert counter[0] == 210


def test_launch_outlives_its_kernel_and_module(kernels: KernelBench) -> None:
    flag = kernels.array(1, "uint32")
    module = kernels.module("spin")
    kernel = kernels.kernel_in(module, "spin", flag)
    commands, event = kernels.immediate(), kernels.event()
    launch(commands, kernel, 1, signal=event)
    kernels.end(kernel)
    kernels.end(module)
    assert not is_signalled(event)
    flag[0] = 1
    check(ze.zeEventHostSynchronize(event, FOREVER))


def test_a_copy_only_list_takes_no_launches(kernels: KernelBench) -> None:
    kernel = kernels.kernel("empty")
    for commands in (
        kernels.list(ordinal=COPY_ORDINAL),
        kernels.immediate(ordinal=COPY_ORDINAL),
    ):
        result = ze.zeCommandListAppendLaunchKernel(
            commands, kernel, ctypes.byref(group_count(1)), None, 0, None
        )
        assert result == ze.ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE
        assert "queue group 1" in last_error()


def test_an_argument_that_was_never_set_is_named(kernels: KernelBench) -> None:
    kernel = kernels.kernel("add", kernels.array(1, "float32"))
    result = ze.zeCommandListAppendLaunchKernel(
        kernels.immediate(), kernel, ctypes.byref(group_count(1)), None, 0, None
    )
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "argument 1" in last_error()


# --- Order ----------------------------------------------------------------------------------------


def test_a_launch_waits_and_signals(kernels: KernelBench) -> None:
    counter = kernels.array(1)
    before, after = kernels.events(2)
    commands = kernels.immediate()
    launch(commands, kernels.kernel("tally", counter), 5, signal=after, waits=[before])
    time.sleep(0.02)
    assert counter[0] == 0
    assert not is_signalled(after)
    check(ze.zeEventHostSignal(before))
    check(ze.zeEventHostSynchronize(after, FOREVER))
    assert counter[0] == 5 * fake_compiler.LANES


def test_in_order_list_orders_launches_and_copies(kernels: KernelBench) -> None:
    size = 4096
    a, b, c = (kernels.array(size, "float32") for _ in range(3))
    commands = kernels.immediate(in_order=True)
    fill(commands, address(a), np.float32(2).tobytes(), a.nbytes)
    fill(commands, address(b), np.float32(3).tobytes(), b.nbytes)
    kernel = kernels.kernel("add", a, b, c, size=(64, 1, 1))
    for _ in range(50):
        launch(commands, kernel, size // 64)
        check(
            ze.zeCommandListAppendMemoryCopy(
                commands, address(a), address(c), a.nbytes, None, 0, None
            )
        )
    finish(commands)
    assert (a == 2 + 50 * 3).all()


def test_launch_of_kernel_awaiting_host_returns(
    kernels: KernelBench,
) -> None:
    flag = kernels.array(1, "uint32")
    commands = kernels.immediate()
    launch(commands, kernels.kernel("spin", flag), 1)  # returns although the kernel cannot end
    assert ze.zeCommandListHostSynchronize(commands, 0) == ze.ZE_RESULT_NOT_READY
    flag[0] = 1
    finish(commands)


def test_launches_on_several_lists_run_at_once(kernels: KernelBench) -> None:
    flag, counter = kernels.array(1, "uint32"), kernels.array(1)
    stuck, free = kernels.immediate(), kernels.immediate(index=1)
    launch(stuck, kernels.kernel("spin", flag), 4)
    launch(free, kernels.kernel("tally", counter, size=(100, 1, 1)), 1000)
    finish(free)
    assert counter[0] == 100_000
    flag[0] = 1
    finish(stuck)


def test_kernel_timestamps_surround_the_launch(kernels: KernelBench) -> None:
    event = kernels.event(ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP)
    counter, commands = kernels.array(1), kernels.immediate()
    launch(commands, kernels.kernel("tally", counter), 1000, signal=event)
    check(ze.zeEventHostSynchronize(event, FOREVER))
    result = ze.ze_kernel_timestamp_result_t()
    check(ze.zeEventQueryKernelTimestamp(event, ctypes.byref(result)))
    taken = getattr(result, "global")
    assert 0 < taken.kernelStart <= taken.kernelEnd


def test_a_counter_based_event_follows_a_launch(kernels: KernelBench) -> None:
    counter = kernels.array(1)
    event = kernels.counter_event(ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE)
    commands = kernels.immediate(in_order=True)
    kernel = kernels.kernel("tally", counter, size=(1, 1, 1))
    for _ in range(20):
        launch(commands, kernel, 10, signal=event)
    check(ze.zeEventHostSynchronize(event, FOREVER))
    assert counter[0] == 200


# --- Indirect -------------------------------------------------------------------------------------


def test_indirect_group_count_is_read_at_run(kernels: KernelBench) -> None:
    counter, counts = kernels.array(1), kernels.array(3, "uint32")
    queue, commands = kernels.queue(), kernels.list(in_order=True)
    kernel = kernels.kernel("tally", counter, size=(1, 1, 1))
    check(
        ze.zeCommandListAppendLaunchKernelIndirect(
            commands,
            kernel,
            ctypes.cast(address(counts), ctypes.POINTER(ze.ze_group_count_t)),
            None,
            0,
            None,
        )
    )
    close_list(commands)
    for expected, groups in [(0, (0, 1, 1)), (60, (3, 4, 5)), (61, (1, 1, 1))]:
        counts[:] = groups
        submit(queue, commands)
        finish_queue(queue)
        assert counter[0] == expected


def multiple(
    kernels: KernelBench, commands: int, counter: object, number: object, counts: object
) -> None:
    module = kernels.module("tally")
    made = [kernels.kernel_in(module, "tally", counter, size=(size, 1, 1)) for size in (1, 10, 100)]
    event = kernels.event()
    check(
        ze.zeCommandListAppendLaunchMultipleKernelsIndirect(
            commands,
            3,
            handles(*made),
            ctypes.cast(address(number), ctypes.POINTER(ctypes.c_uint32)),  # type: ignore[arg-type]
            ctypes.cast(address(counts), ctypes.POINTER(ze.ze_group_count_t)),  # type: ignore[arg-type]
            event,
            0,
            None,
        )
    )
    check(ze.zeEventHostSynchronize(event, FOREVER))


@pytest.mark.parametrize(("number", "expected"), [(0, 0), (1, 2), (2, 32), (3, 432), (9, 432)])
def test_count_in_memory_limits_kernels_launched(
    kernels: KernelBench, number: int, expected: int
) -> None:
    counter, limit = kernels.array(1), kernels.array(1, "uint32")
    counts = kernels.array(9, "uint32")
    limit[0] = number
    counts[:] = [2, 1, 1, 1, 3, 1, 1, 1, 4]
    multiple(kernels, kernels.immediate(), counter, limit, counts)
    assert counter[0] == expected


def test_unaligned_group_count_buffer_is_refused(kernels: KernelBench) -> None:
    counts = kernels.array(16, "uint8")
    result = ze.zeCommandListAppendLaunchKernelIndirect(
        kernels.immediate(),
        kernels.kernel("empty"),
        ctypes.cast(address(counts, 2), ctypes.POINTER(ze.ze_group_count_t)),
        None,
        0,
        None,
    )
    assert result == ze.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT


# --- Cooperative ----------------------------------------------------------------------------------


def most_groups(kernel: int) -> int:
    count = ctypes.c_uint32()
    check(ze.zeKernelSuggestMaxCooperativeGroupCount(kernel, ctypes.byref(count)))
    return count.value


def test_cooperating_groups_wait_for_each_other(kernels: KernelBench) -> None:
    arrived = kernels.array(1, "uint32")
    kernel = kernels.kernel("meet", arrived)
    groups, commands = most_groups(kernel), kernels.immediate(in_order=True)
    for number in range(1, 20):
        arrived[0] = 0
        check(
            ze.zeCommandListAppendLaunchCooperativeKernel(
                commands, kernel, ctypes.byref(group_count(groups)), None, 0, None
            )
        )
        finish(commands)
        assert arrived[0] == groups, f"in launch {number}"


def test_excess_cooperative_groups_are_refused(kernels: KernelBench) -> None:
    kernel = kernels.kernel("empty")
    groups = group_count(most_groups(kernel), 2)
    result = ze.zeCommandListAppendLaunchCooperativeKernel(
        kernels.immediate(), kernel, ctypes.byref(groups), None, 0, None
    )
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "zeKernelSuggestMaxCooperativeGroupCount" in last_error()


# --- With parameters and with arguments -----------------------------------------------------------


def with_parameters(kernels: KernelBench, kernel: int, groups: int, chained: object) -> int:
    commands = kernels.immediate()
    result = ze.zeCommandListAppendLaunchKernelWithParameters(
        commands,
        kernel,
        ctypes.byref(group_count(groups)),
        ctypes.byref(chained) if chained is not None else None,  # type: ignore[arg-type]
        None,
        0,
        None,
    )
    finish(commands)
    return int(result)


def test_launch_parameter_makes_it_cooperative(kernels: KernelBench) -> None:
    arrived = kernels.array(1, "uint32")
    kernel = kernels.kernel("meet", arrived)
    parameter = ze.ze_command_list_append_launch_kernel_param_cooperative_desc_t(isCooperative=1)
    groups = most_groups(kernel)
    assert with_parameters(kernels, kernel, groups, parameter) == ze.ZE_RESULT_SUCCESS
    assert arrived[0] == groups
    refused = with_parameters(kernels, kernel, groups + 1, parameter)
    assert refused == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


def test_launch_with_null_parameters_works(kernels: KernelBench) -> None:
    counter = kernels.array(1)
    kernel = kernels.kernel("tally", counter, size=(2, 1, 1))
    assert with_parameters(kernels, kernel, 3, None) == ze.ZE_RESULT_SUCCESS
    assert counter[0] == 6


def test_unknown_launch_parameters_are_refused(kernels: KernelBench) -> None:
    unknown = ze.ze_context_desc_t()
    result = with_parameters(kernels, kernels.kernel("empty"), 1, unknown)
    assert result == ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE


def with_arguments(
    commands: int,
    kernel: int,
    groups: tuple[int, int, int],
    size: tuple[int, int, int],
    *values: object,
    no_array: bool = False,
) -> int:
    pointers = handles(
        *(ctypes.addressof(value) if value is not None else 0 for value in values)  # type: ignore[arg-type]
    )
    return int(
        ze.zeCommandListAppendLaunchKernelWithArguments(
            commands,
            kernel,
            group_count(*groups),
            ze.ze_group_size_t(*size),
            None if no_array else pointers,
            None,
            None,
            0,
            None,
        )
    )


def test_launch_sets_its_arguments_and_group_size(kernels: KernelBench) -> None:
    out, commands = kernels.array(12), kernels.immediate()
    kernel = kernels.kernel("describe")
    where = ctypes.c_void_p(address(out))
    check(with_arguments(commands, kernel, (2, 3, 1), (4, 2, 1), where))
    finish(commands)
    assert list(out[3:9]) == [2, 3, 1, 4, 2, 1]
    out[:] = 0
    launch(commands, kernel, 1)  # the kernel has kept both
    finish(commands)
    assert list(out[6:9]) == [4, 2, 1]


def test_kernel_without_arguments_needs_no_array(kernels: KernelBench) -> None:
    commands, size = kernels.immediate(), (1, 1, 1)
    check(with_arguments(commands, kernels.kernel("empty"), size, size, no_array=True))
    finish(commands)
    refused = with_arguments(commands, kernels.kernel("describe"), size, size, no_array=True)
    assert refused == ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER
    assert "kernel 'describe' has 1 arguments" in last_error()


def test_launch_with_arguments_takes_local_sizes(kernels: KernelBench) -> None:
    out, commands = kernels.array(3), kernels.immediate()
    kernel = kernels.kernel("locals")
    left, right = ctypes.c_size_t(200), ctypes.c_size_t(1)
    check(
        with_arguments(
            commands, kernel, (1, 1, 1), (1, 1, 1), ctypes.c_void_p(address(out)), left, right
        )
    )
    finish(commands)
    assert list(out) == [128, 384, 512]
    result = with_arguments(
        commands, kernel, (1, 1, 1), (1, 1, 1), ctypes.c_void_p(address(out)), None, right
    )
    assert result == ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER


def test_launch_with_arguments_checks_group_size(kernels: KernelBench) -> None:
    result = with_arguments(kernels.immediate(), kernels.kernel("empty"), (1, 1, 1), (0, 1, 1))
    assert result == ze.ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION


# --- Threads --------------------------------------------------------------------------------------


def test_large_launch_uses_device_threads(kernels: KernelBench) -> None:
    """On a busy machine one thread may do all of a launch before another one gets a core."""
    groups = 20_000
    out = kernels.array(2 * groups, "uint32")
    kernel = kernels.kernel("threads", out, size=(1, 1, 1))
    commands = kernels.immediate()
    seen: set[int] = set()
    wanted, patience = min(2, most_groups(kernel)), time.monotonic() + 60
    while len(seen) < wanted and time.monotonic() < patience:
        launch(commands, kernel, groups)
        finish(commands)
        assert out[0::2].all()
        seen |= {int(thread) for thread in out[0::2]}
    assert len(seen) >= wanted


FLOATS = {"x86_64": (0xC00, 0x1F80), "aarch64": (0xC00000, 0)}
"""FE_TOWARDZERO, and the control register when floats are rounded to the nearest number."""


def test_kernels_ignore_program_rounding_mode(kernels: KernelBench) -> None:
    """The calling thread sets another rounding mode; neither its launch nor the device sees it."""
    toward_zero, default = FLOATS[platform.machine()]
    mathematics = ctypes.CDLL("libm.so.6")
    out, commands = kernels.array(2, "uint32"), kernels.immediate()
    kernel = kernels.kernel("threads", out, size=(1, 1, 1))
    before = mathematics.fegetround()
    mathematics.fesetround(toward_zero)
    try:
        launch(commands, kernel, 1)
        assert mathematics.fegetround() == toward_zero
    finally:
        mathematics.fesetround(before)
    finish(commands)
    assert out[1] == default


def test_barriers_between_launches_do_no_harm(kernels: KernelBench) -> None:
    counter, commands = kernels.array(1), kernels.immediate()
    kernel = kernels.kernel("tally", counter, size=(1, 1, 1))
    for _ in range(100):
        launch(commands, kernel, 3)
        barrier(commands)
    finish(commands)
    assert counter[0] == 300
