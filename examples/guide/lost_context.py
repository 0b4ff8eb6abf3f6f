"""A kernel that writes where nothing is loses its context. Others go on, and a new one works."""

import groundstate as gs

SOURCE = """
kernel void write_there(ulong address) { *(global int *)address = 42; }
"""


def write_to(context: gs.Context, address: int) -> None:
    """Lets a kernel write to an address."""
    with gs.CommandList.immediate(context) as commands:
        gs.Module(context, opencl=SOURCE)["write_there"](commands, 1, 1, address)


device = gs.devices()[0]
context, other = gs.Context(device), gs.Context(device)
context.check_status()

try:
    write_to(context, 0x10)  # no allocation is ever there
except gs.errors.DeviceLost:
    print("the kernel lost its context: yes")
try:
    context.check_status()
except gs.errors.DeviceLost as problem:
    reason = problem.description
assert "kernel 'write_there'" in reason  # and where it was, and which address it wrote to

with other:
    number = other.alloc_shared(1, "int32")
    write_to(other, number.address)
    print("the other context wrote", number.tolist()[0])

# The way back: close the context, ask the device, make another.
context.close()
device.check_status()
with gs.Context(device) as context:
    number = context.alloc_shared(1, "int32")
    write_to(context, number.address)
    print("the new context wrote", number.tolist()[0])
