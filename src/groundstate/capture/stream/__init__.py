"""Writer and reader of streams, whose grammar is in docs/reference/stream-format.md."""

from groundstate.capture.stream.calls import Block, Call
from groundstate.capture.stream.formats import Kind
from groundstate.capture.stream.layout import Damage, Record, StreamError
from groundstate.capture.stream.marks import Mark, unpack_mark
from groundstate.capture.stream.reader import StreamReader
from groundstate.capture.stream.times import CommandTime, unpack_times
from groundstate.capture.stream.writer import StreamWriter
from groundstate.capture.stream.writes import Run, Writes, WritesFlag

__all__ = [
    "Block",
    "Call",
    "CommandTime",
    "Damage",
    "Kind",
    "Mark",
    "Record",
    "Run",
    "StreamError",
    "StreamReader",
    "StreamWriter",
    "Writes",
    "WritesFlag",
    "unpack_mark",
    "unpack_times",
]
