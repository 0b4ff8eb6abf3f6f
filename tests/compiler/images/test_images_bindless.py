"""Images whose handles are numbers, for all work-items or for each: SPV_INTEL_bindless_images."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
import pytest

from groundstate.compiler.program import Program
from groundstate.native_layouts import ImageView
from tests.compiler.images.image_reference import (
    CLAMP_TO_BORDER,
    CLAMP_TO_EDGE,
    FLOAT,
    UNORM,
    Array,
    Format,
    Image,
    Sampler,
    sample,
)
from tests.compiler.instructions.instruction_support import module
from tests.compiler.runner import run

DECLARATIONS = """
%image = OpTypeImage %void 1 0 0 0 0 Unknown ReadOnly
%canvas = OpTypeImage %void 1 0 0 0 0 Unknown WriteOnly
%sampler = OpTypeSampler
%pair = OpTypeSampledImage %image
%takes = OpTypeFunction %void %g*u64 %u64 %g*v4f32 %g*v4f32 %g*v2u32
"""
KERNEL = """
%kernel = OpFunction %void None %takes
%handles = OpFunctionParameter %g*u64
%other = OpFunctionParameter %u64
%fetched = OpFunctionParameter %g*v4f32
%mixed = OpFunctionParameter %g*v4f32
%sizes = OpFunctionParameter %g*v2u32
%entry = OpLabel
%ids = OpLoad %v3u64 %in:GlobalInvocationId
%i = OpCompositeExtract %u64 %ids 0
%x = OpUConvert %u32 %i
%place = OpCompositeConstruct %v2u32 %x %u32:1
%point = OpConvertUToF %v2f32 %place
%from = OpInBoundsPtrAccessChain %g*u64 %handles %i
%handle = OpLoad %u64 %from Aligned 8
%im = OpConvertHandleToImageINTEL %image %handle
%texel = OpImageFetch %v4f32 %im %place
%to.fetched = OpInBoundsPtrAccessChain %g*v4f32 %fetched %i
OpStore %to.fetched %texel
%own = OpConvertHandleToSampledImageINTEL %pair %handle
%near = OpImageSampleExplicitLod %v4f32 %own %point Lod %f32:0
%how = OpConvertHandleToSamplerINTEL %sampler %u64:20
%both = OpSampledImage %pair %im %how
%far = OpImageSampleExplicitLod %v4f32 %both %point Lod %f32:0
%sum = OpFAdd %v4f32 %near %far
%to.mixed = OpInBoundsPtrAccessChain %g*v4f32 %mixed %i
OpStore %to.mixed %sum
%back = OpImage %image %own
%size = OpImageQuerySize %v2u32 %back
%to.size = OpInBoundsPtrAccessChain %g*v2u32 %sizes %i
OpStore %to.size %size
%out = OpConvertHandleToImageINTEL %canvas %other
OpImageWrite %out %place %texel
%there = OpConvertHandleToImageINTEL %canvas %handle
%below = OpCompositeConstruct %v2u32 %x %u32:4
OpImageWrite %there %below %texel
OpReturn
OpFunctionEnd
"""
COUNT = 40


@cache
def bindless_module() -> bytes:
    return module(
        KERNEL,
        declarations=DECLARATIONS,
        capabilities=("BindlessImagesINTEL",),
        extensions=("SPV_INTEL_bindless_images",),
    )


def images() -> list[Image]:
    random = np.random.default_rng(1)
    formats = [
        Format(UNORM, (8, 8, 8, 8), "rgba"),
        Format(FLOAT, (32,), "r"),
        Format(FLOAT, (32,) * 4, "rgba"),
    ]
    return [
        Image(format_, (40 - 3 * number, 5 + number, 1)).fill(random)
        for number, format_ in enumerate(formats)
    ]


def _address(view: ImageView) -> int:
    return ctypes.addressof(view)


@pytest.mark.parametrize("width", [1, 8, None])
@pytest.mark.parametrize("choice", ["same", "random"])
def test_bindless(choice: str, width: int | None) -> None:
    sources = images()
    views = [image.view() for image in sources]
    samplers = [Sampler(CLAMP_TO_EDGE, False, True), Sampler(CLAMP_TO_BORDER, False, False)] * 2
    for view, sampler in zip(views, samplers, strict=False):
        view.sampler = int(sampler.flags)
    canvas = Image(Format(FLOAT, (32,) * 4, "rgba"), (COUNT, 3, 1))
    canvas_view = canvas.view()
    chosen = np.random.default_rng(2).integers(0, 3, COUNT) if choice == "random" else [0] * COUNT
    handles = np.array([_address(views[each]) for each in chosen], np.uint64)
    before = [image.texels() for image in sources]
    point = np.stack((np.arange(COUNT), np.ones(COUNT)), -1)
    whole, border = Sampler(CLAMP_TO_BORDER, False, False), Sampler(CLAMP_TO_BORDER, False, True)
    fetched = _per_image(sources, [whole] * 3, chosen, point)
    mixed = _per_image(sources, samplers, chosen, point)
    mixed += _per_image(sources, [border] * 3, chosen, point)
    ours = [np.zeros((COUNT, 4), np.float32) for _ in range(2)]
    sizes = np.zeros((COUNT, 2), np.uint32)
    program = Program(bindless_module())
    other = np.uint64(_address(canvas_view))
    run(program, "kernel", (2, 1, 1), (20, 1, 1), handles, other, *ours, sizes, width=width)
    np.testing.assert_allclose(ours[0], fetched, atol=1e-6)
    np.testing.assert_allclose(ours[1], mixed, atol=1e-4)
    assert sizes.tolist() == [list(sources[each].size[:2]) for each in chosen]
    np.testing.assert_allclose(canvas.texels()[0, 1], fetched, atol=1e-6)
    for number, (image, old) in enumerate(zip(sources, before, strict=True)):
        _check_written(image, old, np.flatnonzero(np.equal(chosen, number)))


def _per_image(
    sources: list[Image], samplers: list[Sampler], chosen: Array | list[int], point: Array
) -> Array:
    """What each work-item reads, of the image and with the sampler that it has."""
    pairs = zip(sources, samplers, strict=False)
    all_ = np.stack([sample(image, 2, sampler, point) for image, sampler in pairs])
    return np.asarray(all_[chosen, np.arange(COUNT)])


def _check_written(image: Image, old: Array, items: Array) -> None:
    """The fifth row has texels of the second where work-items had this image."""
    now = image.texels()
    items = items[items < image.size[0]]
    np.testing.assert_allclose(now[0, 4, items], old[0, 1, items], atol=1e-6)
    rest = np.setdiff1d(np.arange(image.size[0]), items)
    np.testing.assert_array_equal(now[0, 4, rest], old[0, 4, rest])
    np.testing.assert_array_equal(now[0, :4], old[0, :4])
