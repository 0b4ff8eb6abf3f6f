"""Records of memory: what the host wrote before a submission, and what the device left behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntFlag

from groundstate.capture.stream.formats import (
    DIGEST_SIZE,
    PAGE,
    PIECE,
    RUN,
    WRITES,
    WRITES_IN_FLIGHT,
    WRITES_MIXED,
)
from groundstate.capture.stream.layout import StreamError


class WritesFlag(IntFlag):
    """What is special about a record of memory."""

    NONE = 0
    IN_FLIGHT = WRITES_IN_FLIGHT
    """Earlier work had not ended: some of it may be the device's, and nobody may wait for that."""
    MIXED = WRITES_MIXED
    """Several threads wrote: some of it may be what the device wrote before."""


@dataclass(frozen=True)
class Run:
    """Memory in a row: where it was in the recorded process, and the contents of its pieces."""

    address: int
    size: int
    digests: tuple[bytes, ...]
    piece: int = PAGE

    def pieces(self) -> Iterator[tuple[int, int, bytes]]:
        """Address, size and digest of each piece; the last one may be shorter than the others."""
        for number, name in enumerate(self.digests):
            begin = number * self.piece
            yield self.address + begin, min(self.piece, self.size - begin), name


@dataclass(frozen=True)
class Writes:
    """A record of kind `WRITES` or `RESULTS`; they are laid out alike."""

    thread: int
    runs: tuple[Run, ...]
    flags: WritesFlag = WritesFlag.NONE
    piece: int = PAGE

    @property
    def in_flight(self) -> bool:
        """Whether a player must not wait for its device before it applies this."""
        return bool(self.flags & WritesFlag.IN_FLIGHT)

    def pack(self) -> bytes:
        """The body of the record."""
        head = WRITES.pack(len(self.runs), self.flags, self.piece, self.thread)
        runs = (RUN.pack(run.address, run.size) + b"".join(run.digests) for run in self.runs)
        return head + b"".join(runs)

    @classmethod
    def unpack(cls, body: bytes) -> Writes:
        """Reads the body of a record; raises `StreamError` if it says more than it has."""
        if len(body) < WRITES.size:
            raise StreamError("a record of memory ends inside its description")
        count, flags, piece, thread = WRITES.unpack_from(body)
        if not 0 < piece <= PIECE:
            raise StreamError(f"a record of memory says its pieces have {piece} bytes")
        return cls(thread, tuple(_runs(body, count, piece)), WritesFlag(flags & 3), piece)


def _runs(body: bytes, count: int, piece: int) -> Iterator[Run]:
    position = WRITES.size
    for _ in range(count):
        if len(body) - position < RUN.size:
            raise StreamError("a record of memory ends inside a run")
        address, size = RUN.unpack_from(body, position)
        position += RUN.size
        length = -(-size // piece) * DIGEST_SIZE
        if len(body) - position < length or address + size > 1 << 64:
            raise StreamError("a run is longer than its record or than memory")
        names = body[position : position + length]
        digests = tuple(names[at : at + DIGEST_SIZE] for at in range(0, length, DIGEST_SIZE))
        yield Run(address, size, digests, piece)
        position += length
