"""What a device says of its images, and their export. native/images/image.c makes them."""

from __future__ import annotations

from groundstate import ze
from groundstate.driver import external_memory, native, platform
from groundstate.driver.api import Extensions, Failure, handler
from groundstate.driver.capabilities import MAX_ARGUMENTS_SIZE
from groundstate.driver.platform import Device
from groundstate.native_layouts import (
    IMAGE_MAX_1D,
    IMAGE_MAX_2D,
    IMAGE_MAX_3D,
    IMAGE_MAX_BUFFER,
    IMAGE_MAX_LAYERS,
    IMAGE_PITCH_ALIGNMENT,
    AllocationFacts,
)

MAX_ARGUMENTS = MAX_ARGUMENTS_SIZE // 8
"""An image or a sampler takes eight bytes of a kernel's arguments, and nothing else is scarce."""

MAX_PITCH_BYTES = 1 << 31

IMAGE_EXTENSIONS = Extensions("DEVICE_IMAGE_PROPERTIES")


@handler
def zeDeviceGetImageProperties(hDevice: int, pImageProperties: int) -> None:
    device = platform.device(hDevice)
    properties = ze.ze_device_image_properties_t.from_address(pImageProperties)
    properties.maxImageDims1D = IMAGE_MAX_1D
    properties.maxImageDims2D = IMAGE_MAX_2D
    properties.maxImageDims3D = IMAGE_MAX_3D
    properties.maxImageBufferSize = min(IMAGE_MAX_BUFFER, device.part.memory_bytes)
    properties.maxImageArraySlices = IMAGE_MAX_LAYERS
    properties.maxSamplers = MAX_ARGUMENTS
    properties.maxReadImageArgs = properties.maxWriteImageArgs = MAX_ARGUMENTS
    IMAGE_EXTENSIONS.fill(properties, device)


@IMAGE_EXTENSIONS.add("ze_device_pitched_alloc_exp_properties_t")
def _pitched_images(
    properties: ze.ze_device_pitched_alloc_exp_properties_t, device: Device
) -> None:
    properties.maxImageLinearWidth = properties.maxImageLinearHeight = IMAGE_MAX_2D


@IMAGE_EXTENSIONS.add("ze_pitched_alloc_2dimage_linear_pitch_exp_info_t")
def _image_pitch(
    properties: ze.ze_pitched_alloc_2dimage_linear_pitch_exp_info_t, device: Device
) -> None:
    properties.pitchAlign = IMAGE_PITCH_ALIGNMENT
    properties.maxSupportedPitch = MAX_PITCH_BYTES


@handler
def zeImageGetAllocPropertiesExt(hContext: int, hImage: int, pImageAllocProperties: int) -> None:
    """The native half has answered all but the chain, which may ask for an export."""
    properties = ze.ze_image_allocation_ext_properties_t.from_address(pImageAllocProperties)
    next_struct = properties.pNext or 0
    found = _memory_of(hContext, hImage)
    if found is not None:
        external_memory.answer_exports_of(next_struct, hContext, found)
        return
    external_memory.answer_exports(next_struct, _refuse_texels)


def _memory_of(context: int, image: int) -> AllocationFacts | None:
    memory = native.image_memory(image)
    return native.allocation(context, memory) if memory else None


def _refuse_texels() -> int:
    raise Failure(
        ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
        "the texels are memory of the program or of another context; export that memory",
    )
