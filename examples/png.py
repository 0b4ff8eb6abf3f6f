"""Pictures as PNG files, for the examples that make some."""

import struct
import sys
import tempfile
import zlib
from pathlib import Path

CHANNELS = 3


def picture_path(name: str) -> Path:
    """Where a picture goes: the path on the command line, or a new folder that is only ours."""
    if len(sys.argv) > 1:
        return Path(sys.argv[1])
    return Path(tempfile.mkdtemp(prefix="groundstate-")) / name


def write_png(path: Path, pixels: bytes, width: int, height: int) -> None:
    """Writes RGB pixels as a PNG file, which is a few chunks around a zlib stream."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + checksum

    row = width * CHANNELS
    rows = b"".join(b"\0" + pixels[y * row : (y + 1) * row] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows, 6))
        + chunk(b"IEND", b"")
    )
