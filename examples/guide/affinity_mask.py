"""ZE_AFFINITY_MASK decides what a process sees of a machine with two devices in four parts each.

GROUNDSTATE_TOPOLOGY=2x4 makes such a machine.
"""

import os
import subprocess
import sys

import groundstate as gs

MASKS = ["0,1", "0", "1", "0.0", "1.1,1.2", "0.2,1.3,1.0,0.3"]


def identity(device: gs.Device) -> str:
    """A few digits of a device's identity, which is the same whatever a mask hides."""
    return device.uuid.hex[:4]


def describe() -> str:
    """The devices that this process sees, with their parts."""
    return "".join(
        " ".join(["", "|", identity(device), f"({len(parts)})", *map(identity, parts)])
        for device in gs.drivers()[0].devices
        for parts in [device.sub_devices]
    )


if "ZE_AFFINITY_MASK" in os.environ:
    print(describe())
else:
    for mask in MASKS:
        # The mask is read once, when the driver starts: so each has a process of its own.
        print(f"{mask}:", end="", flush=True)
        environment = {**os.environ, "ZE_AFFINITY_MASK": mask}
        subprocess.run([sys.executable, __file__], env=environment, check=True)
