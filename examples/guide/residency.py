"""A chain of nodes: the kernel is given the first, and the driver is told of the others."""

import groundstate as gs

SOURCE = """
typedef struct node { global struct node *next; long value; } node;

kernel void add_up(global const node *first, global long *sum) {
    long total = 0;
    for (global const node *each = first; each; each = each->next)
        total += each->value;
    *sum = total;
}
"""

with gs.Context(gs.devices()[0]) as context, gs.CommandQueue(context) as queue:
    nodes = [context.alloc_host(2, "uint64") for _ in range(3)]
    for node, next_node, value in zip(nodes, [*nodes[1:], None], (1, 20, 300), strict=True):
        node.numpy()[:] = next_node.address if next_node else 0, value
    total = context.alloc_shared(1, "int64")
    kernel = gs.Module(context, opencl=SOURCE)["add_up"]

    # Coarse: the kernel may reach any memory of the host.
    kernel.set_indirect_access(gs.IndirectAccess.HOST)
    kernel(queue, 1, 1, nodes[0].address, total)
    queue.synchronize()
    print("by a flag:", total.tolist()[0])

    # Fine: these two nodes are made resident, and let go when the work is done.
    nodes[0].numpy()[1] = 4
    kernel.set_indirect_access(gs.IndirectAccess.NONE)
    commands, fence = gs.CommandList(context), gs.Fence(queue)
    kernel(commands, 1, 1, nodes[0].address, total)
    for node in nodes[1:]:
        context.make_resident(node)
    queue.execute(commands, fence=fence)
    fence.wait()
    for node in nodes[1:]:
        context.evict(node)
    print("by residency:", total.tolist()[0])
