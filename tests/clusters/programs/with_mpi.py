"""A rank of an MPI program with a device of its own: sums what all of them have in USM."""

from __future__ import annotations

import json
import os

os.environ["ZE_AFFINITY_MASK"] = os.environ.get("MPI_LOCALRANKID", os.environ["PMI_RANK"])

import dpctl
import dpctl.memory
import numpy
from mpi4py import MPI

COUNT = 1000
comm = MPI.COMM_WORLD
queue = dpctl.SyclQueue("level_zero:gpu")

sums = {}
for name in ("Shared", "Host"):
    usm = getattr(dpctl.memory, f"MemoryUSM{name}")(8 * COUNT, queue=queue)
    numbers = numpy.ndarray(COUNT, "f8", buffer=usm)
    numbers[:] = comm.rank + 1
    comm.Allreduce(MPI.IN_PLACE, numbers)
    sums[name] = sorted(set(numbers.tolist()))

device = dpctl.memory.MemoryUSMDevice(8 * COUNT, queue=queue)
device.copy_from_host(numpy.full(COUNT, comm.rank + 1.0).view("u1"))
copied, total = numpy.empty(8 * COUNT, "u1"), numpy.empty(COUNT)
device.copy_to_host(copied)
comm.Allreduce(copied.view("f8"), total)
device.copy_from_host(total.view("u1"))
device.copy_to_host(copied)
sums["Device"] = sorted(set(copied.view("f8").tolist()))

seen = {
    "rank": comm.rank,
    "devices": len(dpctl.get_devices(backend="level_zero")),
    "memory": queue.sycl_device.global_mem_size,
    "sums": sums,
}
found = comm.gather(seen)
if comm.rank == 0:
    print(json.dumps(found))
