"""1. Drivers and devices: what there is to work with.

Level Zero starts with drivers. A driver has devices, and a device can have sub-devices.
Groundstate's own driver always comes first; if the system has others, they follow.
"""

import groundstate as gs

for driver in gs.drivers():
    major, minor = driver.api_version
    print(f"a driver for Level Zero {major}.{minor}, with {len(driver.extensions)} extensions")

# A device is described by a handful of objects, one for each question that Level Zero has. They are
# read once and kept. The most wanted facts have names of their own.

device = gs.devices()[0]
print("the first device:", device.name)
print("memory in GiB:", device.memory_bytes >> 30)

# Work goes through queues, and queues come in groups. A group's place in this list is its
# `ordinal`, which is how you ask for a queue of that kind.

for ordinal, group in enumerate(device.queue_groups):
    print(f"queue group {ordinal}: {group.num_queues} queues for {group.flags.name}")

# Is there a group that only copies? Such queues run beside the ones that compute.

print("copies are best sent to group", device.queue_ordinal(gs.QueueGroupFlag.COPY))
