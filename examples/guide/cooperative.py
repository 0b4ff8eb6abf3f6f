"""Groups of a cooperative launch run at the same time, so they may wait for each other."""

import groundstate as gs

SOURCE = """
/* Each group leaves a word, all meet, and each takes the word of the next one. */
kernel void pass_round(global atomic_uint *arrived, global uint *words, global uint *taken) {
    uint here = get_group_id(0), groups = get_num_groups(0);
    if (get_local_id(0) == 0) {
        words[here] = 1000 + here;
        atomic_fetch_add(arrived, 1);
        while (atomic_load(arrived) < groups) {}
        taken[here] = words[(here + 1) % groups];
    }
}
"""

GROUP, MOST_GROUPS = 32, 64

with gs.Context(gs.devices()[0]) as context:
    kernel = gs.Module(context, opencl=SOURCE)["pass_round"]
    kernel.group_size = GROUP
    groups = min(kernel.max_cooperative_groups, MOST_GROUPS)
    arrived = context.alloc_shared(1, "uint32")
    words, taken = (context.alloc_shared(groups, "uint32") for _ in range(2))

    with gs.CommandList.immediate(context, in_order=True) as commands:
        commands.fill(arrived, 0)
        kernel(commands, groups, GROUP, arrived, words, taken, cooperative=True)
    print(f"{arrived.tolist()[0]} groups arrived, group 0 took {taken.tolist()[0]}")
    assert taken.tolist() == [1000 + (i + 1) % groups for i in range(groups)]
