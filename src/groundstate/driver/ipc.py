"""IPC handles: how another process finds a memory file of this one.

Everything that can be shared lies in a memory file (memfd). A handle names the process, its file
descriptor and the file's identity; whoever receives the bytes opens the file through
`/proc/PID/fd`, which the system allows for processes of the same user only. Nothing is left behind
anywhere when a process dies. docs/sharing.md says what that means for programs.

The first four bytes are the descriptor, because programs send it over a socket (SCM_RIGHTS) and
write the number they receive over it; such a handle is recognised by the file's identity.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import NamedTuple

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


class _Handle(NamedTuple):
    """The fields of a handle, in the order in which they lie in it."""

    passed_fd: int
    magic: int
    pid: int
    fd: int
    inode: int
    device: int
    size: int
    detail: int
    spare: int

    def is_file(self, path: int | str) -> bool:
        """True if a descriptor or a path leads to the file of the handle; opens nothing."""
        status = os.stat(path)
        return (status.st_ino, status.st_dev) == (self.inode, self.device)

    def holds_here(self) -> bool:
        """True if the first four bytes are a descriptor of this process for the file."""
        try:
            return self.passed_fd >= 0 and self.is_file(self.passed_fd)
        except OSError:
            return False


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


def _read(address: int, kind: int) -> _Handle:
    handle = _Handle._make(_LAYOUT.unpack(ctypes.string_at(address, _LAYOUT.size)))
    if handle.magic != _MAGIC + kind:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            "these bytes are no IPC handle of this driver for such an object",
        )
    return handle


def check_handle(address: int, kind: int) -> None:
    """Says if the bytes are no handle. What it leads to may be gone: returning it is no mistake."""
    _read(address, kind)


def open_handle(address: int, kind: int) -> SharedFile:
    """Opens the file that a handle leads to. The caller closes its descriptor."""
    handle = _read(address, kind)
    fd = os.dup(handle.passed_fd) if handle.holds_here() else _open_elsewhere(handle)
    return SharedFile(kind, fd, handle.size, handle.detail)


def contained_fd(address: int, kind: int) -> int:
    """The descriptor in a handle of this process; for a handle of another, a new one."""
    handle = _read(address, kind)
    return handle.passed_fd if handle.holds_here() else _open_elsewhere(handle)


def _open_elsewhere(handle: _Handle) -> int:
    """Opens the file through the process that the handle names.

    The number may stand for something else by now, such as a device that notices being opened, so
    it is looked at first.
    """
    path = f"/proc/{handle.pid}/fd/{handle.fd}"
    try:
        if handle.is_file(path):
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            if handle.is_file(fd):
                return fd
            os.close(fd)
    except PermissionError as error:
        raise Failure(
            ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS,
            f"process {handle.pid} does not let this user open what the handle leads to; run both "
            "as the same user, or send the descriptor in its first four bytes over a socket",
        ) from error
    except OSError as error:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"process {handle.pid} no longer has what this handle leads to; open a handle while "
            "the process that made it still has the object",
        ) from error
    raise Failure(
        ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
        f"what this handle led to in process {handle.pid} was freed; ask it for a new handle",
    )
