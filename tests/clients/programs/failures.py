"""What goes wrong on the device is an exception of SYCL, and the process goes on."""

import ctypes
import sys
from pathlib import Path

import dpctl
import dpctl.memory
import dpctl.program
from numbers_in_sycl import check, kernel_of

spirv = sys.argv[1]
queue = dpctl.SyclQueue()


def failing(title, call):
    """Says which exception there was."""
    try:
        call()
    except Exception as problem:
        print(title, type(problem).__name__)
    else:
        print(title, "nothing")


def fault():
    """A kernel that is given an address where there is no memory."""
    kernel = kernel_of(queue, spirv)
    arguments = [ctypes.c_ulonglong(4096), ctypes.c_uint(1)]
    queue.submit_async(kernel, arguments, [64], [64]).wait()


def too_much_local_memory():
    """A kernel that asks for more than a group can have."""
    kernel = kernel_of(queue, spirv, "turn")
    arguments = [dpctl.memory.MemoryUSMShared(256, queue=queue), dpctl.WorkGroupMemory(1 << 30)]
    queue.submit_async(kernel, arguments, [64], [64]).wait()


cut = Path(spirv).read_bytes()[:-40]
failing("module", lambda: dpctl.program.create_program_from_spirv(queue, cut))
failing("memory", lambda: dpctl.memory.MemoryUSMDevice(1 << 50, queue=queue))
failing("local", too_much_local_memory)
check(spirv, 1)
failing("fault", fault)
failing("lost", lambda: dpctl.memory.MemoryUSMDevice(64, queue=queue))
print("end", flush=True)
