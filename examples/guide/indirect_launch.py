"""A launch whose number of groups is in memory, where another kernel puts it."""

import groundstate as gs

SOURCE = """
kernel void plan(global uint *groups, uint items, uint group_size) {
    groups[0] = (items + group_size - 1) / group_size;
    groups[1] = groups[2] = 1;
}

kernel void mark(global uint *marks) { marks[get_global_id(0)] += 1; }
"""

COUNT, GROUP = 1000, 64

with gs.Context(gs.devices()[0]) as context, gs.CommandQueue(context) as queue:
    module = gs.Module(context, opencl=SOURCE)
    groups, seen = context.alloc_device(3, "uint32"), context.alloc_host(3, "uint32")
    marks = context.alloc_shared(2 * COUNT, "uint32")
    marks.numpy()[:] = 0

    # When this list is recorded nobody knows how many groups there will be.
    commands = gs.CommandList(context)
    module["plan"](commands, 1, 1, groups, COUNT, GROUP)
    commands.barrier()
    module["mark"](commands, groups, GROUP, marks)
    commands.copy(seen, groups)
    queue.execute(commands)
    queue.synchronize()

    x, y, z = seen.tolist()
    print(f"{x} x {y} x {z} groups marked {sum(marks.tolist())} places")
    assert marks.tolist() == [1] * (x * GROUP) + [0] * (2 * COUNT - x * GROUP)
