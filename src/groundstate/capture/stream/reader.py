"""Reads streams, whole or broken, from friends or strangers.

A reader finds the chunks through the index, or by going through the file when there is none, and
decompresses one chunk at a time. At the first chunk that is not as it was written it stops:
`damage` says where and why, and all that was read until then is good.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from groundstate.capture.stream import compression
from groundstate.capture.stream.formats import (
    CHUNK_SIZE,
    CHUNKS,
    CONTENTS,
    FOOTER_SIZE,
    HEADER_SIZE,
    ChunkKind,
    Kind,
)
from groundstate.capture.stream.journal import Unreturned, read_journal
from groundstate.capture.stream.layout import (
    Chunk,
    Damage,
    Header,
    Record,
    StreamError,
    digest,
    unpack_footer,
    unpack_records,
)
from groundstate.capture.stream.writes import Run
from groundstate.closing import Closing

CACHED_CHUNKS = 4


class StreamReader(Closing):
    """A stream that is being read; use it with `with`.

    `finished` says whether its process closed it; a stream whose process was killed, or still
    runs, is not finished and not damaged, and `unreturned` has the calls that it was inside.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage: Damage | None = None
        self.finished = False
        self.unreturned: list[Unreturned] = []
        self._contents: dict[bytes, int] | None = None
        self._cached: dict[int, list[Record]] = {}  # by place, the one used last at the end
        self._file = path.open("rb")
        try:
            self._size = path.stat().st_size
            self.header = Header.unpack(self._at(0, HEADER_SIZE))
            indexed = self._chunks_by_index()
            self._chunks = self._chunks_by_scan() if indexed is None else indexed
            self._tail = [] if self.finished else self._journal_tail()
        except BaseException:
            self._file.close()
            raise

    def __len__(self) -> int:
        """How many records there are, as far as is known without reading all of them."""
        return self._stored_records() + len(self._tail)

    def records(self, start: int = 0) -> Iterator[Record]:
        """The records from number `start` to the end, or to the damage."""
        for place in range(self._chunk_of(start), len(self._chunks)):
            try:
                records = self._load(place)
            except StreamError as problem:
                self._stop_at(place, str(problem))
                return
            yield from (record for record in records if record.number >= start)
        yield from (record for record in self._tail if record.number >= start)

    def record(self, number: int) -> Record:
        """One record, found through the chunks' first numbers."""
        if 0 <= number < self._stored_records():
            place = self._chunk_of(number)
            try:
                return self._load(place)[number - self._chunks[place].first]
            except StreamError as problem:
                self._stop_at(place, str(problem))
        elif self._tail and 0 <= number - self._tail[0].number < len(self._tail):
            return self._tail[number - self._tail[0].number]
        raise StreamError(f"there is no record {number}: {self.damage or 'the stream is shorter'}")

    def content(self, name: bytes) -> bytes:
        """The bytes that a digest names."""
        number = self._content_records().get(name)
        if number is not None:
            record = self.record(number)
            piece = record.body[len(name) :]
            if record.kind == Kind.CONTENT and record.body.startswith(name):
                if digest(piece) == name:
                    return piece
                raise StreamError(f"record {number} is not what its digest says")
        raise StreamError(f"the stream has no content {name.hex()}")

    def memory(self, run: Run) -> bytes:
        """The bytes of a run of a `Writes`; those of results need not be in the stream."""
        pieces = []
        for _, size, name in run.pieces():
            piece = self.content(name)
            if len(piece) != size:
                raise StreamError(f"a piece of {size} bytes has a content of {len(piece)}")
            pieces.append(piece)
        return b"".join(pieces)

    def close(self) -> None:
        """Closes the file. Closing twice does nothing."""
        self._file.close()

    def _at(self, place: int, size: int) -> bytes:
        """At most `size` bytes from `place`; fewer where the file ends."""
        self._file.seek(place)
        return self._file.read(min(size, max(0, self._size - place)))

    def _read_chunk(self, place: int) -> tuple[Chunk, bytes]:
        """A chunk's header and stored bytes, both checked."""
        header = self._at(place, CHUNK_SIZE)
        chunk = Chunk.unpack(header, place)
        stored = self._at(place + CHUNK_SIZE, chunk.stored)
        chunk.check(header, stored)
        return chunk, stored

    def _chunks_by_index(self) -> list[Chunk] | None:
        """The chunks that the index lists; None if there is no index that can be trusted."""
        try:
            place, count = unpack_footer(self._at(max(0, self._size - FOOTER_SIZE), FOOTER_SIZE))
            chunks, self._contents = self._read_index(place, count)
        except StreamError:
            return None
        self.finished = True
        return chunks

    def _read_index(self, place: int, count: int) -> tuple[list[Chunk], dict[bytes, int]]:
        chunks: list[Chunk] = []
        contents: dict[bytes, int] = {}
        for _ in range(count):
            index, stored = self._read_chunk(place)
            payload = compression.decompress(index.codec, stored, index.raw)
            for record in unpack_records(payload, 0):
                if record.kind == Kind.CHUNKS:
                    chunks += self._listed(record.body, chunks)
                elif record.kind == Kind.CONTENTS:
                    contents.update(_entries(CONTENTS, record.body))
            place = index.end
        return chunks, contents

    def _listed(self, body: bytes, before: list[Chunk]) -> list[Chunk]:
        """The chunks of an index record; they must follow each other in file and numbering."""
        place, number = HEADER_SIZE, 0
        if before:
            place, number = before[-1].end, before[-1].first + before[-1].count
        chunks = []
        for entry in _entries(CHUNKS, body):
            chunk = Chunk.unpack(self._at(place, CHUNK_SIZE), place)
            if entry[:3] != (place, number, chunk.count) or chunk.first != number:
                raise StreamError("the index does not match the chunks")
            chunks.append(chunk)
            place, number = chunk.end, number + chunk.count
        return chunks

    def _chunks_by_scan(self) -> list[Chunk]:
        """The chunks in the order of the file, up to its end or the first damage."""
        chunks: list[Chunk] = []
        place, number, indexed = HEADER_SIZE, 0, False
        while place < self._size:
            try:
                chunk, _ = self._read_chunk(place)
                if chunk.kind == ChunkKind.RECORDS and chunk.first != number:
                    raise StreamError(f"record {number} is missing; the chunk has {chunk.first}")
            except StreamError as problem:
                what = "the index is damaged" if indexed else str(problem)
                self.damage = Damage(place, what)
                break
            if chunk.kind == ChunkKind.RECORDS:
                chunks.append(chunk)
                number += chunk.count
            indexed = indexed or chunk.kind == ChunkKind.INDEX
            place = chunk.end
        return chunks

    def _journal_tail(self) -> list[Record]:
        """What the process had recorded but not yet moved to the stream."""
        journal = read_journal(self.path, self.header, self._stored_records())
        self.unreturned = journal.unreturned
        if journal.problem is not None and self.damage is None:
            self.damage = Damage(self._size, journal.problem)
        elif (
            journal.records
            and self.damage is not None
            and self.damage.problem.startswith("the file ends")
        ):
            self.damage = None  # the chunk that was being written is still in the journal
        return journal.records

    def _stored_records(self) -> int:
        return self._chunks[-1].first + self._chunks[-1].count if self._chunks else 0

    def _chunk_of(self, number: int) -> int:
        """The place in `_chunks` of the one that holds a record."""
        return max(0, bisect_right(self._chunks, number, key=lambda chunk: chunk.first) - 1)

    def _load(self, place: int) -> list[Record]:
        records = self._cached.pop(place, None)
        if records is None:
            chunk, stored = self._read_chunk(self._chunks[place].place)
            payload = compression.decompress(chunk.codec, stored, chunk.raw)
            records = list(unpack_records(payload, chunk.first))
            if len(records) != chunk.count:
                raise StreamError(f"a chunk says {chunk.count} records and has {len(records)}")
            if len(self._cached) >= CACHED_CHUNKS:
                del self._cached[next(iter(self._cached))]
        self._cached[place] = records
        return records

    def _stop_at(self, place: int, problem: str) -> None:
        """Forgets the chunks from a damaged one on."""
        self.damage = Damage(self._chunks[place].place, problem)
        del self._chunks[place:]
        self._tail = []
        self._cached.clear()

    def _content_records(self) -> dict[bytes, int]:
        if self._contents is None:
            size = len(digest(b""))
            self._contents = {
                record.body[:size]: record.number
                for record in self.records()
                if record.kind == Kind.CONTENT
            }
        return self._contents


def _entries(form: struct.Struct, body: bytes) -> Iterator[tuple[Any, ...]]:
    if len(body) % form.size:
        raise StreamError("an index record ends inside an entry")
    return form.iter_unpack(body)
