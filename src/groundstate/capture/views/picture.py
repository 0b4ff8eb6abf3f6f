"""Images of a recording as PNG files.

Channels become 8 or 16 bits. Numbers without a fixed range (floats and integers) are stretched from
their least to their most, which the function says, so that nothing is lost that can be seen.
"""

from __future__ import annotations

import math
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from groundstate import _raw, ze

_FORMATS = {8: ("b", "B", None), 16: ("h", "H", "e"), 32: ("i", "I", "f")}
_GREY, _RGB, _RGBA = 0, 2, 6
PIXEL_LIMIT = 1 << 25
"""Larger pictures than this no viewer opens; their texels are in the .npy file all the same."""


@dataclass(frozen=True)
class Texels:
    """How the texels of an image are made: channels of equal size, and how each is taken."""

    channels: int
    bits: int
    kind: str  # "unorm", "snorm", "uint", "sint" or "float"

    @property
    def dtype(self) -> str:
        """The type of a channel."""
        prefix = {"uint": "uint", "unorm": "uint", "float": "float"}.get(self.kind, "int")
        return f"{prefix}{self.bits}"


def texels_of(description: ze.ze_image_desc_t) -> Texels | None:
    """The texels of an image; None if its channels are not of equal size, or in planes."""
    layout = _raw._symbol("ze_image_format_layout_t", description.format.layout)
    kind = _raw._symbol("ze_image_format_type_t", description.format.type)
    bits = re.fullmatch(r"ZE_IMAGE_FORMAT_LAYOUT_((?:8|16|32)(?:_\d+)*)", layout)
    names = {"UINT": "uint", "SINT": "sint", "UNORM": "unorm", "SNORM": "snorm", "FLOAT": "float"}
    taken = names.get(kind.removeprefix("ZE_IMAGE_FORMAT_TYPE_"))
    sizes = set(bits[1].split("_")) if bits else set()
    if bits is None or taken is None or len(sizes) != 1:
        return None
    size = int(sizes.pop())
    if size == 8 and taken == "float":
        return None
    return Texels(bits[1].count("_") + 1, size, taken)


def write_picture(path: Path, data: bytes, width: int, height: int, texels: Texels) -> str:
    """Writes an image, slices below each other, and says how numbers became colours."""
    if not 0 < width * height <= PIXEL_LIMIT:
        raise ValueError(f"an image of {width} x {height} texels is no picture")
    if len(data) < width * height * texels.channels * texels.bits // 8:
        raise ValueError("the image has fewer texels than it says")
    rows = _Rows(data, width, height, texels)
    colour = {1: _GREY, 2: _RGB, 3: _RGB, 4: _RGBA}[texels.channels]
    _write_png(path, rows, width, height, 8 if rows.shallow else 16, colour)
    return rows.remark


class _Rows:
    """The rows of an image as PNG has them, made one after the other."""

    def __init__(self, data: bytes, width: int, height: int, texels: Texels) -> None:
        signed, unsigned, real = _FORMATS[texels.bits]
        code = real if texels.kind == "float" else signed if texels.kind[0] == "s" else unsigned
        self._data = data
        self._texels = texels
        self._height = height
        self._row = struct.Struct(f"<{width * texels.channels}{code}")
        self.shallow = texels.kind == "unorm" and texels.bits == 8
        self._least, self._most = self._range()

    @property
    def remark(self) -> str:
        """How numbers became colours."""
        if self._texels.kind == "unorm":
            return "as they are"
        return f"{self._least:g} is black, {self._most:g} is white"

    def __iter__(self) -> Iterator[bytes]:
        for y in range(self._height):
            levels = self._levels(self._row.unpack_from(self._data, y * self._row.size))
            if self._texels.channels == 2:  # PNG has no pictures of two colours
                pairs = zip(levels[::2], levels[1::2], strict=True)
                levels = [each for pair in pairs for each in (*pair, 0)]
            yield struct.pack(f">{len(levels)}{'B' if self.shallow else 'H'}", *levels)

    def _levels(self, values: Sequence[float]) -> list[int]:
        if self._texels.kind == "unorm":
            shift = max(0, self._texels.bits - 16)
            return [int(value) >> shift for value in values]
        least, most = self._least, self._most
        scale = 65535 / (most - least) if most > least else 0.0
        return [
            round((min(max(value, least), most) - least) * scale) if value == value else 0
            for value in values
        ]

    def _range(self) -> tuple[float, float]:
        """Which number is black and which is white; infinities and NaN have no say."""
        kind, bits = self._texels.kind, self._texels.bits
        if kind == "unorm":
            return 0.0, float((1 << bits) - 1)
        if kind == "snorm":
            return float(1 - (1 << (bits - 1))), float((1 << (bits - 1)) - 1)
        least, most = math.inf, -math.inf
        for y in range(self._height):
            row = self._row.unpack_from(self._data, y * self._row.size)
            finite = [value for value in row if math.isfinite(value)]
            least, most = min([least, *finite]), max([most, *finite])
        if most < least:
            return 0.0, 0.0
        if kind == "float" and least >= 0 and most <= 1:
            return 0.0, 1.0
        return float(least), float(most)


def _write_png(
    path: Path, rows: Iterable[bytes], width: int, height: int, bits: int, colour: int
) -> None:
    """A PNG file: a few chunks around a zlib stream of rows."""
    head = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    packer = zlib.compressobj(6)
    packed = [packer.compress(b"\0" + row) for row in rows]
    packed.append(packer.flush())
    with path.open("wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for kind, content in ((b"IHDR", head), (b"IDAT", b"".join(packed)), (b"IEND", b"")):
            seal = struct.pack(">I", zlib.crc32(kind + content))
            file.write(struct.pack(">I", len(content)) + kind + content + seal)
