"""Programs that wait for what never comes, all at the same time. Each gives up after a while."""

from __future__ import annotations

from groundstate import ze
from tests.check.host.cases import SECOND, Cases
from tests.conftest import check
from tests.driver.kernels import KernelBench
from tests.driver.support import barrier, close_list, submit
from tests.patience import FACTOR

CASES = Cases()
expect = CASES.expect
PATIENCE = int(3 * SECOND * FACTOR)
"""An emulator does not tell which threads wait, so that the checker gives them ten seconds."""


def wait(event: int) -> None:
    assert ze.zeEventHostSynchronize(event, PATIENCE) == ze.ZE_RESULT_NOT_READY


@expect("wait-without-signal")
def nothing_signals(made: KernelBench) -> None:
    wait(made.event())


@expect("wait-for-unexecuted-list")
def the_list_is_never_executed(made: KernelBench) -> None:
    event, commands = made.event(), made.list()
    barrier(commands, signal=event)
    close_list(commands)
    wait(event)


@expect("wait-for-unexecuted-list")
def the_list_of_a_counter_event_is_never_executed(made: KernelBench) -> None:
    event = made.counter_event(ze.ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE)
    commands = made.list(in_order=True)
    barrier(commands, signal=event)
    close_list(commands)
    wait(event)


@expect("wait-for-open-list")
def the_list_is_never_closed(made: KernelBench) -> None:
    event, commands = made.event(), made.list()
    barrier(commands, signal=event)
    wait(event)


@expect("wait-for-discarded-list")
def the_list_is_reset(made: KernelBench) -> None:
    event, commands = made.event(), made.list()
    barrier(commands, signal=event)
    close_list(commands)
    check(ze.zeCommandListReset(commands))
    wait(event)


@expect("wait-for-discarded-list")
def the_list_is_destroyed(made: KernelBench) -> None:
    event, commands = made.event(), made.list()
    barrier(commands, signal=event)
    made.end(close_list(commands))
    wait(event)


@expect("wait-after-reset")
def the_event_is_reset(made: KernelBench) -> None:
    event, commands = made.event(), made.immediate()
    barrier(commands, signal=event)
    check(ze.zeCommandListHostSynchronize(commands, PATIENCE))
    check(ze.zeEventHostReset(event))
    wait(event)


@expect("wait-after-reset")
def the_device_resets_the_event(made: KernelBench) -> None:
    event, commands = made.event(), made.immediate()
    barrier(commands, signal=event)
    check(ze.zeCommandListAppendEventReset(commands, event))
    check(ze.zeCommandListHostSynchronize(commands, PATIENCE))
    wait(event)


@expect("wait-without-signal")
def the_fence_is_given_to_nothing(made: KernelBench) -> None:
    fence = made.fence(made.queue())
    assert ze.zeFenceHostSynchronize(fence, PATIENCE) == ze.ZE_RESULT_NOT_READY


@expect("wait-after-reset")
def the_fence_is_reset(made: KernelBench) -> None:
    queue = made.queue()
    fence = made.fence(queue)
    submit(queue, close_list(made.list()), fence=fence)
    check(ze.zeCommandQueueSynchronize(queue, PATIENCE))
    check(ze.zeFenceReset(fence))
    assert ze.zeFenceHostSynchronize(fence, PATIENCE) == ze.ZE_RESULT_NOT_READY


@expect("wait-without-signal")
def the_queue_waits_for_nothing(made: KernelBench) -> None:
    queue, commands = made.queue(), made.list()
    barrier(commands, waits=[made.event()])
    submit(queue, close_list(commands))
    assert ze.zeCommandQueueSynchronize(queue, PATIENCE) == ze.ZE_RESULT_NOT_READY


@expect("wait-for-open-list")
def the_immediate_list_waits_for_an_open_list(made: KernelBench) -> None:
    event, commands, later = made.event(), made.immediate(), made.list()
    barrier(later, signal=event)
    barrier(commands, waits=[event])
    assert ze.zeCommandListHostSynchronize(commands, PATIENCE) == ze.ZE_RESULT_NOT_READY


@expect("deadlock")
def two_queues_wait_for_each_other(made: KernelBench) -> None:
    first, second = made.events(2)
    queues, lists = [made.queue(), made.queue()], [made.list(), made.list()]
    barrier(lists[0], waits=[first])
    barrier(lists[0], signal=second)
    barrier(lists[1], waits=[second])
    barrier(lists[1], signal=first)
    for queue, commands in zip(queues, lists, strict=True):
        submit(queue, close_list(commands))
    assert ze.zeCommandQueueSynchronize(queues[0], PATIENCE) == ze.ZE_RESULT_NOT_READY


@expect("deadlock")
def a_list_waits_for_its_own_end(made: KernelBench) -> None:
    event, commands = made.event(), made.immediate()
    barrier(commands, waits=[event])
    barrier(commands, signal=event)
    wait(event)


if __name__ == "__main__":
    CASES.run_together()
