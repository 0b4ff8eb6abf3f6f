"""Programs that read and write memory while nothing says that a command is done with it."""

from __future__ import annotations

import ctypes

from groundstate import ze
from tests.check.host.cases import Cases
from tests.check.host.orders import BYTES, ITEMS, MANY, copy_rows, kernel
from tests.conftest import check
from tests.driver.kernels import KernelBench, launch
from tests.driver.support import close_list, copy, fill, finish, submit, view

CASES = Cases()
wrong = CASES.expect("race-with-host")
BIG = 100_000


@wrong
def a_result_is_read_too_early(made: KernelBench) -> None:
    memory = made.shared(BYTES)
    launch(made.immediate(), kernel(made, "put", memory), 1)
    int(view(memory, BYTES)[0])


@wrong
def the_last_byte_of_host_memory(made: KernelBench) -> None:
    memory = made.host(BYTES)
    launch(made.immediate(), kernel(made, "put", memory), 1)
    int(view(memory, BYTES)[-1])


@wrong
def an_input_is_written_too_early(made: KernelBench) -> None:
    to, source = made.local(BYTES), made.shared(BYTES)
    launch(made.immediate(), kernel(made, "move", to, source), 1)
    view(source, BYTES)[5] = 1


@wrong
def a_copy_is_read_too_early(made: KernelBench) -> None:
    host = made.host(BIG)
    copy(made.immediate(), host, made.local(BIG), BIG)
    view(host, BIG)[BIG // 2] = 1


@wrong
def the_source_of_a_copy_is_written_too_early(made: KernelBench) -> None:
    host = made.host(BIG)
    copy(made.immediate(), made.local(BIG), host, BIG)
    view(host, BIG)[1] = 1


@wrong
def a_fill_is_read_too_early(made: KernelBench) -> None:
    memory = made.shared(BIG)
    fill(made.immediate(), memory, b"\7", BIG)
    int(view(memory, BIG)[9])


@wrong
def rows_are_read_too_early(made: KernelBench) -> None:
    host = made.host(4096)
    copy_rows(made.immediate(), host, made.local(4096))
    view(host, 4096)[64] = 1


@wrong
def a_large_result_is_read_too_early(made: KernelBench) -> None:
    memory = made.shared(MANY * BYTES)
    launch(made.immediate(in_order=True), kernel(made, "put", memory), MANY)
    int(view(memory, MANY * BYTES)[0])


@wrong
def a_large_input_is_written_too_early(made: KernelBench) -> None:
    to, source = made.local(MANY * BYTES), made.shared(MANY * BYTES)
    launch(made.immediate(in_order=True), kernel(made, "move", to, source), MANY)
    view(source, MANY * BYTES)[MANY // 2 * BYTES] = 1


@wrong
def another_list_was_waited_for(made: KernelBench) -> None:
    memory, other = made.shared(BYTES), made.immediate()
    launch(made.immediate(), kernel(made, "put", memory), 1)
    fill(other, made.local(64), b"\0", 64)
    finish(other)
    int(view(memory, BYTES)[0])


@wrong
def a_closed_list_is_not_waited_for(made: KernelBench) -> None:
    memory, commands = made.shared(BYTES), made.list()
    launch(commands, kernel(made, "put", memory), 1)
    close_list(commands)
    submit(made.queue(), commands)
    int(view(memory, BYTES)[0])


@wrong
def the_event_of_an_earlier_command(made: KernelBench) -> None:
    memory, event, commands = made.shared(BYTES), made.event(), made.immediate()
    launch(commands, kernel(made, "put", made.local(BYTES)), 1, signal=event)
    launch(commands, kernel(made, "put", memory), 1)
    check(ze.zeEventHostSynchronize(event, 2**64 - 1))
    int(view(memory, BYTES)[0])


@wrong
def the_second_time(made: KernelBench) -> None:
    memory, commands = made.shared(BYTES), made.immediate()
    add = kernel(made, "add", memory)
    launch(commands, add, 1)
    finish(commands)
    view(memory, BYTES)[:] = 3
    launch(commands, add, 1)
    view(memory, BYTES)[8] = 4


@wrong
def one_of_two_halves(made: KernelBench) -> None:
    memory = made.shared(BYTES)
    launch(made.immediate(), kernel(made, "some", memory, ITEMS // 2, ITEMS), 1)
    view(memory, BYTES)[BYTES // 2] = 1


@wrong
def memory_is_copied_by_the_program(made: KernelBench) -> None:
    memory = made.shared(BYTES)
    launch(made.immediate(), kernel(made, "put", memory), 1)
    ctypes.memmove(ctypes.create_string_buffer(BYTES), memory, BYTES)


if __name__ == "__main__":
    CASES.run_one_by_one()
