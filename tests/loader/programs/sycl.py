"""A SYCL program, for a Python that has dpctl: launches and copies, then says what is in memory.

The argument is the SPIR-V of numbered.cl. For each allocation it prints address, size and checksum.
"""

import ctypes
import sys
import zlib
from pathlib import Path

import dpctl
import dpctl.memory
import dpctl.program
import numpy as np

ITEMS, GROUP = 4096, 64

queue = dpctl.SyclQueue("level_zero", property="in_order")
program = dpctl.program.create_program_from_spirv(queue, Path(sys.argv[1]).read_bytes())
step, twist = program.get_sycl_kernel("step"), program.get_sycl_kernel("twist")
shared = dpctl.memory.MemoryUSMShared(ITEMS * 4, queue=queue)
host = dpctl.memory.MemoryUSMHost(ITEMS * 4, queue=queue)
device = dpctl.memory.MemoryUSMDevice(ITEMS * 4, queue=queue)
numbers = np.ndarray(ITEMS, np.uint32, buffer=shared)
others = np.ndarray(ITEMS, np.uint32, buffer=host)

device.copy_from_host((np.arange(ITEMS, dtype=np.uint32) ** 2).view(np.uint8))
for by in (3, 5):
    numbers[:] = np.arange(ITEMS) * by
    others[by] = 1000 + by
    queue.submit(step, [device, ctypes.c_uint(by)], [ITEMS], [GROUP])
    queue.submit(twist, [device, shared], [ITEMS], [GROUP])
    queue.submit(twist, [shared, host], [ITEMS], [GROUP])
    queue.wait()
for memory in (shared, host, device):
    print(hex(memory._pointer), memory.nbytes, zlib.crc32(memory.copy_to_host()))
