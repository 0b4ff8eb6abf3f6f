"""An event of a pool with timestamps knows when its kernel began and ended."""

import groundstate as gs

SOURCE = """
kernel void work(global float *numbers) {
    float x = get_global_id(0);
    for (int i = 0; i < 100; i++)
        x = sqrt(x + i);
    numbers[get_global_id(0)] = x;
}
"""

ITEMS, GROUP, RESULT_BYTES = 4096, 256, 32


def yes_no(answer: bool) -> str:
    """The word for it."""
    return "yes" if answer else "no"


device = gs.devices()[0]
with gs.Context(device) as context, gs.CommandQueue(context) as queue:
    launched = gs.EventPool(context, 1, timestamps=True).event()
    queried = gs.EventPool(context, 1).event()
    numbers = context.alloc_shared(ITEMS, "float32")
    result = context.alloc_shared(RESULT_BYTES)

    # The list itself asks the event, after the kernel, and the host reads the answer.
    commands = gs.CommandList(context)
    work = gs.Module(context, opencl=SOURCE)["work"]
    work(commands, ITEMS // GROUP, GROUP, numbers, signal=launched)
    commands.query_timestamps([launched], result, signal=queried, wait=launched)
    before = device.global_timestamps()[1]
    queue.execute(commands)
    queried.wait()
    whole_ns = device.timer.nanoseconds(before, device.global_timestamps()[1])

    # A difference of stamps is right though the counter may have gone round in between.
    (stamps,) = gs.Timestamps.read(result, device)
    sane = 0 < stamps.duration_ns <= whole_ns
    print("the kernel took some time, but not more than all of it:", yes_no(sane))
    sane = 0 < stamps.context_duration_ns <= stamps.duration_ns
    print("and not less than the context had the device:", yes_no(sane))

    # The host can ask by itself, too.
    print("the host is told the same:", yes_no(launched.timestamps == stamps))
