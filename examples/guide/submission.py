"""A queue, a list of commands, and the way of the list: recorded, run, run again, reset."""

import groundstate as gs

COUNT = 1000

with gs.Context(gs.devices()[0]) as context, gs.CommandQueue(context) as queue:
    source, target = (context.alloc_host(COUNT, "int32") for _ in range(2))
    source.numpy()[:] = range(COUNT)
    target.numpy()[:] = 0

    commands = gs.CommandList(context)
    commands.copy(target, source)
    commands.finish()
    assert target.tolist()[-1] == 0  # so far nothing has run

    for turn in (1, 2):
        queue.execute(commands)
        queue.synchronize()
        print(f"turn {turn}: the last number is", target.tolist()[-1])
        source.numpy()[:] *= 2  # the next run copies what is there then

    # After a reset the list is empty, and records something else.
    commands.reset()
    commands.fill(target, 7)
    queue.execute(commands)
    queue.synchronize()
    print("recorded anew: the last number is", target.tolist()[-1])
