"""Commands of a list may overlap. A barrier lets what comes after it wait for what came before."""

import groundstate as gs

SOURCE = """
kernel void number(global uint *out) { out[get_global_id(0)] = get_global_id(0) + 1; }

kernel void turn_round(global const uint *in, global uint *out) {
    out[get_global_id(0)] = in[get_global_size(0) - 1 - get_global_id(0)];
}
"""

ITEMS, GROUP = 1 << 16, 256

with gs.Context(gs.devices()[0]) as context, gs.CommandQueue(context) as queue:
    module = gs.Module(context, opencl=SOURCE)
    here, there = context.alloc_device(ITEMS, "uint32"), context.alloc_shared(ITEMS, "uint32")

    for ranges in ([], [here]):
        commands = gs.CommandList(context)
        module["number"](commands, ITEMS // GROUP, GROUP, here)
        # The second kernel reads, in another order, what the first one wrote.
        commands.barrier(*ranges)
        module["turn_round"](commands, ITEMS // GROUP, GROUP, here, there)
        queue.execute(commands)
        queue.synchronize()
        found = there.tolist()
        what = "one range" if ranges else "everything"
        print(f"with a barrier for {what}: {found[0]} ... {found[-1]}")
        assert found == [*range(ITEMS, 0, -1)]
        there.numpy()[:] = 0
