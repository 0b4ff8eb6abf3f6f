"""Writer and reader of streams, whose grammar is in docs/stream-format.md."""

from groundstate.capture.stream.calls import Block, Call
from groundstate.capture.stream.layout import Damage, Kind, Record, StreamError
from groundstate.capture.stream.reader import StreamReader
from groundstate.capture.stream.writer import StreamWriter

__all__ = [
    "Block",
    "Call",
    "Damage",
    "Kind",
    "Record",
    "StreamError",
    "StreamReader",
    "StreamWriter",
]
