"""How many bytes a call reads or writes at an address that it only names.

A recording may say anything; what it says is held against the memory that there is.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.capture.play.images import ImageSize
from groundstate.capture.play.passing import Passing

Extent = Callable[[Passing], int]

TIMESTAMP = 32
GROUPS = 12


def _word(place: int) -> Extent:
    return lambda passing: passing.words[place]


def _fixed(size: int) -> Extent:
    return lambda passing: size


def _copy_region(region: int, pitch: int, slice_: int) -> Extent:
    def extent(passing: Passing) -> int:
        data = passing.before(passing.words[region]) or b""
        x, y, z, width, height, depth = (
            int.from_bytes(data[at : at + 4], "little") for at in range(0, 24, 4)
        )
        last_row = z + max(depth, 1) - 1, y + max(height, 1) - 1
        return last_row[0] * passing.words[slice_] + last_row[1] * passing.words[pitch] + x + width

    return extent


def _image(image: int, region: int, row: int | None = None, slice_: int | None = None) -> Extent:
    def extent(passing: Passing) -> int:
        whole = passing.names.images.get(passing.words[image], ImageSize(0, 0, 0, 0))
        data = passing.before(passing.words[region])
        part = whole
        if data is not None and len(data) >= 24:
            numbers = [int.from_bytes(data[at : at + 4], "little") for at in range(12, 24, 4)]
            part = ImageSize(numbers[0], max(numbers[1], 1), max(numbers[2], 1), whole.texel)
        pitches = [0 if place is None else passing.words[place] for place in (row, slice_)]
        return part.bytes(*pitches)

    return extent


def _timestamps(passing: Passing) -> int:
    """Without offsets the results of events follow each other."""
    count, offsets = passing.words[1] & 0xFFFFFFFF, passing.before(passing.words[4])
    if not passing.words[4] or offsets is None:
        return TIMESTAMP * count
    starts = (int.from_bytes(offsets[at : at + 8], "little") for at in range(0, 8 * count, 8))
    return max(starts, default=0) + TIMESTAMP


EXTENTS: dict[tuple[str, str], Extent] = {
    ("zeCommandListAppendMemoryCopyRegion", "dstptr"): _copy_region(2, 3, 4),
    ("zeCommandListAppendMemoryCopyRegion", "srcptr"): _copy_region(6, 7, 8),
    ("zeCommandListAppendImageCopyToMemory", "dstptr"): _image(2, 3),
    ("zeCommandListAppendImageCopyFromMemory", "srcptr"): _image(1, 3),
    ("zeCommandListAppendImageCopyToMemoryExt", "dstptr"): _image(2, 3, 4, 5),
    ("zeCommandListAppendImageCopyFromMemoryExt", "srcptr"): _image(1, 3, 4, 5),
    ("zeCommandListAppendWriteGlobalTimestamp", "dstptr"): _fixed(8),
    ("zeCommandListAppendQueryKernelTimestamps", "dstptr"): _timestamps,
    ("zeCommandListAppendLaunchKernelIndirect", "pLaunchArgumentsBuffer"): _fixed(GROUPS),
    ("zeCommandListAppendLaunchMultipleKernelsIndirect", "pCountBuffer"): _fixed(4),
    ("zeCommandListAppendLaunchMultipleKernelsIndirect", "pLaunchArgumentsBuffer"): (
        lambda passing: GROUPS * (passing.words[1] & 0xFFFFFFFF)
    ),
    ("zeRTASBuilderBuildExp", "pScratchBuffer"): _word(3),
    ("zeRTASBuilderBuildExp", "pRtasBuffer"): _word(5),
    ("zeRTASBuilderBuildExt", "pScratchBuffer"): _word(3),
    ("zeRTASBuilderBuildExt", "pRtasBuffer"): _word(5),
    ("zeDeviceSetCacheAdviceExt", "ptr"): _word(2),
}


def extent_of(function: str, parameter: str, names: list[str]) -> Extent:
    """How much memory a function uses at a parameter; nothing is known of some."""
    known = EXTENTS.get((function, parameter))
    if known is None and "size" in names:
        known = _word(names.index("size"))
    return known or _fixed(0)
