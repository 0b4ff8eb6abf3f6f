"""The layout of recordings: the capture library writes it, and Python reads it.

`registry.generators.stream_format` prints `native/capture/generated/stream_format.h` and
`src/groundstate/capture/stream/formats.py` from this file.
"""

from __future__ import annotations

from registry.layout import Constant, Field, Layouts, Numbers, Struct

MAGICS = {
    "MAGIC": "GSSTREAM",
    "JOURNAL_MAGIC": "GSJOURNL",
    "CHUNK_MAGIC": "GCHK",
    "FOOTER_MAGIC": "GSINDEX1",
}
"""What headers, chunks and footers begin with."""

CONSTANTS = (
    Constant("GC_MAJOR", 1, "readers refuse streams of another major version"),
    Constant("GC_MINOR", 2, "newer ones have records that older readers skip"),
    Constant("GC_DIGEST_SIZE", 16, "bytes of the name of a content"),
    Constant("GC_PIECE", 1 << 20, "contents are cut into pieces of this size"),
    Constant("GC_PAGE", 4096, "memory is compared and stored in pieces of this size"),
    Constant("GC_INDEX_ENTRIES", 100_000, "the most that a record of an index has"),
    Constant("GC_PARTS_PLACE", 64, "in a journal: where its two parts are described"),
    Constant("GC_INSIDE_PLACE", 128, "in a journal: the calls that threads are inside"),
    Constant("GC_PAYLOAD_PLACE", 4096, "in a journal: the records of its first part"),
    Constant("GC_INSIDE_LIMIT", 4096, "bytes that a journal has of a call that has not returned"),
    Constant("GC_INCOMPLETE", 1, "flag of a call: some of its blocks are missing"),
    Constant("GC_WRITES_IN_FLIGHT", 1, "flag of a record of memory: earlier work had not ended"),
    Constant("GC_WRITES_MIXED", 2, "flag of a record of memory: several threads wrote"),
)

NUMBERS = (
    Numbers("gc_chunk_kind", "GC_CHUNK_", ("RECORDS", "INDEX"), "What a chunk is for.", first=1),
    Numbers("gc_codec", "GC_CODEC_", ("STORED", "ZSTD"), "How a chunk is stored."),
    Numbers(
        "gc_record_kind",
        "GC_",
        ("ABOUT", "FUNCTION", "CONTENT", "CALL", "WRITES", "RESULTS", "MARK", "TIMES"),
        "The kinds of record that this version knows.",
        first=1,
        others=(("CHUNKS", 16), ("CONTENTS", 17)),
        python="Kind",
    ),
    Numbers("gc_phase", "GC_", ("BEFORE", "AFTER"), "When a block was copied.", first=1),
    Numbers("gc_form", "GC_FORM_", ("BYTES", "DIGESTS"), "What the bytes of a block are."),
)


def _bytes(name: str, *fields: str) -> Struct:
    """From fields as the grammar has them: `u32:count`, `bytes[8]:magic`."""
    types = {"u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t"}
    made = []
    for field in fields:
        type_, _, label = field.partition(":")
        if type_.startswith("bytes["):
            made.append(Field(label, "uint8_t", count=int(type_[len("bytes[") : -1])))
        else:
            made.append(Field(label, types[type_]))
    about = f"`{name}` of docs/reference/stream-format.md."
    return Struct(f"gc_layout_{name}", about, tuple(made), is_packed=True)


STRUCTS = (
    _bytes(
        "header",
        *("bytes[8]:magic", "u16:major", "u16:minor", "u32:size"),
        *("u64:start", "u32:process", "u32:crc"),
    ),
    _bytes(
        "chunk",
        *("bytes[4]:magic", "u8:kind", "u8:codec", "u16:zero", "u32:stored", "u32:raw"),
        *("u64:first", "u32:count", "u32:crc"),
    ),
    _bytes("footer", "bytes[8]:magic", "u64:place", "u32:chunks", "u32:crc"),
    _bytes("record", "u32:kind", "u32:length"),
    _bytes("chunks", "u64:place", "u64:first", "u32:count", "u32:zero"),
    _bytes("contents", "bytes[16]:digest", "u64:record"),
    _bytes(
        "call",
        *("u32:function", "u32:thread", "u64:began", "u64:time", "u64:duration", "u64:result"),
        *("u16:arguments", "u16:blocks", "u32:flags"),
    ),
    _bytes("block", "u64:address", "u32:size", "u16:phase", "u16:form"),
    _bytes("writes", "u32:runs", "u32:flags", "u32:piece", "u32:thread"),
    _bytes("run", "u64:address", "u64:size"),
    _bytes("times", "u32:count", "u32:zero"),
    _bytes("time", "u64:submission", "u64:append", "u64:start", "u64:end"),
    _bytes("mark", "u32:mark", "u32:zero"),
    _bytes("part", "u64:first", "u32:used", "u32:count"),
    _bytes("inside", "u32:function", "u32:size", "u64:time"),
)

LAYOUTS = Layouts(STRUCTS)
