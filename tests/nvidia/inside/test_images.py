"""Images and samplers: texels and views in the GPU's memory, copies, and what kernels get."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
import pytest

import groundstate as gs
from groundstate import ze
from tests.nvidia.inside.conftest import SOURCE

TEXEL = 0x04030201


def texels(rows: int, columns: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Texels of four bytes; the first is TEXEL."""
    return (np.arange(4 * rows * columns) % 255 + 1).astype(np.uint8).reshape(rows, columns, 4)


@pytest.fixture
def image(ctx: gs.Context) -> Iterator[gs.Image]:
    with gs.Image(ctx, (5, 7), "rgba8uint") as made:
        made.upload(texels(5, 7))
        yield made


def test_image_returns_its_texels(image: gs.Image) -> None:
    assert np.array_equal(image.download(), texels(5, 7))


def test_images_copy_regions(ctx: gs.Context, image: gs.Image, commands: gs.CommandList) -> None:
    volume = gs.Image(ctx, (3, 5, 7), "rgba8uint")
    expected = np.zeros((3, 5, 7, 4), np.uint8)
    volume.upload(expected)
    commands.copy_image(
        volume, image, gs.Region(2, 1, 1, 4, 3, 1), source_region=gs.Region(1, 2, 0, 4, 3, 1)
    )
    commands.synchronize()
    expected[1, 1:4, 2:6] = texels(5, 7)[2:5, 1:5]
    assert np.array_equal(volume.download(), expected)


def test_kernel_gets_view_and_sampler(
    ctx: gs.Context, module: gs.Module, image: gs.Image, commands: gs.CommandList
) -> None:
    out = ctx.alloc_host(6, "uint64")
    sampler = gs.Sampler(ctx, gs.AddressMode.REPEAT, gs.FilterMode.LINEAR)
    module["look"](commands, 1, 1, image, sampler, out)
    commands.synchronize()
    assert out.tolist()[:4] == [7, 5, 4, TEXEL]
    flags = out.tolist()[4]
    with gs.Sampler(ctx, gs.AddressMode.CLAMP) as other:
        module["look"](commands, 1, 1, image, other, out)
        commands.synchronize()
        assert out.tolist()[4] not in (0, flags)


def test_kernel_without_image_gets_no_texels(
    ctx: gs.Context, module: gs.Module, image: gs.Image, commands: gs.CommandList
) -> None:
    """Without one, or with one that is gone when the kernel is launched again."""
    out, kernel = ctx.alloc_host(6, "uint64"), module["look"]

    def launch_again() -> list[int]:
        count = ctypes.byref(ze.ze_group_count_t(1, 1, 1))
        launched = ze.zeCommandListAppendLaunchKernel(
            commands.handle, kernel.handle, count, None, 0, None
        )
        assert launched == 0
        commands.synchronize()
        return out.tolist()[:4]

    with gs.Sampler(ctx) as sampler:
        kernel(commands, 1, 1, image, sampler, out)
        commands.synchronize()
        assert out.tolist()[:4] == [7, 5, 4, TEXEL]
        image.close()
        assert launch_again() == [0, 0, 1, 0]
        assert ze.zeKernelSetArgumentValue(kernel.handle, 0, 8, None) == 0
        assert launch_again() == [0, 0, 1, 0]


def test_view_of_other_format(
    ctx: gs.Context, module: gs.Module, image: gs.Image, commands: gs.CommandList
) -> None:
    out = ctx.alloc_host(6, "uint64")
    with image.view("r32uint") as view, gs.Sampler(ctx) as sampler:
        module["look"](commands, 1, 1, view, sampler, out)
        commands.synchronize()
        assert out.tolist()[:4] == [7, 5, 4, TEXEL]


def test_bindless_image_is_address_in_gpu_memory(ctx: gs.Context, image: gs.Image) -> None:
    properties = ze.ze_memory_allocation_properties_t()
    result = ze.zeMemGetAllocProperties(
        ctx.handle, image.device_offset, ctypes.byref(properties), None
    )
    assert (result, properties.type) == (0, ze.ZE_MEMORY_TYPE_DEVICE)


def test_image_in_memory_needs_memory_of_the_gpu(mixed: gs.Context, gpu: gs.Device) -> None:
    memory = np.zeros(64 * 4, np.uint8)
    description = ze.ze_image_desc_t(type=ze.ZE_IMAGE_TYPE_2D, width=16, height=4)
    description.format = ze.ze_image_format_t(ze.ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, 0, 0, 1, 2, 3)
    pitched = ze.ze_image_pitched_exp_desc_t(ptr=memory.ctypes.data)
    description.pNext = ctypes.addressof(pitched)
    made = ctypes.c_void_p()
    create = (mixed.handle, gpu.handle, ctypes.byref(description), ctypes.byref(made))
    assert ze.zeImageCreate(*create) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    reachable = mixed.alloc_device(64 * 4, device=gpu)
    pitched.ptr = reachable.address
    assert ze.zeImageCreate(*create) == 0
    assert ze.zeImageDestroy(made) == 0


def test_image_of_other_device_is_refused(
    mixed: gs.Context, cpu: gs.Device, gpu: gs.Device
) -> None:
    on_cpu = gs.Image(mixed, (2, 2), "rgba8uint", device=cpu)
    with (
        gs.Module(mixed, opencl=SOURCE, device=gpu) as module,
        gs.CommandList.immediate(mixed, device=gpu) as commands,
        gs.Sampler(mixed, device=gpu) as sampler,
        pytest.raises(gs.InvalidArgument, match="argument 0 is an image of another device"),
    ):
        module["look"](commands, 1, 1, on_cpu, sampler, mixed.alloc_host(6, "uint64"))
