"""Reads what a process had recorded when it was killed, or has recorded so far.

The journal is memory of that process, mapped from a file: two parts that are filled in turn and
moved to the stream. Its counts are written after the records they count.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from groundstate.capture.stream.layout import (
    CHUNK_LIMIT,
    HEADER_SIZE,
    JOURNAL_MAGIC,
    JOURNAL_SUFFIX,
    Header,
    Record,
    StreamError,
    unpack_records,
)

PART = struct.Struct("<QII")
PARTS_PLACE = 64
PAYLOAD_PLACE = 4096


def journal_of(stream: Path) -> Path:
    """Where the journal of a stream lies."""
    return stream.with_name(stream.name + JOURNAL_SUFFIX)


def read_journal(stream: Path, header: Header, first: int) -> tuple[list[Record], str | None]:
    """The records from number `first` that are only in the journal, and what was wrong with it."""
    try:
        with journal_of(stream).open("rb") as file:
            return _read(file, header, first)
    except FileNotFoundError:
        return [], None
    except StreamError as problem:
        return [], f"the journal beside the stream cannot be used: {problem}"


def _read(file: BinaryIO, header: Header, first: int) -> tuple[list[Record], str | None]:
    own = Header.unpack(file.read(HEADER_SIZE), JOURNAL_MAGIC)
    if (own.start, own.process) != (header.start, header.process):
        raise StreamError("it belongs to another stream")
    if own.size > CHUNK_LIMIT:
        raise StreamError(f"its parts are larger than {CHUNK_LIMIT} bytes")
    file.seek(PARTS_PLACE)
    counts = file.read(2 * PART.size)
    if len(counts) < 2 * PART.size:
        raise StreamError("the file ends inside its description")
    parts = sorted((*part, place) for place, part in enumerate(PART.iter_unpack(counts)))
    records: list[Record] = []
    for begin, used, count, place in parts:
        if count == 0 or begin != first + len(records):
            continue
        file.seek(PAYLOAD_PLACE + place * own.size)
        payload = file.read(min(used, own.size))
        try:
            found = list(unpack_records(payload, begin))
        except StreamError as problem:
            return records, f"the journal beside the stream is damaged: {problem}"
        records += found[:count]
    return records, None
