"""What kinds of queues a device has, and which of them run kernels."""

import groundstate as gs

COMPUTE, COPY = gs.QueueGroupFlag.COMPUTE, gs.QueueGroupFlag.COPY


def yes_no(answer: object) -> str:
    """The word for it."""
    return "yes" if answer else "no"


device = gs.devices()[0]
for ordinal, group in enumerate(device.queue_groups):
    abilities = f"compute {yes_no(group.flags & COMPUTE)}, copy {yes_no(group.flags & COPY)}"
    print(f"group {ordinal}: {abilities}, queues {group.num_queues}")

# Of several groups that can do it, this is the one that can do the least else.
compute, copy = device.queue_ordinal(COMPUTE), device.queue_ordinal(COPY)
print(f"kernels go to group {compute}, copies to group {copy}")

# A list and the queue that runs it are of the same group; here, of the one that only copies.
with gs.Context(device) as context:
    text = context.alloc_host(6)
    with gs.CommandList.immediate(context, ordinal=copy) as commands:
        commands.copy(text, b"copied")
    print(text.tobytes().decode())
