"""One NVIDIA GPU: what the CUDA driver tells of it. Nothing here is invented."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import IntEnum
from functools import cached_property

from groundstate.driver.devices.cpu import Cache
from groundstate.driver.devices.nvidia import native_gpu

PCI_VENDOR = 0x10DE
STACKED_BITS = 1024
LINE_BYTES = 128


class Attribute(IntEnum):
    """CU_DEVICE_ATTRIBUTE_*, by their names there."""

    MAX_THREADS_PER_BLOCK = 1
    MAX_BLOCK_DIM_X = 2
    MAX_BLOCK_DIM_Y = 3
    MAX_BLOCK_DIM_Z = 4
    MAX_GRID_DIM_X = 5
    MAX_GRID_DIM_Y = 6
    MAX_GRID_DIM_Z = 7
    MAX_SHARED_MEMORY_PER_BLOCK = 8
    WARP_SIZE = 10
    CLOCK_RATE = 13
    MULTIPROCESSOR_COUNT = 16
    INTEGRATED = 18
    ECC_ENABLED = 32
    PCI_BUS_ID = 33
    PCI_DEVICE_ID = 34
    MEMORY_CLOCK_RATE = 36
    GLOBAL_MEMORY_BUS_WIDTH = 37
    L2_CACHE_SIZE = 38
    MAX_THREADS_PER_MULTIPROCESSOR = 39
    PCI_DOMAIN_ID = 50
    COMPUTE_CAPABILITY_MAJOR = 75
    COMPUTE_CAPABILITY_MINOR = 76
    MANAGED_MEMORY = 83
    HOST_NATIVE_ATOMIC_SUPPORTED = 86
    PAGEABLE_MEMORY_ACCESS = 88
    CONCURRENT_MANAGED_ACCESS = 89
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97


class Gpu:
    """A GPU by its number in the CUDA driver's list."""

    def __init__(self, ordinal: int, name: str, uuid: bytes, memory_bytes: int) -> None:
        self.ordinal = ordinal
        self.name = name
        self.uuid = uuid
        self.memory_bytes = memory_bytes

    def ask(self, attribute: Attribute) -> int:
        """The value of an attribute; 0 if the CUDA driver does not know it."""
        return native_gpu.attribute(self.ordinal, attribute)

    @cached_property
    def capability(self) -> tuple[int, int]:
        """The compute capability: (9, 0) on an H200."""
        return (
            self.ask(Attribute.COMPUTE_CAPABILITY_MAJOR),
            self.ask(Attribute.COMPUTE_CAPABILITY_MINOR),
        )

    @property
    def sm(self) -> int:
        """The same as one number: 90."""
        major, minor = self.capability
        return 10 * major + minor

    @cached_property
    def pci_address(self) -> tuple[int, int, int, int]:
        """Domain, bus, device and function."""
        return (
            self.ask(Attribute.PCI_DOMAIN_ID),
            self.ask(Attribute.PCI_BUS_ID),
            self.ask(Attribute.PCI_DEVICE_ID),
            0,
        )

    @cached_property
    def pci_device_id(self) -> int:
        """The id by which the GPU's maker tells models apart, from /sys; 0 if it is not there."""
        domain, bus, device, function = self.pci_address
        place = f"{domain:04x}:{bus:02x}:{device:02x}.{function}"
        try:
            with open(os.path.join("/sys/bus/pci/devices", place, "device"), "rb") as file:
                return int(file.read(), 16)
        except (OSError, ValueError):
            return 0

    @cached_property
    def multiprocessors(self) -> int:
        return self.ask(Attribute.MULTIPROCESSOR_COUNT)

    @cached_property
    def local_memory_bytes(self) -> int:
        """What a group may have of shared memory, as NVIDIA calls it."""
        return self.ask(Attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) or self.ask(
            Attribute.MAX_SHARED_MEMORY_PER_BLOCK
        )

    @cached_property
    def max_group_size(self) -> int:
        return self.ask(Attribute.MAX_THREADS_PER_BLOCK)

    @property
    def clock_mhz(self) -> int:
        return self.ask(Attribute.CLOCK_RATE) // 1000

    @property
    def has_stacked_memory(self) -> bool:
        """Whether it is HBM: only that has so wide a bus."""
        return self.ask(Attribute.GLOBAL_MEMORY_BUS_WIDTH) >= STACKED_BITS

    @property
    def caches(self) -> tuple[Cache, ...]:
        """The cache that all multiprocessors share."""
        size = self.ask(Attribute.L2_CACHE_SIZE)
        return (Cache(2, "Unified", size, LINE_BYTES, self.multiprocessors),)

    @property
    def memory_bandwidth(self) -> int:
        """Bytes in a second, by clock and width of the bus; memory transfers twice in a clock."""
        clock = self.ask(Attribute.MEMORY_CLOCK_RATE) * 1000
        return 2 * clock * self.ask(Attribute.GLOBAL_MEMORY_BUS_WIDTH) // 8


def open_all(library: str) -> Sequence[Gpu]:
    """The GPUs that a CUDA driver knows; none if the library is not there."""
    found = []
    for ordinal in range(native_gpu.open_library(library)):
        facts = native_gpu.identify(ordinal)
        if facts is not None:
            found.append(Gpu(ordinal, *facts))
    return tuple(found)
