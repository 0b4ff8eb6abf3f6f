"""Kernels write images: conversions, rounding, bounds."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
import pytest

from groundstate.compiler.program import Program
from tests.compiler.images.image_reference import FORMATS, Array, Format, Image, encode
from tests.compiler.runner import program_of, run

SHAPES = {
    "image1d_t": (1, False),
    "image1d_array_t": (1, True),
    "image1d_buffer_t": (1, False),
    "image2d_t": (2, False),
    "image2d_array_t": (2, True),
    "image3d_t": (3, False),
}
WIDTHS = [1, 8, None]
GROUP = 64


def _source(shape: str) -> str:
    axes, is_array = SHAPES[shape]
    count = axes + is_array
    width = 4 if count == 3 else count
    parts = [f"c[{count} * i + {part}]" if part < count else "0" for part in range(width)]
    place = f"(int{width if width > 1 else ''})({', '.join(parts)})"
    return "".join(
        f"kernel void write_{letter}(write_only {shape} im, global const int *c,\n"
        f"    global const {kind} *v, int n) {{\n"
        "  int i = get_global_id(0);\n"
        f"  if (i < n) write_image{letter}(im, {place}, v[i]);\n}}\n"
        for kind, letter in (("float4", "f"), ("int4", "i"), ("uint4", "ui"))
    )


@cache
def program(shape: str) -> Program:
    return program_of(_source(shape))


def values_for(format_: Format, count: int) -> Array:
    """Numbers inside and outside the range of a format, and between its numbers."""
    random = np.random.default_rng(4)
    if format_.is_integer:
        kind = np.int32 if format_.kind == 1 else np.uint32
        limits = np.iinfo(kind)
        values = random.integers(limits.min, limits.max, (count, 4), dtype=kind, endpoint=True)
        small = 1 << random.integers(0, 31, (count, 4))
        return np.where(random.random((count, 4)) < 0.6, values % small, values).astype(kind)
    values = random.uniform(-1.5, 1.5, (count, 4)).astype(np.float32)
    steps = (1 << format_.bits[0]) - 1
    values[:20] = (random.integers(0, steps, (20, 4)) + 0.5) / np.float32(steps)
    values[20:30] = random.uniform(-1, 1, (10, 4)) * 10.0 ** random.integers(-9, 12, (10, 4))
    odd = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 65504, 65520, 1e-8, 6e-8, 3e-5, 64512]
    values[30 : 30 + len(odd)] = np.array(odd, np.float32)[:, None]
    return values


def expected_bits(format_: Format, values: Array) -> Array:
    """The bits of each channel, in the order of the format."""
    parts = []
    for number, name in enumerate(format_.order):
        channel = values[:, "rgba".index(name)]
        srgb = format_.srgb and name != "a"
        parts.append(encode(channel, format_.kind, format_.bits[number], srgb))
    return np.stack(parts, -1)


def write(
    shape: str, name: str, image: Image, place: Array, values: Array, width: int | None
) -> None:
    count = len(place)
    groups = -(-count // GROUP)
    padded = np.zeros((groups * GROUP, place.shape[1]), np.int32)
    padded[:count] = place
    given = np.zeros((groups * GROUP, 4), values.dtype)
    given[:count] = values
    view = image.view()
    handle = np.uint64(ctypes.addressof(view))
    size = (groups, 1, 1)
    limit = np.int32(count)
    run(program(shape), name, size, (GROUP, 1, 1), handle, padded, given, limit, width=width)


def _letter(format_: Format) -> str:
    return {0: "ui", 1: "i"}.get(format_.kind, "f")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("format_", FORMATS, ids=str)
def test_formats(format_: Format, width: int | None) -> None:
    """Each texel gets the nearest that its format has; nothing else is touched."""
    size = (19, 7, 1)
    image = Image(format_, size, padding=5)
    image.data[...] = 0xA5
    random = np.random.default_rng(5)
    place = np.stack(np.divmod(np.arange(19 * 7), 19)[::-1], -1)
    chosen = random.permutation(len(place))[:100]
    values = values_for(format_, len(chosen))
    before = image.raw()
    write("image2d_t", f"write_{_letter(format_)}", image, place[chosen], values, width)
    expected = before.reshape(-1, len(format_.bits)).copy()
    expected[chosen] = expected_bits(format_, values)
    ours = image.raw().reshape(expected.shape)
    if format_.srgb:  # the curve is not computed in the same way
        assert np.max(np.abs(ours.astype(int) - expected.astype(int))) <= 1
        assert np.mean(ours != expected) < 0.01
    elif format_.kind in (4, 5, 6):
        _assert_same_floats(ours, expected, format_)
    else:
        np.testing.assert_array_equal(ours, expected)
    assert np.all(image.data[:, :, 19 * format_.texel_bytes :] == 0xA5)


def _assert_same_floats(ours: Array, expected: Array, format_: Format) -> None:
    """NaNs may have any payload."""
    for number, bits in enumerate(format_.bits):
        if bits == 2:
            np.testing.assert_array_equal(ours[:, number], expected[:, number])
            continue
        digits = {16: 10, 32: 23}.get(bits, bits - 5)
        infinity = (0xFF if bits == 32 else 0x1F) << digits
        low = (1 << bits) - 1 if format_.kind == 6 else (1 << (bits - 1)) - 1
        a, b = ours[:, number] & np.uint64(low), expected[:, number] & np.uint64(low)
        both = (a > infinity) & (b > infinity)
        np.testing.assert_array_equal(ours[~both, number], expected[~both, number])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("format_", [FORMATS[0], FORMATS[3], FORMATS[11], FORMATS[29]], ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_places(shape: str, format_: Format, width: int | None) -> None:
    """Every texel in a random order; those outside of the image go nowhere."""
    axes, is_array = SHAPES[shape]
    sizes = (11, 5 if axes > 1 else 1, 4 if axes > 2 else 1)
    layers = 3 if is_array else 0
    image = Image(format_, sizes, layers, padding=4)
    outer = [range(-1, size + 1) for size in sizes[:axes]] + [range(-1, 4)] * is_array
    place = np.stack(np.meshgrid(*outer, indexing="ij"), -1).reshape(-1, axes + is_array)
    place = np.random.default_rng(6).permutation(place).astype(np.int32)
    values = np.random.default_rng(7).uniform(0, 1, (len(place), 4)).astype(np.float32)
    write(shape, "write_f", image, place, values, width)
    expected = Image(format_, sizes, layers, padding=4)
    bits = expected_bits(format_, values)
    raw = expected.raw()
    for at, channels in zip(place, bits, strict=True):
        x, y, z = at[0], at[1] if axes > 1 else 0, at[-1] if axes + is_array > axes else 0
        z = at[2] if axes > 2 else z
        if all(0 <= each < size for each, size in zip((z, y, x), raw.shape, strict=False)):
            raw[z, y, x] = channels
    expected.put(raw)
    np.testing.assert_array_equal(image.raw(), expected.raw())
    used = sizes[0] * format_.texel_bytes
    assert not image.data[:, :, used:].any()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("format_", FORMATS, ids=str)
def test_rows(format_: Format, width: int | None) -> None:
    """Neighbours write neighbours: whole rows, with the last lanes outside."""
    image = Image(format_, (150, 1, 1))
    place = np.stack((np.arange(192), np.zeros(192)), -1).astype(np.int32)
    values = values_for(format_, 192)
    write("image2d_t", f"write_{_letter(format_)}", image, place, values, width)
    other = Image(format_, (150, 1, 1))
    order = np.random.default_rng(8).permutation(192)
    name = f"write_{_letter(format_)}"
    write("image2d_t", name, other, place[order], values[order], 1)
    np.testing.assert_array_equal(image.raw(), other.raw())
