"""An event between two kernels: the second waits for the first, and sees what it wrote."""

import groundstate as gs

SOURCE = """
kernel void number(global uint *out) { out[get_global_id(0)] = get_global_id(0); }

kernel void add_next(global const uint *in, global uint *out) {
    size_t here = get_global_id(0), next = (here + 1) % get_global_size(0);
    out[here] = in[here] + in[next];
}
"""

ITEMS, GROUP = 1 << 16, 256

SCOPES = {
    "order": gs.EventScope.NONE,  # only the order of the two matters
    "order and memory": gs.EventScope.DEVICE,  # and the whole device sees the memory
}

with gs.Context(gs.devices()[0]) as context, gs.CommandQueue(context) as queue:
    module, pool = gs.Module(context, opencl=SOURCE), gs.EventPool(context, 2)
    here, there = (context.alloc_shared(ITEMS, "uint32") for _ in range(2))

    for name, scope in SCOPES.items():
        here.numpy()[:] = 0
        first_done = pool.event(signal_scope=scope, wait_scope=gs.EventScope.NONE)
        commands = gs.CommandList(context)
        module["number"](commands, ITEMS // GROUP, GROUP, here, signal=first_done)
        module["add_next"](commands, ITEMS // GROUP, GROUP, here, there, wait=first_done)
        queue.execute(commands)
        queue.synchronize()
        print(f"{name}: the sum is", sum(there.tolist()))
