"""A fence tells the host that a queue has run what it was given with it."""

import groundstate as gs

with gs.Context(gs.devices()[0]) as context, gs.CommandQueue(context) as queue:
    memory = context.alloc_host(1 << 20)
    array = memory.numpy()
    commands = gs.CommandList(context)
    commands.fill(memory, 1)

    fence = gs.Fence(queue)
    assert not fence.is_signaled
    queue.execute(commands, fence=fence)
    fence.wait()
    print("signaled:", "yes" if fence.is_signaled else "no")
    print("first and last byte:", array[0], array[-1])

    # It stays signaled until the host resets it; then it serves again, and the list with it.
    fence.reset()
    print("signaled after a reset:", "yes" if fence.is_signaled else "no")
    array[-1] = 0
    queue.execute(commands, fence=fence)
    fence.wait()
    print("last byte after another turn:", array[-1])
