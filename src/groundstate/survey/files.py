"""Which files are looked at, and the different modules in them."""

from __future__ import annotations

import hashlib
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from groundstate.survey.elf import Damaged
from groundstate.survey.images import CompressionMissing, is_known, modules_in

ZIP_MAGIC = b"PK\x03\x04"
FIRST_BYTES = 32
MOST_FILE_BYTES = 2 << 30
DAMAGED_WHEEL = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    LookupError,
    OverflowError,
    RuntimeError,
    ValueError,
)
"""What comes of reading a wheel that is damaged, or encrypted, or compressed in an unusual way."""


@dataclass(frozen=True, slots=True)
class Found:
    """A module, and the first place where it was found."""

    digest: str
    """Of the content: the same module in another file has the same."""
    data: bytes = field(repr=False)
    file: str


@dataclass(slots=True)
class Collection:
    """All different modules of some files."""

    modules: dict[str, Found] = field(default_factory=dict)
    images: int = 0
    """How many modules there are, copies counted."""
    files: int = 0
    """How many files have some."""
    problems: list[str] = field(default_factory=list)
    """Files that could not be read as they should, in words."""

    def add_file(self, file: str, data: bytes) -> None:
        """Takes the modules of a file."""
        before = self.images
        try:
            for module in modules_in(data):
                self.images += 1
                digest = hashlib.sha256(module).hexdigest()
                if digest not in self.modules:
                    self.modules[digest] = Found(digest, module, file)
        except (Damaged, CompressionMissing) as problem:
            self.problems.append(f"{file}: {problem}")
        self.files += self.images > before


def collect(paths: Iterable[Path]) -> Collection:
    """The modules in files, in wheels, and in all shared objects and modules below folders."""
    collection = Collection()
    for path in paths:
        for file in _files(path, collection):
            try:
                _add(collection, file, is_named=file == path)
            except (OSError, *DAMAGED_WHEEL) as problem:
                collection.problems.append(f"{file}: {problem or type(problem).__name__}")
    return collection


def _files(path: Path, collection: Collection) -> Iterator[Path]:
    """A file, or all those below a folder. Links are not followed: what they mean is there, too."""
    if not path.is_dir():
        yield path
        return

    def note(problem: OSError) -> None:
        collection.problems.append(f"{problem.filename}: {problem.strerror}")

    for folder, folders, names in os.walk(path, onerror=note):
        folders.sort()
        for name in sorted(names):
            file = Path(folder, name)
            if file.is_file() and not file.is_symlink():
                yield file


def _add(collection: Collection, file: Path, is_named: bool) -> None:
    """Looks into a file. One that nobody has named is passed over if it is something else."""
    with file.open("rb") as stream:
        start = stream.read(FIRST_BYTES)
        if is_named and start.startswith(ZIP_MAGIC):
            _add_members(collection, file)
        elif is_named or is_known(start):
            if os.fstat(stream.fileno()).st_size > MOST_FILE_BYTES:
                raise OSError(f"it is larger than {MOST_FILE_BYTES >> 30} GiB")
            collection.add_file(str(file), start + stream.read())


def _add_members(collection: Collection, wheel: Path) -> None:
    """Looks into the files of a wheel, without unpacking it."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if member.file_size > MOST_FILE_BYTES:
                raise OSError(f"{member.filename} is larger than {MOST_FILE_BYTES >> 30} GiB")
            with archive.open(member) as stream:
                start = stream.read(FIRST_BYTES)
                if is_known(start):
                    collection.add_file(f"{wheel}!{member.filename}", start + stream.read())
