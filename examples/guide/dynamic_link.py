"""A module may use functions of another. Until they are linked, it has no kernels."""

import groundstate as gs

SOURCE = """
int square_and_one(int number);
kernel void apply(global int *out) { out[get_global_id(0)] = square_and_one(get_global_id(0)); }
"""

LIBRARY = """
int square_and_one(int number) { return number * number + 1; }
"""

ITEMS = 8

with gs.Context(gs.devices()[0]) as context:
    user, library = gs.Module(context, opencl=SOURCE), gs.Module(context, opencl=LIBRARY)

    # One alone misses what the other has.
    try:
        user.link()
    except gs.errors.ModuleLinkFailure as failure:
        print("not linked:", failure.description)
    print("has imports:", "yes" if user.has_imports else "no")

    user.link(library)
    numbers = context.alloc_shared(ITEMS, "int32")
    with gs.CommandList.immediate(context) as commands:
        user["apply"](commands, 1, ITEMS, numbers)
    print("linked:", *numbers.tolist())
    assert numbers.tolist() == [i * i + 1 for i in range(ITEMS)]
