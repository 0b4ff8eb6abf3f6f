"""How fast devices reach memory: measured when first asked for, and kept as long as the process.

Nothing tells a program the speed of a machine's memory. So the native half tries it with blocks
larger than the caches, once for each set of CPUs and memory, in some tenths of a second. Whatever
the API asks for (bandwidth of memory, of copies, of peers, of fabric edges) is answered from the
same numbers.
"""

from __future__ import annotations

from _thread import allocate_lock

from groundstate import ze
from groundstate.driver.platform import Device

LEAST_BYTES = 32 << 20
MOST_BYTES = 512 << 20
"""Between these, twice the last-level cache: copies leave it to what they read from."""

_MEGABYTE = 1 << 20

_lock = allocate_lock()


class Speed:
    """Bytes per second and nanoseconds; all 0 if nothing could be measured."""

    def __init__(self, copy: int, read: int, write: int, latency: int) -> None:
        self.copy = copy
        self.read = read
        self.write = write
        self.latency = latency

    def or_better(self, other: Speed) -> Speed:
        """The better of each number of the two."""
        return Speed(
            max(self.copy, other.copy),
            max(self.read, other.read),
            max(self.write, other.write),
            min(self.latency, other.latency) or self.latency,
        )


def between(device: Device, peer: Device) -> Speed:
    """How fast a device works with the memory of another, or with its own.

    A device is at least as fast as any of its sub-devices, whose CPUs it has; where memory is the
    bottleneck, measuring alone would not always say so.
    """
    if device.gpu is not None or peer.gpu is not None:
        return _of_gpu(device, peer)
    known = device.platform.speeds
    key = (device.cpus, device.nodes, peer.nodes)
    with _lock:
        if key not in known:
            size = block_bytes(device)
            known[key] = Speed(*device.platform.native.measure(device.handle, peer.handle, size))
        best = known[key]
    for part in device.subdevices:
        best = best.or_better(between(part, peer))
    return best


def _of_gpu(device: Device, peer: Device) -> Speed:
    """Its own memory's by clock and width of the bus; what lies between devices is not known."""
    if device.gpu is None or device is not peer:
        return Speed(0, 0, 0, 0)
    whole = device.gpu.memory_bandwidth
    return Speed(whole // 2, whole, whole, 0)


def block_bytes(device: Device) -> int:
    """How large the blocks are that are copied: whole megabytes."""
    cached = sum(cache.size for cache in device.machine.caches[:1])
    return min(MOST_BYTES, max(LEAST_BYTES, 2 * cached)) // _MEGABYTE * _MEGABYTE


def bandwidth(bytes_per_second: int) -> tuple[int, int]:
    """A bandwidth and its unit as the API has them. Less than a whole unit is still one."""
    if bytes_per_second == 0:
        return 0, int(ze.ZE_BANDWIDTH_UNIT_UNKNOWN)
    whole = max(1, round(bytes_per_second / 1_000_000_000))
    return whole, int(ze.ZE_BANDWIDTH_UNIT_BYTES_PER_NANOSEC)


def latency(nanoseconds: int) -> tuple[int, int]:
    """A latency and its unit as the API has them."""
    if nanoseconds == 0:
        return 0, int(ze.ZE_LATENCY_UNIT_UNKNOWN)
    return nanoseconds, int(ze.ZE_LATENCY_UNIT_NANOSEC)
