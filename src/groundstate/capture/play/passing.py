"""What one call is given: its recorded blocks, in memory of our own, with present names inside."""

from __future__ import annotations

from collections.abc import Callable

from groundstate.capture.play.arena import Arena, Place
from groundstate.capture.play.errors import UnplayableError
from groundstate.capture.play.names import Names
from groundstate.capture.stream import Block, Call, StreamError
from groundstate.capture.stream.formats import Form, Phase

ROOM_LIMIT = 256 << 20

Contents = Callable[[bytes], bytes]


class Passing:
    """The memory of one call while it is made."""

    def __init__(
        self, what: str, call: Call, names: Names, arena: Arena, contents: Contents
    ) -> None:
        self.what = what
        self.call = call
        self.names = names
        self.words = call.arguments
        self._arena = arena
        self._contents = contents
        self._before: dict[int, Block] = {}
        self._after: dict[int, Block] = {}
        self.placed: dict[int, Place] = {}
        self.number = 0
        """That of the call's record."""
        self.freed = 0
        """The present address of what the call frees."""
        for block in call.blocks:
            blocks = self._before if block.phase == Phase.BEFORE else self._after
            known = blocks.get(block.address)
            if known is None or known.size < block.size:
                blocks[block.address] = block

    def before(self, address: int) -> bytes | None:
        """What was at an address before the call, if that was recorded."""
        block = self._before.get(address)
        return None if block is None else self._bytes(block)

    def after(self, address: int) -> bytes:
        """What was at an address after the call; empty if that was not recorded."""
        block = self._after.get(address)
        return b"" if block is None else self._bytes(block)

    def place(self, address: int, least: int, *, written: bool) -> Place:
        """Our copy of what was at an address, with room for at least `least` bytes."""
        known = self.placed.get(address)
        if known is not None and known.size >= least:
            return known
        if least > ROOM_LIMIT:
            raise UnplayableError(
                f"it has room for {least} bytes, which is more than anybody needs"
            )
        data = self.before(address) or b""
        if len(data) < least and not written:
            raise UnplayableError(
                f"of {least} bytes at 0x{address:x} that it reads {len(data)} were recorded"
            )
        size = max(least, len(data), len(self.after(address)) if written else 0)
        made = self.placed[address] = self._arena.take(size, data)
        return made

    def number_at(self, address: int, size: int) -> int:
        """A number that the call was given by its address."""
        return int.from_bytes((self.before(address) or b"")[:size], "little")

    def _bytes(self, block: Block) -> bytes:
        if block.form == Form.BYTES:
            return block.data
        if block.form != Form.DIGESTS:
            raise UnplayableError(f"a block of it has the unknown form {block.form}")
        try:
            return b"".join(map(self._contents, block.digests))[: block.size]
        except StreamError as problem:
            raise UnplayableError(str(problem)) from None
