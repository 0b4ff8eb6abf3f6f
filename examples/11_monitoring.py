"""11. Monitoring: what a device does, how warm it is, what it uses, and who uses it.

`device.sysman` has the parts of a device that can be watched: tuples of engines, memories, clocks,
thermometers, power domains and so on, which are empty where the machine has none. A number has its
unit in its name. What nobody knows is None, never 0.
"""

import os

import groundstate as gs
from groundstate.sysman import EngineGroup

device = gs.devices()[0]
sysman = device.sysman
print("watching", sysman.name)

for noun in ("engines", "memory", "frequency", "temperature", "power", "fans", "firmware"):
    print(f"  {noun}: {len(getattr(sysman, noun))}")

# Each part is read when it is asked. The memory knows what was allocated, by whatever program.

with gs.Context(device) as context, context.alloc_device(64 << 20):
    state = sysman.memory[0].state
    print("64 MiB are in use:", state is not None and state.used_bytes >= 64 << 20)

# A snapshot is all of it at one time. Two of them tell what happened in between: how busy the
# engines were, how much power was used, and by whom.

SOURCE = """
kernel void spin(global float *numbers, uint turns) {
    float x = numbers[get_global_id(0)];
    for (uint i = 0; i < turns; i++) x = x * 0.999f + 0.001f;
    numbers[get_global_id(0)] = x;
}
"""

with gs.Context(device) as context:
    numbers = context.alloc_shared(65536, "float32")
    spin = gs.Module(context, opencl=SOURCE)["spin"]
    with gs.CommandList.immediate(context, in_order=True) as commands:
        commands.fill(numbers, 2.0)
        spin(commands, 256, 256, numbers, 1)
        commands.synchronize()  # the kernel is compiled, which is no work of the device

        before = sysman.snapshot()
        spin(commands, 256, 256, numbers, 200_000)
        commands.synchronize()
        after = sysman.snapshot()

change = after.since(before)
compute = next(use for use in change.engines if use.group == EngineGroup.COMPUTE_ALL)
print("the engines were busy:", (compute.utilization or 0) > 0.01)
own = next(use for use in change.processes or () if use.pid == os.getpid())
print("and this process was among those who kept them so:", (own.utilization or 0) > 0.01)
print("watts:", "not known here" if change.watts is None else round(change.watts, 1))

# A snapshot is plain data, for logs and for programs that are no Python.

print("as a line of JSON it starts with", after.as_json()[:9])

# What one may not read, or not set, raises an exception with a sentence that says why. A snapshot
# goes on without, and keeps the sentences.

try:
    sysman.reset()
except gs.LevelZeroError as problem:
    print("no reset:", type(problem).__name__)
for name, sentence in after.refused.items():
    print(f"{name} is missing: {sentence}")

# `gs.sysman_devices()` also has devices that can only be watched, such as other makers' GPUs.

print("devices to watch:", len(gs.sysman_devices()) >= 1)
