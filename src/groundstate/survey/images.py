"""The SPIR-V modules in a file: as such, in a shared object of SYCL, in a bundle, or compressed.

A compiler for SYCL puts the images for devices into sections named after `__CLANG_OFFLOAD_BUNDLE__`
and lists them in `.tgtimg`: an address and a size each. Where there is no list, modules are found
by their first word, and end where their instructions do.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from groundstate.compiler.errors import BuildError
from groundstate.compiler.spirv import read
from groundstate.compiler.spirv.instructions import ROWS
from groundstate.compiler.spirv.opcodes import Op
from groundstate.compiler.spirv.reader import HEADER_WORDS, MAGIC, is_spirv
from groundstate.survey import elf
from groundstate.survey.elf import Damaged, Section

SPIRV_MAGIC = MAGIC.to_bytes(4, "little")
ZSTD_MAGIC = bytes.fromhex("28b52ffd")
BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
TABLE_SECTION = ".tgtimg"
TABLE_ENTRY = struct.Struct("<QQ")

MOST_IMAGE_BYTES = 256 << 20
"""Of one image, when it is decompressed; the largest seen so far has 2 MB."""
MOST_WINDOW = 1 << 27
MOST_WALKED = 16
"""How many times as many words as there are may be looked at in a search."""


class CompressionMissing(RuntimeError):  # noqa: N818 (named for what happened)
    """An image is compressed, and the package for that is not installed."""


def modules_in(data: bytes) -> Iterator[bytes]:
    """The modules in the content of a file, in the order in which they lie there.

    Raises `Damaged` for a file that is not what it begins as.
    """
    view = memoryview(data)
    if data.startswith(elf.MAGIC):
        yield from _modules_in_object(view)
    elif is_known(data):
        yield from _modules_in_image(view, len(data))
    else:
        yield from search(view)


def is_known(start: bytes) -> bool:
    """True if the first bytes of a file are those of something that can hold SPIR-V."""
    return start.startswith((elf.MAGIC, ZSTD_MAGIC, BUNDLE_MAGIC)) or is_spirv(start)


# --- Shared objects ----------------------------------------------------------------------------


def _modules_in_object(data: memoryview) -> Iterator[bytes]:
    found = elf.sections(data)
    bundles = [each for each in found if each.name.startswith(BUNDLE_MAGIC.decode())]
    table = next((each for each in found if each.name == TABLE_SECTION), None)
    if table is None:
        for section in bundles:
            yield from search(section.content)
        return
    for start, size in _listed(found, table):
        home = next((each for each in found if each.address and each.holds(start)), None)
        if home is None:
            raise Damaged(f"an image is listed at {start:#x}, where the file has nothing")
        yield from _modules_in_image(home.at(start), size)


def _listed(found: list[Section], table: Section) -> Iterator[tuple[int, int]]:
    """The addresses and sizes of images, from their list."""
    pointers = dict(elf.relative_pointers(found, table))
    whole = len(table.content) // TABLE_ENTRY.size * TABLE_ENTRY.size
    for index, (start, size) in enumerate(TABLE_ENTRY.iter_unpack(table.content[:whole])):
        place = table.address + index * TABLE_ENTRY.size
        yield pointers.get(place, start), size


# --- Images ------------------------------------------------------------------------------------


def _modules_in_image(image: memoryview, size: int) -> Iterator[bytes]:
    """The modules of an image, which begins what is given; `size` is that of its content."""
    start = bytes(image[: len(BUNDLE_MAGIC)])
    if start.startswith(ZSTD_MAGIC):
        content = _decompressed(image)
        if not content.startswith(ZSTD_MAGIC):
            yield from _modules_in_image(memoryview(content), len(content))
    elif start == BUNDLE_MAGIC:
        for part in _parts_of_bundle(image[:size]):
            if is_spirv(part[:4]) or bytes(part[:4]) == ZSTD_MAGIC:
                yield from _modules_in_image(part, len(part))
    elif is_spirv(start):
        if size > len(image):
            raise Damaged("an image ends behind its section")
        yield bytes(image[:size])


def _decompressed(image: memoryview) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise CompressionMissing(
            "images are compressed; to read them: pip install zstandard"
        ) from None
    reader = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW).stream_reader(image)
    try:
        content = reader.read(MOST_IMAGE_BYTES + 1)
    except zstandard.ZstdError as problem:
        raise Damaged(f"an image cannot be decompressed: {problem}") from problem
    if len(content) > MOST_IMAGE_BYTES:
        raise Damaged(f"an image is larger than {MOST_IMAGE_BYTES >> 20} MiB when decompressed")
    return content


def _parts_of_bundle(image: memoryview) -> Iterator[memoryview]:
    """The parts of a bundle: a count, then for each an offset, a size and its target's name."""
    position, taken = len(BUNDLE_MAGIC), 0
    try:
        (count,) = struct.unpack_from("<Q", image, position)
        position += 8
        for _ in range(count):
            offset, size, name = struct.unpack_from("<QQQ", image, position)
            position += 24 + name
            taken += size
            if max(offset + size, taken) > len(image):
                raise Damaged("the parts of a bundle lie outside of it, or over each other")
            yield image[offset : offset + size]
    except (struct.error, OverflowError) as problem:
        raise Damaged("a bundle is cut short") from problem


# --- Without a list ----------------------------------------------------------------------------


def search(data: memoryview) -> Iterator[bytes]:
    """The modules that lie anywhere among other bytes."""
    whole, position, walked = bytes(data), 0, 0
    while (start := whole.find(SPIRV_MAGIC, position)) >= 0:
        position = start + 4
        words = memoryview(whole[start : start + (len(whole) - start) // 4 * 4]).cast("I")
        end, seen = _end_of_module(words)
        walked += seen
        if end and _is_module(found := whole[start : start + 4 * end]):
            yield found
            position = start + 4 * end
        if walked > MOST_WALKED * (len(whole) // 4 + 1):
            raise Damaged("it is full of what looks like SPIR-V and is not")


def _end_of_module(words: memoryview) -> tuple[int, int]:
    """Where the last function ends, 0 if there is none; and how many words were looked at."""
    position, end, count = HEADER_WORDS, 0, len(words)
    while position < count:
        length, opcode = words[position] >> 16, words[position] & 0xFFFF
        if not length or opcode not in ROWS or position + length > count:
            break
        position += length
        if opcode == Op.FunctionEnd:
            end = position
    return end, position


def _is_module(data: bytes) -> bool:
    try:
        read(data)
    except BuildError:
        return False
    return True
