"""Writes a stream that is made of calls of another one and of calls of our own."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from groundstate.capture.stream import Block, Call, Kind, StreamReader, StreamWriter, Writes
from groundstate.capture.stream.formats import Form, Phase

OURS = 1 << 56
"""Handles and addresses from here on are our own: processes have none of them."""
_HANDLES = OURS + (1 << 55)
_BLOCKS = OURS + (1 << 54)
DESCRIPTION = OURS + (1 << 53)
"""Where the description lies that a changed call is given."""
BLOCK_STEP = 1 << 12


class Given(list[int]):
    """An array of handles that a call is given."""


class Wanted:
    """A place where a call gives back a handle, which will be known by a number of ours."""

    def __init__(self, handle: int) -> None:
        self.handle = handle


Argument = int | bytes | Given | Wanted | ctypes.Structure


class Output:
    """A stream that is being written: functions get numbers, contents come along."""

    def __init__(self, writer: StreamWriter, source: StreamReader) -> None:
        self.writer = writer
        self._source = source
        self._functions: dict[str, int] = {}
        self._present: set[bytes] = set()
        self._handles = 0
        self._records = 0
        self._time = 0

    @property
    def count(self) -> int:
        """How many records there are."""
        return self._records

    def about(self, pairs: list[tuple[str, str]]) -> None:
        self._records = self.writer.about(pairs) + 1

    def add(self, kind: int, body: bytes) -> None:
        """Appends a record that names no contents."""
        self._records = self.writer.add(kind, body) + 1

    def new_handle(self) -> int:
        """A handle that no recorded object has."""
        self._handles += 1
        return _HANDLES + 0x10 * self._handles

    def call(self, name: str, call: Call, *, began: int | None = None) -> None:
        """Appends a call; unless told otherwise it begins after everything before it."""
        for block in call.blocks:
            self._bring(block.digests)
        if name not in self._functions:
            number = len(self._functions)
            self._functions[name] = number
            self.add(Kind.FUNCTION, number.to_bytes(4, "little") + name.encode("ascii"))
        began = self._records if began is None else began
        self._time = call.time + call.duration
        self.add(Kind.CALL, replace(call, function=self._functions[name], began=began).pack())

    def make(self, name: str, *arguments: Argument) -> None:
        """Appends a call of our own that succeeds."""
        words: list[int] = []
        blocks: list[Block] = []
        for argument in arguments:
            address = _BLOCKS + BLOCK_STEP * len(words)
            if isinstance(argument, int):
                words.append(argument)
                continue
            words.append(address)
            phase, data = _led_to(argument)
            blocks.append(Block(address, len(data), phase, Form.BYTES, data))
        self.call(name, Call(0, 0, 0, self._time, 0, 0, tuple(words), tuple(blocks)))

    def writes(self, memory: list[tuple[int, bytes]]) -> None:
        """Appends contents of memory."""
        if memory:
            self._records = self.writer.writes(memory) + 1

    def copied_writes(self, kind: int, writes: Writes) -> None:
        """Appends a record of memory of the source, and its contents if they are there."""
        if kind == Kind.WRITES:
            for run in writes.runs:
                self._bring(run.digests)
        self.add(kind, writes.pack())

    def _bring(self, digests: Sequence[bytes]) -> None:
        for name in digests:
            if name not in self._present:
                self._present.add(name)
                self.writer.content(self._source.content(name))


def _led_to(argument: Any) -> tuple[Phase, bytes]:
    if isinstance(argument, Wanted):
        return Phase.AFTER, argument.handle.to_bytes(8, "little")
    if isinstance(argument, Given):
        return Phase.BEFORE, b"".join(handle.to_bytes(8, "little") for handle in argument)
    return Phase.BEFORE, bytes(argument)
