"""The fixed parts of a stream: its header, chunks, records and footer.

docs/reference/stream-format.md is the grammar.

Every function here takes bytes from anybody and either gives back what they say or raises
`StreamError`; none takes memory for a size that it has not checked.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from groundstate.capture.stream.formats import (
    CHUNK,
    CHUNK_MAGIC,
    CHUNK_SIZE,
    DIGEST_SIZE,
    FOOTER,
    FOOTER_MAGIC,
    FOOTER_SIZE,
    HEADER,
    HEADER_SIZE,
    MAGIC,
    MAJOR,
    RECORD,
)

CHUNK_LIMIT = 16 << 20
"""No chunk is larger than this, neither stored nor decompressed."""
SUFFIX = ".gsstream"
JOURNAL_SUFFIX = ".journal"

_CRC = struct.Struct("<I")


class StreamError(ValueError):
    """Bytes that are no stream, or a part of one that is damaged."""


class Record(NamedTuple):
    """One record; `kind` may be a number that is no `Kind`."""

    number: int
    kind: int
    body: bytes


@dataclass(frozen=True)
class Damage:
    """Where a stream stops being readable, and why."""

    position: int
    problem: str

    def __str__(self) -> str:
        return f"at byte {self.position}: {self.problem}"


@dataclass(frozen=True)
class Header:
    """What the first bytes of a stream or journal say."""

    major: int
    minor: int
    size: int  # of a part of a journal; 0 in a stream
    start: int  # nanoseconds since 1970
    process: int

    def pack(self, magic: bytes = MAGIC) -> bytes:
        return _sealed(
            HEADER.pack(magic, self.major, self.minor, self.size, self.start, self.process)
        )

    @classmethod
    def unpack(cls, data: bytes, magic: bytes = MAGIC) -> Header:
        """Reads a header; raises `StreamError` for what is no stream of this major version."""
        if data[: len(magic)] != magic:
            raise StreamError("this is no recording: it does not begin as one")
        _, *fields = HEADER.unpack(_unsealed(data, HEADER_SIZE, "the header"))
        header = cls(*fields)
        if header.major != MAJOR:
            raise StreamError(
                f"this recording has version {header.major}.{header.minor}, and this program reads "
                f"version {MAJOR}; use the version of groundstate that wrote it"
            )
        return header


@dataclass(frozen=True)
class Chunk:
    """The header of a chunk, and where the chunk begins in its file."""

    place: int
    kind: int
    codec: int
    stored: int
    raw: int
    first: int
    count: int
    crc: int

    @property
    def end(self) -> int:
        """Where the next chunk begins."""
        return self.place + CHUNK_SIZE + self.stored

    @classmethod
    def unpack(cls, data: bytes, place: int) -> Chunk:
        """Reads a chunk's header; its checksum is looked at when its bytes are there, too."""
        if len(data) < CHUNK_SIZE:
            raise StreamError("the file ends inside a chunk")
        magic, kind, codec, _, stored, raw, first, count = CHUNK.unpack_from(data)
        if magic != CHUNK_MAGIC:
            raise StreamError("there is no chunk where one should begin")
        if stored > CHUNK_LIMIT or raw > CHUNK_LIMIT:
            raise StreamError(f"a chunk says it is larger than {CHUNK_LIMIT} bytes")
        if count * RECORD.size > raw:
            raise StreamError(f"a chunk of {raw} bytes says it has {count} records")
        (crc,) = _CRC.unpack_from(data, CHUNK.size)
        return cls(place, kind, codec, stored, raw, first, count, crc)

    def check(self, header: bytes, stored: bytes) -> None:
        """Raises `StreamError` unless `stored` are the bytes that were written."""
        if len(stored) < self.stored:
            raise StreamError("the file ends inside a chunk")
        if zlib.crc32(stored, zlib.crc32(header[: CHUNK.size])) != self.crc:
            raise StreamError("a chunk does not match its checksum")


def pack_chunk(kind: int, codec: int, stored: bytes, raw: int, first: int, count: int) -> bytes:
    """A chunk as it is in the file."""
    header = CHUNK.pack(CHUNK_MAGIC, kind, codec, 0, len(stored), raw, first, count)
    return header + _CRC.pack(zlib.crc32(stored, zlib.crc32(header))) + stored


def pack_record(kind: int, body: bytes) -> bytes:
    """A record as it is in a chunk."""
    return RECORD.pack(kind, len(body)) + body


def unpack_records(payload: bytes, first: int) -> Iterator[Record]:
    """The records of a decompressed chunk, numbered from `first`."""
    position, number = 0, first
    while position < len(payload):
        if len(payload) - position < RECORD.size:
            raise StreamError("a chunk ends inside a record")
        kind, length = RECORD.unpack_from(payload, position)
        position += RECORD.size
        if length > len(payload) - position:
            raise StreamError(f"record {number} is longer than its chunk")
        yield Record(number, kind, payload[position : position + length])
        position += length
        number += 1


def pack_footer(place: int, chunks: int) -> bytes:
    """The last bytes of a finished stream."""
    return _sealed(FOOTER.pack(FOOTER_MAGIC, place, chunks))


def unpack_footer(data: bytes) -> tuple[int, int]:
    """Where the first index chunk is, and how many there are."""
    if data[: len(FOOTER_MAGIC)] != FOOTER_MAGIC:
        raise StreamError("the stream has no footer")
    _, place, chunks = FOOTER.unpack(_unsealed(data, FOOTER_SIZE, "the footer"))
    return place, chunks


def digest(piece: bytes) -> bytes:
    """The name of a content."""
    return hashlib.blake2b(piece, digest_size=DIGEST_SIZE).digest()


def _sealed(data: bytes) -> bytes:
    return data + _CRC.pack(zlib.crc32(data))


def _unsealed(data: bytes, size: int, what: str) -> bytes:
    if len(data) < size:
        raise StreamError(f"the file ends inside {what}")
    data, seal = data[: size - _CRC.size], data[size - _CRC.size : size]
    if _CRC.unpack(seal)[0] != zlib.crc32(data):
        raise StreamError(f"{what} does not match its checksum")
    return data
