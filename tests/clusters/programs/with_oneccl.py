"""A rank of a oneCCL program with a device of its own: sums device memory of all ranks."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path

os.environ["ZE_AFFINITY_MASK"] = os.environ.get("MPI_LOCALRANKID", os.environ["PMI_RANK"])

import dpctl.memory
import numpy
from mpi4py import MPI

COUNT, FLOAT32, SUM = 1000, 7, 0


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 4096)]


oneccl = ctypes.CDLL(str(Path(sys.prefix) / "lib" / "libccl.so.2"))
pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
oneccl.onecclCommInitRank.argtypes = [pointer, size, UniqueId, number]
oneccl.onecclAllReduce.argtypes = [pointer, pointer, size, number, number, pointer, pointer]


def check(result: int) -> None:
    """Ends the rank with its number if a call failed."""
    if result:
        sys.exit(f"oneCCL: result {result}")


comm = MPI.COMM_WORLD
check(oneccl.onecclSetDevice(0))
identity, group = UniqueId(), ctypes.c_void_p()
if comm.rank == 0:
    check(oneccl.onecclGetUniqueId(ctypes.byref(identity)))
identity = UniqueId.from_buffer_copy(comm.bcast(bytes(identity)))
check(oneccl.onecclCommInitRank(ctypes.byref(group), comm.size, identity, comm.rank))

queue = dpctl.SyclQueue("level_zero:gpu")
memory = dpctl.memory.MemoryUSMDevice(4 * COUNT, queue=queue)
memory.copy_from_host(numpy.full(COUNT, comm.rank + 1, "f4").view("u1"))
address = memory._pointer
stream = queue.addressof_ref()
check(oneccl.onecclAllReduce(address, address, COUNT, FLOAT32, SUM, group, stream))
queue.wait()
copied = numpy.empty(4 * COUNT, "u1")
memory.copy_to_host(copied)
found = comm.gather(sorted(set(copied.view("f4").tolist())))
if comm.rank == 0:
    print(json.dumps(found))
