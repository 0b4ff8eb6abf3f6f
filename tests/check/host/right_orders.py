"""Programs whose commands access the same memory and are ordered, or do not really meet."""

from __future__ import annotations

import ctypes

from groundstate import ze
from tests.check.host.cases import Cases, bench
from tests.check.host.orders import BYTES, ITEMS, copy_rows, kernel
from tests.conftest import check
from tests.driver.graphs import graphs
from tests.driver.kernels import KernelBench, launch
from tests.driver.support import (
    FOREVER,
    barrier,
    close_list,
    copy,
    fill,
    finish,
    finish_queue,
    is_signalled,
    submit,
)

CASES = Cases()
right = CASES.expect()


@right
def both_only_read(made: KernelBench) -> None:
    memory = made.local(BYTES)
    for _ in range(2):
        launch(made.immediate(), kernel(made, "move", made.local(BYTES), memory), 1)
    copy(made.immediate(), made.host(BYTES), memory, BYTES)


@right
def disjoint_halves(made: KernelBench) -> None:
    memory = made.local(BYTES)
    launch(made.immediate(), kernel(made, "some", memory, 0, 32), 1)
    launch(made.immediate(), kernel(made, "some", memory, 32, ITEMS), 1)


@right
def halves_that_end_in_a_word(made: KernelBench) -> None:
    memory = made.local(ITEMS)
    launch(made.immediate(), kernel(made, "some_bytes", memory, 0, 29), 1)
    launch(made.immediate(), kernel(made, "some_bytes", memory, 29, ITEMS), 1)


@right
def every_other_element(made: KernelBench) -> None:
    memory = made.local(2 * BYTES)
    launch(made.immediate(), kernel(made, "even", memory), 1)
    launch(made.immediate(), kernel(made, "odd", memory), 1)


@right
def copies_of_halves(made: KernelBench) -> None:
    memory, host = made.local(4098), made.host(4098)
    copy(made.immediate(), memory, host, 2049)
    copy(made.immediate(), memory + 2049, host + 2049, 2049)
    fill(made.immediate(), host + 4097, b"\0", 0)


@right
def counters_on_two_queues(made: KernelBench) -> None:
    memory = made.local(4)
    for _ in range(3):
        launch(made.immediate(), kernel(made, "count", memory), 4)


@right
def an_event_between_lists(made: KernelBench) -> None:
    memory, event = made.local(BYTES), made.event()
    launch(made.immediate(), kernel(made, "put", memory), 1, signal=event)
    launch(made.immediate(), kernel(made, "add", memory), 1, waits=[event])


@right
def events_between_queues_and_back(made: KernelBench) -> None:
    memory, queues, events = made.local(BYTES), [made.queue(), made.queue()], made.events(6)
    for turn, event in enumerate(events):
        commands = made.list()
        waits = events[turn - 1 : turn] if turn else []
        launch(commands, kernel(made, "add", memory), 1, signal=event, waits=waits)
        submit(queues[turn % 2], close_list(commands))


@right
def a_chain_through_others(made: KernelBench) -> None:
    memory, (first, second, third) = made.local(BYTES), made.events(3)
    launch(made.immediate(), kernel(made, "put", memory), 1, signal=first)
    barrier(made.immediate(), signal=second, waits=[first])
    barrier(made.immediate(), signal=third, waits=[second])
    launch(made.immediate(), kernel(made, "add", memory), 1, waits=[third])


@right
def a_chain_through_the_host(made: KernelBench) -> None:
    memory, (first, second) = made.local(BYTES), made.events(2)
    two = made.immediate()
    launch(two, kernel(made, "add", memory), 1, waits=[second])
    launch(made.immediate(), kernel(made, "put", memory), 1, signal=first)
    check(ze.zeEventHostSynchronize(first, FOREVER))
    check(ze.zeEventHostSignal(second))
    finish(two)


@right
def the_host_signals_when_it_has_waited(made: KernelBench) -> None:
    memory, event = made.local(BYTES), made.event()
    one, two = made.immediate(in_order=True), made.immediate(in_order=True)
    launch(one, kernel(made, "put", memory), 1)
    launch(two, kernel(made, "add", memory), 1, waits=[event])
    finish(one)
    check(ze.zeEventHostSignal(event))
    launch(two, kernel(made, "add", memory), 1)
    finish(two)


@right
def the_host_asks_until_it_is_done(made: KernelBench) -> None:
    memory, event = made.local(BYTES), made.event()
    launch(made.immediate(), kernel(made, "put", memory), 1, signal=event)
    while not is_signalled(event):
        pass
    launch(made.immediate(), kernel(made, "add", memory), 1)


@right
def the_host_waits_for_a_list(made: KernelBench) -> None:
    memory = made.local(BYTES)
    for _ in range(3):
        commands = made.immediate()
        launch(commands, kernel(made, "add", memory), 1)
        finish(commands)


@right
def the_host_waits_for_a_queue(made: KernelBench) -> None:
    memory = made.local(BYTES)
    for _ in range(3):
        commands, queue = made.list(), made.queue()
        launch(commands, kernel(made, "add", memory), 1)
        submit(queue, close_list(commands))
        finish_queue(queue)


@right
def the_host_waits_for_a_fence(made: KernelBench) -> None:
    memory = made.local(BYTES)
    for _ in range(2):
        commands, queue = made.list(), made.queue()
        fence = made.fence(queue)
        launch(commands, kernel(made, "add", memory), 1)
        submit(queue, close_list(commands), fence=fence)
        check(ze.zeFenceHostSynchronize(fence, FOREVER))


@right
def the_host_waits_for_the_device(made: KernelBench) -> None:
    memory = made.local(BYTES)
    for _ in range(2):
        launch(made.immediate(), kernel(made, "add", memory), 1)
        check(ze.zeDeviceSynchronize(made.device))


@right
def synchronous_lists(made: KernelBench) -> None:
    memory = made.local(BYTES)
    for _ in range(3):
        commands = made.immediate(mode=ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
        launch(commands, kernel(made, "add", memory), 1)


@right
def an_in_order_list(made: KernelBench) -> None:
    memory, host, commands = made.local(BYTES), made.host(BYTES), made.immediate(in_order=True)
    launch(commands, kernel(made, "put", memory), 1)
    launch(commands, kernel(made, "add", memory), 1)
    copy(commands, host, memory, BYTES)


@right
def a_closed_in_order_list(made: KernelBench) -> None:
    memory, host, commands = made.local(BYTES), made.host(BYTES), made.list(in_order=True)
    queue = made.queue()
    launch(commands, kernel(made, "put", memory), 1)
    launch(commands, kernel(made, "add", memory), 1)
    copy(commands, host, memory, BYTES)
    close_list(commands)
    for _ in range(3):
        submit(queue, commands)
    finish_queue(queue)


@right
def a_barrier_between(made: KernelBench) -> None:
    memory, commands = made.local(BYTES), made.list()
    launch(commands, kernel(made, "put", memory), 1)
    barrier(commands)
    launch(commands, kernel(made, "add", memory), 1)
    submit(made.queue(), close_list(commands))


@right
def a_barrier_for_all_on_an_immediate_list(made: KernelBench) -> None:
    memory, commands, event = made.local(BYTES), made.immediate(), made.event()
    launch(commands, kernel(made, "put", memory), 1)
    barrier(commands, signal=event)
    launch(made.immediate(), kernel(made, "add", memory), 1, waits=[event])


@right
def a_barrier_that_waits_for_the_writer(made: KernelBench) -> None:
    memory, commands, event = made.local(BYTES), made.list(), made.event()
    launch(commands, kernel(made, "put", memory), 1, signal=event)
    barrier(commands, waits=[event])
    launch(commands, kernel(made, "add", memory), 1)
    submit(made.queue(), close_list(commands))


@right
def a_wait_that_holds_up_what_follows(made: KernelBench) -> None:
    memory, commands, event = made.local(BYTES), made.list(), made.event()
    launch(commands, kernel(made, "put", memory), 1, signal=event)
    waits = (ctypes.c_void_p * 1)(event)
    check(ze.zeCommandListAppendWaitOnEvents(commands, 1, waits))
    launch(commands, kernel(made, "add", memory), 1)
    submit(made.queue(), close_list(commands))


@right
def a_list_after_another_on_a_queue(made: KernelBench) -> None:
    memory, queue = made.local(BYTES), made.queue()
    for _ in range(3):
        commands = made.list()
        launch(commands, kernel(made, "add", memory), 1)
        submit(queue, close_list(commands))
    finish_queue(queue)


@right
def counter_events_between_lists(made: KernelBench) -> None:
    memory, event = made.local(BYTES), made.counter_event()
    one, two = made.immediate(in_order=True), made.immediate(in_order=True)
    for _ in range(3):
        launch(one, kernel(made, "add", memory), 1, signal=event)
        launch(two, kernel(made, "add", memory), 1, signal=event, waits=[event])
        launch(one, kernel(made, "add", memory), 1, waits=[event])
        finish(one)


@right
def counter_events_of_a_list_that_runs_twice(made: KernelBench) -> None:
    memory = made.local(BYTES)
    event = made.counter_event(ze.ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE)
    queue, commands, two = made.queue(), made.list(in_order=True), made.immediate(in_order=True)
    launch(commands, kernel(made, "add", memory), 1, signal=event)
    close_list(commands)
    for _ in range(2):
        submit(queue, commands)
        launch(two, kernel(made, "add", memory), 1, waits=[event])
        finish(two)


@right
def an_event_is_reset_and_used_again(made: KernelBench) -> None:
    memory, event = made.local(BYTES), made.event()
    one, two = made.immediate(in_order=True), made.immediate(in_order=True)
    for _ in range(3):
        launch(one, kernel(made, "add", memory), 1, signal=event)
        launch(two, kernel(made, "add", memory), 1, waits=[event])
        finish(two)
        check(ze.zeEventHostReset(event))


@right
def memory_that_is_used_again(made: KernelBench) -> None:
    for _ in range(4):
        memory, commands = made.local(BYTES), made.immediate(in_order=True)
        launch(commands, kernel(made, "put", memory), 1)
        finish(commands)
        made.end(memory)
    launch(made.immediate(), kernel(made, "put", made.local(BYTES)), 1)


@right
def several_contexts(made: KernelBench) -> None:
    with bench() as other:
        for each in (made, other):
            launch(each.immediate(), kernel(each, "put", each.local(BYTES)), 1)


@right
def a_flag_that_says_that_there_are_data(made: KernelBench) -> None:
    data, flag, out = made.local(BYTES), made.shared(4), made.local(BYTES)
    commands = made.immediate()
    fill(commands, flag, b"\0", 4)
    finish(commands)
    launch(made.immediate(), kernel(made, "publish", data, flag), 1)
    launch(made.immediate(), kernel(made, "look", out, data, flag), 1)


@right
def a_graph_in_order(made: KernelBench) -> None:
    memory, commands = made.local(BYTES), made.immediate(in_order=True)
    with graphs.recorded(made, commands) as recording:
        launch(commands, kernel(made, "put", memory), 1)
        launch(commands, kernel(made, "add", memory), 1)
    executable = graphs.instantiate(made, recording.graph)
    graphs.replay(commands, executable, times=3)


@right
def two_lists_of_a_graph(made: KernelBench) -> None:
    memory, fork, join = made.local(BYTES), made.counter_event(), made.counter_event()
    one, two = made.immediate(in_order=True), made.immediate(in_order=True)
    with graphs.recorded(made, one) as recording:
        launch(one, kernel(made, "put", memory), 1, signal=fork)
        launch(two, kernel(made, "add", memory), 1, waits=[fork], signal=join)
        launch(one, kernel(made, "add", memory), 1, waits=[join])
    graphs.replay(one, graphs.instantiate(made, recording.graph), times=2)


@right
def rows_between_rows(made: KernelBench) -> None:
    memory, host = made.local(64 * 64), made.host(64 * 64)
    copy_rows(made.immediate(), memory, host)
    fill(made.immediate(), memory + 16, b"\0", 48)


@right
def a_copy_after_the_kernel_that_it_waits_for(made: KernelBench) -> None:
    memory, host, event = made.local(BYTES), made.host(BYTES), made.event()
    launch(made.immediate(), kernel(made, "put", memory), 1, signal=event)
    copy(made.immediate(ordinal=0), host, memory, BYTES, waits=[event])


if __name__ == "__main__":
    CASES.run_one_by_one()
