"""IPC handles: how another process finds a memory file of this one.

Everything that can be shared lies in a memory file (memfd). A handle names the process, its file
descriptor and the file's identity; whoever receives the bytes opens the file through
`/proc/PID/fd`, which the system allows for processes of the same user only. Nothing is left behind
anywhere when a process dies. docs/howto/sharing.md says what that means for programs.

The bytes may come from anybody, and must not make a process open another of its user's files. So a
handle carries the secret that the driver put into the file's name (native/memory/memory_file.c),
and only a sealed memory file of that name is opened.

Memory of a GPU is in no file. Its handle leads to a note of where to ask for it, as a file that
nobody can write (native/nvidia/offer.c).

The first four bytes are the descriptor, because programs send it over a socket (SCM_RIGHTS) and
write the number they receive over it; such a handle is recognised by the file's identity.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct

from groundstate import ze
from groundstate.compiler.errors import EXHAUSTED
from groundstate.driver.api import Failure
from groundstate.native_layouts import IPC_MAGIC, IPC_MEMORY

_LAYOUT = struct.Struct("<iIIiQQQQ16s")
HANDLE_BYTES = 64

_NAME = "/memfd:groundstate-", " (deleted)"
"""Where the link in `/proc` leads for a file of this driver: its secret is between these."""
_HEX = frozenset("0123456789abcdef")
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW

MEMORY, EVENT_POOL, EVENT = IPC_MEMORY, 2, 3
"""What a handle leads to."""


class SharedFile:
    """A file of some process, and two numbers whose meaning depends on what it holds."""

    __slots__ = ("detail", "fd", "kind", "size")

    def __init__(self, kind: int, fd: int, size: int, detail: int = 0) -> None:
        self.kind = kind
        self.fd = fd
        self.size = size
        self.detail = detail


class _Handle:
    """The fields of a handle, in the order in which they lie in it."""

    def __init__(self, content: bytes) -> None:
        fields = _LAYOUT.unpack(content)
        self.passed_fd, self.magic, self.pid, self.fd = fields[:4]
        self.inode, self.device, self.size, self.detail, self.secret = fields[4:]

    def is_file(self, path: str) -> bool:
        """True if a path in `/proc` leads to the file of the handle; opens nothing."""
        status = os.stat(path)
        same = (status.st_ino, status.st_dev) == (self.inode, self.device)
        return same and _secret_of(path) == self.secret

    def holds_here(self) -> bool:
        """True if the first four bytes are a descriptor of this process for the file."""
        try:
            is_file = self.passed_fd >= 0 and self.is_file(f"/proc/self/fd/{self.passed_fd}")
            return is_file and _is_sealed(self.passed_fd)
        except OSError:
            return False


def _secret_of(path: str) -> bytes | None:
    """The secret of a memory file of this driver, by its link in `/proc`; None for other files."""
    name = os.readlink(path)
    before, after = _NAME
    digits = name.removeprefix(before).removesuffix(after)
    if name != f"{before}{digits}{after}" or len(digits) != 32 or not _HEX.issuperset(digits):
        return None
    return bytes.fromhex(digits)


def write_handle(address: int, shared: SharedFile) -> None:
    """Fills the 64 bytes at an address with a handle to a file of this process."""
    try:
        status, secret = os.fstat(shared.fd), _secret_of(f"/proc/self/fd/{shared.fd}")
    except OSError as error:
        if error.errno in EXHAUSTED:
            raise
        raise freed_meanwhile() from error
    if secret is None:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            "this memory lies in a file that Level Zero did not make, which has no IPC handle; "
            "send its descriptor over a socket instead",
        )
    packed = _LAYOUT.pack(
        shared.fd,
        IPC_MAGIC + shared.kind,
        os.getpid(),
        shared.fd,
        status.st_ino,
        status.st_dev,
        shared.size,
        shared.detail,
        secret,
    )
    ctypes.memmove(address, packed.ljust(HANDLE_BYTES, b"\0"), HANDLE_BYTES)


def _read(address: int, kind: int) -> _Handle:
    handle = _Handle(ctypes.string_at(address, _LAYOUT.size))
    if handle.magic != IPC_MAGIC + kind:
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
    bare = _bare_memory(address) if kind == MEMORY else None
    if bare is not None:
        return bare
    handle = _read(address, kind)
    fd = duplicate(handle.passed_fd) if handle.holds_here() else _open_elsewhere(handle)
    return SharedFile(kind, fd, handle.size, handle.detail)


def _bare_memory(address: int) -> SharedFile | None:
    """What a handle of a descriptor and zeros leads to, as oneCCL makes it of one that it received.

    The descriptor is this process's own, and only a sealed memory file of the driver is taken.
    """
    (fd,) = struct.unpack("<i", ctypes.string_at(address, 4))
    if fd < 0 or any(ctypes.string_at(address + 4, HANDLE_BYTES - 4)):
        return None
    try:
        if _secret_of(f"/proc/self/fd/{fd}") is None or not _is_sealed(fd):
            return None
        return SharedFile(MEMORY, duplicate(fd), os.fstat(fd).st_size)
    except OSError:
        return None


def freed_meanwhile() -> Failure:
    return Failure(
        ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
        "what is to be shared was freed by another thread meanwhile",
    )


def duplicate(fd: int) -> int:
    """Another descriptor for a file of this process, which the caller closes."""
    try:
        return os.dup(fd)
    except OSError as error:
        if error.errno == errno.EBADF:
            raise freed_meanwhile() from error
        sentence = f"no descriptor is left for what is to be shared: {error.strerror}"
        raise Failure(ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, sentence) from error


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
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
            if handle.is_file(f"/proc/self/fd/{fd}") and _is_sealed(fd):
                return fd
            os.close(fd)
    except PermissionError as error:
        raise Failure(
            ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS,
            f"process {handle.pid} does not let this user open what the handle leads to; run both "
            "as the same user, or send the descriptor in its first four bytes over a socket",
        ) from error
    except OSError as error:
        if error.errno in EXHAUSTED:
            raise
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"process {handle.pid} no longer has what this handle leads to; open a handle while "
            "the process that made it still has the object",
        ) from error
    raise Failure(
        ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
        f"what this handle led to in process {handle.pid} was freed; ask it for a new handle",
    )


def is_note(fd: int) -> bool:
    """True for a file that nobody can write: it tells of memory that is in no file."""
    return bool(fcntl.fcntl(fd, fcntl.F_GET_SEALS) & fcntl.F_SEAL_WRITE)


def _is_sealed(fd: int) -> bool:
    """True if nobody can take memory of the file away from those who have mapped it."""
    return fcntl.fcntl(fd, fcntl.F_GET_SEALS) & _SEALS == _SEALS
