"""A kernel may say that it prefers much local memory over a large data cache."""

import groundstate as gs

SOURCE = """
kernel void turn_round(global int *numbers, local int *shared) {
    size_t here = get_local_id(0), opposite = get_local_size(0) - 1 - here;
    shared[here] = numbers[here];
    barrier(CLK_LOCAL_MEM_FENCE);
    numbers[here] = shared[opposite];
}
"""

ITEMS = 256

with gs.Context(gs.devices()[0]) as context:
    kernel = gs.Module(context, opencl=SOURCE)["turn_round"]
    numbers = context.alloc_shared(ITEMS, "int32")
    numbers.numpy()[:] = range(ITEMS)

    # A wish of each kernel, which changes how fast it is and nothing else.
    for wish in (gs.CacheConfig.LARGE_SLM, gs.CacheConfig.LARGE_DATA):
        kernel.set_cache_config(wish)
        with gs.CommandList.immediate(context) as commands:
            kernel(commands, 1, ITEMS, numbers, gs.Local(ITEMS, "int32"))
        print("first and last:", numbers.tolist()[0], numbers.tolist()[-1])
