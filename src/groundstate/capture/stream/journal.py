"""Reads what a process had recorded when it was killed, or has recorded so far.

The journal is memory of that process, mapped from a file: two parts that are filled in turn and
moved to the stream. Its counts are written after the records they count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from groundstate.capture.stream.calls import Call
from groundstate.capture.stream.formats import (
    HEADER_SIZE,
    INSIDE,
    INSIDE_LIMIT,
    INSIDE_PLACE,
    JOURNAL_MAGIC,
    PART,
    PARTS_PLACE,
    PAYLOAD_PLACE,
)
from groundstate.capture.stream.layout import (
    CHUNK_LIMIT,
    JOURNAL_SUFFIX,
    Header,
    Record,
    StreamError,
    unpack_records,
)


def journal_of(stream: Path) -> Path:
    """Where the journal of a stream lies."""
    return stream.with_name(stream.name + JOURNAL_SUFFIX)


@dataclass(frozen=True)
class Unreturned:
    """A call that a thread was inside when the journal was read."""

    thread: int
    function: int
    time: int
    call: Call | None = None
    """What is known of it, without a result; None if the journal is older than that."""


@dataclass
class Journal:
    """What a journal adds to its stream, and what was wrong with it."""

    records: list[Record] = field(default_factory=list)
    unreturned: list[Unreturned] = field(default_factory=list)
    problem: str | None = None


def read_journal(stream: Path, header: Header, first: int) -> Journal:
    """The records from number `first` that are only in the journal, and the calls under way."""
    journal = Journal()
    try:
        with journal_of(stream).open("rb") as file:
            _read(file, header, first, journal)
    except FileNotFoundError:
        journal.problem = "the end is missing: no index, and no journal beside the stream"
    except StreamError as problem:
        journal.problem = f"the journal beside the stream cannot be used: {problem}"
    return journal


def _read(file: BinaryIO, header: Header, first: int, journal: Journal) -> None:
    page = file.read(PAYLOAD_PLACE)
    own = Header.unpack(page[:HEADER_SIZE], JOURNAL_MAGIC)
    if (own.start, own.process) != (header.start, header.process):
        raise StreamError("it belongs to another stream")
    if own.size > CHUNK_LIMIT:
        raise StreamError(f"its parts are larger than {CHUNK_LIMIT} bytes")
    if len(page) < PAYLOAD_PLACE:
        raise StreamError("the file ends inside its description")
    for thread, (function, size, time) in enumerate(INSIDE.iter_unpack(page[INSIDE_PLACE:])):
        if function:
            file.seek(PAYLOAD_PLACE + 2 * own.size + thread * INSIDE_LIMIT)
            call = _call_of(file.read(min(size, INSIDE_LIMIT)))
            journal.unreturned.append(Unreturned(thread, function - 1, time, call))
    parts = PART.iter_unpack(page[PARTS_PLACE : PARTS_PLACE + 2 * PART.size])
    for begin, used, count, place in sorted((*part, place) for place, part in enumerate(parts)):
        if count and begin == first + len(journal.records):
            file.seek(PAYLOAD_PLACE + place * own.size)
            payload = file.read(min(used, own.size))
            journal.records += list(unpack_records(payload, begin))[:count]


def _call_of(body: bytes) -> Call | None:
    """A call that may be in the middle of being written."""
    try:
        return Call.unpack(body) if body else None
    except StreamError:
        return None
