"""Tasks and actors of Ray, each with a device of its own: prints what they saw as JSON.

With "mask" they choose their device by ZE_AFFINITY_MASK before the driver starts; with "number"
they take the one of their number, where Ray has found the devices by itself.
"""

from __future__ import annotations

import json
import os
import sys

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import ray

MASKED = sys.argv[1] == "mask"
DEVICES = 4


def mine(masked: bool) -> dict:
    """Doubles a number on the device of this process, and says which one it is."""
    (number,) = ray.get_gpu_ids()
    if masked:
        os.environ["ZE_AFFINITY_MASK"] = str(number)
    import groundstate as gs

    device = gs.devices()[0 if masked else int(number)]
    with gs.Context(device) as context:
        memory = context.alloc_device(1000)
        copied = context.alloc_host(1000)
        with gs.CommandList.immediate(context, in_order=True) as commands:
            commands.fill(memory, 2)
            commands.copy(copied, memory)
        total = sum(copied.tobytes())
    return {
        "number": int(number),
        "mask": os.environ.get("ZE_AFFINITY_MASK"),
        "devices": len(gs.devices()),
        "uuid": str(device.uuid),
        "total": total,
    }


@ray.remote(num_gpus=1)
class Actor:
    def see(self, masked: bool) -> dict:
        return mine(masked)


@ray.remote(num_gpus=1)
def task(masked: bool) -> dict:
    return mine(masked)


ray.init(include_dashboard=False, num_cpus=DEVICES, **({"num_gpus": DEVICES} if MASKED else {}))
resources = ray.cluster_resources()
actors = [Actor.remote() for _ in range(DEVICES - 1)]
seen = ray.get([each.see.remote(MASKED) for each in actors])
tasks = ray.get([task.remote(MASKED) for _ in range(2)])
print(json.dumps({"resources": resources, "actors": seen, "tasks": tasks}))
