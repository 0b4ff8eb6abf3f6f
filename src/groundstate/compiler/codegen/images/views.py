"""The structure that describes an image to compiled code: see docs/reference/images.md."""

from __future__ import annotations

import ctypes

from groundstate.compiler.codegen.routines import splat
from groundstate.compiler.math.vec import Vec
from groundstate.native_layouts import CHANNEL_SOURCES, TEXEL_KINDS, ImageView, offset_of

_TYPES = {ctypes.c_void_p: "ptr", ctypes.c_uint32: "i32", ctypes.c_uint64: "i64"}

READING, WRITING = offset_of(ImageView, "reading"), offset_of(ImageView, "writing")
SAMPLER_OFFSET = offset_of(ImageView, "sampler")

FIELDS = {
    **{
        name: (offset_of(ImageView, name), _TYPES[type_])
        for name, type_ in ImageView._fields_
        if type_ in _TYPES
    },
    "reading": (READING, "i64"),
    "reading_rest": (READING + 8, "i64"),
    "writing": (WRITING, "i64"),
    "writing_rest": (WRITING + 8, "i64"),
}
"""Offsets and types of what is read of a view; the four channels of a table at twice two."""

UINT, SINT, UNORM, SNORM, HALF, FLOAT, SMALL_FLOAT = range(len(TEXEL_KINDS))
FROM_TEXEL, ZERO, ONE = range(len(CHANNEL_SOURCES))

FIRST_CHANNEL_ORDER, FIRST_CHANNEL_TYPE = 0x10B0, 0x10D0
ORDERS_WITH_OPAQUE_BORDER = (0x10B0, 0x10B2, 0x10B4, 0x10B9)
"""R, RG, RGB and luminance: outside of such an image alpha is one."""

NORMALIZED = 1
ADDRESSING_SHIFT, ADDRESSING_MASK = 1, 7
NONE, CLAMP_TO_EDGE, CLAMP_TO_BORDER, REPEAT, MIRRORED = range(5)
LINEAR = 16
"""The flags of a sampler."""


class Channel:
    """An entry of `reading` or `writing`, as scalars: all texels of an image are alike."""

    def __init__(self, packed: Vec) -> None:
        self.packed = packed
        """All of it in 32 bits."""
        self.word = packed & 255
        self.shift = (packed >> 8) & 255
        self.bits = (packed >> 16) & 255
        self.source = packed >> 24

    def mask(self) -> Vec:
        """As many ones as the channel has bits."""
        return self.bits.constant(-1) >> ((32 - self.bits) & 31)


class View:
    """The members of a view, loaded where they are asked for."""

    def __init__(self, pointer: Vec) -> None:
        self.pointer = pointer
        self.text = pointer.text

    def _load(self, offset: int, t: str) -> Vec:
        text = self.text
        place = text.emit(f"getelementptr i8, ptr {self.pointer.name}, i64 {offset}")
        return Vec(text, t, text.emit(f"load {t}, ptr {place}, align 4, !invariant.load !0"))

    def get(self, field: str) -> Vec:
        """A member, as a scalar."""
        return self._load(*FIELDS[field])

    def over(self, field: str, t: str) -> Vec:
        """A member, in all lanes of a type."""
        return splat(self.get(field), t)

    def channel(self, table: int, number: int) -> Channel:
        """One entry of `reading` or `writing`."""
        return Channel(self._load(table + 4 * number, "i32"))
