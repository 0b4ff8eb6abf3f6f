"""Images for tests of the compiler: views made by hand, and what NumPy says is in them.

The reference follows the formulas of the OpenCL C specification's "Image addressing and filtering":
where a coordinate leads in single precision, as the specification writes it, and the mixing of
texels in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundstate.native_layouts import CHANNEL_SOURCES, TEXEL_KINDS, ImageView, TexelChannel

Array = NDArray[Any]

UINT, SINT, UNORM, SNORM, HALF, FLOAT, SMALL_FLOAT = range(len(TEXEL_KINDS))
NONE, CLAMP_TO_EDGE, CLAMP_TO_BORDER, REPEAT, MIRRORED = range(5)
FROM_TEXEL, ZERO, ONE = range(len(CHANNEL_SOURCES))
NOTHING = 255
CHANNEL_ORDERS = {"r": 0, "a": 1, "rg": 2, "rgb": 4, "rgba": 5, "bgra": 6, "argb": 7, "abgr": 19}
FIRST_ORDER = 0x10B0


@dataclass(frozen=True)
class Format:
    """A format: the widths of its channels from the lowest bit on, and which channels those are."""

    kind: int
    bits: tuple[int, ...]
    order: str
    srgb: bool = False

    def __str__(self) -> str:
        names = ("uint", "sint", "unorm", "snorm", "half", "float", "small")
        kind = "srgb" if self.srgb else names[self.kind]
        return f"{kind}-{'_'.join(map(str, self.bits))}-{self.order}"

    @property
    def texel_bytes(self) -> int:
        return sum(self.bits) // 8

    @property
    def is_integer(self) -> bool:
        return self.kind in (UINT, SINT)

    @property
    def places(self) -> list[tuple[int, int]]:
        """The word and the lowest bit of each channel."""
        starts = [sum(self.bits[:number]) for number in range(len(self.bits))]
        return [(start // 32, start % 32) for start in starts]

    @property
    def border(self) -> Array:
        """The colour outside: alpha is one if the order has no alpha."""
        return np.array([0, 0, 0, 0 if "a" in self.order else 1], np.float64)


FORMATS = [
    *(Format(UNORM, (8,) * len(order), order) for order in ("r", "rg", "rgb", "rgba", "bgra", "a")),
    *(Format(UNORM, (8,) * 4, order) for order in ("argb", "abgr")),
    *(Format(UNORM, (16,) * len(order), order) for order in ("r", "rg", "rgb", "rgba")),
    Format(UNORM, (5, 6, 5), "rgb"),
    Format(UNORM, (5, 5, 5, 1), "bgra"),
    Format(UNORM, (4, 4, 4, 4), "bgra"),
    Format(UNORM, (10, 10, 10, 2), "rgba"),
    Format(UNORM, (8, 8, 8, 8), "rgba", srgb=True),
    Format(UNORM, (8, 8, 8, 8), "bgra", srgb=True),
    *(Format(SNORM, (8,) * len(order), order) for order in ("r", "rg", "rgba")),
    *(Format(SNORM, (16,) * len(order), order) for order in ("r", "rgba")),
    *(Format(HALF, (16,) * len(order), order) for order in ("r", "rg", "rgb", "rgba")),
    *(Format(FLOAT, (32,) * len(order), order) for order in ("r", "rg", "rgb", "rgba")),
    Format(SMALL_FLOAT, (11, 11, 10), "rgb"),
    Format(SMALL_FLOAT, (10, 10, 10, 2), "rgba"),
    *(Format(UINT, (width,) * len(o), o) for width in (8, 16, 32) for o in ("r", "rg", "rgba")),
    *(Format(kind, (32, 32), "rg") for kind in (UNORM, SNORM)),
    *(Format(SINT, (width,) * len(o), o) for width in (8, 16, 32) for o in ("r", "rg", "rgba")),
    Format(UINT, (10, 10, 10, 2), "rgba"),
]
FLOATS = [each for each in FORMATS if not each.is_integer]
INTEGERS = [each for each in FORMATS if each.is_integer]


@dataclass
class Image:
    """An image: its texels as bytes [slice or layer, row, bytes of a row with padding]."""

    format: Format
    size: tuple[int, int, int]
    """Width, height, depth."""
    layers: int = 0
    padding: int = 0
    data: Array = field(init=False)

    def __post_init__(self) -> None:
        width, height, depth = self.size
        pitch = width * self.format.texel_bytes + self.padding
        self.data = np.zeros((self.layers or depth, height, pitch), np.uint8)

    def fill(self, random: np.random.Generator) -> Image:
        """Random texels, without floats that are no numbers or are too large to be mixed."""
        width = self.size[0]
        shape = (*self.data.shape[:2], width, len(self.format.bits))
        limits = np.array([1 << each for each in self.format.bits])
        raw = (random.random(shape) * limits).astype(np.uint64)
        if self.format.kind == FLOAT:
            raw = random.uniform(-100, 100, shape).astype(np.float32).view(np.uint32)
        elif self.format.kind == HALF:
            raw = random.uniform(-100, 100, shape).astype(np.float16).view(np.uint16)
        elif self.format.kind == SMALL_FLOAT:
            raw %= (limits * 30 // 32).astype(np.uint64)
        self.put(raw.astype(np.uint64))
        return self

    def put(self, raw: Array) -> None:
        """Stores the bits of channels [slice, row, column, channel]."""
        words = np.zeros((*raw.shape[:3], 4), np.uint64)
        for number, (word, shift) in enumerate(self.format.places):
            words[..., word] |= raw[..., number] << np.uint64(shift)
        size = self.format.texel_bytes
        texels = words.astype("<u4").view(np.uint8)[..., :size]
        used = self.size[0] * size
        self.data[:, :, :used] = texels.reshape(*raw.shape[:2], used)

    def raw(self) -> Array:
        """The bits of channels [slice, row, column, channel]."""
        size, (width, height, _) = self.format.texel_bytes, self.size
        slices = len(self.data)
        texels = self.data[:, :, : width * size].reshape(slices, height, width, size)
        padded = np.zeros((slices, height, width, 16), np.uint8)
        padded[..., :size] = texels
        words = padded.view("<u4").astype(np.uint64)
        parts = [
            (words[..., word] >> np.uint64(shift)) & np.uint64((1 << bits) - 1)
            for (word, shift), bits in zip(self.format.places, self.format.bits, strict=True)
        ]
        return np.stack(parts, -1)

    def view(self) -> ImageView:
        """The view that compiled code reads."""
        width, height, depth = self.size
        format_ = self.format
        view = ImageView(self.data.ctypes.data, width, height, depth, self.layers)
        view.row_pitch, view.slice_pitch = self.data.strides[1], self.data.strides[0]
        view.texel_bytes, view.kind = format_.texel_bytes, format_.kind
        for number, name in enumerate("rgba"):
            view.reading[number] = TexelChannel(0, 0, 0, ONE if name == "a" else ZERO)
            view.writing[number] = TexelChannel(0, 0, 0, NOTHING)
        for number, name in enumerate(format_.order):
            word, shift = format_.places[number]
            bits, place = format_.bits[number], "rgba".index(name)
            view.reading[place] = TexelChannel(word, shift, bits, FROM_TEXEL)
            view.writing[number] = TexelChannel(word, shift, bits, place)
        view.channel_order = FIRST_ORDER + CHANNEL_ORDERS[format_.order]
        view.channel_type, view.is_srgb, view.samples = 0x10D2, format_.srgb, 1
        return view

    def texels(self) -> Array:
        """Red, green, blue and alpha [slice, row, column, 4] in double precision."""
        raw = self.raw()
        found = np.zeros((*raw.shape[:3], 4))
        found[..., 3] = 1
        for number, name in enumerate(self.format.order):
            place, bits = "rgba".index(name), self.format.bits[number]
            srgb = self.format.srgb and name != "a"
            found[..., place] = decode(raw[..., number], self.format.kind, bits, srgb)
        return found


def decode(raw: Array, kind: int, bits: int, srgb: bool = False) -> Array:
    """The number that the bits of a channel mean."""
    signed = raw.astype(np.int64) - ((raw >> np.uint64(bits - 1)) << np.uint64(bits)).astype("i8")
    kind = UNORM if bits == 2 and kind == SMALL_FLOAT else kind
    if kind == UINT:
        return raw.astype(np.float64)
    if kind == SINT:
        return signed.astype(np.float64)
    if kind == UNORM:
        share = raw / ((1 << bits) - 1)
        curve = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
        return curve if srgb else share
    if kind == SNORM:
        return np.maximum(signed / ((1 << (bits - 1)) - 1), -1.0)
    if kind == HALF:
        return raw.astype(np.uint16).view(np.float16).astype(np.float64)
    if kind == FLOAT:
        return raw.astype(np.uint32).view(np.float32).astype(np.float64)
    return (raw << np.uint64(15 - bits)).astype(np.uint16).view(np.float16).astype(np.float64)


def encode(values: Array, kind: int, bits: int, srgb: bool = False) -> Array:
    """The bits that a channel gets: as the specification multiplies and rounds, in single
    precision, ties to even."""
    mask = (1 << bits) - 1
    kind = UNORM if bits == 2 and kind == SMALL_FLOAT else kind
    if kind == UINT:
        return np.minimum(values.astype(np.uint32), mask).astype(np.uint64)
    if kind == SINT:
        half = 1 << (bits - 1)
        return (np.clip(values.astype(np.int64), -half, half - 1) & mask).astype(np.uint64)
    with np.errstate(all="ignore"):
        if kind == UNORM:
            share = np.nan_to_num(np.clip(values.astype(np.float32), 0, 1))
            if srgb:
                curve = 1.055 * share ** (1 / 2.4) - 0.055
                share = np.where(share < 0.0031308, 12.92 * share, curve).astype(np.float32)
            return np.minimum(np.rint(share * np.float32(mask)).astype(np.uint64), np.uint64(mask))
        if kind == SNORM:
            share = np.nan_to_num(np.clip(values.astype(np.float32), -1, 1))
            whole = np.rint(share * np.float32(mask >> 1)).astype(np.int64)
            return (np.minimum(whole, mask >> 1) & mask).astype(np.uint64)
        if kind == HALF:
            return values.astype(np.float16).view(np.uint16).astype(np.uint64)
        if kind == FLOAT:
            return values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return _small_float(values.astype(np.float64), bits)


def _small_float(values: Array, bits: int) -> Array:
    """Searches the nearest of all numbers that there are."""
    count = 31 << (bits - 5)  # the infinity is the last, and as far away as the next number
    all_ = decode(np.arange(count, dtype=np.uint64), SMALL_FLOAT, bits)
    steps = np.append(all_, all_[-1] * 2 - all_[-2])
    positive = np.nan_to_num(np.maximum(values, 0), nan=0.0, posinf=1e30)
    above = np.clip(np.searchsorted(steps, positive), 1, count)
    low, high = steps[above - 1], steps[above]
    middle = (low + high) / 2
    up = (positive > middle) | ((positive == middle) & (above % 2 == 0))
    found = np.where(up, above, above - 1).astype(np.uint64)
    quiet = 1 << (bits - 6)  # the first bit of the fraction, which every NaN has
    fraction = values.astype(np.float32).view(np.uint32) >> np.uint32(28 - bits)
    nan = count | quiet | (fraction.astype(np.uint64) & np.uint64(quiet - 1))
    return np.where(np.isnan(values), nan, found)


# --- Sampling -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sampler:
    """How to read between texels."""

    addressing: int
    normalized: bool
    linear: bool

    @property
    def flags(self) -> np.uint64:
        return np.uint64(self.normalized | self.addressing << 1 | self.linear << 4)

    def __str__(self) -> str:
        mode = ("none", "edge", "border", "repeat", "mirror")[self.addressing]
        return (
            f"{mode}-{'normal' if self.normalized else 'texels'}-{'lin' if self.linear else 'near'}"
        )


SAMPLERS = [
    Sampler(addressing, normalized, linear)
    for addressing, normalized, linear in product(range(5), (True, False), (True, False))
    if normalized or addressing not in (REPEAT, MIRRORED)
]


def sample(image: Image, axes: int, sampler: Sampler, place: Array) -> Array:
    """What a kernel reads at coordinates [n, axes, and the layer if there are layers]."""
    place = place.astype(np.float32)
    layer = np.zeros(len(place), np.int64)
    if image.layers:
        layer = np.clip(np.rint(place[:, axes]), 0, image.layers - 1).astype(np.int64)
    ends = [_along_axis(sampler, place[:, axis], image.size[axis]) for axis in range(axes)]
    total = np.zeros((len(place), 4))
    texels = image.texels()
    for corner in product(*ends):
        indices = [index for index, _ in corner] + [np.zeros_like(layer)] * (3 - axes)
        weight = np.prod([share for _, share in corner], axis=0)
        slices = layer if image.layers else indices[2]
        found = _pick(image, sampler, texels, slices, indices[1], indices[0])
        total += weight[:, None] * found
    return total


def _pick(image: Image, sampler: Sampler, texels: Array, z: Array, y: Array, x: Array) -> Array:
    shape = texels.shape
    inside = np.ones(len(x), bool)
    for index, size in ((x, shape[2]), (y, shape[1]), (z, shape[0])):
        inside &= (index >= 0) & (index < size)
    clipped = [np.clip(each, 0, size - 1) for each, size in zip((z, y, x), shape, strict=False)]
    found = texels[tuple(clipped)]
    if sampler.addressing != CLAMP_TO_BORDER:
        return found
    return np.where(inside[:, None], found, image.format.border)


def _along_axis(sampler: Sampler, s: Array, size: int) -> list[tuple[Array, Array]]:
    """The indices that a coordinate leads to along an axis, and what each counts."""
    extent = np.float32(size)
    half = np.float32(0.5)
    if sampler.addressing == REPEAT:
        u = (s - np.floor(s)) * extent
    elif sampler.addressing == MIRRORED:
        u = np.abs(s - np.float32(2) * np.rint(half * s)) * extent
    else:
        u = s * extent if sampler.normalized else s
    if not sampler.linear:
        return [(_wrap(sampler, _whole(np.floor(u)), size), np.ones(len(s)))]
    moved = u - half
    first = np.floor(moved)
    part = (moved - first).astype(np.float64)
    index = _whole(first)
    return [
        (_wrap(sampler, index, size), 1 - part),
        (_wrap(sampler, index + 1, size), part),
    ]


def _whole(numbers: Array) -> Array:
    return np.clip(numbers, -(2.0**40), 2.0**40).astype(np.int64)


def _wrap(sampler: Sampler, index: Array, size: int) -> Array:
    if sampler.addressing == REPEAT:
        index = np.where(index < 0, index + size, index)
        return np.where(index > size - 1, index - size, index)
    if sampler.addressing == CLAMP_TO_BORDER:
        return np.clip(index, -1, size)
    return np.clip(index, 0, size - 1)
