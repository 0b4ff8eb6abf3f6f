"""The line to `groundstate debug`: one JSON object in a line, over a Unix socket.

Nobody listens in between: what the other side says is read when a launch begins, from time to time
while one is stepped, and all the time while it is stopped.
"""

from __future__ import annotations

import json
import os
import select
import socket
from typing import Any

from groundstate.driver import native

Message = dict[str, Any]
MOST_BYTES = 1 << 24
"""Of a message."""


class Gone(Exception):  # noqa: N818 - not an error: the debugger has ended
    """The other side has ended."""


class Connection:
    """Messages to and from a debugger."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(path)
        self._pid = os.getpid()
        self._read = bytearray()
        self.waiting: list[Message] = []
        """What has been read and nobody has looked at."""

    @property
    def is_ours(self) -> bool:
        """Not in a child that was forked: two cannot speak over one line."""
        return self._pid == os.getpid()

    def send(self, message: Message) -> None:
        """Says something."""
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError as problem:
            raise Gone from problem

    def poll(self) -> list[Message]:
        """What has been said, without waiting."""
        while select.select([self._socket], [], [], 0)[0]:
            self._receive()
        found, self.waiting = self.waiting, []
        return found

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
            message = json.loads(line)
            if isinstance(message, dict):
                self.waiting.append(message)

    def close(self) -> None:
        """Ends it, and with it all debugging: launches run as ever."""
        native.debug_launches(False)
        self._socket.close()
