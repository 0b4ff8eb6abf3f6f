"""Chunks in and out of their codec; the only file that knows zstd.

The recorder compresses with the machine's libzstd. Readers use the `zstandard` package, or else the
same library: what was recorded on a machine can be read there, whatever is installed.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from groundstate.capture.stream.formats import Codec
from groundstate.capture.stream.layout import StreamError

LEVEL = 3
WINDOW_LIMIT = 1 << 27


class CompressionMissing(RuntimeError):  # noqa: N818 (named for what happened)
    """A chunk is compressed, and there is nothing to decompress it with."""

    def __init__(self) -> None:
        super().__init__("this recording is compressed; to read it: pip install zstandard")


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
        return _unzstd_by_library(stored, raw)
    try:
        if zstandard.frame_content_size(stored) != raw:
            raise StreamError(f"a chunk of {raw} bytes holds a frame of another size")
        return zstandard.ZstdDecompressor(max_window_size=WINDOW_LIMIT).decompress(stored)
    except zstandard.ZstdError as problem:
        raise StreamError(f"a chunk cannot be decompressed: {problem}") from None


@cache
def _library() -> Any:
    """The machine's libzstd; None if it has none."""
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        return None
    library.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    library.ZSTD_getFrameContentSize.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [
        ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t,
    ]  # fmt: skip
    return library


def _unzstd_by_library(stored: bytes, raw: int) -> bytes:
    library = _library()
    if library is None:
        raise CompressionMissing
    if library.ZSTD_getFrameContentSize(stored, len(stored)) != raw:
        raise StreamError(f"a chunk of {raw} bytes holds a frame of another size")
    payload = ctypes.create_string_buffer(raw + 1)  # never empty
    if library.ZSTD_decompress(payload, raw, stored, len(stored)) != raw:
        raise StreamError("a chunk cannot be decompressed")
    return payload.raw[:raw]
