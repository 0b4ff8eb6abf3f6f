"""Programs that read or write device memory themselves, as on a discrete GPU they could not."""

from __future__ import annotations

import ctypes

import numpy as np

from tests.check.host.cases import Cases, copy_kernel
from tests.driver.kernels import KernelBench, launch
from tests.driver.support import copy, fill, finish, view

CASES = Cases()
wrong = CASES.expect("device-memory-touched")


@wrong
def fill_it_by_hand(made: KernelBench) -> None:
    view(made.local(4096), 4096)[:] = 1


@wrong
def read_a_result(made: KernelBench) -> None:
    to, source, commands = made.local(64), made.shared(64), made.immediate()
    launch(commands, copy_kernel(made, to, source), 1)
    finish(commands)
    assert view(to, 64)[0] == view(source, 64)[0]


@wrong
def read_the_last_byte(made: KernelBench) -> None:
    memory, commands = made.local(100_000), made.immediate()
    fill(commands, memory, b"\7", 100_000)
    finish(commands)
    assert int(view(memory, 100_000)[-1]) == 7


@wrong
def copy_by_hand(made: KernelBench) -> None:
    memory, host = made.local(4096), np.ones(4096, np.uint8)
    ctypes.memmove(memory, host.ctypes.data, 4096)


@wrong
def touch_it_between_two_commands(made: KernelBench) -> None:
    memory, commands = made.local(4096), made.immediate()
    for _ in range(2):
        fill(commands, memory, b"\0", 4096)
        finish(commands)
        view(memory, 4096)[0] += 1


@CASES.expect("device-memory-touched", "device-memory-touched")
def touch_two_allocations(made: KernelBench) -> None:
    one, other = made.local(4096), made.local(4096)
    view(one, 4096)[0] = 1
    view(other, 4096)[0] = 1
    copy(made.immediate(), one, other, 4096)


if __name__ == "__main__":
    CASES.run_one_by_one()
