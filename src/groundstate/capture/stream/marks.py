"""Records that mark a place in a stream."""

from __future__ import annotations

from enum import IntEnum

from groundstate.capture.stream.formats import MARK
from groundstate.capture.stream.layout import StreamError


class Mark(IntEnum):
    """What begins or ends where a record of kind `MARK` stands."""

    RESTORE_BEGIN = 1
    """The calls from here on bring about the state that the program had where a cut begins."""
    RESTORE_END = 2
    """That state is reached: what follows is the program's."""

    def pack(self) -> bytes:
        """The body of the record."""
        return MARK.pack(self, 0)


def unpack_mark(body: bytes) -> Mark | None:
    """The mark of a record; None for one that this version does not know."""
    if len(body) < MARK.size:
        raise StreamError("a mark ends inside its description")
    number, _ = MARK.unpack_from(body)
    return Mark(number) if number in Mark._value2member_map_ else None
