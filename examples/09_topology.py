"""9. Topologies: several devices, and parts of devices, on any machine.

Programs for several devices can be written and tested on a laptop: `GROUNDSTATE_TOPOLOGY` divides
the cores and the memory of the machine among as many devices and sub-devices as you like. It is
read when the driver starts, so a program usually leaves it to its environment.
"""

import os

os.environ["GROUNDSTATE_TOPOLOGY"] = "2x2"
os.environ["GROUNDSTATE_MEMORY"] = "1G"

import groundstate as gs

devices = gs.drivers()[0].devices
for number, device in enumerate(devices):
    print(f"device {number}: {device.memory_bytes >> 20} MiB")
    for part in device.sub_devices:
        place = part.properties.sub_device_id
        print(f"  sub-device {place}: {part.memory_bytes >> 20} MiB, peers: {len(part.peers)}")

# Each part has queues and memory of its own. Here all four of them work at once, each on a quarter
# of the numbers; the sums come together in memory of the first device.

SOURCE = """
kernel void sum(global const uint *numbers, uint count, global uint *result) {
    uint total = 0;
    for (uint i = get_global_id(0); i < count; i += get_global_size(0)) total += numbers[i];
    atomic_add(result, total);
}
"""
PER_PART = 1000

parts = [part for device in devices for part in device.sub_devices]
with gs.Context(devices) as context:
    sums = context.alloc_shared(len(parts), "uint32", device=devices[0])
    lists = []
    for place, part in enumerate(parts):
        numbers = context.alloc_device(PER_PART, "uint32", device=part)
        commands = gs.CommandList.immediate(context, part, in_order=True)
        commands.fill(numbers, place + 1)
        commands.fill(sums[place : place + 1], 0)
        kernel = gs.Module(context, opencl=SOURCE, device=part)["sum"]
        kernel(commands, 4, 32, numbers, PER_PART, sums[place : place + 1])
        lists.append(commands)
    for commands in lists:
        commands.synchronize()
    print("sums of the parts:", sums.tolist())

    # A copy from one device to another needs nothing special: any queue can do it.
    first, second = (context.alloc_device(16, "uint8", device=device) for device in devices)
    result = context.alloc_host(16)
    with gs.CommandList.immediate(context, devices[1], in_order=True) as commands:
        commands.fill(first, 42)
        commands.copy(second, first)
        commands.copy(result, second)
    print("through both devices:", result.tolist()[:4])

    # How fast that is was measured: see the units for what the numbers mean.
    speed = devices[0].peer_speed(devices[1])
    print("speed between the devices:", speed.logical_bandwidth, speed.bandwidth_unit.name)
    (edge,) = devices[0].fabric_vertex.edges_to(devices[1].fabric_vertex)
    print("linked by", edge.properties.model)

# The memory of a part is limited, and so is what can be resident there.

part = parts[0]
with gs.Context(devices[0]) as context:
    shared = context.alloc_shared(200 << 20, device=part)
    print("free before:", part.usable_memory_bytes() >> 20, "MiB")
    context.make_resident(shared, part)
    print("free with 200 MiB resident:", part.usable_memory_bytes() >> 20, "MiB")
    try:
        context.alloc_device(100 << 20, device=part)
    except gs.errors.OutOfDeviceMemory:
        print("100 MiB more do not fit")
    context.evict(shared, part)
    context.alloc_device(100 << 20, device=part).close()
    print("after evicting they do")

    # A context is for the devices that it was made with.
    try:
        context.alloc_device(1, device=devices[1])
    except gs.errors.InvalidArgument as problem:
        print(problem.description.partition(";")[0])
