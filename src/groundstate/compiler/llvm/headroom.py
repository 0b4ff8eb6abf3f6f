"""What runs out: memory, files, threads; and room for LLVM, which ends a process that has none."""

from __future__ import annotations

import errno
import mmap

EXHAUSTED = (errno.ENOMEM, errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.EAGAIN)
"""What the system says when memory, files or threads run out: gs_is_exhaustion in native/room.c."""

LIBRARY_BYTES = 176 << 20
"""What LLVM takes when it is loaded."""

TASK_BYTES = 32 << 20
BYTES_PER_CHARACTER = 256
"""What it takes at most to compile LLVM IR: so much, and so much for each character."""

_PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


def need_room(size: int, purpose: str) -> None:
    """Raises MemoryError unless so many bytes could be mapped now."""
    try:
        mmap.mmap(-1, size, _PRIVATE).close()
    except OSError as problem:
        wanted = -(-size >> 20)
        raise MemoryError(f"{purpose} takes up to {wanted} MiB, which are not there") from problem


def need_room_for_text(text: str) -> None:
    """Raises MemoryError unless there is room to compile LLVM IR."""
    need_room(TASK_BYTES + BYTES_PER_CHARACTER * len(text), "compiling this kernel")
