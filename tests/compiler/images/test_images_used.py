"""Images in kernels: questions, literal samplers, functions, halves, divergent code."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
import pytest

from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.native_layouts import ImageView
from tests.compiler.images.image_reference import (
    CLAMP_TO_BORDER,
    CLAMP_TO_EDGE,
    FLOAT,
    REPEAT,
    SAMPLERS,
    SINT,
    UINT,
    UNORM,
    Array,
    Format,
    Image,
    Sampler,
    sample,
)
from tests.compiler.instructions.instruction_support import module
from tests.compiler.kernels import read
from tests.compiler.runner import program_of, run

RGBA = Format(UNORM, (8, 8, 8, 8), "rgba")
WIDTHS = [1, 4, 16, None]
LINEAR = Sampler(CLAMP_TO_EDGE, False, True)
NEAREST = Sampler(CLAMP_TO_EDGE, False, False)


ASSEMBLED = """
%takes = OpTypeFunction %void %image %g*v4f32 %g*u32
%nothing = OpTypeFunction %void
%aside = OpFunction %void None %nothing
%aside.entry = OpLabel
OpReturn
OpFunctionEnd
%kernel = OpFunction %void None %takes
%im = OpFunctionParameter %image
%colours = OpFunctionParameter %g*v4f32
%numbers = OpFunctionParameter %g*u32
%entry = OpLabel
%ids = OpLoad %v3u64 %in:GlobalInvocationId
%i = OpCompositeExtract %u64 %ids 0
%x = OpUConvert %u32 %i
%place = OpCompositeConstruct %v2u32 %x %u32:1
%point = OpConvertUToF %v2f32 %place
%both = OpSampledImage %pair %im %fixed
%loaded = OpLoad %sampler %holder
%other = OpSampledImage %pair %im %loaded
%called = OpFunctionCall %void %aside
%back = OpImage %image %both
%fetched = OpImageFetch %v4f32 %back %place
%near = OpImageSampleExplicitLod %v4f32 %both %point Lod %f32:0
%far = OpImageSampleExplicitLod %v4f32 %other %point Lod %f32:0
%some = OpFAdd %v4f32 %fetched %near
%all = OpFAdd %v4f32 %some %far
%to = OpInBoundsPtrAccessChain %g*v4f32 %colours %i
OpStore %to %all
%levels = OpImageQueryLevels %u32 %im
%samples = OpImageQuerySamples %u32 %im
%ten = OpIMul %u32 %levels %u32:10
%sum = OpIAdd %u32 %ten %samples
%put = OpInBoundsPtrAccessChain %g*u32 %numbers %i
OpStore %put %sum
OpReturn
OpFunctionEnd
"""
"""Instructions that do not come out of OpenCL C, and pairs that are used after a call."""
DECLARATIONS = """
%image = OpTypeImage %void 1 0 0 0 0 Unknown ReadOnly
%sampler = OpTypeSampler
%pair = OpTypeSampledImage %image
%fixed = OpConstantSampler %sampler ClampToEdge 0 Nearest
%linear = OpConstantSampler %sampler Clamp 0 Linear
%to.sampler = OpTypePointer UniformConstant %sampler
%holder = OpVariable %to.sampler UniformConstant %linear
"""


@cache
def program() -> Program:
    return program_of(read("images"))


@cache
def image_modules() -> tuple[bytes, ...]:
    """The modules of these tests."""
    return compile_opencl(read("images")), module(ASSEMBLED, declarations=DECLARATIONS)


@pytest.mark.parametrize("width", [1, 8, None])
def test_other_instructions(width: int | None) -> None:
    image = random_image(RGBA)
    out, numbers = np.zeros((32, 4), np.float32), np.zeros(32, np.uint32)
    view = image.view()
    assembled = Program(image_modules()[1])
    arguments = (handle(view), out, numbers)
    run(assembled, "kernel", (2, 1, 1), (16, 1, 1), *arguments, width=width)
    point = np.stack((np.arange(32), np.ones(32)), -1)
    mixed = sample(image, 2, Sampler(CLAMP_TO_BORDER, False, True), point)
    np.testing.assert_allclose(out, 2 * image.texels()[0, 1] + mixed, atol=1e-5)
    assert set(numbers) == {11}


@pytest.mark.parametrize("width", WIDTHS)
def test_no_image(width: int | None) -> None:
    """A kernel that was given an image without texels reads nothing from it."""
    nothing = np.zeros(16, np.uint8)
    views = [ImageView(nothing.ctypes.data), Image(RGBA, (32, 8, 1)).view()]
    out = np.full((48, 4), 9, np.float32)
    where = np.random.default_rng(2).uniform(-3, 35, (48, 2)).astype(np.float32)
    for sampler in SAMPLERS:
        arguments = (handle(views[0]), handle(views[0]), sampler.flags, where, out)
        run(program(), "divergent", (2, 1, 1), (24, 1, 1), *arguments, width=width)
        assert not out.any()
    run(program(), "in_place", (2, 8, 1), (16, 1, 1), handle(views[0]), width=width)
    assert not nothing.any()


def handle(view: ImageView) -> np.uint64:
    return np.uint64(ctypes.addressof(view))


def random_image(format_: Format, size: tuple[int, int, int] = (32, 8, 1), seed: int = 1) -> Image:
    return Image(format_, size).fill(np.random.default_rng(seed))


@pytest.mark.parametrize("width", WIDTHS)
def test_questions(width: int | None) -> None:
    views = [
        Image(RGBA, (10, 1, 1)).view(),
        Image(RGBA, (11, 1, 1), 5).view(),
        Image(RGBA, (12, 1, 1)).view(),
        Image(RGBA, (13, 14, 1)).view(),
        Image(RGBA, (15, 16, 1), 6).view(),
        Image(RGBA, (17, 18, 19)).view(),
    ]
    out = np.zeros(16, np.int32)
    run(program(), "sizes", (1, 1, 1), (16, 1, 1), *map(handle, views), out, width=width)
    sizes = [10, 11, 5, 12, 13, 14, 14, 15, 16, 6, 17, 18, 19, 19]
    assert list(out) == [*sizes, 0x10B5, 0x10D2]


@pytest.mark.parametrize("width", WIDTHS)
def test_literal_samplers(width: int | None) -> None:
    image = random_image(RGBA)
    where = np.random.default_rng(2).uniform(-2, 12, (64, 2)).astype(np.float32)
    out = np.zeros((64, 2, 4), np.float32)
    view = image.view()
    run(program(), "literal_samplers", (1, 1, 1), (64, 1, 1), handle(view), where, out, width=width)
    smooth, sharp = Sampler(REPEAT, True, True), Sampler(CLAMP_TO_BORDER, False, False)
    np.testing.assert_allclose(out[:, 0], sample(image, 2, smooth, where), atol=2e-6)
    np.testing.assert_allclose(out[:, 1], sample(image, 2, sharp, where), atol=1e-6)


def _centres(image: Image) -> Array:
    width, height, _ = image.size
    return np.stack(np.meshgrid(np.arange(width), np.arange(height)), -1).reshape(-1, 2) + 0.5


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["through_functions", "halves", "depth"])
def test_copies(name: str, width: int | None) -> None:
    """Through called functions; as halves, which are halved; as depths, which are doubled."""
    format_ = Format(FLOAT, (32,), "r") if name == "depth" else RGBA
    source, target = random_image(format_), Image(format_, (32, 8, 1))
    views = [source.view(), target.view()]
    arguments = (handle(views[0]), NEAREST.flags, handle(views[1]))
    run(program(), name, (2, 8, 1), (16, 1, 1), *arguments, width=width)
    factor = {"through_functions": 1, "halves": 0.5, "depth": 2}[name]
    expected = factor * source.texels()
    tolerance = 0.51 / 255 + 1e-3 if name == "halves" else 1e-6
    np.testing.assert_allclose(target.texels()[..., 0], expected[..., 0], atol=tolerance)
    if name == "through_functions":
        np.testing.assert_array_equal(target.data, source.data)


@pytest.mark.parametrize("width", WIDTHS)
def test_buffer(width: int | None) -> None:
    format_ = Format(SINT, (32,), "r")
    source, target = random_image(format_, (64, 1, 1)), Image(format_, (60, 1, 1))
    views = [source.view(), target.view()]
    run(program(), "buffer", (1, 1, 1), (64, 1, 1), *map(handle, views), width=width)
    numbers = source.data.view(np.int32).ravel()
    np.testing.assert_array_equal(target.data.view(np.int32).ravel(), (2 * numbers)[:60])


@pytest.mark.parametrize("width", WIDTHS)
def test_in_place(width: int | None) -> None:
    image = random_image(Format(UINT, (8, 8, 8, 8), "rgba"))
    before = image.raw()
    view = image.view()
    run(program(), "in_place", (2, 8, 1), (16, 1, 1), handle(view), width=width)
    np.testing.assert_array_equal(
        image.raw(), np.minimum(before + np.array([1, 2, 3, 4], np.uint64), 255)
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_divergent(width: int | None) -> None:
    images = [random_image(RGBA), random_image(Format(FLOAT, (32,) * 4, "rgba"), seed=3)]
    views = [image.view() for image in images]
    where = np.random.default_rng(2).uniform(-3, 35, (60, 2)).astype(np.float32)
    out = np.full((60, 4), 9, np.float32)
    arguments = (*map(handle, views), LINEAR.flags, where, out)
    run(program(), "divergent", (3, 1, 1), (20, 1, 1), *arguments, width=width)
    expected = np.zeros((60, 4))
    for i in range(60):
        if i % 3:
            for n in range(i % 5):
                place = where[i : i + 1] + np.float32(0.125 * n)
                expected[i] += sample(images[0], 2, LINEAR, place)[0]
        elif i % 2:
            expected[i] = sample(images[1], 2, LINEAR, where[i : i + 1])[0]
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=2e-4)


@pytest.mark.parametrize("width", WIDTHS)
def test_same_for_all(width: int | None) -> None:
    image, target = random_image(RGBA, (9, 7, 1)), Image(RGBA, (9, 7, 1))
    views = [image.view(), target.view()]
    out = np.zeros((48, 4), np.float32)
    arguments = (handle(views[0]), LINEAR.flags, handle(views[1]), out)
    run(program(), "same_for_all", (2, 1, 1), (24, 1, 1), *arguments, width=width)
    middle = np.array([[4.5, 3.5]], np.float32)
    expected = sample(image, 2, LINEAR, middle)
    np.testing.assert_allclose(out, np.repeat(expected, 48, 0), atol=1e-6)
    np.testing.assert_allclose(target.texels()[0, 2, 1], expected[0], atol=0.51 / 255)
