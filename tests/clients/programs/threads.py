"""Threads that share a queue, and threads that share a context; prints the default device first."""

import sys
from concurrent.futures import ThreadPoolExecutor

import dpctl
import numpy as np
from numbers_in_sycl import computed, expected, kernel_of

THREADS, TURNS = 4, 3

shared = dpctl.SyclQueue()
kernel = kernel_of(shared, sys.argv[1])
own = [dpctl.SyclQueue(shared.sycl_context, shared.sycl_device) for _ in range(THREADS)]


def work(thread: int) -> bool:
    """Half of the turns on the queue of all threads, half on one of its own."""
    equal = True
    for turn in range(TURNS):
        for queue in (shared, own[thread]):
            start = thread * 100 + turn
            equal &= np.array_equal(computed(queue, kernel, start), expected(start))
    return equal


print(shared.sycl_device.filter_string, shared.sycl_device.name)
with ThreadPoolExecutor(THREADS) as pool:
    assert all(pool.map(work, range(THREADS)))
print("equal")
