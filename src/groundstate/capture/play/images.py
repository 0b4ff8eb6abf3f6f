"""How much memory images and their parts take when they are copied."""

from __future__ import annotations

import re
from dataclasses import dataclass

from groundstate import ze


@dataclass(frozen=True)
class ImageSize:
    """The size of an image or of a part of one, and the bytes of one of its texels."""

    width: int
    height: int
    depth: int
    texel: int

    def bytes(self, row: int = 0, slice_: int = 0) -> int:
        """How much memory it takes in rows and slices of given sizes, or without gaps."""
        if not self.width or not self.height or not self.depth:
            return 0
        row = row or self.width * self.texel
        slice_ = slice_ or row * self.height
        return (self.depth - 1) * slice_ + (self.height - 1) * row + self.width * self.texel


def image_size(description: ze.ze_image_desc_t) -> ImageSize:
    """The size of an image; texels of media formats count as nothing, being of no fixed size."""
    height, depth = max(description.height, 1), max(description.depth, 1)
    if description.type in (ze.ZE_IMAGE_TYPE_1D, ze.ZE_IMAGE_TYPE_1DARRAY, ze.ZE_IMAGE_TYPE_BUFFER):
        height = 1
    if description.type != ze.ZE_IMAGE_TYPE_3D:
        depth = 1
    if description.type == ze.ZE_IMAGE_TYPE_1DARRAY:
        height = max(description.arraylevels, 1)
    if description.type == ze.ZE_IMAGE_TYPE_2DARRAY:
        depth = max(description.arraylevels, 1)
    return ImageSize(description.width, height, depth, texel_size(description.format.layout))


def texel_size(layout: int) -> int:
    """The bytes of a texel: what the channels in the name of its layout add up to.

    >>> texel_size(ze.ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16)
    8
    """
    try:
        name = ze.ze_image_format_layout_t(layout).name
    except ValueError:
        return 0
    match = re.fullmatch(r"ZE_IMAGE_FORMAT_LAYOUT_([\d_]+)", name)
    return sum(map(int, match[1].split("_"))) // 8 if match else 0
