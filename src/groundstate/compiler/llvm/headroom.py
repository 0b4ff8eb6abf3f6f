"""Memory for LLVM, which ends a process that has none left: asked for before it is needed."""

from __future__ import annotations

import mmap

LIBRARY_BYTES = 176 << 20
"""What LLVM takes when it is loaded."""

TASK_BYTES = 32 << 20
BYTES_PER_CHARACTER = 256
"""What it takes at most to compile LLVM IR: so much, and so much for each character."""

_PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


def require(size: int, purpose: str) -> None:
    """Raises MemoryError unless so many bytes could be mapped now."""
    try:
        mmap.mmap(-1, size, _PRIVATE).close()
    except OSError as problem:
        wanted = -(-size >> 20)
        raise MemoryError(f"{purpose} takes up to {wanted} MiB, which are not there") from problem


def require_to_compile(text: str) -> None:
    """Raises MemoryError unless there is memory to compile LLVM IR."""
    require(TASK_BYTES + BYTES_PER_CHARACTER * len(text), "compiling this kernel")
