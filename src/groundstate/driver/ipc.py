"""IPC handles: how another process finds a memory file of this one.

Everything that can be shared lies in a memory file (memfd). A handle names the process, its file
descriptor and the file's identity; whoever receives the bytes opens the file through
`/proc/PID/fd`, which the system allows for processes of the same user only. Nothing is left behind
anywhere when a process dies.

The first four bytes are the descriptor, because programs send it over a socket (SCM_RIGHTS) and
write the number they receive over it; such a handle is recognised by the file's identity.
"""

from __future__ import annotations

import ctypes
import os
import struct

from groundstate import ze
from groundstate.driver.api import Failure

_LAYOUT = struct.Struct("<iIIiQQQQQ")
_MAGIC = 0x47535A30  # "GSZ0"
HANDLE_BYTES = 64

MEMORY, EVENT_POOL, EVENT = 1, 2, 3
"""What a handle leads to."""


class SharedFile:
    """A file of some process, and two numbers whose meaning depends on what it holds."""

    __slots__ = ("detail", "fd", "kind", "size")

    def __init__(self, kind: int, fd: int, size: int, detail: int = 0) -> None:
        self.kind = kind
        self.fd = fd
        self.size = size
        self.detail = detail


def write_handle(address: int, shared: SharedFile) -> None:
    """Fills the 64 bytes at an address with a handle to a file of this process."""
    status = os.fstat(shared.fd)
    packed = _LAYOUT.pack(
        shared.fd,
        _MAGIC + shared.kind,
        os.getpid(),
        shared.fd,
        status.st_ino,
        status.st_dev,
        shared.size,
        shared.detail,
        0,
    )
    ctypes.memmove(address, packed.ljust(HANDLE_BYTES, b"\0"), HANDLE_BYTES)


def _is_file(fd: int, inode: int, device: int) -> bool:
    try:
        status = os.fstat(fd)
    except OSError:
        return False
    return (status.st_ino, status.st_dev) == (inode, device)


def open_handle(address: int, kind: int) -> SharedFile:
    """Opens the file that a handle leads to. The caller closes its descriptor."""
    data = ctypes.string_at(address, _LAYOUT.size)
    passed_fd, magic, pid, fd, inode, device, size, detail, _ = _LAYOUT.unpack(data)
    if magic != _MAGIC + kind:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "these bytes are no IPC handle of this driver"
        )
    if _is_file(passed_fd, inode, device):
        return SharedFile(kind, os.dup(passed_fd), size, detail)
    try:
        opened = os.open(f"/proc/{pid}/fd/{fd}", os.O_RDWR | os.O_CLOEXEC)
    except PermissionError as error:
        raise Failure(
            ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS,
            f"process {pid} belongs to another user, who does not share this handle",
        ) from error
    except OSError as error:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"process {pid} no longer has what this handle leads to",
        ) from error
    if not _is_file(opened, inode, device):
        os.close(opened)
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"what this handle led to in process {pid} was freed",
        )
    return SharedFile(kind, opened, size, detail)
