"""The command that copies images: to and from memory, and to each other."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from groundstate import ze
from groundstate.core.api import address, number
from groundstate.core.appending import Appending
from groundstate.core.image import Image
from groundstate.core.operand import borrow, require_texels

if TYPE_CHECKING:
    from groundstate.core.commands import Events, Region
    from groundstate.core.event import Event
    from groundstate.core.operand import Operand


class ImageCommands(Appending):
    """What a command list can do with images."""

    def copy_image(
        self,
        destination: Image | Operand,
        source: Image | Operand,
        region: Region | None = None,
        *,
        source_region: Region | None = None,
        row_pitch_bytes: int = 0,
        slice_pitch_bytes: int = 0,
        signal: Event | None = None,
        wait: Events = (),
    ) -> None:
        """Copies texels: to an image from memory, to memory from an image, or between images.

        `region` is the part of the image to copy, in texels; between images it is that of the
        destination, and `source_region` that of the source (the same, if it is not given). The
        pitches are those of the memory: bytes from row to row and from slice to slice, if there
        are gaps between them.

        >>> import groundstate as gs
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     image, target = gs.Image(context, (2, 2), "r8uint"), context.alloc_host(2)
        ...     with gs.CommandList.immediate(context, in_order=True) as commands:
        ...         commands.copy_image(image, bytes([1, 2, 3, 4]))
        ...         commands.copy_image(target, image, gs.Region(x=1, width=1, height=2))
        ...     target.tolist()
        [2, 4]
        """
        pitches = (row_pitch_bytes, slice_pitch_bytes)
        if not isinstance(source, Image):
            if not isinstance(destination, Image):
                raise TypeError("neither is an image; `copy` and `copy_region` copy memory")
            function, prepared, uses = _from_memory(destination, source, region, pitches)
        elif not isinstance(destination, Image):
            function, prepared, uses = _to_memory(destination, source, region, pitches)
        else:
            function = "zeCommandListAppendImageCopyRegion"
            images = destination.resource, source.resource
            parts = _prepared(region), _prepared(source_region or region)
            prepared = (*(each.argument for each in images), *parts)
            uses = images
        self._append(function, prepared, signal, wait, uses)


_Copy = tuple[str, tuple[Any, ...], tuple[object, ...]]
"""A function, its arguments, and what must stay alive until it has run."""


def _from_memory(
    to: Image, source: Operand, region: Region | None, pitches: tuple[int, int]
) -> _Copy:
    require_texels(source, to.format.dtype, "the source")
    memory = borrow(source)
    memory.require(_bytes(to, region, *pitches), "the source")
    sides = (to.resource.argument, address(memory.address))
    return (
        "zeCommandListAppendImageCopyFromMemoryExt",
        (*sides, _prepared(region), *map(number, pitches)),
        (to.resource, memory.owner),
    )


def _to_memory(
    destination: Operand, source: Image, region: Region | None, pitches: tuple[int, int]
) -> _Copy:
    require_texels(destination, source.format.dtype, "the destination")
    memory = borrow(destination, writable=True)
    memory.require(_bytes(source, region, *pitches), "the destination")
    sides = (address(memory.address), source.resource.argument)
    return (
        "zeCommandListAppendImageCopyToMemoryExt",
        (*sides, _prepared(region), *map(number, pitches)),
        (memory.owner, source.resource),
    )


def _prepared(region: Region | None) -> Any:
    if region is None:
        return None
    sides = (region.width, region.height, region.depth)
    return ctypes.byref(ze.ze_image_region_t(region.x, region.y, region.z, *sides))


def _bytes(image: Image, region: Region | None, row_pitch: int, slice_pitch: int) -> int:
    """How far the texels of a region reach in memory."""
    if row_pitch == slice_pitch == 0:
        return image.region_bytes(region)
    *outer, width = image._region_shape(region)[: len(image.extents)]
    row = width * image.format.texel_bytes
    if not outer:
        return row
    slices, rows = (outer[0], outer[1]) if len(outer) == 2 else (1, outer[0])
    pitch = slice_pitch if image.kind == "1d_array" and slice_pitch else row_pitch or row
    return (slices - 1) * (slice_pitch or rows * pitch) + (rows - 1) * pitch + row
