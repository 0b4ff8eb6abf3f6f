"""What a device can do: groups and kernels, queues, external memory, vector widths."""

from __future__ import annotations

from groundstate import ze
from groundstate.driver import platform, speed
from groundstate.driver.api import Extensions, answer_structs, chained, handler, write_bytes
from groundstate.driver.platform import Device, identity
from groundstate.extras import PRODUCT_FLAGS, Products

MAX_GROUP_SIZE = 1024
SUB_GROUP_SIZES = (8, 16, 32)
MINIMUM_LOCAL_MEMORY = 64 << 10
MAX_ARGUMENTS_SIZE = 2048
PRINTF_BUFFER_SIZE = 4 << 20

MAX_FILL_PATTERN_SIZES = ((1 << 64) - 1, 16)
"""By queue group. Any pattern can be filled everywhere; programs that make one as large as this
says must be able to, and some try all powers of two up to the limit of the group that only copies.
"""

NATIVE_KERNEL_FORMAT = "1"
GPU_REGISTER_BYTES = 4
"""A work-item of a GPU has registers of 32 bits."""

COMPUTE_EXTENSIONS = Extensions("DEVICE_COMPUTE_PROPERTIES")


@handler
def zeDeviceGetComputeProperties(hDevice: int, pComputeProperties: int) -> None:
    device = platform.device(hDevice)
    properties = ze.ze_device_compute_properties_t.from_address(pComputeProperties)
    if device.gpu is not None:
        from groundstate.driver.devices.nvidia import properties as gpus

        gpus.write_compute(properties, device.gpu)
        COMPUTE_EXTENSIONS.fill(properties, device)
        return
    properties.maxTotalGroupSize = MAX_GROUP_SIZE
    properties.maxGroupSizeX = properties.maxGroupSizeY = properties.maxGroupSizeZ = MAX_GROUP_SIZE
    properties.maxGroupCountX = properties.maxGroupCountY = properties.maxGroupCountZ = 0xFFFFFFFF
    properties.maxSharedLocalMemory = local_memory_bytes(device)
    properties.numSubGroupSizes = len(SUB_GROUP_SIZES)
    unused = [0] * (ze.ZE_SUBGROUPSIZE_COUNT - len(SUB_GROUP_SIZES))
    properties.subGroupSizes[:] = [*SUB_GROUP_SIZES, *unused]
    COMPUTE_EXTENSIONS.fill(properties, device)


def local_memory_bytes(device: Device) -> int:
    """Half of the second-level cache that one CPU has: a group's local memory stays in it."""
    if device.gpu is not None:
        return device.gpu.local_memory_bytes
    return max(MINIMUM_LOCAL_MEMORY, device.machine.private_cache_bytes() // 2)


@COMPUTE_EXTENSIONS.add("ze_device_compute_dotproduct_ext_properties_t")
def _dot_product(
    properties: ze.ze_device_compute_dotproduct_ext_properties_t, device: Device
) -> None:
    """The instructions that these flags name belong to another kind of processor."""
    properties.dp_caps = 0
    properties.dpv4_input_types = properties.dpv4_output_types = 0
    properties.dpas_input_types = properties.dpas_output_types = 0
    properties.bdpas_input_types = properties.bdpas_output_types = 0


MODULE_EXTENSIONS = Extensions("DEVICE_MODULE_PROPERTIES")


def _float_flags() -> int:
    return int(
        ze.ZE_DEVICE_FP_FLAG_DENORM
        | ze.ZE_DEVICE_FP_FLAG_INF_NAN
        | ze.ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST
        | ze.ZE_DEVICE_FP_FLAG_ROUND_TO_ZERO
        | ze.ZE_DEVICE_FP_FLAG_ROUND_TO_INF
        | ze.ZE_DEVICE_FP_FLAG_FMA
        | ze.ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT
    )


@handler
def zeDeviceGetModuleProperties(hDevice: int, pModuleProperties: int) -> None:
    device = platform.device(hDevice)
    properties = ze.ze_device_module_properties_t.from_address(pModuleProperties)
    if device.gpu is not None:
        from groundstate.driver.devices.nvidia import properties as gpus

        gpus.write_module(properties, device.gpu, _float_flags(), PRINTF_BUFFER_SIZE)
        kernels = identity("native kernels", NATIVE_KERNEL_FORMAT, f"sm_{device.gpu.sm}")
        write_bytes(properties.nativeKernelSupported.id, kernels)
        MODULE_EXTENSIONS.fill(properties, device)
        return
    properties.spirvVersionSupported = 1 << 16 | 4
    properties.flags = (
        ze.ZE_DEVICE_MODULE_FLAG_FP16
        | ze.ZE_DEVICE_MODULE_FLAG_FP64
        | ze.ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS
    )
    if device.machine.has_byte_dots:
        properties.flags |= ze.ZE_DEVICE_MODULE_FLAG_DP4A
    properties.fp16flags = _half_flags(device)
    properties.fp32flags = properties.fp64flags = _float_flags()
    properties.maxArgumentsSize = MAX_ARGUMENTS_SIZE
    properties.printfBufferSize = PRINTF_BUFFER_SIZE
    machine = device.machine
    kernels = identity("native kernels", NATIVE_KERNEL_FORMAT, machine.model_name)
    write_bytes(properties.nativeKernelSupported.id, kernels)
    MODULE_EXTENSIONS.fill(properties, device)
    products = chained(properties, Products)
    if products is not None:
        kinds = device.machine.packed_products
        products.flags = sum(PRODUCT_FLAGS[kind] for kind in kinds)


def _half_flags(device: Device) -> int:
    """Without half arithmetic in the CPU, each operation is done in float and then rounded.

    That is exact for the basic operations and not for a fused multiply-add.
    """
    if device.machine.has_half_arithmetic:
        return _float_flags()
    return _float_flags() & ~ze.ZE_DEVICE_FP_FLAG_FMA | ze.ZE_DEVICE_FP_FLAG_SOFT_FLOAT


@MODULE_EXTENSIONS.add("ze_float_atomic_ext_properties_t")
def _float_atomics(properties: ze.ze_float_atomic_ext_properties_t, device: Device) -> None:
    """A compare-and-swap loop does any of them; on 16 bits only moving a value is worth having."""
    load_store = (
        ze.ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_LOAD_STORE
        | ze.ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_LOAD_STORE
    )
    arithmetic = (
        ze.ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_ADD
        | ze.ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_MIN_MAX
        | ze.ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_ADD
        | ze.ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_MIN_MAX
    )
    properties.fp16Flags = load_store
    properties.fp32Flags = properties.fp64Flags = load_store | arithmetic


@MODULE_EXTENSIONS.add("ze_scheduling_hint_exp_properties_t")
def _scheduling_hints(properties: ze.ze_scheduling_hint_exp_properties_t, device: Device) -> None:
    properties.schedulingHintFlags = 0


@MODULE_EXTENSIONS.add("ze_device_raytracing_ext_properties_t")
def _ray_tracing(properties: ze.ze_device_raytracing_ext_properties_t, device: Device) -> None:
    properties.flags = 0
    properties.maxBVHLevels = 0


def queue_groups() -> list[int]:
    """The flags of each command queue group, by ordinal."""
    copy = int(ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY)
    compute = int(ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE)
    cooperative = int(ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS)
    return [compute | copy | cooperative, copy]


QUEUE_GROUP_EXTENSIONS = Extensions("COMMAND_QUEUE_GROUP_PROPERTIES")


@handler
def zeDeviceGetCommandQueueGroupProperties(
    hDevice: int, pCount: int, pCommandQueueGroupProperties: int
) -> None:
    device, groups = platform.device(hDevice), queue_groups()

    def write(properties: ze.ze_command_queue_group_properties_t, ordinal: int) -> None:
        properties.flags = groups[ordinal]
        properties.maxMemoryFillPatternSize = MAX_FILL_PATTERN_SIZES[ordinal]
        properties.numQueues = device.queue_count
        QUEUE_GROUP_EXTENSIONS.fill(properties, device)

    structure = ze.ze_command_queue_group_properties_t
    answer_structs(pCount, pCommandQueueGroupProperties, structure, range(len(groups)), write)


@QUEUE_GROUP_EXTENSIONS.add("ze_copy_bandwidth_exp_properties_t")
def _copy_bandwidth(properties: ze.ze_copy_bandwidth_exp_properties_t, device: Device) -> None:
    copies = speed.between(device, device).copy
    properties.copyBandwidth, properties.copyBandwidthUnit = speed.bandwidth(copies)


@handler
def zeDeviceGetExternalMemoryProperties(hDevice: int, pExternalMemoryProperties: int) -> None:
    """Allocations of the CPU live in files without a name, for which both kinds of descriptor can
    stand, and those of a GPU behind descriptors of NVIDIA's driver."""
    from groundstate.driver import external_memory  # which most programs never need

    properties = ze.ze_device_external_memory_properties_t.from_address(pExternalMemoryProperties)
    types = external_memory.types_of(platform.device(hDevice))
    properties.memoryAllocationImportTypes = types
    properties.memoryAllocationExportTypes = types
    properties.imageImportTypes = types
    properties.imageExportTypes = types


_VECTOR_TYPES = {"char": 1, "short": 2, "int": 4, "long": 8, "float": 4, "double": 8, "half": 2}


@handler
def zeDeviceGetVectorWidthPropertiesExt(
    hDevice: int, pCount: int, pVectorWidthProperties: int
) -> None:
    """Work-items already fill the vector registers, so a kernel gains nothing from vectors."""
    device = platform.device(hDevice)
    register_bytes = device.machine.simd_bits // 8 if device.gpu is None else GPU_REGISTER_BYTES

    def write(properties: ze.ze_device_vector_width_properties_ext_t, width: int) -> None:
        properties.vector_width_size = width
        for name, size in _VECTOR_TYPES.items():
            setattr(properties, f"preferred_vector_width_{name}", 1)
            setattr(properties, f"native_vector_width_{name}", width // size)

    structure = ze.ze_device_vector_width_properties_ext_t
    answer_structs(pCount, pVectorWidthProperties, structure, [register_bytes], write)
