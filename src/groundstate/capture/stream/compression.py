"""Chunks in and out of their codec; the only file that knows the `zstandard` package."""

from __future__ import annotations

from groundstate.capture.stream.layout import Codec, StreamError

LEVEL = 3
WINDOW_LIMIT = 1 << 27


class CompressionMissing(RuntimeError):  # noqa: N818 (named for what happened)
    """A chunk is compressed, and the package for that is not installed."""


def compress(payload: bytes) -> tuple[Codec, bytes]:
    """The smaller of the payload and its zstd frame; as it is without the package."""
    try:
        import zstandard
    except ImportError:
        return Codec.STORED, payload
    frame = zstandard.ZstdCompressor(level=LEVEL, write_content_size=True).compress(payload)
    return (Codec.ZSTD, frame) if len(frame) < len(payload) else (Codec.STORED, payload)


def decompress(codec: int, stored: bytes, raw: int) -> bytes:
    """The `raw` bytes of a chunk; a frame that says anything else about its size is refused."""
    if codec == Codec.STORED:
        payload = stored
    elif codec == Codec.ZSTD:
        payload = _unzstd(stored, raw)
    else:
        raise StreamError(f"a chunk has codec {codec}, which this version does not know")
    if len(payload) != raw:
        raise StreamError(f"a chunk says it has {raw} bytes and has {len(payload)}")
    return payload


def _unzstd(stored: bytes, raw: int) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise CompressionMissing(
            "this recording is compressed; to read it: pip install zstandard"
        ) from None
    try:
        if zstandard.frame_content_size(stored) != raw:
            raise StreamError(f"a chunk of {raw} bytes holds a frame of another size")
        return zstandard.ZstdDecompressor(max_window_size=WINDOW_LIMIT).decompress(stored)
    except zstandard.ZstdError as problem:
        raise StreamError(f"a chunk cannot be decompressed: {problem}") from None
