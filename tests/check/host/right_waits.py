"""Programs that wait for long, and not in vain, all at the same time."""

from __future__ import annotations

import ctypes
import time

from groundstate import ze
from tests.check.host.cases import Cases
from tests.conftest import check
from tests.driver.kernels import KernelBench
from tests.driver.support import FOREVER, barrier, close_list, in_another_thread, submit

CASES = Cases()
right = CASES.expect()


@right
def the_host_signals_late(made: KernelBench) -> None:
    event = made.event()

    def signal() -> None:
        time.sleep(2)
        check(ze.zeEventHostSignal(event))

    with in_another_thread(signal):
        check(ze.zeEventHostSynchronize(event, FOREVER))


@right
def another_thread_submits_late(made: KernelBench) -> None:
    event, queue, commands = made.event(), made.queue(), made.list()
    barrier(commands, signal=event)
    close_list(commands)

    def work() -> None:
        time.sleep(1.5)
        submit(queue, commands)

    with in_another_thread(work):
        check(ze.zeEventHostSynchronize(event, FOREVER))


@right
def a_host_function_takes_long_and_signals(made: KernelBench) -> None:
    event, commands = made.event(), made.immediate()

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def work(_: object) -> None:
        time.sleep(1.5)
        check(ze.zeEventHostSignal(event))

    check(ze.zeCommandListAppendHostFunction(commands, work, None, None, None, 0, None))
    check(ze.zeEventHostSynchronize(event, FOREVER))


if __name__ == "__main__":
    CASES.run_together()
