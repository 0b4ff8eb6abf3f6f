"""Records of when commands ran, which the recorder measured with timestamps of the device."""

from __future__ import annotations

from typing import NamedTuple

from groundstate.capture.stream.formats import TIME, TIMES
from groundstate.capture.stream.layout import StreamError


class CommandTime(NamedTuple):
    """One run of a command, in nanoseconds of the device's clock."""

    submission: int  # the record of the call that submitted it
    append: int  # the record of the call that appended it
    start: int
    end: int


def pack_times(times: list[CommandTime]) -> bytes:
    """The body of a record of kind `TIMES`."""
    return TIMES.pack(len(times), 0) + b"".join(TIME.pack(*each) for each in times)


def unpack_times(body: bytes) -> list[CommandTime]:
    """Reads the body of a record; raises `StreamError` if it says more than it has."""
    if len(body) < TIMES.size:
        raise StreamError("a record of times ends inside its description")
    count, _ = TIMES.unpack_from(body)
    if len(body) < TIMES.size + count * TIME.size:
        raise StreamError(f"a record of times says it has {count} and is too short for them")
    return [CommandTime(*TIME.unpack_from(body, TIMES.size + n * TIME.size)) for n in range(count)]
