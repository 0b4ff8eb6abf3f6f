"""Memory of both sides: hints about caches, a prefetch, and advice on how it will be used."""

import groundstate as gs

SOURCE = """
kernel void add_one(global uint *numbers) { numbers[get_global_id(0)] += 1; }
"""

ITEMS, GROUP = 4096, 64


def yes_no(answer: object) -> str:
    """The word for it."""
    return "yes" if answer else "no"


device = gs.devices()[0]
reads = device.memory_access.shared_single_device & gs.MemoryAccess.RW
print("the device reads and writes shared memory:", yes_no(reads))

with gs.Context(device) as context, gs.CommandQueue(context) as queue:
    numbers = context.alloc_shared(ITEMS, "uint32", cached=True)
    numbers.numpy()[:] = range(ITEMS)
    found = numbers.allocation_properties()
    is_shared = found.type == gs.MemoryType.SHARED and found.device is device
    print("shared, and of the device:", yes_no(is_shared))

    # Neither changes what a kernel does; both are commands among others.
    commands = gs.CommandList(context)
    commands.advise(numbers, gs.Advice.SET_PREFERRED_LOCATION)
    commands.prefetch(numbers)
    commands.barrier()
    gs.Module(context, opencl=SOURCE)["add_one"](commands, ITEMS // GROUP, GROUP, numbers)
    queue.execute(commands)
    queue.synchronize()
    array = numbers.tolist()
    print("at the same address, the host finds", array[0], "...", array[-1])
    assert array == [*range(1, ITEMS + 1)]
