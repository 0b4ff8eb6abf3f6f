"""Records of when commands ran, which the recorder measured with timestamps of the device."""

from __future__ import annotations

import struct
from typing import NamedTuple

from groundstate.capture.stream.layout import StreamError

_HEAD = struct.Struct("<II")
_TIME = struct.Struct("<QQQQ")


class CommandTime(NamedTuple):
    """One run of a command, in nanoseconds of the device's clock."""

    submission: int  # the record of the call that submitted it
    append: int  # the record of the call that appended it
    start: int
    end: int


def pack_times(times: list[CommandTime]) -> bytes:
    """The body of a record of kind `TIMES`."""
    return _HEAD.pack(len(times), 0) + b"".join(_TIME.pack(*each) for each in times)


def unpack_times(body: bytes) -> list[CommandTime]:
    """Reads the body of a record; raises `StreamError` if it says more than it has."""
    if len(body) < _HEAD.size:
        raise StreamError("a record of times ends inside its description")
    count, _ = _HEAD.unpack_from(body)
    if len(body) < _HEAD.size + count * _TIME.size:
        raise StreamError(f"a record of times says it has {count} and is too short for them")
    return [
        CommandTime(*_TIME.unpack_from(body, _HEAD.size + n * _TIME.size)) for n in range(count)
    ]
