"""What the SYCL programs here compute: a chain of launches, and what NumPy says of it."""

from __future__ import annotations

import ctypes
from pathlib import Path

import dpctl
import dpctl.memory
import dpctl.program
import numpy as np

ITEMS, GROUP, ROUNDS = 4096, 64, 20


def kernel_of(queue: dpctl.SyclQueue, spirv: str, name: str = "step") -> dpctl.program.SyclKernel:
    """A kernel of a module; the one that is computed with, unless another is named."""
    program = dpctl.program.create_program_from_spirv(queue, Path(spirv).read_bytes())
    return program.get_sycl_kernel(name)


def computed(queue: dpctl.SyclQueue, kernel: dpctl.program.SyclKernel, start: int) -> np.ndarray:
    """Numbers after some rounds on the device, in an allocation of its own."""
    memory = dpctl.memory.MemoryUSMShared(ITEMS * 4, queue=queue)
    numbers = np.ndarray(ITEMS, np.uint32, buffer=memory)
    numbers[:] = start
    done = []
    for by in range(ROUNDS):
        arguments = [memory, ctypes.c_uint(by)]
        done = [queue.submit_async(kernel, arguments, [ITEMS], [GROUP], done)]
    done[0].wait()
    return numbers.copy()


def expected(start: int) -> np.ndarray:
    """The same by NumPy."""
    numbers = np.full(ITEMS, start, np.uint32)
    for by in range(ROUNDS):
        numbers = numbers * np.uint32(3) + np.uint32(by) + np.arange(ITEMS, dtype=np.uint32)
    return numbers


def check(spirv: str, start: int) -> None:
    """All of it in a process that has done nothing with SYCL yet."""
    queue = dpctl.SyclQueue()
    assert np.array_equal(computed(queue, kernel_of(queue, spirv), start), expected(start))
