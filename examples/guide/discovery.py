"""Every driver is asked for its devices, until one of them is a GPU."""

import groundstate as gs

gpu = next(
    device
    for driver in gs.drivers()
    for device in driver.devices
    if device.type == gs.DeviceType.GPU
)
print("found a GPU:", gpu.name)

# Drivers and devices are there once: whoever asks again gets the same objects.
same = gs.drivers()[0] is gs.drivers()[0] and any(device is gpu for device in gs.devices())
print("asked again, the same handles:", "yes" if same else "no")
assert same
