"""Images and samplers as objects: formats by name, NumPy in and out, views, lifetimes."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import groundstate as gs
from groundstate.core.image import ImageKind
from tests.compiler.instructions.instruction_support import module

EXTENTS: dict[ImageKind, tuple[int, ...]] = {
    "1d": (11,),
    "1d_array": (3, 11),
    "2d": (7, 11),
    "2d_array": (3, 7, 11),
    "3d": (3, 7, 11),
    "buffer": (11,),
}


def random_array(image: gs.Image, seed: int = 1) -> Any:
    """Elements for all texels of an image."""
    raw = np.random.default_rng(seed).integers(0, 256, image.region_bytes(), np.uint8)
    return raw.view(image.format.dtype.typestr).reshape(image.shape)


# --- Formats ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "layout", "swizzle", "components", "element"),
    [
        ("rgba8unorm", "8_8_8_8", "rgba", 4, "uint8"),
        ("bgra8unorm", "8_8_8_8", "bgra", 4, "uint8"),
        ("argb8uint", "8_8_8_8", "gbar", 4, "uint8"),
        ("rgb16float", "16_16_16", "rgb1", 3, "float16"),
        ("rg32sint", "32_32", "rg01", 2, "int32"),
        ("ra8snorm", "8_8", "r00a", 2, "int8"),
        ("a8unorm", "8", "000a", 1, "uint8"),
        ("d32float", "32", "d000", 1, "float32"),
        ("rgb10a2unorm", "10_10_10_2", "rgba", 1, "uint32"),
        ("rg11b10float", "11_11_10", "rgb1", 1, "uint32"),
        ("b5g6r5unorm", "5_6_5", "rgb1", 1, "uint16"),
        ("b5g5r5a1unorm", "5_5_5_1", "rgba", 1, "uint16"),
        ("b4g4r4a4unorm", "4_4_4_4", "rgba", 1, "uint16"),
    ],
)
def test_names_of_formats(
    ctx: gs.Context, name: str, layout: str, swizzle: str, components: int, element: str
) -> None:
    found = gs.ImageFormat.named(name)
    assert (found.layout, found.swizzle, found.components) == (layout, swizzle, components)
    assert found.dtype.name == element
    image = gs.Image(ctx, (4, 4), name)
    array = random_array(image)
    image.upload(array)
    assert image.download().tobytes() == array.tobytes()
    assert image.memory_properties().size_bytes == 16 * found.texel_bytes


def test_a_name_may_ask_for_the_curve_of_srgb(ctx: gs.Context) -> None:
    assert gs.ImageFormat.named("rgba8unorm-srgb").is_srgb
    assert gs.Image(ctx, (4, 4), "bgra8unorm-srgb").format.is_srgb
    with pytest.raises(gs.errors.UnsupportedImageFormat):
        gs.Image(ctx, (4, 4), "rgba16unorm-srgb")


@pytest.mark.parametrize("name", ["rgba", "rgba8", "rr8unorm", "rgba9unorm", "rgba8float64", ""])
def test_what_is_no_format(name: str) -> None:
    with pytest.raises(ValueError, match="'rgba8unorm'"):
        gs.ImageFormat.named(name)


def test_planar_image_format_has_no_dtype() -> None:
    planar = gs.ImageFormat.named("p010")
    assert planar.is_planar
    assert str(planar) == "p010"
    with pytest.raises(TypeError, match="several planes"):
        _ = planar.dtype


# --- Images -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", EXTENTS)
def test_an_array_goes_in_and_comes_out(ctx: gs.Context, kind: ImageKind) -> None:
    image = gs.Image(ctx, EXTENTS[kind], "rg16uint", kind)
    array = random_array(image)
    image.upload(array)
    found = image.download()
    assert found.dtype == np.uint16
    assert found.shape == (*EXTENTS[kind], 2)
    assert np.array_equal(found, array)


def test_a_part_of_an_image(ctx: gs.Context) -> None:
    image = gs.Image(ctx, (7, 11), "r32float")
    array = random_array(image)
    image.upload(array)
    region = gs.Region(x=2, y=1, width=5, height=3)
    assert image.download(region).shape == (3, 5)
    assert image.download(region).tobytes() == array[1:4, 2:7].tobytes()
    image.upload(np.ones((3, 5), np.float32), region)
    array[1:4, 2:7] = 1
    assert image.download().tobytes() == array.tobytes()


def test_images_are_copied_to_each_other(ctx: gs.Context, commands: gs.CommandList) -> None:
    first, second = gs.Image(ctx, (8, 8), "r8uint"), gs.Image(ctx, (8, 8), "r8uint")
    array = random_array(first)
    commands.copy_image(first, array)
    commands.copy_image(second, first)
    corner, middle = gs.Region(width=2, height=2), gs.Region(x=4, y=4, width=2, height=2)
    commands.copy_image(second, first, corner, source_region=middle)
    commands.synchronize()
    expected = array.copy()
    expected[:2, :2] = array[4:6, 4:6]
    assert np.array_equal(second.download(), expected)


def test_memory_with_gaps(ctx: gs.Context, commands: gs.CommandList) -> None:
    image = gs.Image(ctx, (2, 3, 4), "r8uint", "2d_array")
    memory = ctx.alloc_host(2 * 24)
    memory.numpy()[:] = np.arange(48)
    commands.copy_image(image, memory, row_pitch_bytes=7, slice_pitch_bytes=24)
    commands.synchronize()
    expected = np.lib.stride_tricks.as_strided(memory.numpy(), (2, 3, 4), (24, 7, 1))
    assert np.array_equal(image.download(), expected)
    with pytest.raises(ValueError, match="fewer than 50"):
        commands.copy_image(image, memory, row_pitch_bytes=10, slice_pitch_bytes=26)


def test_events_order_copies(ctx: gs.Context) -> None:
    image, result = gs.Image(ctx, (4, 4), "r8uint"), np.zeros((4, 4), np.uint8)
    array = random_array(image)
    pool = gs.EventPool(ctx, 2)
    gate, done = pool.event(), pool.event()
    with gs.CommandList.immediate(ctx) as commands:
        commands.copy_image(image, array, signal=done, wait=gate)
        commands.copy_image(result, image, wait=done)
        gate.signal()
    assert np.array_equal(result, array)


def test_image_sizes_checked_before_driver_call(ctx: gs.Context) -> None:
    image = gs.Image(ctx, (4, 4), "rgba8unorm")
    with pytest.raises(ValueError, match="63 bytes, fewer than 64"):
        image.upload(bytes(63))
    with gs.CommandList.immediate(ctx) as commands, pytest.raises(TypeError, match="copy_region"):
        commands.copy_image(bytearray(4), bytes(4))


def test_extents_have_to_fit_the_kind(ctx: gs.Context) -> None:
    with pytest.raises(ValueError, match=r"\(layers, height, width\)"):
        gs.Image(ctx, (4, 4), kind="2d_array")
    with pytest.raises(ValueError, match="one to three dimensions"):
        gs.Image(ctx, (4, 4, 4, 4))
    with pytest.raises(ValueError, match="the kinds are 1d, 1d_array"):
        gs.Image(ctx, 4, kind="cube")  # type: ignore[arg-type]
    with pytest.raises(gs.errors.UnsupportedSize, match=r"Device\.image_properties"):
        gs.Image(ctx, (1, 1 << 20))


def test_what_a_device_supports(gpu: gs.Device) -> None:
    limits = gpu.image_properties
    assert gs.Image.is_supported(gpu, (1, limits.max_dims_2d))
    assert not gs.Image.is_supported(gpu, (1, limits.max_dims_2d + 1))
    assert gs.Image.is_supported(gpu, (4, 4), "nv12")
    assert not gs.Image.is_supported(gpu, (4, 4, 4), "nv12")


# --- Views and lifetimes ------------------------------------------------------------------------


def test_a_view_shares_texels(ctx: gs.Context) -> None:
    image = gs.Image(ctx, (4, 4), "rgba8unorm")
    seen = image.view("r32uint")
    seen.upload(np.arange(16, dtype=np.uint32))
    assert image.download()[0, 1].tolist() == [1, 0, 0, 0]
    part = image.view("r32uint", (2, 3))
    assert part.download().tolist() == [[0, 1, 2], [4, 5, 6]]


def test_planes_of_a_picture(ctx: gs.Context) -> None:
    picture = gs.Image(ctx, (4, 6), "nv12")
    luma, chroma = picture.view("r8unorm", plane=0), picture.view("rg8unorm", (2, 3), plane=1)
    luma.upload(np.full((4, 6), 7, np.uint8))
    chroma.upload(np.full((2, 3, 2), 9, np.uint8))
    assert luma.download().sum() == 24 * 7
    assert chroma.download().sum() == 12 * 9


def test_a_view_keeps_its_image(ctx: gs.Context) -> None:
    image = gs.Image(ctx, (64, 64), "r8uint")
    array = random_array(image)
    image.upload(array)
    seen = image.view()
    image.close()
    assert np.array_equal(seen.download(), array)
    with pytest.raises(gs.errors.ClosedError):
        image.download()


def test_an_image_in_memory_keeps_the_memory(ctx: gs.Context) -> None:
    memory = ctx.alloc_shared((4, 32))
    image = gs.Image.in_memory(memory, (4, 5), "rg16uint", row_pitch_bytes=32)
    assert image.memory_properties().row_pitch_bytes == 32
    array = random_array(image)
    image.upload(array)
    assert memory.numpy()[:, :20].tobytes() == array.tobytes()
    memory.close()
    gc.collect()
    assert np.array_equal(image.download(), array)


def test_a_list_keeps_the_images_that_it_copies(ctx: gs.Context) -> None:
    result = np.zeros((64, 64), np.uint8)
    image = gs.Image(ctx, (64, 64), "r8uint")
    array = random_array(image)
    image.upload(array)
    recorded = gs.CommandList(ctx)
    recorded.copy_image(result, image)
    image.close()
    del image
    gc.collect()
    with gs.CommandQueue(ctx) as queue:
        queue.execute(recorded)
        queue.synchronize()
    assert np.array_equal(result, array)


def test_residency_and_what_is_shown(ctx: gs.Context) -> None:
    image = gs.Image(ctx, (4, 6), "r8uint")
    image.make_resident()
    image.evict()
    assert image.device_offset != 0
    assert "2d 8 uint r001 (4, 6)" in repr(image)
    sampler = gs.Sampler(ctx, gs.AddressMode.MIRROR, normalized=False)
    assert "MIRROR NEAREST in texels" in repr(sampler)


# --- Kernels ------------------------------------------------------------------------------------

SCALING = """
kernel void scale(read_only image2d_t from, write_only image2d_t to, sampler_t sampler) {
    int2 place = (int2)(get_global_id(0), get_global_id(1));
    float2 share = (convert_float2(place) + 0.5f) / convert_float2(get_image_dim(to));
    write_imagef(to, place, read_imagef(from, sampler, share));
}
"""


def test_kernels_take_images_and_samplers(ctx: gs.Context, commands: gs.CommandList) -> None:
    """Twice as large with linear filtering: each texel is a mean of four, weighted 9, 3, 3, 1."""
    source, target = gs.Image(ctx, (6, 8), "r32float"), gs.Image(ctx, (12, 16), "r32float")
    sampler = gs.Sampler(ctx, gs.AddressMode.CLAMP, gs.FilterMode.LINEAR)
    array = np.random.default_rng(1).random((6, 8), np.float32)
    commands.copy_image(source, array)
    kernel = gs.Module(ctx, opencl=SCALING)["scale"]
    kernel(commands, (4, 3), (4, 4), source, target, sampler)
    commands.synchronize()
    padded = np.pad(array, 1, mode="edge")
    rows = np.stack(
        [0.25 * padded[:-1] + 0.75 * padded[1:], 0.75 * padded[:-1] + 0.25 * padded[1:]]
    )
    tall = np.stack([rows[0][:-1], rows[1][1:]], 1).reshape(12, 10)
    left, right = 0.25 * tall[:, :-1] + 0.75 * tall[:, 1:], 0.75 * tall[:, :-1] + 0.25 * tall[:, 1:]
    expected = np.stack([left[:, :-1], right[:, 1:]], 2).reshape(12, 16)
    assert np.allclose(target.download(), expected, atol=1e-5)


def test_kernel_image_argument_takes_only_image(ctx: gs.Context, commands: gs.CommandList) -> None:
    kernel, image = gs.Module(ctx, opencl=SCALING)["scale"], gs.Image(ctx, (4, 4), "r32float")
    sampler = gs.Sampler(ctx)
    for wrong in (sampler, ctx.alloc_host(4), None, 5):
        with pytest.raises(TypeError, match=r"takes a groundstate\.Image"):
            kernel(commands, 1, 1, wrong, image, sampler)
    with pytest.raises(TypeError, match=r"takes a groundstate\.Sampler"):
        kernel(commands, 1, 1, image, image, image)


def test_an_image_lives_until_the_kernel_has_run(ctx: gs.Context) -> None:
    target, kernel = gs.Image(ctx, (4, 4), "r32float"), gs.Module(ctx, opencl=SCALING)["scale"]
    source, sampler = gs.Image(ctx, (4, 4), "r32float"), gs.Sampler(ctx)
    source.upload(np.full((4, 4), 2.5, np.float32))
    gate = gs.EventPool(ctx, 1).event()
    with gs.CommandList.immediate(ctx) as commands:
        kernel(commands, 1, (4, 4), source, target, sampler, wait=gate)
        source.close()
        sampler.close()
        del source, sampler
        gc.collect()
        gate.signal()
    assert target.download().tolist() == [[2.5] * 4] * 4


BINDLESS_TYPES = """
%image = OpTypeImage %void 1 0 0 0 0 Unknown ReadOnly
%takes = OpTypeFunction %void %g*u64 %g*v4f32
"""
BINDLESS = """
%kernel = OpFunction %void None %takes
%handles = OpFunctionParameter %g*u64
%found = OpFunctionParameter %g*v4f32
%entry = OpLabel
%ids = OpLoad %v3u64 %in:GlobalInvocationId
%i = OpCompositeExtract %u64 %ids 0
%from = OpInBoundsPtrAccessChain %g*u64 %handles %i
%handle = OpLoad %u64 %from Aligned 8
%picture = OpConvertHandleToImageINTEL %image %handle
%place = OpCompositeConstruct %v2u32 %u32:1 %u32:0
%texel = OpImageFetch %v4f32 %picture %place
%to = OpInBoundsPtrAccessChain %g*v4f32 %found %i
OpStore %to %texel
OpReturn
OpFunctionEnd
"""


def test_a_kernel_finds_images_by_their_offsets(ctx: gs.Context, commands: gs.CommandList) -> None:
    """Each work-item reads the second texel of an image of its own."""
    spirv = module(
        BINDLESS,
        declarations=BINDLESS_TYPES,
        capabilities=("BindlessImagesINTEL",),
        extensions=("SPV_INTEL_bindless_images",),
    )
    images = [gs.Image(ctx, (1, 2), "rg32float") for _ in range(5)]
    for number, image in enumerate(images):
        image.upload(np.array([[[-1, -1], [number, number / 2]]], np.float32))
    handles = ctx.alloc_shared(5, "uint64")
    handles.numpy()[:] = [image.device_offset for image in images]
    found = ctx.alloc_shared((5, 4), "float32")
    gs.Module(ctx, spirv=spirv)["kernel"](commands, 1, 5, handles, found)
    commands.synchronize()
    assert found.tolist() == [[number, number / 2, 0, 1] for number in range(5)]
