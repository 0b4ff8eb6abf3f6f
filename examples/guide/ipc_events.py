"""A kernel of one process signals an event that another waits for.

The program starts itself again as the receiver.
"""

import subprocess
import sys

import groundstate as gs

SOURCE = """
kernel void number(global uint *out) { out[get_global_id(0)] = get_global_id(0) + 1; }
"""

EVENTS, PLACE, ITEMS = 10, 5, 64


def receive() -> None:
    """The second process: how a handle travels is the program's business; here, through a pipe."""
    handle = sys.stdin.buffer.read()
    with gs.Context(gs.devices()[0]) as context, gs.CommandQueue(context) as queue:
        pool = gs.EventPool.open_ipc(context, handle, EVENTS)
        event = pool.event(PLACE)  # each side makes its own, at the same place of the pool
        numbers = context.alloc_shared(ITEMS, "uint32")
        kernel = gs.Module(context, opencl=SOURCE)["number"]
        kernel(queue, 1, ITEMS, numbers, signal=event)
        queue.synchronize()
        count = numbers.tolist()[-1]
        print("the receiver ran a kernel, which counted to", count, flush=True)


def send() -> None:
    """The first process, whose pool it is."""
    with gs.Context(gs.devices()[0]) as context, gs.EventPool(context, EVENTS, ipc=True) as pool:
        event = pool.event(PLACE)
        assert not event.is_signaled
        command = [sys.executable, __file__, "receive"]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as receiver:
            assert receiver.stdin is not None
            receiver.stdin.write(pool.ipc_handle())
            receiver.stdin.close()
            event.wait()
        assert receiver.returncode == 0
        print("the sender saw the event:", "yes" if event.is_signaled else "no")


if sys.argv[1:] == ["receive"]:
    receive()
else:
    send()
