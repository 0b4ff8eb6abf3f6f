"""8. Sharing: two processes use the same memory and the same events, and a file is memory too.

This program starts itself a second time. The first process makes memory and a pool of events, and
hands the second one their handles: 64 bytes each, which may travel in any way (here, as words of
the command line). The second opens them, and from then on both see the same bytes.
"""

import mmap
import os
import subprocess
import sys

import groundstate as gs

COUNT = 1 << 16
READY, DONE = 0, 1

SOURCE = """
kernel void square(global const uint *numbers, global uint *squares) {
    size_t i = get_global_id(0);
    squares[i] = numbers[i] * numbers[i];
}
"""


def second_process(memory_handle: bytes, pool_handle: bytes) -> None:
    """Waits on its device until the numbers are there, squares them, and says so."""
    with gs.Context(gs.devices()[0]) as context:
        memory = context.open_ipc(memory_handle, (2, COUNT), "uint32")
        pool = gs.EventPool.open_ipc(context, pool_handle, 2)
        square = gs.Module(context, opencl=SOURCE).kernel("square")
        with gs.CommandList.immediate(context) as commands:
            numbers, squares = memory[0], memory[1]
            ready, done = pool.event(READY), pool.event(DONE)
            square(commands, COUNT // 64, 64, numbers, squares, wait=ready, signal=done)
        print("the second process has squared the numbers", flush=True)


def first_process() -> None:
    with gs.Context(gs.devices()[0]) as context:
        memory = context.alloc_host((2, COUNT), "uint32")
        pool = gs.EventPool(context, 2, ipc=True)
        ready, done = pool.event(READY), pool.event(DONE)
        handles = [memory.ipc_handle().hex(), pool.ipc_handle().hex()]
        other = subprocess.Popen([sys.executable, __file__, *handles])

        memory.numpy()[0] = range(COUNT)
        ready.signal()
        done.wait(timeout=60)
        other.wait()
        print("the first process sees them:", memory[1][:6].tolist())

        # Memory can also come and go as a file descriptor: for other APIs, or for programs that
        # have never heard of Level Zero. This is a plain file in memory.
        file = os.memfd_create("numbers")
        os.truncate(file, 4096)
        imported = context.import_fd(file, 1024, "float32")
        with gs.CommandList.immediate(context) as commands:
            commands.fill(imported, 0.5)
        with mmap.mmap(file, 4096) as mapped:
            print("the file holds", memoryview(mapped).cast("f")[0])
        os.close(file)

        # A semaphore of the system tells a program that polls, or sleeps in epoll, when it is time.
        counter = os.eventfd(0)
        finished = gs.ExternalSemaphore(context.devices[0], counter)
        with gs.CommandList.immediate(context, in_order=True) as commands:
            commands.fill(imported, 1.5)
            commands.signal_semaphores(finished)
            print("the device has signalled", os.eventfd_read(counter), "time")
        os.close(counter)


if len(sys.argv) > 1:
    second_process(bytes.fromhex(sys.argv[1]), bytes.fromhex(sys.argv[2]))
else:
    first_process()
