"""Much address space, little memory: pieces of 128 KiB and 8 MiB in a range of almost 1 GiB."""

import groundstate as gs

KIB, MIB = 1 << 10, 1 << 20

with gs.Context(gs.devices()[0]) as context, gs.VirtualMemory(context, 1048576000) as space:
    small = gs.PhysicalMemory(context, 128 * KIB)
    large = gs.PhysicalMemory(context, 8 * MIB)
    space.map(small, 0)
    space.map(large, 512 * MIB)

    # From one end of the range to the other, over half a gibibyte of nothing.
    head = space.part(0, small.size_bytes)
    tail = space.part(512 * MIB + large.size_bytes - small.size_bytes, small.size_bytes)
    result = context.alloc_host(small.size_bytes)
    with gs.CommandList.immediate(context, in_order=True) as commands:
        commands.fill(head, 7)
        commands.copy(tail, head)
        commands.copy(result, tail)
    array = result.numpy()
    print("through the large piece came", array[0], "...", array[-1])
    assert (array == 7).all()

    # Between the pieces nothing may be done.
    access, reach = space.access(small.size_bytes)
    print("between the pieces there is no access:", "yes" if access == gs.Access.NONE else "no")
