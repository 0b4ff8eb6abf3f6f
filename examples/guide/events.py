"""An event is signaled by a kernel and waited for by the host, or the other way round."""

import groundstate as gs

SOURCE = """
kernel void twice(global int *numbers) { numbers[get_global_id(0)] *= 2; }
"""

ITEMS = 256


def yes_no(answer: bool) -> str:
    """The word for it."""
    return "yes" if answer else "no"


with gs.Context(gs.devices()[0]) as context, gs.CommandQueue(context) as queue:
    pool = gs.EventPool(context, 2)
    # The host will read what the device wrote before the event.
    done = pool.event(0, signal_scope=gs.EventScope.NONE, wait_scope=gs.EventScope.HOST)
    go = pool.event(1)

    numbers = context.alloc_shared(ITEMS, "int32")
    commands = gs.CommandList(context)
    commands.wait(go)
    gs.Module(context, opencl=SOURCE)["twice"](commands, 1, ITEMS, numbers, signal=done)
    queue.execute(commands)

    # The list is under way, and waits for the host.
    try:
        done.wait(timeout=0.001)
    except TimeoutError:
        print("done before the signal:", yes_no(done.is_signaled))
    numbers.numpy()[:] = range(ITEMS)
    go.signal()
    done.wait()
    print(f"done after it: {yes_no(done.is_signaled)}, the last number is", numbers.tolist()[-1])
    assert numbers.tolist() == [*range(0, 2 * ITEMS, 2)]
