"""How many work-items are a group: as the program says, or as the driver suggests."""

import groundstate as gs

SOURCE = """
kernel void note_size(global uint *seen) {
    size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    seen[i] = get_local_size(0) << 16 | get_local_size(1);
}
"""

WIDTH, HEIGHT = 640, 480

with gs.Context(gs.devices()[0]) as context:
    kernel = gs.Module(context, opencl=SOURCE)["note_size"]
    seen = context.alloc_shared((HEIGHT, WIDTH), "uint32")

    # The suggestion is for a whole number of groups, and does not look at the size that is set.
    suggested = kernel.suggest_group_size((WIDTH, HEIGHT))
    assert WIDTH % suggested[0] == 0
    assert HEIGHT % suggested[1] == 0

    for name, (x, y) in (("chosen", (16, 4)), ("suggested", suggested[:2])):
        kernel.group_size = (x, y)
        with gs.CommandList.immediate(context) as commands:
            kernel(commands, (WIDTH // x, HEIGHT // y), None, seen)  # with the size that is set
        first = int(seen.numpy()[0, 0])
        print(f"{name}: {first >> 16} x {first & 0xFFFF}")
        assert (seen.numpy() == first).all()
