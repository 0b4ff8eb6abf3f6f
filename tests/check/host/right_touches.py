"""Programs that have device memory read and written for them, and touch only what is theirs."""

from __future__ import annotations

import ctypes

import numpy as np

from groundstate import ze
from tests.check.host.cases import Cases, copy_kernel
from tests.conftest import check
from tests.driver.kernels import KernelBench, launch
from tests.driver.support import FOREVER, copy, fill, finish, view

CASES = Cases()
right = CASES.expect()


@right
def shared_and_host_memory(made: KernelBench) -> None:
    for memory in (made.shared(4096), made.host(4096)):
        view(memory, 4096)[:] = 1


@right
def copies_to_the_host(made: KernelBench) -> None:
    memory, host, commands = made.local(4096), np.zeros(4096, np.uint8), made.immediate()
    fill(commands, memory, b"\3", 4096)
    finish(commands)
    copy(commands, host.ctypes.data, memory, 4096)
    finish(commands)
    assert host[4095] == 3


@right
def kernels_on_several_lists(made: KernelBench) -> None:
    source = made.local(64)
    for _ in range(4):
        launch(made.immediate(), copy_kernel(made, made.local(64), source), 1)


@right
def a_pattern_in_host_memory(made: KernelBench) -> None:
    memory, commands, event = made.local(1 << 20), made.immediate(), made.event()
    fill(commands, memory, b"\1\2", 1 << 20, signal=event)
    check(ze.zeEventHostSynchronize(event, FOREVER))


@right
def memory_that_is_freed_becomes_others(made: KernelBench) -> None:
    for _ in range(8):
        made.end(made.local(4096))
        shared = made.shared(4096)
        view(shared, 4096)[:] = 1
        made.end(shared)


@right
def questions_about_memory(made: KernelBench) -> None:
    memory = made.local(4096)
    base, size = ctypes.c_void_p(), ctypes.c_size_t()
    by = ctypes.byref
    check(ze.zeMemGetAddressRange(made.context, memory, by(base), by(size)))
    assert (base.value, size.value >= 4096) == (memory, True)


if __name__ == "__main__":
    CASES.run_one_by_one()
