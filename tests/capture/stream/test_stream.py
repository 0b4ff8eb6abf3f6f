"""Streams are read as they were written, up to where they are damaged, whoever wrote them."""

from __future__ import annotations

import random
import struct
import tracemalloc
from pathlib import Path

import pytest
import zstandard

from groundstate.capture.stream import (
    Block,
    Call,
    Kind,
    Record,
    StreamError,
    StreamReader,
    StreamWriter,
    formats,
    layout,
)
from groundstate.capture.stream.formats import ChunkKind, Codec, Form, Phase
from groundstate.capture.stream.journal import journal_of
from groundstate.capture.stream.layout import Header, pack_chunk, pack_record

UNKNOWN_KIND = 4711


def write(path: Path, bodies: list[bytes], **options: int) -> Path:
    with StreamWriter(path, **options) as stream:
        for body in bodies:
            stream.add(UNKNOWN_KIND, body)
    return path


def read(path: Path) -> tuple[list[bytes], StreamReader]:
    with StreamReader(path) as stream:
        return [record.body for record in stream.records()], stream


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Twelve records in several chunks, compressible and not."""
    bodies = [bytes([i]) * 40 if i % 2 else random.Random(i).randbytes(30) for i in range(12)]
    return write(tmp_path / "small.gsstream", bodies, chunk_target=120)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "all.gsstream"
    call = Call(7, 1, 3, 10, 20, 0, (1, 2**64 - 1), (Block(64, 3, Phase.BEFORE, 0, b"abc"),))
    with StreamWriter(path, start=5) as stream:
        stream.about([("program", "./a"), ("argument", "ü")])
        stream.add(Kind.CALL, call.pack())
    with StreamReader(path) as reader:
        records = list(reader.records())
        assert (reader.header.start, reader.finished, reader.damage) == (5, True, None)
    assert records[0] == Record(0, Kind.ABOUT, "program\0./a\0argument\0ü\0".encode())
    assert Call.unpack(records[1].body) == call


def test_an_empty_stream_is_whole(tmp_path: Path) -> None:
    found, reader = read(write(tmp_path / "empty.gsstream", []))
    assert (found, reader.finished, reader.damage) == ([], True, None)


def test_random_access_reads_only_needed_chunk(tmp_path: Path) -> None:
    bodies = [str(i).encode() * 50 for i in range(1000)]
    path = write(tmp_path / "many.gsstream", bodies, chunk_target=2000)
    with StreamReader(path) as reader:
        assert len(reader) == 1000
        for number in (999, 0, 500, 501, 3):
            assert reader.record(number).body == bodies[number]
        assert [r.number for r in reader.records(995)] == [995, 996, 997, 998, 999]
        with pytest.raises(StreamError, match="no record 1000"):
            reader.record(1000)
        with pytest.raises(StreamError, match="no record -1"):
            reader.record(-1)


def test_content_is_stored_once_found_by_digest(tmp_path: Path) -> None:
    path = tmp_path / "contents.gsstream"
    large = random.Random(1).randbytes(formats.PIECE * 2 + 5)
    with StreamWriter(path) as stream:
        first = stream.content(large)
        assert stream.content(large) == first
        assert stream.content(large[: formats.PIECE]) == first[:1]
        assert stream.content(b"") == []
    with StreamReader(path) as reader:
        assert len(reader) == 3
        assert b"".join(map(reader.content, first)) == large
        with pytest.raises(StreamError, match="no content"):
            reader.content(bytes(16))


def test_truncated_stream_reads_up_to_the_cut(small: Path, tmp_path: Path) -> None:
    whole, whole_reader = read(small)
    data = small.read_bytes()
    boundaries = {formats.HEADER_SIZE, *(chunk.end for chunk in whole_reader._chunks)}
    cut = tmp_path / "cut.gsstream"
    lengths = []
    for length in range(len(data)):
        cut.write_bytes(data[:length])
        if length < formats.HEADER_SIZE:
            with pytest.raises(StreamError):
                StreamReader(cut)
            continue
        found, reader = read(cut)
        assert found == whole[: len(found)]
        assert not reader.finished
        assert (reader.damage is None) == (length in boundaries or len(found) == len(whole)) or (
            reader.damage is not None and reader.damage.position <= length
        )
        lengths.append(len(found))
    assert lengths == sorted(lengths)
    assert lengths[-1] == len(whole)


def test_bit_flip_is_detected_no_wrong_data_read(small: Path, tmp_path: Path) -> None:
    whole, _ = read(small)
    data = small.read_bytes()
    flipped = tmp_path / "flipped.gsstream"
    for byte in range(len(data)):
        bit = byte * 8 + byte % 8
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        flipped.write_bytes(changed)
        if bit // 8 < formats.HEADER_SIZE:
            with pytest.raises(StreamError):
                StreamReader(flipped)
            continue
        found, reader = read(flipped)
        assert found == whole[: len(found)]
        assert reader.damage is not None
        assert reader.damage.position <= bit // 8


def test_damaged_chunk_keeps_records_before_it(tmp_path: Path) -> None:
    path = write(tmp_path / "s.gsstream", [bytes([i]) * 100 for i in range(9)], chunk_target=300)
    with StreamReader(path) as reader:
        hurt = reader._chunks[1]
    data = bytearray(path.read_bytes())
    data[hurt.place + formats.CHUNK_SIZE] ^= 1
    path.write_bytes(data)
    found, reader = read(path)
    assert found == [bytes([i]) * 100 for i in range(hurt.first)]
    assert str(reader.damage) == f"at byte {hurt.place}: a chunk does not match its checksum"


def test_newer_minor_version_read_major_refused(tmp_path: Path) -> None:
    path = tmp_path / "new.gsstream"
    path.write_bytes(Header(formats.MAJOR, 9, 0, 0, 0).pack())
    assert read(path)[0] == []
    path.write_bytes(Header(formats.MAJOR + 1, 0, 0, 0, 0).pack())
    with pytest.raises(StreamError, match=r"version 2\.0"):
        StreamReader(path)


def hostile(path: Path, *chunks: bytes) -> Path:
    path.write_bytes(Header(formats.MAJOR, formats.MINOR, 0, 0, 0).pack() + b"".join(chunks))
    return path


HUGE = 1 << 40
BOMB = zstandard.ZstdCompressor().compress(bytes(64 << 20))
HOSTILE = {
    "stored size": struct.pack("<4sBBHIIQII", b"GCHK", 1, 0, 0, 2**32 - 1, 8, 0, 1, 0),
    "raw size": struct.pack("<4sBBHIIQII", b"GCHK", 1, 1, 0, 8, 2**32 - 1, 0, 1, 0),
    "count": pack_chunk(ChunkKind.RECORDS, Codec.STORED, bytes(8), 8, 0, 2**32 - 1),
    "bomb": pack_chunk(ChunkKind.RECORDS, Codec.ZSTD, BOMB, 1000, 0, 1),
    "no frame": pack_chunk(ChunkKind.RECORDS, Codec.ZSTD, b"nonsense", 1000, 0, 1),
    "codec": pack_chunk(ChunkKind.RECORDS, 99, bytes(8), 8, 0, 1),
    "length": pack_chunk(ChunkKind.RECORDS, Codec.STORED, b"\x04\0\0\0\xff\xff\xff\xff", 8, 0, 1),
    "short record": pack_chunk(ChunkKind.RECORDS, Codec.STORED, bytes(11), 11, 0, 1),
    "numbering": pack_chunk(ChunkKind.RECORDS, Codec.STORED, bytes(8), 8, HUGE, 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_sizes_refused_without_allocating(name: str, tmp_path: Path) -> None:
    good = pack_chunk(ChunkKind.RECORDS, Codec.STORED, pack_record(9, b"ok"), 10, 0, 1)
    follows = HOSTILE[name]
    if name != "numbering":  # the others follow the good chunk in the right order
        head = bytearray(follows)
        struct.pack_into("<Q", head, 16, 1)
        kind, codec, stored, raw = head[4], head[5], bytes(head[32:]), head[12:16]
        count = int.from_bytes(head[24:28], "little")
        if name not in ("stored size", "raw size"):
            follows = pack_chunk(kind, codec, stored, int.from_bytes(raw, "little"), 1, count)
    path = hostile(tmp_path / "hostile.gsstream", good, follows)
    tracemalloc.start()
    found, reader = read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == [b"ok"]
    assert reader.damage is not None
    assert reader.damage.position == formats.HEADER_SIZE + len(good)
    assert peak < 2 << 20


def test_a_lying_index_is_not_trusted(tmp_path: Path) -> None:
    good = pack_chunk(ChunkKind.RECORDS, Codec.STORED, pack_record(9, b"ok"), 10, 0, 1)
    for entry in ((HUGE, 0, 1, 0), (formats.HEADER_SIZE, 5, 1, 0), (0, 0, 2**32 - 1, 0)):
        body = pack_record(Kind.CHUNKS, struct.pack("<QQII", *entry))
        index = pack_chunk(ChunkKind.INDEX, Codec.STORED, body, len(body), 0, 0)
        place = formats.HEADER_SIZE + len(good)
        path = hostile(tmp_path / "lie.gsstream", good, index, layout.pack_footer(place, 1))
        found, reader = read(path)
        assert found == [b"ok"]
        assert not reader.finished
    path = hostile(tmp_path / "loop.gsstream", good, layout.pack_footer(HUGE, 2**32 - 1))
    assert read(path)[0] == [b"ok"]


def test_truncated_call_record_is_refused() -> None:
    blocks = (Block(8, 4, Phase.AFTER, Form.BYTES, b"1234"), Block(9, 20, 1, 1, bytes(16)))
    body = Call(1, 0, 0, 0, 0, 0, (5, 6), blocks).pack()
    assert Call.unpack(body).blocks == blocks
    assert Call.unpack(body).blocks[1].digests == [bytes(16)]
    for length in range(len(body)):
        with pytest.raises(StreamError):
            Call.unpack(body[:length])


def write_journal(stream: Path, parts: list[tuple[int, list[bytes]]]) -> Path:
    """What a process leaves that is killed: two parts of records."""
    size = 4096
    header = Header.unpack(stream.read_bytes())
    data = bytearray(4096 + 2 * size)
    data[:32] = Header(header.major, 0, size, header.start, header.process).pack(b"GSJOURNL")
    for place, (first, bodies) in enumerate(parts):
        payload = b"".join(pack_record(UNKNOWN_KIND, body) for body in bodies)
        struct.pack_into("<QII", data, 64 + 16 * place, first, len(payload), len(bodies))
        data[4096 + place * size : 4096 + place * size + len(payload)] = payload
    journal_of(stream).write_bytes(data)
    return journal_of(stream)


def test_journal_of_killed_process_extends_stream(small: Path) -> None:
    whole, reader = read(small)
    third = reader._chunks[2]
    data = small.read_bytes()
    rest = whole[third.first :]
    for length in (third.place, third.place + 5, third.end - 1):
        small.write_bytes(data[:length])
        write_journal(small, [(third.first + len(rest), [b"last"]), (third.first, rest)])
        found, reader = read(small)
        assert found == [*whole, b"last"]
        assert (reader.damage, reader.finished) == (None, False)
    write_journal(small, [(0, whole[:3]), (third.first, rest)])
    assert read(small)[0] == whole


def test_a_broken_or_foreign_journal_is_reported(small: Path) -> None:
    whole, reader = read(small)
    second = reader._chunks[1]
    data = small.read_bytes()
    small.write_bytes(data[: second.place])
    journal = write_journal(small, [(second.first, whole[second.first :])])
    good = journal.read_bytes()
    journal.write_bytes(good[:4110])
    assert "journal" in str(read(small)[1].damage)
    journal.write_bytes(good[:70])
    assert "journal" in str(read(small)[1].damage)
    journal.write_bytes(Header(1, 0, 4096, 1, 1).pack(b"GSJOURNL") + good[32:])
    assert "another stream" in str(read(small)[1].damage)
    assert read(small)[0] == whole[: second.first]
