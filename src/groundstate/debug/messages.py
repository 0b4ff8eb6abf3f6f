"""Messages of the Debug Adapter Protocol: JSON behind a header, as in HTTP."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

Message = dict[str, Any]
MOST_BYTES = 1 << 24
LENGTH = b"content-length:"


class MessageError(Exception):
    """What comes is no message of the protocol."""


def read(source: BinaryIO) -> Message | None:
    """The next message; None at the end."""
    length = -1
    while line := source.readline(1 << 12):
        if line.lower().startswith(LENGTH):
            text = line[len(LENGTH) :].strip()
            length = int(text) if text.isdigit() else -1
        elif line in (b"\r\n", b"\n"):
            break
    else:
        return None
    if not 0 <= length <= MOST_BYTES:
        raise MessageError("a message says no length that it can have")
    try:
        message = json.loads(source.read(length))
    except (ValueError, RecursionError) as problem:
        raise MessageError(f"a message is no JSON: {problem}") from problem
    if not isinstance(message, dict):
        raise MessageError("a message is no object")
    return message


def write(out: BinaryIO, message: Message) -> None:
    """Sends a message."""
    data = json.dumps(message).encode()
    out.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
    out.flush()
