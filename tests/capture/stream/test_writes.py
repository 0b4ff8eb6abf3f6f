"""Records of memory keep what was written, once for equal pages, and refuse to say too much."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from groundstate.capture.stream import (
    Kind,
    Run,
    StreamError,
    StreamReader,
    StreamWriter,
    Writes,
    WritesFlag,
)
from groundstate.capture.stream.formats import PAGE
from groundstate.capture.stream.layout import digest


def test_writes_read_back_equal_pages_stored_once(tmp_path: Path) -> None:
    noise = random.Random(3).randbytes(PAGE)
    data = noise + bytes(PAGE) + noise + b"the end"
    with StreamWriter(tmp_path / "s.gsstream") as stream:
        stream.writes([(0x7000, data), (0x100, b"small")], thread=3, flags=WritesFlag.MIXED)
        stream.writes([(0x9000, noise)])
    with StreamReader(tmp_path / "s.gsstream") as reader:
        records = list(reader.records())
        kinds = [record.kind for record in records]
        assert kinds == [Kind.CONTENT] * 4 + [Kind.WRITES] * 2
        first, second = (Writes.unpack(r.body) for r in records if r.kind == Kind.WRITES)
        assert (first.thread, first.flags, first.in_flight) == (3, WritesFlag.MIXED, False)
        assert [(run.address, run.size) for run in first.runs] == [(0x7000, len(data)), (0x100, 5)]
        assert [reader.memory(run) for run in first.runs] == [data, b"small"]
        assert [reader.memory(run) for run in second.runs] == [noise]
        sizes = [size for _, size, _ in first.runs[0].pieces()]
        assert sizes == [PAGE, PAGE, PAGE, 7]


def test_results_may_have_digests_only(tmp_path: Path) -> None:
    results = Writes(0, (Run(0x5000, 5, (digest(b"hello"),)),), WritesFlag.IN_FLIGHT)
    with StreamWriter(tmp_path / "s.gsstream") as stream:
        stream.add(Kind.RESULTS, results.pack())
    with StreamReader(tmp_path / "s.gsstream") as reader:
        (record,) = reader.records()
        assert Writes.unpack(record.body) == results
        assert results.in_flight
        with pytest.raises(StreamError, match="no content"):
            reader.memory(results.runs[0])


def test_a_piece_of_another_size_is_refused(tmp_path: Path) -> None:
    with StreamWriter(tmp_path / "s.gsstream") as stream:
        (name,) = stream.content(b"four")
    with (
        StreamReader(tmp_path / "s.gsstream") as reader,
        pytest.raises(StreamError, match="a piece of 5 bytes has a content of 4"),
    ):
        reader.memory(Run(0, 5, (name,)))


def test_writes_claiming_excess_data_are_refused() -> None:
    body = Writes(1, (Run(8, PAGE + 1, (bytes(16), bytes(16))), Run(99, 1, (bytes(16),)))).pack()
    assert Writes.unpack(body).pack() == body
    for length in range(len(body)):
        with pytest.raises(StreamError):
            Writes.unpack(body[:length])
    head = struct.pack("<IIII", 1, 0, PAGE, 0)
    for address, size in ((0, 2**64 - 1), (2**64 - 4, 5)):
        with pytest.raises(StreamError):
            Writes.unpack(head + struct.pack("<QQ", address, size) + bytes(16))
    for piece in (0, 2**32 - 1):
        with pytest.raises(StreamError, match="pieces"):
            Writes.unpack(struct.pack("<IIII", 0, 0, piece, 0))
    with pytest.raises(StreamError):
        Writes.unpack(struct.pack("<IIII", 2**32 - 1, 0, PAGE, 0))


def test_reader_keeps_chunks_during_page_lookup(tmp_path: Path) -> None:
    pages = [random.Random(i).randbytes(PAGE) for i in range(40)]
    with StreamWriter(tmp_path / "s.gsstream", chunk_target=5 * PAGE) as stream:
        for page in pages:
            stream.content(page, PAGE)
        stream.writes([(0, b"".join(pages)), (1 << 30, b"".join(reversed(pages)))])
    with StreamReader(tmp_path / "s.gsstream") as reader:
        writes = Writes.unpack(reader.record(len(reader) - 1).body)
        assert reader.memory(writes.runs[0]) == b"".join(pages)
        assert reader.memory(writes.runs[1]) == b"".join(reversed(pages))
