"""A cache on disk of what was costly to compute: SPIR-V from OpenCL C, machine code from SPIR-V.

An entry is a file named after the hash of its key. It is written under another name and then
renamed, so a process sees all of it or nothing, and any number of processes share the folder
without locks.

What comes out of it may be executed. Folders and files that others own or can write to are not
used (`private_files`), and each entry begins with a digest of its name and value that is keyed with
a secret of this user: one that was damaged, moved or made by somebody else counts as absent.

The cache never fails: with a full disk, or no folder to write to, nothing is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
from collections.abc import Iterator

from groundstate import knobs, private_files, signing
from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.knobs.kinds import complain
from groundstate.private_files import TEMPORARY

DIGEST_BYTES = 32
DEFAULT_LIMIT = 1 << 30
SUFFIX = ".entry"

GROWTH = "growth"
"""The file in which processes note the bytes that they add."""
MOST_NOTES_BYTES = 1 << 16

_written_since_looking: dict[str, int] = {}
"""For each folder, the bytes that this process has put there since it last looked at its size."""


@light_dataclass()
class Entry:
    """A file of the cache."""

    path: str
    size: int
    last_used_ns: int


@light_dataclass()
class Root:
    """The folder of the cache, open and checked."""

    path: str
    fd: int


def get(key: bytes) -> bytes | None:
    """What was kept under `key`, if it is still there."""
    group, name = _place(key)
    try:
        with _root() as root, private_files.folder(group, root.fd) as folder:
            content = private_files.read(name, folder)
            value = content[DIGEST_BYTES:]
            if not hmac.compare_digest(_digest(root, name, value), content[:DIGEST_BYTES]):
                os.unlink(name, dir_fd=folder)
                return None
            with contextlib.suppress(OSError):
                os.utime(name, dir_fd=folder, follow_symlinks=False)
            return value
    except OSError:
        return None


def put(key: bytes, value: bytes) -> None:
    """Keeps `value` under `key`, and makes room for it if the cache has grown past its limit."""
    group, name = _place(key)
    with contextlib.suppress(OSError), _root(make=True) as root:
        with private_files.folder(group, root.fd, make=True) as folder:
            private_files.write(name, _digest(root, name, value) + value, folder)
        _prune_if_due(root, DIGEST_BYTES + len(value))


@contextlib.contextmanager
def _root(make: bool = False) -> Iterator[Root]:
    """The folder of the cache; OSError if there is none, or none that is this user's alone."""
    path = knobs.cache_folder()
    if path is None:
        raise FileNotFoundError("the cache is turned off")
    try:
        opened = private_files.folder(path, make=make)
        with opened as descriptor:
            yield Root(path, descriptor)
    except private_files.SharedFolderError:
        problem = "others own it or can write to it, so nothing is kept there; chmod go-w it"
        complain(knobs.CACHE.name, path, problem)
        raise


def _digest(root: Root, name: str, value: bytes) -> bytes:
    """What only this user can compute of an entry."""
    key = signing.key_in(root.path, root.fd)
    return hmac.digest(key, name.encode() + b"\0" + value, "sha256")


def _place(key: bytes) -> tuple[str, str]:
    """The folder and the file of an entry."""
    name = hashlib.sha256(key).hexdigest()
    return name[:2], name[2:] + SUFFIX


def clear() -> int:
    """Removes everything, and returns how many bytes that were."""
    root = knobs.cache_folder()
    if root is None:
        return 0
    freed = 0
    for entry in entries(root):
        if _remove(entry.path):
            freed += entry.size
    _remove(os.path.join(root, GROWTH))
    return freed


def size() -> tuple[int, int]:
    """How many entries there are, and their bytes."""
    root = knobs.cache_folder()
    sizes = [entry.size for entry in entries(root)] if root is not None else []
    return len(sizes), sum(sizes)


def limit() -> int:
    """How many bytes the cache may have."""
    return knobs.CACHE_SIZE.get() or DEFAULT_LIMIT


def entries(root: str) -> Iterator[Entry]:
    """Every file of the cache in `root`, those that are being written too."""
    for folder in _scan(root):
        if len(folder.name) == 2 and folder.is_dir(follow_symlinks=False):
            for file in _scan(folder.path):
                if file.name.endswith((SUFFIX, TEMPORARY)):
                    with contextlib.suppress(OSError):
                        status = file.stat(follow_symlinks=False)
                        yield Entry(file.path, status.st_size, status.st_mtime_ns)


def prune(root: str, wanted: int) -> None:
    """Removes the entries that were not used for longest, until at most `wanted` bytes are left."""
    found = sorted(entries(root), key=lambda entry: entry.last_used_ns)
    total = sum(entry.size for entry in found)
    for entry in found:
        if total <= wanted:
            return
        _remove(entry.path)
        total -= entry.size


def _prune_if_due(root: Root, added: int) -> None:
    """Makes room if the cache has grown past its limit, as far as it is known.

    How large it is takes long to find out, so all processes note what they add in one file. It is
    looked at for a process's first entry and then for each 1/16 of the limit.
    """
    written = _written_since_looking.get(root.path)
    _written_since_looking[root.path] = added + (written or 0)
    if written is None or _written_since_looking[root.path] > limit() // 16:
        _written_since_looking[root.path] = 0
        noted = _noted_growth(root)
        if noted is None or noted + added > limit():
            _look(root)
            return
    private_files.append(GROWTH, b"%d\n" % added, root.fd)


def _look(root: Root) -> None:
    """Finds out how large the cache is, makes room if it is too large, and notes the outcome."""
    total = sum(entry.size for entry in entries(root.path))
    if total > limit():
        # A little more than needed, so that the next entries do not each have to make room.
        total = limit() * 9 // 10
        prune(root.path, total)
    private_files.write(GROWTH, b"%d\n" % total, root.fd)


def _noted_growth(root: Root) -> int | None:
    """The sum of all that was noted; None if that is not known, or has become long to add up."""
    try:
        noted = private_files.read(GROWTH, root.fd)
        return sum(map(int, noted.split())) if len(noted) <= MOST_NOTES_BYTES else None
    except (OSError, ValueError):
        return None


def _scan(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _remove(path: str) -> bool:
    with contextlib.suppress(OSError):
        os.unlink(path)
        return True
    return False
