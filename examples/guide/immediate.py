"""An immediate list is its own queue: a command starts when it is appended."""

import groundstate as gs

SOURCE = """
kernel void square(global uint *out) {
    size_t i = get_global_id(0);
    out[i] = i * i;
}
"""

ITEMS, GROUP = 1024, 64

with gs.Context(gs.devices()[0]) as context:
    commands = gs.CommandList.immediate(context)
    numbers = context.alloc_shared(ITEMS, "uint32")
    done = gs.EventPool(context, 1).event()

    # No queue: the launch is on its way when this returns.
    square = gs.Module(context, opencl=SOURCE)["square"]
    square(commands, ITEMS // GROUP, GROUP, numbers, signal=done)
    done.wait()
    found = numbers.tolist()
    print("squares:", found[1], found[2], "...", found[-1])
    assert found == [i * i for i in range(ITEMS)]
