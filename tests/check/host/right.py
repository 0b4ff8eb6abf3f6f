"""Programs that are right, and look as if they were not. The process ends with nothing left."""

from __future__ import annotations

import ctypes

import numpy as np

from groundstate import ze
from tests.check.host.cases import SECOND, Cases, bench, copy_kernel
from tests.conftest import check
from tests.driver.kernels import KernelBench, launch
from tests.driver.support import (
    FOREVER,
    barrier,
    close_list,
    copy,
    finish,
    finish_queue,
    handles,
    submit,
)

CASES = Cases()
right = CASES.expect()


@right
def an_event_is_used_again_after_a_reset(made: KernelBench) -> None:
    event, commands = made.event(), made.immediate()
    for _ in range(3):
        barrier(commands, signal=event)
        check(ze.zeEventHostSynchronize(event, FOREVER))
        check(ze.zeEventHostReset(event))


@right
def another_process_may_signal(made: KernelBench) -> None:
    event = made.event(ze.ZE_EVENT_POOL_FLAG_IPC | ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE)
    assert ze.zeEventHostSynchronize(event, 5 * SECOND // 2) == ze.ZE_RESULT_NOT_READY


@right
def a_short_wait_ends_in_vain(made: KernelBench) -> None:
    assert ze.zeEventHostSynchronize(made.event(), SECOND // 2) == ze.ZE_RESULT_NOT_READY


@right
def a_list_runs_twice_on_its_queue(made: KernelBench) -> None:
    queue, commands, event = made.queue(), made.list(), made.event()
    barrier(commands, waits=[event])
    close_list(commands)
    submit(queue, commands)
    submit(queue, commands)
    submit(queue, commands, commands)
    check(ze.zeEventHostSignal(event))
    finish_queue(queue)


@right
def a_list_runs_on_two_queues_in_turn(made: KernelBench) -> None:
    commands = close_list(made.list())
    for _ in range(2):
        queue = made.queue()
        submit(queue, commands)
        finish_queue(queue)


@right
def memory_is_freed_when_its_copy_is_done(made: KernelBench) -> None:
    first, last = made.events(2)
    to, source, commands = made.local(4096), made.local(4096), made.list()
    copy(commands, to, source, 4096, signal=first)
    barrier(commands, waits=[last])
    queue = made.queue()
    submit(queue, close_list(commands))
    check(ze.zeEventHostSynchronize(first, FOREVER))
    made.end(source)
    made.end(to)
    check(ze.zeEventHostSignal(last))
    finish_queue(queue)


@right
def memory_of_others_is_freed_meanwhile(made: KernelBench) -> None:
    event, commands = made.event(), made.immediate()
    copy(commands, made.local(4096), made.local(4096), 4096, waits=[event])
    made.end(made.local(4096))
    check(ze.zeEventHostSignal(event))
    finish(commands)


@right
def the_driver_waits_before_it_frees(made: KernelBench) -> None:
    event, commands, memory = made.event(), made.immediate(), made.local(4096)
    copy(commands, memory, made.local(4096), 4096, waits=[event])
    policy = ze.ze_memory_free_ext_desc_t(
        freePolicy=ze.ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE
    )
    check(ze.zeMemFreeExt(made.context, ctypes.byref(policy), made.forget(memory)))
    check(ze.zeEventHostSignal(event))
    finish(commands)


@right
def memory_is_freed_and_allocated_again(made: KernelBench) -> None:
    commands = made.immediate()
    for _ in range(20):
        memory = made.local(4096)
        copy(commands, memory, made.local(4096), 4096)
        finish(commands)
        made.end(memory)


@right
def objects_go_as_soon_as_the_event_is_seen(made: KernelBench) -> None:
    for _ in range(50):
        pool = made.pool()
        event, queue, commands = made.event_in(pool), made.queue(), made.list()
        barrier(commands, signal=event)
        submit(queue, close_list(commands))
        check(ze.zeEventHostSynchronize(event, FOREVER))
        for each in (commands, queue, event, pool):
            made.end(each)


@right
def a_list_is_reset_when_its_fence_is_seen(made: KernelBench) -> None:
    queue, commands = made.queue(), made.list()
    fence = made.fence(queue)
    for _ in range(20):
        barrier(commands)
        submit(queue, close_list(commands), fence=fence)
        check(ze.zeFenceHostSynchronize(fence, FOREVER))
        check(ze.zeFenceReset(fence))
        check(ze.zeCommandListReset(commands))


@right
def a_list_is_never_executed_and_nobody_waits(made: KernelBench) -> None:
    commands = made.list()
    barrier(commands, signal=made.event())
    close_list(commands)


@right
def queues_wait_in_a_row(made: KernelBench) -> None:
    events = made.events(4)
    lists = [made.immediate() for _ in range(3)]
    for place in (2, 1, 0):
        barrier(lists[place], signal=events[place + 1], waits=[events[place]])
    check(ze.zeEventHostSignal(events[0]))
    check(ze.zeEventHostSynchronize(events[3], FOREVER))


@right
def queues_wait_for_each_other_in_turn(made: KernelBench) -> None:
    ping, pong = made.events(2)
    first, second = made.immediate(), made.immediate()
    for _ in range(20):
        barrier(second, signal=pong, waits=[ping])
        barrier(first, signal=ping)
        check(ze.zeEventHostSynchronize(pong, FOREVER))
        check(ze.zeEventHostReset(ping))
        check(ze.zeEventHostReset(pong))


@right
def the_event_comes_from_a_later_submission(made: KernelBench) -> None:
    event, waiting, queue, commands = made.event(), made.immediate(), made.queue(), made.list()
    barrier(commands, signal=event)
    close_list(commands)
    barrier(waiting, waits=[event])
    submit(queue, commands)
    finish(waiting)
    finish_queue(queue)


@right
def counter_events_cross_lists(made: KernelBench) -> None:
    event = made.counter_event(ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE)
    first, second = made.immediate(in_order=True), made.immediate(in_order=True)
    for _ in range(10):
        barrier(first, signal=event)
        barrier(second, waits=[event])
    finish(second)
    made.end(event)


@right
def a_counter_event_waits_for_the_next_run(made: KernelBench) -> None:
    event = made.counter_event(ze.ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE)
    commands, queue = made.list(in_order=True), made.queue()
    barrier(commands, signal=event)
    close_list(commands)
    for _ in range(3):
        submit(queue, commands)
        check(ze.zeEventHostSynchronize(event, FOREVER))
    finish_queue(queue)


@right
def an_argument_points_into_memory(made: KernelBench) -> None:
    to, source, commands = made.shared(4096), made.shared(4096), made.immediate()
    launch(commands, copy_kernel(made, to + 64, source + 128), 1)
    finish(commands)


@right
def an_argument_is_memory_of_the_system(made: KernelBench) -> None:
    to, source = np.zeros(64, np.uint32), np.ones(64, np.uint32)
    commands = made.immediate()
    launch(commands, copy_kernel(made, to, source), 1)
    finish(commands)
    assert to[0] == 1


@right
def an_argument_is_null_and_not_used(made: KernelBench) -> None:
    commands = made.immediate()
    launch(commands, copy_kernel(made, 0, 0), 0)
    finish(commands)


@right
def memory_is_copied_between_contexts(made: KernelBench) -> None:
    with bench() as other:
        commands = made.immediate()
        copy(commands, made.local(64), other.local(64), 64)
        finish(commands)


@right
def arguments_are_set_again_after_a_launch(made: KernelBench) -> None:
    commands = made.immediate()
    memory = [made.shared(4096) for _ in range(3)]
    kernel = copy_kernel(made, memory[0], memory[1])
    launch(commands, kernel, 1)
    check(ze.zeKernelSetArgumentValue(kernel, 1, 8, memory[2].to_bytes(8, "little")))
    launch(commands, kernel, 1)
    finish(commands)


@right
def a_kernel_goes_while_its_launch_waits_in_a_list(made: KernelBench) -> None:
    commands, queue = made.list(), made.queue()
    kernel = copy_kernel(made, made.shared(64), made.shared(64))
    launch(commands, kernel, 1)
    close_list(commands)
    made.end(kernel)
    submit(queue, commands)
    finish_queue(queue)


@right
def a_failed_call_leaves_nothing(made: KernelBench) -> None:
    event = ctypes.c_void_p()
    description = ze.ze_event_desc_t(index=7)
    assert ze.zeEventCreate(made.pool(), ctypes.byref(description), ctypes.byref(event)) != 0
    assert ze.zeCommandQueueExecuteCommandLists(made.queue(), 1, handles(0), None) != 0


@right
def virtual_memory_is_given_back(made: KernelBench) -> None:
    start, physical, size = ctypes.c_void_p(), ctypes.c_void_p(), 1 << 21
    check(ze.zeVirtualMemReserve(made.context, None, size, ctypes.byref(start)))
    description = ze.ze_physical_mem_desc_t(size=size)
    check(
        ze.zePhysicalMemCreate(
            made.context, made.device, ctypes.byref(description), ctypes.byref(physical)
        )
    )
    access = ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE
    check(ze.zeVirtualMemMap(made.context, start, size, physical, 0, access))
    commands = made.immediate()
    copy(commands, start.value or 0, made.local(64), 64)
    finish(commands)
    check(ze.zeVirtualMemUnmap(made.context, start, size))
    check(ze.zePhysicalMemDestroy(made.context, physical))
    check(ze.zeVirtualMemFree(made.context, start, size))


if __name__ == "__main__":
    CASES.run_one_by_one()
