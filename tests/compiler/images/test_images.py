"""Kernels read images as the formulas of the OpenCL C specification say."""

from __future__ import annotations

import ctypes
import mmap
from functools import cache
from typing import Any

import numpy as np
import pytest

from groundstate.compiler.program import Program
from tests.compiler.images.image_reference import (
    CLAMP_TO_BORDER,
    CLAMP_TO_EDGE,
    FLOATS,
    FORMATS,
    INTEGERS,
    MIRRORED,
    REPEAT,
    SAMPLERS,
    Array,
    Format,
    Image,
    Sampler,
    sample,
)
from tests.compiler.runner import program_of, run

SHAPES = {
    "image1d_t": (1, False),
    "image1d_array_t": (1, True),
    "image2d_t": (2, False),
    "image2d_array_t": (2, True),
    "image3d_t": (3, False),
}
"""The axes, and whether there are layers."""
GROUP, COUNT = 64, 192
protect = ctypes.CDLL(None).mprotect
protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
WIDTHS = [1, 8, None]


def source_of(shape: str) -> str:
    axes, is_array = SHAPES[shape]
    count = axes + is_array
    width = 4 if count == 3 else count
    places = [f"c[{count} * i + {part}]" if part < count else "0" for part in range(width)]
    vector = f"({width})" if width > 1 else ""
    kernels = []
    for result, letter in (("float4", "f"), ("int4", "i"), ("uint4", "ui")):
        for coordinate in ("float", "int"):
            kind = f"({coordinate}{vector.strip('()')})({', '.join(places)})"
            kernels.append(
                f"kernel void sample_{letter}_{coordinate}(read_only {shape} im, sampler_t s,\n"
                f"    global const {coordinate} *c, global {result} *o) {{\n"
                "  int i = get_global_id(0);\n"
                f"  o[i] = read_image{letter}(im, s, {kind});\n}}\n"
            )
        kind = f"(int{vector.strip('()')})({', '.join(places)})"
        kernels.append(
            f"kernel void read_{letter}(read_only {shape} im, global const int *c,\n"
            f"    global {result} *o) {{\n"
            "  int i = get_global_id(0);\n"
            f"  o[i] = read_image{letter}(im, {kind});\n}}\n"
        )
    return "".join(kernels)


@cache
def program(shape: str) -> Program:
    return program_of(source_of(shape))


def make(shape: str, format_: Format, seed: int = 1) -> Image:
    axes, is_array = SHAPES[shape]
    sizes = (13, 7, 5)
    size = (sizes[0], sizes[1] if axes > 1 else 1, sizes[2] if axes > 2 else 1)
    image = Image(format_, size, 3 if is_array else 0, padding=12)
    return image.fill(np.random.default_rng(seed))


def kernel_result(
    shape: str, name: str, image: Image, place: Array, width: int | None, *extra: np.generic
) -> Array:
    kind = {"f": np.float32, "i": np.int32, "ui": np.uint32}[name.split("_")[1]]
    out = np.zeros((COUNT, 4), kind)
    view = image.view()
    handle = np.uint64(ctypes.addressof(view))
    groups = (COUNT // GROUP, 1, 1)
    flat = np.ascontiguousarray(place)
    run(program(shape), name, groups, (GROUP, 1, 1), handle, *extra, flat, out, width=width)
    return out


def places(shape: str, sampler: Sampler, seed: int = 2) -> Array:
    """Coordinates inside and outside, at borders, at the middles of texels, and odd ones."""
    axes, is_array = SHAPES[shape]
    random = np.random.default_rng(seed)
    place = random.uniform(-1.6, 2.6, (COUNT, axes + is_array))
    place[: COUNT // 3] = random.uniform(0, 1, (COUNT // 3, axes + is_array))
    sizes = (13, 7, 5)
    for axis in range(axes):
        steps = np.arange(-3, 2 * sizes[axis] + 3) / 2 / sizes[axis]
        place[64 : 64 + len(steps), axis] = random.permutation(steps)
        if not sampler.normalized:
            place[:, axis] *= sizes[axis]
    odd = [0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30, 1e30, -1e30, 2.0**31, -(2.0**31), 3e9, 1e-8]
    for number, value in enumerate(odd):
        place[120 + number, number % axes] = value
    if is_array:
        place[:, axes] = random.uniform(-2, 5, COUNT)
        place[150:160, axes] = np.arange(10) / 2 - 1
    return place.astype(np.float32)


def close(ours: Array, expected: Array, image: Image) -> Any:
    """As near as single precision allows, relative to the largest texel."""
    scale = max(1e-3, float(np.max(np.abs(image.texels()))))
    return np.testing.assert_allclose(ours, expected, rtol=3e-7, atol=2e-6 * scale)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_samplers(shape: str, sampler: Sampler, width: int | None) -> None:
    """Each way to address and to filter, for each kind of image, beside the formulas."""
    for format_ in (Format(2, (8, 8, 8, 8), "rgba"), Format(5, (32,), "r")):
        image = make(shape, format_)
        place = places(shape, sampler)
        ours = kernel_result(shape, "sample_f_float", image, place, width, sampler.flags)
        close(ours, sample(image, SHAPES[shape][0], sampler, place), image)


@pytest.mark.parametrize("sampler", [SAMPLERS[6], SAMPLERS[8], SAMPLERS[10]], ids=str)
@pytest.mark.parametrize("format_", FLOATS, ids=str)
def test_formats_are_filtered(format_: Format, sampler: Sampler) -> None:
    image = make("image2d_t", format_)
    place = places("image2d_t", sampler)
    ours = kernel_result("image2d_t", "sample_f_float", image, place, None, sampler.flags)
    close(ours, sample(image, 2, sampler, place), image)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("format_", FORMATS, ids=str)
def test_formats_are_read(format_: Format, width: int | None) -> None:
    """Each texel of an image, and some beside it, without a sampler and with one."""
    image = make("image2d_t", format_)
    grid = np.stack(np.meshgrid(np.arange(-2, 15), np.arange(-1, 9)), -1).reshape(-1, 2)
    place = np.resize(grid, (COUNT, 2)).astype(np.int32)
    near = Sampler(CLAMP_TO_BORDER, False, False)
    expected = sample(image, 2, near, place)
    letter = {0: "ui", 1: "i"}.get(format_.kind, "f")
    for name, extra in ((f"read_{letter}", ()), (f"sample_{letter}_int", (near.flags,))):
        ours = kernel_result("image2d_t", name, image, place, width, *extra)
        if format_.is_integer:
            np.testing.assert_array_equal(ours, expected.astype(ours.dtype))
        else:
            np.testing.assert_array_max_ulp(ours, expected.astype(np.float32), 1)


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("format_", [each for each in FORMATS if each.texel_bytes < 8], ids=str)
def test_pages_beside_an_image_are_not_read(format_: Format, at_end: bool) -> None:
    """Texels that are no words may be read in words, which never reach into another page."""
    image = Image(format_, (13, 7, 1)).fill(np.random.default_rng(3))
    size, page = image.data.nbytes, mmap.PAGESIZE
    pages = mmap.mmap(-1, 3 * page)
    memory = np.frombuffer(pages, np.uint8)
    start = 2 * page - size if at_end else page
    memory[start : start + size] = image.data.reshape(-1)
    image.data = memory[start : start + size].reshape(image.data.shape)
    for each in (0, 2 * page):
        assert protect(memory.ctypes.data + each, page, 0) == 0
    place = np.stack(np.meshgrid(np.arange(13), np.arange(7)), -1).reshape(-1, 2).astype(np.int32)
    letter = {0: "ui", 1: "i"}.get(format_.kind, "f")
    ours = kernel_result("image2d_t", f"read_{letter}", image, np.resize(place, (COUNT, 2)), None)
    expected = image.texels()[0].reshape(-1, 4)
    np.testing.assert_allclose(ours[: len(expected)], expected, rtol=3e-7)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("format_", [INTEGERS[2], INTEGERS[11], INTEGERS[15]], ids=str)
def test_integers_are_sampled_nearest(shape: str, format_: Format) -> None:
    image = make(shape, format_)
    letter = "i" if format_.kind == 1 else "ui"
    for addressing in (CLAMP_TO_EDGE, CLAMP_TO_BORDER, REPEAT, MIRRORED):
        sampler = Sampler(addressing, True, False)
        place = places(shape, sampler)
        name = f"sample_{letter}_float"
        ours = kernel_result(shape, name, image, place, None, sampler.flags)
        expected = sample(image, SHAPES[shape][0], sampler, place)
        np.testing.assert_array_equal(ours, expected.astype(ours.dtype))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("addressing", [CLAMP_TO_EDGE, CLAMP_TO_BORDER])
def test_whole_coordinates(shape: str, addressing: int) -> None:
    """Integer coordinates with a sampler, far outside too; layers are always brought inside."""
    axes, is_array = SHAPES[shape]
    random = np.random.default_rng(3)
    place = random.integers(-9, 20, (COUNT, axes + is_array)).astype(np.int32)
    place[5, 0], place[6, 0] = np.iinfo(np.int32).max, np.iinfo(np.int32).min
    image = make(shape, Format(2, (8, 8), "rg"))
    sampler = Sampler(addressing, False, False)
    ours = kernel_result(shape, "sample_f_int", image, place, None, sampler.flags)
    close(ours, sample(image, axes, sampler, place), image)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
@pytest.mark.parametrize("shape", ["image2d_t", "image2d_array_t"])
def test_what_is_no_number(shape: str, sampler: Sampler, width: int | None) -> None:
    """Coordinates that are infinite or no numbers give a colour between those of the image and of
    its border, and do not disturb other lanes."""
    image = make(shape, Format(2, (8, 8, 8, 8), "rgba"))
    place = places(shape, sampler)
    expected = sample(image, 2, sampler, place)
    odd = np.zeros(COUNT, bool)
    for number, value in enumerate((np.nan, np.inf, -np.inf)):
        for axis in range(place.shape[1]):
            at = 7 + 11 * number + 40 * axis
            place[at, axis], odd[at] = value, True
    ours = kernel_result(shape, "sample_f_float", image, place, width, sampler.flags)
    close(ours[~odd], expected[~odd], image)
    assert np.all((ours[odd] >= 0) & (ours[odd] <= 1))
