"""Programs that read and write what commands are done with, or what they do not use."""

from __future__ import annotations

import ctypes

from groundstate import ze
from tests.check.host.cases import Cases
from tests.check.host.orders import BYTES, ITEMS, MANY, kernel
from tests.conftest import check
from tests.driver.kernels import KernelBench, launch
from tests.driver.support import FOREVER, close_list, copy, fill, finish, is_signalled, submit, view

CASES = Cases()
right = CASES.expect()


@right
def after_the_list(made: KernelBench) -> None:
    memory, commands = made.shared(BYTES), made.immediate()
    for _ in range(3):
        launch(commands, kernel(made, "add", memory), 1)
        finish(commands)
        view(memory, BYTES)[0] += 1


@right
def after_an_event(made: KernelBench) -> None:
    memory, event = made.shared(BYTES), made.event()
    launch(made.immediate(), kernel(made, "put", memory), 1, signal=event)
    check(ze.zeEventHostSynchronize(event, FOREVER))
    view(memory, BYTES)[0] += 1


@right
def after_asking_for_an_event(made: KernelBench) -> None:
    memory, event = made.shared(BYTES), made.event()
    launch(made.immediate(), kernel(made, "put", memory), 1, signal=event)
    while not is_signalled(event):
        pass
    view(memory, BYTES)[0] += 1


@right
def after_a_fence(made: KernelBench) -> None:
    memory, commands, queue = made.shared(BYTES), made.list(), made.queue()
    fence = made.fence(queue)
    launch(commands, kernel(made, "put", memory), 1)
    close_list(commands)
    submit(queue, commands, fence=fence)
    check(ze.zeFenceHostSynchronize(fence, FOREVER))
    view(memory, BYTES)[0] += 1


@right
def both_read(made: KernelBench) -> None:
    to, source = made.local(BYTES), made.shared(BYTES)
    view(source, BYTES)[:] = 5
    launch(made.immediate(), kernel(made, "move", to, source), 1)
    assert view(source, BYTES)[5] == 5


@right
def the_other_half(made: KernelBench) -> None:
    memory = made.shared(BYTES)
    launch(made.immediate(), kernel(made, "some", memory, 0, ITEMS // 2), 1)
    view(memory, BYTES)[BYTES // 2 :] = 1


@right
def other_memory(made: KernelBench) -> None:
    launch(made.immediate(), kernel(made, "put", made.shared(BYTES)), 1)
    view(made.shared(BYTES), BYTES)[:] = 1


@right
def before_it_is_submitted(made: KernelBench) -> None:
    memory, commands = made.shared(BYTES), made.list()
    launch(commands, kernel(made, "add", memory), 1)
    close_list(commands)
    view(memory, BYTES)[:] = 1
    queue = made.queue()
    submit(queue, commands)
    check(ze.zeCommandQueueSynchronize(queue, FOREVER))
    view(memory, BYTES)[:] = 2


@right
def behind_what_came_later(made: KernelBench) -> None:
    memory, commands, event = made.host(BYTES), made.immediate(in_order=True), made.event()
    copy(commands, memory, made.local(BYTES), BYTES)
    fill(commands, made.local(64), b"\0", 64, signal=event)
    check(ze.zeEventHostSynchronize(event, FOREVER))
    view(memory, BYTES)[0] = 1


@right
def counters_that_the_program_looks_at(made: KernelBench) -> None:
    memory = made.host(4)
    view(memory, 4)[:] = 0
    launch(made.immediate(), kernel(made, "count", memory), 1)
    assert ctypes.c_uint.from_address(memory).value <= ITEMS


@right
def a_flag_that_is_released(made: KernelBench) -> None:
    data, flag = made.shared(BYTES), made.shared(4)
    view(flag, 4)[:] = 0
    launch(made.immediate(), kernel(made, "publish", data, flag), 1)
    while ctypes.c_uint.from_address(flag).value == 0:
        pass
    assert view(data, BYTES)[0] == 9


@right
def memory_that_is_used_again(made: KernelBench) -> None:
    commands = made.immediate()
    launch(commands, kernel(made, "put", made.shared(BYTES)), 1)
    finish(commands)
    for _ in range(3):
        view(made.shared(BYTES), BYTES)[:] = 1


@right
def a_large_result_is_waited_for(made: KernelBench) -> None:
    memory, commands = made.shared(MANY * BYTES), made.immediate(in_order=True)
    for _ in range(2):
        launch(commands, kernel(made, "add", memory), MANY)
    finish(commands)
    int(view(memory, MANY * BYTES)[0])


@right
def what_a_large_launch_leaves_alone(made: KernelBench) -> None:
    memory = made.shared(MANY * BYTES)
    launch(made.immediate(in_order=True), kernel(made, "some", memory, 16, MANY * ITEMS), MANY)
    view(memory, MANY * BYTES)[:64] = 1


@right
def a_large_launch_publishes(made: KernelBench) -> None:
    memory, flag = made.shared(MANY * BYTES), made.shared(4)
    launch(made.immediate(in_order=True), kernel(made, "publish_at_end", memory, flag), MANY)
    while int(view(flag, 4)[0]) == 0:
        pass
    int(view(memory, BYTES)[0])


if __name__ == "__main__":
    CASES.run_one_by_one()
