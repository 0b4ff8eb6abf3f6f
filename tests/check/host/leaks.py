"""A program that leaves one of everything; each by a function that is named after it."""

from __future__ import annotations

import ctypes
import os
import sys

import groundstate as gs
from groundstate import ze
from tests.check.host.cases import copy_kernel, new_bench
from tests.conftest import check
from tests.driver.images.images import image
from tests.driver.kernels import KernelBench


def context(made: KernelBench) -> None:
    """Which was made with the workbench."""


def command_queue(made: KernelBench) -> None:
    made.queue()


def command_list(made: KernelBench) -> None:
    for _ in range(3):
        made.list()


def event_pool_and_event(made: KernelBench) -> None:
    made.event()


def fence(made: KernelBench) -> None:
    queue = made.queue()
    made.fence(queue)


def module_and_kernel(made: KernelBench) -> None:
    copy_kernel(made)


def device_memory(made: KernelBench) -> None:
    for _ in range(2):
        made.local(1000)


def host_memory(made: KernelBench) -> None:
    made.host(24)


def image_left(made: KernelBench) -> None:
    image(made, "2D", (8, 8))


def sampler(made: KernelBench) -> None:
    made._made(
        ze.zeSamplerDestroy,
        ze.zeSamplerCreate,
        made.context,
        made.device,
        ctypes.byref(ze.ze_sampler_desc_t()),
    )


def physical_memory(made: KernelBench) -> None:
    description = ze.ze_physical_mem_desc_t(size=1 << 21)
    made._made(
        ze.zeEventDestroy,
        ze.zePhysicalMemCreate,
        made.context,
        made.device,
        ctypes.byref(description),
    )


def virtual_memory(made: KernelBench) -> None:
    made._made(ze.zeEventDestroy, ze.zeVirtualMemReserve, made.context, None, 1 << 21)


def memory_of_a_context_that_is_gone(made: KernelBench) -> None:
    other = new_bench()
    other.local(77)
    check(ze.zeContextDestroy(other.context))


MAKERS = (
    context, command_queue, command_list, event_pool_and_event, fence, module_and_kernel,
    device_memory, host_memory, image_left, sampler, physical_memory, virtual_memory,
    memory_of_a_context_that_is_gone,
)  # fmt: skip


if __name__ == "__main__":
    kept = gs.array([1, 2, 3])  # it is for Python to free
    bench = new_bench()
    for maker in MAKERS:
        maker(bench)
    if sys.argv[1:] == ["_exit"]:
        os._exit(0)
    if sys.argv[1:] == ["crash"]:
        os.abort()
