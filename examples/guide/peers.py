"""Two devices: whether each can use the other's memory, and a copy from one to the other.

GROUNDSTATE_TOPOLOGY=2 makes two devices.
"""

import groundstate as gs

devices = gs.drivers()[0].devices
for here, device in enumerate(devices):
    for there, peer in enumerate(devices):
        can = "yes" if device.can_access(peer) else "no"
        flags = device.peer_properties(peer).flags
        atomics = "yes" if flags & gs.PeerFlag.ATOMICS else "no"
        print(f"device {here} reaches device {there}: {can}, with atomics: {atomics}")

# Device 0 is written, device 1 fetches, and the host looks.
first, second = devices
with gs.Context(devices) as context:
    source = context.alloc_device(1 << 16, device=first)
    target, seen = context.alloc_device(1 << 16, device=second), context.alloc_host(1 << 16)
    with gs.CommandList.immediate(context, first) as commands:
        commands.fill(source, bytes([1, 2, 3, 4]))
    with gs.CommandList.immediate(context, second, in_order=True) as commands:
        commands.copy(target, source)
        commands.copy(seen, target)
    print("through both came", *seen[:4].tolist())
    assert seen.tobytes() == bytes([1, 2, 3, 4]) * (1 << 14)
