"""Kernels read and write images as PoCL does, where PoCL follows the specification.

PoCL rounds nothing that the formulas leave open in another way, but it mixes texels in single
precision, and it has fewer formats; so this is a check of the reference as much as of us.
"""

from __future__ import annotations

import ctypes
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.compiler.images.image_reference import (
    FLOAT,
    HALF,
    SINT,
    UINT,
    UNORM,
    Array,
    Format,
    Image,
    Sampler,
)
from tests.compiler.images.test_images import COUNT, SHAPES, kernel_result, make, places, source_of
from tests.compiler.random.peer_pocl import Peer
from tests.compiler.runner import program_of, run

CHANNELS = {
    (UNORM, 8): "UNORM_INT8",
    (UNORM, 16): "UNORM_INT16",
    (HALF, 16): "HALF_FLOAT",
    (FLOAT, 32): "FLOAT",
    (UINT, 8): "UNSIGNED_INT8",
    (UINT, 32): "UNSIGNED_INT32",
    (SINT, 16): "SIGNED_INT16",
}
FORMATS = [Format(kind, (bits,) * 4, "rgba") for kind, bits in CHANNELS]
NEAREST = [Sampler(mode, True, False) for mode in (1, 2, 3, 4)] + [Sampler(1, False, False)]
LINEAR = [Sampler(mode, True, True) for mode in (1, 2, 3, 4)] + [Sampler(2, False, True)]
CASES = [
    *product(FORMATS, NEAREST),
    *product([each for each in FORMATS if not each.is_integer], LINEAR),
]
ADDRESSING = ("NONE", "CLAMP_TO_EDGE", "CLAMP", "REPEAT", "MIRRORED_REPEAT")
SCALE = """
constant sampler_t between =
    CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
kernel void scale(read_only image2d_t from, write_only image2d_t to) {
    int2 here = (int2)(get_global_id(0), get_global_id(1));
    float2 size = (float2)(get_image_width(to), get_image_height(to));
    write_imagef(to, here, read_imagef(from, between, (convert_float2(here) + 0.5f) / size));
}
"""


@cache
def peer() -> Peer:
    try:
        return Peer()
    except LookupError as problem:
        pytest.skip(str(problem))


def their_image(image: Image) -> Any:
    """An image of PoCL with the same texels."""
    cl = peer().cl
    channel = CHANNELS[image.format.kind, image.format.bits[0]]
    form = cl.ImageFormat(cl.channel_order.RGBA, getattr(cl.channel_type, channel))
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    width, height, depth = image.size
    used = width * image.format.texel_bytes
    texels = np.ascontiguousarray(image.data[:, :, :used])
    shape = (width, height, depth) if depth > 1 else (width, height)
    return cl.create_image(peer().context, flags, form, shape=shape, hostbuf=texels)


@cache
def their_program(source: str) -> Any:
    return peer()._build(source, ["-cl-std=CL1.2"])


def their_result(shape: str, name: str, image: Image, sampler: Sampler, place: Array) -> Array:
    cl = peer().cl
    mode = getattr(cl.addressing_mode, ADDRESSING[sampler.addressing])
    filter_mode = cl.filter_mode.LINEAR if sampler.linear else cl.filter_mode.NEAREST
    how = cl.Sampler(peer().context, sampler.normalized, mode, filter_mode)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    where = cl.Buffer(peer().context, flags, hostbuf=np.ascontiguousarray(place))
    kind = {"f": np.float32, "i": np.int32, "ui": np.uint32}[name.split("_")[1]]
    out = np.zeros((COUNT, 4), kind)
    to = cl.Buffer(peer().context, flags, hostbuf=out)
    kernel = cl.Kernel(their_program(source_of(shape)), name)
    texels = their_image(image)  # a kernel does not keep its arguments alive
    kernel.set_args(texels, how, where, to)
    cl.enqueue_nd_range_kernel(peer().queue, kernel, (COUNT,), None)
    cl.enqueue_copy(peer().queue, out, to)
    return out


@pytest.mark.parametrize(("format_", "sampler"), CASES, ids=str)
@pytest.mark.parametrize("shape", ["image2d_t", "image3d_t"])
def test_sampling(shape: str, format_: Format, sampler: Sampler) -> None:
    image = make(shape, format_)
    place = places(shape, sampler)
    place = place[np.all(np.abs(place) < 100, axis=1)]  # they convert before they clamp
    place = np.resize(place, (COUNT, SHAPES[shape][0]))
    letter = {UINT: "ui", SINT: "i"}.get(format_.kind, "f")
    name = f"sample_{letter}_float"
    ours = kernel_result(shape, name, image, place, None, sampler.flags)
    theirs = their_result(shape, name, image, sampler, place)
    if format_.is_integer:
        np.testing.assert_array_equal(ours, theirs)
    else:
        scale = float(np.max(np.abs(image.texels())))
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=4e-6 * scale)


@pytest.mark.parametrize("format_", FORMATS[:4], ids=str)
def test_scaling(format_: Format) -> None:
    """Reading and writing: an image that becomes larger."""
    source = Image(format_, (24, 10, 1)).fill(np.random.default_rng(1))
    target = Image(format_, (64, 32, 1))
    views = [source.view(), target.view()]
    handles = [np.uint64(ctypes.addressof(view)) for view in views]
    run(program_of(SCALE), "scale", (2, 32, 1), (32, 1, 1), *handles)
    cl = peer().cl
    kernel = cl.Kernel(their_program(SCALE), "scale")
    given, to = their_image(source), their_image(target)
    kernel.set_args(given, to)
    cl.enqueue_nd_range_kernel(peer().queue, kernel, (64, 32), None)
    theirs = Image(format_, (64, 32, 1))
    cl.enqueue_copy(peer().queue, theirs.data, to, origin=(0, 0), region=(64, 32))
    step = {UNORM: 1.01 / ((1 << format_.bits[0]) - 1), HALF: 0.07, FLOAT: 1e-4}[format_.kind]
    np.testing.assert_allclose(target.texels(), theirs.texels(), atol=step)
