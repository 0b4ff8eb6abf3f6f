"""A device in four parts: memory and work for the third of them.

GROUNDSTATE_TOPOLOGY=1x4 makes such a device.
"""

import groundstate as gs

SOURCE = """
kernel void number(global uint *out) { out[get_global_id(0)] = get_global_id(0) + 1; }
"""

ITEMS, GROUP, WANTED = 1024, 64, 2

device = gs.devices()[0]
print("the device has", len(device.sub_devices), "parts")
part = device.sub_devices[WANTED]
print(
    f"part {part.properties.sub_device_id} is a sub-device:", "yes" if part.is_sub_device else "no"
)
assert part.root_device is device
assert not device.is_sub_device
assert part.uuid != device.uuid

with gs.Context(device) as context:
    # Memory of the part, and of the whole, which its parts can use too.
    numbers = context.alloc_device(ITEMS, "uint32", device=part)
    of_whole, result = context.alloc_device(ITEMS, "uint32"), context.alloc_host(ITEMS, "uint32")

    # Ordinals are those of the sub-device, which has queue groups of its own.
    ordinal = part.queue_ordinal(gs.QueueGroupFlag.COMPUTE)
    kernel = gs.Module(context, opencl=SOURCE, device=part)["number"]
    with gs.CommandList.immediate(context, part, ordinal=ordinal, in_order=True) as commands:
        kernel(commands, ITEMS // GROUP, GROUP, numbers)
        commands.copy(of_whole, numbers)
        commands.copy(result, of_whole)
    print("it counted to", result.tolist()[-1])
    assert result.tolist() == [*range(1, ITEMS + 1)]
