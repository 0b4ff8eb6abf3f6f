"""What the tests run on workers, which import it by name."""

from __future__ import annotations

import os
from typing import Any

import groundstate as gs


def filled(size: int, value: int, kind: str = "device") -> gs.Memory:
    """Memory of this worker's device with a byte in each place."""
    context = gs.default_context()
    memory = getattr(context, f"alloc_{kind}")(size)
    commands = context.default_list()
    commands.fill(memory, value)
    commands.synchronize()
    return memory


def total(memory: gs.Memory) -> int:
    """The sum of all bytes, which the host adds up."""
    context = memory.context
    copied = context.alloc_host(memory.size_bytes)
    commands = context.default_list()
    commands.copy(copied, memory.view("uint8"))
    commands.synchronize()
    return sum(copied.tobytes())


def step(number: int, memory: gs.Memory | None = None) -> gs.Memory:
    """A link of a chain of tasks, each of which needs the memory of the one before."""
    before = 0 if memory is None else total(memory) // memory.size_bytes
    return filled(1 << 16, before + number)


def facts() -> dict[str, Any]:
    """What this process sees of the machine."""
    (device,) = gs.devices(include_system=False)
    return {
        "pid": os.getpid(),
        "mask": os.environ["ZE_AFFINITY_MASK"],
        "uuid": str(device.uuid),
        "memory_bytes": device.memory_bytes,
        "cores": device.properties.num_eus_per_subslice,
        "sub_devices": len(device.sub_devices),
    }


def shared_files(pid: int) -> int:
    """How many memory files of a MiB and more a process has open: allocations that it shares."""
    folder = f"/proc/{pid}/fd"
    links = [os.path.join(folder, name) for name in os.listdir(folder)]
    return sum(
        "memfd:groundstate-" in os.readlink(link) and os.stat(link).st_size >= 1 << 20
        for link in links
        if os.path.islink(link)
    )
