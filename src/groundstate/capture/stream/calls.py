"""Records of calls: the arguments as they were passed, and the memory that they led to."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from groundstate.capture.stream.formats import (
    BLOCK,
    CALL,
    DIGEST_SIZE,
    INCOMPLETE,
    PIECE,
    Form,
    Phase,
)
from groundstate.capture.stream.layout import StreamError


@dataclass(frozen=True)
class Block:
    """A copy of memory that a call was given: its bytes, or the digests of its contents."""

    address: int
    size: int
    phase: int
    form: int
    data: bytes

    @property
    def digests(self) -> list[bytes]:
        """The contents' names; empty for a block that has its bytes with it."""
        if self.form != Form.DIGESTS:
            return []
        steps = range(0, len(self.data), DIGEST_SIZE)
        return [self.data[step : step + DIGEST_SIZE] for step in steps]


@dataclass(frozen=True)
class Call:
    """One call of a function of the API."""

    function: int
    thread: int
    began: int
    time: int
    duration: int
    result: int
    arguments: tuple[int, ...]
    blocks: tuple[Block, ...]
    incomplete: bool = False

    def pack(self) -> bytes:
        """The body of the call's record."""
        head = CALL.pack(
            self.function,
            self.thread,
            self.began,
            self.time,
            self.duration,
            self.result,
            len(self.arguments),
            len(self.blocks),
            INCOMPLETE if self.incomplete else 0,
        )
        words = struct.pack(f"<{len(self.arguments)}Q", *self.arguments)
        blocks = (BLOCK.pack(b.address, b.size, b.phase, b.form) + b.data for b in self.blocks)
        return head + words + b"".join(blocks)

    @classmethod
    def unpack(cls, body: bytes) -> Call:
        """Reads the body of a call's record; raises `StreamError` if it says more than it has."""
        if len(body) < CALL.size:
            raise StreamError("a call ends inside its description")
        function, thread, began, time, duration, result, words, blocks, flags = CALL.unpack_from(
            body
        )
        position = CALL.size + 8 * words
        if len(body) < position:
            raise StreamError("a call ends inside its arguments")
        arguments = struct.unpack_from(f"<{words}Q", body, CALL.size)
        memory = tuple(_blocks(body, position, blocks))
        incomplete = bool(flags & INCOMPLETE)
        return cls(function, thread, began, time, duration, result, arguments, memory, incomplete)

    def at(self, address: int, phase: Phase, size: int = 0) -> Block | None:
        """The block of that phase that begins at an address and has at least `size` bytes."""
        for block in self.blocks:
            if block.address == address and block.phase == phase and block.size >= size:
                return block
        return None


def _blocks(body: bytes, position: int, count: int) -> Iterator[Block]:
    for _ in range(count):
        if len(body) - position < BLOCK.size:
            raise StreamError("a call ends inside a block")
        address, size, phase, form = BLOCK.unpack_from(body, position)
        position += BLOCK.size
        length = size if form == Form.BYTES else -(-size // PIECE) * DIGEST_SIZE
        if len(body) - position < length:
            raise StreamError("a block is longer than its call")
        yield Block(address, size, phase, form, body[position : position + length])
        position += length
