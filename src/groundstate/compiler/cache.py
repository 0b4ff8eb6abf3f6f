"""A cache on disk of what was costly to compute: SPIR-V from OpenCL C, machine code from SPIR-V.

An entry is a file named after the hash of its key. It is written under another name and then
renamed, so a process sees all of it or nothing, and any number of processes share the folder
without locks. Each begins with a digest of its value: one that was damaged counts as absent. The
folder is the user's own; one that others can write to is not used, for what comes out of it may be
executed.

The cache never fails: with a full disk, or no folder to write to, nothing is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator

from groundstate import knobs
from groundstate.compiler.record import record

DIGEST_BYTES = 32
DEFAULT_LIMIT = 1 << 30
SUFFIX = ".entry"
TEMPORARY = ".writing"

GROWTH = "growth"
"""The file in which processes note the bytes that they add."""
MOST_NOTES_BYTES = 1 << 16

_written_since_looking: dict[str, int] = {}
"""For each folder, the bytes that this process has put there since it last looked at its size."""


@record()
class Entry:
    """A file of the cache."""

    path: str
    size: int
    last_used_ns: int


def get(key: bytes) -> bytes | None:
    """What was kept under `key`, if it is still there."""
    root = knobs.cache_folder()
    if root is None or not _is_ours(root):
        return None
    path = _path(root, key)
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return None
    value = content[DIGEST_BYTES:]
    if hashlib.sha256(value).digest() != content[:DIGEST_BYTES]:
        _remove(path)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return value


def put(key: bytes, value: bytes) -> None:
    """Keeps `value` under `key`, and makes room for it if the cache has grown past its limit."""
    root = knobs.cache_folder()
    if root is None:
        return
    path = _path(root, key)
    try:
        os.makedirs(root, mode=0o700, exist_ok=True)
        if not _is_ours(root):
            return
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        _write(path, hashlib.sha256(value).digest() + value)
    except OSError:
        return
    _prune_if_due(root, DIGEST_BYTES + len(value))


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


def _prune_if_due(root: str, added: int) -> None:
    """Makes room if the cache has grown past its limit, as far as it is known.

    How large it is takes long to find out, so all processes note what they add in one file. It is
    looked at for a process's first entry and then for each 1/16 of the limit.
    """
    written = _written_since_looking.get(root)
    _written_since_looking[root] = added + (written or 0)
    if written is None or _written_since_looking[root] > limit() // 16:
        _written_since_looking[root] = 0
        noted = _noted_growth(root)
        if noted is None or noted + added > limit():
            _look(root)
            return
    _note_growth(root, added)


def _look(root: str) -> None:
    """Finds out how large the cache is, makes room if it is too large, and notes the outcome."""
    total = sum(entry.size for entry in entries(root))
    if total > limit():
        # A little more than needed, so that the next entries do not each have to make room.
        total = limit() * 9 // 10
        prune(root, total)
    with contextlib.suppress(OSError):
        _write(os.path.join(root, GROWTH), b"%d\n" % total)


def _note_growth(root: str, added: int) -> None:
    with contextlib.suppress(OSError), open(os.path.join(root, GROWTH), "ab") as file:
        file.write(b"%d\n" % added)


def _noted_growth(root: str) -> int | None:
    """The sum of all that was noted; None if that is not known, or has become long to add up."""
    try:
        with open(os.path.join(root, GROWTH), "rb") as file:
            noted = file.read(MOST_NOTES_BYTES + 1)
        return sum(map(int, noted.split())) if len(noted) <= MOST_NOTES_BYTES else None
    except (OSError, ValueError):
        return None


def _path(root: str, key: bytes) -> str:
    name = hashlib.sha256(key).hexdigest()
    return os.path.join(root, name[:2], name[2:] + SUFFIX)


def _is_ours(root: str) -> bool:
    try:
        status = os.stat(root)
    except OSError:
        return False
    return status.st_uid == os.geteuid() and not status.st_mode & stat.S_IWOTH


def _write(path: str, content: bytes) -> None:
    import tempfile  # not for who only reads

    descriptor, temporary = tempfile.mkstemp(suffix=TEMPORARY, dir=os.path.dirname(path))
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        _remove(temporary)
        raise


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
