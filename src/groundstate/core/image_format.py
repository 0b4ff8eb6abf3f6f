"""Formats of images: what a texel is made of, by a short name.

The names are those that people know from graphics: the channels, their bits, and how these are
taken. `rgba8unorm`, `r32float`, `rg16uint`, `bgra8unorm-srgb`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from groundstate import ze
from groundstate.core.dtype import DType, dtype

if TYPE_CHECKING:
    import ctypes

_TYPES = ("uint", "sint", "unorm", "snorm", "float")

_SWIZZLES = "rgba01xd"
"""The letters of a swizzle, in the order of the API's values."""

_PACKED = {
    "rgb10a2": ("10_10_10_2", "rgba", 4),
    "rg11b10": ("11_11_10", "rgb1", 4),
    "b5g6r5": ("5_6_5", "rgb1", 2),
    "b5g5r5a1": ("5_5_5_1", "rgba", 2),
    "b4g4r4a4": ("4_4_4_4", "rgba", 2),
}
"""Layout, swizzle and bytes of texels that are one number; names begin with the lowest bits."""

_PLANES = ("NV12", "P010", "P012", "P016", "P216", "I420", "YV12", "422H", "422V", "444P", "RGBP",
           "BRGP")  # fmt: skip

_NAME = re.compile(r"([rgba]{1,4}|d)(8|16|32)(uint|sint|unorm|snorm|float)(-srgb)?")
_PACKED_NAME = re.compile(rf"({'|'.join(_PACKED)})(uint|sint|unorm|snorm|float)")


@dataclass(frozen=True)
class ImageFormat:
    """What the texels of an image are made of.

    `ImageFormat.named` makes one from a name; functions that take a format take its name too.
    `swizzle` says where the channels r, g, b and a of a kernel come from: a component of the texel
    (`r`, `g`, `b`, `a`), `0`, `1`, or `x` for whatever.

    >>> ImageFormat.named("bgra8unorm").swizzle
    'bgra'
    >>> ImageFormat.named("rg16float").texel_bytes
    4
    """

    layout: str
    """As in `ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8`: `8_8_8_8`."""
    type: str
    """uint, sint, unorm, snorm or float."""
    swizzle: str = "rgba"
    is_srgb: bool = False

    @staticmethod
    def named(name: str | ImageFormat) -> ImageFormat:
        """The format of a name: channels, bits, type, and `-srgb` for the curve of that name.

        Beside those with channels of 8, 16 and 32 bits there are `rgb10a2unorm`, `rg11b10float`,
        `b5g6r5unorm`, `b5g5r5a1unorm`, `b4g4r4a4unorm`, `d16float` and `d32float` for depths, and
        the planar `nv12`, `p010`, `i420` and so on.
        """
        return name if isinstance(name, ImageFormat) else _named(name)

    @property
    def is_planar(self) -> bool:
        """True if pixels lie in several planes, which are used through views of them."""
        return self.layout in _PLANES

    @property
    def components(self) -> int:
        """How many elements an array has for each texel."""
        return 1 if self._packed_bytes() else self.layout.count("_") + 1

    @property
    def dtype(self) -> DType:
        """The type of these elements: for a packed texel, an integer that holds all of it."""
        packed = self._packed_bytes()
        if packed:
            return dtype(f"uint{8 * packed}")
        prefix = {"sint": "int", "snorm": "int", "float": "float"}.get(self.type, "uint")
        return dtype(f"{prefix}{self.layout.partition('_')[0]}")

    @property
    def texel_bytes(self) -> int:
        """The size of a texel."""
        return self.components * self.dtype.itemsize_bytes

    def _packed_bytes(self) -> int:
        """The bytes of a texel that is one number, else 0."""
        if self.is_planar:
            raise TypeError(f"{self.layout} has several planes; look at a view of one")
        sizes = {layout: size for layout, _, size in _PACKED.values()}
        return sizes.get(self.layout, 0)

    def __str__(self) -> str:
        if self.is_planar:
            return self.layout.lower()
        curve = "-srgb" if self.is_srgb else ""
        return f"{self.layout} {self.type}{curve} {self.swizzle}"

    def struct(self) -> ze.ze_image_format_t:
        """The format as the API has it."""
        return ze.ze_image_format_t(
            getattr(ze, f"ZE_IMAGE_FORMAT_LAYOUT_{self.layout}"),
            _TYPES.index(self.type),
            *(_SWIZZLES.index(letter) for letter in self.swizzle),
        )

    def chained(self) -> list[ctypes.Structure]:
        """What a descriptor needs beside the format."""
        return [ze.ze_srgb_ext_desc_t(sRGB=1)] if self.is_srgb else []


@lru_cache
def _named(name: str) -> ImageFormat:
    if name.upper() in _PLANES:
        return ImageFormat(name.upper(), "unorm")
    packed = _PACKED_NAME.fullmatch(name)
    if packed is not None:
        layout, swizzle, _ = _PACKED[packed[1]]
        return ImageFormat(layout, packed[2], swizzle)
    parts = _NAME.fullmatch(name)
    if parts is None or len(set(parts[1])) != len(parts[1]):
        raise ValueError(
            f"{name!r} is no format; formats are named like 'rgba8unorm', 'r32float', 'rg16uint'"
        )
    letters, bits, type_, curve = parts.groups()
    layout = "_".join([bits] * len(letters))
    return ImageFormat(layout, type_, _swizzle(letters), curve is not None)


def _swizzle(letters: str) -> str:
    """Where each channel is, if the components are these, in this order."""
    if letters == "d":
        return "d000"
    used = "".join(letter for letter in "rgba" if letter in letters)  # the names of components
    return "".join(
        used[letters.index(channel)] if channel in letters else "1" if channel == "a" else "0"
        for channel in "rgba"
    )
