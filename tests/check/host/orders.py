"""Kernels and short ways for the programs whose commands are ordered, or not."""

from __future__ import annotations

import ctypes
import functools

from groundstate import ze
from groundstate.compiler.opencl import frontend
from tests.conftest import check
from tests.driver.kernels import KernelBench

ITEMS = 64
BYTES = ITEMS * 4
MANY = 4096
"""Groups, with more work-items than get a footprint if their list is the only one."""
KIND = "race-between-commands"
SOURCE = """
kernel void put(global int *a) { a[get_global_id(0)] = get_global_id(0); }
kernel void add(global int *a) { a[get_global_id(0)] += 1; }
kernel void move(global int *to, global const int *from) {
    to[get_global_id(0)] = from[get_global_id(0)];
}
kernel void reverse(global int *to, global const int *from) {
    to[get_global_id(0)] = from[get_global_size(0) - 1 - get_global_id(0)];
}
kernel void even(global int *a) { a[2 * get_global_id(0)] = 1; }
kernel void odd(global int *a) { a[2 * get_global_id(0) + 1] = 1; }
kernel void some(global int *a, long first, long last) {
    if (get_global_id(0) >= first && get_global_id(0) < last) a[get_global_id(0)] = 7;
}
kernel void some_bytes(global uchar *a, long first, long last) {
    if (get_global_id(0) >= first && get_global_id(0) < last) a[get_global_id(0)] = 7;
}
kernel void count(global int *a) { atomic_inc((volatile global int *)a); }
kernel void set_first(global int *a) { if (get_global_id(0) == 0) a[0] = 5; }
kernel void through(global ulong *table) {
    global int *a = (global int *)table[0];
    a[get_global_id(0)] = 3;
}
kernel void look(global int *out, global int *data, global int *flag) {
    if (atomic_load_explicit((volatile global atomic_int *)flag, memory_order_acquire,
                             memory_scope_device))
        out[get_global_id(0)] = data[get_global_id(0)];
}
kernel void publish(global int *data, global int *flag) {
    data[get_global_id(0)] = 9;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (get_global_id(0) == 0)
        atomic_store_explicit((volatile global atomic_int *)flag, 1, memory_order_release,
                              memory_scope_device);
}
kernel void publish_at_end(global int *data, global int *flag) {
    data[get_global_id(0)] = 9;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (get_global_id(0) == get_global_size(0) - 1)
        atomic_store_explicit((volatile global atomic_int *)flag, 1, memory_order_release,
                              memory_scope_device);
}
"""


@functools.cache
def _binary() -> bytes:
    return bytes(frontend.compile_opencl(SOURCE, options=["-cl-std=CL2.0", "-g"]))


def kernel(made: KernelBench, name: str, *arguments: object) -> int:
    """A kernel that runs in groups of all work-items."""
    return made.kernel_in(made.module_of(_binary()), name, *arguments, size=(ITEMS, 1, 1))


def copy_rows(commands: int, to: int, source: int) -> None:
    """Copies eight rows of 16 bytes, of images that are 64 bytes wide."""
    region = ze.ze_copy_region_t(0, 0, 0, 16, 8, 1)
    where = ctypes.byref(region)
    check(
        ze.zeCommandListAppendMemoryCopyRegion(
            commands, to, where, 64, 0, source, where, 64, 0, None, 0, None
        )
    )
