"""The line between a debugger and what it debugs: one JSON object in a line, over a Unix socket."""

from __future__ import annotations

import json
import os
import select
import socket
import struct
from contextlib import suppress
from typing import Any

Message = dict[str, Any]
MOST_BYTES = 1 << 24
"""Of a message."""
MOST_MILLISECONDS = 1 << 30
_CREDENTIALS = struct.Struct("=iII")


class Gone(Exception):  # noqa: N818 - not an error: who is on the other side has ended
    """The other side has ended."""


def wait_for_input(seconds: float | None, *descriptors: int) -> list[int]:
    """Those of some descriptors that have something to read, or have ended, within some time."""
    waiting = select.poll()
    for each in descriptors:
        waiting.register(each, select.POLLIN)
    milliseconds = None if seconds is None else min(seconds * 1000, MOST_MILLISECONDS)
    return [descriptor for descriptor, _ in waiting.poll(milliseconds)]


class Connection:
    """Messages to and from the other side of a connected socket."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._pid = os.getpid()
        self._read = bytearray()
        self.waiting: list[Message] = []
        """What has been read and nobody has looked at."""

    @staticmethod
    def to(path: str | bytes, seconds: float | None = None) -> Connection:
        """Connects with who listens there. No answer may take longer than `seconds`."""
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connected.settimeout(seconds)
            connected.connect(path)
        except OSError:
            connected.close()
            raise
        return Connection(connected)

    @property
    def peer(self) -> tuple[int, int]:
        """The process on the other side and its user, as the kernel knows them."""
        told = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, user, _ = _CREDENTIALS.unpack(told)
        return pid, user

    @property
    def is_ours(self) -> bool:
        """Not in a child that was forked: two cannot speak over one line."""
        return self._pid == os.getpid()

    def send(self, message: Message) -> None:
        """Says something. If nobody listens any more, no signal ends the program."""
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n", socket.MSG_NOSIGNAL)
        except OSError as problem:
            raise Gone from problem

    def poll(self) -> list[Message]:
        """What has been said, without waiting."""
        while self.is_ready(0):
            self._receive()
        found, self.waiting = self.waiting, []
        return found

    def is_ready(self, seconds: float | None, *others: int) -> bool:
        """Whether something has been said, or the other side has ended, within some time.

        False as soon as one of some other descriptors has something to read."""
        if self.waiting:
            return True
        try:
            socket_number = self._socket.fileno()
            return socket_number in wait_for_input(seconds, socket_number, *others)
        except (OSError, ValueError) as problem:  # closed by another thread
            raise Gone from problem

    def next(self) -> Message:
        """What is said next."""
        while not self.waiting:
            self._receive()
        return self.waiting.pop(0)

    def _receive(self) -> None:
        try:
            data = self._socket.recv(1 << 16)
        except OSError as problem:
            raise Gone from problem
        if not data or len(self._read) > MOST_BYTES:
            raise Gone
        self._read += data
        *lines, rest = self._read.split(b"\n")
        self._read = bytearray(rest)
        for line in lines:
            try:
                message = json.loads(line)
            except ValueError as problem:
                raise Gone from problem
            if isinstance(message, dict):
                self.waiting.append(message)

    def close(self) -> None:
        """Ends it, also for a thread that waits."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
