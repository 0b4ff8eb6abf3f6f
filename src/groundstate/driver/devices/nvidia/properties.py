"""What a GPU says of itself in the structs of the API, from what the CUDA driver tells.

A multiprocessor is a sub-slice of four execution units, each of which runs warps of 32 work-items
as its threads.
"""

from __future__ import annotations

from groundstate import ze
from groundstate.driver.api import write_bytes, write_text
from groundstate.driver.devices.nvidia.gpu import PCI_VENDOR, Attribute, Gpu

TIMESTAMP_BITS = 60
"""As on the CPU: timestamps are given by the clock of the host, in nanoseconds."""

MAX_HARDWARE_CONTEXTS = 65536
UNITS_PER_MULTIPROCESSOR = 4
"""Each multiprocessor since Maxwell has four parts with a scheduler of warps each."""

SUB_GROUP_SIZES = (8, 16, 32)
"""A warp, or parts of one."""

MAX_ARGUMENTS_SIZE = 4096
"""Of a kernel's parameters in PTX, implicit ones included."""

HALF_ARITHMETIC = (5, 3)
DOT_PRODUCTS = (6, 1)
"""The compute capabilities from which on GPUs have these."""


def write_identity(properties: ze.ze_device_properties_t, gpu: Gpu) -> None:
    properties.type = ze.ZE_DEVICE_TYPE_GPU
    properties.vendorId = PCI_VENDOR
    properties.deviceId = gpu.pci_device_id
    properties.subdeviceId = 0
    flags = 0
    if gpu.ask(Attribute.ECC_ENABLED):
        flags |= int(ze.ZE_DEVICE_PROPERTY_FLAG_ECC)
    if gpu.ask(Attribute.CONCURRENT_MANAGED_ACCESS):
        flags |= int(ze.ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING)
    if gpu.ask(Attribute.INTEGRATED):
        flags |= int(ze.ZE_DEVICE_PROPERTY_FLAG_INTEGRATED)
    properties.flags = flags
    write_bytes(properties.uuid.id, gpu.uuid)
    write_text(properties, "name", gpu.name)


def write_shape(properties: ze.ze_device_properties_t, gpu: Gpu, highest_priority: int) -> None:
    warp = gpu.ask(Attribute.WARP_SIZE)
    warps = gpu.ask(Attribute.MAX_THREADS_PER_MULTIPROCESSOR) // max(1, warp)
    properties.coreClockRate = gpu.clock_mhz
    properties.maxMemAllocSize = gpu.memory_bytes
    properties.maxHardwareContexts = MAX_HARDWARE_CONTEXTS
    properties.maxCommandQueuePriority = highest_priority
    properties.numThreadsPerEU = warps // UNITS_PER_MULTIPROCESSOR
    properties.physicalEUSimdWidth = warp
    properties.numEUsPerSubslice = UNITS_PER_MULTIPROCESSOR
    properties.numSubslicesPerSlice = gpu.multiprocessors
    properties.numSlices = 1
    in_cycles = properties.stype == ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2
    properties.timerResolution = 1_000_000_000 if in_cycles else 1
    properties.timestampValidBits = TIMESTAMP_BITS
    properties.kernelTimestampValidBits = TIMESTAMP_BITS


def write_compute(properties: ze.ze_device_compute_properties_t, gpu: Gpu) -> None:
    properties.maxTotalGroupSize = gpu.max_group_size
    properties.maxGroupSizeX = gpu.ask(Attribute.MAX_BLOCK_DIM_X)
    properties.maxGroupSizeY = gpu.ask(Attribute.MAX_BLOCK_DIM_Y)
    properties.maxGroupSizeZ = gpu.ask(Attribute.MAX_BLOCK_DIM_Z)
    properties.maxGroupCountX = gpu.ask(Attribute.MAX_GRID_DIM_X)
    properties.maxGroupCountY = gpu.ask(Attribute.MAX_GRID_DIM_Y)
    properties.maxGroupCountZ = gpu.ask(Attribute.MAX_GRID_DIM_Z)
    properties.maxSharedLocalMemory = gpu.local_memory_bytes
    properties.numSubGroupSizes = len(SUB_GROUP_SIZES)
    unused = [0] * (ze.ZE_SUBGROUPSIZE_COUNT - len(SUB_GROUP_SIZES))
    properties.subGroupSizes[:] = [*SUB_GROUP_SIZES, *unused]


def write_module(
    properties: ze.ze_device_module_properties_t, gpu: Gpu, float_flags: int, printf_bytes: int
) -> None:
    """What a module may have."""
    properties.spirvVersionSupported = 1 << 16 | 4
    properties.flags = (
        ze.ZE_DEVICE_MODULE_FLAG_FP16
        | ze.ZE_DEVICE_MODULE_FLAG_FP64
        | ze.ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS
    )
    if gpu.capability >= DOT_PRODUCTS:
        properties.flags |= ze.ZE_DEVICE_MODULE_FLAG_DP4A
    properties.fp32flags = properties.fp64flags = float_flags
    without_half = float_flags & ~int(ze.ZE_DEVICE_FP_FLAG_FMA)
    without_half |= int(ze.ZE_DEVICE_FP_FLAG_SOFT_FLOAT)
    properties.fp16flags = float_flags if gpu.capability >= HALF_ARITHMETIC else without_half
    properties.maxArgumentsSize = MAX_ARGUMENTS_SIZE
    properties.printfBufferSize = printf_bytes


def write_memory(properties: ze.ze_device_memory_properties_t, gpu: Gpu) -> None:
    properties.flags = 0
    properties.maxClockRate = gpu.ask(Attribute.MEMORY_CLOCK_RATE) // 1000
    properties.maxBusWidth = gpu.ask(Attribute.GLOBAL_MEMORY_BUS_WIDTH)
    properties.totalSize = gpu.memory_bytes
    write_text(properties, "name", "GPU memory")


def write_access(properties: ze.ze_device_memory_access_properties_t, gpu: Gpu) -> None:
    """Atomic operations on the host's memory are the GPU's alone, unless a link carries them."""
    plain = int(ze.ZE_MEMORY_ACCESS_CAP_FLAG_RW)
    own = plain | int(ze.ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC)
    together = own | int(
        ze.ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT | ze.ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC
    )
    at_once = own | int(ze.ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT)
    has_atomics = bool(gpu.ask(Attribute.HOST_NATIVE_ATOMIC_SUPPORTED))
    properties.hostAllocCapabilities = together if has_atomics else at_once
    properties.deviceAllocCapabilities = together
    if not gpu.ask(Attribute.MANAGED_MEMORY):
        shared = 0
    else:
        shared = together if gpu.ask(Attribute.CONCURRENT_MANAGED_ACCESS) else own
    properties.sharedSingleDeviceAllocCapabilities = shared
    properties.sharedCrossDeviceAllocCapabilities = shared
    properties.sharedSystemAllocCapabilities = 0
