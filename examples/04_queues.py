"""4. Queues and fences: record once, run many times.

A command list that is not immediate is recorded first. A queue then runs it, as often as you like.
A fence tells the host when a submission is done.
"""

import groundstate as gs

with gs.Context(gs.devices()[0]) as context:
    ring = [context.alloc_shared(4, "int32") for _ in range(3)]
    for place, memory in enumerate(ring):
        memory.buffer()[0] = place

    # This list moves every value one place on.
    rotate = gs.CommandList(context, in_order=True)
    spare = context.alloc_device(ring[0].size_bytes)
    rotate.copy(spare, ring[2])
    rotate.copy(ring[2], ring[1])
    rotate.copy(ring[1], ring[0])
    rotate.copy(ring[0], spare)
    rotate.finish()

    queue = gs.CommandQueue(context)
    fence = gs.Fence(queue)
    for turn in range(4):
        queue.execute(rotate, fence=fence)
        fence.wait()
        fence.reset()
        print("turn", turn, [memory.buffer()[0] for memory in ring])

    # Submissions to one queue run in order, so one wait at the end is enough.
    queue.execute(rotate, rotate)
    queue.synchronize()
    print("two more", [memory.buffer()[0] for memory in ring])
