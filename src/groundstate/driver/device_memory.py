"""The memory and the caches of a device."""

from __future__ import annotations

from collections.abc import Sequence

from groundstate import knobs, ze
from groundstate.driver import platform, speed
from groundstate.driver.api import Extensions, answer_structs, handler, write_text
from groundstate.driver.devices.cpu import Cache
from groundstate.driver.platform import Device

MEMORY_EXTENSIONS = Extensions("DEVICE_MEMORY_PROPERTIES")

CHANNEL_BITS = 64
"""The width of one DDR memory channel; how many there are is not told to everybody."""


@handler
def zeDeviceGetMemoryProperties(hDevice: int, pCount: int, pMemProperties: int) -> None:
    device = platform.device(hDevice)
    structure = ze.ze_device_memory_properties_t
    answer_structs(pCount, pMemProperties, structure, [device], _write_memory)


def _write_memory(properties: ze.ze_device_memory_properties_t, device: Device) -> None:
    """The operating system does not tell the memory's clock: it is 0."""
    if device.gpu is not None:
        from groundstate.driver.devices.nvidia import properties as gpus

        gpus.write_memory(properties, device.gpu)
        MEMORY_EXTENSIONS.fill(properties, device)
        return
    properties.flags = 0
    properties.maxClockRate = 0
    properties.maxBusWidth = CHANNEL_BITS
    properties.totalSize = device.part.memory_bytes
    write_text(properties, "name", "system memory")
    MEMORY_EXTENSIONS.fill(properties, device)


@MEMORY_EXTENSIONS.add("ze_device_memory_ext_properties_t")
def _memory_module(properties: ze.ze_device_memory_ext_properties_t, device: Device) -> None:
    """The type has no value for "not known"; DDR names the family that system memory belongs to."""
    wide = device.gpu is not None and device.gpu.has_stacked_memory
    properties.type = (
        ze.ZE_DEVICE_MEMORY_EXT_TYPE_HBM
        if wide
        else ze.ZE_DEVICE_MEMORY_EXT_TYPE_DDR
        if device.gpu is None
        else ze.ZE_DEVICE_MEMORY_EXT_TYPE_GDDR6
    )
    properties.physicalSize = device.part.memory_bytes
    measured = speed.between(device, device)
    properties.readBandwidth, properties.bandwidthUnit = speed.bandwidth(measured.read)
    properties.writeBandwidth, properties.bandwidthUnit = speed.bandwidth(measured.write)


@handler
def zeDeviceGetMemoryAccessProperties(hDevice: int, pMemAccessProperties: int) -> None:
    """One coherent memory: all may be done to every kind of allocation, malloc's included, though
    that need not be said."""
    properties = ze.ze_device_memory_access_properties_t.from_address(pMemAccessProperties)
    gpu = platform.device(hDevice).gpu
    if gpu is not None:
        from groundstate.driver.devices.nvidia.properties import write_access

        write_access(properties, gpu)
        return
    everything = (
        ze.ZE_MEMORY_ACCESS_CAP_FLAG_RW
        | ze.ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC
        | ze.ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT
        | ze.ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC
    )
    properties.hostAllocCapabilities = everything
    properties.deviceAllocCapabilities = everything
    properties.sharedSingleDeviceAllocCapabilities = everything
    properties.sharedCrossDeviceAllocCapabilities = everything
    properties.sharedSystemAllocCapabilities = everything if knobs.SYSTEM_MEMORY.get() else 0


CACHE_EXTENSIONS = Extensions("DEVICE_CACHE_PROPERTIES")


@handler
def zeDeviceGetCacheProperties(hDevice: int, pCount: int, pCacheProperties: int) -> None:
    """The last level comes first, since many programs look only at the first entry."""
    device = platform.device(hDevice)
    caches: Sequence[Cache] = device.machine.caches if device.gpu is None else device.gpu.caches
    structure = ze.ze_device_cache_properties_t
    answer_structs(pCount, pCacheProperties, structure, caches, _write_cache)


def _write_cache(properties: ze.ze_device_cache_properties_t, cache: Cache) -> None:
    properties.flags = 0
    properties.cacheSize = cache.size
    CACHE_EXTENSIONS.fill(properties, cache)


@CACHE_EXTENSIONS.add("ze_device_cache_line_size_ext_t")
def _line_size(properties: ze.ze_device_cache_line_size_ext_t, cache: Cache) -> None:
    properties.cacheLineSize = cache.line_size


@CACHE_EXTENSIONS.add("ze_cache_reservation_ext_desc_t")
def _reservation(properties: ze.ze_cache_reservation_ext_desc_t, cache: Cache) -> None:
    """No part of a CPU's cache can be reserved by a program."""
    properties.maxCacheReservationSize = 0
