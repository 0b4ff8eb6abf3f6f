"""10. Graphs: record once, run often, and change what is run.

While an immediate list captures, it records its commands instead of running them. The graph is then
instantiated and replayed with one call, however many commands it has. A recorded list can do
something else: commands that were named beforehand can be changed between two runs.
"""

import groundstate as gs

SOURCE = """
kernel void step(global const float *now, global float *next, float rate) {
    size_t i = get_global_id(0), n = get_global_size(0);
    float left = now[i > 0 ? i - 1 : 0], right = now[i + 1 < n ? i + 1 : n - 1];
    next[i] = now[i] + rate * (left - 2 * now[i] + right);
}

kernel void total(global const float *cells, global float *sum, uint count) {
    float all = 0;
    for (uint i = 0; i < count; i++) all += cells[i];
    *sum = all;
}
"""

CELLS = 64

with gs.Context(gs.devices()[0]) as context:
    module = gs.Module(context, opencl=SOURCE)
    step, total = module["step"], module["total"]
    even, odd = (context.alloc_shared(CELLS, "float32") for _ in range(2))
    heat = context.alloc_shared(1, "float32")
    commands = gs.CommandList.immediate(context, in_order=True)
    commands.fill(even, 0.0)
    commands.fill(even[CELLS // 2 : CELLS // 2 + 1], 64.0)
    commands.synchronize()

    # Two lists, recorded together: `helper` takes part because it waits for an event of the graph,
    # and `commands` has to wait for it in turn before the capture ends.
    helper = gs.CommandList.immediate(context, in_order=True)
    stepped, counted = gs.Event.counter_based(context), gs.Event.counter_based(context)
    with commands.capture() as graph:
        for _ in range(10):
            step(commands, CELLS // 16, 16, even, odd, 0.25)
            step(commands, CELLS // 16, 16, odd, even, 0.25)
        commands.signal(stepped)
        total(helper, 1, 1, even, heat, CELLS, wait=stepped, signal=counted)
        commands.wait(counted)
    commands.synchronize()
    print("recorded, but the hottest cell still has", max(even.tolist()))

    replay = graph.instantiate()
    for _ in range(5):
        replay(commands)
    commands.synchronize()
    print(
        f"after 100 steps the hottest cell has {max(even.tolist()):.3f} of {heat.tolist()[0]:.1f}"
    )
    picture = graph.dot(detailed=False)
    print("lists in the graph:", picture.count("cluster"), "launches:", picture.count("kernel "))

    # A mutable list: the launch gets a name, by which its arguments change between two runs.
    with gs.CommandQueue(context) as queue:
        recorded = gs.CommandList(context, in_order=True, mutable=True)
        launch = recorded.next_command()
        step(recorded, CELLS // 16, 16, even, odd, 0.0)
        for rate in (0.0, 0.5):
            launch.change(arguments={"rate": rate})
            queue.execute(recorded)
            queue.synchronize()
            moved = sum(abs(a - b) for a, b in zip(even.tolist(), odd.tolist(), strict=True))
            print(f"with a rate of {rate}, {'something' if moved else 'nothing'} moves")
