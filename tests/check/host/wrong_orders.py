"""Programs with two commands that access the same memory, and nothing that orders them."""

from __future__ import annotations

from groundstate import ze
from tests.check.host.cases import Cases
from tests.check.host.orders import BYTES, ITEMS, KIND, copy_rows, kernel
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
    submit,
    view,
)

CASES = Cases()
wrong = CASES.expect(KIND)


@wrong
def two_lists_write(made: KernelBench) -> None:
    memory = made.local(BYTES)
    for _ in range(2):
        launch(made.immediate(in_order=True), kernel(made, "put", memory), 1)


@wrong
def the_reader_does_not_wait(made: KernelBench) -> None:
    memory, out = made.local(BYTES), made.local(BYTES)
    launch(made.immediate(in_order=True), kernel(made, "put", memory), 1)
    launch(made.immediate(in_order=True), kernel(made, "move", out, memory), 1)


@wrong
def the_writer_does_not_wait_for_the_reader(made: KernelBench) -> None:
    memory, out = made.local(BYTES), made.local(BYTES)
    launch(made.immediate(in_order=True), kernel(made, "move", out, memory), 1)
    launch(made.immediate(in_order=True), kernel(made, "put", memory), 1)


@wrong
def two_queues(made: KernelBench) -> None:
    memory = made.local(BYTES)
    for _ in range(2):
        commands = made.list()
        launch(commands, kernel(made, "add", memory), 1)
        submit(made.queue(), close_list(commands))


@wrong
def one_list_without_a_barrier(made: KernelBench) -> None:
    memory, out, commands = made.local(BYTES), made.local(BYTES), made.list()
    launch(commands, kernel(made, "put", memory), 1)
    launch(commands, kernel(made, "move", out, memory), 1)
    submit(made.queue(), close_list(commands))


@wrong
def an_immediate_list_without_a_barrier(made: KernelBench) -> None:
    memory, commands = made.local(BYTES), made.immediate()
    launch(commands, kernel(made, "put", memory), 1)
    launch(commands, kernel(made, "add", memory), 1)


@wrong
def a_barrier_that_waits_for_something_else(made: KernelBench) -> None:
    memory, other, commands, event = made.local(BYTES), made.local(4), made.list(), made.event()
    fill(commands, other, b"\0", 4, signal=event)
    launch(commands, kernel(made, "put", memory), 1)
    barrier(commands, waits=[event])
    launch(commands, kernel(made, "add", memory), 1)
    submit(made.queue(), close_list(commands))


@wrong
def the_wrong_event(made: KernelBench) -> None:
    memory, other = made.local(BYTES), made.local(BYTES)
    first, second = made.events(2)
    one, two = made.immediate(in_order=True), made.immediate(in_order=True)
    launch(one, kernel(made, "put", other), 1, signal=first)
    launch(one, kernel(made, "put", memory), 1, signal=second)
    launch(two, kernel(made, "add", memory), 1, waits=[first])


@wrong
def one_event_of_two(made: KernelBench) -> None:
    memory, out, commands = made.local(2 * BYTES), made.local(2 * BYTES), made.list()
    first, second = made.events(2)
    launch(commands, kernel(made, "put", memory), 1, signal=first)
    launch(commands, kernel(made, "put", memory + BYTES), 1, signal=second)
    copy(commands, out, memory, 2 * BYTES, waits=[second])
    submit(made.queue(), close_list(commands))


@wrong
def a_copy_reads_what_a_kernel_writes(made: KernelBench) -> None:
    memory, host = made.local(BYTES), made.host(BYTES)
    launch(made.immediate(in_order=True), kernel(made, "put", memory), 1)
    copy(made.immediate(in_order=True), host, memory, BYTES)


@wrong
def a_copy_writes_what_a_kernel_reads(made: KernelBench) -> None:
    memory, host, out = made.local(BYTES), made.host(BYTES), made.local(BYTES)
    copy(made.immediate(in_order=True), memory, host, BYTES)
    launch(made.immediate(in_order=True), kernel(made, "reverse", out, memory), 1)


@wrong
def two_copies(made: KernelBench) -> None:
    memory, other = made.local(4096), made.local(4096)
    copy(made.immediate(in_order=True), memory, other, 4096)
    copy(made.immediate(in_order=True), other, memory, 4096)


@wrong
def a_fill_and_a_kernel(made: KernelBench) -> None:
    memory = made.local(BYTES)
    fill(made.immediate(in_order=True), memory, b"\0\0\0\0", BYTES)
    launch(made.immediate(in_order=True), kernel(made, "add", memory), 1)


@wrong
def two_fills_that_overlap(made: KernelBench) -> None:
    memory = made.local(4096)
    fill(made.immediate(), memory, b"\1", 2049)
    fill(made.immediate(), memory + 2048, b"\2", 2048)


@wrong
def halves_that_share_an_element(made: KernelBench) -> None:
    memory = made.local(BYTES)
    launch(made.immediate(), kernel(made, "some", memory, 0, 33), 1)
    launch(made.immediate(), kernel(made, "some", memory, 32, ITEMS), 1)


@wrong
def halves_that_share_a_byte(made: KernelBench) -> None:
    memory = made.local(ITEMS)
    launch(made.immediate(), kernel(made, "some_bytes", memory, 0, 30), 1)
    launch(made.immediate(), kernel(made, "some_bytes", memory, 29, ITEMS), 1)


@wrong
def every_other_element_and_one_of_the_rest(made: KernelBench) -> None:
    memory = made.local(2 * BYTES)
    launch(made.immediate(), kernel(made, "even", memory), 1)
    launch(made.immediate(), kernel(made, "some", memory, 10, 11), 1)


@wrong
def atomics_and_a_plain_write(made: KernelBench) -> None:
    memory = made.local(4)
    launch(made.immediate(), kernel(made, "count", memory), 1)
    launch(made.immediate(), kernel(made, "set_first", memory), 1)


@wrong
def a_copy_reads_a_counter(made: KernelBench) -> None:
    memory, host = made.local(4), made.host(4)
    launch(made.immediate(), kernel(made, "count", memory), 1)
    copy(made.immediate(), host, memory, 4)


@wrong
def a_pointer_in_memory(made: KernelBench) -> None:
    memory, table = made.local(BYTES), made.shared(8)
    view(table, 8)[:] = list(memory.to_bytes(8, "little"))
    launch(made.immediate(), kernel(made, "through", table), 1)
    launch(made.immediate(), kernel(made, "put", memory), 1)


@wrong
def a_list_runs_on_two_queues_in_turn(made: KernelBench) -> None:
    memory, commands, fence_queue = made.local(BYTES), made.list(in_order=True), made.queue()
    launch(commands, kernel(made, "add", memory), 1)
    close_list(commands)
    other = made.list(in_order=True)
    launch(other, kernel(made, "add", memory), 1)
    submit(fence_queue, commands, fence=made.fence(fence_queue))
    submit(made.queue(), close_list(other))


@wrong
def the_host_waits_for_the_other_queue(made: KernelBench) -> None:
    memory, other = made.local(BYTES), made.local(BYTES)
    one, two = made.immediate(in_order=True), made.immediate(in_order=True)
    launch(one, kernel(made, "put", memory), 1)
    launch(two, kernel(made, "put", other), 1)
    finish(two)
    launch(two, kernel(made, "add", memory), 1)


@wrong
def the_host_waits_too_late(made: KernelBench) -> None:
    memory = made.local(BYTES)
    one, two = made.immediate(in_order=True), made.immediate(in_order=True)
    launch(one, kernel(made, "put", memory), 1)
    event = made.event()
    launch(two, kernel(made, "add", memory), 1, waits=[event])
    check(ze.zeEventHostSignal(event))
    finish(one)
    finish(two)


@wrong
def a_counter_event_of_the_step_before(made: KernelBench) -> None:
    memory, other, event = made.local(BYTES), made.local(BYTES), made.counter_event()
    one, two = made.immediate(in_order=True), made.immediate(in_order=True)
    launch(one, kernel(made, "put", other), 1, signal=event)
    launch(two, kernel(made, "move", other, other + 0), 1, waits=[event])
    launch(one, kernel(made, "put", memory), 1)
    launch(two, kernel(made, "add", memory), 1)


@wrong
def a_signal_that_waits_for_nobody(made: KernelBench) -> None:
    memory, commands, event = made.local(BYTES), made.list(), made.event()
    launch(commands, kernel(made, "put", memory), 1)
    check(ze.zeCommandListAppendSignalEvent(commands, event))
    submit(made.queue(), close_list(commands))
    launch(made.immediate(), kernel(made, "add", memory), 1, waits=[event])


@wrong
def rows_that_touch(made: KernelBench) -> None:
    memory, host = made.local(64 * 64), made.host(64 * 64)
    copy_rows(made.immediate(), memory, host)
    fill(made.immediate(), memory + 64 + 15, b"\0", 1)


@CASES.expect(KIND, KIND)
def the_queue_is_not_waited_for(made: KernelBench) -> None:
    memory, out = made.shared(BYTES), made.local(BYTES)
    for turn in range(3):
        commands, queue = made.list(in_order=True), made.queue()
        launch(commands, kernel(made, "add", memory), 1)
        submit(queue, close_list(commands))
        if turn != 1:
            finish_queue(queue)
    copy(made.immediate(), out, memory, BYTES)


@wrong
def an_event_that_was_signalled_before(made: KernelBench) -> None:
    memory, event = made.local(BYTES), made.event()
    one, two = made.immediate(in_order=True), made.immediate(in_order=True)
    check(ze.zeEventHostSignal(event))
    check(ze.zeEventHostSynchronize(event, FOREVER))
    launch(one, kernel(made, "put", memory), 1)
    launch(two, kernel(made, "add", memory), 1, waits=[event])


@wrong
def two_lists_of_a_graph(made: KernelBench) -> None:
    memory, fork, join = made.local(BYTES), made.counter_event(), made.counter_event()
    one, two = made.immediate(in_order=True), made.immediate(in_order=True)
    other = made.local(4)
    with graphs.recorded(made, one) as recording:
        fill(one, other, b"\0", 4, signal=fork)
        launch(two, kernel(made, "add", memory), 1, waits=[fork], signal=join)
        launch(one, kernel(made, "put", memory), 1)
        barrier(one, waits=[join])
    graphs.replay(one, graphs.instantiate(made, recording.graph))


if __name__ == "__main__":
    CASES.run_one_by_one()
