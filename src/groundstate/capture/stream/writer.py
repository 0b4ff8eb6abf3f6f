"""Writes streams: records into chunks, contents once, and the index at the end."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from groundstate.capture.stream import compression
from groundstate.capture.stream.formats import (
    CHUNKS,
    CONTENTS,
    INDEX_ENTRIES,
    MAJOR,
    MINOR,
    PAGE,
    PIECE,
    ChunkKind,
    Kind,
)
from groundstate.capture.stream.layout import (
    CHUNK_LIMIT,
    Header,
    digest,
    pack_chunk,
    pack_footer,
    pack_record,
)
from groundstate.capture.stream.marks import Mark
from groundstate.capture.stream.writes import Run, Writes, WritesFlag
from groundstate.closing import Closing

CHUNK_TARGET = 4 << 20


class StreamWriter(Closing):
    """A stream that is being written; use it with `with`.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "example.gsstream"
    >>> with StreamWriter(path) as stream:
    ...     stream.about([("program", "example")])
    ...     stream.add(77, b"a record of a kind of our own")
    0
    1
    """

    def __init__(
        self, path: Path, *, chunk_target: int = CHUNK_TARGET, start: int | None = None
    ) -> None:
        self._file = path.open("xb")
        self._target = min(chunk_target, CHUNK_LIMIT // 2)
        self._pending: list[bytes] = []
        self._pending_size = 0
        self._next = 0
        self._chunks: list[tuple[int, int, int]] = []
        self._contents: dict[bytes, int] = {}
        start = time.time_ns() if start is None else start
        self._file.write(Header(MAJOR, MINOR, 0, start, os.getpid()).pack())

    def add(self, kind: int, body: bytes) -> int:
        """Appends a record and gives back its number."""
        record = pack_record(kind, body)
        if len(record) > CHUNK_LIMIT // 2:
            raise ValueError(f"a record of {len(body)} bytes is too long; store it as contents")
        if self._pending and self._pending_size + len(record) > self._target:
            self.flush()
        self._pending.append(record)
        self._pending_size += len(record)
        self._next += 1
        return self._next - 1

    def about(self, pairs: list[tuple[str, str]]) -> int:
        """Appends what is known of the recorded process."""
        return self.add(Kind.ABOUT, b"".join(f"{k}\0{v}\0".encode() for k, v in pairs))

    def content(self, data: bytes, piece_size: int = PIECE) -> list[bytes]:
        """Stores bytes, unless they are in the stream already; the digests of their pieces."""
        digests = []
        for begin in range(0, len(data), piece_size):
            piece = bytes(data[begin : begin + piece_size])
            name = digest(piece)
            if name not in self._contents:
                self._contents[name] = self.add(Kind.CONTENT, name + piece)
            digests.append(name)
        return digests

    def writes(
        self,
        memory: Iterable[tuple[int, bytes]],
        *,
        thread: int = 0,
        flags: WritesFlag = WritesFlag.NONE,
        kind: Kind = Kind.WRITES,
    ) -> int:
        """Appends a record of memory, its runs given as (address, bytes), and their contents."""
        runs = tuple(
            Run(address, len(data), tuple(self.content(data, PAGE))) for address, data in memory
        )
        return self.add(kind, Writes(thread, runs, flags).pack())

    def mark(self, mark: Mark) -> int:
        """Appends a mark."""
        return self.add(Kind.MARK, mark.pack())

    def flush(self) -> None:
        """Writes what was added so far as a chunk; it is safe from then on."""
        if self._pending:
            first = self._next - len(self._pending)
            self._chunks.append((self._file.tell(), first, len(self._pending)))
            self._write(ChunkKind.RECORDS, self._pending, first, len(self._pending))
            self._pending, self._pending_size = [], 0
        self._file.flush()

    def close(self) -> None:
        """Writes what is left, the index and the footer. Closing twice does nothing."""
        if self._file.closed:
            return
        self.flush()
        place = self._file.tell()
        records = self._index_records()
        for record in records:
            self._write(ChunkKind.INDEX, [record], 0, 0)
        self._file.write(pack_footer(place, len(records)))
        self._file.close()

    def _index_records(self) -> list[bytes]:
        chunks = [CHUNKS.pack(*chunk, 0) for chunk in self._chunks]
        contents = [CONTENTS.pack(*content) for content in self._contents.items()]
        return [
            pack_record(kind, b"".join(entries[begin : begin + INDEX_ENTRIES]))
            for kind, entries in ((Kind.CHUNKS, chunks), (Kind.CONTENTS, contents))
            for begin in range(0, len(entries), INDEX_ENTRIES)
        ]

    def _write(self, kind: ChunkKind, records: list[bytes], first: int, count: int) -> None:
        payload = b"".join(records)
        codec, stored = compression.compress(payload)
        self._file.write(pack_chunk(kind, codec, stored, len(payload), first, count))
