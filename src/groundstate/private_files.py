"""Files that nobody but this user can have written, and the key by which this user knows them.

What is read from them may be executed, so each level is opened relative to the one above it and
checked once it is open: owner, permissions, kind. Links are not followed below the first folder,
and nothing that is no regular file is waited for, such as a pipe.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

KEY = "key"
KEY_BYTES = 32
TEMPORARY = ".writing"

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_QUIETLY = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class SharedFileError(OSError):
    """Somebody else owns a file or can write to it, or it is no file."""


class SharedFolderError(SharedFileError):
    """Somebody else owns the first folder, or can write to it."""


@contextlib.contextmanager
def folder(name: str, parent: int | None = None, make: bool = False) -> Iterator[int]:
    """A folder of this user, open; the first one, which the user names, may be a link."""
    if make:
        with contextlib.suppress(FileExistsError):
            if parent is None:
                os.makedirs(name, mode=0o700)
            else:
                os.mkdir(name, mode=0o700, dir_fd=parent)
    flags = os.O_RDONLY | os.O_DIRECTORY | (os.O_CLOEXEC if parent is None else _QUIETLY)
    descriptor = os.open(name, flags, dir_fd=parent)
    try:
        _check(descriptor, _OTHERS_WRITE, SharedFolderError if parent is None else SharedFileError)
        yield descriptor
    finally:
        os.close(descriptor)


def read(name: str, parent: int, unwanted: int = _OTHERS_WRITE) -> bytes:
    """All of a regular file that this user owns and others lack some permissions of."""
    descriptor = os.open(name, os.O_RDONLY | _QUIETLY, dir_fd=parent)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(_check(descriptor, unwanted).st_mode):
            raise SharedFileError(f"{name} is no regular file")
        return file.read()


def write(name: str, content: bytes, parent: int, replace: bool = True) -> None:
    """Writes a file under another name and renames it: others see all of it or nothing.

    Without `replace`, a file of that name raises FileExistsError.
    """
    temporary = f"{os.urandom(8).hex()}{TEMPORARY}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _QUIETLY
    descriptor = os.open(temporary, flags, 0o600, dir_fd=parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        if replace:
            os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        else:
            os.link(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
            os.unlink(temporary, dir_fd=parent)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=parent)
        raise


def append(name: str, line: bytes, parent: int) -> None:
    """Adds a line to a file that is only a hint, and may be anything."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | _QUIETLY
    descriptor = os.open(name, flags, 0o600, dir_fd=parent)
    with os.fdopen(descriptor, "ab") as file:
        if stat.S_ISREG(_check(descriptor, _OTHERS_WRITE).st_mode):
            file.write(line)


def key(parent: int) -> bytes:
    """This user's key in a folder, made if there is none that is good.

    Nobody else can read it: a value with the right keyed digest was written by this user.
    """
    for replace in (False, True):
        with contextlib.suppress(OSError):
            found = read(KEY, parent, unwanted=_OTHERS)
            if len(found) == KEY_BYTES:
                return found
        with contextlib.suppress(FileExistsError):
            write(KEY, os.urandom(KEY_BYTES), parent, replace)
    return read(KEY, parent, unwanted=_OTHERS)


def _check(
    descriptor: int, unwanted: int, error: type[SharedFileError] = SharedFileError
) -> os.stat_result:
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid() or status.st_mode & unwanted:
        raise error("others own it or can write to it")
    return status
